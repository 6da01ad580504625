//! How many may follow campaigns at a time: fewer than there are connections, so that pages and metrics are always
//! answered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Streams of events at a time.
const MOST: usize = 64;
/// Those of one address. On this machine everybody has the same one.
const MOST_OF_ONE: usize = 32;

/// Who follows a campaign.
#[derive(Clone, Default)]
pub(crate) struct Followers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A place among them, free again when it is dropped.
pub(crate) struct Place {
    followers: Followers,
    visitor: IpAddr,
}

impl Followers {
    fn all(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more; `None` if there are too many.
    pub(crate) fn place(&self, visitor: IpAddr) -> Option<Place> {
        let mut all = self.all();
        let of_one = all.get(&visitor).copied().unwrap_or(0);
        if all.values().sum::<usize>() >= MOST || of_one >= MOST_OF_ONE {
            return None;
        }
        all.insert(visitor, of_one + 1);
        Some(Place {
            followers: self.clone(),
            visitor,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.followers.all();
        if let Some(number) = all.get_mut(&self.visitor) {
            *number -= 1;
            if *number == 0 {
                all.remove(&self.visitor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_room_for_others() {
        let followers = Followers::default();
        let visitor = |last| IpAddr::from([10, 0, 0, last]);
        let mut places: Vec<_> = std::iter::from_fn(|| followers.place(visitor(1))).collect();
        assert_eq!(places.len(), MOST_OF_ONE);
        places.extend(std::iter::from_fn(|| followers.place(visitor(2))));
        assert_eq!(places.len(), MOST);
        assert!(followers.place(visitor(3)).is_none());
        places.pop();
        assert!(followers.place(visitor(3)).is_some());
        places.clear();
        assert!(followers.all().is_empty());
    }
}

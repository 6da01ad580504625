//! Which prepared statements a server knows on one connection.

/// A set of statements' numbers. The first ones, most often all there are, take no memory of their own.
#[derive(Debug, Default)]
pub(super) struct Known {
    first: u64,
    /// Those from 64 on.
    more: Box<[u64]>,
}

/// Numbers in a word.
const WORD: usize = u64::BITS as usize;

impl Known {
    /// Whether this one is among them.
    #[inline]
    pub(super) fn contains(&self, index: usize) -> bool {
        let word = match index.checked_sub(WORD) {
            None => self.first,
            Some(beyond) => self.more.get(beyond / WORD).copied().unwrap_or(0),
        };
        word & (1 << (index % WORD)) != 0
    }

    /// Adds this one.
    #[cold]
    pub(super) fn insert(&mut self, index: usize) {
        let word = match index.checked_sub(WORD) {
            None => &mut self.first,
            Some(beyond) => {
                let place = beyond / WORD;
                if place >= self.more.len() {
                    let mut words = std::mem::take(&mut self.more).into_vec();
                    words.resize((place + 1).next_power_of_two(), 0);
                    self.more = words.into_boxed_slice();
                }
                &mut self.more[place]
            }
        };
        *word |= 1 << (index % WORD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn it_is_a_set(added in vec(0..2_000_usize, 0..60), asked in vec(0..3_000_usize, 0..60)) {
            let mut known = Known::default();
            added.iter().for_each(|&index| known.insert(index));
            let expected: HashSet<_> = added.into_iter().collect();
            for index in asked.into_iter().chain(0..130) {
                prop_assert_eq!(known.contains(index), expected.contains(&index));
            }
        }
    }
}

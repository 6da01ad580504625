//! Notices scripts that keep their thread, and ends them when it is time: while one computes without end, or waits for
//! something that is not the server, no other client of the thread goes on.
//!
//! A client says when it enters its script and when it leaves it, by counting. A thread beside the load looks now and
//! then whether a count stays the same. What has stayed for a second is asked where it is, and that is said. What is
//! still there when nobody waits for it any more is ended.

use crate::place::Place;
use crate::voice::{Level, Voice};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked.
const STEP: Duration = Duration::from_millis(100);

/// So many looks make a second.
const LOOKS_PER_S: u32 = 10;

/// What stays in a script for so many looks is noticed.
const NOTICED: u32 = LOOKS_PER_S;

/// A script that is to end at once has stayed for so many looks: others are only on their way.
const SOON: u32 = 3;

/// What has been told to end for so long, and is where it was, is in something that Lua's hooks do not reach.
const HELD: Duration = Duration::from_secs(1);

/// No script of a load is to end.
const NEVER: u32 = u32::MAX;

/// Watches states as long as it lasts.
pub(crate) struct Watchdog {
    places: Arc<Mutex<Vec<Weak<Place>>>>,
    ended: Arc<AtomicBool>,
    /// For how many looks a client of a load may go on by itself.
    patience: Arc<AtomicU32>,
    /// Whether a client of a load does not come back though it was told to.
    is_held: Arc<AtomicBool>,
}

impl Watchdog {
    pub fn new(voice: Arc<dyn Voice>) -> Self {
        let watchdog = Self {
            places: Arc::default(),
            ended: Arc::default(),
            patience: Arc::new(AtomicU32::new(NEVER)),
            is_held: Arc::default(),
        };
        let mut watch = Watch {
            patience: Arc::clone(&watchdog.patience),
            voice,
        };
        let (places, ended) = (Arc::clone(&watchdog.places), Arc::clone(&watchdog.ended));
        let is_held = Arc::clone(&watchdog.is_held);
        // Without it nobody is told, and nothing is ended, but the load goes on.
        let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            let mut seen = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(STEP);
                let places = places.lock().unwrap_or_else(PoisonError::into_inner).clone();
                seen.resize(places.len(), Seen::default());
                let mut any_held = false;
                for (place, seen) in places.iter().zip(&mut seen) {
                    if let Some(place) = place.upgrade() {
                        watch.look(&place, seen);
                        any_held |= seen.ordered.is_some_and(|ordered| ordered.elapsed() >= HELD);
                    }
                }
                is_held.store(any_held, Ordering::Relaxed);
            }
        });
        watchdog
    }

    /// The place of a new client.
    pub fn place(&self, number: usize) -> Arc<Place> {
        let place = Arc::new(Place::new(number));
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.push(Arc::downgrade(&place));
        place
    }

    /// From now on clients of a load are ended that go on by themselves for this long.
    pub fn end_after(&self, patience: Duration) {
        let looks = patience.as_millis() / STEP.as_millis();
        let looks = u32::try_from(looks).unwrap_or(NEVER).max(SOON);
        self.patience.fetch_min(looks, Ordering::Relaxed);
    }

    /// Whether a client of a load was told to end a second ago or earlier, and is still where it was.
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// What was seen of a place.
#[derive(Clone, Default)]
struct Seen {
    crossings: u64,
    /// For how many looks it has been in its script since that crossing.
    looks: u32,
    /// For how many of the last ones, since it was to end in its time, it was seen to compute.
    computing: u32,
    /// Since when it is to end, as a client of a load.
    ordered: Option<Instant>,
}

struct Watch {
    patience: Arc<AtomicU32>,
    voice: Arc<dyn Voice>,
}

impl Watch {
    fn look(&mut self, place: &Place, seen: &mut Seen) {
        let call_is_over = place.call_is_over();
        let crossings = place.crossings();
        if crossings.is_multiple_of(2) || crossings != seen.crossings {
            *seen = Seen {
                crossings,
                ..Seen::default()
            };
            return;
        }
        seen.looks = seen.looks.saturating_add(1);
        let for_s = u64::from(seen.looks / LOOKS_PER_S);
        match call_is_over {
            // Nobody shares its thread.
            Some(false) => {}
            Some(true) if seen.looks >= SOON => place.order_end(crossings, for_s),
            Some(true) => {}
            None => {
                if seen.looks == NOTICED {
                    self.tell(place, crossings);
                }
                let patience = self.patience.load(Ordering::Relaxed);
                if self.is_over(place, seen, patience) {
                    place.order_end(crossings, for_s);
                    seen.ordered.get_or_insert_with(Instant::now);
                    // There is nothing to be hoped for from the others.
                    self.patience.store(SOON, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether a client has gone on by itself for too long. As long as there is time, only what it computes counts: a
    /// program that it has started and waits for is not its own doing.
    fn is_over(&self, place: &Place, seen: &mut Seen, patience: u32) -> bool {
        match patience {
            NEVER => false,
            SOON => seen.looks >= SOON,
            _ => {
                seen.computing = match place.ask(seen.crossings, STEP) {
                    Some(_) => seen.computing + 1,
                    None => 0,
                };
                seen.computing >= patience
            }
        }
    }

    fn tell(&self, place: &Place, crossings: u64) {
        let at = match place.ask(crossings, STEP) {
            Some(at) => format!("in {at}"),
            None => "in a call that does not come back".to_owned(),
        };
        let message = format!(
            "the script of thread {} has not asked the server for anything for 1 s: it is {at}. Others that share its \
             thread wait meanwhile",
            place.number
        );
        self.voice.say(Level::Warning, &message);
    }
}

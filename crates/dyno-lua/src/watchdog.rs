//! Notices scripts that keep their thread, and ends them when it is time: while one computes without end, or waits for
//! something that is not the server, no other client of the thread goes on.
//!
//! A client says when it enters its script and when it leaves it, by counting. A thread beside the load looks now and
//! then whether a count stays the same. What has stayed for a second is asked where it is, and that is said. What is
//! still there when nobody waits for it any more is ended.

use crate::place::Place;
use crate::voice::{Level, Voice};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How long it rests between looks. A look takes longer where scripts are asked that do not get to answer.
const STEP: Duration = Duration::from_millis(100);

/// What stays in a script for so long is noticed.
const NOTICED: Duration = Duration::from_secs(1);

/// A script that is to end at once has stayed for so long: others are only on their way.
const SOON: Duration = Duration::from_millis(300);

/// What has been told to end for so long, and is where it was, is in something that Lua's hooks do not reach.
const HELD: Duration = Duration::from_secs(1);

/// In milliseconds: no script of a load is to end.
const NEVER: u64 = u64::MAX;

/// Watches states as long as it lasts.
pub(crate) struct Watchdog {
    places: Arc<Mutex<Vec<Weak<Place>>>>,
    ended: Arc<AtomicBool>,
    /// For how long a client of a load may go on by itself, in milliseconds.
    patience_ms: Arc<AtomicU64>,
    /// Whether a client of a load does not come back though it was told to.
    is_held: Arc<AtomicBool>,
}

impl Watchdog {
    pub fn new(voice: Arc<dyn Voice>) -> Self {
        let watchdog = Self {
            places: Arc::default(),
            ended: Arc::default(),
            patience_ms: Arc::new(AtomicU64::new(NEVER)),
            is_held: Arc::default(),
        };
        let mut watch = Watch {
            patience_ms: Arc::clone(&watchdog.patience_ms),
            hurried: Vec::new(),
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
        let patience_ms = u64::try_from(patience.max(SOON).as_millis()).unwrap_or(NEVER);
        self.patience_ms.fetch_min(patience_ms, Ordering::Relaxed);
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
    /// When it was seen for the first time to be in its script since that crossing.
    since: Option<Instant>,
    /// Whether that was said.
    is_told: bool,
    /// Since when, of the time in which it was to end, it was seen to compute each time.
    computing_since: Option<Instant>,
    /// Since when it is to end, as a client of a load.
    ordered: Option<Instant>,
}

struct Watch {
    patience_ms: Arc<AtomicU64>,
    /// The threads on which a client was ended: the others there have waited for it.
    hurried: Vec<u64>,
    voice: Arc<dyn Voice>,
}

impl Watch {
    fn look(&mut self, place: &Place, seen: &mut Seen) {
        let call_is_over = place.call_is_over();
        let crossings = place.crossings();
        if crossings.is_multiple_of(2) || crossings != seen.crossings {
            *seen = Seen {
                crossings,
                since: Some(Instant::now()),
                ..Seen::default()
            };
            return;
        }
        place.insist(crossings);
        let lasted = seen.since.get_or_insert_with(Instant::now).elapsed();
        match call_is_over {
            // Nobody shares its thread.
            Some(false) => {}
            Some(true) if lasted >= SOON => place.order_end(crossings, lasted.as_secs()),
            Some(true) => {}
            None => {
                if lasted >= NOTICED && !seen.is_told {
                    seen.is_told = true;
                    self.tell(place, crossings);
                }
                if self.is_over(place, seen, lasted) {
                    place.order_end(crossings, lasted.as_secs());
                    seen.ordered.get_or_insert_with(Instant::now);
                    let thread = place.thread();
                    if !self.hurried.contains(&thread) {
                        self.hurried.push(thread);
                    }
                }
            }
        }
    }

    /// Whether a client has gone on by itself for too long. As long as there is time, only what it computes counts: a
    /// program that it has started and waits for is not its own doing.
    fn is_over(&self, place: &Place, seen: &mut Seen, lasted: Duration) -> bool {
        let patience_ms = self.patience_ms.load(Ordering::Relaxed);
        if patience_ms == NEVER {
            return false;
        }
        let patience = Duration::from_millis(patience_ms);
        if patience <= SOON || self.hurried.contains(&place.thread()) {
            return lasted >= SOON;
        }
        let now = Instant::now();
        seen.computing_since = match place.ask(seen.crossings, STEP) {
            Some(_) => seen.computing_since.or(Some(now)),
            None => None,
        };
        seen.computing_since.is_some_and(|since| since.elapsed() >= patience)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::End;
    use mlua::Lua;

    struct Silent;

    impl Voice for Silent {
        fn print(&self, _: &[u8]) {}

        fn say(&self, _: Level, _: &str) {}
    }

    /// Does this in a script of its own, followed by a few instructions.
    fn go(place: &Place, work: impl FnOnce(&Lua)) -> Result<(), End> {
        let lua = Lua::new();
        lua.load("jit.off()").exec().unwrap();
        place.open(lua.current_thread().state());
        let went = place.during(|| {
            work(&lua);
            // An error if it is ended: that is told by what comes of all.
            let _ = lua.load("for i = 1, 100 do end").exec();
        });
        place.close();
        went
    }

    /// When a client is ended, those that have waited for its thread are to be quick, and nobody else.
    #[test]
    fn what_one_client_is_ended_for_is_not_laid_on_other_threads() {
        let watchdog = Watchdog::new(Arc::new(Silent));
        let places = [0, 1, 2].map(|number| watchdog.place(number));
        watchdog.end_after(Duration::from_millis(500));
        let wait = |_: &Lua| thread::sleep(Duration::from_secs(3));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| go(&places[1], wait));
            let endless = go(&places[0], |lua| {
                let _ = lua.load("while true do end").exec();
            });
            assert!(matches!(endless, Err(End::Endless { .. })), "{endless:?}");
            // It does not compute either.
            let same_thread = go(&places[2], wait);
            assert!(matches!(same_thread, Err(End::Endless { .. })), "{same_thread:?}");
            assert_eq!(waiting.join().unwrap(), Ok(()));
        });
    }
}

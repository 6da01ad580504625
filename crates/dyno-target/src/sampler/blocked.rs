//! Who keeps measured sessions waiting for a lock.
//!
//! That sessions wait is seen in passing, ten times a second. Who makes them wait takes a look at the server's locks,
//! which stops it for a moment; so that is asked for at most once a second, and only while somebody waits.

use crate::sampler::{Moment, Sink};
use dyno_record::{Blocked, Event};
use std::time::Duration;

/// How often the locks may be looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Clients that update the same rows wait for each other all the time; longer than this it is worth telling.
const LONG_S: f64 = 1.0;

/// How much of a statement is kept.
const STATEMENT_CHARACTERS: usize = 80;

/// A session in whose favour another waits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blocker {
    /// How long the other has been waiting, or its statement running.
    pub waited_s: f64,
    /// Whether it is one of the measured sessions.
    pub measured: bool,
    /// Which kind of lock it is, if the server says so.
    pub lock: Option<String>,
    /// What the lock is on.
    pub relation: Option<String>,
    /// Who it is and what it does, for people.
    pub holder: String,
}

/// Follows measured sessions that wait for locks.
#[derive(Debug, Default)]
pub(crate) struct BlockedWatch {
    /// How many samples in a row have found some waiting.
    samples: u32,
    looked: Option<Duration>,
    open: Option<Blocked>,
}

impl BlockedWatch {
    /// Takes how many wait now. Gives back whether it is time to ask for whom.
    pub(crate) fn advance(&mut self, moment: Moment, waiting: f64, sink: &mut dyn Sink) -> bool {
        if waiting == 0.0 {
            self.samples = 0;
            self.finish(moment.at_s(), sink);
            return false;
        }
        self.samples += 1;
        if let Some(open) = &mut self.open {
            open.waiting = open.waiting.max(waiting as u64);
            open.end_s = moment.at_s();
        }
        let rested = self
            .looked
            .is_none_or(|looked| moment.at.saturating_sub(looked) >= LOOK_EVERY);
        self.samples >= 2 && rested
    }

    /// Takes the answer to the question who those are that make `waiting` sessions wait.
    pub(crate) fn found(&mut self, moment: Moment, waiting: f64, blockers: Vec<Blocker>) {
        self.looked = Some(moment.at);
        let longest_s = blockers.iter().map(|blocker| blocker.waited_s).fold(0.0, f64::max);
        let any = |of: fn(&Blocker) -> &Option<String>| blockers.iter().find_map(|blocker| of(blocker).clone());
        let (lock, relation) = (any(|blocker| &blocker.lock), any(|blocker| &blocker.relation));
        let outside = blockers.into_iter().find(|blocker| !blocker.measured);
        if outside.is_none() && longest_s < LONG_S {
            return;
        }
        let start_s = moment.at_s() - outside.as_ref().map_or(longest_s, |blocker| blocker.waited_s);
        let open = self.open.get_or_insert(Blocked {
            start_s,
            end_s: moment.at_s(),
            waiting: 0,
            holder: None,
            lock: None,
            relation: None,
        });
        open.waiting = open.waiting.max(waiting as u64);
        let of_outside = outside.map(|blocker| (blocker.holder, blocker.lock, blocker.relation));
        let (holder, outer_lock, outer_relation) = match of_outside {
            Some((holder, lock, relation)) => (Some(holder), lock, relation),
            None => (None, None, None),
        };
        // Who was found first is who matters: later on others queue up behind.
        open.holder = open.holder.take().or(holder);
        open.lock = open.lock.take().or(outer_lock).or(lock);
        open.relation = open.relation.take().or(outer_relation).or(relation);
    }

    /// Nobody waits any more, or sampling ends.
    pub(crate) fn finish(&mut self, end_s: f64, sink: &mut dyn Sink) {
        if let Some(open) = self.open.take() {
            sink.event(Event::Blocked(Blocked { end_s, ..open }));
        }
    }
}

/// The begin of a statement on one line.
pub(crate) fn begin_of(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    words.join(" ").chars().take(STATEMENT_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;

    fn blocker(measured: bool, waited_s: f64) -> Blocker {
        Blocker {
            waited_s,
            measured,
            lock: Some("metadata lock".to_owned()),
            relation: Some("t".to_owned()),
            holder: "process 7".to_owned(),
        }
    }

    fn moment(at_s: f64) -> Moment {
        Moment {
            at: Duration::from_secs_f64(at_s),
            late: Duration::ZERO,
        }
    }

    #[test]
    fn a_lock_of_somebody_else_is_told_from_its_begin_to_its_end() {
        let (mut watch, mut heard) = (BlockedWatch::default(), Heard::default());
        assert!(!watch.advance(moment(10.0), 1.0, &mut heard));
        assert!(watch.advance(moment(10.1), 3.0, &mut heard));
        watch.found(moment(10.1), 3.0, vec![blocker(true, 0.2), blocker(false, 0.15)]);
        // Not again within a second.
        assert!(!watch.advance(moment(10.2), 8.0, &mut heard));
        assert!(watch.advance(moment(11.2), 5.0, &mut heard));
        assert!(!watch.advance(moment(12.0), 0.0, &mut heard));
        let [Event::Blocked(blocked)] = &heard.events[..] else {
            unreachable!("{:?}", heard.events)
        };
        assert_eq!((blocked.waiting, blocked.end_s), (8, 12.0));
        assert!((blocked.start_s - 9.95).abs() < 1e-9, "{blocked:?}");
        assert_eq!(blocked.holder.as_deref(), Some("process 7"));
        assert_eq!(blocked.lock.as_deref(), Some("metadata lock"));
        assert_eq!(blocked.relation.as_deref(), Some("t"));
    }

    #[test]
    fn clients_that_wait_for_each_other_are_told_of_after_a_while() {
        let (mut watch, mut heard) = (BlockedWatch::default(), Heard::default());
        watch.found(moment(5.0), 2.0, vec![blocker(true, 0.3)]);
        watch.finish(6.0, &mut heard);
        assert!(heard.events.is_empty());
        watch.found(moment(5.0), 2.0, vec![blocker(true, 1.5)]);
        watch.finish(6.0, &mut heard);
        assert!(matches!(
            &heard.events[..],
            [Event::Blocked(Blocked { holder: None, .. })]
        ));
    }

    #[test]
    fn a_statement_is_shown_in_one_short_line() {
        assert_eq!(begin_of("lock  table\n t"), "lock table t");
        assert_eq!(begin_of(&"x".repeat(500)).len(), STATEMENT_CHARACTERS);
    }
}

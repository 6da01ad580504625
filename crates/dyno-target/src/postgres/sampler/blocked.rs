//! Who keeps measured sessions waiting for a lock.
//!
//! That sessions wait is seen in passing, ten times a second. Who makes them wait takes a look into the lock
//! manager, which stops it for a moment; so that is asked for at most once a second, and only while somebody waits.

use crate::postgres::server_message;
use crate::sampler::{Moment, SampleError, Sink};
use crate::target::statement_without_secrets;
use dyno_record::{Blocked, Event};
use postgres::Row;
use std::time::Duration;

/// How often the lock manager may be looked into.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Clients that update the same rows wait for each other all the time; longer than this it is worth telling.
const LONG_S: f64 = 1.0;

/// How much of a statement is kept.
const STATEMENT_CHARACTERS: usize = 80;

/// Follows measured sessions that wait for locks.
#[derive(Debug, Default)]
pub(super) struct BlockedWatch {
    /// How many samples in a row have found some waiting.
    samples: u32,
    looked: Option<Duration>,
    open: Option<Blocked>,
}

impl BlockedWatch {
    /// Takes how many wait now. Gives back whether it is time to ask for whom.
    pub(super) fn advance(&mut self, moment: Moment, waiting: f64, sink: &mut dyn Sink) -> bool {
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

    /// Takes the answer to [`query`].
    pub(super) fn found(&mut self, moment: Moment, waiting: f64, rows: &[Row]) -> Result<(), SampleError> {
        self.looked = Some(moment.at);
        let blockers: Result<Vec<Blocker>, _> = rows.iter().map(Blocker::read).collect();
        let blockers = blockers.map_err(|error| SampleError(server_message(&error)))?;
        self.judge(moment.at_s(), waiting, blockers);
        Ok(())
    }

    fn judge(&mut self, at_s: f64, waiting: f64, blockers: Vec<Blocker>) {
        let longest_s = blockers.iter().map(|blocker| blocker.waited_s).fold(0.0, f64::max);
        let relation = blockers.iter().find_map(|blocker| blocker.relation.clone());
        let outside = blockers.into_iter().find(|blocker| !blocker.measured);
        if outside.is_none() && longest_s < LONG_S {
            return;
        }
        let relation = outside
            .as_ref()
            .and_then(|blocker| blocker.relation.clone())
            .or(relation);
        let holder = outside.as_ref().map(Blocker::describe);
        let start_s = at_s - outside.map_or(longest_s, |blocker| blocker.waited_s);
        let open = self.open.get_or_insert(Blocked {
            start_s,
            end_s: at_s,
            waiting: 0,
            holder: None,
            relation: None,
        });
        open.waiting = open.waiting.max(waiting as u64);
        // Who was found first is who matters: later on others queue up behind.
        open.holder = open.holder.take().or(holder);
        open.relation = open.relation.take().or(relation);
    }

    /// Nobody waits any more, or sampling ends.
    pub(super) fn finish(&mut self, end_s: f64, sink: &mut dyn Sink) {
        if let Some(open) = self.open.take() {
            sink.event(Event::Blocked(Blocked { end_s, ..open }));
        }
    }
}

/// A session in whose favour another waits.
#[derive(Clone, Debug, PartialEq)]
struct Blocker {
    /// How long the other has been waiting, or its statement running.
    waited_s: f64,
    /// 0 for a prepared transaction, which has no session.
    pid: i32,
    application: String,
    state: String,
    statement: String,
    /// Whether it is one of the measured sessions.
    measured: bool,
    relation: Option<String>,
}

impl Blocker {
    fn read(row: &Row) -> Result<Self, postgres::Error> {
        let text = |index: usize| row.try_get::<_, Option<String>>(index);
        Ok(Self {
            waited_s: row.try_get::<_, Option<f64>>(0)?.unwrap_or(0.0),
            pid: row.try_get(1)?,
            application: text(2)?.unwrap_or_default(),
            state: text(3)?.unwrap_or_default(),
            statement: text(4)?.unwrap_or_default(),
            measured: row.try_get::<_, Option<bool>>(5)?.unwrap_or(false),
            relation: text(6)?,
        })
    }

    /// Such as `process 4711 (psql), idle in transaction: lock table t`.
    fn describe(&self) -> String {
        if self.pid == 0 {
            return "a prepared transaction".to_owned();
        }
        let mut text = format!("process {}", self.pid);
        if !self.application.is_empty() {
            text += &format!(" ({})", self.application);
        }
        if !self.state.is_empty() {
            text += &format!(", {}", self.state);
        }
        let statement = begin_of(statement_without_secrets(&self.statement));
        if !statement.is_empty() {
            text += &format!(": {statement}");
        }
        text
    }
}

/// The begin of a statement on one line.
fn begin_of(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    words.join(" ").chars().take(STATEMENT_CHARACTERS).collect()
}

/// For the measured sessions that have waited longest: who makes them wait and does not wait itself. `sessions` is
/// the table expression `a`.
pub(super) fn query(sessions: &str, version: u32) -> String {
    let relation = "(select l.relation::regclass::text from pg_locks l
                      where l.pid = w.pid and l.relation is not null and (not l.granted or l.locktype = 'tuple')
                        limit 1)";
    let blockers = if version >= 90_600 {
        "unnest(pg_blocking_pids(w.pid)) as h(pid)"
    } else {
        // Modes are not compared: who holds any lock on what is waited for is taken for a blocker.
        "(select distinct h.pid from pg_locks l join pg_locks h
              on h.granted and h.pid <> l.pid and h.locktype = l.locktype and h.database is not distinct from l.database
             and h.relation is not distinct from l.relation and h.page is not distinct from l.page
             and h.tuple is not distinct from l.tuple and h.virtualxid is not distinct from l.virtualxid
             and h.transactionid is not distinct from l.transactionid and h.classid is not distinct from l.classid
             and h.objid is not distinct from l.objid and h.objsubid is not distinct from l.objsubid
           where l.pid = w.pid and not l.granted) as h"
    };
    format!(
        "{sessions}, w as (select pid, query_start from a
                            where backend = 'client' and wait_event_type = 'Lock' order by query_start limit 3)
         select extract(epoch from clock_timestamp() - w.query_start)::float8, h.pid, b.application_name::text,
                coalesce(case when b.backend = 'autovacuum' then 'autovacuum' end, b.state)::text, left(b.query,
                  200)::text,
                b.backend is not distinct from 'client', {relation}
           from w cross join lateral {blockers} left join a b on b.pid = h.pid
          where b.wait_event_type is distinct from 'Lock'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;

    fn blocker(measured: bool, waited_s: f64) -> Blocker {
        Blocker {
            waited_s,
            pid: 7,
            application: "psql".to_owned(),
            state: "idle in transaction".to_owned(),
            statement: "lock  table\n t".to_owned(),
            measured,
            relation: Some("t".to_owned()),
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
        watch.looked = Some(Duration::from_secs_f64(10.1));
        watch.judge(10.1, 3.0, vec![blocker(true, 0.2), blocker(false, 0.15)]);
        // Not again within a second.
        assert!(!watch.advance(moment(10.2), 8.0, &mut heard));
        assert!(watch.advance(moment(11.2), 5.0, &mut heard));
        assert!(!watch.advance(moment(12.0), 0.0, &mut heard));
        let [Event::Blocked(blocked)] = &heard.events[..] else {
            unreachable!("{:?}", heard.events)
        };
        assert_eq!((blocked.waiting, blocked.end_s), (8, 12.0));
        assert!((blocked.start_s - 9.95).abs() < 1e-9, "{blocked:?}");
        let holder = "process 7 (psql), idle in transaction: lock table t";
        assert_eq!(blocked.holder.as_deref(), Some(holder));
        assert_eq!(blocked.relation.as_deref(), Some("t"));
    }

    #[test]
    fn clients_that_wait_for_each_other_are_told_of_after_a_while() {
        let (mut watch, mut heard) = (BlockedWatch::default(), Heard::default());
        watch.judge(5.0, 2.0, vec![blocker(true, 0.3)]);
        watch.finish(6.0, &mut heard);
        assert!(heard.events.is_empty());
        watch.judge(5.0, 2.0, vec![blocker(true, 1.5)]);
        watch.finish(6.0, &mut heard);
        assert!(matches!(
            &heard.events[..],
            [Event::Blocked(Blocked { holder: None, .. })]
        ));
    }

    #[test]
    fn a_password_is_not_told() {
        let mut secret = blocker(false, 1.0);
        for statement in [
            "alter role a PassWord 's3cret'",
            "create subscription s connection 'postgres://rep:s3cret@h/db'",
        ] {
            secret.statement = statement.to_owned();
            assert!(!secret.describe().contains("s3cret"), "{}", secret.describe());
        }
    }
}

//! Sessions, looked at ten times a second: what they wait for, and locks held by others. 12.1 has all columns of
//! `v$session` and `user_objects` that are read here.

use super::link::Link;
use super::waiting::{is_lock, kind_of};
use crate::host::Heartbeat;
use crate::oracle::address::ConnectionInfo;
use crate::oracle::client::BESIDE;
use crate::oracle::statement::shown;
use crate::sampler::blocked::{BlockedWatch, Blocker};
use crate::sampler::waits::{CLIENT, RUNNING, Waits};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use std::time::{Duration, Instant};

/// More sessions than this are not looked at for who holds a lock.
const MOST_SESSIONS: usize = 20;

/// Samples what sessions do.
pub(super) struct ActivitySampler {
    link: Link,
    query: String,
    blockers: String,
    heartbeat: Heartbeat,
    waits: Waits,
    blocked: BlockedWatch,
}

impl ActivitySampler {
    pub(super) fn new(info: &ConnectionInfo, heartbeat: Heartbeat) -> Self {
        let user = info.schema();
        Self {
            link: Link::new(info),
            query: activity(&user),
            blockers: blockers(&user),
            heartbeat,
            waits: Waits::new(kind_of),
            blocked: BlockedWatch::default(),
        }
    }

    fn look(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let asked = Instant::now();
        let query = &self.query;
        let rows = self
            .link
            .with(|client| client.query::<(String, String, Option<String>, f64)>(query))?;
        // A server that stood still tells of the time at which it answers.
        let answered = Moment {
            at: moment.at + asked.elapsed(),
            ..moment
        };
        let mut for_locks = 0.0;
        let mut waits = Vec::new();
        for (backend, class, event, sessions) in rows {
            let event = event.unwrap_or_default();
            if backend == CLIENT && is_lock(&class, &event) {
                for_locks += sessions;
            }
            waits.push(((backend, class, event), sessions));
        }
        self.waits.add(answered, waits, sink);
        if self.blocked.advance(moment, for_locks, sink) {
            let query = &self.blockers;
            let found = self
                .link
                .allowed(|client| client.answer(query, &[], MOST_SESSIONS, None))?;
            let found = found.map(|answer| answer.rows).unwrap_or_default();
            let blockers = found.iter().filter_map(|row| blocker(row)).collect();
            self.blocked.found(moment, for_locks, blockers);
        }
        Ok(())
    }
}

impl Sampler for ActivitySampler {
    fn subject(&self) -> &'static str {
        "what sessions wait for"
    }

    fn period(&self) -> Duration {
        Duration::from_millis(100)
    }

    fn asks_server(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        self.heartbeat.asked();
        self.look(moment, sink)?;
        self.heartbeat.answered();
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let result = self.sample(moment, sink);
        self.waits.write(sink);
        self.blocked.finish(moment.at_s(), sink);
        result
    }
}

/// Whether the session `s` is a measured one: of the load's user, and not of those that dyno has beside the load.
pub(super) fn measured(alias: &str, user: &str) -> String {
    let user = user.replace('\'', "''");
    format!("({alias}.username = '{user}' and coalesce({alias}.module, '-') <> '{BESIDE}')")
}

/// Whose sessions wait for what, and how many. One whose state is none that waits is on a CPU, or wants one.
fn activity(user: &str) -> String {
    let measured = measured("s", user);
    let whose =
        format!("case when s.type = 'BACKGROUND' then 'background' when {measured} then '{CLIENT}' else 'other' end");
    let class = format!("case when s.state = 'WAITING' then s.wait_class else '{RUNNING}' end");
    let event = "case when s.state = 'WAITING' then s.event end";
    format!(
        "select {whose}, {class}, {event}, count(*) from v$session s where s.status = 'ACTIVE' and (s.state <> \
         'WAITING' or s.wait_class <> 'Idle') and coalesce(s.module, '-') <> '{BESIDE}' group by {whose}, {class}, \
         {event}"
    )
}

/// Who makes measured sessions wait for locks: how long, whether that is a measured one, for what, on what, and who.
fn blockers(user: &str) -> String {
    format!(
        "select s.wait_time_micro / 1000000, case when {} then 1 else 0 end, s.event, o.object_name, b.sid, \
         b.username, b.program, b.status from v$session s join v$session b on b.sid = s.blocking_session left join \
         user_objects o on o.object_id = s.row_wait_obj# where {} and s.blocking_session_status = 'VALID' and s.event \
         like 'enq:%'",
        measured("b", user),
        measured("s", user)
    )
}

/// What such a row says.
fn blocker(row: &[Option<String>]) -> Option<Blocker> {
    let text = |index: usize| row.get(index)?.as_deref();
    let user = text(5).map_or_else(|| "the server itself".to_owned(), shown);
    let program = text(6).map(|program| format!(" ({program})")).unwrap_or_default();
    let does = text(7)
        .map(|status| format!(", {}", status.to_lowercase()))
        .unwrap_or_default();
    Some(Blocker {
        waited_s: text(0)?.parse().ok()?,
        measured: text(1) == Some("1"),
        lock: text(2).map(str::to_owned),
        relation: text(3).map(shown),
        holder: format!("session {} of {user}{program}{does}", text(4)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_known_by_its_user_and_not_being_beside_it() {
        let query = activity("O'NEIL");
        assert!(query.contains("s.username = 'O''NEIL' and coalesce(s.module, '-') <> 'dyno beside the load'"));
    }

    #[test]
    fn a_holder_is_told_in_words() {
        let row = |values: &[Option<&str>]| values.iter().map(|value| value.map(str::to_owned)).collect::<Vec<_>>();
        let found = blocker(&row(&[
            Some("2.5"),
            Some("0"),
            Some("enq: TX - row lock contention"),
            Some("TBL"),
            Some("77"),
            Some("ANN"),
            Some("sqlplus@db"),
            Some("INACTIVE"),
        ]));
        let found = found.unwrap();
        assert_eq!(found.holder, "session 77 of ann (sqlplus@db), inactive");
        assert_eq!((found.relation.as_deref(), found.measured), (Some("tbl"), false));
        assert_eq!(blocker(&row(&[None])), None);
    }
}

//! How long sessions wait for files, and for each other inside the server, from the performance schema where it counts
//! that.
//!
//! The list of processes says what a statement is at, not whether it reads a page from a disk just now. The performance
//! schema adds up for each event how long all sessions of a user have waited for it, and the threads of the server's
//! own: what comes to that in a second is how many of them waited in the mean. Which sessions these were it does not
//! say, so they are taken from those that were seen running, or at a commit if they waited for a log.
//!
//! Summed up over all users, as in `events_waits_summary_global_by_event_name`, threads that write pages in the
//! background could not be told from sessions that wait for a page.

use super::states::{COMMIT, FILE, INTERNAL, kind_of};
use crate::mysql::{Client, ClientError};
use crate::sampler::waits::{CLIENT, RUNNING, Waits};
use dyno_record::WaitKind;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The threads of the server's own, as rows of `waits.csv` call them.
const BACKGROUND: &str = "background";

/// What comes to sums over longer than this is of no use: nobody has looked at the sessions meanwhile.
const LONGEST: Duration = Duration::from_secs(2);

/// What is asked for. Waits for tables, for the network and for conditions are left out: the first two are work and
/// idleness as well, and sessions that wait for conditions have a state that says so.
const EVENTS: &str = "(event_name like 'wait/io/file/%' or event_name like 'wait/synch/mutex/%' or event_name like \
                      'wait/synch/%lock/%')";

/// An event of a user, if one has it.
type Event = (String, String);

/// The sums of events, read again and again.
pub(super) struct Events {
    query: String,
    before: HashMap<Event, f64>,
    read: Option<Instant>,
}

/// How many waited for an event, in the mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waited {
    /// Whether these were sessions of the load's user; else they were threads of the server's own.
    pub is_client: bool,
    pub event: String,
    pub sessions: f64,
}

impl Events {
    /// Those of the sessions of `user`, which is a literal of SQL.
    pub(super) fn new(user: &str) -> Self {
        Self {
            query: format!(
                "select coalesce(user, ''), event_name, sum_timer_wait / 1e12
                   from performance_schema.events_waits_summary_by_user_by_event_name
                  where sum_timer_wait > 0 and (user is null or user = {user}) and {EVENTS}"
            ),
            before: HashMap::new(),
            read: None,
        }
    }

    /// Reads the sums. Gives back what has come to them since they were read before, if that was not long ago.
    pub(super) fn since(&mut self, client: &mut Client) -> Result<Vec<Waited>, ClientError> {
        let rows = client.query::<(String, String, f64)>(&self.query)?;
        let sums = rows
            .into_iter()
            .map(|(user, event, waited_s)| ((user, event), waited_s));
        let now = Instant::now();
        let over = self.read.replace(now).map(|before| now - before);
        let before = std::mem::replace(&mut self.before, sums.collect());
        Ok(match over {
            Some(over) if over <= LONGEST => waited(&before, &self.before, over),
            _ => Vec::new(),
        })
    }
}

/// What has come to sums over this time. Those that were reset begin anew.
fn waited(before: &HashMap<Event, f64>, now: &HashMap<Event, f64>, over: Duration) -> Vec<Waited> {
    let more = now.iter().filter_map(|(event, sum_s)| {
        let before_s = before.get(event).copied().filter(|before_s| before_s <= sum_s);
        let waited_s = sum_s - before_s.unwrap_or(0.0);
        (waited_s > 0.0).then(|| Waited {
            is_client: !event.0.is_empty(),
            event: event.1.clone(),
            sessions: waited_s / over.as_secs_f64(),
        })
    });
    more.collect()
}

/// The class of an event of the performance schema.
fn class_of(event: &str) -> &'static str {
    match event.starts_with("wait/io/file/") {
        true => FILE,
        false => INTERNAL,
    }
}

/// Adds what the server has counted to the rows that were completed last.
pub(super) fn refine(waits: &mut Waits, counted: Vec<Waited>) {
    for Waited {
        is_client,
        event,
        sessions,
    } in counted
    {
        let class = class_of(&event);
        let of_log = kind_of(class, &event) == WaitKind::Log;
        let wait = |backend: &str| (backend.to_owned(), class.to_owned(), event.clone());
        if !is_client {
            waits.complement(wait(BACKGROUND), sessions);
            continue;
        }
        let to = wait(CLIENT);
        let seen_as = |seen: &'static str| {
            move |(backend, class, _): &(String, String, String)| backend == CLIENT && class == seen
        };
        let at_commit = match of_log {
            true => waits.refine(seen_as(COMMIT), &to, sessions),
            false => 0.0,
        };
        waits.refine(seen_as(RUNNING), &to, sessions - at_commit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::Moment;
    use crate::sampler::heard::Heard;
    use dyno_record::Value;

    fn sums(sums: &[(&str, &str, f64)]) -> HashMap<Event, f64> {
        let each = sums.iter();
        each.map(|(user, event, sum_s)| (((*user).to_owned(), (*event).to_owned()), *sum_s))
            .collect()
    }

    const DATA: &str = "wait/io/file/innodb/innodb_data_file";
    const LOG: &str = "wait/io/file/innodb/innodb_log_file";

    #[test]
    fn what_came_to_a_sum_is_how_many_waited() {
        let before = sums(&[("ann", DATA, 10.0), ("ann", LOG, 5.0), ("", DATA, 7.0)]);
        let now = sums(&[("ann", DATA, 13.0), ("ann", LOG, 1.0), ("", DATA, 7.0)]);
        let mut found = waited(&before, &now, Duration::from_secs(2));
        found.sort_by(|one, other| one.event.cmp(&other.event));
        let sessions = |event: &str, sessions| Waited {
            is_client: true,
            event: event.to_owned(),
            sessions,
        };
        assert_eq!(found, [sessions(DATA, 1.5), sessions(LOG, 0.5)]);
    }

    #[test]
    fn waits_for_files_are_of_sessions_that_were_seen_at_work() {
        let (mut waits, mut heard) = (Waits::corrected_within(1, kind_of), Heard::default());
        let seen = |class: &str| (CLIENT.to_owned(), class.to_owned(), "a state".to_owned());
        let complete = [500, 1_000].map(|at_ms| {
            let moment = Moment {
                at: Duration::from_millis(at_ms),
                late: Duration::ZERO,
            };
            waits.add(moment, [(seen(RUNNING), 4.0), (seen(COMMIT), 2.0)], &mut heard)
        });
        assert_eq!(complete, [false, true]);
        let counted = |is_client, event: &str, sessions| Waited {
            is_client,
            event: event.to_owned(),
            sessions,
        };
        let counted = vec![
            counted(true, DATA, 1.5),
            counted(true, LOG, 2.5),
            counted(true, "wait/synch/mutex/sql/LOCK_open", 0.25),
            counted(false, DATA, 3.0),
        ];
        refine(&mut waits, counted);
        waits.write(&mut heard);
        let rows: Vec<_> = heard.rows.into_iter().map(|(_, values)| values).collect();
        let row = |backend: &str, class: &str, event: &str, sessions: f64, kind: WaitKind| {
            vec![
                Value::from(backend),
                Value::from(class),
                Value::from(event),
                Value::from(sessions),
                Value::from(kind.name()),
            ]
        };
        assert_eq!(
            rows,
            [
                row(BACKGROUND, FILE, DATA, 3.0, WaitKind::Data),
                row(CLIENT, RUNNING, "a state", 1.75, WaitKind::None),
                row(CLIENT, FILE, DATA, 1.5, WaitKind::Data),
                row(CLIENT, FILE, LOG, 2.5, WaitKind::Log),
                row(
                    CLIENT,
                    INTERNAL,
                    "wait/synch/mutex/sql/LOCK_open",
                    0.25,
                    WaitKind::Other
                ),
            ]
        );
    }
}

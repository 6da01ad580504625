//! Sessions, looked at ten times a second: what they wait for, and locks held by others.
//!
//! One statement does it, summed up by the server: with many clients a row for each would cost more than the answer.

use super::blocked::{COLUMNS, Row, Session, of_commands, of_rows};
use super::link::{Link, OwnSessions};
use super::states::{ROW_LOCK, class_of, is_lock, is_of_commands, kind_of};
use super::survey::{SessionList, Survey};
use crate::host::Heartbeat;
use crate::mysql::address::ConnectionInfo;
use crate::mysql::lock;
use crate::sampler::blocked::{BlockedWatch, Blocker};
use crate::sampler::waits::{CLIENT, Waits};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use std::time::{Duration, Instant};

/// How often sessions are looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// More sessions than this are not looked at for who holds a lock.
const MOST_SESSIONS: usize = 200;

/// What a session does that is at work.
const AT_WORK: &str = "('Query', 'Execute', 'Bulk_execute', 'Prepare', 'Fetch')";

/// The sessions whose transactions wait for rows.
const WAIT_FOR_ROWS: &str =
    "select trx_mysql_thread_id from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";

/// Samples what sessions do.
pub(super) struct ActivitySampler {
    link: Link,
    own: OwnSessions,
    survey: Survey,
    /// Whether a session of the list `p` is a measured one.
    measured: String,
    heartbeat: Heartbeat,
    waits: Waits,
    blocked: BlockedWatch,
}

/// What a load's sessions wait for that is a lock.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    sessions: f64,
    class: &'static str,
    /// How long the one that has waited longest is at its statement.
    longest_s: f64,
}

impl ActivitySampler {
    pub(super) fn new(info: &ConnectionInfo, own: &OwnSessions, survey: Survey, heartbeat: Heartbeat) -> Self {
        Self {
            link: Link::new(info, own),
            own: own.clone(),
            survey,
            measured: measured(&info.user, &info.database),
            heartbeat,
            waits: Waits::new(kind_of),
            blocked: BlockedWatch::default(),
        }
    }

    fn look(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let asked = Instant::now();
        let query = activity(self.survey, &self.measured, &self.own.listed());
        let rows = self
            .link
            .with(|client| client.query::<(String, String, f64, Option<f64>)>(&query))?;
        // A server that stood still tells of the time at which it answers.
        let answered = Moment {
            at: moment.at + asked.elapsed(),
            ..moment
        };
        let mut waiting: Option<Waiting> = None;
        let mut all = 0.0;
        let mut waits = Vec::new();
        for (backend, state, sessions, longest_s) in rows {
            let class = class_of(&state);
            if backend == CLIENT && is_lock(class) {
                all += sessions;
                let longest_s = longest_s.unwrap_or(0.0);
                let most = waiting.map_or(0.0, |waiting| waiting.sessions);
                if sessions > most {
                    waiting = Some(Waiting {
                        sessions,
                        class,
                        longest_s,
                    });
                }
            }
            waits.push(((backend, class.to_owned(), state), sessions));
        }
        self.waits.add(answered, waits, sink);
        if self.blocked.advance(moment, all, sink)
            && let Some(waiting) = waiting
        {
            let blockers = self.blockers(waiting)?;
            self.blocked.found(moment, all, blockers);
        }
        Ok(())
    }

    /// Who makes them wait, as far as this role may see that.
    fn blockers(&mut self, waiting: Waiting) -> Result<Vec<Blocker>, SampleError> {
        let (survey, measured) = (self.survey, self.measured.clone());
        let sessions = |condition: &str| sessions(survey, &measured, condition);
        if is_of_commands(waiting.class) {
            let others = format!(
                "p.command <> 'Daemon' and not ({measured}) and p.id not in ({}) and p.id <> \
                 coalesce(is_used_lock('{}'), 0) limit {MOST_SESSIONS}",
                self.own.listed(),
                lock::NAME
            );
            let found = self.link.allowed(|client| client.query::<Row>(&sessions(&others)))?;
            let found = found.unwrap_or_default().into_iter().map(Session::from).collect();
            return Ok(vec![of_commands(found, waiting.longest_s, waiting.class)]);
        }
        if waiting.class != class_of(ROW_LOCK) || !survey.sees_all {
            return Ok(Vec::new());
        }
        let found = self
            .link
            .allowed(|client| of_rows(client, survey.is_mariadb, sessions))?;
        Ok(found.unwrap_or_default())
    }
}

impl Sampler for ActivitySampler {
    fn subject(&self) -> &'static str {
        "what sessions wait for"
    }

    fn period(&self) -> Duration {
        PERIOD
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

/// Whether a session of the list of processes `p` is a measured one: it has the load's user and database.
fn measured(user: &str, database: &str) -> String {
    let database = match database {
        "" => "null".to_owned(),
        database => text(database),
    };
    format!("p.user = {} and p.db <=> {database}", text(user))
}

/// A text as SQL takes it, whatever the mode.
fn text(text: &str) -> String {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("convert(x'{bytes}' using utf8mb4)")
}

/// The list of processes.
fn processes(survey: Survey) -> &'static str {
    match survey.sessions {
        SessionList::Old | SessionList::OldInMs => "information_schema.processlist",
        SessionList::PerformanceSchema => "performance_schema.processlist",
    }
}

/// How long a session has been at what it does, in seconds.
fn time_s(survey: Survey) -> &'static str {
    match survey.sessions {
        SessionList::OldInMs => "p.time_ms / 1000",
        SessionList::Old | SessionList::PerformanceSchema => "p.time",
    }
}

/// Whose sessions are in which state, how many, and how long the first of them has been at it.
fn activity(survey: Survey, measured: &str, own: &str) -> String {
    let state = match survey.sees_all {
        true => format!("case when p.id in ({WAIT_FOR_ROWS}) then '{ROW_LOCK}' else coalesce(p.state, '') end"),
        false => "coalesce(p.state, '')".to_owned(),
    };
    format!(
        "select case when {measured} then '{CLIENT}' else 'other' end as whose, {state} as state_or_wait, count(*), \
         max({}) from {} p where p.command in {AT_WORK} and p.id not in ({own}) group by whose, state_or_wait",
        time_s(survey),
        processes(survey)
    )
}

/// Sessions for which a condition holds.
fn sessions(survey: Survey, measured: &str, condition: &str) -> String {
    let (transaction, join) = match survey.sees_all {
        true => (
            "cast(timestampdiff(second, t.trx_started, now()) as double)",
            "left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.id",
        ),
        false => ("null", ""),
    };
    format!(
        "select {COLUMNS}, coalesce({}, 0), left(p.info, 500), {transaction}, coalesce({measured}, 0) from {} p {join} \
         where {condition}",
        time_s(survey),
        processes(survey)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_known_by_its_user_and_database() {
        let root = "convert(x'726f6f74' using utf8mb4)";
        assert_eq!(measured("root", ""), format!("p.user = {root} and p.db <=> null"));
        assert!(measured("root", "d'\\").ends_with("p.db <=> convert(x'64275c' using utf8mb4)"));
    }
}

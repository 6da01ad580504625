//! Sessions, looked at nine times a second: what they wait for, and locks held by others.
//!
//! One statement does it, summed up by the server: with many clients a row for each would cost more than the answer.
//!
//! Who waits for a row InnoDB tells from a copy, and makes no other one within 0.1 s of the last time that it was read.
//! So looks are a little further apart. Others may have read it, too, as do dyno's other samplers: then sessions are
//! seen at work that have begun to wait. As soon as they are seen waiting, what the looks before said of them is put
//! right (see [`Earlier`]).

use super::blocked::{COLUMNS, Row, Session, of_commands, of_rows};
use super::events::{self, Events};
use super::link::{Link, OwnSessions};
use super::states::{ROW_LOCK, class_of, is_lock, is_of_commands, kind_of};
use super::survey::{SessionList, Survey};
use crate::host::Heartbeat;
use crate::mysql::address::ConnectionInfo;
use crate::mysql::lock;
use crate::sampler::blocked::{BlockedWatch, Blocker};
use crate::sampler::waits::{CLIENT, RUNNING, Waits};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How often sessions are looked at: see above.
const PERIOD: Duration = Duration::from_millis(110);

/// More sessions than this are not looked at for who holds a lock.
const MOST_SESSIONS: usize = 200;

/// What a session does that is at work.
const AT_WORK: &str = "('Query', 'Execute', 'Bulk_execute', 'Prepare', 'Fetch')";

/// So many looks may have been wrong about who waits for a row.
const DOUBTFUL: usize = 3;

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
    /// The last looks, the latest first.
    earlier: VecDeque<Earlier>,
    /// What the performance schema counts, if it does.
    events: Option<Events>,
    blocked: BlockedWatch,
}

/// What was seen at a look of measured sessions that wait for rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Earlier {
    at: Duration,
    sessions: f64,
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
            waits: Waits::corrected_within(DOUBTFUL as u32 + 1, kind_of),
            earlier: VecDeque::new(),
            events: survey.counts_waits.then(|| Events::new(&text(&info.user))),
            blocked: BlockedWatch::default(),
        }
    }

    fn look(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let asked = Instant::now();
        let ages: Vec<Duration> = self
            .earlier
            .iter()
            .map(|look| moment.at.saturating_sub(look.at))
            .collect();
        let query = activity(self.survey, &self.measured, &self.own.listed(), &ages);
        let rows = self
            .link
            .with(|client| client.query::<(String, String, f64, Option<f64>, String)>(&query))?;
        // A server that stood still tells of the time at which it answers.
        let answered = Moment {
            at: moment.at + asked.elapsed(),
            ..moment
        };
        let mut waiting: Option<Waiting> = None;
        let mut all = 0.0;
        let mut waits = Vec::new();
        let mut for_rows = (0.0, Vec::new());
        for (backend, state, sessions, longest_s, since) in rows {
            let class = class_of(&state);
            if backend == CLIENT && state == ROW_LOCK {
                for_rows = (sessions, numbers(&since));
            }
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
        let is_complete = self.waits.add(answered, waits, sink);
        self.put_right(moment.at, for_rows.0, &for_rows.1);
        if let Some(sums) = self.events.as_mut().filter(|_| is_complete) {
            let counted = self.link.allowed(|client| sums.since(client))?;
            events::refine(&mut self.waits, counted.unwrap_or_default());
        }
        if self.blocked.advance(moment, all, sink)
            && let Some(waiting) = waiting
        {
            let blockers = self.blockers(waiting)?;
            self.blocked.found(moment, all, blockers);
        }
        Ok(())
    }

    /// Has sessions that wait for rows wait for them at the looks before, too. So many of those that wait `now`, each
    /// of the numbers says, were at their statements at one of these looks.
    fn put_right(&mut self, at: Duration, now: f64, then: &[f64]) {
        let running = |(backend, class, _): &(String, String, String)| backend == CLIENT && class == RUNNING;
        let to = (CLIENT.to_owned(), class_of(ROW_LOCK).to_owned(), ROW_LOCK.to_owned());
        for ((looks_ago, earlier), then) in (1..).zip(&mut self.earlier).zip(then) {
            let unseen = then - earlier.sessions;
            if unseen > 0.0 {
                self.waits.correct(looks_ago, running, &to, unseen);
                earlier.sessions = *then;
            }
        }
        self.earlier.truncate(DOUBTFUL - 1);
        self.earlier.push_front(Earlier { at, sessions: now });
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

/// Numbers with spaces between them.
fn numbers(text: &str) -> Vec<f64> {
    text.split(' ').filter_map(|number| number.parse().ok()).collect()
}

/// Whose sessions are in which state, how many, how long the first of them has been at it, and how many for longer than
/// each of these `ages`, with spaces between them, where the server knows such short times.
fn activity(survey: Survey, measured: &str, own: &str, ages: &[Duration]) -> String {
    let ages = match survey.sessions {
        SessionList::OldInMs => ages,
        SessionList::Old | SessionList::PerformanceSchema => &[],
    };
    let longer = ages
        .iter()
        .map(|age| format!(", coalesce(sum(p.time_ms >= {}), 0)", age.as_millis()));
    let longer: String = longer.collect();
    let state = match survey.sees_all {
        true => format!("case when p.id in ({WAIT_FOR_ROWS}) then '{ROW_LOCK}' else coalesce(p.state, '') end"),
        false => "coalesce(p.state, '')".to_owned(),
    };
    format!(
        "select case when {measured} then '{CLIENT}' else 'other' end as whose, {state} as state_or_wait, count(*), \
         max({}), concat_ws(' ', ''{longer}) from {} p where p.command in {AT_WORK} and p.id not in ({own}) group by \
         whose, state_or_wait",
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
    fn only_a_server_that_knows_short_times_is_asked_for_them() {
        let ages = [100, 205].map(Duration::from_millis);
        let asked = |sessions| {
            let survey = Survey {
                sessions,
                ..Survey::UNKNOWN
            };
            activity(survey, "true", "7", &ages)
        };
        let longer = asked(SessionList::OldInMs);
        assert!(longer.contains(", coalesce(sum(p.time_ms >= 100), 0), coalesce(sum(p.time_ms >= 205), 0))"));
        assert!(!asked(SessionList::Old).contains("time_ms"));
        assert_eq!(numbers(" 3 2.5"), [3.0, 2.5]);
    }

    #[test]
    fn the_load_is_known_by_its_user_and_database() {
        let root = "convert(x'726f6f74' using utf8mb4)";
        assert_eq!(measured("root", ""), format!("p.user = {root} and p.db <=> null"));
        assert!(measured("root", "d'\\").ends_with("p.db <=> convert(x'64275c' using utf8mb4)"));
    }
}

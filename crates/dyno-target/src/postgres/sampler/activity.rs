//! Sessions, looked at ten times a second: what they wait for, vacuums, and locks held by others.
//!
//! One statement does it, on the function under `pg_stat_activity` (the view adds joins), summed up by the server:
//! with many clients a row for each would cost more than the answer.

use super::blocked::blockers;
use super::link::{APPLICATION_NAME, Link};
use super::process;
use super::vacuums::{SeenVacuum, Vacuums};
use super::waits::kind_of;
use crate::host::Heartbeat;
use crate::postgres::Client;
use crate::postgres::address::ConnectionInfo;
use crate::postgres::server_message;
use crate::sampler::blocked::BlockedWatch;
use crate::sampler::waits::{CLIENT, Waits};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use postgres::{Row, Statement};
use postgres_protocol::escape::escape_literal;
use std::time::{Duration, Instant};

/// How often sessions are looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// Samples what sessions do.
pub(super) struct ActivitySampler {
    link: Link<Statements>,
    heartbeat: Heartbeat,
    waits: Waits,
    vacuums: Vacuums,
    blocked: BlockedWatch,
}

struct Statements {
    activity: Statement,
    blockers: Statement,
}

impl ActivitySampler {
    /// `autovacuums_elsewhere`: whether the log tells of them.
    pub(super) fn new(info: &ConnectionInfo, heartbeat: Heartbeat, autovacuums_elsewhere: bool) -> Self {
        let application = info.application_name().to_owned();
        let processes = heartbeat.processes();
        let link = Link::new(info, move |client, version| {
            process::find(&processes, client)?;
            Statements::prepare(client, version, &application)
        });
        Self {
            link,
            heartbeat,
            waits: Waits::new(kind_of),
            vacuums: Vacuums::new(autovacuums_elsewhere),
            blocked: BlockedWatch::default(),
        }
    }

    fn look(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let asked = Instant::now();
        let rows = self
            .link
            .with(|client, statements| client.query(&statements.activity, &[]))?;
        // A server that stood still tells of the time at which it answers.
        let answered = Moment {
            at: moment.at + asked.elapsed(),
            ..moment
        };
        let mut waits = Vec::new();
        let mut vacuums = Vec::new();
        let mut waiting = 0.0;
        for row in rows {
            match Seen::read(&row).map_err(|error| SampleError(server_message(&error)))? {
                Seen::Wait(wait, sessions) => {
                    if (wait.0.as_str(), wait.1.as_str()) == (CLIENT, "Lock") {
                        waiting += sessions;
                    }
                    waits.push((wait, sessions));
                }
                Seen::Vacuum(vacuum) => vacuums.push(vacuum),
            }
        }
        self.waits.add(answered, waits, sink);
        self.vacuums.advance(moment.at_s(), vacuums, sink);
        if self.blocked.advance(moment, waiting, sink) {
            let rows = self
                .link
                .with(|client, statements| client.query(&statements.blockers, &[]))?;
            let blockers = blockers(&rows).map_err(|error| SampleError(server_message(&error)))?;
            self.blocked.found(moment, waiting, blockers);
        }
        Ok(())
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
        self.vacuums.finish(moment.at_s(), sink);
        self.blocked.finish(moment.at_s(), sink);
        result
    }
}

/// A row of the answer.
enum Seen {
    Wait((String, String, String), f64),
    Vacuum(SeenVacuum),
}

impl Seen {
    fn read(row: &Row) -> Result<Self, postgres::Error> {
        let text = |index: usize| row.try_get::<_, Option<String>>(index);
        let (first, second, third) = (text(1)?.unwrap_or_default(), text(2)?.unwrap_or_default(), text(3)?);
        let number: f64 = row.try_get(4)?;
        Ok(match text(0)?.as_deref() {
            Some("vacuum") => Self::Vacuum(SeenVacuum {
                pid: first,
                query: second,
                table: third,
                age_s: number,
            }),
            _ => Self::Wait((first, second, third.unwrap_or_default()), number),
        })
    }
}

impl Statements {
    fn prepare(client: &mut Client, version: u32, application: &str) -> Result<Self, postgres::Error> {
        let row = client.query_one("select oid from pg_roles where rolname = session_user", &[])?;
        let role: u32 = row.get(0);
        let sessions = sessions(version, application, role);
        Ok(Self {
            activity: client.prepare(&activity(&sessions, version))?,
            blockers: client.prepare(&super::blocked::query(&sessions, version))?,
        })
    }
}

/// A table expression `a` with a row for every session but the samplers': what it is and does, with whose it is as
/// `backend`. What a role may not see is null, and so is the `backend` of processes that nothing is known of.
fn sessions(version: u32, application: &str, role: u32) -> String {
    let wait = if version >= 90_600 {
        "wait_event_type, wait_event"
    } else {
        "case when waiting then 'Lock' end as wait_event_type, null::text as wait_event"
    };
    let measured = format!(
        "application_name = {} and usesysid = {role}",
        escape_literal(application)
    );
    // A parallel worker shows the statement of the session that it helps.
    let helps = if version >= 100_000 {
        "backend_type = 'parallel worker'"
    } else {
        "false"
    };
    let client = format!("case when {measured} then '{CLIENT}' else 'other' end");
    let backend = if version >= 100_000 {
        format!(
            "case backend_type when 'client backend' then {client} when 'parallel worker' then {client}
                  when 'autovacuum worker' then 'autovacuum' when 'autovacuum launcher' then 'autovacuum'
                  when 'checkpointer' then 'checkpointer'
                  else case when backend_type is not null then 'background' end end"
        )
    } else {
        // Before version 10 there are no other processes to be seen than clients and autovacuum workers.
        format!("case when query like 'autovacuum: %' then 'autovacuum' when state is not null then {client} end")
    };
    format!(
        "with a as (select pid, application_name, state, query, query_start, {wait}, {backend} as backend, {helps} \
         as helps
                      from pg_stat_get_activity(null)
                     where pid <> pg_backend_pid() and application_name is distinct from '{APPLICATION_NAME}')"
    )
}

/// Rows of a kind (`wait` or `vacuum`), three texts and a number.
fn activity(sessions: &str, version: u32) -> String {
    let table = if version >= 90_600 {
        "(select n.nspname || '.' || c.relname from pg_stat_progress_vacuum p
            join pg_class c on c.oid = p.relid join pg_namespace n on n.oid = c.relnamespace
           where p.pid = a.pid and p.datname = current_database())"
    } else {
        "null"
    };
    format!(
        "{sessions}
         select 'wait'::text, backend::text,
                case when wait_event_type is not null then wait_event_type
                     when state like 'idle in transaction%' then 'Client' else 'CPU' end::text,
                coalesce(wait_event, case when state like 'idle in transaction%' then 'ClientRead' end, '')::text,
                count(*)::float8
           from a
          where backend is not null
            and case when state is null then wait_event_type is distinct from 'Activity'
                     else state = 'active' or state = 'fastpath function call' or state like 'idle in transaction%' end
          group by 2, 3, 4
         union all
         select 'vacuum', pid::text, left(query, 200), {table}, extract(epoch from clock_timestamp() -
           query_start)::float8
           from a
          where state = 'active' and query_start is not null and helps is not true and (query like 'autovacuum: %'
            or query ~* '^\\s*vacuum')"
    )
}

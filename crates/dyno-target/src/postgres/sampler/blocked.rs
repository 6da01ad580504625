//! Who keeps PostgreSQL's sessions waiting for a lock.

use crate::sampler::blocked::{Blocker, begin_of};
use crate::target::statement_without_secrets;
use postgres::Row;

/// The answer to [`query`].
pub(super) fn blockers(rows: &[Row]) -> Result<Vec<Blocker>, postgres::Error> {
    let blocker = |row: &Row| {
        Ok(Blocker {
            waited_s: row.try_get::<_, Option<f64>>(0)?.unwrap_or(0.0),
            measured: row.try_get::<_, Option<bool>>(5)?.unwrap_or(false),
            lock: None,
            relation: row.try_get(6)?,
            holder: Holder::read(row)?.describe(),
        })
    };
    rows.iter().map(blocker).collect()
}

/// A session that holds a lock.
#[derive(Clone, Debug)]
struct Holder {
    /// 0 for a prepared transaction, which has no session.
    pid: i32,
    application: String,
    state: String,
    statement: String,
}

impl Holder {
    fn read(row: &Row) -> Result<Self, postgres::Error> {
        let text = |index: usize| Ok(row.try_get::<_, Option<String>>(index)?.unwrap_or_default());
        Ok(Self {
            pid: row.try_get(1)?,
            application: text(2)?,
            state: text(3)?,
            statement: text(4)?,
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

    fn holder() -> Holder {
        Holder {
            pid: 7,
            application: "psql".to_owned(),
            state: "idle in transaction".to_owned(),
            statement: "lock  table\n t".to_owned(),
        }
    }

    #[test]
    fn a_holder_is_described_in_a_line() {
        let described = "process 7 (psql), idle in transaction: lock table t";
        assert_eq!(holder().describe(), described);
        assert_eq!(Holder { pid: 0, ..holder() }.describe(), "a prepared transaction");
    }

    #[test]
    fn a_password_is_not_told() {
        let mut secret = holder();
        for statement in [
            "alter role a PassWord 's3cret'",
            "create subscription s connection 'postgres://rep:s3cret@h/db'",
        ] {
            secret.statement = statement.to_owned();
            assert!(!secret.describe().contains("s3cret"), "{}", secret.describe());
        }
    }
}

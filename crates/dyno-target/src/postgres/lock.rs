//! A server for one campaign at a time: two that measure it at once would see each other, drop each other's data,
//! and put back each other's settings.
//!
//! The lock is an advisory one, which an ordinary role may take and which the server releases when its connection
//! ends, however that comes about. Advisory locks belong to a database, but `pg_locks` shows those of all databases
//! to everybody. So the lock is taken first, wherever the connection is, and then holders of the same number
//! elsewhere are looked for; of two that do so at once at least one sees the other, lets go, and tries again.

use crate::postgres::Client;
use crate::postgres::address::{ConnectError, ConnectionInfo, Interruptible};
use jiff::{Timestamp, Unit};
use postgres_protocol::escape::escape_literal;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The two numbers of the lock: "dyno" as ASCII, and the server as a whole.
const KEY: (i32, i32) = (0x6479_6e6f, 0);

/// What is added to the second number for a schema, of which the rest is a checksum: 0 stays the server's.
const SCHEMAS: i32 = 1 << 30;

/// How often a lock that another holds is tried again, and how often a connection that holds one is asked whether
/// it is still there.
const RETRY: Duration = Duration::from_millis(500);

/// The longest name of an application, in bytes (`NAMEDATALEN`).
const LONGEST_NAME: usize = 63;

/// A server cannot be locked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum LockError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the server cannot be reserved for this campaign: {message}")]
    Server { message: String },
    #[error("stopped while waiting for another dyno")]
    Stopped,
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The server's process for the connection that holds it.
    pub server_pid: i32,
    /// What the holder calls itself: of a dyno its process, machine and since when.
    pub application_name: String,
    /// Its role.
    pub user: String,
    /// Its database.
    pub database: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (role {}, database {}, process {} of the server)",
            self.application_name, self.user, self.database, self.server_pid
        )
    }
}

/// A server that is reserved, until this is dropped or the connection is lost.
pub struct ServerLock {
    info: ConnectionInfo,
    /// Whether others that share it, too, may measure at the same time.
    shared: bool,
    /// Schemas of the database that are this campaign's alone.
    schemas: Vec<String>,
    held: Mutex<Option<Held>>,
}

/// The connection that holds the locks.
struct Held {
    client: Interruptible,
    pid: i32,
}

impl ServerLock {
    /// Reserves the server of `info`, and schemas of its database, whoever else may share the server. As long as
    /// another dyno stands in the way, waits; `waiting` is told once for each that does. From when `stop` is raised
    /// nothing that the lock asks the server is waited for.
    ///
    /// # Errors
    /// No connection, or `stop` was raised.
    pub fn take(
        info: &ConnectionInfo,
        shared: bool,
        schemas: Vec<String>,
        stop: &Arc<AtomicBool>,
        waiting: &mut dyn FnMut(&Holder),
    ) -> Result<Self, LockError> {
        let lock = Self {
            info: info.clone(),
            shared,
            schemas,
            held: Mutex::new(None),
        };
        lock.ensure(stop, waiting)?;
        Ok(lock)
    }

    /// Whether the locks are held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held().as_mut().is_some_and(Held::is_alive)
    }

    /// Takes the locks again if the connection is gone, as after a restart of the server.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub fn ensure(&self, stop: &Arc<AtomicBool>, waiting: &mut dyn FnMut(&Holder)) -> Result<(), LockError> {
        if self.is_held() {
            return Ok(());
        }
        let mut told = Vec::new();
        loop {
            // Each attempt has a connection of its own: what it took goes with it.
            let mut client = self.info.connect_to_ask(stop)?;
            let held = self.attempt(&mut client).map_err(|error| LockError::Server {
                message: client.explain(&error),
            })?;
            match held {
                Ok(pid) => {
                    *self.held() = Some(Held { client, pid });
                    return Ok(());
                }
                Err(holders) => {
                    drop(client);
                    for holder in holders {
                        if !told.contains(&holder) {
                            waiting(&holder);
                            told.push(holder);
                        }
                    }
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Err(LockError::Stopped);
            }
            // Two that have seen each other shall not go on doing so in step.
            std::thread::sleep(RETRY + Duration::from_millis(u64::from(std::process::id() % 100)));
        }
    }

    /// Who else measures on the server at the moment.
    #[must_use]
    pub fn sharers(&self) -> Vec<Holder> {
        let mut held = self.held();
        let found = held
            .as_mut()
            .map(|held| holders(&mut held.client, held.pid, KEY.1, false));
        let found = found.and_then(Result::ok).unwrap_or_default();
        found
            .into_iter()
            .filter(|holder| holder.application_name != own_name())
            .collect()
    }

    /// Takes everything, and gives the number of the connection; or says who stands in the way.
    fn attempt(&self, client: &mut Client) -> Result<Result<i32, Vec<Holder>>, postgres::Error> {
        client.batch_execute(&format!("set application_name = {}", escape_literal(own_name())))?;
        // Only from version 14 on.
        let _ = client.batch_execute("set idle_session_timeout = 0");
        let pid: i32 = client.query_one("select pg_backend_pid()", &[])?.get(0);
        let function = if self.shared {
            "pg_try_advisory_lock_shared"
        } else {
            "pg_try_advisory_lock"
        };
        let mut keys = vec![(KEY, function)];
        let schemas = self
            .schemas
            .iter()
            .map(|schema| (key_of(schema), "pg_try_advisory_lock"));
        keys.extend(schemas);
        for ((first, second), function) in keys {
            let ours = |holder: &Holder| holder.application_name == own_name();
            let sharing = self.shared && second == KEY.1;
            if holders(client, pid, second, false)?.iter().any(ours) {
                // By another address of the same server.
                continue;
            }
            let taken: bool = client
                .query_one(&format!("select {function}({first}, {second})"), &[])?
                .get(0);
            let others = holders(client, pid, second, sharing)?;
            // A holder that has gone meanwhile cannot be named.
            if !taken || !others.is_empty() {
                return Ok(Err(others));
            }
        }
        Ok(Ok(pid))
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn is_alive(&mut self) -> bool {
        let Ok(row) = self.client.query_one("select pg_backend_pid()", &[]) else {
            return false;
        };
        if row.get::<_, i32>(0) == self.pid {
            return true;
        }
        // Behind a pooler this may be another of its connections.
        let query = "select exists (select 1 from pg_locks where locktype = 'advisory' and granted and \
                     classid::int8 = $1 and pid = $2)";
        let row = self.client.query_one(query, &[&i64::from(KEY.0), &self.pid]);
        row.is_ok_and(|row| row.get::<_, bool>(0))
    }
}

/// Whether anybody has reserved this schema of the client's database, or the whole server, as far as that can be told.
pub(super) fn is_held(client: &mut Client, schema: &str) -> bool {
    // No connection has this number.
    let mut is_by_any = |second, sharing| holders(client, 0, second, sharing).is_ok_and(|found| !found.is_empty());
    is_by_any(KEY.1, true) || is_by_any(key_of(schema).1, false)
}

/// Who else holds the lock with this second number: on the server for the server's, in this database for a
/// schema's. With `sharing` those do not count that share it, too.
fn holders(client: &mut Client, pid: i32, second: i32, sharing: bool) -> Result<Vec<Holder>, postgres::Error> {
    let query =
        "select l.pid, coalesce(a.application_name, ''), coalesce(a.usename::text, ''), coalesce(a.datname::text, '')
                   from pg_locks l left join pg_stat_activity a on a.pid = l.pid
                  where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.pid <> $1
                    and l.classid::int8 = $2 and l.objid::int8 = $3 and not ($4 and l.mode = 'ShareLock')
                    and ($3 = 0 or l.database = (select oid from pg_database where datname = current_database()))
                  order by l.pid";
    let rows = client.query(query, &[&pid, &i64::from(KEY.0), &i64::from(second), &sharing])?;
    let each = rows.iter().map(|row| Holder {
        server_pid: row.get(0),
        application_name: row.get(1),
        user: row.get(2),
        database: row.get(3),
    });
    Ok(each.collect())
}

/// The numbers of a schema's lock. Two names of the same number only wait for each other.
fn key_of(schema: &str) -> (i32, i32) {
    let hash = schema
        .bytes()
        .fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)));
    (KEY.0, SCHEMAS | (hash & (SCHEMAS - 1)))
}

/// What this process calls itself while it holds a lock: all that roles without rights see of each other.
fn own_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let now = Timestamp::now();
        let now = now.round(Unit::Second).unwrap_or(now);
        let system = rustix::system::uname();
        let host: String = system
            .nodename()
            .to_string_lossy()
            .chars()
            .filter(char::is_ascii)
            .collect();
        let begin = format!("dyno {} since {now} on ", std::process::id());
        let room = LONGEST_NAME.saturating_sub(begin.len());
        begin + host.get(..room).unwrap_or(&host)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_not_the_server() {
        let keys = ["", "a", "dyno_pk_update", "dyno_pk_select"].map(|schema| key_of(schema).1);
        assert!(keys.iter().all(|key| *key >= SCHEMAS), "{keys:?}");
        assert_ne!(keys[2], keys[3]);
    }

    #[test]
    fn a_name_fits() {
        let name = own_name();
        assert!(name.len() <= LONGEST_NAME && name.starts_with("dyno "), "{name}");
    }
}

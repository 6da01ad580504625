//! Keeps two campaigns from measuring on one database at the same time.
//!
//! The lock is one of `dbms_lock`, if this user may execute that: it is one for the whole database, whoever asks.
//! Otherwise it is a locked row of dyno's own table, which only those see who use the same schema. Either is held as
//! long as its connection stands, and is free by itself when the process that took it is gone.
//!
//! A campaign may know one database by several addresses, so what this process holds is known here by what the
//! database calls itself.

use super::address::ConnectionInfo;
use super::data::ensure_table;
use super::error::cannot;
use super::rights::refusable;
use super::{Client, ClientError, connect_until};
use crate::target::{Lock, StopFlag, TargetError};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// The lock's number: any that nobody else has.
const NUMBER: u32 = 720_401_337;

/// What is said when another session has it.
const TAKEN: u32 = 20_720;

/// Takes it, if it is free or this session's already (4), for as long as the session lasts.
const TAKE: &str = "declare r integer; begin r := dbms_lock.request(720401337, 6, 0, false); if r not in (0, 4) then \
                    raise_application_error(-20720, 'dyno: ' || r); end if; end;";

/// The same by a row of dyno's own table.
const TAKE_ROW: &str = "select note from dyno_run where kind = 'lock' for update nowait";

/// What the server says of a row that another session has locked.
pub(super) const BUSY: u32 = 54;

/// How often whoever waits looks again.
const POLL: Duration = Duration::from_millis(500);

/// What tells this database, and for locked rows this schema, from others.
const IDENTITY: &str = "select sys_context('userenv', 'db_unique_name') || ':' || sys_context('userenv', 'con_name') \
                        from dual";

/// The locks that this process holds.
static HELD: Mutex<BTreeMap<String, Weak<Mutex<Client>>>> = Mutex::new(BTreeMap::new());

/// The lock, held or lost.
pub(super) struct ServerLock {
    info: ConnectionInfo,
    /// Its connection, as long as it is there; several locks of one process share it.
    client: Mutex<Option<Arc<Mutex<Client>>>>,
}

impl ServerLock {
    /// Takes the lock, waiting for who has it; `waiting` is told of that once.
    pub fn take(info: &ConnectionInfo, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<Self, TargetError> {
        let client = held(info, stop, waiting)?;
        Ok(Self {
            info: info.clone(),
            client: Mutex::new(Some(client)),
        })
    }

    fn client(&self) -> MutexGuard<'_, Option<Arc<Mutex<Client>>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the database calls itself.
pub(super) fn identity(client: &mut Client) -> Result<Option<String>, ClientError> {
    let answer = refusable(client.query_first::<Option<String>>(IDENTITY))?;
    Ok(answer.ok().flatten().flatten().filter(|name| name != ":"))
}

fn held(
    info: &ConnectionInfo,
    stop: &StopFlag,
    waiting: &mut dyn FnMut(&str),
) -> Result<Arc<Mutex<Client>>, TargetError> {
    let failed = |error| cannot(format!("reserve {info} for this campaign"))(error);
    let mut client = connect_until(info, stop)?;
    let identity = identity(&mut client)
        .map_err(failed)?
        .unwrap_or_else(|| info.to_string());
    let place = format!("{identity} {}", info.schema());
    let mut told = false;
    loop {
        let known = all_held().get(&place).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| stands(known)) {
            return Ok(known);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(TargetError::Stopped("stopped while waiting for another dyno".into()));
        }
        if take(&mut client).map_err(failed)? {
            let client = Arc::new(Mutex::new(client));
            all_held().insert(place, Arc::downgrade(&client));
            return Ok(client);
        }
        if !std::mem::replace(&mut told, true) {
            waiting("another dyno");
        }
        std::thread::sleep(POLL);
    }
}

fn all_held() -> MutexGuard<'static, BTreeMap<String, Weak<Mutex<Client>>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries to take it; `false` if another session has it.
fn take(client: &mut Client) -> Result<bool, ClientError> {
    match refusable(client.begin(TAKE))? {
        Ok(()) => return Ok(true),
        Err(error) if error.code() == Some(TAKEN) => return Ok(false),
        // This user may not, or there is no such thing.
        Err(_) => {}
    }
    ensure_table(client)?;
    match refusable(client.query_first::<Option<String>>(TAKE_ROW))? {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some(BUSY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether its connection stands: the server gives up what a session held when that ends, not before.
fn stands(client: &Mutex<Client>) -> bool {
    let mut client = client.lock().unwrap_or_else(PoisonError::into_inner);
    matches!(client.query_first::<u8>("select 1 from dual"), Ok(Some(1)))
}

/// Whether anybody has reserved the database, as far as this user can tell.
pub(super) fn is_held(client: &mut Client) -> bool {
    let free = take(client);
    // What was taken to find out is given back: a lock of `dbms_lock` ends with this session, or so.
    let release = format!("declare r integer; begin r := dbms_lock.release({NUMBER}); end;");
    let _ = client.begin(&release);
    let _ = client.rollback();
    matches!(free, Ok(false))
}

impl Lock for ServerLock {
    fn is_held(&self) -> bool {
        let client = self.client().clone();
        client.is_some_and(|client| stands(&client))
    }

    fn ensure(&self, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        if !self.is_held() {
            *self.client() = None;
            let again = held(&self.info, stop, waiting)?;
            *self.client() = Some(again);
        }
        Ok(())
    }

    fn sharers(&self) -> Vec<String> {
        // Nobody may share the server.
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_have_the_numbers_that_are_looked_for() {
        assert!(TAKE.contains(&NUMBER.to_string()) && TAKE.contains(&format!("-{TAKEN}")));
    }
}

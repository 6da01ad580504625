//! Keeps two campaigns from measuring on one server at the same time.
//!
//! The server's own named locks do that (MySQL Reference Manual, "Locking Functions"): one is held as long as its
//! connection stands, and is free by itself when the process that took it is gone. Campaigns take turns: there is one
//! lock for the whole server, whatever database they work on.
//!
//! A campaign may know one server by several addresses. So whoever takes the lock takes another one before, which has
//! the name of its process: if both belong to one connection, the server is reserved for this process already.

use super::address::ConnectionInfo;
use super::error::cannot;
use super::{Client, connect_until};
use crate::target::{Lock, StopFlag, TargetError};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The lock of a server that is measured.
pub(super) const NAME: &str = "dyno";

/// How long the server waits for the lock at a time, in seconds, so that a request to stop is noticed.
const PATIENCE_S: u32 = 1;

/// How long the server may take to notice that a connection is gone, in seconds.
const GONE_S: u32 = 5;

/// The server's answer to the wish for the lock is none.
const UNKNOWN: &str = "the server does not say whether it gives the lock that keeps other dynos away (get_lock); try \
                       again, or connect to the server itself if this is a proxy";

/// The lock, held or lost.
pub(super) struct ServerLock {
    info: ConnectionInfo,
    /// The connection, as long as it is there.
    client: Mutex<Option<Client>>,
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

    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn held(info: &ConnectionInfo, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<Client, TargetError> {
    // In the database of the load it would be taken for one of its clients.
    let nowhere = ConnectionInfo {
        database: String::new(),
        ..info.clone()
    };
    let mut client = connect_until(&nowhere, stop)?;
    // Another connection of this process has it if it holds the lock itself, by another address of the same server.
    let failed = |error| cannot(format!("reserve {info} for this campaign"))(error);
    client
        .execute(&format!("do get_lock('{}', 0)", own_name()))
        .map_err(failed)?;
    let mut told = false;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(TargetError::Stopped("stopped while waiting for another dyno".into()));
        }
        let wait_s = if told { PATIENCE_S } else { 0 };
        let taken = client.query_first::<Option<u8>>(&format!("select get_lock('{NAME}', {wait_s})"));
        let taken = taken.map_err(failed)?;
        match taken.flatten() {
            Some(1) => {
                // The server may not have noticed yet that an earlier connection of ours, which had this one, is gone.
                client
                    .execute(&format!("do get_lock('{}', {GONE_S})", own_name()))
                    .map_err(failed)?;
                return Ok(client);
            }
            Some(_) if is_ours(&mut client) => return Ok(client),
            Some(_) => {}
            // NULL is for errors, and no row is no answer at all; asking on and on would be no waiting.
            None => return Err(TargetError::other(UNKNOWN)),
        }
        if !std::mem::replace(&mut told, true) {
            let holder = client.query_first::<Option<u64>>(&format!("select is_used_lock('{NAME}')"));
            let holder = holder
                .map_err(failed)?
                .flatten()
                .map_or_else(String::new, |id| format!(" (connection {id})"));
            waiting(&format!("another dyno{holder}"));
        }
    }
}

/// Whether anybody has reserved the server, as far as it says.
pub(super) fn is_held(client: &mut Client) -> bool {
    let query = format!("select is_used_lock('{NAME}') is not null");
    matches!(client.query_first::<u8>(&query), Ok(Some(1)))
}

/// Whether a connection of this process holds the lock.
fn is_ours(client: &mut Client) -> bool {
    let query = format!("select is_used_lock('{NAME}') = is_used_lock('{}')", own_name());
    matches!(client.query_first::<Option<u8>>(&query), Ok(Some(Some(1))))
}

/// The name of the lock that tells this process from others, on this machine and elsewhere. A name has at most 64
/// characters.
fn own_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("dyno {} since {}", std::process::id(), since.as_nanos())
    })
}

impl Lock for ServerLock {
    fn is_held(&self) -> bool {
        self.client().as_mut().is_some_and(is_ours)
    }

    fn ensure(&self, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        if !self.is_held() {
            // Should it still stand, nothing is to depend on it.
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
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn a_name_fits() {
        assert!(own_name().len() <= 64, "{}", own_name());
    }

    /// A packet of MySQL's protocol.
    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("a short one").to_le_bytes();
        [&length[..3], &[number], body].concat()
    }

    #[test]
    fn an_answer_that_is_none_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            // Lets everybody in, and says of everything that it is done, which has no rows.
            let greeting =
                b"\x0a11.4.5-MariaDB\0\x07\0\0\x0012345678\0\x03\xa2\x2d\x02\0\x0f\0\x15\0\0\0\0\0\0\0\0\0\0\
                             123456789012\0mysql_native_password\0";
            let mut reply = packet(0, greeting);
            let mut number = 2;
            while stream.write_all(&reply).is_ok() && stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                reply = packet(number, b"\0\0\0\x02\0\0\0");
                number = 1;
            }
        });
        let info = ConnectionInfo::resolve(&format!("mysql://ann@127.0.0.1:{port}/shop"), &|_| None);
        let info = info.expect("an address");
        let taken = ServerLock::take(&info, &StopFlag::default(), &mut |_| ());
        let said = taken.map(drop).expect_err("no lock").to_string();
        assert_eq!(said, UNKNOWN);
    }
}

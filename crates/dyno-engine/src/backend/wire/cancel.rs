//! Asks servers to give up what they still execute for a load that has ended, so that it does not go on without us.

use super::driver::WireDriver;
use dyno_connect::{Address, ConnectError, Limit, Stop, dial, log_in};
use dyno_wire::{Cancel, Session};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, RecvFlags, SendFlags};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to accept a connection for a request to cancel, and then to take the request: more than
/// any distance, and not so long that somebody who has asked for the end would give up.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);

/// Requests to cancel that are under way at a time, of each thread of the load.
const CANCELS_AT_ONCE: usize = 16;

/// Asks a server, the endpoint of this index, to give up what it executes for other sessions.
pub(crate) fn cancel<S: Session>(driver: &WireDriver<S>, endpoint: usize, cancels: Vec<Cancel>) {
    let (mut messages, mut statements) = (Vec::new(), Vec::new());
    for cancel in cancels {
        match cancel {
            Cancel::Message(message) => messages.push(message),
            Cancel::Statement(statement) => statements.push(statement),
        }
    }
    send(&driver.endpoints[endpoint].address, &messages);
    if !statements.is_empty() {
        // Who cannot be asked goes on until it notices that its client is gone.
        let _ = execute(driver, endpoint, &statements);
    }
}

/// Executes the statements by a session of its own, one after the other.
fn execute<S: Session>(driver: &WireDriver<S>, endpoint: usize, statements: &[String]) -> Result<(), ConnectError> {
    let limit = Limit {
        stop: &Stop::new(),
        until: Instant::now().checked_add(CANCEL_PATIENCE),
    };
    let (mut opening, mut session) = log_in(
        &driver.endpoints[endpoint],
        |tls| (driver.session)(endpoint, tls),
        limit,
    )?;
    let mut out = Vec::new();
    for statement in statements {
        session.query(|text| text.extend_from_slice(statement.as_bytes()), &mut out);
        // One that is refused was for a session that has ended meanwhile.
        opening.ask(&mut session, &mut out, "cancelling")?;
        out.clear();
    }
    session.terminate(&mut out);
    opening.tell(&out, CANCEL_PATIENCE)
}

/// Sends each request on a connection of its own, several at a time: each takes some trips to and fro. Whoever meets
/// one that is not taken asks no more, so a server that takes none is waited for once.
fn send(address: &Address, requests: &[Vec<u8>]) {
    let next = AtomicUsize::new(0);
    let some = || {
        let request = || requests.get(next.fetch_add(1, Ordering::Relaxed));
        while request().is_some_and(|request| is_taken(address, request)) {}
    };
    thread::scope(|scope| {
        for _ in 1..requests.len().min(CANCELS_AT_ONCE) {
            // Without a thread of its own it is asked later.
            let _ = thread::Builder::new().spawn_scoped(scope, some);
        }
        some();
    });
}

/// Asks the server to give up what it executes for another session. Gives whether it took the request.
fn is_taken(address: &Address, request: &[u8]) -> bool {
    let limit = Limit {
        stop: &Stop::new(),
        until: None,
    };
    let Ok(socket) = dial(address, CANCEL_PATIENCE, limit) else {
        return false;
    };
    // The server closes when it has passed the request on; until then ours would be cut off by closing first.
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(CANCEL_PATIENCE)).is_ok()
        && net::send(&socket, request, SendFlags::NOSIGNAL).is_ok()
        && !matches!(
            net::recv(&socket, &mut [0_u8; 1], RecvFlags::empty()),
            Err(Errno::AGAIN)
        )
}

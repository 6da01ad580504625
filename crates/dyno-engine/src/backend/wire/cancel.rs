//! Asks servers to give up what they still execute for a load that has ended, so that it does not go on without us.

use super::driver::WireDriver;
use dyno_connect::{Address, CANCEL_PATIENCE, Limit, NO_SIGNAL, Stop, dial};
use dyno_wire::{Cancel, Session};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, RecvFlags};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Requests to cancel that are under way at a time, of each thread of the load.
const CANCELS_AT_ONCE: usize = 16;

/// Asks a server, the endpoint of this index, to give up what it executes for other sessions. Of the endpoint's
/// addresses only that of `peer` is asked: another may be another server's, which gives the same numbers to sessions of
/// others.
pub(crate) fn cancel<S: Session>(
    driver: &WireDriver<S>,
    endpoint: usize,
    peer: Option<SocketAddr>,
    cancels: Vec<Cancel>,
) {
    let Some(mut server) = driver.endpoints.get(endpoint).cloned() else {
        return;
    };
    if let Some(peer) = peer {
        server.address = Address::Tcp(vec![peer]);
    }
    let (mut messages, mut statements) = (Vec::new(), Vec::new());
    for cancel in cancels {
        match cancel {
            Cancel::Message(message) => messages.push(message),
            Cancel::Statement(statement) => statements.push(statement),
            // It goes the way of everything else that the session sends.
            Cancel::Break(_) => {}
        }
    }
    send(&server.address, &messages);
    if !statements.is_empty() {
        // Who cannot be asked goes on until it notices that its client is gone.
        let _ = dyno_connect::cancel(&server, |tls| (driver.session)(endpoint, tls), &statements);
    }
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
        && net::send(&socket, request, NO_SIGNAL).is_ok()
        && !matches!(
            net::recv(&socket, &mut [0_u8; 1], RecvFlags::empty()),
            Err(Errno::AGAIN)
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Choice;
    use crate::load::Preparing;
    use dyno_connect::Endpoint;
    use dyno_wire::{MyConfig, MySession};
    use std::io::{self, Read};
    use std::net::TcpListener;
    use std::sync::Arc;

    #[test]
    fn of_several_addresses_only_that_of_the_connection_is_asked() {
        let servers = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let addresses = servers
            .each_ref()
            .map(|server| server.local_addr().expect("its address"));
        let [stranger, server] = servers;
        let driver = WireDriver {
            choice: Choice::First,
            endpoints: vec![Endpoint {
                address: Address::Tcp(addresses.to_vec()),
                tls: None,
                required_peer: None,
                connect_timeout: CANCEL_PATIENCE,
            }],
            session: Box::new(|_, _| MySession::new(Arc::new(MyConfig::default()))),
            statements: Vec::new(),
            texts: Vec::new(),
            preparing: Preparing::AtStart,
        };
        let asked = thread::spawn(move || {
            let mut message = [0; 4];
            let (mut first, _) = server.accept().expect("a request");
            first.read_exact(&mut message).expect("a message");
            drop(first);
            // One that executes statements is let go.
            server.accept().expect("another request");
            message
        });
        let cancels = vec![
            Cancel::Message(b"stop".to_vec()),
            Cancel::Statement("KILL QUERY 7".to_owned()),
        ];
        cancel(&driver, 0, Some(addresses[1]), cancels);
        assert_eq!(&asked.join().expect("it is asked twice"), b"stop");
        stranger.set_nonblocking(true).expect("a setting");
        let kind = stranger.accept().map(drop).map_err(|error| error.kind());
        assert_eq!(kind, Err(io::ErrorKind::WouldBlock));
    }
}

//! What a stand-in does to those who do not speak its protocol, and how it ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use dyno_oracle_standin::{Fault, Instant, Listener, Misbehaviour, Moment, Options, Standin};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

fn options() -> Options {
    Options::new(Arc::new(Instant::new()))
}

/// A connection that has sent this.
fn sent(standin: &Standin, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(standin.address()).unwrap();
    socket.write_all(bytes).unwrap();
    socket
}

/// What comes until the connection ends, however that is.
fn until_end(mut socket: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = [0; 1000];
    loop {
        match socket.read(&mut piece) {
            Ok(0) => return all,
            Ok(length) => all.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

/// CONNECT, as a client of protocol 319 begins.
fn connect() -> Vec<u8> {
    let data = b"(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=standin)))";
    let mut body = Vec::new();
    for part in [
        319_u16,
        300,
        0,
        8192,
        65535,
        0x4f98,
        0,
        1,
        u16::try_from(data.len()).unwrap(),
        74,
    ] {
        body.extend(part.to_be_bytes());
    }
    body.resize(74 - 8, 0);
    body.extend(data);
    let mut packet = u16::try_from(body.len() + 8).unwrap().to_be_bytes().to_vec();
    packet.extend([0, 0, 1, 0, 0, 0]);
    packet.extend(body);
    packet
}

#[test]
fn strangers_are_sent_away() {
    let standin = Standin::start(options()).unwrap();
    for (bytes, complaint) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "a packet of kind 47"),
        (b"\0\0\0\x08\x04\xd2\x16\x2f", "says it has 0 bytes"),
        (b"\0\x08\0\0\x06\0\0\0", "a packet of kind 6 instead of CONNECT"),
        (b"\0\x0c\0\0\x01\0\0\0\x01\x3f\0\0", "a CONNECT that is too short"),
        (b"\0", ""),
    ] {
        let socket = sent(&standin, bytes);
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(until_end(socket), b"", "{complaint}");
    }
    let mut socket = sent(&standin, &connect());
    let mut accepted = [0; 61];
    socket.read_exact(&mut accepted).unwrap();
    assert_eq!(accepted[4], 2);
    socket.write_all(b"\0\0\0\x0b\x06\0\0\0\0\0\x63").unwrap();
    assert_eq!(until_end(socket), b"");
    let complaints = standin.complaints();
    let expected = [
        "kind 47",
        "0 bytes",
        "instead of CONNECT",
        "too short",
        "a message of type 99",
    ];
    assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
    for expected in expected {
        assert!(
            complaints.iter().any(|complaint| complaint.contains(expected)),
            "{complaints:?}: {expected}"
        );
    }
    assert_eq!(standin.counts().logins, 0);
}

#[test]
fn a_listener_says_why_it_refuses() {
    let mut options = options();
    options.listener = Listener::Refuses(12_514);
    let standin = Standin::start(options).unwrap();
    let answer = until_end(sent(&standin, &connect()));
    assert_eq!(answer[4], 4);
    assert!(String::from_utf8_lossy(&answer).contains("(ERR=12514)"));
}

#[test]
fn it_ends_while_it_is_silent() {
    let mut options = options();
    options.faults = vec![Fault {
        when: Moment::Connect,
        what: Misbehaviour::Silence,
    }];
    let standin = Standin::start(options).unwrap();
    let mut socket = sent(&standin, &connect());
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let waited = socket.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(waited, Err(ErrorKind::WouldBlock));
    drop(standin);
    socket.set_read_timeout(None).unwrap();
    assert_eq!(until_end(socket), b"");
}

//! Servers that speak first, as MySQL's do.

use super::*;
use dyno_wire::tls::{ClientOptions, client_config};
use dyno_wire::{MyConfig, MySession};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A MySQL server's greeting. MySQL source documentation, "Protocol::HandshakeV10".
fn greeting(offers_tls: bool) -> Vec<u8> {
    let abilities: u16 = if offers_tls { 0xaa0f } else { 0xa20f };
    let [a, b] = abilities.to_le_bytes();
    let body = [
        b"\x0a8.4.0\0\x07\0\0\0abcdefgh\0".as_slice(),
        &[a, b, 45, 2, 0, 0x3f, 0, 21],
        &[0; 10],
        b"ijklmnopqrst\0mysql_native_password\0",
    ]
    .concat();
    let length = u8::try_from(body.len()).expect("a short greeting");
    [&[length, 0, 0, 0], body.as_slice()].concat()
}

/// Says that all is well, as the second packet.
const OK: &[u8] = &[7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];

fn tls(mode: SslMode) -> Tls {
    let options = ClientOptions {
        mode,
        ..ClientOptions::default()
    };
    Tls {
        mode,
        config: client_config(&options).expect("a configuration"),
        server_name: "localhost".into(),
    }
}

/// What comes of starting a session with a server that sends `first`, and then does as `server` says.
fn start(
    tls: Option<&Tls>,
    first: Vec<u8>,
    server: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<(), ConnectError> {
    start_within(Duration::from_secs(10), tls, first, server)
}

fn start_within(
    timeout: Duration,
    tls: Option<&Tls>,
    first: Vec<u8>,
    server: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<(), ConnectError> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = Address::Tcp(vec![listener.local_addr().expect("its address")]);
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(&first).expect("it listens");
        server(stream);
    });
    let stop = Stop::new();
    let limit = Limit {
        stop: &stop,
        until: None,
    };
    let mut opening = Opening {
        socket: dial(&address, timeout, limit).expect("a socket"),
        tls: None,
        address: address.to_string(),
        doing: "logging in",
        awaits_greeting: false,
        patience: timeout,
        deadline: Some(limit.deadline(timeout)),
        stop: stop.clone(),
        until: None,
    };
    let mut session = MySession::new(Arc::new(MyConfig {
        user: "bench".into(),
        ..MyConfig::default()
    }));
    if let Some(tls) = tls {
        session = session.asking_for_tls(tls.mode);
    }
    let started = opening.start(&mut session, tls);
    drop(opening);
    server.join().expect("the server ends");
    started
}

/// Reads one packet.
fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).expect("a header");
    let mut body = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut body).expect("a body");
    body
}

#[test]
fn a_server_may_speak_first() {
    let started = start(None, greeting(false), |mut stream| {
        let answer = packet(&mut stream);
        assert!(answer.windows(6).any(|part| part == b"bench\0"), "{answer:?}");
        stream.write_all(OK).expect("it listens");
        // Until the client is gone.
        let _ = stream.read(&mut [0]);
    });
    assert!(started.is_ok(), "{started:?}");
}

#[test]
fn tls_may_start_in_the_middle() {
    let tls = tls(SslMode::Require);
    let started = start(Some(&tls), greeting(true), |mut stream| {
        // The request for TLS is the begin of an answer, and says nothing of the user.
        assert_eq!(packet(&mut stream).len(), 32);
        let mut hello = [0; 1];
        stream.read_exact(&mut hello).expect("a handshake");
        assert_eq!(hello, [22]);
        stream.write_all(b"this is no TLS").expect("it listens");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let Err(error @ ConnectError::Handshake { .. }) = started else {
        panic!("{started:?}");
    };
    let said = error.to_string();
    assert!(
        said.ends_with("; check ssl-ca and the host's name, or choose another ssl-mode"),
        "{said}"
    );
}

#[test]
fn bytes_behind_the_agreement_on_tls_are_refused() {
    let stuffed = [greeting(true), OK.to_vec()].concat();
    let tls = tls(SslMode::Require);
    let started = start(Some(&tls), stuffed, |mut stream| {
        // Not even the request for TLS is sent.
        assert_eq!(stream.read(&mut [0]).ok(), Some(0));
    });
    let Err(ConnectError::Tls(TlsError::UnencryptedBytes(11))) = started else {
        panic!("{started:?}");
    };
}

#[test]
fn a_server_that_does_not_encrypt_is_refused_where_that_is_demanded() {
    let tls = tls(SslMode::Require);
    let started = start(Some(&tls), greeting(false), |_| {});
    assert!(
        matches!(
            started,
            Err(ConnectError::Tls(TlsError::Refused(Words::Mysql, SslMode::Require)))
        ),
        "{started:?}"
    );
}

/// Until the client is gone.
fn wait(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn what_greets_otherwise_gets_one_sentence() {
    let said = |first: &[u8], server: fn(TcpStream)| {
        let started = start_within(Duration::from_millis(300), None, first.to_vec(), server);
        let said = started.expect_err("nobody is let in").to_string();
        let (before, after) = said.split_once("127.0.0.1:").expect("the address");
        format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
    };
    let half = &greeting(false)[..20];
    let hint = "a MySQL or MariaDB server speaks first, so another one may be listening there";
    let silent = format!("the server at  did not greet: no answer within the connect timeout; {hint}");
    assert_eq!(said(b"", wait), silent);
    assert_eq!(said(half, wait), silent);
    let closed = format!("the server at  did not greet: the server closed the connection; {hint}");
    assert_eq!(said(b"", drop), closed);
    assert_eq!(said(half, drop), closed);
    assert_eq!(
        said(b"\x17\0\0\0\xff\x10\x04Too many connections", wait),
        "the server at  refused the connection: ERROR:  Too many connections"
    );
    assert_eq!(
        said(b"E\0\0\x10SFATAL\0C53300\0\0", wait),
        "cannot connect to : a PostgreSQL server answers there, not MySQL or MariaDB; use an address that begins with \
         postgresql://"
    );
    let unknown = said(&greeting(false), |mut stream| {
        packet(&mut stream);
        stream.write_all(b"\x09\0\0\x02\xfegssapi\0x").expect("it listens");
        wait(stream);
    });
    assert!(
        unknown.contains("by the plug-in \"gssapi\", which is not supported; let the account use"),
        "{unknown}"
    );
}

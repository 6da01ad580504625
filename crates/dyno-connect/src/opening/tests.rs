//! Servers that speak first, as MySQL's do, servers that refuse us, and what TLS carries.

use super::*;
use dyno_wire::tls::{ClientOptions, client_config};
use dyno_wire::{MyConfig, MySession, PgConfig, PgSession};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};
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

fn endpoint(listener: &TcpListener, connect_timeout: Duration, tls: Option<Tls>) -> Endpoint {
    Endpoint {
        address: Address::Tcp(vec![listener.local_addr().expect("its address")]),
        tls,
        required_peer: None,
        connect_timeout,
    }
}

fn session(tls: Option<SslMode>) -> MySession {
    let session = MySession::new(Arc::new(MyConfig {
        user: "bench".into(),
        ..MyConfig::default()
    }));
    match tls {
        Some(mode) => session.asking_for_tls(mode),
        None => session,
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
    let endpoint = endpoint(&listener, timeout, None);
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
    let mut opening = Opening::dial(&endpoint, limit).expect("a socket");
    let mut session = session(tls.map(|tls| tls.mode));
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
fn a_server_that_waits_for_us_is_soon_asked_who_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = endpoint(&listener, Duration::from_secs(3600), None);
    let server = thread::spawn(move || {
        let (_silent, _) = listener.accept().expect("a client");
        let (mut asked, _) = listener.accept().expect("another one");
        let mut question = [0; 8];
        asked.read_exact(&mut question).expect("a question");
        asked.write_all(b"N").expect("it listens");
        // Until the client is gone.
        let _ = asked.read(&mut [0]);
        question
    });
    let stop = Stop::new();
    let limit = Limit {
        stop: &stop,
        until: None,
    };
    let error = log_in_first(&endpoint, session, limit)
        .map(drop)
        .expect_err("it is none of MySQL's");
    assert!(matches!(error, ConnectError::OtherDatabase { .. }), "{error}");
    assert_eq!(server.join().expect("the server ends"), dyno_wire::tls::ssl_request());
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
    let hint = "a MySQL or MariaDB server speaks first, so another one, such as PostgreSQL, may be listening there";
    let broken_off = "before its greeting was whole; it may be stopping, or something in between may cut connections, \
                      so look into its log and try again";
    let silent = format!("the server at  did not greet: no answer within the connect timeout; {hint}");
    assert_eq!(said(b"", wait), silent);
    let late = format!("the server at  did not greet: no answer within the connect timeout {broken_off}");
    assert_eq!(said(half, wait), late);
    let closed = format!("the server at  did not greet: the server closed the connection; {hint}");
    assert_eq!(said(b"", drop), closed);
    let cut = format!("the server at  did not greet: the server closed the connection {broken_off}");
    assert_eq!(said(half, drop), cut);
    assert_eq!(
        said(b"\x17\0\0\0\xff\x10\x04Too many connections", wait),
        "the server at  refused the connection: ERROR 1040 (HY000): Too many connections"
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

/// The server's side of TLS, with a certificate of its own.
fn encrypting() -> ServerConnection {
    let party = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(party.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![party.cert.der().clone()], key.into())
        .expect("a configuration");
    ServerConnection::new(Arc::new(config)).expect("a server")
}

/// What a server has to send.
fn to_send(server: &mut ServerConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut bytes).expect("memory");
    }
    bytes
}

/// Both sides of TLS, shaken hands.
fn encrypted() -> (ClientConnection, ServerConnection) {
    let tls = tls(SslMode::Require);
    let name = tls::server_name(tls.mode, &tls.server_name).expect("a name");
    let mut client = ClientConnection::new(tls.config, name).expect("a client");
    let mut server = encrypting();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).expect("memory");
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).expect("bytes");
            server.process_new_packets().expect("TLS");
        }
        let bytes = to_send(&mut server);
        decrypt(&mut client, &bytes, &mut |_| ()).expect("TLS");
    }
    (client, server)
}

/// Whether TLS is over once this is taken in, and what it says.
fn taken_in(client: &mut ClientConnection, bytes: &[u8]) -> (bool, Vec<u8>) {
    let mut plain = Vec::new();
    let is_over = decrypt(client, bytes, &mut |part| plain.extend_from_slice(part)).expect("TLS");
    (is_over, plain)
}

#[test]
fn any_number_of_short_records_is_taken_in_at_once() {
    let (mut client, mut server) = encrypted();
    let mut bytes = Vec::new();
    for _ in 0..2_000 {
        server.writer().write_all(b"twenty bytes of text").expect("room");
        bytes.append(&mut to_send(&mut server));
    }
    assert_eq!(
        taken_in(&mut client, &bytes),
        (false, b"twenty bytes of text".repeat(2_000))
    );
}

#[test]
fn what_follows_the_end_of_tls_is_not_waited_for() {
    let (mut client, mut server) = encrypted();
    server.writer().write_all(b"last words").expect("room");
    server.send_close_notify();
    let bytes = [to_send(&mut server), vec![b'x'; 100]].concat();
    assert_eq!(taken_in(&mut client, &bytes), (true, b"last words".to_vec()));
    assert_eq!(taken_in(&mut client, b"more"), (true, Vec::new()));
}

#[test]
fn a_server_that_ends_tls_has_closed_the_connection() {
    let (client, mut server) = encrypted();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let limit = Limit {
        stop: &Stop::new(),
        until: None,
    };
    let opening = Opening::dial(&endpoint(&listener, Duration::from_secs(10), None), limit);
    let mut opening = opening.expect("a socket");
    opening.tls = Some(client);
    let (mut stream, _) = listener.accept().expect("a client");
    server.send_close_notify();
    stream.write_all(&to_send(&mut server)).expect("it listens");
    let mut plain = Vec::new();
    let ended = opening.receive_plain(&mut [0; 1024], &mut plain);
    let Err(ConnectError::Broken { cause, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!((cause.kind(), plain.len()), (io::ErrorKind::UnexpectedEof, 0));
}

/// What comes of logging in at a server that serves as many connections as there are and refuses each, `server` having
/// said all that comes before; and how many there were.
fn refused<S: Session>(
    mode: SslMode,
    session: impl Fn(Option<SslMode>) -> S,
    server: impl Fn(usize, TcpStream) + Send + 'static,
) -> (ConnectError, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = endpoint(&listener, Duration::from_secs(10), Some(tls(mode)));
    let waker = listener.local_addr().expect("its address");
    let stop = Stop::new();
    let over = stop.clone();
    let server = thread::spawn(move || {
        for number in 0.. {
            let (stream, _) = listener.accept().expect("a client");
            if over.requested() {
                return number;
            }
            server(number, stream);
        }
        0
    });
    let limit = Limit {
        stop: &Stop::new(),
        until: None,
    };
    let error = log_in(&endpoint, session, limit).err().expect("nobody is let in");
    stop.request();
    TcpStream::connect(waker).expect("the server listens");
    (error, server.join().expect("the server ends"))
}

#[test]
fn whom_mysql_refuses_is_not_tried_again_in_plain() {
    let (error, connections) = refused(SslMode::Prefer, session, |_, mut stream| {
        let full = b"\x17\0\0\0\xff\x10\x04Too many connections";
        stream.write_all(full).expect("it listens");
        wait(stream);
    });
    assert!(matches!(error, ConnectError::Refused { .. }), "{error:?}");
    assert_eq!(connections, 1);
}

#[test]
fn without_tls_to_be_had_mysql_is_tried_in_plain() {
    let (error, connections) = refused(SslMode::Prefer, session, |number, mut stream| {
        stream.write_all(&greeting(true)).expect("it listens");
        let answer = packet(&mut stream);
        if number == 0 {
            assert_eq!(answer.len(), 32);
            stream.write_all(b"this is no TLS").expect("it listens");
        } else {
            stream
                .write_all(b"\x0b\0\0\x02\xff\x15\x04#28000no")
                .expect("it listens");
        }
        wait(stream);
    });
    let ConnectError::Everywhere(errors) = &error else {
        panic!("{error:?}");
    };
    let [ConnectError::Handshake { .. }, ConnectError::Refused { .. }] = errors[..] else {
        panic!("{error:?}");
    };
    assert_eq!(connections, 2);
}

fn postgres(tls: Option<SslMode>) -> PgSession {
    let session = PgSession::new(Arc::new(PgConfig {
        user: "bench".into(),
        ..PgConfig::default()
    }));
    match tls {
        Some(mode) => session.asking_for_tls(mode),
        None => session,
    }
}

/// What PostgreSQL says to whom it does not let in.
fn no_entry(why: &str) -> Vec<u8> {
    let body = [b"SFATAL\0C28000\0M", why.as_bytes(), b"\0\0"].concat();
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [b"E".as_slice(), &length.to_be_bytes(), &body].concat()
}

#[test]
fn whom_postgresql_refuses_with_tls_is_tried_without_and_both_are_told() {
    let (error, connections) = refused(SslMode::Prefer, postgres, |number, mut stream| {
        let mut first = [0; 8];
        stream.read_exact(&mut first).expect("a message");
        if number == 1 {
            stream.write_all(&no_entry("no encryption")).expect("it listens");
            return wait(stream);
        }
        stream.write_all(b"S").expect("it listens");
        let mut server = rustls::StreamOwned::new(encrypting(), stream);
        server.read_exact(&mut first).expect("a message");
        server.write_all(&no_entry("wrong password")).expect("it listens");
        let _ = server.read_to_end(&mut Vec::new());
    });
    let ConnectError::Everywhere(errors) = &error else {
        panic!("{error:?}");
    };
    let [first, second] = &errors[..] else {
        panic!("{error:?}");
    };
    assert!(first.to_string().ends_with("FATAL:  wrong password"), "{first}");
    assert!(second.to_string().ends_with("FATAL:  no encryption"), "{second}");
    assert!(!error.is_elsewhere_better());
    assert_eq!(connections, 2);
}

#[test]
fn a_server_without_tls_refuses_once() {
    let (error, connections) = refused(SslMode::Prefer, postgres, |_, mut stream| {
        let mut first = [0; 8];
        stream.read_exact(&mut first).expect("a message");
        stream.write_all(b"N").expect("it listens");
        stream.read_exact(&mut first).expect("a message");
        stream.write_all(&no_entry("wrong password")).expect("it listens");
        wait(stream);
    });
    assert!(matches!(error, ConnectError::Refused { .. }), "{error:?}");
    assert_eq!(connections, 1);
}

#[test]
fn a_session_that_has_begun_is_ended_not_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = endpoint(&listener, Duration::MAX, None);
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(&greeting(false)).expect("it listens");
        packet(&mut stream);
        stream.write_all(OK).expect("it listens");
        assert_eq!(packet(&mut stream), b"\x03select 1");
        let shutdown = b"\x0c\0\0\x01\xff\x1d\x04#08S01bye";
        stream.write_all(shutdown).expect("it listens");
        wait(stream);
    });
    let limit = Limit {
        stop: &Stop::new(),
        until: None,
    };
    let mut client = crate::Client::connect(endpoint, session, limit).expect("a connection");
    let error = client.execute("select 1").expect_err("it is ended").to_string();
    drop(client);
    server.join().expect("the server ends");
    assert!(
        error.ends_with(" ended the session while waiting for an answer: ERROR 1053 (08S01): bye"),
        "{error}"
    );
}

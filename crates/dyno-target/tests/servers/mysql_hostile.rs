//! What is said of servers that do not let us in, or are none: for what is asked beside the load, by scripted ones.

use dyno_target::mysql::address::ConnectionInfo;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// A packet of MySQL's protocol.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// A greeting of a server without TLS that asks for the log-in plug-in `plugin` (MySQL documentation,
/// "Protocol::HandshakeV10").
fn greeting(plugin: &str) -> Vec<u8> {
    let capabilities = 0x000f_a203_u32.to_le_bytes();
    let body = [
        &b"\x0a8.0.36\0"[..],
        &7_u32.to_le_bytes(),
        b"12345678\0",
        &capabilities[..2],
        &[45, 2, 0],
        &capabilities[2..],
        &[21],
        &[0; 10],
        b"123456789012\0",
        plugin.as_bytes(),
        &[0],
    ];
    packet(0, &body.concat())
}

/// What is said of a server that sends `first` to who connects, `then` to its answer, and then hangs up or not.
fn said(first: Vec<u8>, then: Vec<u8>, hangs_up: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move |mut stream: TcpStream| {
        stream.write_all(&first).unwrap();
        if !then.is_empty() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&then);
        }
        if !hangs_up {
            while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
        }
    };
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    let address = format!("mysql://ann:secret@127.0.0.1:{port}/shop");
    let mut info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
    info.connect_timeout = Duration::from_millis(300);
    let error = info.connect().unwrap_err().to_string();
    assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
    error.replace(&format!("127.0.0.1:{port}"), "ADDRESS")
}

#[test]
fn servers_that_do_not_let_us_in_are_told_apart() {
    let refuses = packet(0, b"\xff\x10\x04Too many connections");
    let refuses_later = packet(2, b"\xff\x15\x04#28000Access denied for user 'ann'");
    let switches = packet(2, b"\xfegssapi\x00data");
    let greets = greeting("mysql_native_password");
    let lets_in = packet(2, b"\0\0\0\x02\0\0\0");
    let half = greets[..20].to_vec();
    let stranger = "the server at ADDRESS does not follow the protocol: ";
    for (what, expected) in [
        (
            said(refuses, vec![], true),
            "the server at ADDRESS refused the connection: ERROR 1040 (HY000): Too many connections",
        ),
        (
            said(packet(0, b"\xff\x10\x04Too\r\nmany"), vec![], true),
            "the server at ADDRESS refused the connection: ERROR 1040 (HY000): Too many",
        ),
        (
            said(greets.clone(), refuses_later, true),
            "the server at ADDRESS refused the connection: ERROR 1045 (28000): Access denied for user 'ann'",
        ),
        (
            said(greets.clone(), switches, true),
            "the server at ADDRESS does not follow the protocol: the server asks for authentication by the plug-in \
             \"gssapi\", which is not supported; ",
        ),
        (
            said(half.clone(), vec![], true),
            "the server at ADDRESS did not greet: the server closed the connection before its greeting was whole; ",
        ),
        (
            said(vec![], vec![], true),
            "the server at ADDRESS did not greet: the server closed the connection; ",
        ),
        (
            said(greets.clone(), vec![], true),
            // Closed, or reset if our answer was not read.
            "the connection to ADDRESS broke while logging in: ",
        ),
        (
            said(greets, lets_in, false),
            "the connection to ADDRESS broke while waiting for an answer: no answer within 0.3 s",
        ),
        (
            said(half, vec![], false),
            "the server at ADDRESS did not greet: no answer within the connect timeout before its greeting was whole; ",
        ),
        (
            said(vec![], vec![], false),
            "the server at ADDRESS did not greet: no answer within the connect timeout; ",
        ),
        (said(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), vec![], false), stranger),
        (said(packet(0, b"\x09ancient\0"), vec![], true), stranger),
    ] {
        assert!(what.starts_with(expected), "{what}\n{expected}");
        assert!(!what.contains('\n') && !what.contains("secret"), "{what}");
    }
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_none() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let refused = |address: String| {
        let info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
        info.connect().unwrap_err().to_string()
    };
    let tcp = refused(format!("mysql://ann@127.0.0.1:{port}/shop"));
    assert!(tcp.contains("Connection refused"), "{tcp}");
    assert!(
        tcp.ends_with("; check that it is running and accepts connections there"),
        "{tcp}"
    );
    let unix = refused("mysql://ann@localhost/shop?socket=/nowhere/mysqld.sock".to_owned());
    assert!(unix.contains("No such file"), "{unix}");
    assert!(
        unix.ends_with("; check that it is running and accepts connections there"),
        "{unix}"
    );
}

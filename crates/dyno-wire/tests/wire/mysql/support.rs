//! Scripted MySQL servers: packets, and streams of them.

use std::sync::Arc;

use dyno_wire::{Event, MyConfig, MySession, Session};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{Log, feed};

/// A server's abilities, without any that change the form of what it sends; the last one has rows end with an OK
/// packet.
pub const PLAIN: u32 = 0x003f_a20f;
pub const ENDS_WITH_OK: u32 = 0x0100_0000;
pub const TLS: u32 = 0x0800;
/// Status flags.
pub const IN_TRANSACTION: u16 = 1;
pub const MORE_RESULTS: u16 = 8;
pub const NO_BACKSLASHES: u16 = 0x200;

pub fn config() -> Arc<MyConfig> {
    Arc::new(MyConfig {
        user: "bench".into(),
        password: Some("secret".into()),
        database: "bench".into(),
        program_name: "dyno".into(),
        local: false,
    })
}

/// Packets with these payloads, numbered from `first`.
pub fn packets<B: AsRef<[u8]>>(first: u8, bodies: impl IntoIterator<Item = B>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = first;
    for body in bodies {
        let body = body.as_ref();
        out.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
        out.push(number);
        out.extend_from_slice(body);
        number = number.wrapping_add(1);
    }
    out
}

pub fn greeting(version: &str, plugin: &str, abilities: u32) -> Vec<u8> {
    let [a, b, c, d] = abilities.to_le_bytes();
    let body = [
        &[10],
        version.as_bytes(),
        &[0, 7, 0, 0, 0],
        b"abcdefgh\0",
        &[a, b, 45, 2, 0, c, d, 21],
        &[0; 10],
        b"ijklmnopqrst\0",
        plugin.as_bytes(),
        &[0],
    ];
    packets(0, [body.concat()])
}

pub fn ok(affected: u8, status: u16, warnings: u8) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    vec![0, affected, 0, low, high, warnings, 0]
}

/// What ends rows if the server can.
pub fn ended(status: u16) -> Vec<u8> {
    let mut body = ok(0, status, 0);
    body[0] = 0xFE;
    body
}

/// What ends columns and rows otherwise.
pub fn eof(status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    vec![0xFE, 0, 0, low, high]
}

pub fn error(number: u16, state: &str, message: &str) -> Vec<u8> {
    [
        &[0xFF],
        &number.to_le_bytes()[..],
        b"#",
        state.as_bytes(),
        message.as_bytes(),
    ]
    .concat()
}

/// A column's description.
pub fn column(name: &str, kind: u8) -> Vec<u8> {
    let mut body = b"\x03def\x01b\x01t\x01t".to_vec();
    body.push(name.len() as u8);
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(&[0, 0x0c, 45, 0, 11, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
    body
}

/// A server's answer to a preparation: the statement's id, and how many columns and parameters it has.
pub fn prepared(id: u8, columns: u8, parameters: u8) -> Vec<Vec<u8>> {
    let mut bodies = vec![vec![0, id, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]];
    bodies.extend((0..parameters).map(|_| column("?", 253)));
    bodies.extend((0..columns).map(|_| column("c", 3)));
    bodies
}

/// A session that a server without password has let in.
pub fn started(abilities: u32) -> MySession {
    let mut session = MySession::new(config());
    session.start(&mut Vec::new()).unwrap();
    let welcome = [
        greeting("8.4.3", "mysql_native_password", abilities),
        packets(2, [ok(0, 2, 0)]),
    ];
    let log = feed(&mut session, &[&welcome.concat()]);
    assert!(matches!(log.seen[..], [(Event::Started, None, _)]), "{log:?}");
    session
}

/// A session that awaits `replies` replies to queries.
pub fn session_awaiting(abilities: u32, replies: usize) -> MySession {
    let mut session = started(abilities);
    for _ in 0..replies {
        session.query(|sql| sql.extend_from_slice(b"select"), &mut Vec::new());
    }
    session
}

/// What a stream amounts to for a session that awaits one reply.
pub fn reply_to<B: AsRef<[u8]>>(abilities: u32, bodies: impl IntoIterator<Item = B>) -> Log {
    feed(&mut session_awaiting(abilities, 1), &[&packets(1, bodies)])
}

/// The packets of one result.
fn result(ends_with_ok: bool) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let row = vec(any::<u8>(), 1..300).prop_map(|mut row| {
        // Neither the end nor an error.
        row[0] = row[0].min(0xFD);
        row
    });
    let rows = (1..4_usize, vec(row, 0..6), any::<bool>()).prop_map(move |(columns, rows, fails)| {
        let mut bodies = vec![vec![columns as u8]];
        bodies.extend((0..columns).map(|_| column("a", 3)));
        if !ends_with_ok {
            bodies.push(eof(2));
        }
        bodies.extend(rows);
        bodies.push(match (fails, ends_with_ok) {
            (true, _) => error(1213, "40001", "Deadlock found"),
            (false, true) => ended(3),
            (false, false) => eof(3),
        });
        bodies
    });
    prop_oneof![
        3 => rows,
        2 => (0..250_u8, 0..4_u16, 0..2_u8).prop_map(|(rows, status, warnings)| vec![ok(rows, status, warnings)]),
        1 => "[a-z]{0,40}".prop_map(|text| vec![error(1062, "23000", &text)]),
        1 => (0..40_000_usize).prop_map(|length| vec![error(1105, "HY000", &"x".repeat(length))]),
    ]
}

/// Whole replies of a server, with their number.
pub fn replies(abilities: u32) -> impl Strategy<Value = (usize, Vec<u8>)> {
    let reply = result(abilities & ENDS_WITH_OK != 0).prop_map(|bodies| packets(1, bodies));
    vec(reply, 1..5).prop_map(|replies| (replies.len(), replies.concat()))
}

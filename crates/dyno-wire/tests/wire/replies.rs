//! What replies amount to.

use dyno_wire::{ErrorCode, Event, PgStatement, Protocol, Reply, Session, TransactionStatus, WireError};

use crate::support::{Log, feed, message, session_awaiting};

/// What one reply amounts to.
fn reply_to(stream: &[Vec<u8>]) -> (Reply, Log) {
    let log = feed(&mut session_awaiting(1), &[&stream.concat()]);
    match log.seen[..] {
        [(Event::Reply(reply), ..)] => (reply, log),
        _ => panic!("not one reply: {log:?}"),
    }
}

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', [status])
}

#[test]
fn a_prepared_select() {
    let (reply, log) = reply_to(&[
        message(b'2', []),
        message(b'D', b"\0\x01\0\0\0\x012"),
        message(b'C', b"SELECT 1\0"),
        ready(b'I'),
    ]);
    assert_eq!(
        reply,
        Reply {
            rows: 1,
            affected: 1,
            result_sets: 1,
            completed: 1,
            ..Reply::default()
        }
    );
    assert_eq!(log.seen[0].2, TransactionStatus::Idle);
}

#[test]
fn several_statements_in_one_query_add_up() {
    let (reply, log) = reply_to(&[
        message(b'C', b"BEGIN\0"),
        message(b'C', b"INSERT 0 3\0"),
        message(b'C', b"UPDATE 4\0"),
        message(b'I', []),
        message(b'T', [0, 0]),
        message(b'D', [0, 0]),
        message(b'D', [0, 0]),
        message(b'C', b"SELECT 2\0"),
        ready(b'T'),
    ]);
    assert_eq!(
        reply,
        Reply {
            rows: 2,
            affected: 9,
            result_sets: 1,
            completed: 5,
            ..Reply::default()
        }
    );
    assert_eq!(log.seen[0].2, TransactionStatus::Open);
}

#[test]
fn tags_without_a_number_touch_no_rows() {
    for tag in [&b"CREATE TABLE\0"[..], b"\0", b"", b"SET", b"C3\0", b"UPDATE x5\0"] {
        assert_eq!(reply_to(&[message(b'C', tag), ready(b'I')]).0.affected, 0, "{tag:?}");
    }
}

#[test]
fn an_error_stands_until_the_next_reply() {
    let mut session = session_awaiting(2);
    let failed = [message(b'E', b"SERROR\0VERROR\0C40001\0Mtry again\0\0"), ready(b'E')].concat();
    let log = feed(&mut session, &[&failed]);
    let (event, error, status) = &log.seen[0];
    assert!(matches!(event, Event::Reply(Reply { failed: true, .. })));
    assert_eq!(*status, TransactionStatus::Failed);
    assert_eq!(error.as_ref().unwrap().code, ErrorCode::new("40001"));
    assert!(session.error().is_some());
    let log = feed(&mut session, &[&ready(b'I')]);
    assert!(matches!(log.seen[0].0, Event::Reply(Reply { failed: false, .. })));
    assert_eq!(session.error(), None);
}

#[test]
fn a_failed_preparation_is_a_failed_reply() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    let statement = PgStatement::new(0, "selec", 0, Protocol::Prepared).unwrap();
    assert!(session.prepare(&statement, &mut out));
    assert_eq!(out, b"P\0\0\0\x10P_0\0selec\0\0\0S\0\0\0\x04");
    session.execute(&statement, &(), &mut out);
    let stream = [
        message(b'E', b"SERROR\0C42601\0Msyntax error\0\0"),
        ready(b'I'),
        message(b'E', b"SERROR\0C26000\0Mno such statement\0\0"),
        ready(b'I'),
    ];
    let log = feed(&mut session, &[&stream.concat()]);
    let states: Vec<_> = log
        .seen
        .iter()
        .map(|(_, error, _)| error.as_ref().unwrap().code)
        .collect();
    assert_eq!(states, [ErrorCode::new("42601"), ErrorCode::new("26000")]);
}

#[test]
fn only_prepared_statements_are_prepared() {
    for protocol in [Protocol::Simple, Protocol::Extended] {
        let mut out = Vec::new();
        let statement = PgStatement::new(0, "select", 0, protocol).unwrap();
        assert!(!session_awaiting(0).prepare(&statement, &mut out));
        assert!(out.is_empty());
    }
}

#[test]
fn a_row_larger_than_any_read_is_not_kept() {
    let mut session = session_awaiting(1);
    let row = message(b'D', vec![0; 3 << 20]);
    let stream = [row, message(b'C', b"SELECT 1\0"), ready(b'I')].concat();
    let chunks: Vec<&[u8]> = stream.chunks(8192).collect();
    let log = feed(&mut session, &chunks);
    assert_eq!(
        log.seen[0].0,
        Event::Reply(Reply {
            rows: 1,
            affected: 1,
            result_sets: 1,
            completed: 1,
            ..Reply::default()
        })
    );
}

#[test]
fn a_long_error_is_cut_off() {
    let body = [b"SERROR\0C22000\0M".to_vec(), vec![b'x'; 100_000], b"\0\0".to_vec()].concat();
    let (_, log) = reply_to(&[message(b'E', body), ready(b'I')]);
    let error = log.seen[0].1.as_ref().unwrap();
    assert_eq!(error.code.as_str(), "22000");
    assert!((10_000..20_000).contains(&error.message.len()));
}

#[test]
fn copy_in_is_refused() {
    let copy_in = message(b'G', [0, 0, 1, 0, 0]);
    let mut session = session_awaiting(1);
    let log = feed(&mut session, &[&copy_in]);
    assert_eq!(log.sent, b"f\0\0\0\x21a script has no data to send\0");
    // Sent by the extended protocol, the statement's own Sync was swallowed: another one follows.
    let mut session = session_awaiting(0);
    let statement = PgStatement::new(0, "copy t from stdin", 0, Protocol::Extended).unwrap();
    session.execute(&statement, &(), &mut Vec::new());
    let log = feed(&mut session, &[&copy_in]);
    assert_eq!(log.sent, b"f\0\0\0\x21a script has no data to send\0S\0\0\0\x04");
}

#[test]
fn copy_in_swallows_all_that_ends_its_pipeline() {
    let copy_in = [message(b'2', []), message(b'G', [0, 0, 1, 0, 0])].concat();
    let statement = PgStatement::new(0, "copy t from stdin", 0, Protocol::Extended).unwrap();
    for syncs in 0..3 {
        let mut session = session_awaiting(0);
        let mut out = Vec::new();
        session.queue(&statement, &(), &mut out);
        (0..syncs).for_each(|_| session.sync(&mut out));
        let log = feed(&mut session, &[&copy_in]);
        assert_eq!(log.end, None);
        let refused = [
            b"f\0\0\0\x21a script has no data to send\0",
            &b"S\0\0\0\x04".repeat(syncs)[..],
        ]
        .concat();
        assert_eq!(log.sent, refused);
    }
}

#[test]
fn copy_out_is_skipped_and_fails() {
    let (reply, log) = reply_to(&[
        message(b'H', [0, 0, 1, 0, 0]),
        message(b'd', b"1\n"),
        message(b'd', b"2\n"),
        message(b'c', []),
        message(b'C', b"COPY 2\0"),
        ready(b'I'),
    ]);
    assert!(reply.failed);
    assert_eq!(log.seen[0].1.as_ref().unwrap().code, ErrorCode::new("0A000"));
}

#[test]
fn notices_and_settings_are_kept_within_bounds() {
    let mut session = session_awaiting(1);
    let mut stream: Vec<u8> = (0..100)
        .flat_map(|i| message(b'N', format!("SNOTICE\0C00000\0M{i}\0\0")))
        .collect();
    stream.extend(message(b'S', b"TimeZone\0UTC\0"));
    stream.extend(message(b'A', b"\0\0\0\x01channel\0\0"));
    let log = feed(&mut session, &[&stream]);
    assert_eq!(log.notices.len(), 16);
    assert_eq!(log.notices[0].to_string(), "NOTICE:  0");
    assert_eq!(session.parameter("TimeZone"), Some("UTC"));
    assert_eq!(session.parameter("server_version"), Some("18.1"));
    assert!(session.take_notices().is_empty());
}

#[test]
fn a_connection_ended_by_the_server_says_why() {
    let bye = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    for awaited in [0, 1] {
        let mut session = session_awaiting(awaited);
        let log = feed(&mut session, &[&bye]);
        let Some(WireError::Server(error)) = log.end else {
            panic!("{log:?}")
        };
        assert_eq!(error.code.as_str(), "57P01");
        assert_eq!(session.error(), Some(&*error));
    }
}

#[test]
fn an_error_nobody_asked_for_stains_no_reply() {
    let mut session = session_awaiting(0);
    let log = feed(&mut session, &[&message(b'E', b"SERROR\0C22000\0Mby the way\0\0")]);
    assert_eq!(log.notices[0].message, "by the way");
    session.query(|_| {}, &mut Vec::new());
    let log = feed(&mut session, &[&ready(b'I')]);
    assert!(matches!(
        log.seen[0],
        (Event::Reply(Reply { failed: false, .. }), None, _)
    ));
}

#[test]
fn what_cannot_come_now_is_an_error() {
    for (stream, part) in [
        (ready(b'I'), "though nothing was asked"),
        (message(b'C', b"SELECT 1\0"), "though nothing was asked"),
        (message(b'2', []), "though nothing was asked"),
        (message(b'D', [0, 0])[..6].to_vec(), "though nothing was asked"),
        (message(b'R', [0, 0, 0, 3]), "after start-up"),
        (message(b'G', [0, 0, 0]), "after start-up"),
        (message(b'Z', b"?"), "transaction status"),
        (message(b'W', []), "('W')"),
        (b"HTTP/1.1 400".to_vec(), "1414811695 bytes"),
        (b"D\0\0\0\x03".to_vec(), "malformed"),
    ] {
        let log = feed(&mut session_awaiting(0), &[&stream]);
        let error = log.end.unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_query_is_written_in_place() {
    let mut session = session_awaiting(0);
    let mut out = b"before".to_vec();
    session.query(|sql| sql.extend_from_slice(b"select 1"), &mut out);
    assert_eq!(out, b"beforeQ\0\0\0\x0dselect 1\0");
    out.clear();
    session.terminate(&mut out);
    assert_eq!(out, b"X\0\0\0\x04");
}

#[test]
fn ten_thousand_sessions_are_small() {
    assert!(
        size_of::<dyno_wire::PgSession>() <= 256,
        "{}",
        size_of::<dyno_wire::PgSession>()
    );
}

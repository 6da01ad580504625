//! Results that are kept, statements introduced with their execution, and pipelines.

use dyno_wire::{CapturedResult, Event, PgSession, PgStatement, Protocol, Reply, Session};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{cut, cuts, feed, message, session_awaiting};

fn prepared(index: usize, sql: &str) -> PgStatement {
    PgStatement::new(index, sql, 0, Protocol::Prepared).unwrap()
}

/// The type bytes of the messages in `bytes`.
fn tags(mut bytes: &[u8]) -> String {
    let mut tags = String::new();
    while let [tag, a, b, c, d, ..] = *bytes {
        tags.push(tag as char);
        bytes = &bytes[u32::from_be_bytes([a, b, c, d]) as usize + 1..];
    }
    assert!(bytes.is_empty());
    tags
}

/// A RowDescription with these columns.
fn description(columns: &[String]) -> Vec<u8> {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for column in columns {
        body.extend_from_slice(column.as_bytes());
        body.extend_from_slice(&[0; 19]);
    }
    message(b'T', body)
}

/// A DataRow with these values.
fn row(values: &[Option<String>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
            Some(text) => {
                body.extend_from_slice(&(text.len() as u32).to_be_bytes());
                body.extend_from_slice(text.as_bytes());
            }
        }
    }
    message(b'D', body)
}

fn complete() -> Vec<u8> {
    message(b'C', b"SELECT 1\0")
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn capturing() -> PgSession {
    let mut session = session_awaiting(0);
    session.capture();
    session.query(|sql| sql.extend_from_slice(b"select"), &mut Vec::new());
    session
}

fn reply(event: Event) -> Reply {
    match event {
        Event::Reply(reply) => reply,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_statement_can_be_introduced_with_its_execution() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    session.introduce(&prepared(0, "select"), &mut out);
    session.execute(&prepared(0, "select"), &(), &mut out);
    assert_eq!(tags(&out), "PBES");
    out.clear();
    let simple = PgStatement::new(0, "select", 0, Protocol::Simple).unwrap();
    session.introduce(&simple, &mut out);
    assert!(out.is_empty());
    let log = feed(
        &mut session,
        &[&[message(b'1', []), message(b'2', []), complete(), ready()].concat()],
    );
    let accepted = reply(log.seen[0].0);
    assert_eq!((accepted.accepted, accepted.completed, accepted.failed), (1, 1, false));
    session.execute(&prepared(0, "select"), &(), &mut out);
    let log = feed(&mut session, &[&[message(b'2', []), complete(), ready()].concat()]);
    assert_eq!(reply(log.seen[0].0).accepted, 0);
}

#[test]
fn a_pipeline_has_one_reply_for_each_sync() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    session.queue(&prepared(0, "select"), &(), &mut out);
    session.queue(&prepared(1, "select"), &(), &mut out);
    assert_eq!(tags(&out), "BEBE");
    // The server may speak of an error before it is asked for the pipeline's end.
    let error = message(b'E', b"SERROR\0C22012\0Mdivision by zero\0\0");
    let early = [message(b'2', []), complete(), message(b'2', []), error].concat();
    assert_eq!(feed(&mut session, &[&early]).seen, []);
    out.clear();
    session.sync(&mut out);
    session.queue(&prepared(2, "select"), &(), &mut out);
    session.sync(&mut out);
    assert_eq!(tags(&out), "SBES");
    let log = feed(
        &mut session,
        &[&[ready(), message(b'2', []), complete(), ready()].concat()],
    );
    let [(first, error, _), (second, none, _)] = &log.seen[..] else {
        panic!("{log:?}");
    };
    assert_eq!((reply(*first).completed, reply(*first).failed), (1, true));
    assert_eq!(error.as_ref().unwrap().sqlstate.as_str(), "22012");
    assert_eq!((reply(*second).completed, reply(*second).failed), (1, false));
    assert_eq!(none, &None);
    assert!(log.notices.is_empty());
}

#[test]
fn a_described_statement_asks_for_column_names() {
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        let statement = PgStatement::new(0, "select $1", 1, protocol).unwrap().described();
        let mut out = Vec::new();
        session_awaiting(0).execute(&statement, &Text, &mut out);
        assert_eq!(
            tags(&out),
            if protocol == Protocol::Extended {
                "PBDES"
            } else {
                "BDES"
            }
        );
    }
}

/// One value.
struct Text;

impl dyno_wire::Parameters for Text {
    fn len(&self) -> usize {
        1
    }

    fn write(&self, _index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"text");
        true
    }
}

#[test]
fn rows_are_kept_for_one_reply_only() {
    let mut session = capturing();
    let names = ["a".to_owned()];
    let answer = [description(&names), row(&[Some("1".into())]), complete(), ready()].concat();
    let log = feed(&mut session, &[&answer]);
    assert_eq!(reply(log.seen[0].0).rows, 1);
    assert_eq!(session.captured()[0].last_row, [Some("1".into())]);
    session.query(|sql| sql.extend_from_slice(b"select"), &mut Vec::new());
    let log = feed(
        &mut session,
        &[&[description(&names), row(&[Some("2".into())]), complete(), ready()].concat()],
    );
    assert_eq!(reply(log.seen[0].0).rows, 1);
    assert_eq!(
        session.captured()[0].last_row,
        [Some("1".into())],
        "the second was not asked for"
    );
}

/// The results of one query, as a server has them: columns, and rows of as many values.
fn result() -> impl Strategy<Value = (Vec<String>, Vec<Vec<Option<String>>>)> {
    let value = || prop_oneof![2 => ".{0,9}".prop_map(Some), 1 => Just(None), 1 => "x{20000}".prop_map(Some)];
    (0..4_usize).prop_flat_map(move |width| (vec("[a-z?]{1,9}", width), vec(vec(value(), width), 0..4)))
}

proptest! {
    #[test]
    fn results_are_kept_however_they_are_cut(results in vec(result(), 1..4), cuts in cuts()) {
        let mut stream = Vec::new();
        for (columns, rows) in &results {
            stream.extend(description(columns));
            rows.iter().for_each(|values| stream.extend(row(values)));
            stream.extend(complete());
        }
        // A query that returns no rows at all.
        stream.extend(message(b'I', []));
        stream.extend(ready());
        let mut session = capturing();
        let log = feed(&mut session, &cut(&stream, &cuts));
        let expected: Vec<_> = results
            .into_iter()
            .map(|(columns, rows)| CapturedResult {
                is_query: true,
                columns,
                rows: rows.len() as u64,
                last_row: rows.last().cloned().unwrap_or_default(),
            })
            .chain([CapturedResult::default()])
            .collect();
        prop_assert_eq!(session.captured(), expected.as_slice());
        let all: u64 = expected.iter().map(|result| result.rows).sum();
        prop_assert_eq!(reply(log.seen[0].0).rows, all);
    }

    #[test]
    fn malformed_results_are_no_panic(
        tag in prop::sample::select(b"TD".to_vec()),
        body in vec(any::<u8>(), 0..60),
        cuts in cuts(),
    ) {
        let stream = [message(tag, body), complete(), ready()].concat();
        let (mut whole, mut parts) = (capturing(), capturing());
        prop_assert_eq!(feed(&mut whole, &[&stream]), feed(&mut parts, &cut(&stream, &cuts)));
        prop_assert_eq!(whole.captured(), parts.captured());
    }
}

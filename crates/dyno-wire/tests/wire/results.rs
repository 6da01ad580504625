//! Results that are kept, statements introduced with their execution, and pipelines.

use dyno_wire::{CapturedResult, Event, PgSession, PgStatement, Preparation, Protocol, Reply, Session};
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
fn a_statement_becomes_known_with_its_first_execution() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    let statements = [prepared(0, "select"), prepared(100, "select")];
    for statement in &statements {
        assert!(!session.knows(statement));
        session.execute(statement, &(), &mut out);
        assert_eq!(tags(&out), "PBES");
        out.clear();
        assert!(session.knows(statement) && session.is_introducing());
        let log = feed(
            &mut session,
            &[&[message(b'1', []), message(b'2', []), complete(), ready()].concat()],
        );
        let accepted = reply(log.seen[0].0);
        assert_eq!((accepted.accepted, accepted.completed, accepted.failed), (1, 1, false));
        assert_eq!(accepted.preparation, Preparation::Accepted);
    }
    session.execute(&statements[0], &(), &mut out);
    assert_eq!(tags(&out), "BES");
    assert!(!session.is_introducing());
    let log = feed(&mut session, &[&[message(b'2', []), complete(), ready()].concat()]);
    let executed = reply(log.seen[0].0);
    assert_eq!((executed.accepted, executed.preparation), (0, Preparation::None));
    // Known to one connection is not known to another.
    assert!(!session_awaiting(0).knows(&statements[0]));
}

#[test]
fn what_needs_no_preparation_is_always_known() {
    for protocol in [Protocol::Simple, Protocol::Extended] {
        let statement = PgStatement::new(0, "select", 0, protocol).unwrap();
        let mut session = session_awaiting(0);
        let mut out = Vec::new();
        assert!(session.knows(&statement));
        session.execute(&statement, &(), &mut out);
        assert!(!session.is_introducing());
    }
}

#[test]
fn a_statement_that_is_refused_is_told_from_an_execution_that_fails() {
    let error = message(b'E', b"SERROR\0C22012\0Mno\0\0");
    for (before, preparation) in [
        (vec![], Preparation::Refused),
        (message(b'1', []), Preparation::Accepted),
    ] {
        let mut session = session_awaiting(0);
        let mut out = Vec::new();
        let statement = prepared(0, "select");
        session.execute(&statement, &(), &mut out);
        let log = feed(&mut session, &[&[before, error.clone(), ready()].concat()]);
        let refused = reply(log.seen[0].0);
        assert_eq!((refused.failed, refused.preparation), (true, preparation));
        // Executed again, it is not made known again.
        out.clear();
        session.execute(&statement, &(), &mut out);
        assert_eq!(tags(&out), "BES");
        let log = feed(&mut session, &[&[error.clone(), ready()].concat()]);
        assert_eq!(reply(log.seen[0].0).preparation, Preparation::None);
    }
}

#[test]
fn a_statement_is_prepared_once() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    assert!(session.prepare(&prepared(0, "select"), &mut out));
    assert!(!session.prepare(&prepared(0, "select"), &mut out));
    session.execute(&prepared(0, "select"), &(), &mut out);
    assert_eq!(tags(&out), "PSBES");
}

#[test]
fn a_pipeline_has_one_reply_for_each_sync() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    for index in 0..3 {
        assert!(session.prepare(&prepared(index, "select"), &mut out));
        feed(&mut session, &[&[message(b'1', []), ready()].concat()]);
    }
    out.clear();
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
    assert_eq!(error.as_ref().unwrap().code.as_str(), "22012");
    assert_eq!((reply(*second).completed, reply(*second).failed), (1, false));
    assert_eq!(none, &None);
    assert!(log.notices.is_empty());
}

#[test]
fn a_pipeline_makes_known_what_is_not() {
    let mut session = session_awaiting(0);
    let mut out = Vec::new();
    session.queue(&prepared(0, "select"), &(), &mut out);
    session.queue(&prepared(0, "select"), &(), &mut out);
    session.sync(&mut out);
    assert_eq!(tags(&out), "PBEBES");
}

#[test]
fn an_execution_whose_results_are_kept_asks_for_column_names() {
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        let statement = PgStatement::new(0, "select $1", 1, protocol).unwrap();
        let mut session = session_awaiting(0);
        let mut out = Vec::new();
        session.capture();
        session.execute(&statement, &Text, &mut out);
        assert_eq!(tags(&out), "PBDES");
        feed(&mut session, &[&[message(b'1', []), complete(), ready()].concat()]);
        out.clear();
        session.execute(&statement, &Text, &mut out);
        assert!(!tags(&out).contains('D'));
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
    assert_eq!(session.captured()[0].last_row(), [Some("1".into())]);
    session.query(|sql| sql.extend_from_slice(b"select"), &mut Vec::new());
    let log = feed(
        &mut session,
        &[&[description(&names), row(&[Some("2".into())]), complete(), ready()].concat()],
    );
    assert_eq!(reply(log.seen[0].0).rows, 1);
    assert_eq!(
        session.captured()[0].last_row(),
        [Some("1".into())],
        "the second was not asked for"
    );
}

#[test]
fn a_result_that_an_error_breaks_off_is_no_part_of_the_next() {
    let mut session = capturing();
    let error = message(b'E', b"SERROR\0C22012\0Mdivision by zero\0\0");
    let begun = [description(&["a".to_owned()]), row(&[Some("1".into())])].concat();
    feed(&mut session, &[&[begun, error, ready()].concat()]);
    session.capture();
    session.query(|sql| sql.extend_from_slice(b"delete"), &mut Vec::new());
    feed(&mut session, &[&[message(b'C', b"DELETE 3\0"), ready()].concat()]);
    assert_eq!(session.captured(), [CapturedResult::default()]);
}

#[test]
fn no_reply_has_any_number_of_results_or_columns() {
    let columns = vec!["x".repeat(63); u16::MAX.into()];
    for part in [description(&columns), message(b'I', []).repeat(100_000)] {
        let mut session = capturing();
        let log = feed(&mut session, &[&part.repeat(4)]);
        let error = log.end.unwrap().to_string();
        assert!(
            error.contains("a reply has more results or columns than are kept"),
            "{error}"
        );
        // Nobody minds where they are not kept.
        let log = feed(&mut session_awaiting(1), &[&part.repeat(4), &ready()]);
        assert_eq!((log.end, log.seen.len()), (None, 1));
    }
}

/// The results of one query, as a server has them: columns, and rows of as many values.
fn result() -> impl Strategy<Value = (Vec<String>, Vec<Vec<Option<String>>>)> {
    // Without the characters that stand for bytes.
    let text = "[^\n\u{10ff80}-\u{10ffff}]{0,9}";
    let value = move || prop_oneof![2 => text.prop_map(Some), 1 => Just(None), 1 => "x{20000}".prop_map(Some)];
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
                kept: rows,
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

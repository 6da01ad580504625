//! What replies amount to.

use dyno_wire::{
    Cancel, CapturedResult, ErrorClass, Event, LocalData, MySession, MyStatement, Parameters, Preparation, Protocol,
    Reply, Session, TransactionStatus, WireError,
};

use super::support::*;
use crate::support::{Log, feed};

struct Values(&'static [&'static str]);

impl Parameters for Values {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(self.0[index].as_bytes());
        true
    }
}

fn replied(log: &Log) -> Vec<Reply> {
    let replies = log.seen.iter().map(|(event, ..)| match event {
        Event::Reply(reply) => *reply,
        _ => panic!("no reply: {log:?}"),
    });
    replies.collect()
}

fn statement(index: usize, sql: &str, parameters: usize, protocol: Protocol) -> MyStatement {
    MyStatement::new(index, sql, parameters, protocol).unwrap()
}

/// Executes a statement on a session to which nothing is owed. Returns what was sent at once.
fn execute(session: &mut MySession, statement: &MyStatement, values: &'static [&'static str]) -> Vec<u8> {
    let mut out = Vec::new();
    session.execute(statement, &Values(values), &mut out);
    out
}

/// An execution of statement `id` with one integer.
fn execution(id: u8, value: u8) -> Vec<u8> {
    let body = [0x17, id, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, value, 0, 0, 0, 0, 0, 0, 0];
    packets(0, [body])
}

#[test]
fn rows_are_counted_whatever_ends_them() {
    let one = Reply {
        rows: 2,
        affected: 2,
        result_sets: 1,
        completed: 1,
        ..Reply::default()
    };
    let row = b"\x011".to_vec();
    let head = [vec![1], column("a", 3)];
    let rows = [row.clone(), row];
    let log = reply_to(PLAIN, head.iter().chain(&[eof(2)]).chain(&rows).chain(&[eof(3)]));
    assert_eq!(replied(&log), [one]);
    assert_eq!(log.seen[0].2, TransactionStatus::Open);
    let log = reply_to(PLAIN | ENDS_WITH_OK, head.iter().chain(&rows).chain(&[ended(2)]));
    assert_eq!(replied(&log), [one]);
    assert_eq!(log.seen[0].2, TransactionStatus::Idle);
}

#[test]
fn several_results_are_one_reply() {
    let log = reply_to(
        PLAIN | ENDS_WITH_OK,
        [
            ok(3, MORE_RESULTS, 0),
            vec![1],
            column("a", 3),
            b"\x011".to_vec(),
            ended(MORE_RESULTS),
            ok(4, IN_TRANSACTION, 0),
        ],
    );
    let expected = Reply {
        rows: 1,
        affected: 8,
        result_sets: 1,
        completed: 3,
        ..Reply::default()
    };
    assert_eq!(replied(&log), [expected]);
    assert_eq!(log.seen[0].2, TransactionStatus::Open);
}

/// A result of one row, whose only value is this digit.
fn result(digit: u8, status: u16) -> [Vec<u8>; 4] {
    [vec![1], column("a", 3), vec![1, digit], ended(status)]
}

/// A session that awaits a reply which is to be kept.
fn capturing() -> MySession {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    session.capture();
    session.query(|sql| sql.extend_from_slice(b"call p()"), &mut Vec::new());
    session
}

#[test]
fn the_end_of_a_call_is_no_result() {
    let mut session = capturing();
    let results = [result(b'1', MORE_RESULTS), result(b'2', MORE_RESULTS)].concat();
    let log = feed(&mut session, &[&packets(1, [results, vec![ok(0, 0, 0)]].concat())]);
    assert_eq!(replied(&log)[0].rows, 2);
    let values = session.captured().iter().map(|result| result.last_row()[0].as_deref());
    assert_eq!(values.collect::<Vec<_>>(), [Some("1"), Some("2")]);
    // Without results of its statements it is all there is.
    let mut session = capturing();
    feed(&mut session, &[&packets(1, [ok(3, 0, 0)])]);
    assert_eq!(session.captured(), [CapturedResult::default()]);
}

#[test]
fn a_result_that_an_error_breaks_off_is_no_part_of_the_next() {
    let mut session = capturing();
    let [head, column, row, _] = result(b'1', 0);
    let killed = error(1317, "70100", "Query execution was interrupted");
    feed(&mut session, &[&packets(1, [head, column, row, killed])]);
    session.capture();
    session.query(|sql| sql.extend_from_slice(b"delete from t"), &mut Vec::new());
    feed(&mut session, &[&packets(1, [ok(3, 0, 0)])]);
    assert_eq!(session.captured(), [CapturedResult::default()]);
}

#[test]
fn an_error_ends_a_reply_and_stands_until_the_next() {
    let mut session = session_awaiting(PLAIN | ENDS_WITH_OK, 2);
    let deadlock = error(
        1213,
        "40001",
        "Deadlock found when trying to get lock; try restarting transaction",
    );
    let failed = packets(1, [ok(1, MORE_RESULTS | IN_TRANSACTION, 0), deadlock]);
    let log = feed(&mut session, &[&failed]);
    let (Event::Reply(reply), Some(error), TransactionStatus::Open) = &log.seen[0] else {
        panic!("{log:?}")
    };
    assert!(reply.failed && reply.completed == 1);
    assert_eq!((error.code.as_str(), error.class), ("1213", ErrorClass::Deadlock));
    assert!(error.message.starts_with("Deadlock found"));
    let log = feed(&mut session, &[&packets(1, [ok(0, 0, 0)])]);
    assert!(matches!(
        log.seen[0],
        (Event::Reply(Reply { failed: false, .. }), None, TransactionStatus::Idle)
    ));
}

#[test]
fn a_statement_is_prepared_when_it_is_first_executed() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let select = statement(3, "select c from t where id = $1", 1, Protocol::Prepared);
    assert!(!session.knows(&select));
    let sent = execute(&mut session, &select, &["5"]);
    assert_eq!(sent, packets(0, [b"\x16select c from t where id = ?"]));
    assert!(session.is_introducing());
    let log = feed(&mut session, &[&packets(1, prepared(9, 1, 1))]);
    assert!(log.seen.is_empty() && session.is_replying());
    assert_eq!(log.sent, execution(9, 5));
    let answer = packets(1, [vec![1], column("c", 253), b"\0\0\x03one".to_vec(), ended(2)]);
    let log = feed(&mut session, &[&answer]);
    let first = Reply {
        rows: 1,
        affected: 1,
        result_sets: 1,
        accepted: 1,
        preparation: Preparation::Accepted,
        completed: 1,
        ..Reply::default()
    };
    assert_eq!(replied(&log), [first]);
    assert_eq!(execute(&mut session, &select, &["6"]), execution(9, 6));
    let log = feed(&mut session, &[&answer]);
    let second = Reply {
        accepted: 0,
        preparation: Preparation::None,
        ..first
    };
    assert_eq!(replied(&log), [second]);
    assert!(session.knows(&select) && !session.is_introducing());
}

#[test]
fn a_preparation_is_understood_with_the_end_of_each_list() {
    let mut session = started(PLAIN);
    let select = statement(0, "select ?", 1, Protocol::Prepared);
    execute(&mut session, &select, &["5"]);
    let mut bodies = prepared(1, 1, 1);
    bodies.insert(2, eof(2));
    bodies.push(eof(2));
    let log = feed(&mut session, &[&packets(1, bodies)]);
    assert_eq!(log.sent, execution(1, 5));
    // Nothing about a statement without parameters and columns.
    let mut session = started(PLAIN);
    execute(&mut session, &statement(0, "begin", 0, Protocol::Prepared), &[]);
    let log = feed(&mut session, &[&packets(1, prepared(1, 0, 0))]);
    assert_eq!(log.sent, packets(0, [[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0]]));
}

#[test]
fn the_extended_protocol_closes_what_it_prepared() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let select = statement(0, "select ?", 1, Protocol::Extended);
    for id in [1, 2] {
        assert_eq!(execute(&mut session, &select, &["5"]), packets(0, [b"\x16select ?"]));
        let log = feed(&mut session, &[&packets(1, prepared(id, 1, 1))]);
        let close = packets(0, [[0x19, id, 0, 0, 0]]);
        assert_eq!(log.sent, [execution(id, 5), close].concat());
        let log = feed(&mut session, &[&packets(1, [ok(1, 0, 0)])]);
        assert_eq!(replied(&log)[0].accepted, 1);
    }
    // A server that has prepared it and then says that it never does is not believed: that is an error.
    assert_eq!(execute(&mut session, &select, &["5"]), packets(0, [b"\x16select ?"]));
    let log = feed(&mut session, &[&not_prepared()]);
    assert!(log.sent.is_empty());
    assert!(replied(&log)[0].failed);
}

#[test]
fn what_cannot_be_prepared_is_not_executed() {
    let mut session = started(PLAIN);
    let wrong = statement(0, "selec ?", 1, Protocol::Prepared);
    // Whoever executes it again after that wants to meet the error as that of an execution.
    for preparation in [Preparation::Refused, Preparation::None, Preparation::None] {
        // Prepared anew each time: it may be right by then.
        assert_eq!(execute(&mut session, &wrong, &["5"]), packets(0, [b"\x16selec ?"]));
        let log = feed(&mut session, &[&packets(1, [error(1064, "42000", "syntax")])]);
        assert!(log.sent.is_empty());
        let expected = Reply {
            failed: true,
            preparation,
            ..Reply::default()
        };
        assert_eq!(replied(&log), [expected]);
    }
    assert!(session.knows(&wrong) && !session.prepare(&wrong, &mut Vec::new()));
}

/// What a server says that prepares no such statement.
fn not_prepared() -> Vec<u8> {
    let message = "This command is not supported in the prepared statement protocol yet";
    packets(1, [error(1295, "HY000", message)])
}

#[test]
fn what_the_server_never_prepares_travels_as_text() {
    for protocol in [Protocol::Prepared, Protocol::Extended] {
        let mut session = started(PLAIN | ENDS_WITH_OK);
        let kill = statement(2, "kill $1", 1, protocol);
        session.capture();
        assert_eq!(execute(&mut session, &kill, &["5"]), packets(0, [b"\x16kill ?"]));
        let log = feed(&mut session, &[&not_prepared()]);
        assert!(log.seen.is_empty() && !session.is_introducing(), "{log:?}");
        assert_eq!(log.sent, packets(0, [b"\x03kill 5"]));
        // What comes back is text, too.
        let log = feed(&mut session, &[&packets(1, result(b'7', 2))]);
        let done = Reply {
            rows: 1,
            affected: 1,
            result_sets: 1,
            completed: 1,
            ..Reply::default()
        };
        assert_eq!(replied(&log), [done], "{protocol}");
        assert_eq!(session.captured()[0].last_row()[0].as_deref(), Some("7"));
        assert!(session.knows(&kill) && !session.is_introducing());
        // It is not asked for again, whatever becomes of it.
        assert_eq!(execute(&mut session, &kill, &["6"]), packets(0, [b"\x03kill 6"]));
        let log = feed(&mut session, &[&not_prepared()]);
        let failed = Reply {
            failed: true,
            ..Reply::default()
        };
        assert_eq!((replied(&log), log.sent), (vec![failed], Vec::new()));
        assert_eq!(session.error().unwrap().code.as_str(), "1295");
        assert!(!session.prepare(&kill, &mut Vec::new()));
    }
    // One that was to be prepared beforehand is no mistake.
    let mut session = started(PLAIN);
    let begin = statement(0, "begin", 0, Protocol::Prepared);
    assert!(session.prepare(&begin, &mut Vec::new()) && session.prepare(&begin, &mut Vec::new()));
    let log = feed(&mut session, &[&not_prepared()]);
    assert_eq!(
        (replied(&log), log.sent),
        (vec![Reply::default()], packets(0, [b"\x0e"]))
    );
    let log = feed(&mut session, &[&packets(1, [ok(0, 0, 0)])]);
    assert_eq!(replied(&log), [Reply::default()]);
    assert_eq!(execute(&mut session, &begin, &[]), packets(0, [b"\x03begin"]));
}

#[test]
fn a_pipeline_goes_on_with_what_is_never_prepared() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let begin = statement(0, "begin", 0, Protocol::Prepared);
    let one = statement(1, "select ?", 1, Protocol::Prepared);
    let mut out = Vec::new();
    session.queue(&begin, &(), &mut out);
    session.queue(&one, &Values(&["5"]), &mut out);
    session.queue(&begin, &(), &mut out);
    session.sync(&mut out);
    assert_eq!(out, packets(0, [b"\x16begin"]));
    let log = feed(&mut session, &[&not_prepared()]);
    assert_eq!(log.sent, packets(0, [b"\x03begin"]));
    let done = packets(1, [ok(0, IN_TRANSACTION, 0)]);
    let log = feed(&mut session, &[&done]);
    assert_eq!(log.sent, packets(0, [b"\x16select ?"]));
    let log = feed(&mut session, &[&packets(1, prepared(1, 0, 0))]);
    assert_eq!(log.sent, execution(1, 5));
    let log = feed(&mut session, &[&done]);
    assert_eq!(log.sent, [packets(0, [b"\x03begin"]), packets(0, [b"\x0e"])].concat());
    let log = feed(&mut session, &[&[done.clone(), done].concat()]);
    let [reply] = replied(&log)[..] else { panic!("{log:?}") };
    assert_eq!((reply.completed, reply.accepted, reply.failed), (3, 1, false));
}

#[test]
fn a_statement_can_be_prepared_alone() {
    for packets_about_it in [0, 1] {
        let mut session = started(PLAIN | ENDS_WITH_OK);
        let select = statement(0, "select ?", 1, Protocol::Prepared);
        let mut out = Vec::new();
        assert!(session.prepare(&select, &mut out));
        assert_eq!(out, packets(0, [b"\x16select ?"]));
        let log = feed(
            &mut session,
            &[&packets(1, prepared(3, packets_about_it, packets_about_it))],
        );
        let expected = Reply {
            accepted: 1,
            ..Reply::default()
        };
        assert_eq!((replied(&log), log.sent), (vec![expected], Vec::new()));
        assert!(!session.prepare(&select, &mut out));
        assert_eq!(execute(&mut session, &select, &["5"]), execution(3, 5));
    }
    // Asked for once more before the first answer is here.
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let select = statement(0, "select ?", 1, Protocol::Prepared);
    assert!(session.prepare(&select, &mut Vec::new()) && session.prepare(&select, &mut Vec::new()));
    let log = feed(&mut session, &[&packets(1, prepared(3, 0, 0))]);
    assert_eq!((replied(&log)[0].accepted, log.sent), (1, packets(0, [b"\x0e"])));
    let log = feed(&mut session, &[&packets(1, [ok(0, 0, 0)])]);
    assert_eq!(replied(&log), [Reply::default()]);
    for protocol in [Protocol::Simple, Protocol::Extended] {
        let mut session = started(PLAIN);
        assert!(!session.prepare(&statement(0, "select ?", 1, protocol), &mut Vec::new()));
    }
}

#[test]
fn statements_of_a_pipeline_become_known_by_the_way() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let one = statement(0, "select ?", 1, Protocol::Prepared);
    let mut out = Vec::new();
    session.queue(&one, &Values(&["5"]), &mut out);
    session.queue(&one, &Values(&["6"]), &mut out);
    session.sync(&mut out);
    assert_eq!(out, packets(0, [b"\x16select ?"]));
    let log = feed(&mut session, &[&packets(1, prepared(1, 0, 0))]);
    let ping = packets(0, [b"\x0e"]);
    assert_eq!(log.sent, execution(1, 5));
    // What was asked for meanwhile goes out once nothing before it is awaited.
    let done = packets(1, [ok(1, 0, 0)]);
    let log = feed(&mut session, &[&done]);
    assert_eq!(log.sent, [execution(1, 6), ping].concat());
    let log = feed(&mut session, &[&[done.clone(), done].concat()]);
    let expected = Reply {
        affected: 2,
        accepted: 1,
        completed: 2,
        ..Reply::default()
    };
    let mut reply = replied(&log)[0];
    // Of no meaning for pipelines.
    reply.preparation = Preparation::None;
    assert_eq!(reply, expected);
}

#[test]
fn a_session_is_cancelled_by_another_one() {
    let statement = Cancel::Statement("KILL QUERY 7".into());
    assert_eq!(started(PLAIN).cancel(), Some(statement));
}

#[test]
fn what_follows_a_first_execution_waits_for_it() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let one = statement(0, "select ?", 1, Protocol::Prepared);
    let two = statement(1, "update ?", 1, Protocol::Prepared);
    let mut out = execute(&mut session, &one, &["5"]);
    session.query(|sql| sql.extend_from_slice(b"select 1"), &mut out);
    session.execute(&two, &Values(&["6"]), &mut out);
    session.execute(&one, &Values(&["7"]), &mut out);
    assert_eq!(out, packets(0, [b"\x16select ?"]));
    let done = packets(1, [ok(1, 0, 0)]);
    let log = feed(&mut session, &[&packets(1, prepared(1, 0, 0))]);
    assert_eq!(log.sent, execution(1, 5));
    let log = feed(&mut session, &[&done]);
    assert_eq!((replied(&log).len(), log.sent), (1, packets(0, [b"\x03select 1"])));
    let log = feed(&mut session, &[&done]);
    assert_eq!((replied(&log).len(), log.sent), (1, packets(0, [b"\x16update ?"])));
    let log = feed(&mut session, &[&packets(1, prepared(2, 0, 0))]);
    assert_eq!(log.sent, execution(2, 6));
    let log = feed(&mut session, &[&done]);
    assert_eq!((replied(&log).len(), log.sent), (1, execution(1, 7)));
    let log = feed(&mut session, &[&done]);
    assert_eq!((replied(&log).len(), session.is_replying()), (1, false));
    // Nothing waits any more.
    assert_eq!(execute(&mut session, &two, &["8"]), execution(2, 8));
}

#[test]
fn a_pipeline_is_one_reply_and_tells_its_first_error() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let simple = statement(0, "update t set a = ?", 1, Protocol::Simple);
    let mut out = Vec::new();
    session.queue(&simple, &Values(&["1"]), &mut out);
    session.queue(&simple, &Values(&["x"]), &mut out);
    session.queue(&simple, &Values(&["3"]), &mut out);
    session.sync(&mut out);
    session.query(|sql| sql.extend_from_slice(b"select 1"), &mut out);
    let sent = [
        packets(0, [b"\x03update t set a = 1"]),
        packets(0, [b"\x03update t set a = 'x'"]),
        packets(0, [b"\x03update t set a = 3"]),
        packets(0, [b"\x0e"]),
        packets(0, [b"\x03select 1"]),
    ];
    assert_eq!(out, sent.concat());
    let answers = [
        packets(1, [ok(1, 0, 0)]),
        packets(1, [error(1366, "22007", "first")]),
        packets(1, [error(1366, "22007", "second")]),
        packets(1, [ok(0, 0, 0)]),
        packets(1, [ok(7, 0, 0)]),
    ];
    let log = feed(&mut session, &[&answers.concat()]);
    let [pipeline, query] = replied(&log)[..] else {
        panic!("{log:?}")
    };
    assert_eq!((pipeline.affected, pipeline.completed, pipeline.failed), (1, 1, true));
    assert_eq!(log.seen[0].1.as_ref().unwrap().message, "first");
    assert_eq!((query.affected, query.failed), (7, false));
}

#[test]
fn values_are_quoted_as_the_servers_mode_has_it() {
    let mut session = started(PLAIN);
    let simple = statement(0, "select ?", 1, Protocol::Simple);
    assert_eq!(
        execute(&mut session, &simple, &[r"a\'b"]),
        packets(0, [br"?select 'a\\''b'".map_first()])
    );
    feed(&mut session, &[&packets(1, [ok(0, NO_BACKSLASHES, 0)])]);
    assert_eq!(
        execute(&mut session, &simple, &[r"a\'b"]),
        packets(0, [br"?select 'a\''b'".map_first()])
    );
}

/// Puts a query's command where raw strings cannot have it.
trait MapFirst {
    fn map_first(&self) -> Vec<u8>;
}

impl<const N: usize> MapFirst for [u8; N] {
    fn map_first(&self) -> Vec<u8> {
        [&[3], &self[1..]].concat()
    }
}

#[test]
fn the_servers_request_for_a_file_is_refused() {
    let mut session = session_awaiting(PLAIN, 1);
    let log = feed(&mut session, &[&packets(1, [b"\xfb/etc/passwd"])]);
    assert_eq!(log.sent, packets(2, [b""]));
    let log = feed(&mut session, &[&packets(3, [ok(0, 0, 0)])]);
    assert!(matches!(
        replied(&log)[..],
        [Reply {
            failed: true,
            copy_refused: true,
            ..
        }]
    ));
    let refused = log.seen[0].1.as_ref().unwrap().to_string();
    assert!(refused.starts_with("ERROR 1235 (42000): LOAD DATA LOCAL"), "{refused}");
    // Set-up, loading and samplers ask for no file either, and are no script.
    assert!(!refused.contains("script"), "{refused}");
}

/// Rows of values are for the statement by the id that the server has given it.
#[test]
fn rows_of_values_name_their_statement() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let insert = statement(0, "insert into t values (?, ?)", 2, Protocol::Prepared);
    let rows = |session: &mut MySession| {
        let mut out = Vec::new();
        session.load_rows(&insert, |values| values.extend_from_slice(b"\0\x01a\x01"), &mut out);
        out
    };
    let execution = |id: u8| packets(0, [[0xfa, id, 0, 0, 0, 128, 0, 253, 0, 253, 0, 0, 1, b'a', 1]]);
    // No server has one by 0.
    assert_eq!(rows(&mut session), execution(0));
    let refusal = error(1243, "HY000", "Unknown prepared statement handler");
    assert!(replied(&feed(&mut session, &[&packets(1, [refusal])]))[0].failed);
    session.prepare(&insert, &mut Vec::new());
    feed(&mut session, &[&packets(1, prepared(7, 0, 2))]);
    assert_eq!(rows(&mut session), execution(7));
    let log = feed(&mut session, &[&packets(1, [ok(1, 0, 0)])]);
    assert_eq!((replied(&log)[0].failed, replied(&log)[0].affected), (false, 1));
}

/// What a statement brings is given once, to whatever name the server asks for; before and afterwards it gets nothing.
#[test]
fn only_the_content_of_a_load_is_served() {
    let mut session = session_awaiting(PLAIN, 0);
    let mut load = |answers: &[Vec<u8>]| {
        let mut content = LocalData::default();
        let row: Result<(), ()> = content.append(|out| {
            out.extend_from_slice(b"1\n");
            Ok(())
        });
        assert_eq!(row, Ok(()));
        session.load("load data local", &mut content, &mut Vec::new());
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        feed(&mut session, &answers).sent
    };
    let asks = packets(1, [b"\xfb/etc/passwd"]);
    let served = [packets(2, [b"1\n"]), packets(3, [b""])].concat();
    assert_eq!(load(&[asks.clone(), packets(4, [ok(1, 0, 0)])]), served);
    // It fails before its content is asked for.
    let failed = packets(1, [b"\xff\x7a\x04#42S02no such table"]);
    assert_eq!(load(&[failed]), b"");
    session.query(|sql| sql.extend_from_slice(b"select 1"), &mut Vec::new());
    assert_eq!(feed(&mut session, &[&asks]).sent, packets(2, [b""]));
}

#[test]
fn a_server_that_asks_for_files_again_and_again_is_left() {
    let mut session = session_awaiting(PLAIN, 1);
    let log = feed(&mut session, &[&packets(1, [b"\xfb/etc/passwd"])]);
    assert_eq!(log.sent, packets(2, [b""]));
    // As one of several results; and without a word of any.
    let mut other = session_awaiting(PLAIN, 1);
    let more = packets(3, [ok(0, MORE_RESULTS, 0), b"\xfb/etc/shadow".to_vec()]);
    feed(&mut other, &[&packets(1, [b"\xfb/etc/passwd"])]);
    for (session, again) in [(&mut session, packets(3, [b"\xfb/etc/passwd"])), (&mut other, more)] {
        let log = feed(session, &[&again]);
        assert_eq!(log.sent, b"");
        let why = log.end.expect("the conversation ends").to_string();
        assert!(why.contains("again and again for a file"), "{why}");
    }
}

#[test]
fn a_command_of_several_packets_is_answered_by_later_numbers() {
    let mut session = started(PLAIN | ENDS_WITH_OK);
    let mut out = Vec::new();
    session.query(|sql| sql.resize(sql.len() + (17 << 20), b' '), &mut out);
    assert_eq!(out[..4], [0xFF, 0xFF, 0xFF, 0]);
    assert_eq!(out[(1 << 24) + 3..][..4], [2, 0, 0x10, 1]);
    let answer = packets(2, [vec![1], column("a", 3), b"\x011".to_vec(), ended(2)]);
    assert_eq!(replied(&feed(&mut session, &[&answer])).len(), 1);
}

#[test]
fn warnings_are_noticed() {
    let log = reply_to(PLAIN, [ok(1, 0, 2)]);
    assert!(replied(&log)[0].noticed);
    assert_eq!(
        log.notices[0].to_string(),
        "WARNING:  the server has 2 warnings, which SHOW WARNINGS shows"
    );
}

#[test]
fn a_server_that_ends_the_connection_says_why() {
    for awaited in [0, 1] {
        for number in [0, 1] {
            let mut session = session_awaiting(PLAIN, awaited);
            let bye = packets(number, [error(1927, "70100", "Connection was killed")]);
            let log = feed(&mut session, &[&bye]);
            let Some(WireError::Server(error)) = log.end else {
                panic!("{log:?}")
            };
            assert_eq!((error.message.as_str(), error.fatal), ("Connection was killed", true));
            assert_eq!(session.error(), Some(&*error));
        }
    }
}

#[test]
fn what_cannot_come_now_is_an_error() {
    for (awaited, stream, part) in [
        (0, packets(1, [ok(0, 0, 0)]), "though nothing was asked"),
        (
            1,
            [packets(1, [[1]]), packets(3, [column("a", 3)])].concat(),
            "sent packet 3 where packet 2 was due",
        ),
        (
            1,
            [packets(1, [ok(0, MORE_RESULTS, 0)]), packets(3, [ok(0, 0, 0)])].concat(),
            "sent packet 3 where packet 2 was due",
        ),
        (1, packets(1, [[0xFE]]), "malformed message"),
        (1, packets(1, [b""]), "malformed message"),
        (1, packets(1, [[0, 0]]), "the end of a result is cut short"),
        (1, packets(1, [[0xFF, 1]]), "an error is cut short"),
        (
            1,
            packets(1, [b"\xfd\xff\xff\xff"]),
            "the number of columns is impossible",
        ),
        (
            1,
            packets(1, [vec![1], column("a", 3), eof(0), vec![]]),
            "a row is empty",
        ),
        (
            1,
            packets(1, [vec![1], column("a", 3), eof(0), vec![0xFE]]),
            "the end of the rows is cut short",
        ),
    ] {
        let log = feed(&mut session_awaiting(PLAIN, awaited), &[&stream]);
        let error = log.end.unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_long_error_is_cut_off() {
    let log = reply_to(PLAIN, [error(1105, "HY000", &"x".repeat(100_000))]);
    let error = log.seen[0].1.as_ref().unwrap();
    assert!((10_000..20_000).contains(&error.message.len()));
}

#[test]
fn the_farewell_is_polite() {
    let mut out = Vec::new();
    started(PLAIN).terminate(&mut out);
    assert_eq!(out, packets(0, [[1]]));
}

#[test]
fn ten_thousand_sessions_are_small() {
    assert!(size_of::<MySession>() <= 256, "{}", size_of::<MySession>());
}

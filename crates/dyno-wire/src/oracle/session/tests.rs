//! Scripted servers: whatever they send, and however it is cut into reads, there is no panic, no standstill, and the
//! same outcome.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::ErrorClass;
use crate::oracle::capabilities::Abilities;
use crate::oracle::column::{Column, Wanted, oracle_type};
use crate::oracle::packet::kind;
use crate::oracle::writer::{write_number, write_optional, write_value};

const NEW: u8 = 24;
const OLD: u8 = 12;

fn config() -> Arc<OraConfig> {
    Arc::new(OraConfig {
        user: "bench".into(),
        password: Some("secret".into()),
        connect_data: OraConfig::service("shop"),
        ..OraConfig::default()
    })
}

/// A session that was let in by a server of this version.
fn started(field_version: u8) -> OraSession {
    let mut session = OraSession::new(config());
    session.start_up = None;
    session.lengths = Lengths::Long;
    session.requests.sdu = 8192;
    session.requests.abilities = Abilities {
        field_version,
        marks_end: field_version == NEW,
        ..Abilities::default()
    };
    session
}

/// A packet with this body.
fn packet_of(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::write(&mut out, Lengths::Long, kind, 0, body);
    out
}

/// A packet with these messages.
fn data(messages: &[u8]) -> Vec<u8> {
    packet_of(kind::DATA, &[&[0, 0], messages].concat())
}

/// A response of these messages, with an end if the server marks it.
fn response(field_version: u8, messages: &[Vec<u8>]) -> Vec<u8> {
    let end: &[u8] = if field_version == NEW { &[29] } else { &[] };
    data(&[&messages.concat(), end].concat())
}

/// What describes columns of these names and types.
fn described(field_version: u8, columns: &[(&str, u8)]) -> Vec<u8> {
    let mut out = vec![16, 0, 0];
    write_number(&mut out, columns.len() as u64);
    out.push(1);
    for (name, kind) in columns {
        out.extend_from_slice(&[*kind, 0, 0, 0]);
        write_number(&mut out, 22);
        out.extend_from_slice(&[0, 0, 0, 0, 0, 1, 0]);
        if field_version >= 8 {
            out.push(0);
        }
        out.extend_from_slice(&[1, name.len() as u8]);
        write_optional(&mut out, name.as_bytes());
        out.extend_from_slice(&[0, 0, 0, 0]);
        if field_version == NEW {
            out.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
        }
    }
    out.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
    out
}

/// The end of a call.
fn end(field_version: u8, status: u8, cursor: u8, code: u32, rows: u64) -> Vec<u8> {
    let mut out = vec![4, 1, status, 0, 0, 0, 0, 0, 1, cursor, 0];
    // Flags, the place of a row, the system's error, numbers.
    out.extend_from_slice(&[0; 6 + 5 + 1 + 2 + 2 + 1 + 3]);
    write_number(&mut out, code.into());
    write_number(&mut out, rows);
    if field_version == NEW {
        out.extend_from_slice(&[0, 0]);
    }
    if code > 0 {
        write_value(&mut out, format!("ORA-{code:05}: it failed\n").as_bytes());
    }
    out
}

fn row(values: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![7];
    values.iter().for_each(|value| write_value(&mut out, value));
    out
}

/// What a session told, in order.
#[derive(Debug, Default, PartialEq)]
struct Log {
    seen: Vec<(Event, Option<ServerError>, TransactionStatus)>,
    end: Option<WireError>,
    sent: Vec<u8>,
    notices: Vec<ServerError>,
}

impl Log {
    /// The only reply.
    fn reply(&self) -> Reply {
        match self.seen.as_slice() {
            [(Event::Reply(reply), ..)] if self.end.is_none() => *reply,
            other => panic!("{other:?} {:?}", self.end),
        }
    }

    fn error(&self) -> &ServerError {
        self.seen[0].1.as_ref().unwrap()
    }
}

fn feed(session: &mut OraSession, chunks: &[&[u8]]) -> Log {
    let mut log = Log::default();
    'all: for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            match session.receive(rest, &mut log.sent) {
                Ok((used, event)) => {
                    assert!(used > 0, "stuck with {} bytes left", rest.len());
                    rest = &rest[used..];
                    match event {
                        Event::NeedInput => assert!(rest.is_empty(), "asks for input with {} bytes left", rest.len()),
                        event => log
                            .seen
                            .push((event, session.error().cloned(), session.in_transaction())),
                    }
                }
                Err(error) => {
                    log.end = Some(error);
                    break 'all;
                }
            }
        }
    }
    assert!(session.held.len() <= 1 << 20, "{} bytes are held", session.held.len());
    log.notices = session.take_notices();
    log
}

fn statement(text: &str) -> OraStatement {
    OraStatement::new(0, text, 0, Protocol::Prepared).unwrap()
}

/// The functions that were called, with their options if they are executions.
fn called(sent: &[u8]) -> Vec<u8> {
    let mut framing = Framing::default();
    let (mut at, mut found) = (0, Vec::new());
    while at < sent.len() {
        let (used, packet) = framing.next(Lengths::Long, &sent[at..]).unwrap();
        at += used;
        found.extend(packet.and_then(|packet| packet.body.get(3).copied()));
    }
    found
}

const COLUMNS: [(&str, u8); 2] = [("ID", oracle_type::NUMBER), ("INFO", oracle_type::VARCHAR)];

/// A whole response to a query with two rows.
fn two_rows(field_version: u8) -> Vec<u8> {
    response(
        field_version,
        &[
            described(field_version, &COLUMNS),
            b"\x06\0\0\0\0\0\0\0".to_vec(),
            row(&[b"\xc1\x02", b"one"]),
            row(&[b"\xc1\x03", b""]),
            end(field_version, 0, 5, 1403, 2),
        ],
    )
}

#[test]
fn a_query_is_described_once_and_then_executed_by_its_cursor() {
    for field_version in [OLD, NEW] {
        let mut session = started(field_version);
        let select = statement("select id, info from t");
        let mut out = Vec::new();
        session.execute(&select, &(), &mut out);
        assert!(session.is_introducing());
        assert_eq!(called(&out), [94]);
        let reply = feed(&mut session, &[&two_rows(field_version)]).reply();
        assert_eq!((reply.rows, reply.affected, reply.result_sets), (2, 2, 1));
        assert_eq!((reply.accepted, reply.preparation), (1, crate::Preparation::Accepted));
        // Now its types are known, the first time by a whole execution.
        out.clear();
        session.capture();
        session.execute(&select, &(), &mut out);
        assert_eq!(called(&out), [78]);
        let rows = [
            row(&[b"\xc1\x08", b"x"]),
            b"\x15\x01\x01\x02".to_vec(),
            row(&[b"y"]),
            end(field_version, 0, 5, 1403, 2),
        ];
        assert_eq!(
            feed(&mut session, &[&response(field_version, &rows)]).reply().accepted,
            0
        );
        let result = &session.captured()[0];
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(result.columns, ["ID", "INFO"]);
        assert_eq!(result.kept, [vec![text("7"), text("x")], vec![text("7"), text("y")]]);
    }
}

#[test]
fn what_is_not_over_is_fetched_on() {
    let mut session = started(OLD);
    let mut out = Vec::new();
    session.execute(&statement("select id, info from t"), &(), &mut out);
    let first = [described(OLD, &COLUMNS), row(&[b"\x80", b"a"]), end(OLD, 0, 5, 0, 1)];
    let log = feed(&mut session, &[&response(OLD, &first)]);
    assert_eq!((log.seen.len(), called(&log.sent)), (0, vec![5]));
    assert!(session.is_replying());
    let more = [row(&[b"\x80", b"b"]), end(OLD, 0, 5, 1403, 2)];
    assert_eq!(feed(&mut session, &[&response(OLD, &more)]).reply().rows, 2);
    // A server that neither sends rows nor comes to an end is not asked for ever.
    session.execute(&statement("select id, info from t"), &(), &mut out);
    let nothing = response(OLD, &[end(OLD, 0, 5, 0, 0)]);
    let log = feed(&mut session, &[&nothing, &nothing]);
    assert!(log.end.unwrap().to_string().contains("neither rows nor an end"));
}

#[test]
fn what_is_left_open_is_settled_unless_a_script_has_begun() {
    let mut session = started(NEW);
    let mut out = Vec::new();
    let update = statement("update t set a = 1");
    let left_open = response(NEW, &[end(NEW, 2, 5, 0, 1)]);
    session.execute(&update, &(), &mut out);
    let log = feed(&mut session, &[&left_open]);
    assert_eq!((log.seen.len(), called(&log.sent)), (0, vec![14]));
    let log = feed(&mut session, &[&response(NEW, &[vec![9, 0, 0]])]);
    assert_eq!((log.reply().affected, log.reply().completed), (1, 1));
    assert_eq!(log.seen[0].2, TransactionStatus::Idle);
    // A failure is rolled back, too.
    session.execute(&update, &(), &mut out);
    let log = feed(&mut session, &[&response(NEW, &[end(NEW, 2, 5, 60, 0)])]);
    assert_eq!(called(&log.sent), [15]);
    let log = feed(&mut session, &[&response(NEW, &[vec![9, 0, 0]])]);
    assert!(log.reply().failed);
    assert_eq!(log.error().class, ErrorClass::Deadlock);
    // Begun, it stays open.
    session.query(|text| text.extend_from_slice(b"begin"), &mut out);
    assert_eq!(session.answered().unwrap().completed, 1);
    out.clear();
    session.execute(&update, &(), &mut out);
    // By its cursor, but with all that belongs to an execution, as the last one failed.
    assert_eq!(called(&out), [94]);
    let log = feed(&mut session, &[&left_open]);
    assert_eq!((log.reply().failed, log.seen[0].2), (false, TransactionStatus::Open));
}

#[test]
fn what_is_asked_for_meanwhile_waits() {
    let mut session = started(NEW);
    let mut out = Vec::new();
    session.query(|text| text.extend_from_slice(b"delete from t"), &mut out);
    let first = out.len();
    session.query(|text| text.extend_from_slice(b"begin"), &mut out);
    session.query(|text| text.extend_from_slice(b"commit"), &mut out);
    assert_eq!((out.len(), session.answered()), (first, None));
    let log = feed(&mut session, &[&response(NEW, &[end(NEW, 0, 5, 0, 3)])]);
    assert_eq!((log.reply().affected, called(&log.sent)), (3, vec![105]));
    let done = response(NEW, &[vec![9, 0, 0]]);
    let log = feed(&mut session, &[&done]);
    assert_eq!(
        (log.seen.len(), log.seen[0].2, called(&log.sent)),
        (1, TransactionStatus::Open, vec![14])
    );
    let log = feed(&mut session, &[&done]);
    assert_eq!((log.seen.len(), log.seen[0].2), (1, TransactionStatus::Idle));
}

#[test]
fn a_break_is_answered_by_a_reset_and_ends_in_an_error() {
    for marker in [1, 2] {
        let mut session = started(OLD);
        session.execute(&statement("select id, info from t"), &(), &mut Vec::new());
        let broken = packet_of(kind::MARKER, &[1, 0, marker]);
        let reset = packet_of(kind::MARKER, &[1, 0, 2]);
        let error = response(OLD, &[end(OLD, 0, 5, 1013, 0)]);
        // Half of a response, which is dropped.
        let half = data(&described(OLD, &COLUMNS)[..9]);
        let log = feed(&mut session, &[&half, &broken, &reset, &reset, &error]);
        assert!(log.reply().failed);
        assert_eq!(log.error().code.as_str(), "ORA-01013");
        assert_eq!(log.sent, reset);
        // One that comes too late breaks nothing.
        let log = feed(&mut session, &[&broken, &reset, &error]);
        assert_eq!((log.seen.len(), log.end, log.sent), (0, None, reset));
    }
}

#[test]
fn lobs_are_fetched_once_the_server_knows_in_what_form() {
    for field_version in [OLD, NEW] {
        let mut session = started(field_version);
        let mut out = Vec::new();
        let columns = [("ID", oracle_type::NUMBER), ("PICTURE", oracle_type::BLOB)];
        let select = statement("select id, picture from t");
        session.execute(&select, &(), &mut out);
        let none = end(field_version, 0, 5, 0, 0);
        let first = response(field_version, &[described(field_version, &columns), none.clone()]);
        let log = feed(&mut session, &[&first]);
        assert_eq!((log.seen.len(), called(&log.sent)), (0, vec![94]));
        // A number and a LONG RAW, whose lengths are said before them.
        let of_number = b"\x02\x01\0\0\x01\x16";
        assert!(log.sent.windows(6).any(|part| part == of_number));
        assert!(log.sent.windows(7).any(|part| part == b"\x18\x01\0\0\x04\x7f\xff"));
        let rows = [
            [
                &b"\x07\x02\xc1\x02\x03abc\0\0"[..],
                b"\x07\x02\xc1\x03\0\x81\x01\x02\x05\x7d",
            ]
            .concat(),
            end(field_version, 0, 5, 1403, 2),
        ];
        let reply = feed(&mut session, &[&response(field_version, &rows)]).reply();
        assert_eq!((reply.rows, reply.completed, reply.accepted), (2, 1, 1));
        // From then on rows are fetched behind the execution, and somebody may look into them.
        session.capture();
        session.execute(&select, &(), &mut out);
        let log = feed(&mut session, &[&response(field_version, &[none])]);
        assert_eq!((log.seen.len(), called(&log.sent)), (0, vec![5]));
        assert_eq!(feed(&mut session, &[&response(field_version, &rows)]).reply().rows, 2);
        let text = |text: &str| Some(text.to_owned());
        let kept = &session.captured()[0].kept;
        assert_eq!(*kept, [vec![text("1"), text("616263")], vec![text("2"), None]]);
    }
}

#[test]
fn only_who_looks_into_a_column_that_is_passed_over_fails() {
    let mut session = started(OLD);
    let mut out = Vec::new();
    let select = statement("select id, place from t");
    let columns = [("ID", oracle_type::NUMBER), ("PLACE", oracle_type::ROWID)];
    let place = b"\x07\x02\xc1\x02\x0d\x01\x07\x01\x01\0\x01\x02\x01\x03".to_vec();
    let rows = [described(OLD, &columns), place.clone(), end(OLD, 0, 5, 1403, 1)];
    session.execute(&select, &(), &mut out);
    assert_eq!(feed(&mut session, &[&response(OLD, &rows)]).reply().rows, 1);
    session.capture();
    session.execute(&select, &(), &mut out);
    let log = feed(&mut session, &[&response(OLD, &[place, end(OLD, 0, 5, 1403, 1)])]);
    assert!(log.reply().failed);
    assert_eq!(
        log.error().message,
        "the column \"PLACE\" is of type ROWID, whose values are passed over and cannot be shown"
    );
}

#[test]
fn a_column_of_an_unknown_type_fails_the_statement_alone() {
    let mut session = started(OLD);
    let mut out = Vec::new();
    let columns = [("ID", oracle_type::NUMBER), ("OWNER", 111)];
    session.execute(&statement("select id, owner from t"), &(), &mut out);
    let described = described(OLD, &columns);
    let log = feed(
        &mut session,
        &[&response(OLD, &[described.clone(), end(OLD, 0, 5, 0, 0)])],
    );
    assert!(log.reply().failed);
    assert_eq!(
        log.error().message,
        "the column \"OWNER\" is of type number 111, which is not known here"
    );
    // Rows of it are not understood.
    session.execute(&statement("select id, owner from t"), &(), &mut out);
    let log = feed(&mut session, &[&response(OLD, &[described, row(&[b"\x80"])])]);
    assert!(log.end.unwrap().to_string().contains("rows with the column \"OWNER\""));
}

#[test]
fn an_error_that_ends_the_session_ends_it() {
    let mut session = started(NEW);
    session.execute(&statement("update t set a = 1"), &(), &mut Vec::new());
    let log = feed(&mut session, &[&response(NEW, &[end(NEW, 0, 0, 28, 0)])]);
    match log.end {
        Some(WireError::Server(error)) => assert_eq!((error.class, error.fatal), (ErrorClass::Lost, true)),
        other => panic!("{other:?}"),
    }
    let mut session = started(NEW);
    let log = feed(&mut session, &[&response(NEW, &[end(NEW, 0, 0, 0, 0)])]);
    assert_eq!(log.end, Some(WireError::Unasked { database: NAME }));
}

#[test]
fn a_listener_may_ask_again_or_send_us_on() {
    let mut session = OraSession::new(config());
    let mut out = Vec::new();
    assert_eq!(session.start(&mut out), Ok(Event::NeedInput));
    let short = |kind, body: &[u8]| {
        let mut out = Vec::new();
        packet::write(&mut out, Lengths::Short, kind, 0, body);
        out
    };
    let log = feed(&mut session, &[&short(kind::RESEND, b"")]);
    assert_eq!(log.sent, out);
    let address = b"(ADDRESS=(HOST=b)(PORT=1522))\0(DESCRIPTION=(A=b))";
    let length = [0, address.len() as u8];
    let (head, rest) = (
        short(kind::REDIRECT, &length),
        short(kind::DATA, &[&[0, 0], &address[..]].concat()),
    );
    let log = feed(&mut session, &[&head, &rest]);
    assert!(matches!(log.seen[..], [(Event::Redirect, ..)]), "{log:?}");
    assert_eq!(
        session
            .redirection()
            .map(|redirect| (redirect.host.as_str(), redirect.port)),
        Some(("b", 1522))
    );
    out.clear();
    assert_eq!(session.start(&mut out), Ok(Event::NeedInput));
    assert!(out.ends_with(b"(DESCRIPTION=(A=b))"));
    // A stranger.
    let mut session = OraSession::new(config());
    session.start(&mut out).unwrap();
    let log = feed(&mut session, &[b"HTTP/1.1 400 Bad Request\r\n"]);
    assert!(log.end.unwrap().to_string().contains("no answer of an Oracle listener"));
}

/// The points where a server can surprise a session.
#[derive(Debug, Clone, Copy)]
enum Point {
    Connect,
    Negotiate,
    LogIn,
    Query,
    Capture,
    Rare,
    Change,
    Block,
    Parse,
    Call,
    Idle,
}

/// Types whose values end elsewhere than others do.
const RARE: [u8; 9] = [
    oracle_type::LONG,
    oracle_type::ROWID,
    oracle_type::UROWID,
    oracle_type::BFILE,
    oracle_type::JSON,
    oracle_type::OBJECT,
    oracle_type::CURSOR,
    oracle_type::BOOLEAN,
    oracle_type::CLOB,
];

fn accept(flags: u32) -> Vec<u8> {
    let mut body = 319_u16.to_be_bytes().to_vec();
    body.extend_from_slice(&[0, 1, 0x20, 0, 0xFF, 0xFF, 1, 0, 0, 0, 0, 45, 4, 8]);
    body.extend_from_slice(&[0; 8]);
    body.extend_from_slice(&8192_u32.to_be_bytes());
    body.extend_from_slice(&[0, 0, 0x20, 0, 0]);
    body.extend_from_slice(&flags.to_be_bytes());
    let mut out = Vec::new();
    packet::write(&mut out, Lengths::Short, kind::ACCEPT, 0, &body);
    out
}

fn session(point: Point, field_version: u8) -> OraSession {
    let mut out = Vec::new();
    let mut session = match point {
        Point::Connect | Point::Negotiate | Point::LogIn => OraSession::new(config()),
        _ => started(field_version),
    };
    match point {
        Point::Connect => drop(session.start(&mut out)),
        Point::Negotiate | Point::LogIn => {
            session.start(&mut out).unwrap();
            let flags = if matches!(point, Point::LogIn) { 0x1200_0000 } else { 0 };
            assert_eq!(feed(&mut session, &[&accept(flags)]).end, None);
        }
        Point::Query | Point::Capture | Point::Rare => {
            if matches!(point, Point::Capture) {
                session.capture();
            }
            let columns = match point {
                Point::Rare => RARE.map(|kind| Column::of("a", kind)).to_vec(),
                _ => vec![
                    Column::of("a", oracle_type::NUMBER),
                    Column::of("b", oracle_type::VARCHAR),
                ],
            };
            session.known.resize_with(1, Default::default);
            session.known[0].wanted = Wanted::of(&columns);
            session.known[0].columns = columns;
            session.known[0].state = steps::State::By(5);
            session.execute(&statement("select a, b from t"), &(), &mut out);
        }
        Point::Change => session.execute(&statement("update t set a = 1"), &(), &mut out),
        Point::Block => session.execute(&statement("begin p; end;"), &(), &mut out),
        Point::Parse => drop(session.prepare(&statement("select a from t"), &mut out)),
        Point::Call => session.rollback(&mut out),
        Point::Idle => {}
    }
    session
}

/// What a stream amounts to in one piece; checks that pieces amount to the same.
fn outcome(point: Point, field_version: u8, stream: &[u8], cuts: &[Index]) -> Log {
    let (mut one, mut other) = (session(point, field_version), session(point, field_version));
    let whole = feed(&mut one, &[stream]);
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len().max(1))).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
    let pieces = feed(&mut other, &pieces);
    // A stranger is told by the first bytes, of which there may be fewer.
    if !matches!(point, Point::Connect) {
        assert_eq!(whole, pieces);
        assert_eq!(one.captured(), other.captured());
    }
    whole
}

fn points() -> impl Strategy<Value = Point> {
    prop::sample::select(vec![
        Point::Connect,
        Point::Negotiate,
        Point::LogIn,
        Point::Query,
        Point::Capture,
        Point::Rare,
        Point::Change,
        Point::Block,
        Point::Parse,
        Point::Call,
        Point::Idle,
    ])
}

/// A row of the types whose values end elsewhere.
fn rare_row() -> Vec<u8> {
    let mut row = vec![7, 2, b'a', b'b', 0, 0];
    row.extend_from_slice(b"\x0d\x01\x07\x01\x01\0\x01\x02\x01\x03\x01\x01\x03abc\x01\x02\x02ab");
    row.extend_from_slice(b"\x01\x28\x01\x03\0\x03abc\x02ab\0\0\0\0\x01\x02\0\x02ab");
    // A cursor without columns; a truth value; a CLOB as LONG.
    row.extend_from_slice(b"\x04\0\0\0\0\0\0\0\0\x01\x09\x02\x01\x01\x02ab\0\0");
    row
}

/// Messages as a server may send them.
fn part(field_version: u8) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (vec(0x80..=0x80_u8, 0..2), vec(any::<u8>(), 0..300)).prop_map(|(a, b)| row(&[&a, &b])),
        1 => Just(described(field_version, &COLUMNS)),
        1 => Just(rare_row()),
        1 => prop::sample::select(&RARE[..]).prop_map(move |kind| described(field_version, &[("a", kind)])),
        1 => any::<u8>().prop_map(move |kind| described(field_version, &[("a", kind), ("b", kind)])),
        1 => Just(b"\x06\0\0\0\0\0\0\0".to_vec()),
        1 => any::<u8>().prop_map(|bits| vec![0x15, 1, 1, bits]),
        1 => Just(vec![8, 1, 6, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0]),
        1 => Just(vec![0x0B, 0, 1, 1, 0, 0, 0, 0, 0, 0x30]),
        1 => Just(vec![15, 1, 1, 1, 2, 0, 2, b'a', b'b']),
        1 => Just(vec![19]),
        1 => Just(vec![23, 7, 0]),
        1 => vec(any::<u8>(), 0..12),
        2 => (0..3_u8, 0..9_u8, prop::sample::select(vec![0_u32, 1, 28, 60, 942, 1001, 1403, 24_381]), any::<u64>())
            .prop_map(move |(status, cursor, code, rows)| end(field_version, status, cursor, code, rows)),
        1 => Just(vec![9, 0, 0]),
    ]
}

/// Packets with such messages, cut into packets anywhere.
fn stream(field_version: u8) -> impl Strategy<Value = Vec<u8>> {
    let body = vec(part(field_version), 0..7);
    let packets = prop_oneof![
        8 => (body, any::<Index>(), any::<bool>()).prop_map(move |(parts, at, marked)| {
            let mut body = parts.concat();
            if marked {
                body.push(29);
            }
            let (head, rest) = body.split_at(at.index(body.len().max(1)).min(body.len()));
            [data(head), data(rest)].concat()
        }),
        1 => (1..4_u8).prop_map(|marker| packet_of(kind::MARKER, &[1, 0, marker])),
        1 => (any::<u8>(), vec(any::<u8>(), 0..40)).prop_map(|(kind, body)| packet_of(kind, &body)),
        1 => vec(any::<u8>(), 0..20),
    ];
    vec(packets, 0..5).prop_map(|packets| packets.concat())
}

fn streams() -> impl Strategy<Value = (u8, Vec<u8>)> {
    prop::sample::select(vec![OLD, NEW]).prop_flat_map(|field_version| (Just(field_version), stream(field_version)))
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    vec(any::<Index>(), 0..24)
}

proptest! {
    #[test]
    fn streams_do_no_harm(point in points(), (field_version, stream) in streams(), cuts in cuts()) {
        outcome(point, field_version, &stream, &cuts);
    }

    #[test]
    fn damaged_streams_do_no_harm(
        point in points(),
        (field_version, mut stream) in streams(),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        cuts in cuts(),
    ) {
        for (place, byte) in damage {
            if !stream.is_empty() {
                let place = place.index(stream.len());
                stream[place] = byte;
            }
        }
        outcome(point, field_version, &stream, &cuts);
    }

    #[test]
    fn a_reply_is_the_same_however_it_is_cut(cut in any::<Index>(), old in any::<bool>()) {
        let field_version = if old { OLD } else { NEW };
        let stream = two_rows(field_version);
        let (head, rest) = stream.split_at(cut.index(stream.len()));
        let mut session = started(field_version);
        session.execute(&statement("select id, info from t"), &(), &mut Vec::new());
        prop_assert_eq!(feed(&mut session, &[head, rest]).reply().rows, 2);
    }

    #[test]
    fn listeners_do_no_harm(flags in any::<u32>(), damage in vec((any::<Index>(), any::<u8>()), 0..3), cuts in cuts()) {
        let mut stream = accept(flags);
        for (place, byte) in damage {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        outcome(Point::Connect, NEW, &stream, &cuts);
    }
}

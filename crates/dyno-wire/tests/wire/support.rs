//! Scripted servers: messages, streams of them, and a client that notes what it is told.

use std::sync::Arc;

use dyno_wire::{
    AuthenticationPolicy, Event, PgConfig, PgSession, ServerError, Session, SessionKind, TransactionStatus, WireError,
};
use proptest::collection::vec;
use proptest::prelude::*;

pub fn config() -> Arc<PgConfig> {
    Arc::new(PgConfig {
        user: "bench".into(),
        password: Some("secret".into()),
        database: "bench".into(),
        application_name: "dyno".into(),
        runtime_parameters: Vec::new(),
        client_encoding: Some("UTF8".into()),
        session_kind: SessionKind::Any,
        authentication: AuthenticationPolicy::default(),
    })
}

/// One message of a server.
pub fn message(tag: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut message = vec![tag];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// A whole start-up without password.
pub fn welcome() -> Vec<u8> {
    [
        message(b'R', [0, 0, 0, 0]),
        message(b'S', b"server_version\x0018.1\0"),
        message(b'K', [0, 0, 0, 7, 0, 0, 0, 9]),
        message(b'Z', b"I"),
    ]
    .concat()
}

/// A session that awaits `replies` replies.
pub fn session_awaiting(replies: usize) -> PgSession {
    let mut session = PgSession::new(config());
    let mut out = Vec::new();
    session.start(&mut out).unwrap();
    let log = feed(&mut session, &[&welcome()]);
    assert_eq!(log.seen.len(), 1, "{log:?}");
    for _ in 0..replies {
        session.query(|sql| sql.extend_from_slice(b"select"), &mut out);
    }
    session
}

/// What a session told, in order.
#[derive(Debug, Default, PartialEq)]
pub struct Log {
    /// Events, each with the error that stood and the transaction's status then.
    pub seen: Vec<(Event, Option<ServerError>, TransactionStatus)>,
    pub end: Option<WireError>,
    pub sent: Vec<u8>,
    pub notices: Vec<ServerError>,
}

/// Hands chunks to a session as a transport would, and checks that it always moves on.
pub fn feed(session: &mut impl Session, chunks: &[&[u8]]) -> Log {
    let mut log = Log::default();
    'all: for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            match session.receive(rest, &mut log.sent) {
                Ok((used, event)) => {
                    assert!(used > 0, "stuck with {} bytes left", rest.len());
                    rest = &rest[used..];
                    if event == Event::NeedInput {
                        assert!(rest.is_empty(), "asks for input with {} bytes left", rest.len());
                    } else {
                        let error = session.error().cloned();
                        log.seen.push((event, error, session.in_transaction()));
                    }
                }
                Err(error) => {
                    log.end = Some(error);
                    break 'all;
                }
            }
        }
    }
    log.notices = session.take_notices();
    log
}

/// The messages a server sends before ReadyForQuery, in any order and number.
fn part_of_reply() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |most| vec(any::<u8>(), 0..most);
    prop_oneof![
        4 => bytes(300).prop_map(|body| message(b'D', body)),
        2 => "(INSERT 0|UPDATE|SELECT|COPY) [0-9]{1,19}\0".prop_map(|tag| message(b'C', tag)),
        1 => Just(message(b'C', b"BEGIN\0")),
        2 => Just([message(b'1', []), message(b'2', [])].concat()),
        1 => bytes(100).prop_map(|body| message(b'T', body)),
        1 => Just(message(b'n', [])),
        1 => Just(message(b'I', [])),
        1 => bytes(40).prop_map(|body| message(b'A', body)),
        1 => "[a-z]{1,9}\0[a-z]{0,9}\0".prop_map(|body| message(b'S', body)),
        1 => "SWARNING\0C[0-9A-Z]{5}\0M[a-z]{0,40}\0\0".prop_map(|body| message(b'N', body)),
        1 => "SERROR\0C[0-9A-Z]{5}\0M[a-z]{0,40}\0\0".prop_map(|body| message(b'E', body)),
        1 => (0..40_000_usize).prop_map(|length| {
            message(b'E', [b"SERROR\0C22000\0M".to_vec(), vec![b'x'; length], vec![0, 0]].concat())
        }),
        1 => Just(message(b'G', [0, 0, 0])),
        1 => Just([message(b'H', [0, 0, 0]), message(b'd', [7; 9]), message(b'c', [])].concat()),
    ]
}

/// Whole replies of a server, with their number.
pub fn replies() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let reply = (vec(part_of_reply(), 0..6), prop::sample::select(b"ITE".to_vec()))
        .prop_map(|(parts, status)| [parts.concat(), message(b'Z', [status])].concat());
    vec(reply, 1..5).prop_map(|replies| (replies.len(), replies.concat()))
}

/// The places to cut a stream at: a few anywhere, or everywhere.
pub fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    vec(any::<prop::sample::Index>(), 0..24)
}

/// The stream cut at these places.
pub fn cut<'a>(stream: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    if stream.is_empty() {
        return Vec::new();
    }
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
}

//! Whatever a server sends, and however it is cut into reads: no panic, no standstill, and the same outcome.

use dyno_wire::{MySession, MyStatement, Protocol, Session};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::support::*;
use crate::support::{Log, cut, cuts, feed};

/// Far more than any stream here answers.
const PLENTY: usize = 100;

/// The points where a server can surprise a session.
#[derive(Debug, Clone, Copy)]
enum Point {
    Begin,
    LogIn,
    Replies,
    /// Replies into which somebody looks.
    Capture,
    Preparation,
}

fn session(point: Point, abilities: u32) -> MySession {
    match point {
        Point::Begin | Point::LogIn => {
            let mut session = MySession::new(config());
            session.start(&mut Vec::new()).unwrap();
            if matches!(point, Point::LogIn) {
                feed(&mut session, &[&greeting("8.4.3", "caching_sha2_password", abilities)]);
            }
            session
        }
        Point::Replies => session_awaiting(abilities, PLENTY),
        Point::Capture => {
            let mut session = started(abilities);
            session.capture();
            session.query(|_| {}, &mut Vec::new());
            session
        }
        Point::Preparation => {
            let mut session = started(abilities);
            session.capture();
            let statement = MyStatement::new(0, "select 1", 0, Protocol::Prepared).unwrap();
            session.execute(&statement, &(), &mut Vec::new());
            session
        }
    }
}

/// What a stream amounts to in one piece; checks that pieces amount to the same.
fn outcome(point: Point, abilities: u32, stream: &[u8], cuts: &[Index]) -> Log {
    let (mut one, mut other) = (session(point, abilities), session(point, abilities));
    let whole = feed(&mut one, &[stream]);
    let pieces = feed(&mut other, &cut(stream, cuts));
    assert_eq!(whole, pieces);
    assert_eq!(one.captured(), other.captured());
    whole
}

fn points() -> impl Strategy<Value = Point> {
    prop::sample::select(vec![
        Point::Begin,
        Point::LogIn,
        Point::Replies,
        Point::Capture,
        Point::Preparation,
    ])
}

fn abilities() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![PLAIN, PLAIN | ENDS_WITH_OK])
}

/// Random bytes that look enough like packets to be taken for some.
fn almost_packets() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..40),
        (0..4_u8, 0..4_u8).prop_map(|(columns, parameters)| prepared(1, columns, parameters).swap_remove(0)),
        any::<u8>().prop_map(|kind| column("a", kind)),
        Just(ok(1, 2, 0)),
        Just(ended(2)),
        Just(error(1064, "42000", "syntax")),
        Just(error(1295, "HY000", "not in the prepared statement protocol yet")),
    ];
    let packet = (
        body,
        any::<bool>(),
        prop_oneof![8 => Just(None), 1 => any::<u8>().prop_map(Some)],
    );
    (0..3_u8, vec(packet, 0..9)).prop_map(|(first, bodies)| {
        let mut stream = Vec::new();
        let mut next = first;
        for (body, restarts, number) in bodies {
            next = if restarts && body.first() == Some(&1) { 1 } else { next };
            stream.extend(packets(number.unwrap_or(next), [body]));
            next = next.wrapping_add(1);
        }
        stream
    })
}

proptest! {
    #[test]
    fn replies_are_the_same_however_they_are_cut(
        (abilities, (count, stream)) in abilities().prop_flat_map(|abilities| (Just(abilities), replies(abilities))),
        cuts in cuts(),
    ) {
        let whole = outcome(Point::Replies, abilities, &stream, &cuts);
        prop_assert_eq!(whole.end, None);
        prop_assert_eq!(whole.seen.len(), count);
        if stream.len() < 2_000 {
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            let alone = feed(&mut session(Point::Replies, abilities), &bytes);
            prop_assert_eq!(alone, feed(&mut session(Point::Replies, abilities), &[&stream]));
        }
    }

    #[test]
    fn damaged_replies_do_no_harm(
        (abilities, (_, mut stream)) in abilities().prop_flat_map(|abilities| (Just(abilities), replies(abilities))),
        point in points(),
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        cuts in cuts(),
    ) {
        for (place, byte) in damage {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        outcome(point, abilities, &stream, &cuts);
    }

    #[test]
    fn random_bytes_do_no_harm(
        point in points(),
        abilities in abilities(),
        stream in prop_oneof![vec(any::<u8>(), 0..64), almost_packets()],
        cuts in cuts(),
    ) {
        outcome(point, abilities, &stream, &cuts);
    }

    #[test]
    fn a_damaged_greeting_does_no_harm(
        damage in vec((any::<Index>(), any::<u8>()), 0..3),
        shorter in 0..80_usize,
        cuts in cuts(),
    ) {
        let mut stream = greeting("8.4.3", "caching_sha2_password", PLAIN);
        let length = stream.len().saturating_sub(shorter);
        for (place, byte) in damage {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        outcome(Point::Begin, PLAIN, &stream[..length], &cuts);
    }
}

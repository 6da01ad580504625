//! Whatever a server sends, and however it is cut into reads: no panic, no standstill, and the same outcome.

use dyno_wire::{PgSession, Session};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{Log, config, cut, cuts, feed, replies, session_awaiting, welcome};

/// Far more than any stream here answers.
const PLENTY: usize = 100;

/// A session at one of the points where a server can surprise it.
fn session(started: bool) -> PgSession {
    if started {
        return session_awaiting(PLENTY);
    }
    let mut session = PgSession::new(config());
    session.start(&mut Vec::new()).unwrap();
    session
}

/// What a stream amounts to in one piece; checks that pieces amount to the same.
fn outcome(started: bool, stream: &[u8], cuts: &[prop::sample::Index]) -> Log {
    let whole = feed(&mut session(started), &[stream]);
    let cut = feed(&mut session(started), &cut(stream, cuts));
    assert_eq!(whole, cut);
    whole
}

/// Random bytes that look enough like messages to be taken for some.
fn almost_messages() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop_oneof![
        8 => prop::sample::select(b"DCZENSGHRKv123TntIsAdcVW".to_vec()),
        1 => any::<u8>(),
    ];
    let length = prop_oneof![
        8 => 0..40_u32,
        1 => any::<u32>(),
    ];
    let body = vec(prop_oneof![Just(0), Just(b'I'), any::<u8>()], 0..40);
    let message = (tag, length, any::<bool>(), body).prop_map(|(tag, length, honest, body)| {
        let length = if honest { body.len() as u32 + 4 } else { length };
        [vec![tag], length.to_be_bytes().to_vec(), body].concat()
    });
    vec(message, 0..8).prop_map(|messages| messages.concat())
}

/// Authentication requests, whose bodies alone matter.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        Just(b"SCRAM-SHA-256\0\0".to_vec()),
        Just(b"r=x,s=eA==,i=1".to_vec()),
        vec(any::<u8>(), 0..20),
    ];
    let request =
        (0..13_u8, text).prop_map(|(code, text)| crate::support::message(b'R', [&[0, 0, 0, code][..], &text].concat()));
    vec(request, 0..4).prop_map(|requests| requests.concat())
}

proptest! {
    #[test]
    fn replies_are_the_same_however_they_are_cut((count, stream) in replies(), cuts in cuts()) {
        let whole = outcome(true, &stream, &cuts);
        prop_assert_eq!(whole.seen.len(), count);
        prop_assert_eq!(whole.end, None);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        if stream.len() < 2_000 {
            prop_assert_eq!(outcome(true, &stream, &[]), feed(&mut session(true), &bytes));
        }
    }

    #[test]
    fn damaged_replies_do_no_harm(
        (_, mut stream) in replies(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cuts in cuts(),
    ) {
        for (place, byte) in damage {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        outcome(true, &stream, &cuts);
    }

    #[test]
    fn random_bytes_do_no_harm(
        started in any::<bool>(),
        stream in prop_oneof![vec(any::<u8>(), 0..64), almost_messages()],
        cuts in cuts(),
    ) {
        outcome(started, &stream, &cuts);
    }

    #[test]
    fn a_damaged_start_up_does_no_harm(
        requests in requests(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in cuts(),
    ) {
        let mut stream = [requests, welcome()].concat();
        for (place, byte) in damage {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        // Not compared: SCRAM's answers hold random numbers.
        feed(&mut session(false), &[&stream]);
        feed(&mut session(false), &cut(&stream, &cuts));
    }
}

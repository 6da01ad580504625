//! What a session costs per transaction: `cargo bench -p dyno-wire`.
//!
//! Prints nanoseconds per execution written and reply read, for a one-row select that arrives in one read, the best of
//! several rounds (the others measure the machine's other work too).

// Measuring code stops at the first surprise.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use dyno_wire::{Event, Parameters, PgConfig, PgSession, PgStatement, Protocol, Reply, Session};

const ROUNDS: usize = 20;
const EXECUTIONS: usize = 500_000;

/// One number, as a script's variable would be written.
struct Number(u32);

impl Parameters for Number {
    fn len(&self) -> usize {
        1
    }

    fn write(&self, _index: usize, out: &mut Vec<u8>) -> bool {
        let mut digits = [0; 10];
        let (mut rest, mut at) = (self.0, digits.len());
        while rest > 0 || at == digits.len() {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        out.extend_from_slice(&digits[at..]);
        true
    }
}

fn main() {
    let config = PgConfig {
        user: "bench".into(),
        ..PgConfig::default()
    };
    let mut session = PgSession::new(Arc::new(config));
    let mut out = Vec::new();
    session.start(&mut out).unwrap();
    let (_, event) = session.receive(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", &mut out).unwrap();
    assert_eq!(event, Event::Started);

    // BindComplete, DataRow with one column of five bytes, CommandComplete, ReadyForQuery.
    let reply = b"2\0\0\0\x04D\0\0\0\x0f\0\x01\0\0\0\x0512345C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    let expected = (
        reply.len(),
        Event::Reply(Reply {
            rows: 1,
            affected: 1,
            completed: 1,
            ..Reply::default()
        }),
    );
    let sql = "select abalance from pgbench_accounts where aid = $1";

    for protocol in [Protocol::Prepared, Protocol::Extended] {
        let statement = PgStatement::new(0, sql, 1, protocol).unwrap();
        let (mut execute, mut both) = (f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            let per_execution = |start: Instant| start.elapsed().as_nanos() as f64 / EXECUTIONS as f64;
            let start = Instant::now();
            for i in 0..EXECUTIONS {
                out.clear();
                session.execute(&statement, &Number(i as u32), &mut out);
                black_box(&out);
            }
            execute = execute.min(per_execution(start));
            for _ in 0..EXECUTIONS {
                assert_eq!(session.receive(reply, &mut out), Ok(expected));
            }

            let start = Instant::now();
            for i in 0..EXECUTIONS {
                out.clear();
                session.execute(&statement, &Number(i as u32), &mut out);
                black_box(&out);
                let event = session.receive(black_box(reply), &mut out);
                assert_eq!(black_box(event), Ok(expected));
            }
            both = both.min(per_execution(start));
        }
        println!("{protocol}: execute {execute:.1} ns, execute and receive {both:.1} ns");
    }
}

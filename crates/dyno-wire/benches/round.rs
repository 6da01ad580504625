//! What a session costs per transaction: `cargo bench -p dyno-wire`.
//!
//! Prints nanoseconds per execution written and reply read, for a one-row select that arrives in one read, the best of
//! several rounds (the others measure the machine's other work too).

// Measuring code stops at the first surprise.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use dyno_wire::{
    Event, MyConfig, MySession, MyStatement, Parameters, PgConfig, PgSession, PgStatement, Protocol, Reply, Session,
};

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
    postgres();
    mysql();
}

fn postgres() {
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
    for protocol in [Protocol::Prepared, Protocol::Extended] {
        let statement = PgStatement::new(0, SQL, 1, protocol).unwrap();
        // Made known beforehand.
        if session.prepare(&statement, &mut out) {
            session.receive(b"1\0\0\0\x04Z\0\0\0\x05I", &mut out).unwrap();
        }
        measure(&mut session, &statement, reply, &format!("PostgreSQL, {protocol}"));
    }
}

fn mysql() {
    let config = MyConfig {
        user: "bench".into(),
        ..MyConfig::default()
    };
    let mut session = MySession::new(Arc::new(config));
    let mut out = Vec::new();
    session.start(&mut out).unwrap();
    let greeting = b"\x49\0\0\0\x0a8.4.3\0\x07\0\0\0abcdefgh\0\x0f\xa2\x2d\x02\0\x3f\x01\x15\0\0\0\0\0\0\0\0\0\0\
        ijklmnopqrst\0mysql_native_password\0";
    session.receive(greeting, &mut out).unwrap();
    let (_, event) = session.receive(b"\x07\0\0\x02\0\0\0\x02\0\0\0", &mut out).unwrap();
    assert_eq!(event, Event::Started);

    // The number of columns, the column, a row with an integer, the end.
    let column = b"\x03def\x05bench\x08accounts\x08accounts\x08abalance\x08abalance\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
    let packets: [(u8, &[u8]); 4] = [
        (1, b"\x01"),
        (2, column),
        (3, b"\0\0\x39\x30\0\0"),
        (4, b"\xfe\0\0\x02\0\0\0"),
    ];
    let reply = packets.map(|(number, body)| [&[body.len() as u8, 0, 0, number], body].concat());
    let statement = MyStatement::new(0, SQL, 1, Protocol::Prepared).unwrap();
    assert!(session.prepare(&statement, &mut out));
    let known = b"\x0c\0\0\x01\0\x09\0\0\0\0\0\0\0\0\0\0";
    session.receive(known, &mut out).unwrap();
    measure(&mut session, &statement, &reply.concat(), "MySQL, prepared");
}

const SQL: &str = "select abalance from pgbench_accounts where aid = $1";

/// Prints what executions of this statement cost, whose replies are all the same.
fn measure<S: Session>(session: &mut S, statement: &S::Statement, reply: &[u8], what: &str) {
    let expected = (
        reply.len(),
        Event::Reply(Reply {
            rows: 1,
            affected: 1,
            completed: 1,
            ..Reply::default()
        }),
    );
    let mut out = Vec::new();
    let (mut execute, mut both) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let per_execution = |start: Instant| start.elapsed().as_nanos() as f64 / EXECUTIONS as f64;
        let start = Instant::now();
        for i in 0..EXECUTIONS {
            out.clear();
            session.execute(statement, &Number(i as u32), &mut out);
            black_box(&out);
        }
        execute = execute.min(per_execution(start));
        for _ in 0..EXECUTIONS {
            assert_eq!(session.receive(reply, &mut out), Ok(expected));
        }

        let start = Instant::now();
        for i in 0..EXECUTIONS {
            out.clear();
            session.execute(statement, &Number(i as u32), &mut out);
            black_box(&out);
            let event = session.receive(black_box(reply), &mut out);
            assert_eq!(black_box(event), Ok(expected));
        }
        both = both.min(per_execution(start));
    }
    println!("{what}: execute {execute:.1} ns, execute and receive {both:.1} ns");
}

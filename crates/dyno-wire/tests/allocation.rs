//! The hot path allocates nothing: counted, not believed.

// Everything here is test code.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use dyno_wire::{
    Event, MyConfig, MySession, MyStatement, Parameters, PgConfig, PgSession, PgStatement, Protocol, Session,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged; counting touches only a thread-local without
// destructor, so it allocates nothing itself. `realloc` comes from the trait and goes through `alloc`.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Values;

impl Parameters for Values {
    fn len(&self) -> usize {
        2
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"12345");
        index == 0
    }
}

#[test]
fn executions_and_replies_allocate_nothing() {
    let config = PgConfig {
        user: "bench".into(),
        ..PgConfig::default()
    };
    let mut session = PgSession::new(Arc::new(config));
    let mut out = Vec::new();
    session.start(&mut out).unwrap();
    session.receive(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", &mut out).unwrap();
    let prepared = PgStatement::new(0, "select $1, $2", 2, Protocol::Prepared).unwrap();
    let extended = PgStatement::new(0, "select $1, $2", 2, Protocol::Extended).unwrap();
    let reply = b"1\0\0\0\x042\0\0\0\x04D\0\0\0\x0f\0\x01\0\0\0\x0512345C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    out.clear();
    out.reserve(1024);

    let before = ALLOCATIONS.get();
    for round in 0..1000 {
        out.clear();
        match round % 3 {
            0 => session.execute(&prepared, &Values, &mut out),
            1 => session.execute(&extended, &Values, &mut out),
            _ => session.query(|sql| sql.extend_from_slice(b"select 1, 2"), &mut out),
        }
        // Cut inside a row too: what nobody looks into is not gathered.
        let (used, event) = session.receive(&reply[..20], &mut out).unwrap();
        assert_eq!((used, event), (20, Event::NeedInput));
        let (_, event) = session.receive(&reply[20..], &mut out).unwrap();
        assert!(matches!(event, Event::Reply(reply) if reply.rows == 1));
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    // The count itself works.
    drop(Box::new(before));
    assert!(ALLOCATIONS.get() > before);
}

#[test]
fn executions_and_replies_of_mysql_allocate_nothing() {
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
    let prepared = MyStatement::new(0, "select ?, ?", 2, Protocol::Prepared).unwrap();
    let simple = MyStatement::new(1, "select 1, 2", 0, Protocol::Simple).unwrap();
    session.execute(&prepared, &Values, &mut out);
    // Neither columns nor parameters are told of; then the execution's own answer.
    session
        .receive(b"\x0c\0\0\x01\0\x09\0\0\0\0\0\0\0\0\0\0", &mut out)
        .unwrap();
    session.receive(b"\x07\0\0\x01\0\0\0\x02\0\0\0", &mut out).unwrap();
    let reply = b"\x01\0\0\x01\x01\x03\0\0\x02def\x05\0\0\x03\0\x0012\0\x07\0\0\x04\xfe\0\0\x02\0\0\0";
    out.clear();
    out.reserve(1024);

    let before = ALLOCATIONS.get();
    for round in 0..1000 {
        out.clear();
        match round % 3 {
            0 => session.execute(&prepared, &Values, &mut out),
            1 => session.execute(&simple, &(), &mut out),
            _ => session.query(|sql| sql.extend_from_slice(b"select 1, 2"), &mut out),
        }
        // Cut inside a row too: what nobody looks into is not gathered.
        let (used, event) = session.receive(&reply[..18], &mut out).unwrap();
        assert_eq!((used, event), (18, Event::NeedInput));
        let (_, event) = session.receive(&reply[18..], &mut out).unwrap();
        assert!(matches!(event, Event::Reply(reply) if reply.rows == 1));
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

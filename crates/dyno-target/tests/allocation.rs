//! Executing a prepared statement on an Oracle server allocates nothing once it has been executed: counted, not
//! believed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use dyno_oracle_standin::{Column, Instant, Kind, Options, Profile, Standin, Value};
use dyno_wire::{Event, OraConfig, OraSession, OraStatement, Parameters, Protocol, Reply, Session};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

thread_local! {
    /// Those of this thread: the server's threads have counters of their own.
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
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A number, a text and NULL.
struct Values;

impl Parameters for Values {
    fn len(&self) -> usize {
        3
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice([&b"-12345.75"[..], b"a text", b""][index]);
        index < 2
    }
}

/// A connection whose bytes are moved by hand.
struct ByHand {
    stream: TcpStream,
    session: OraSession,
    out: Vec<u8>,
}

impl ByHand {
    fn connect(standin: &Standin) -> Self {
        let config = OraConfig {
            user: "bench".into(),
            password: Some("secret".into()),
            connect_data: OraConfig::service("shop"),
            ..OraConfig::default()
        };
        let mut client = Self {
            stream: TcpStream::connect(standin.address()).unwrap(),
            session: OraSession::new(Arc::new(config)),
            out: Vec::new(),
        };
        client.session.start(&mut client.out).unwrap();
        assert_eq!(client.next(), Event::Started);
        client
    }

    /// Sends what is to be sent, and hands over what comes until it amounts to something.
    fn next(&mut self) -> Event {
        // So little at a time that messages are cut.
        let mut input = [0; 100];
        loop {
            self.stream.write_all(&self.out).unwrap();
            self.out.clear();
            let length = self.stream.read(&mut input).unwrap();
            let mut rest = &input[..length];
            while !rest.is_empty() {
                let (used, event) = self.session.receive(rest, &mut self.out).unwrap();
                rest = &rest[used..];
                if event != Event::NeedInput {
                    assert!(rest.is_empty());
                    return event;
                }
            }
        }
    }

    fn execute(&mut self, statement: &OraStatement) -> Reply {
        self.session.execute(statement, &Values, &mut self.out);
        match self.next() {
            Event::Reply(reply) => reply,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_prepared_execution_allocates_nothing() {
    for profile in [Profile::V19, Profile::V23] {
        let columns = vec![Column::new("ID", Kind::Number), Column::new("INFO", Kind::Varchar)];
        let rows = (1..=150).map(|id| vec![Value::number(id), Value::text("a text that is as long as most are")]);
        let mut options = Options::new(Arc::new(
            Instant::new().answer("from tbl", columns, rows.collect()).with_rare(3),
        ));
        options.profile = profile;
        let standin = Standin::start(options).unwrap();
        let mut client = ByHand::connect(&standin);
        let prepared = |index, text| OraStatement::new(index, text, 3, Protocol::Prepared).unwrap();
        let update = prepared(0, "update tbl set a = $1, b = $2, c = $3");
        let one = prepared(1, "select 1 from dual where $1 = 1 and $2 = 'a' and $3 is null");
        // More rows than come at a time; rows that come to a fetch, in a form that was told.
        let many = prepared(2, "select id, info from tbl where $1 = 1 and $2 = 'a' and $3 is null");
        let lobs = prepared(3, "select * from blobs where $1 = 1 and $2 = 'a' and $3 is null");
        let round = |client: &mut ByHand| {
            assert_eq!(client.execute(&update).affected, 1);
            assert_eq!(client.execute(&one).rows, 1);
            assert_eq!(client.execute(&many).rows, 150);
            assert_eq!(client.execute(&lobs).rows, 3);
        };
        // Statements are parsed, and buffers grow to what they need.
        for _ in 0..3 {
            round(&mut client);
        }
        let before = ALLOCATIONS.get();
        for _ in 0..200 {
            round(&mut client);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{profile:?}");
        // The count itself works.
        drop(Box::new(before));
        assert!(ALLOCATIONS.get() > before);
        assert_eq!(standin.counts().parses, 4);
    }
}

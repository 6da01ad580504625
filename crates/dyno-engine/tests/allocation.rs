//! Once a load is under way nothing is allocated for a transaction that succeeds, over any transport; and many
//! statements take little memory.
#![allow(unsafe_code)]

#[macro_use]
mod support;

use dyno_engine::{Pacing, Stop, TransportChoice, drive};
use dyno_record::MOST_STATEMENTS;
use dyno_wire::Protocol;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, script_load};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated, and the most that ever were.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether what this thread allocates does not count: it is the server's.
    static EXEMPT: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    if !EXEMPT.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

fn take(bytes: usize) {
    let now = BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST_BYTES.fetch_max(now, Ordering::Relaxed);
}

fn give_back(bytes: usize) {
    BYTES.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: every call is handed on to the system's allocator; neither the counter nor the plain thread-local cell
// allocates anything.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        take(layout.size());
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        take(size);
        give_back(layout.size());
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test counts at a time.
static ALONE: Mutex<()> = Mutex::new(());

over_each_transport!(a_transaction_allocates_nothing);

const SCRIPT: &str = r"
\set id random(1, 100000)
\set share :id * 0.5
select balance from accounts where id = :id and share > :share;
";

/// What a load allocates in which each client has so many transactions.
fn allocations(transport: TransportChoice, clients: usize, pacing: Pacing, transactions: u64) -> usize {
    let server = ScriptedServer::start(|_, _, _| {
        EXEMPT.set(true);
        Behaviour::Answer(Duration::ZERO)
    });
    let mut load = script_load(
        transport,
        &server,
        Protocol::Prepared,
        clients,
        transactions,
        &[(SCRIPT, 1)],
    );
    load.workloads[0].pacing = pacing;
    // What is allocated to tell of an interval is not a transaction's.
    load.interval = Duration::from_secs(3600);
    let mut keep = Keep::default();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert_eq!(keep.total(0).transactions, transactions * clients as u64);
    allocations
}

fn a_transaction_allocates_nothing(transport: TransportChoice) {
    let alone = ALONE.lock();
    for pacing in [Pacing::Closed, Pacing::Open { rate_per_s: 20_000.0 }] {
        for clients in [1, 4] {
            let some = allocations(transport, clients, pacing, 200);
            let many = allocations(transport, clients, pacing, 2000);
            // A buffer may have to grow once more; thousands of transactions may not.
            assert!(many < some + 30, "{clients} clients, {pacing:?}: {some}, then {many}");
            assert!(some > 0, "the counter counts");
        }
    }
    drop(alone);
}

#[test]
fn a_thousand_statements_take_less_than_100_mb() {
    const STATEMENTS: u64 = 1000;
    let alone = ALONE.lock();
    // Each takes as long as the number of requests says, so that its latencies differ.
    let server = ScriptedServer::start(|_, request, _| Behaviour::Answer(Duration::from_micros(request as u64 % 700)));
    let script: String = (0..STATEMENTS).map(|number| format!("select {number};\n")).collect();
    let mut load = script_load(
        TransportChoice::Auto,
        &server,
        Protocol::Prepared,
        2,
        4,
        &[(script.as_str(), 1)],
    );
    // Several recordings are under way.
    load.interval = Duration::from_millis(50);
    let mut keep = Keep::default();
    let before = BYTES.load(Ordering::Relaxed);
    MOST_BYTES.store(before, Ordering::Relaxed);
    drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    let most = MOST_BYTES.load(Ordering::Relaxed) - before;
    let total = keep.total(0);
    assert_eq!(total.transactions, 8);
    let counts: Vec<_> = total.statement_latency.iter().map(|latency| latency.count()).collect();
    assert_eq!(counts.len(), MOST_STATEMENTS + 1);
    assert!(counts[..MOST_STATEMENTS].iter().all(|count| *count == 8), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), 8 * STATEMENTS);
    assert!(most < 100_000_000, "{most} bytes");
    drop(alone);
}

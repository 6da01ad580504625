//! Once compiled, a script's integers and doubles cost no allocation: neither evaluation nor the texts for the server.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dyno_script::{Cursor, Script, Seeds, Step, Symbols, Value, Variables};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator; the counter is a plain thread-local cell that
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

const SCRIPT: &str = r"
\set id random(1, :rows)
\set g random_gaussian(1, :rows, 2.5) + random_zipfian(1, 10, 1.5) + random_exponential(1, 10, 2)
\setrandom old 1 :rows gaussian 5.0
\set h hash(:id) % 100 + permute(:id, :rows) + hash_fnv1a(:g, 3)
\set d case when :id > 5 and :h is not null then sqrt(:id * 1.5) else pi() end
\set l least(:id, :d, 3) + greatest(1, 2) + abs(-5) + int(2.5) + pow(2, 3)
\set t :text + 1
\sleep 1 us
\if :id > 500000
\set branch 1
\elif :id > 1000
\set branch 2
\else
\set branch 3
\endif
update t set a = :d, b = :h where id = :id and c = :l;
";

#[test]
fn a_transaction_allocates_nothing() {
    let mut symbols = Symbols::new();
    let script = Script::parse("hot.sql", SCRIPT, &mut symbols).unwrap();
    let [rows, text, seed] = ["rows", "text", "default_seed"].map(|name| symbols.intern(name));
    let mut variables = Variables::new(&symbols);
    variables.set(rows, Value::Int(1_000_000));
    variables.set(text, Value::from("41"));
    variables.set(seed, Value::Int(7));
    let mut random = Seeds::draw(1, 1, 1, false).clients.remove(0);
    let mut out = Vec::with_capacity(4096);

    let before = allocations();
    for _ in 0..1000 {
        out.clear();
        let mut cursor = Cursor::default();
        loop {
            match script.next(&mut cursor, &mut variables, &mut random, false).unwrap() {
                Step::Statement(index) => {
                    let statement = script.statement(index).unwrap();
                    statement.write_simple(&variables, &mut out);
                    for &id in statement.parameters() {
                        variables.write_text(id, &mut out);
                    }
                }
                Step::End => break,
                _ => {}
            }
        }
    }
    assert_eq!(allocations() - before, 0);

    // The counter counts.
    drop(std::hint::black_box(Box::new(1)));
    assert!(allocations() > before);
}

//! The same script with the same seed gives the values, the statements and the error messages of pgbench 15.18.
//! What pgbench gave was recorded by `tests/pgbench/compare.py record`. The distributions need the logarithm, sine
//! and power of glibc, bit for bit.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use dyno_script::{Cursor, Random, Script, Seeds, Step, Symbols, Value, Variables};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pgbench").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a script as the header of a recorded run says, and writes what pgbench's record would have.
fn run(header: &str) -> String {
    let [name, seed, clients, transactions, protocol] = header.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let seed: u64 = seed.parse().unwrap();
    let transactions: usize = transactions.parse().unwrap();
    let mut symbols = Symbols::new();
    let script = Script::parse(name, &read(&format!("scripts/{name}")), &mut symbols).unwrap();
    let mut seeds = Seeds::draw(seed, clients.parse().unwrap(), 1, false);
    let mut record = String::new();
    for (client, random) in seeds.clients.iter_mut().enumerate() {
        let automatic = [
            ("client_id", client as i64),
            ("scale", 1),
            ("random_seed", seed as i64),
            ("default_seed", seeds.default_seed.unwrap()),
        ]
        .map(|(name, value)| (symbols.intern(name), value));
        let mut variables = Variables::new(&symbols);
        for (id, value) in automatic {
            variables.set(id, Value::Int(value));
        }
        let (mut debugged, mut sent) = (String::new(), String::new());
        for _ in 0..transactions {
            let mut cursor = Cursor::default();
            loop {
                let step = script.next(&mut cursor, &mut variables, random, false).unwrap();
                for value in variables.debugged() {
                    writeln!(debugged, "{client} debug {value}").unwrap();
                }
                let statement = match step {
                    Step::Statement(index) => script.statement(index).unwrap(),
                    Step::End => break,
                    _ => continue,
                };
                let mut text = Vec::new();
                match protocol {
                    "simple" => statement.write_simple(&variables, &mut text),
                    _ => text.extend_from_slice(statement.parameterized().as_bytes()),
                }
                writeln!(sent, "{client} send {:?}", String::from_utf8(text).unwrap()).unwrap();
            }
        }
        record += &debugged;
        record += &sent;
    }
    record
}

#[test]
fn values_and_statements_are_those_of_pgbench() {
    let recorded = read("values.txt");
    let mut runs = 0;
    for part in recorded.split("\nrun ").skip(1) {
        let (header, expected) = part.split_once('\n').unwrap();
        let ours = run(header);
        for (number, (ours, theirs)) in ours.lines().zip(expected.lines()).enumerate() {
            assert_eq!(ours, theirs, "run {header}, value {}", number + 1);
        }
        assert_eq!(ours.lines().count(), expected.lines().count(), "run {header}");
        runs += 1;
    }
    assert!(runs >= 11, "only {runs} recorded runs");
}

#[test]
fn error_messages_are_those_of_pgbench() {
    let recorded = read("errors.txt");
    let lines: Vec<&str> = recorded.lines().skip(1).collect();
    for pair in lines.chunks(2) {
        let [command, theirs] = [pair[0], pair[1].trim()];
        let mut symbols = Symbols::new();
        let ours = match Script::parse("script", command, &mut symbols) {
            Err(error) => error.message().to_owned(),
            Ok(script) => {
                let seed = symbols.intern("default_seed");
                let mut variables = Variables::new(&symbols);
                variables.set(seed, Value::Int(1));
                let mut random = Random::new(1);
                let error = script
                    .next(&mut Cursor::default(), &mut variables, &mut random, false)
                    .expect_err(command);
                error.message().to_owned()
            }
        };
        // pgbench adds the place and the command; dyno may say more after pgbench's words.
        let theirs = theirs.strip_prefix("script:1: ").unwrap_or(theirs);
        let theirs = theirs
            .strip_prefix("sleep: ")
            .or(theirs.strip_prefix("set: "))
            .unwrap_or(theirs);
        let theirs = theirs.split(" in command ").next().unwrap();
        assert!(
            ours.starts_with(theirs),
            "{command}: {ours:?} should begin with {theirs:?}"
        );
    }
}

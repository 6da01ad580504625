//! What pgbench 15.18 prints when a script is wrong or ends its client is what `ScriptError::pgbench` and
//! `EvaluationError` give, to the byte. What pgbench printed was recorded by `tests/pgbench/compare.py record`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::{Command, Stdio};

use dyno_script::{Cursor, EvaluationError, Random, Script, Step, Symbols, Value, Variables};

/// Executes a script once; shell commands are run.
fn execute(script: &Script, variables: &mut Variables) -> Result<(), EvaluationError> {
    let (mut cursor, mut random) = (Cursor::default(), Random::new(1));
    loop {
        match script.next(&mut cursor, variables, &mut random, false)? {
            Step::End => return Ok(()),
            Step::Shell => {
                let line = script.shell_line(&cursor, variables)?;
                let mut command = Command::new("sh");
                command.args(["-c", &line.text]).stderr(Stdio::null());
                let done = command.output().unwrap();
                script.shell_done(&cursor, variables, done.status.success(), &done.stdout)?;
            }
            _ => {}
        }
    }
}

/// What would be printed, without `pgbench: error: `.
fn printed(text: &str) -> String {
    let mut symbols = Symbols::new();
    let script = match Script::parse("script", text, &mut symbols) {
        Ok(script) => script,
        Err(error) => return error.pgbench().to_owned(),
    };
    let seed = symbols.intern("default_seed");
    let mut variables = Variables::new(&symbols);
    variables.set(seed, Value::Int(1));
    match execute(&script, &mut variables) {
        Ok(()) => String::new(),
        Err(error) => [error.plain(), &error.aborted(0, 0)].join("\n").trim_start().to_owned(),
    }
}

#[test]
fn messages_are_those_of_pgbench() {
    let recorded = include_str!("pgbench/mistakes.txt");
    let mut lines = recorded.split('\n').skip(1).peekable();
    let mut compared = 0;
    let mut different = String::new();
    while let Some(script) = lines.next().filter(|line| !line.is_empty()) {
        let mut theirs = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
            theirs.push(&line[2..]);
        }
        let ours = printed(&script.replace('¶', "\n").replace('␍', "\r").replace('→', "\t"));
        // Empty lines were not recorded.
        let ours: Vec<&str> = ours.split('\n').filter(|line| !line.is_empty()).collect();
        if ours != theirs {
            different += &format!("{script}\n  ours:   {ours:#?}\n  theirs: {theirs:#?}\n");
        }
        compared += 1;
    }
    assert!(different.is_empty(), "{different}");
    assert!(compared >= 150, "only {compared} scripts");
}

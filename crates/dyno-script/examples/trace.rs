//! Runs a script without a server and prints, for every client, what `debug` shows, what would be sent and what
//! fails. Shell commands are run. It is what `tests/pgbench/compare.py` compares with pgbench, and a way to try a
//! script.
//!
//! Usage: trace FILE SEED CLIENTS TRANSACTIONS [simple|prepared]

use std::process::{Command, ExitCode};

use dyno_script::{Cursor, EvaluationError, Script, Seeds, Statement, Step, Symbols, Value, Variables};

fn main() -> ExitCode {
    match trace() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn trace() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, clients, transactions, protocol @ ..] = arguments.as_slice() else {
        return Err("usage: trace FILE SEED CLIENTS TRANSACTIONS [simple|prepared]".into());
    };
    let prepared = protocol.first().is_some_and(|protocol| protocol == "prepared");
    let seed: u64 = seed.parse()?;
    let mut symbols = Symbols::new();
    let script = match Script::parse(file, &std::fs::read_to_string(file)?, &mut symbols) {
        Ok(script) => script,
        Err(error) => return Err(error.pgbench().into()),
    };
    let mut seeds = Seeds::draw(seed, clients.parse()?, 1, false);
    let transactions: usize = transactions.parse()?;
    for (client, random) in seeds.clients.iter_mut().enumerate() {
        let mut automatic = vec![("client_id", client as i64), ("scale", 1), ("random_seed", seed as i64)];
        automatic.extend(seeds.default_seed.map(|seed| ("default_seed", seed)));
        let automatic: Vec<_> = automatic
            .into_iter()
            .map(|(name, value)| (symbols.intern(name), value))
            .collect();
        let mut variables = Variables::new(&symbols);
        for (id, value) in automatic {
            variables.set(id, Value::Int(value));
        }
        'client: for _ in 0..transactions {
            let mut cursor = Cursor::default();
            loop {
                let step = script.next(&mut cursor, &mut variables, random, false);
                for debugged in variables.debugged() {
                    println!("{client} debug(script=0,command={}): {debugged}", debugged.command + 1);
                }
                let done = match step {
                    Ok(Step::End) => break,
                    Ok(Step::Statement(index)) => {
                        if let Some(statement) = script.statement(index) {
                            println!("{client} send {:?}", text(statement, &variables, prepared));
                        }
                        Ok(())
                    }
                    Ok(Step::Shell) => run(&script, &cursor, &mut variables),
                    Ok(Step::StartPipeline) if !prepared => {
                        let reason = "cannot use pipeline mode with the simple query protocol";
                        Err(script.failure(&cursor, reason))
                    }
                    Ok(_) => Ok(()),
                    Err(error) => Err(error),
                };
                if let Err(error) = done {
                    eprintln!("{}\n{}", error.plain(), error.aborted(client, 0));
                    break 'client;
                }
            }
        }
    }
    Ok(())
}

fn text(statement: &Statement, variables: &Variables, prepared: bool) -> String {
    if prepared {
        return statement.parameterized().to_owned();
    }
    let mut bytes = Vec::new();
    statement.write_simple(variables, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs the shell command that the cursor is at.
fn run(script: &Script, cursor: &Cursor, variables: &mut Variables) -> Result<(), EvaluationError> {
    let line = script.shell_line(cursor, variables)?;
    let (success, output) = match Command::new("sh").args(["-c", &line.text]).output() {
        Ok(done) => (done.status.success(), done.stdout),
        Err(_) => (false, Vec::new()),
    };
    script.shell_done(cursor, variables, success, &output)
}

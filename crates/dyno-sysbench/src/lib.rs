//! A drop-in for `sysbench`, as far as databases go: the same options, commands, scripts, texts and exit codes, on
//! dyno's engine.
//!
//! What scripts do is the affair of `dyno-lua`. Here is what surrounds them: the command line of sysbench 0.5, 1.0 and
//! 1.1, and what is said of a run. The workloads that come with dyno are in that crate, too.

mod builtin;
mod commands;
mod connection;
mod fill;
mod message;
mod options;
mod report;
mod run;
mod script;
mod version;

use dyno_engine::Signals;
use dyno_lua::LuaError;
use message::{Log, complain, print};
use options::{Options, Request, declared};
use script::{Script, ScriptError};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// What `--help` prints.
#[must_use]
pub fn help() -> String {
    options::help(dyno_lua::Version::default())
}

/// Does what the words behind the program's name say, and gives the exit code: 0 done, 2 events were given up when the
/// time was over, 1 anything else.
pub fn main(arguments: impl Iterator<Item = OsString>) -> u8 {
    let words = arguments
        .map(|word| dyno_text::decode(word.as_bytes()).into_owned())
        .collect::<Vec<_>>();
    let mut complaints = Vec::new();
    let parsed = options::parse(&words, &mut complaints);
    for complaint in &complaints {
        complain(complaint);
    }
    let request = match parsed {
        Ok(request) => request,
        Err(error) => {
            error.report();
            return 1;
        }
    };
    match request {
        Request::Help(version) => print(&options::help(version)),
        Request::Version(version) => print(&version::line(version)),
        Request::Test(options) => return test(&options),
    }
    0
}

/// Does what needs a test.
fn test(options: &Options) -> u8 {
    let log = Arc::new(Log::new(options.telling.most));
    for warning in &options.warnings {
        log.warning(warning);
    }
    if log.says(message::Level::Notice) {
        print(&version::header(options.format));
    }
    if let Some(refusal) = options.test.as_deref().and_then(builtin::refusal) {
        log.fatal(&refusal);
        return 1;
    }
    let script = match Script::load(options, &log) {
        Ok(script) => script,
        Err(ScriptError::Lua(error)) => return run::tell_of(&error, &log),
        Err(error) => {
            log.fatal(&error.to_string());
            return 1;
        }
    };
    // Without a command a script is executed, and that is all.
    let Some(command) = options.command.as_deref() else {
        return 0;
    };
    let resolved = match declared::resolve(script.options.as_deref(), options) {
        Ok(resolved) => resolved,
        Err(error) => {
            error.report();
            return 1;
        }
    };
    if let Err(refusal) = script.validate(&resolved, options, &log) {
        if matches!(refusal, LuaError::Exit { .. }) {
            return run::tell_of(&refusal, &log);
        }
        // It dies of an error that nobody catches.
        let said = match refusal {
            LuaError::Call { message, .. } => message,
            other => other.to_string(),
        };
        complain(&format!("PANIC: unprotected error in call to Lua API ({said})\n"));
        return 1;
    }
    // A signal ends any other command at once: nothing was measured that it could still tell of.
    if command != "run" {
        return commands::command(command, options, &script, &resolved, &log);
    }
    let signals = match Signals::take() {
        Ok(signals) => signals,
        Err(error) => {
            log.fatal(&format!("cannot wait for signals: {error}"));
            return 1;
        }
    };
    let code = run::run(options, &script, &resolved, &log, &signals);
    signals.die_of_it();
    code
}

/// A variable's value, which need not be UTF-8 any more than the words of the command line.
fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| dyno_text::decode(value.as_bytes()).into_owned())
}

/// What the system says of an error, in its own words alone: what C's `strerror` gives.
fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

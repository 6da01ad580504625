//! A drop-in for PostgreSQL's `pgbench`: the same options, scripts, tables, texts and exit codes, on dyno's engine.

mod excerpt;
pub mod init;
mod message;
mod options;
mod report;
mod run;
mod scripts;
mod version;

pub use options::help;

use dyno_engine::Signals;
use dyno_target::postgres::address::ConnectionInfo;
use init::InitError;
use options::{Options, Request};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Does what the words of a command line say, and gives the exit code: 0 done, 1 wrong options or no connection, 2
/// ended part-way.
///
/// `called` is the name the program was called by, which complaints about options begin with; `arguments` are the
/// words after it.
pub fn main(called: &str, arguments: impl Iterator<Item = OsString>) -> u8 {
    let words = arguments
        .map(|word| dyno_text::decode(word.as_bytes()).into_owned())
        .collect::<Vec<_>>();
    let request = match options::parse(words.clone(), &environment) {
        Ok(request) => request,
        Err(error) => {
            error.report(called, &words);
            return 1;
        }
    };
    match request {
        Request::Help => print(options::help()),
        Request::Version => print(&options::version()),
        Request::ListBuiltins => message::raw(&scripts::builtin::listing()),
        Request::ShowScript(script) => {
            message::raw(&format!(
                "-- {}: {}\n{}\n",
                script.name, script.description, script.text
            ));
        }
        Request::Initialize(options) => return with_target(&options, "for initialization", initialize),
        Request::Run(options) => return with_target(&options, "for setup", run::run),
    }
    0
}

/// Does what needs a server, with signals taken over.
fn with_target(options: &Options, purpose: &str, act: impl FnOnce(&Options, &ConnectionInfo, &Signals) -> u8) -> u8 {
    let target = match run::resolve(options, &environment) {
        Ok(target) => target,
        Err(error) => {
            message::error(&error.libpq());
            message::error(&format!("could not create connection {purpose}"));
            return 1;
        }
    };
    for warning in target.warnings() {
        message::warning(warning);
    }
    let signals = match Signals::take() {
        Ok(signals) => signals,
        Err(error) => {
            message::error(&format!("cannot wait for signals: {error}"));
            return 1;
        }
    };
    act(options, &target, &signals)
}

fn initialize(options: &Options, target: &ConnectionInfo, signals: &Signals) -> u8 {
    let mut settings = options.init.clone();
    settings.progress_in_place = std::io::stderr().is_terminal();
    let stop = signals.stop().flag();
    let done = init::initialize(target, &settings, &stop, &mut |text| message::raw(text));
    if let Err(error) = &done {
        explain(error);
    }
    // pgbench asks the server to cancel, and then fails as it would by any other error.
    if !signals.interrupted() {
        signals.die_of_it();
    }
    done.is_err().into()
}

/// Says why an initialization ended early.
fn explain(error: &InitError) {
    let unconnected = match error {
        InitError::Connect(error) => Some(error.libpq()),
        InitError::LogIn(error) => Some(error.to_string()),
        _ => None,
    };
    if let Some(text) = unconnected {
        message::error(&text);
        message::error("could not create connection for initialization");
        return;
    }
    if error.is_stop() {
        message::raw("Cancel request sent\n");
    }
    if let Some(event) = error.event() {
        message::raw(&format!("{event}\n"));
    }
    message::error(&error.to_string());
    if let Some(detail) = error.detail() {
        message::detail(&detail);
    }
    if let Some(hint) = error.hint() {
        message::hint(&hint);
    }
}

/// A variable's value, which need not be UTF-8 any more than the words of the command line.
fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| dyno_text::decode(value.as_bytes()).into_owned())
}

/// The path that a word of the command line names.
fn path(word: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(dyno_text::encode(word).into_owned()))
}

/// Writes to stdout, where a closed pipe is no reason to fail.
fn print(text: &str) {
    let _ = message::write(&mut std::io::stdout().lock(), text);
}

/// What the system says of an error, in its own words alone: what C's `strerror` gives.
fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

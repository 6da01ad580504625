//! A drop-in for PostgreSQL's `pgbench`: the same options, scripts, tables, texts and exit codes, on dyno's engine.

pub mod init;
mod message;
mod options;
mod scripts;
mod version;

use options::Request;
use std::ffi::OsString;
use std::io::Write;

/// Does what the words of a command line say, and gives the exit code: 0 done, 1 wrong options or no connection, 2 ended part-way.
///
/// `called` is the name the program was called by, which complaints about options begin with; `arguments` are the words after it.
pub fn main(called: &str, arguments: impl Iterator<Item = OsString>) -> u8 {
    let words = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let request = match options::parse(words, &environment) {
        Ok(request) => request,
        Err(error) => {
            error.report(called);
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
        Request::Initialize(_) | Request::Run(_) => {}
    }
    0
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Writes to stdout, where a closed pipe is no reason to fail.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

/// What the system says of an error, in its own words alone: what C's `strerror` gives.
fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

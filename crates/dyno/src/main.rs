//! The command line: what was typed, turned into calls of the libraries.

mod agent;
mod announcer;
mod arguments;
mod capacity;
mod capture;
mod ceiling;
mod check;
mod clean;
mod cli;
mod compare;
mod completions;
mod doctor;
mod export;
mod failure;
mod interrupt;
mod live;
mod look;
mod man;
mod new;
mod one_load;
mod page;
mod pipeline;
mod report;
mod run;
mod say;
mod screen;
mod series;
mod serve;
mod server;
mod terminal;
mod trial;
mod version;
mod versus;
mod written;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The Lua states of thousands of clients are millions of small objects, which this packs densest.
#[global_allocator]
static MEMORY: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let mut words = arguments::arguments();
    if let Some(called) = called(&words, "pgbench") {
        return dyno_pgbench::main(&called, words.drain(1..)).into();
    }
    if called(&words, "sysbench").is_some() {
        return dyno_sysbench::main(words.drain(1..)).into();
    }
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return failure::usage(error, &words),
    };
    let Some(command) = cli.command else {
        return ended(version::version(cli.verbose), &words);
    };
    let done = match command {
        Command::Pgbench(arguments) => return dyno_pgbench::main("pgbench", arguments.words.into_iter()).into(),
        Command::Sysbench(arguments) => return dyno_sysbench::main(arguments.words.into_iter()).into(),
        Command::New(arguments) => new::new(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Capture(arguments) => capture::capture(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Versus(arguments) => versus::versus(&arguments),
        Command::Screen(arguments) => screen::screen(&arguments),
        Command::Capacity(arguments) => capacity::capacity(&arguments),
        Command::List(arguments) => look::list(&arguments),
        Command::Show(arguments) => look::show(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Serve(arguments) => serve::serve(&arguments),
        Command::Server(arguments) => server::server(&arguments, &words),
        Command::Clean(arguments) => clean::clean(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Ceiling(arguments) => ceiling::ceiling(&arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => man::man(&arguments),
        Command::Responder(arguments) => ceiling::responder(&arguments),
        Command::Agent(arguments) => agent::agent(&arguments),
    };
    ended(done, &words)
}

fn ended(done: Result<(), Failure>, words: &[OsString]) -> ExitCode {
    done.map_or_else(|failure| failure.report(words), |()| ExitCode::SUCCESS)
}

/// The name we were called by, if it is that of this other program: dyno may be linked under it.
fn called(words: &[OsString], other: &str) -> Option<String> {
    let called = words.first()?;
    (Path::new(called).file_name()? == other).then(|| called.to_string_lossy().into_owned())
}

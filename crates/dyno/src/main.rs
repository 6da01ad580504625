//! The command line: what was typed, turned into calls of the libraries.

mod arguments;
mod cli;
mod failure;
mod interrupt;
mod look;
mod run;
mod say;
mod terminal;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(arguments::arguments()) {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::List(arguments) => look::list(&arguments),
        Command::Show(arguments) => look::show(&arguments),
    };
    done.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

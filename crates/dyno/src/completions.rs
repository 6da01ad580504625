//! `dyno completions`: what a shell needs to complete dyno's words, made of the same definition that reads them.

use crate::cli::{Cli, CompletionsArguments};
use crate::failure::Failure;
use crate::say;
use clap::{Command, CommandFactory};
use clap_complete::generate;

/// `dyno completions`.
pub fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let all = Cli::command();
    // The library would propose hidden commands as well.
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
    let mut shown = Command::new("dyno").args(all.get_arguments()).subcommands(shown);
    let mut text = Vec::new();
    generate(arguments.shell, &mut shown, "dyno", &mut text);
    say::result(&String::from_utf8_lossy(&text))
}

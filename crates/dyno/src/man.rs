//! `dyno man`: manual pages, made of the same definition that reads the command line.

use crate::cli::{Cli, ManArguments};
use crate::failure::Failure;
use crate::{say, written};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::path::Path;

/// `dyno man`.
pub fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let mut dyno = described().disable_help_subcommand(true);
    // Only then commands know what they are called in full.
    dyno.build();
    match (arguments.of.as_slice(), &arguments.out) {
        (_, Some(folder)) => write_all(&dyno, folder),
        ([], None) => say::result(&page(&dyno)?),
        (words, None) => {
            let name = format!("dyno-{}", words.join("-"));
            let Some(command) = shown(&dyno).into_iter().find(|command| full_name(command) == name) else {
                let names = dyno.get_subcommands().filter(|command| !command.is_hide_set());
                let names: Vec<_> = names.map(Command::get_name).collect();
                let asked = words.join(" ");
                return Err(format!("dyno has no command {asked}; its commands are {}", names.join(", ")).into());
            };
            say::result(&page(command)?)
        }
    }
}

/// The command line, with what the programs that dyno takes the place of say of theirs.
fn described() -> Command {
    Cli::command()
        .mut_subcommand("pgbench", |command| command.after_help(dyno_pgbench::help()))
        .mut_subcommand("sysbench", |command| command.after_help(dyno_sysbench::help()))
}

/// The commands that are for people, each before its own.
fn shown(command: &Command) -> Vec<&Command> {
    let own = command.get_subcommands().filter(|command| !command.is_hide_set());
    own.flat_map(|command| std::iter::once(command).chain(shown(command)))
        .collect()
}

fn write_all(dyno: &Command, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    for command in std::iter::once(dyno).chain(shown(dyno)) {
        written::write(&folder.join(format!("{}.1", full_name(command))), page(command)?)?;
    }
    Ok(())
}

/// `dyno-run` for `run`.
fn full_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let source = concat!("dyno ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone())
        .source(source)
        .manual("dyno")
        .render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

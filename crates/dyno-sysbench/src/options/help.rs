//! `--help`, and the options of a script.

use super::declared::Declared;
use super::table::{Definition, Group, OPTIONS};
use super::value::Kind;
use crate::version::Version;
use dyno_lua::workloads;
use std::fmt::Write;

/// What `--help` prints.
#[must_use]
pub fn help(version: Version) -> String {
    let mut text = match version {
        Version::V0_5 => "Usage:\n  sysbench [general-options]... --test=<test-name> [test-options]... command\n\n",
        _ => "Usage:\n  sysbench [options]... [testname] [command]\n\n",
    }
    .to_owned();
    text += "Commands implemented by most tests: prepare run cleanup help\n\n";
    let sections = [
        ("General options:\n", Group::General),
        ("Pseudo-Random Numbers Generator options:\n", Group::Random),
        ("Log options:\n", Group::Log),
        ("", Group::Statistics),
        ("General database options:\n\n", Group::Database),
    ];
    for (title, group) in sections {
        text += title;
        text += &section(group, version);
        text.push('\n');
    }
    text += "\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\n";
    let sections = [
        ("mysql options:\n", Group::Mysql),
        ("pgsql options:\n", Group::Pgsql),
        ("Options that only dyno has:\n", Group::Own),
    ];
    for (title, group) in sections {
        text += title;
        text += &section(group, version);
        text.push('\n');
    }
    text += "Tests that come with dyno:\n";
    for workload in workloads::all() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {} - {}", workload.name, workload.about);
    }
    text += "\nSee 'sysbench <testname> help' for a list of options for each test.\n\n";
    text
}

fn section(group: Group, version: Version) -> String {
    let options: Vec<&Definition> = OPTIONS
        .iter()
        .filter(|option| option.group == group && option.is_of(version))
        .collect();
    let entries = options.iter().map(|option| Entry {
        name: option.name,
        kind: option.kind,
        about: option.about,
        default: option.default.map(str::to_owned),
    });
    table(entries.collect())
}

/// The options of a test, as its command `help` prints them.
#[must_use]
pub fn of_test(name: &str, declared: &[Declared]) -> String {
    let mut declared: Vec<&Declared> = declared.iter().collect();
    declared.sort_by(|one, other| one.name.cmp(&other.name));
    let entries = declared.iter().map(|option| Entry {
        name: &option.name,
        kind: option.kind,
        about: &option.about,
        default: option.default.as_ref().map(ToString::to_string),
    });
    format!("{name} options:\n{}\n", table(entries.collect()))
}

/// A line of a list of options.
struct Entry<'a> {
    name: &'a str,
    kind: Kind,
    about: &'a str,
    default: Option<String>,
}

fn table(entries: Vec<Entry<'_>>) -> String {
    let signature = |entry: &Entry<'_>| format!("--{}{}", entry.name, entry.kind.placeholder());
    let width = entries
        .iter()
        .map(|entry| signature(entry).chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for entry in &entries {
        let _ = write!(text, "  {:width$} {}", signature(entry), entry.about);
        if let Some(default) = &entry.default {
            let _ = write!(text, " [{default}]");
        }
        text.push('\n');
    }
    text
}

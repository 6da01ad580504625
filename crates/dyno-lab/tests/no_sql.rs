//! The laboratory says what is done in which order; what that is in SQL is for `dyno-target` to know.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};

/// What statements begin with.
const VERBS: [&str; 10] = [
    "select ", "insert ", "update ", "delete ", "show ", "alter ", "create ", "drop ", "comment ", "set ",
];

/// Whether a line of Rust begins a string, or goes on with one, by a statement.
fn has_statement(line: &str) -> bool {
    let begins = |text: &str| {
        let text = text.trim_start().to_ascii_lowercase();
        VERBS.iter().any(|verb| text.starts_with(verb))
    };
    // An escaped quotation mark is one in a sentence for people.
    let mut opened = line.match_indices('"').filter(|(at, _)| !line[..*at].ends_with('\\'));
    begins(line) || opened.any(|(at, _)| begins(&line[at + 1..]))
}

/// The files of Rust below a folder, without those that are tests alone.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = items.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".rs") && name != "tests.rs" && name != "cases.rs"
    });
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

#[test]
fn no_source_has_a_statement() {
    let files = sources(Path::new("src"));
    assert!(files.len() > 20, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            assert!(!has_statement(line), "{}:{}: {line}", file.display(), number + 1);
        }
    }
}

/// What is said of a database goes through the seam, whichever it is.
#[test]
fn no_source_knows_a_kind_of_database() {
    for file in sources(Path::new("src")) {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for kind in ["dyno_target::postgres", "dyno_target::mysql", "dyno_target::oracle"] {
            assert!(!code.contains(kind), "{}: {kind}", file.display());
        }
    }
}

#[test]
fn no_driver_is_depended_on() {
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    for line in manifest.lines() {
        let name = line.split(['.', ' ', '=']).next().unwrap();
        assert!(
            !["postgres", "mysql", "oracle"].iter().any(|kind| name.contains(kind)),
            "{line}"
        );
    }
}

#[test]
fn a_statement_is_known_when_it_is_seen() {
    assert!(has_statement(
        "    let query = \"select datname::text from pg_database\";"
    ));
    assert!(has_statement("        \"Alter database {LOADING} rename to {}\","));
    assert!(has_statement("                   select 1"));
    assert!(!has_statement("    progress.step(\"Selecting what to do\");"));
    assert!(!has_statement("let help = \"such as { script = \\\"select 1\\\" }\";"));
}

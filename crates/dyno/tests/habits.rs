//! Habits of this repository that no other tool holds: lines that fit a screen, files that say what they are for, and
//! no address of a package registry, for those differ from place to place and are the package managers' business.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most characters of a line.
const COLUMNS: usize = 120;

/// Addresses of package registries, written so that this file does not hold them.
const REGISTRIES: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("repo1.maven", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("deb.debian", ".org"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The files that git keeps and whose names end like one of these, with their texts.
fn kept(endings: &[&str]) -> Vec<(String, String)> {
    let list = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    let files: Vec<_> = list
        .split('\0')
        .filter(|name| endings.iter().any(|ending| name.ends_with(ending)))
        // One that was just removed is still on git's list.
        .filter_map(|name| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?)))
        .collect();
    assert!(!files.is_empty(), "git lists no {endings:?}: the tests run in a clone");
    files
}

#[track_caller]
fn assert_none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}\n{}", wrong.join("\n"));
}

/// Whether a line may be as long as it is: a table's row cannot be wrapped, results stay as they were written, and in a
/// TOML file only comments are prose.
fn is_free(name: &str, line: &str) -> bool {
    let line = line.trim_start();
    name.starts_with("bench/results/")
        || name.ends_with(".md") && line.starts_with('|')
        || name.ends_with(".toml") && !line.starts_with('#')
}

#[test]
fn lines_fit_a_screen() {
    let mut wrong = Vec::new();
    for (name, text) in kept(&[".rs", ".md", ".toml"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let columns = line.chars().count();
            if columns > COLUMNS && !is_free(&name, line) {
                wrong.push(format!("{name}:{number}: {columns} characters"));
            }
        }
    }
    assert_none(
        &wrong,
        &format!("at most {COLUMNS} characters in a line of Rust or prose"),
    );
}

#[test]
fn files_say_what_they_are_for() {
    let unsaid = |(name, text): (String, String)| (!text.starts_with("//!")).then_some(name);
    let wrong: Vec<String> = kept(&[".rs"]).into_iter().filter_map(unsaid).collect();
    assert_none(&wrong, "a file of Rust begins with what it is for (//!)");
}

#[test]
fn no_registry_is_named() {
    let mut wrong = Vec::new();
    let written = kept(&[
        ".rs", ".md", ".toml", ".json", ".ts", ".mjs", ".html", ".txt", ".ci/run",
    ]);
    for (name, text) in &written {
        for registry in REGISTRIES.iter().filter(|registry| text.contains(**registry)) {
            wrong.push(format!("{name}: {registry}"));
        }
    }
    assert_none(&wrong, "package managers know where their packages are");
}

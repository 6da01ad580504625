//! What analyses, reports and serves runs speaks of meanings: what a database calls its counters, settings and waits
//! is for its target to know, and of archives of earlier dynos for `dyno-archive`.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};

/// Names of databases, of their counters, settings and waits, or parts of them.
const NAMES: [&str; 30] = [
    "postgres",
    "mysql",
    "mariadb",
    "sqlstate\"",
    "write-ahead",
    "pg_stat",
    "wal_position",
    "wal_fpi",
    "wal_bytes",
    "wal_records",
    "shared_buffers",
    "shared_blks",
    "buffers_",
    "blks_",
    "work_mem",
    "checkpoint_timeout",
    "max_wal_size",
    "full_page_writes",
    "seq_tup",
    "idx_tup",
    "n_tup_",
    "xact_",
    "wait_event",
    "lwlock",
    "walsync",
    "datafile",
    "total_exec_time",
    "innodb_",
    "com_select",
    "threads_running",
];

/// How the names of files end that are tests alone.
const TESTS: [&str; 4] = ["tests.rs", "cases.rs", "fixture.rs", "overviews.rs"];

/// The name of a database's counter, setting or wait in a line of Rust.
fn name_in(line: &str) -> Option<&'static str> {
    let line = line.to_ascii_lowercase();
    NAMES.into_iter().find(|name| line.contains(name))
}

/// The files of Rust below a folder, without those that are tests alone.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = items.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".rs") && !TESTS.iter().any(|tests| name.ends_with(tests))
    });
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// A file's text up to the module of tests in it. One in a file of its own may be named anywhere.
fn before_tests(text: &str) -> &str {
    let within = |(at, mark): &(usize, &str)| {
        let rest = text[at + mark.len()..].trim_start();
        rest.lines().next().is_some_and(|line| line.ends_with('{'))
    };
    let found = text.match_indices("#[cfg(test)]").find(within);
    &text[..found.map_or(text.len(), |(at, _)| at)]
}

#[test]
fn no_source_knows_a_database_by_its_names() {
    for folder in ["src", "../dyno-analysis/src", "../dyno-serve/src"] {
        let files = sources(Path::new(folder));
        assert!(files.len() > 10, "{folder}: {} files", files.len());
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let code = before_tests(&text);
            let lines = code.lines().enumerate();
            for (number, line) in lines.filter(|(_, line)| !line.trim_start().starts_with("//")) {
                let found = name_in(line);
                assert_eq!(found, None, "{}:{}: {line}", file.display(), number + 1);
            }
        }
    }
}

#[test]
fn a_name_is_known_when_it_is_seen() {
    assert_eq!(name_in("    (\"pg_stat_wal.wal_fpi\", 1.0),"), Some("pg_stat"));
    assert_eq!(name_in("    (\"LWLock\", _) => Some(Wait::Wal),"), Some("lwlock"));
    assert_eq!(name_in("    row.wait_event_type.clone()"), Some("wait_event"));
    assert_eq!(name_in("    samples.column(Meaning::LogBytes)"), None);
    let code = "#[cfg(test)]\nmod tests;\nuse a;\n";
    assert_eq!(before_tests(&format!("{code}#[cfg(test)]\nmod cases {{\n}}\n")), code);
}

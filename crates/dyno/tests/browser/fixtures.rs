//! The campaigns that pages are made of.

use dyno_fixtures::{Fixture, Pace};
use std::path::{Path, PathBuf};

/// A run of four minutes with everything that may happen: three workloads, one of them by a schedule, one that
/// fails now and then.
const DAY: &str = r#"
title    = "A shop's day"
question = "How do orders, look-ups and reports get along with each other?"
[parameters]
rows = 100_000
[server]
settings.full_page_writes = "on"
settings.checkpoint_timeout = "1min"
[data]
setup    = "create table orders (id int, at timestamptz)"
fill.orders = { rows = "{rows}", columns = { id = "row" } }
[[workload]]
name    = "orders"
clients = 8
script  = "insert into orders values (1, now());"
[[workload]]
name    = "look-ups"
clients = 4
script  = '''
select * from orders where id = 1;
select count(*) from orders where at > now();
'''
[[workload]]
name    = "reports"
clients = 2
rate    = 20
script  = "select avg(id) from orders;"
[phases]
warmup  = "15s"
measure = "{measure}"
"#;

/// Eight hours, second by second.
const NIGHT: &str = r#"
title    = "A night"
question = "Is it as fast in the morning as in the evening?"
[[workload]]
name    = "update"
clients = 8
script  = "update tbl set crt_time = now() where id = 1;"
[phases]
warmup  = "1m"
measure = "8h"
"#;

/// Clients of two systems, each cell twice.
const SWEEP: &str = r#"
title    = "Look-ups by key"
question = "How does the throughput of look-ups grow with clients?"
[[workload]]
name    = "select"
clients = 1
script  = "select * from tbl where id = 1;"
[phases]
warmup  = "2s"
measure = "12s"
[factors]
clients = [1, 2, 4, 8, 16, 32]
target  = ["embedded:14", "embedded:18"]
[plan]
repetitions = 2
"#;

/// Two factors without numbers.
const MATRIX: &str = r#"
title    = "What durability costs"
question = "What do full page writes and synchronous commits cost?"
[server]
settings.full_page_writes   = "on"
settings.synchronous_commit = "on"
[[workload]]
name    = "update"
clients = 8
script  = "update tbl set crt_time = now() where id = 1;"
[phases]
warmup  = "2s"
measure = "12s"
[factors]
full_page_writes   = ["on", "off"]
synchronous_commit = ["on", "local", "off"]
[plan]
repetitions = 4
baseline    = { full_page_writes = "on", synchronous_commit = "on" }
"#;

/// What reads and what writes beside each other, in two cells of three runs.
const BESIDE: &str = r#"
title    = "Look-ups beside updates"
question = "What do look-ups cost beside updates, with and without waiting for the disk?"
[parameters]
rows = 50_000
[server]
settings.synchronous_commit = "on"
[data]
setup    = "create table account (id int, balance int)"
fill.account = { rows = "{rows}", columns = { id = "row", balance = "0" } }
[[workload]]
name    = "read"
clients = 2
script  = "select balance from account where id = 1;"
[[workload]]
name    = "write"
clients = 2
script  = "update account set balance = balance + 1 where id = 1;"
[phases]
warmup  = "2s"
measure = "12s"
[factors]
synchronous_commit = ["on", "off"]
[plan]
repetitions = 3
baseline    = { synchronous_commit = "on" }
"#;

/// A single run that takes as long as `measure` says.
pub fn day(archive: &Path, measure: &str) -> PathBuf {
    begin_day(archive, measure)
        .complete(|_, workload| day_pace(workload))
        .unwrap()
}

/// The same, for the caller to go through.
pub fn begin_day(archive: &Path, measure: &str) -> Fixture {
    let text = DAY.replace("{measure}", measure);
    Fixture::begin(archive, "shop", &text, "2026-11-20T08:00:00[UTC]").unwrap()
}

/// How fast its workloads go.
pub fn day_pace(workload: &str) -> Pace {
    let (tps, error) = match workload {
        "orders" => (900.0, "ERROR: deadlock detected"),
        "look-ups" => (600.0, ""),
        _ => (20.0, ""),
    };
    Pace {
        tps,
        spread: 0.04,
        error: error.to_owned(),
    }
}

/// A single run of eight hours. It is a slow one, because every transaction takes some time to be made up.
pub fn night(archive: &Path) -> PathBuf {
    let fixture = Fixture::begin(archive, "night", NIGHT, "2026-11-19T22:00:00[UTC]").unwrap();
    fixture.complete(|_, _| pace(30.0)).unwrap()
}

/// A campaign with a numeric factor and another one.
pub fn sweep(archive: &Path) -> PathBuf {
    let fixture = Fixture::begin(archive, "look-ups", SWEEP, "2026-11-20T10:00:00[UTC]").unwrap();
    let paced = fixture.complete(|run, _| {
        let clients: f64 = run.cell["clients"].parse().unwrap();
        let speed = if run.cell["target"] == "embedded:14" { 0.85 } else { 1.0 };
        // Saturates at eight clients, and falls off slowly from there.
        let tps = 1_600.0 * speed * clients / (1.0 + clients / 3.0 + clients * clients / 900.0);
        pace(tps * (1.0 + 0.01 * run.repetition as f64))
    });
    paced.unwrap()
}

/// A campaign of six runs with two workloads.
pub fn beside(archive: &Path) -> PathBuf {
    let fixture = Fixture::begin(archive, "beside", BESIDE, "2026-11-20T11:00:00[UTC]").unwrap();
    let paced = fixture.complete(
        |run, workload| match (run.cell["synchronous_commit"].as_str(), workload) {
            (_, "read") => pace(900.0),
            ("on", _) => pace(300.0),
            _ => pace(700.0),
        },
    );
    paced.unwrap()
}

/// A campaign with two factors of words and a baseline. `speed` tells one such campaign from another.
pub fn matrix(archive: &Path, started: &str, speed: f64) -> PathBuf {
    let fixture = Fixture::begin(archive, "durability", MATRIX, started).unwrap();
    let paced = fixture.complete(|run, _| {
        let pages = if run.cell["full_page_writes"] == "on" {
            0.8
        } else {
            0.81
        };
        let commit = match run.cell["synchronous_commit"].as_str() {
            "on" => 1.0,
            "local" => 1.02,
            _ => 3.1,
        };
        // Runs differ by some percent, as they do.
        let luck = 1.0 + 0.02 * ((run.number * 7 % 5) as f64 - 2.0) / 2.0;
        pace(700.0 * speed * pages * commit * luck)
    });
    paced.unwrap()
}

fn pace(tps: f64) -> Pace {
    Pace {
        tps,
        spread: 0.03,
        error: String::new(),
    }
}

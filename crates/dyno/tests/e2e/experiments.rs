//! The published experiments on a private server, from nothing to a summary.

use crate::support::{Desk, Home, RunFolder, TINY, run_folders};
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions};

/// What makes an experiment tiny, in one string.
fn tiny() -> String {
    TINY[..4].join(" ")
}

/// The databases that a home's cluster keeps.
fn databases(home: &Home) -> Vec<String> {
    let options = EmbeddedOptions::new(home.path().to_owned());
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    let server = embedded.start(&[], &mut |_| ()).unwrap();
    let mut client = server.connection("postgres").connect().unwrap();
    let rows = client
        .query("select datname::text from pg_database order by 1", &[])
        .unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Rows that the server has seen inserted in the first table.
fn rows_inserted(run: &RunFolder) -> u64 {
    let statistics = &run.record()["tables"]["after"]["tables"][0]["statistics"];
    statistics["n_tup_ins"].as_u64().unwrap()
}

#[test]
fn from_nothing_and_again() {
    let (desk, home) = (Desk::new(), Home::new());
    let words = format!("pk-update {} --set rows=1000", tiny());
    let first = desk.embedded(&home, &words).expect(0);
    let first = first
        .says("Initialising")
        .says("Loading tbl")
        .says("Stopping PostgreSQL");
    first.shows("errors none").shows("(complete)");
    let second = desk.embedded(&home, &words).expect(0).says("Copying the loaded data");
    assert!(
        !second.stderr.contains("Initialising") && !second.stderr.contains("Loading"),
        "{}",
        second.stderr
    );
    home.assert_no_server();
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!(run.state(), "complete");
        assert!(run.summed_up() > 0);
        assert_eq!(run.measured(), run.summed_up());
        let target = &run.record()["summary"]["tables"][0];
        assert_eq!(target["table"], "tbl");
        // The second run found what the first had found, not what it left.
        assert_eq!(
            target["table_before_bytes"],
            runs[0].record()["summary"]["tables"][0]["table_before_bytes"]
        );
    }
    // Other data of the same experiment replaces the kept one.
    desk.embedded(&home, &words.replace("rows=1000", "rows=2000"))
        .expect(0)
        .says("Loading tbl");
    let kept = databases(&home);
    assert_eq!(
        kept.iter().filter(|name| name.starts_with("pk-update@")).count(),
        1,
        "{kept:?}"
    );
    assert!(!kept.iter().any(|name| name.starts_with("dyno_")), "{kept:?}");
}

#[test]
fn select_and_insert_with_every_protocol_and_pacing() {
    let (desk, home) = (Desk::new(), Home::new());
    for (experiment, extra) in [
        ("pk-select", "--set rows=1000 --set protocol=simple --set clients=1"),
        (
            "pk-select",
            "--set rows=1000 --set protocol=extended --set clients=4 --set threads=4 --repeat 2",
        ),
        (
            "pk-insert",
            "--set protocol=prepared --set clients=3 --set threads=2 --set interval=100ms --seed 7",
        ),
        (
            "pk-insert",
            "--set rate=200 --set synchronous_commit=off --set settings.work_mem=7MB",
        ),
    ] {
        desk.embedded(&home, &format!("{experiment} {} {extra}", tiny()))
            .expect(0);
    }
    home.assert_no_server();
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 5);
    let facts = |run: &RunFolder| run.record()["workloads"][0].clone();
    let [simple, extended, repeated, insert, paced] = &runs[..] else {
        panic!("not five runs")
    };
    assert_eq!(simple.campaign()["experiment"]["workloads"][0]["protocol"], "simple");
    assert_eq!(
        (facts(simple)["clients"].as_u64(), facts(simple)["threads"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(
        (facts(extended)["clients"].as_u64(), facts(extended)["threads"].as_u64()),
        (Some(4), Some(4))
    );
    assert_eq!(extended.0.parent(), repeated.0.parent());
    assert_eq!(repeated.record()["repetition"], 2);
    assert_eq!(insert.campaign()["seed"], 7);
    assert!(insert.rows("intervals.csv").len() >= 9);
    // Inserted rows are all there: one per transaction, and those that were under way at the end.
    let rows = rows_inserted(insert);
    assert!(
        (insert.summed_up()..insert.summed_up() + 4).contains(&rows),
        "{rows} rows, {}",
        insert.summed_up()
    );
    for run in &runs {
        assert_eq!(run.state(), "complete");
        assert_eq!(run.measured(), run.summed_up());
        assert_eq!(run.record()["summary"]["workloads"][0]["errors"], 0);
    }
    let lag = &paced.record()["summary"]["workloads"][0]["lag"];
    assert!(lag["mean_us"].is_number(), "{lag}");
    let warnings = paced.record()["summary"]["warnings"].to_string();
    assert!(warnings.contains("synchronous_commit = off"), "{warnings}");
    let settings = paced.record()["server"]["settings"].to_string();
    assert!(settings.contains("7MB") || settings.contains("7168"), "{settings}");
}

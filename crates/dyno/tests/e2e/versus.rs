//! `dyno versus`: two variants measured in turn, as one load.

use crate::support::{Desk, Ended, Home, Running, database_alone, run_folders, wait_for};
use rustix::process::Signal;
use std::fs;

/// A statement that takes as many milliseconds as the parameter says, on the server.
const WAITING: &str = r#"
title = "Waiting"

[parameters]
ms = 2
unused = 1

[[workload]]
name = "wait"
clients = 2
script = "select pg_sleep(:ms / 1000.0);"

[phases]
warmup = "300ms"
measure = "1s"
"#;

fn desk() -> Desk {
    Desk::with("waiting.toml", WAITING)
}

fn versus(desk: &Desk, target: &str, words: &str) -> Ended {
    let words = ["versus", "waiting.toml", "--target", target, "--slice", "100ms"]
        .into_iter()
        .chain(words.split_whitespace());
    Ended::of(&mut desk.command(words))
}

#[test]
fn a_slower_variant_is_told_as_soon_as_it_is_known() {
    let (desk, database) = (desk(), database_alone("e2e_versus"));
    let words = "--set ms=2,8 --at-most 2m --fail-if-worse 5%";
    let ended = versus(&desk, &database.target(), words).expect(3);
    ended
        .says("error: worse by at least 5 %: ms = 8 is ")
        .shows("ms = 8 is ")
        .shows(" % slower than ms = 2 on waiting (")
        .shows("; decided after ")
        .ends_with_report();
    let known = desk.known("versus.json");
    assert_eq!((&known["answer"], &known["baseline"]), (&"lower".into(), &"2".into()));
    // Each waits at least as long as it says, and the rest is the same.
    let of = |measure: &str| {
        let all = known["ratios"].as_array().unwrap();
        let ratio = all.iter().find(|ratio| ratio["measure"] == measure)?;
        ratio["ratio"].as_f64()
    };
    assert!((0.1..0.7).contains(&of("throughput").unwrap()), "{known}");
    // What is known of it may take some blocks more.
    assert!(of("p50").is_none_or(|ratio| ratio > 1.4), "{known}");
    let runs = run_folders(&desk.archive());
    let states: Vec<String> = runs.iter().map(|run| run.state()).collect();
    assert_eq!(states, ["complete", "complete"]);
    let blocks = fs::read_to_string(runs[0].0.parent().unwrap().join("versus.csv")).unwrap();
    let blocks: Vec<&str> = blocks.lines().skip(1).collect();
    assert!(blocks.len() < 300, "it went on to the end");
    for run in &runs {
        // Two slices a block are a run's own, and an interval is what counts of one.
        let measured: Vec<f64> = run
            .rows("intervals.csv")
            .iter()
            .filter(|row| row["phase"] == "measure")
            .map(|row| row["interval_s"].parse().unwrap())
            .collect();
        assert_eq!(measured.len(), blocks.len() * 2);
        assert!(measured.iter().all(|s| (s - 0.08).abs() < 0.02), "{measured:?}");
        // While one has its turn the other rests: its clients are there and do nothing.
        let record = run.record();
        let tps = record["summary"]["workloads"][0]["tps"].as_f64().unwrap();
        let ms: f64 = if record["cell"]["ms"] == "2" { 2.0 } else { 8.0 };
        assert!(tps < 2.0 * 1_000.0 / ms * 1.05, "{tps}");
    }
    let report = desk.dyno("report --format json --output -").expect(0);
    assert!(
        report.stdout.starts_with("{\n  \"answer\": \"ms = 8 is "),
        "{}",
        report.stdout
    );
    report.shows("throughput");
}

#[test]
fn several_variants_are_each_told_beside_the_first() {
    let (desk, database) = (desk(), database_alone("e2e_versus_several"));
    let words = "--set ms=4,2,16 --at-most 2m --fail-if-worse 5%";
    versus(&desk, &database.target(), words)
        .expect(3)
        .shows("ms = 2 is ")
        .shows(" % faster than ms = 4 on waiting (")
        .shows("ms = 16 is ")
        .shows(" % slower than ms = 4 on waiting (");
    let known = desk.known("versus.json");
    let further = known["further"].as_array().unwrap();
    let told = [&known, &further[0]].map(|one| [&one["baseline"], &one["candidate"], &one["answer"]]);
    assert_eq!(told, [["4", "2", "higher"], ["4", "16", "lower"]]);
    let runs = run_folders(&desk.archive());
    let blocks = fs::read_to_string(runs[0].0.parent().unwrap().join("versus.csv")).unwrap();
    let of = |variant: &str| blocks.lines().filter(|line| line.ends_with(variant)).count();
    assert_eq!((of(",2"), runs.len()), (of(",3"), 3));
    for run in &runs {
        assert_eq!(run.state(), "complete");
        // Two slices a block are its own.
        let measured = run.rows("intervals.csv");
        let measured = measured.iter().filter(|row| row["phase"] == "measure");
        assert_eq!(measured.count(), 2 * of(",2"));
        let record = run.record();
        let tps = record["summary"]["workloads"][0]["tps"].as_f64().unwrap();
        let ms: f64 = record["cell"]["ms"].as_str().unwrap().parse().unwrap();
        assert!(tps < 1.05 * 2_000.0 / ms, "{tps} with {ms} ms");
    }
}

#[test]
fn variants_that_need_servers_of_their_own_get_them_at_the_same_time() {
    let (desk, home) = (desk(), Home::new());
    let words = "versus waiting.toml --slice 100ms --set work_mem=4MB,8MB --detect 60% --at-most 30s --fail-if-unsure";
    let mut command = desk.command(words.split_whitespace());
    let ended = Ended::of(command.env("DYNO_HOME", home.path()));
    let known = desk.known("versus.json");
    // Equal ones: whatever else is found, they are not far apart.
    assert_ne!(known["blocks"], 0, "{}", ended.stderr);
    let runs = run_folders(&desk.archive());
    let settings: Vec<String> = runs
        .iter()
        .map(|run| {
            let record = run.record();
            let settings = record["server"]["settings"].as_array().unwrap().clone();
            let found = settings.iter().find(|setting| setting["name"] == "work_mem").unwrap();
            found["value"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(settings.len(), 2);
    assert_ne!(settings[0], settings[1]);
    home.assert_no_server();
}

#[test]
fn a_server_that_is_busy_though_at_rest_is_told() {
    let (desk, home) = (desk(), Home::new());
    // Each transaction goes on through the other side's slices.
    let busy = WAITING.replace(
        "pg_sleep(:ms / 1000.0)",
        "count(*) from generate_series(1, 1000000 * :ms)",
    );
    desk.file("busy.toml", &busy);
    let words = "versus busy.toml --slice 100ms --set work_mem=4MB,8MB --at-most 12s";
    let mut command = desk.command(words.split_whitespace());
    Ended::of(command.env("DYNO_HOME", home.path())).expect(0);
    let known = desk.known("versus.json");
    let note = known["notes"][0].as_str().unwrap();
    assert!(
        note.contains("a server whose turn it was not was busy: clients in "),
        "{note}"
    );
    let run = run_folders(&desk.archive()).remove(0);
    let blocks = fs::read_to_string(run.0.parent().unwrap().join("versus.csv")).unwrap();
    assert!(blocks.lines().any(|line| line.ends_with("clients,2")), "{blocks}");
}

#[test]
fn slices_become_longer_where_few_transactions_are_complete_in_one() {
    let (desk, database) = (desk(), database_alone("e2e_versus_longer"));
    let target = database.target();
    let words = "versus waiting.toml --set ms=20,40 --at-most 25s --target";
    let ended = Ended::of(&mut desk.command(words.split_whitespace().chain([target.as_str()]))).expect(0);
    let known = desk.known("versus.json");
    let note = known["notes"][0].as_str().unwrap();
    assert!(note.starts_with("Slices were lengthened to 1.5 s, because"), "{note}");
    assert!(ended.stdout.contains("lengthened to 1.5 s"), "{}", ended.stdout);
    assert_eq!(known["block_s"], 6.0);
    for run in run_folders(&desk.archive()) {
        let rows = run.rows("intervals.csv");
        let measured = rows.iter().filter(|row| row["phase"] == "measure");
        let lengths: Vec<f64> = measured.map(|row| row["interval_s"].parse().unwrap()).collect();
        let is = |length: f64| lengths.iter().filter(|s| (**s - length).abs() < 0.05).count();
        // Five blocks of short slices, and as many of long ones as there was time for.
        assert_eq!((is(0.4), is(1.2), lengths.len()), (10, 4, 14), "{lengths:?}");
        let record = run.record();
        assert_eq!(record["state"], "complete");
        let tps = record["summary"]["workloads"][0]["tps"].as_f64().unwrap();
        let ms: f64 = record["cell"]["ms"].as_str().unwrap().parse().unwrap();
        assert!(tps > 0.5 * 2_000.0 / ms && tps < 1.05 * 2_000.0 / ms, "{tps}");
    }
}

#[test]
fn all_may_have_their_load_at_the_same_time() {
    let (desk, database) = (desk(), database_alone("e2e_versus_at_once"));
    let words = "--simultaneous --set ms=20,80,21 --at-most 2m --detect 30%";
    let ended = versus(&desk, &database.target(), words).expect(0);
    ended.shows("ms = 80 is ").shows(" % slower than ms = 20 on waiting (");
    let known = desk.known("versus.json");
    assert_eq!(
        (&known["answer"], &known["further"][0]["answer"]),
        (&"lower".into(), &"same".into())
    );
    // A block is two slices of all.
    assert_eq!(known["block_s"], 0.2);
    let note = known["notes"][0].as_str().unwrap_or_default();
    let few = std::thread::available_parallelism().unwrap().get() < 6;
    assert_eq!(
        note.starts_with("3 variants and their clients work at the same time"),
        few,
        "{note}"
    );
    let runs = run_folders(&desk.archive());
    let blocks = fs::read_to_string(runs[0].0.parent().unwrap().join("versus.csv")).unwrap();
    let blocks = blocks.lines().filter(|line| line.ends_with(",2")).count();
    for run in &runs {
        assert_eq!(run.state(), "complete");
        let rows = run.rows("intervals.csv");
        let measured: Vec<f64> = rows
            .iter()
            .filter(|row| row["phase"] == "measure")
            .map(|row| row["interval_s"].parse().unwrap())
            .collect();
        // All of each slice counts.
        assert_eq!(measured.len(), 2 * blocks);
        assert!(measured.iter().all(|s| (s - 0.1).abs() < 0.02), "{measured:?}");
    }
}

#[test]
fn an_experiment_may_say_that_its_cells_are_compared() {
    let (desk, database) = (desk(), database_alone("e2e_versus_paired"));
    let paired = format!("{WAITING}\n[factors]\nms = [2, 8]\n\n[plan]\norder = \"paired\"\n");
    desk.file("paired.toml", &paired);
    let dry = desk.dyno("run paired.toml --dry-run").expect(0);
    dry.shows("beside each other until it is known which does more");
    let target = database.target();
    Ended::of(&mut desk.command(["run", "paired.toml", "--target", &target]))
        .expect(0)
        .shows("ms = 8 is ")
        .shows(" % slower than ms = 2 on paired (");
    assert_eq!(desk.known("versus.json")["answer"], "lower");
    // As many as have been compared, not as many as it has repetitions.
    assert_eq!(run_folders(&desk.archive()).len(), 2);
    desk.dyno("run paired.toml --set clients=1,2")
        .expect(1)
        .says("the 2 values of ms and the 2 values of clients make 4 cells");
}

#[test]
fn what_cannot_be_up_at_once_is_measured_by_runs() {
    let (desk, database) = (desk(), database_alone("e2e_versus_runs"));
    let target = database.target();
    // Sorting has to go through files with the smaller one, which is all that differs.
    let sorting = WAITING.replace(
        "select pg_sleep(:ms / 1000.0);",
        "select count(*) from (select n from generate_series(1, 20000) n order by md5(n::text) offset 0) s;",
    );
    desk.file("sorting.toml", &sorting);
    let words = "versus sorting.toml --slice 300ms --set work_mem=64kB,64MB --detect 0% --at-most 12s --target";
    let ended = Ended::of(&mut desk.command(words.split_whitespace().chain([target.as_str()]))).expect(0);
    let known = desk.known("versus.json");
    let note = known["notes"][0].as_str().unwrap();
    assert!(note.contains("cannot have two settings at once"), "{note}");
    assert!(
        ended.stderr.contains("were not up at the same time"),
        "{}",
        ended.stderr
    );
    let (blocks, left_out) = (known["blocks"].as_u64().unwrap(), known["left_out"].as_u64().unwrap());
    let runs = run_folders(&desk.archive());
    // The first two blocks say how much blocks scatter.
    let pilots = if blocks > 0 {
        2
    } else {
        runs.len() as u64 / 4 - left_out
    };
    assert_eq!(runs.len() as u64, 4 * (blocks + left_out + pilots), "{known}");
    let mut settings = Vec::new();
    for run in &runs {
        assert_eq!(run.state(), "complete");
        let record = run.record();
        assert!((record["summary"]["measured_s"].as_f64().unwrap() - 0.3).abs() < 0.1);
        settings.push(record["cell"]["work_mem"].as_str().unwrap().to_owned());
    }
    for block in settings.chunks(4) {
        let mirrored: Vec<_> = block.iter().rev().collect();
        assert_eq!(mirrored, block.iter().collect::<Vec<_>>());
        assert_ne!(block[0], block[1]);
    }
    // Nothing is left to be done, and all of it is told of as one.
    desk.dyno("run --resume")
        .expect(1)
        .says("there is no unfinished campaign");
    desk.dyno("report --format json --output -")
        .expect(0)
        .shows("\"answer\": \"");
}

#[test]
fn databases_of_different_kinds_are_measured_in_turn() {
    let (desk, home) = (desk(), Home::with_mariadb());
    let waiting = format!("{WAITING}\n[postgres]\n[mysql.workload.wait]\nscript = \"select sleep(:ms / 100.0);\"\n");
    desk.file("waiting.toml", &waiting);
    let words = "versus waiting.toml --slice 100ms --set target=embedded,embedded:mariadb --at-most 2m";
    let mut command = desk.command(words.split_whitespace());
    let ended = Ended::of(command.env("DYNO_HOME", home.path())).expect(0);
    // It waits ten times as long there.
    ended
        .shows("MariaDB 11.4")
        .shows(" % slower than PostgreSQL 18")
        .shows(" on waiting (");
    let known = desk.known("versus.json");
    assert_eq!(known["answer"], "lower");
    let runs = run_folders(&desk.archive());
    let states: Vec<String> = runs.iter().map(|run| run.state()).collect();
    assert_eq!(states, ["complete", "complete"]);
    let errors = |run: &crate::support::RunFolder| run.record()["summary"]["workloads"][0]["errors"].clone();
    assert!(runs.iter().all(|run| errors(run) == 0));
    home.assert_no_server();
}

#[test]
fn what_cannot_be_measured_in_turn_is_told_before_anything_is_done() {
    let desk = desk();
    let said = |words: &str| desk.dyno(&format!("versus waiting.toml {words}")).expect(1).stderr;
    let error = said("--set ms=1,2 --set unused=1,2,3");
    assert!(
        error.contains("the 2 values of ms and the 3 values of unused make 6"),
        "{error}"
    );
    let error = said("--set ms=2,2");
    assert!(
        error.contains("nothing differs, so there are no two variants"),
        "{error}"
    );
    let error = said("--set work_mem=4MB,8MB --target postgres://u@127.0.0.1:1/d --simultaneous");
    assert!(
        error.contains("the variants cannot be measured at the same time: postgres://u@127.0.0.1:1/d cannot have two"),
        "{error}"
    );
    desk.dyno("versus waiting.toml --set ms=1,2 --slice 1ms")
        .expect(1)
        .says("write a time from 100ms to 60s");
    desk.dyno("versus waiting.toml --set ms=1,2 --detect 100%")
        .expect(1)
        .says("write a percentage below 100%");
    assert!(!desk.archive().exists());
}

#[test]
fn a_signal_keeps_what_is_known_by_then() {
    let (desk, database) = (desk(), database_alone("e2e_versus_signal"));
    let target = database.target();
    let words = [
        "versus",
        "waiting.toml",
        "--target",
        &target,
        "--slice",
        "100ms",
        "--set",
        "unused=1,2",
    ];
    let running = Running::start(desk.command(words.into_iter().chain(["--at-most", "1h", "--detect", "0%"])));
    wait_for("a few slices", || {
        run_folders(&desk.archive())
            .iter()
            .any(|run| run.intervals_so_far() > 30)
    });
    running.signal(Signal::INT);
    running.end().expect(2).says("Ending: what was measured is kept");
    let known = desk.known("versus.json");
    assert_eq!(known["answer"], "unknown");
    // Nothing uses the parameter.
    let note = known["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("Nothing uses unused, so both execute the same"),
        "{note}"
    );
    desk.dyno("show").expect(0).shows("Nothing uses unused");
    let states: Vec<String> = run_folders(&desk.archive()).iter().map(|run| run.state()).collect();
    assert_eq!(states, ["incomplete", "incomplete"]);
}

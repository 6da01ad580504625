//! `dyno screen`: which of several factors matter.

use crate::support::{Desk, Ended, Home, Running, database_alone, run_folders, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// A statement that takes as many milliseconds as a parameter says, on the server, with others that cost nothing.
const WAITING: &str = r#"
title = "Waiting"

[parameters]
ms = 3
label = 1
other = 1
unused = 1

[[workload]]
name = "wait"
clients = 2
script = "select pg_sleep(:ms / 1000.0), :label, :other;"

[phases]
warmup = "300ms"
measure = "1s"
"#;

fn desk() -> Desk {
    Desk::with("waiting.toml", WAITING)
}

/// The effect of a factor on throughput: the ratio, and the ends of its interval.
fn effect(known: &Value, factor: &str) -> [f64; 3] {
    let all = known["effects"].as_array().unwrap();
    let mut of = all.iter().filter(|effect| effect["factor"] == factor);
    let effect = of.find(|effect| effect["measure"] == "throughput").unwrap();
    ["ratio", "low", "high"].map(|end| effect[end].as_f64().unwrap())
}

fn screen(desk: &Desk, target: &str, words: &str) -> Ended {
    let words = ["screen", "waiting.toml", "--target", target, "--slice", "100ms"]
        .into_iter()
        .chain(words.split_whitespace());
    Ended::of(&mut desk.command(words))
}

#[test]
fn the_factor_that_matters_is_found_among_others() {
    let (desk, database) = (desk(), database_alone("e2e_screen"));
    let words = "--set label=1,2 --set ms=3,9 --set other=1,2 --set clients=2 --each 2s";
    screen(&desk, &database.target(), words)
        .expect(0)
        .shows("Of 3 factors on waiting, ")
        .shows("ms = 9 matters")
        .shows(" % less throughput than with 3 (")
        .shows("from 8 pairs of 2 s.")
        .says("Pair 8 of 8")
        .ends_with_report();
    let known = desk.known("screen.json");
    let [ratio, low, high] = effect(&known, "ms");
    assert!(
        (0.2..0.6).contains(&ratio) && low < ratio && ratio < high && high < 0.9,
        "{known}"
    );
    // Nothing is asserted to be without effect: other work on the machine may look like one.
    for factor in ["label", "other"] {
        let [nothing, ..] = effect(&known, factor);
        assert!((0.6..1.7).contains(&nothing), "{known}");
    }
    assert_eq!(known["pairs"].as_array().unwrap().len(), 8);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 16);
    assert!(runs.iter().all(|run| run.state() == "complete"));
    let report = desk.dyno("report --format json --output -").expect(0);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["sections"][0]["id"], "screen");
    let first = &report["sections"][0]["blocks"][0];
    assert_eq!(first["id"], "screen-effects", "{first}");
    desk.dyno("show").expect(0).shows("ms = 9 matters");
}

#[test]
fn settings_get_servers_of_their_own_in_each_pair() {
    let (desk, home) = (desk(), Home::new());
    let words = "screen waiting.toml --slice 100ms --each 2s --set work_mem=4MB,8MB --set ms=1,6";
    let mut command = desk.command(words.split_whitespace());
    Ended::of(command.env("DYNO_HOME", home.path()))
        .expect(0)
        .shows("ms = 6 matters");
    // Each pair comes again, with its sides exchanged.
    let settings: Vec<(String, Value)> = run_folders(&desk.archive())
        .iter()
        .map(|run| {
            let record = run.record();
            let settings = record["server"]["settings"].as_array().unwrap().clone();
            let found = settings.iter().find(|setting| setting["name"] == "work_mem").unwrap();
            (
                found["value"].as_str().unwrap().to_owned(),
                record["cell"]["work_mem"].clone(),
            )
        })
        .collect();
    assert_eq!(settings.len(), 16);
    let first = &settings[0].0;
    assert!(
        settings.iter().all(|(value, cell)| (value == first) == (cell == "4MB")),
        "{settings:?}"
    );
    assert_eq!(settings.iter().filter(|(_, cell)| cell == "4MB").count(), 8);
    home.assert_no_server();
}

#[test]
fn what_cannot_be_screened_is_told_before_anything_is_done() {
    let desk = desk();
    let said = |words: &str| desk.dyno(&format!("screen waiting.toml {words}")).expect(1).stderr;
    for (words, expected) in [
        ("", "no factor is given: give each"),
        ("--set clients=4", "no factor is given: give each"),
        ("--set ms=1,2", "ms is the only factor: use dyno versus"),
        (
            "--set ms=1,2 --set label=1,2,3",
            "the factor label has 3 different values",
        ),
        (
            "--set ms=1,2 --set label=1,1",
            "the factor label has 1 different value,",
        ),
        ("--set ms=1,2 --set unused=1,2", "the factor unused changes nothing"),
        (
            "--set ms=1,2 --set label=1,2 --each 3s",
            "give --each 8s or more, --at-most 64s or more",
        ),
        (
            "--set ms=1,2 --set label=1,2 --each 9s --at-most 2m",
            "cannot be used with",
        ),
        (
            "--set ms=1,2 --set work_mem=4MB,8MB --target postgres://u@127.0.0.1:1/d",
            "cannot have two settings at once",
        ),
    ] {
        let error = said(words);
        assert!(error.contains(expected), "{words}: {error}");
    }
    let many: String = (1..=20)
        .map(|number| format!("--set settings.s{number}=1,2 "))
        .collect();
    let error = said(&many);
    assert!(error.contains("20 factors are given, but at most 11"), "{error}");
    assert!(!desk.archive().exists());
}

#[test]
fn a_signal_keeps_the_pairs_that_are_there_and_the_others_can_be_measured_later() {
    let (desk, database) = (desk(), database_alone("e2e_screen_signal"));
    let target = database.target();
    let words = "screen waiting.toml --slice 100ms --set label=1,2 --set ms=1,6 --each 2s --target";
    let running = Running::start(desk.command(words.split_whitespace().chain([target.as_str()])));
    wait_for("the second pair", || {
        run_folders(&desk.archive())
            .get(3)
            .is_some_and(|run| run.intervals_so_far() > 6)
    });
    running.signal(Signal::INT);
    running
        .end()
        .expect(2)
        .says("Ending: what was measured is kept")
        .says("14 of 16 runs are not complete. To measure them: dyno run --resume")
        .shows("Which of 2 factors matter on waiting is not known, because only ");
    let before = desk.known("screen.json");
    assert!(before["effects"].as_array().unwrap().is_empty());
    let first = before["pairs"][0].clone();
    assert_eq!(first["row"], 1);
    let words = ["run", "--resume", "--target", &target];
    Ended::of(&mut desk.command(words)).expect(0).shows("ms = 6 matters");
    let after = desk.known("screen.json");
    // It was not measured again.
    assert_eq!(after["pairs"][0], first);
    assert_eq!(after["pairs"].as_array().unwrap().len(), 8);
}

#[test]
fn a_pair_with_too_many_errors_does_not_count_and_is_measured_again() {
    let (desk, database) = (desk(), database_alone("e2e_screen_faulty"));
    // One of each pair fails now and then.
    let failing = WAITING.replace(":label,", "1 / (case when random() < 0.3 then 2 - :label else 1 end),");
    desk.file("waiting.toml", &failing);
    screen(&desk, &database.target(), "--set label=1,2 --set ms=1,3 --each 2s")
        .expect(2)
        .says("ended with an error")
        .says("14 of 16 runs are not complete")
        .shows("only 0 of 8 pairs are measured");
    let states = || -> Vec<String> { run_folders(&desk.archive()).iter().map(|run| run.state()).collect() };
    assert_eq!(states().iter().filter(|state| *state == "faulty").count(), 1);
    assert!(desk.known("screen.json")["pairs"].as_array().unwrap().is_empty());
    let words = ["run", "--resume", "--target", &database.target()];
    Ended::of(&mut desk.command(words)).expect(2).says("Pair 1 of 8");
    assert!(desk.known("screen.json")["pairs"].as_array().unwrap().is_empty());
    assert_eq!(states().len(), 2);
}

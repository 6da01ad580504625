//! `dyno compare` and `dyno show --plot`, on archives that are written as a run would write them, without the hours.

use crate::support::{Desk, Ended, not_held};
use dyno_archive::plan::Size;
use dyno_archive::summary::{Summary, WorkloadFacts};
use dyno_archive::{CampaignRecord, CampaignWriter, RunRecord, RunState};
use dyno_lab::experiment::Experiment;
use dyno_record::{Interval, Recording};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Keeps a campaign with these factors: for each cell as many runs as there are TPS. Gives back its name.
fn keep(desk: &Desk, factors: &str, cells: &[&[f64]]) -> String {
    let repetitions = cells[0].len();
    let file = format!(
        "title = \"Test\"\n[[workload]]\nname = \"update\"\nclients = 4\nscript = \"select 1;\"\n[phases]\nwarmup \
         = \"2s\"\nmeasure = \"20s\"\n\
         [factors]\n{factors}\n[plan]\nrepetitions = {repetitions}\norder = \"listed\"\n"
    );
    let experiment = Experiment::parse(Path::new("test.toml"), &file).unwrap();
    let plan = experiment.plan(Size::Full, &[], None, 1, 2).unwrap();
    let started = "2026-11-21T19:40:12+00:00[UTC]".parse().unwrap();
    let record = CampaignRecord::of(&plan, "dyno run test.toml".to_owned(), started).unwrap();
    let campaign = CampaignWriter::create(&desk.archive(), &record).unwrap();
    for planned in &plan.runs {
        let position = plan.cells.iter().position(|cell| cell.levels == planned.cell).unwrap();
        let tps = cells[position][planned.repetition - 1];
        let resolved = &plan.cells[position].experiment;
        let facts = WorkloadFacts::new(&resolved.workloads[0], vec!["select 1;".to_owned()]);
        let mut record = RunRecord::new(
            "embedded".to_owned(),
            String::new(),
            vec![facts],
            &resolved.phases(),
            resolved.interval,
        );
        (record.number, record.cell, record.repetition) = (planned.number, planned.cell.clone(), planned.repetition);
        let mut run = campaign.run(planned, record).unwrap();
        run.begin().unwrap();
        for second in 0..22 {
            let mut recording = Recording::new(1);
            recording.transactions = tps as u64;
            let interval = Interval {
                phase: usize::from(second >= 2),
                start: Duration::from_secs(second),
                duration: Duration::from_secs(1),
                first_thread_whole: true,
                recordings: vec![recording],
            };
            run.interval(&interval).unwrap();
        }
        run.finish(RunState::Complete, summary(tps)).unwrap();
    }
    campaign.path().file_name().unwrap().to_str().unwrap().to_owned()
}

/// A run of four clients in a closed loop, whose latency follows from its TPS.
fn summary(tps: f64) -> Summary {
    let us = 4e6 / tps;
    serde_json::from_value(json!({
        "measured_s": 20.0,
        "workloads": [{
            "name": "update", "clients": 4, "threads": 1, "loop": "closed",
            "transactions": (20.0 * tps) as u64, "statements": (20.0 * tps) as u64, "errors": 0,
            "tps": tps, "statements_per_s": tps, "steadiness": null, "lag": null,
            "latency": {
                "mean_us": us, "stddev_us": us / 4.0, "min_us": us / 2.0, "p50_us": us,
                "p95_us": 1.5 * us, "p99_us": 2.0 * us, "p99_9_us": 4.0 * us, "max_us": 9.0 * us,
            },
            "statement_latencies": [], "errors_by_state": [],
        }],
    }))
    .unwrap()
}

fn around(tps: f64) -> [f64; 5] {
    [0.99, 0.995, 1.0, 1.004, 1.011].map(|off| off * tps)
}

#[test]
fn better_worse_and_the_gate_for_a_pipeline() {
    let desk = Desk::new();
    let old = keep(&desk, "clients = [4]", &[&around(10_000.0)]);
    let new = keep(&desk, "clients = [4]", &[&around(9_000.0)]);
    let compare = |words: &str| desk.dyno(&format!("compare {words}"));

    let ended = compare(&format!("{old} {new}")).expect(0);
    let last = ended.stdout.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.contains(" % slower than "), "{}", ended.stdout);
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    ended
        .shows(&format!("{new} is 10 % slower than {old} on update,"))
        .shows("Verdict on B: worse")
        .shows("TPS of update, clients = 4 is 10.0 % lower");
    compare(&format!("{new} archive/{old}"))
        .expect(0)
        .shows("Verdict on B: better");

    // TPS is 10.0 % lower and p99 11.1 % higher: the greater of the two is told first.
    let failed = compare(&format!("{old} {new} --fail-if-worse 5%")).expect(3);
    failed.says(
        "error: worse by at least 5 %: p99 of update, clients = 4 is 11.1 % higher, and 1 other measure is worse",
    );
    compare(&format!("{old} {new} --fail-if-worse 11"))
        .expect(3)
        .says("p99");
    compare(&format!("{old} {new} --fail-if-worse 12%")).expect(0);
    compare(&format!("{new} {old} --fail-if-worse 0%")).expect(0);

    compare(&format!("{old} {new} --format json --output compared.json")).expect(0);
    let text = std::fs::read_to_string(desk.path().join("compared.json")).unwrap();
    assert!(text.starts_with("{\n  \"answer\": \""), "{text}");
    let compared: Value = serde_json::from_str(&text).unwrap();
    let tps = &compared["cells"][0]["workloads"][0]["measures"][0];
    assert_eq!(
        (&tps["measure"], &tps["verdict"]),
        (&json!("tps"), &json!("worse")),
        "{text}"
    );
    assert!((tps["ratio"].as_f64().unwrap() - 0.9).abs() < 1e-9, "{text}");

    let paper = compare(&format!("{old} {new} --format md")).expect(0);
    paper
        .shows(&format!("**{new} is 10 % slower than {old} on update, clients = 4 ("))
        .shows("| TPS | 10,000 | 9,000 |");

    compare(&format!("{old} {new} --format html --output compared.html")).expect(0);
    let page = std::fs::read_to_string(desk.path().join("compared.html")).unwrap();
    assert!(
        page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"),
        "{}",
        &page[..100]
    );
    let read = not_held(&page);
    assert!(read.contains("TPS of update, clients = 4 is 10.0 % lower") && read.contains("compared-1-throughput"));
}

#[test]
fn several_campaigns_are_one_side() {
    let desk = Desk::new();
    let keep_two = |tps: f64| {
        let runs = around(tps);
        let kept = [&runs[..3], &runs[3..]].map(|runs| keep(&desk, "clients = [4]", &[runs]));
        kept.join(",")
    };
    let (old, new) = (keep_two(10_000.0), keep_two(9_000.0));
    let [first, _] = old.split(',').collect::<Vec<_>>()[..] else {
        panic!("{old}")
    };
    // Neither has enough runs by itself.
    desk.dyno(&format!("compare {first} {}", new.split(',').next().unwrap()))
        .expect(0)
        .shows("Verdict on B: cannot tell yet");
    desk.dyno(&format!("compare {old} {new}"))
        .expect(0)
        .shows("Verdict on B: worse")
        .shows("5 runs of A against 5 of B");
    let compared = desk
        .dyno(&format!("compare {old} {new} --format json"))
        .expect(0)
        .stdout;
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let side = &compared["baseline"];
    assert_eq!(side["name"], old.replace(',', " + "));
    assert_eq!(
        (side["campaigns"].as_array().unwrap().len(), &side["complete_runs"]),
        (2, &json!(5))
    );
    let runs = &compared["cells"][0]["workloads"][0]["baseline_runs"];
    assert_eq!(runs[0], format!("{first}/001-clients=4-rep1"), "{runs}");
    let report = format!("report {old} {new} --baseline {old} --format json --output -");
    let report: Value = serde_json::from_str(&desk.dyno(&report).expect(0).stdout).unwrap();
    let answer = report["answer"].as_str().unwrap();
    assert!(
        answer.contains(&format!(" is 10 % slower than {}", old.replace(',', " + "))),
        "{answer}"
    );
    desk.dyno(&format!("compare {old} {first}"))
        .expect(1)
        .says("is named twice and cannot be compared with itself");
}

#[test]
fn what_a_pipeline_reads_is_sound_whatever_names_are_like() {
    let desk = Desk::new();
    let old = keep(&desk, "clients = [4]", &[&around(10_000.0)]);
    let new = keep(&desk, "clients = [4]", &[&around(9_000.0)]);
    let hostile = "a<b>&\"c'|*d*";
    std::fs::rename(desk.archive().join(new), desk.archive().join(hostile)).unwrap();
    let words = [
        "compare",
        &old,
        hostile,
        "--fail-if-worse",
        "5%",
        "--junit",
        "j.xml",
        "--markdown",
        "m.md",
    ];
    Ended::of(&mut desk.command(words))
        .expect(3)
        .says("worse by at least 5 %");
    let read = |file: &str| std::fs::read_to_string(desk.path().join(file)).unwrap();
    // TPS and p99 are what can fail.
    let (xml, paper) = (read("j.xml"), read("m.md"));
    assert!(
        xml.contains("tests=\"4\" skipped=\"0\" failures=\"2\" errors=\"0\""),
        "{xml}"
    );
    assert!(
        xml.contains("a&lt;b&gt;&amp;&quot;c&apos;|*d* against ") && !xml.contains("<b>"),
        "{xml}"
    );
    assert!(
        paper.starts_with("## a&lt;b&gt;&amp;\"c'\\|\\*d\\* against "),
        "{paper}"
    );
    assert!(
        paper.contains("| TPS of update, clients = 4 | −10.0 % (") && paper.contains(", worse | failed |"),
        "{paper}"
    );

    // What cannot be written is told, and what was found counts more.
    let full = |limit: &str| {
        let words = [
            "compare",
            &old,
            hostile,
            "--fail-if-worse",
            limit,
            "--junit",
            "/dev/full",
        ];
        Ended::of(&mut desk.command(words))
    };
    full("5%").expect(3).says("note: cannot write /dev/full");
    full("50%").expect(1).says("error: cannot write /dev/full");
}

#[test]
fn what_cannot_be_told_neither_fails_nor_passes_for_better() {
    let desk = Desk::new();
    let old = keep(&desk, "clients = [4]", &[&[10_000.0, 10_100.0]]);
    let new = keep(&desk, "clients = [4]", &[&[5_000.0, 5_100.0]]);
    let ended = desk.dyno(&format!("compare {old} {new} --fail-if-worse 5%")).expect(0);
    ended
        .shows("Verdict on B: cannot tell yet")
        .says("note: 4 of 4 measures cannot be judged yet, and do not fail.");
}

#[test]
fn bad_words_are_refused() {
    let desk = Desk::new();
    let one = keep(&desk, "clients = [4, 8]", &[&around(10_000.0), &around(11_000.0)]);
    let other = keep(&desk, "clients = [16, 32]", &[&around(10_000.0), &around(11_000.0)]);
    let compare = |words: &str| desk.dyno(&format!("compare {words}")).expect(1);
    for percentage in ["five", "-1%", "101%", "NaN", "5%%"] {
        compare(&format!("{one} {other} --fail-if-worse={percentage}"))
            .says("write a percentage from 0 to 100, for example");
    }
    compare(&format!("{one} archive/{one}")).says("cannot be compared with itself; name two campaigns");
    compare(&format!("{one} elsewhere")).says("there is no campaign \"elsewhere\" in archive; see dyno list");
    compare(&one).says("required");
    // A gate that has nothing to look at must not open.
    compare(&format!("{one} {other} --fail-if-worse 5%"))
        .shows("Only A has: clients = 4; clients = 8.")
        .says("error: nothing could be compared: ");
}

#[test]
fn charts_for_people_on_a_terminal() {
    let desk = Desk::new();
    let sweep = keep(&desk, "clients = [1, 4, 16]", &[&[2_000.0], &[8_000.0], &[8_100.0]]);
    let ended = desk.dyno("show --plot").expect(0);
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    ended.shows("TPS").shows("p99 (ms)").shows("knee");

    let ended = desk.dyno(&format!("show --plot {sweep} 2")).expect(0);
    ended
        .shows("TPS of update, 4 clients")
        .shows("time since the load began (s)")
        .shows("warm-up");

    let ascii = Ended::of(desk.command(["show", "--plot", &sweep, "2"]).env("LC_ALL", "C")).expect(0);
    let chart: Vec<&str> = ascii
        .stdout
        .lines()
        .take_while(|line| !line.contains("time since"))
        .collect();
    assert!(
        chart.concat().is_ascii() && chart.concat().contains('*'),
        "{}",
        ascii.stdout
    );

    keep(&desk, "full_page_writes = [\"on\", \"off\"]", &[&[2_000.0], &[3_000.0]]);
    desk.dyno("show --plot").expect(1).says("has numbers as levels");
}

#[test]
fn campaigns_have_names() {
    let desk = Desk::new();
    let database = crate::support::database_alone("e2e_names");
    desk.experiment("quick.toml", "name = \"one\"\nclients = 1", "select 1;", "300ms");
    let run = |words: &str| {
        let words = format!("run quick.toml {words} --target");
        let target = database.target();
        Ended::of(&mut desk.command(words.split_whitespace().chain([target.as_str()]))).expect(0)
    };
    run("--name nightly").ends_with_report();
    run("--name nightly");
    run("");
    let list = desk.dyno("list").expect(0).shows("1 complete").stdout;
    // A heading, and a line for each.
    assert_eq!(
        list.lines().filter(|line| line.contains("quick small")).count(),
        3,
        "{list}"
    );
    let folders: Vec<String> = list
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect();
    assert!(
        folders[0].ends_with("-nightly") && folders[2].ends_with("-quick"),
        "{folders:?}"
    );
    let shown = |name: &str| desk.dyno(&format!("show {name}")).expect(0).stdout;
    let [oldest, middle, newest] = [0, 1, 2].map(|place: usize| shown(&folders[place]));
    assert_eq!(
        [shown("@1"), shown("@2"), shown("@3")],
        [newest.clone(), middle.clone(), oldest]
    );
    // Of several with one name the newest.
    assert_eq!(
        [shown("nightly"), shown("night"), shown("20")],
        [middle.clone(), middle, newest]
    );
    desk.dyno("compare nightly @1").expect(0);
    for unknown in ["@4", "@0", "@x", "weekly"] {
        desk.dyno(&format!("show {unknown}"))
            .expect(1)
            .says(&format!("there is no campaign \"{unknown}\""));
    }
    let listed = |words: &str| {
        let said = desk.dyno(&format!("list --json {words}")).expect(0).stdout;
        serde_json::from_str::<Value>(&said)
            .unwrap()
            .as_array()
            .unwrap()
            .clone()
    };
    assert_eq!(listed("").iter().filter(|one| one["label"] == "nightly").count(), 2);
    assert_eq!(
        (listed("")[0]["runs"]["complete"].clone(), listed("--since 1h").len()),
        (json!(1), 3)
    );
    assert!(listed("--experiment other").is_empty() && listed("--since 2100-01-01").is_empty());
    desk.dyno("list --experiment other")
        .expect(0)
        .shows("There is no such campaign");
    for (words, why) in [
        ("list experiments --since 7d", "are for campaigns: dyno list"),
        ("list runs --json", "leave out runs"),
    ] {
        desk.dyno(words).expect(1).says(why);
    }
    desk.dyno("run quick.toml --name @1")
        .expect(1)
        .says("write 1 to 60 characters");
}

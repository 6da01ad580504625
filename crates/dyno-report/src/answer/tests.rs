//! Answers word by word.

use super::*;
use crate::terminal::campaign_tests::{Fate, campaign};
use dyno_archive::Ratio;
use std::time::Duration;

fn known(answer: Verdict, ratios: &[(Measure, f64, f64, f64)]) -> Versus {
    let ratio = |(measure, ratio, low, high): &(Measure, f64, f64, f64)| Ratio {
        measure: *measure,
        ratio: *ratio,
        low: *low,
        high: *high,
    };
    Versus {
        factor: "target".to_owned(),
        baseline: "embedded:14".to_owned(),
        candidate: "embedded:18".to_owned(),
        detect: 0.03,
        measure: Measure::Throughput,
        answer,
        ratios: ratios.iter().map(ratio).collect(),
        blocks: 100,
        left_out: 0,
        more_blocks: Some(45),
        block_s: 2.0,
        measured_s: 200.0,
        notes: Vec::new(),
        further: Vec::new(),
    }
}

const TARGETS: &str = "[factors]\ntarget = [\"embedded:14\", \"embedded:18\"]\n[plan]\norder = \"listed\"\n";

/// A campaign of two versions, whose servers call themselves so.
fn versions(archive: &std::path::Path) -> Campaign {
    let mut campaign = campaign(archive, TARGETS, |_| Fate::Complete(1_000.0));
    for run in &mut campaign.runs {
        let record = run.record.as_mut().unwrap();
        let version = record.cell["target"].replace("embedded:", "PostgreSQL ");
        record.server = serde_json::json!({ "version": format!("{version} on x86_64-pc-linux-gnu, 64-bit") });
    }
    campaign
}

#[test]
fn what_was_measured_in_turn_is_one_sentence() {
    let archive = tempfile::tempdir().unwrap();
    let campaign = versions(archive.path());
    let answer = |versus: &Versus| turns::pair(versus, &campaign).sentence();
    let throughput = |ratio, low, high| (Measure::Throughput, ratio, low, high);
    let (p95, p99) = ((Measure::P95, 0.97, 0.9, 1.02), (Measure::P99, 0.89, 0.85, 0.93));
    let faster = known(Verdict::Higher, &[throughput(1.07, 1.05, 1.09), p95, p99]);
    assert_eq!(
        answer(&faster),
        "PostgreSQL 18 is 7 % faster than PostgreSQL 14 on updates (+5 to +9 %, 95 %), p99 11 % lower; decided after \
         3 min 20 s."
    );
    let slower = known(Verdict::Lower, &[throughput(0.948, 0.91, 0.985)]);
    assert_eq!(
        answer(&slower),
        "PostgreSQL 18 is 5.2 % slower than PostgreSQL 14 on updates (−9 to −1.5 %, 95 %); decided after 3 min 20 s."
    );
    let same = known(Verdict::Same, &[throughput(1.001, 0.98, 1.02)]);
    assert_eq!(
        answer(&same),
        "PostgreSQL 18 and PostgreSQL 14 are the same within 3 % in throughput on updates (−2 to +2 %, 95 %); decided \
         after 3 min 20 s."
    );
    let open = known(Verdict::Unknown, &[throughput(1.02, 0.97, 1.06), p99]);
    assert_eq!(
        answer(&open),
        "PostgreSQL 18 beside PostgreSQL 14 on updates: not decided after 3 min 20 s; throughput −3 to +6 %, 95 %, \
         p99 11 % lower; if that is so, about 1 min 30 s more would decide it."
    );
    assert_eq!(
        answer(&known(Verdict::Unknown, &[])),
        "PostgreSQL 18 beside PostgreSQL 14 on updates: not known after 3 min 20 s, there were too few blocks to \
         compare."
    );
    assert_eq!(
        versus_line(&open, Duration::from_secs(200), Duration::from_secs(600)),
        "throughput: −3 to +6 %, 95 %; 6 min 40 s left at most; embedded:18 beside embedded:14"
    );
    let clients = Versus {
        factor: "clients".to_owned(),
        baseline: "8".to_owned(),
        candidate: "16".to_owned(),
        ..faster
    };
    assert!(answer(&clients).starts_with("clients = 16 is 7 % faster than clients = 8 on updates ("));
    let latency = known(Verdict::Lower, &[(Measure::P95, 0.9, 0.85, 0.95)]);
    let latency = Versus {
        measure: Measure::P95,
        ..latency
    };
    assert!(answer(&latency).starts_with("PostgreSQL 18 has 10 % less p95 latency than PostgreSQL 14 on updates ("));
}

/// The answer of a campaign with this end of its file, in which the runs of the cells have these TPS.
fn of_runs(end: &str, tps: &[&[f64]]) -> String {
    let archive = tempfile::tempdir().unwrap();
    let end = format!("{end}\n[plan]\norder = \"listed\"\nrepetitions = {}\n", tps[0].len());
    let campaign = campaign(archive.path(), &end, |run| {
        let cell = (run.number - 1) % tps.len();
        match tps[cell].get(run.repetition - 1) {
            Some(tps) => Fate::Complete(*tps),
            None => Fate::NotMade,
        }
    });
    answer(&campaign).unwrap()
}

#[test]
fn two_cells_are_told_as_two_variants_with_the_first_as_baseline() {
    let factor = "[factors]\nfull_page_writes = [\"on\", \"off\"]";
    let slow = [1_000.0, 1_010.0, 990.0, 1_005.0];
    let fast = slow.map(|tps| tps * 1.07);
    assert_eq!(
        of_runs(factor, &[&slow, &fast]),
        "full_page_writes = off is 7 % faster than full_page_writes = on on updates (+5.4 to +8.5 %, 95 %); decided by \
         4 runs of each."
    );
    assert_eq!(
        of_runs(factor, &[&fast[..1], &slow[..1]]),
        "full_page_writes = off beside full_page_writes = on on updates: not decided by one run of each; throughput \
         −6.5 %; a verdict takes at least 4 runs of each (--repeat 4)."
    );
    assert_eq!(
        of_runs(factor, &[&slow, &[]]),
        "There is no answer on updates, because only one of 2 cells has a complete run."
    );
    assert_eq!(
        of_runs(factor, &[&[0.0; 4], &[0.0; 4]]),
        "full_page_writes = off beside full_page_writes = on on updates: not known by 4 runs of each, one of them has \
         nothing that could be compared."
    );
}

#[test]
fn of_more_cells_the_best_is_told_beside_the_next() {
    let factor = "[factors]\nclients = [1, 4, 16]";
    let one = [1_000.0, 1_010.0, 990.0, 1_005.0];
    let times = |factor: f64| one.map(|tps| tps * factor);
    assert_eq!(
        of_runs(factor, &[&one, &times(3.0), &times(2.0)]),
        "clients = 4 is the fastest of 3 on updates, 50 % faster than clients = 16, the next (+47.8 to +52.1 %, 95 \
         %); decided by 4 runs of each."
    );
    assert_eq!(
        of_runs(factor, &[&one[..3], &times(0.5)[..3], &times(1.001)[..3]]),
        "Which of 3 is best on updates is not decided by 3 runs of each: clients = 16 beside clients = 1, the next: \
         throughput −1.9 to +2.1 %, 95 %; even 100 more runs of each would hardly decide it."
    );
}

#[test]
fn rates_are_no_merit_of_the_system() {
    let rates = "[factors]\nrate = [500, 1000]";
    let archive = tempfile::tempdir().unwrap();
    let open = |rate: f64| {
        let mut summary = crate::fixture::update();
        summary.workloads[0].pacing = dyno_archive::summary::Pacing::Open { rate_per_s: rate };
        summary.workloads[0].tps = rate;
        Fate::Found(Box::new(summary))
    };
    let asked = campaign(archive.path(), rates, |run| {
        open(f64::from(run.cell["rate"].parse::<u32>().unwrap()))
    });
    let said = answer(&asked).unwrap();
    assert!(said.starts_with("Every rate up to 1,000/s was sustained"), "{said}");
    // At one rate latency decides.
    let archive = tempfile::tempdir().unwrap();
    let alike = campaign(
        archive.path(),
        "[factors]\nfull_page_writes = [\"on\", \"off\"]",
        |_| open(500.0),
    );
    let said = answer(&alike).unwrap();
    assert!(
        said.contains("not decided by one run of each; p95 latency +0 %;"),
        "{said}"
    );
}

/// The answer of a campaign of two levels, of which each run has these figures.
fn of_summaries(summary: impl Fn(&str) -> dyno_archive::summary::Summary) -> (String, String) {
    let archive = tempfile::tempdir().unwrap();
    let campaign = campaign(archive.path(), "[factors]\nclients = [1, 4]", |run| {
        Fate::Found(Box::new(summary(&run.cell["clients"])))
    });
    let shown = crate::terminal::campaign(&campaign, true, crate::table::Page::new(120));
    (answer(&campaign).unwrap(), shown)
}

#[test]
fn each_of_several_workloads_has_its_own_answer() {
    let with = |factor: f64| {
        let mut summary = crate::fixture::update();
        let mut pay = summary.workloads[0].clone();
        (pay.name, pay.tps) = ("pay".to_owned(), 100.0 * factor);
        summary.workloads.push(pay);
        summary
    };
    let (said, _) = of_summaries(|clients| with(if clients == "4" { 0.5 } else { 1.0 }));
    assert_eq!(
        said,
        "update: clients = 4 beside clients = 1 on updates: not decided by one run of each; throughput +0 %; a verdict \
         takes at least 4 runs of each (--repeat 4). pay: clients = 4 beside clients = 1 on updates: not decided by \
         one run of each; throughput −50 %; a verdict takes at least 4 runs of each (--repeat 4)."
    );
    // One that only one cell has is beside nothing.
    let (said, _) = of_summaries(|clients| {
        if clients == "4" {
            with(1.0)
        } else {
            crate::fixture::update()
        }
    });
    assert!(said.starts_with("update: ") && !said.contains("pay: "), "{said}");
}

#[test]
fn rates_of_different_times_have_no_best_sum() {
    let (said, shown) = of_summaries(|_| {
        let mut summary = crate::fixture::update();
        let mut consume = summary.workloads[0].clone();
        consume.name = "consume".to_owned();
        summary.workloads.push(consume);
        summary.workloads[0].transactions_per_client = Some(10);
        summary
    });
    assert!(
        said.starts_with("There is no single answer on updates, because the rates of workloads that end after"),
        "{said}"
    );
    assert!(!shown.contains("throughput of") && !shown.contains(" all "), "{shown}");
}

#[test]
fn a_tps_of_single_times_is_not_compared_with_another() {
    let of_times = |summary: &mut dyno_archive::summary::Summary| {
        let workload = &mut summary.workloads[0];
        (workload.transactions, workload.completion.after_end) = (4, 4);
    };
    let (said, shown) = of_summaries(|clients| {
        let mut summary = crate::fixture::update();
        if clients == "4" {
            of_times(&mut summary);
        }
        summary
    });
    assert!(said.contains("made of the times of single transactions"), "{said}");
    assert!(!shown.contains("throughput of"), "{shown}");
    let (alike, _) = of_summaries(|_| {
        let mut summary = crate::fixture::update();
        of_times(&mut summary);
        summary
    });
    assert!(alike.contains("not decided by one run of each"), "{alike}");
}

#[test]
fn what_was_not_finished_is_no_zero() {
    let (said, shown) = of_summaries(|clients| {
        let mut summary = crate::fixture::update();
        if clients == "4" {
            let workload = &mut summary.workloads[0];
            (workload.transactions, workload.tps, workload.latency) = (0, 0.0, None);
            workload.completion.longer_than_s = Some(60.0);
        }
        summary
    });
    assert_eq!(
        said,
        "There is no answer on updates, because not all was finished: with clients = 4 a transaction takes longer \
         than 60.0 s."
    );
    assert!(shown.contains("longer than 60.0 s"), "{shown}");
}

#[test]
fn what_compares_nothing_has_no_answer() {
    let archive = tempfile::tempdir().unwrap();
    let alone = campaign(archive.path(), "[plan]\nrepetitions = 3\n", |_| Fate::Complete(1_000.0));
    assert_eq!(answer(&alone), None);
    let archive = tempfile::tempdir().unwrap();
    let failed = campaign(archive.path(), TARGETS, |_| Fate::Failed("the server did not start"));
    assert_eq!(
        answer(&failed).unwrap(),
        "There is no answer on updates, because no run is complete."
    );
}

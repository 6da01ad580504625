//! How long `dyno serve` takes to list an archive of many runs: the first time, when it knows nothing, and again.
//!
//!     cargo bench --bench serve_list -- [--runs 1000]

use dyno_analysis::summary::SummaryBuilder;
use dyno_archive::plan::{PlannedRun, Size};
use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{CampaignRecord, CampaignWriter, RunRecord, RunState};
use dyno_bench::{Result, Spread, archive, get, option};
use dyno_lab::experiment::find;
use dyno_record::{Interval, Recording};
use dyno_serve::{Options, Server};
use jiff::{SignedDuration, Zoned};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

const TIMES: usize = 10;

fn main() -> Result<()> {
    let runs: usize = option("--runs", 1_000)?;
    let folder = tempfile::tempdir()?;
    let bytes = fill(folder.path(), runs)?;
    let (mut first, mut again, mut page_bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..TIMES {
        let server = Server::bind(Options {
            archive: folder.path().to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: None,
        })?;
        let (address, stopper) = (server.address(), server.stopper());
        let thread = std::thread::spawn(move || server.run());
        for times in [&mut first, &mut again] {
            let begun = Instant::now();
            page_bytes = get(address, "/")?.len();
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        stopper.stop();
        thread.join().map_err(|_| "the server panicked")??;
    }
    let row = |what: &str, times: &[f64]| {
        let spread = Spread::of(times.iter().copied());
        format!(
            "| {what} | {:.0} | {:.0} | {:.0} |\n",
            spread.median, spread.min, spread.max
        )
    };
    let text = format!(
        "| list of {runs} runs, ms | median | min | max |\n|---|---|---|---|\n{}{}",
        row("first time", &first),
        row("again", &again)
    );
    print!("{text}");
    let facts = json!({
        "summary": format!("{runs} campaigns of one run, {bytes} bytes of run.json each, a page of {page_bytes} \
                            bytes; {TIMES} servers."),
    });
    let results = json!({ "first_ms": first, "again_ms": again });
    println!("\nKept in {}", archive("serve-list", facts, results, &text)?.display());
    Ok(())
}

/// Writes campaigns of one short run, each with as many settings as a server has. Gives back how large a `run.json` is.
fn fill(folder: &Path, runs: usize) -> Result<u64> {
    const SETTINGS: usize = 400;
    let plan = find("pk-update")?.plan(Size::Small, &[], None, 1, 2)?;
    let experiment = plan.cells.first().ok_or("no cell")?.experiment.clone();
    let phases = experiment.phases();
    let second = Duration::from_secs(1);
    let facts = vec![WorkloadFacts {
        statements: vec!["update tbl set crt_time = now() where id = :id;".to_owned()],
        ..WorkloadFacts::closed("update", 8, 2)
    }];
    let settings = (0..SETTINGS).map(|number| {
        (
            format!("setting_{number}"),
            json!({ "value": "on", "source": "default" }),
        )
    });
    let server = json!({ "version": "PostgreSQL 18.6", "settings": settings.collect::<serde_json::Map<_, _>>() });
    let mut recording = Recording::new(1);
    for number in 0..1_000 {
        recording.transactions += 1;
        recording.statements += 1;
        recording.latency.record(500_000 + 500 * number);
    }
    let interval = Interval {
        phase: 1,
        start: second,
        duration: second,
        first_thread_whole: true,
        recordings: vec![recording],
    };
    let (planned, mut bytes) = (PlannedRun::repetition(1), 0);
    let begun = Zoned::now();
    for number in 0..runs {
        let started = &begun + SignedDuration::from_secs(i64::try_from(number)?);
        let command = "dyno run pk-update".to_owned();
        let record = CampaignRecord::new(experiment.clone(), command.clone(), started, 1, vec![planned.clone()]);
        let campaign = CampaignWriter::create(folder, &record)?;
        let mut record = RunRecord::new("embedded".to_owned(), command, facts.clone(), &phases, second);
        record.server = server.clone();
        let mut run = campaign.run(&planned, record)?;
        run.begin()?;
        run.interval(&interval)?;
        let mut summary = SummaryBuilder::new(&facts, second);
        summary.interval("measure", &interval);
        let path = run.path().join("run.json");
        run.finish(RunState::Complete, summary.build())?;
        bytes = path.metadata()?.len();
    }
    Ok(bytes)
}

//! What this build costs beside an earlier one: CPU of its clients, against a server and against the responder, with
//! few connections and with very many, of loading, and the time that a report takes; the two in turn.
//!
//!     cargo bench --bench earlier -- --earlier FILE [--pairs 10] [--seconds 3] [--only client-unix-16-1-io_uring]
//!
//! `FILE` is the earlier `dyno`, built by `cargo build --release` in a worktree of that commit. Groups to choose from
//! by `--only` are client, ceiling, scale, report and init.

use dyno_archive::RunState;
use dyno_bench::{
    BenchServer, Client, Initialization, Result, Spread, archive, begin_night, dyno_binary, in_turn, loads, night_pace,
    option, report_wall_s, run_ceiling, run_dyno, run_initialization, run_pgbench,
};
use dyno_ceiling::Responder;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `pgbench -S` does, for a responder that has no tables.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/select-only.sql");

/// One that is to be compared, and what was found so far.
struct Bench {
    new: PathBuf,
    earlier: PathBuf,
    pairs: usize,
    only: String,
    table: String,
    results: Vec<Value>,
}

impl Bench {
    fn wants(&self, case: &str) -> bool {
        case.starts_with(&self.only) || self.only.starts_with(&format!("{case}-"))
    }

    /// Has `run` measure one build after the other.
    fn compare(&mut self, case: &str, unit: &str, run: impl Fn(&Path) -> Result<f64>) -> Result<()> {
        if !case.starts_with(&self.only) {
            return Ok(());
        }
        let measured = in_turn(self.pairs, || run(&self.new), || run(&self.earlier))?;
        let new = Spread::of(measured.iter().map(|pair| pair.0));
        let earlier = Spread::of(measured.iter().map(|pair| pair.1));
        let ratio = Spread::of(measured.iter().map(|pair| pair.0 / pair.1));
        let row = format!("| {case} | {unit} | {new} | {earlier} | {ratio:.3} |\n");
        print!("{row}");
        write!(self.table, "{row}")?;
        self.results.push(json!({
            "case": case, "unit": unit, "new": new, "earlier": earlier, "ratio": ratio, "pairs": measured,
        }));
        Ok(())
    }
}

fn main() -> Result<()> {
    let earlier: PathBuf = option("--earlier", PathBuf::new())?;
    if !earlier.is_file() {
        return Err("give the earlier program: --earlier FILE".into());
    }
    let seconds: u64 = option("--seconds", 3)?;
    let mut bench = Bench {
        new: dyno_binary()?,
        earlier,
        pairs: option("--pairs", 10)?,
        only: option("--only", String::new())?,
        table: "| case | unit | this build | earlier | ratio |\n|---|---|---|---|---|\n".to_owned(),
        results: Vec::new(),
    };
    print!("{}", bench.table);
    if bench.wants("client") {
        clients(&mut bench, seconds)?;
    }
    if bench.wants("ceiling") {
        ceilings(&mut bench, seconds)?;
    }
    if bench.wants("scale") {
        very_many(&mut bench, seconds)?;
    }
    if bench.wants("report") {
        reports(&mut bench)?;
    }
    if bench.wants("init") {
        initializations(&mut bench)?;
    }
    let facts = json!({
        "summary": format!(
            "{} pairs in turn, {seconds} s each where a load runs. Each cell is the median (minimum–maximum); ratios \
             are this build / the earlier one, pair by pair. CPU is that of the whole process per transaction; in \
             scale, that of the measured phase.",
            bench.pairs
        ),
    });
    let path = archive("earlier", facts, json!(bench.results), &bench.table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}

/// The loads of `client_cost`, and 500 clients.
fn clients(bench: &mut Bench, seconds: u64) -> Result<()> {
    let server = BenchServer::start()?;
    let many = [false, true].map(|tcp| {
        let client = Client {
            clients: 500,
            threads: 1,
            tcp,
            seconds,
        };
        (client, "io_uring")
    });
    for (client, transport) in loads(seconds).chain(many) {
        bench.compare(&format!("client-{}", client.case(transport)), "µs/tx", |dyno| {
            Ok(run_dyno(dyno, &server, client, &["--no-sampling", "--transport", transport])?.cpu_us())
        })?;
    }
    Ok(())
}

/// The loads of `ceiling_cost`.
fn ceilings(bench: &mut Bench, seconds: u64) -> Result<()> {
    for tcp in [false, true] {
        for (clients, threads) in [(1, 1), (16, 1), (64, 2)] {
            let client = Client {
                clients,
                threads,
                tcp,
                seconds,
            };
            let responder = Responder::start(&bench.new, &["responder".to_owned(), format!("--threads={threads}")])?;
            let case = format!("ceiling-{}-{clients}-{threads}", client.path());
            bench.compare(&case, "µs/tx", |dyno| {
                let mut command = Command::new(dyno);
                command.arg("pgbench");
                Ok(run_pgbench(command, &responder, client, &["-M", "prepared", "-f", SCRIPT])?.cpu_us())
            })?;
        }
    }
    Ok(())
}

/// The loads of `scale` against the responder.
fn very_many(bench: &mut Bench, seconds: u64) -> Result<()> {
    let home = tempfile::tempdir()?;
    for tcp in [false, true] {
        for clients in [16, 10_000] {
            let client = Client {
                clients,
                threads: 1,
                tcp,
                seconds,
            };
            let case = format!("scale-{}-{clients}", client.path());
            bench.compare(&case, "µs/tx", |dyno| {
                Ok(run_ceiling(dyno, client, home.path())?.cpu_us())
            })?;
        }
    }
    Ok(())
}

/// The reports of a long night.
fn reports(bench: &mut Bench) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let failed = |error: dyno_fixtures::Error| error.to_string();
    let fixture = begin_night(folder.path(), 8).map_err(failed)?;
    let campaign = fixture.path().to_owned();
    let mut made = fixture.run(&fixture.runs()[0], night_pace).map_err(failed)?;
    while made.step().map_err(failed)? {}
    made.finish(RunState::Complete).map_err(failed)?;
    // Its end is the end of the campaign.
    drop(fixture);
    for form in ["html", "json", "csv"] {
        let file = folder.path().join("report");
        bench.compare(&format!("report-{form}"), "wall s", |dyno| {
            report_wall_s(dyno, form, &file, &campaign)
        })?;
    }
    Ok(())
}

/// pgbench's tables, as in `init_cost`.
fn initializations(bench: &mut Bench) -> Result<()> {
    let server = BenchServer::start()?;
    for unlogged in [false, true] {
        let what = Initialization { scale: 50, unlogged };
        let tables = if unlogged { "unlogged" } else { "logged" };
        bench.compare(&format!("init-{tables}"), "CPU s", |dyno| {
            Ok(run_initialization(Command::new(dyno).arg("pgbench"), &server, what)?.cpu_s())
        })?;
    }
    Ok(())
}

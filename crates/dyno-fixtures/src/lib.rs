//! Archives that nobody measured: campaigns of any length, made up in seconds and written by the archive's own writer.
//!
//! What reads archives (reports, the local server, comparisons) is to be tested on eight hours, on hundreds of runs
//! and on names that are attacks. Measuring all that would take days and never give the same twice. What is made up
//! here looks like a real server's work: checkpoints, full page images after them, vacuums, a lock that stops
//! everybody, latencies that follow from throughput and clients. Everything follows from the plan's seed.

mod disturbances;
mod facts;
mod hostile;
mod recordings;
mod run;
mod samples;
mod series;

pub use hostile::{HOSTILE, hostile};
pub use run::{MadeRun, Pace};
pub use series::series;

use dyno_archive::plan::{Plan, PlannedRun, Size};
use dyno_archive::{CampaignRecord, CampaignWriter, RunState};
use dyno_lab::experiment::Experiment;
use jiff::Zoned;
use std::path::{Path, PathBuf};

/// What may go wrong: the experiment does not follow the rules of experiment files, or the archive cannot be written.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The seed of all plans.
const SEED: u64 = 1;
/// The cores of the machine on which all this did not happen.
const CORES: usize = 2;

/// A campaign in the making.
pub struct Fixture {
    plan: Plan,
    writer: CampaignWriter,
}

impl Fixture {
    /// Makes the folder of a campaign in `archive`: of the experiment in the text `experiment`, which is called
    /// `name`, begun at `started`, such as `2026-11-21T19:40:12[UTC]`.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn begin(archive: &Path, name: &str, experiment: &str, started: &str) -> Result<Self, Error> {
        Self::begin_part(archive, name, experiment, started, None)
    }

    /// The same as a part of a series.
    fn begin_part(
        archive: &Path,
        name: &str,
        experiment: &str,
        started: &str,
        series: Option<String>,
    ) -> Result<Self, Error> {
        let file = PathBuf::from(format!("{name}.toml"));
        let experiment = Experiment::parse(&file, experiment).map_err(|wrong| wrong.to_string())?;
        let plan = experiment.plan(Size::Full, &[], None, SEED, CORES)?;
        let started: Zoned = started.parse()?;
        let command = format!("dyno run {name}.toml --size full");
        let mut record = CampaignRecord::of(&plan, command, started).ok_or("there is nothing to measure")?;
        record.target = "embedded:18".to_owned();
        record.series = series;
        let writer = CampaignWriter::create(archive, &record)?;
        Ok(Self { plan, writer })
    }

    /// The campaign's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// The runs in the order of the plan.
    #[must_use]
    pub fn runs(&self) -> &[PlannedRun] {
        &self.plan.runs
    }

    /// Begins a run, in which the workload of a name goes at the given pace.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn run(&self, run: &PlannedRun, pace: impl Fn(&str) -> Pace) -> Result<MadeRun, Error> {
        let cell = self.plan.cell_of(run).ok_or("no run of this plan")?;
        MadeRun::begin(&self.writer, run, &cell.experiment, pace)
    }

    /// Makes all runs from begin to end, and gives back the campaign's folder.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn complete(self, pace: impl Fn(&PlannedRun, &str) -> Pace) -> Result<PathBuf, Error> {
        for run in self.runs() {
            let mut made = self.run(run, |workload| pace(run, workload))?;
            while made.step()? {}
            made.finish(RunState::Complete)?;
        }
        Ok(self.path().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::Archive;
    use dyno_archive::analysis::Cause;

    const UPDATE: &str = r#"
        title = "Update"
        [server]
        settings.full_page_writes = "on"
        [[workload]]
        name    = "update"
        clients = 8
        script  = "update tbl set crt_time = now() where id = 1;"
        [phases]
        warmup  = "5s"
        measure = "4m"
        [factors]
        full_page_writes = [true, false]
    "#;

    fn pace() -> Pace {
        Pace {
            tps: 500.0,
            spread: 0.02,
            error: String::new(),
        }
    }

    #[test]
    fn what_is_made_up_reads_like_what_was_measured() {
        let archive = tempfile::tempdir().unwrap();
        let fixture = Fixture::begin(archive.path(), "update", UPDATE, "2026-11-21T19:40:12[UTC]").unwrap();
        fixture.complete(|_, _| pace()).unwrap();
        let campaigns = Archive::new(archive.path()).campaigns().unwrap();
        let runs = &campaigns[0].runs;
        assert_eq!(runs.len(), 2);
        for run in runs {
            let record = run.record.as_ref().unwrap();
            let summary = record.summary.as_ref().unwrap();
            assert_eq!((run.state, summary.measured_s), (RunState::Complete, 240.0));
            let tps = summary.workloads[0].tps;
            assert!((400.0..500.0).contains(&tps), "{tps}");
            // By Little's law: clients = throughput × latency.
            let clients = tps * summary.workloads[0].latency.unwrap().mean_us / 1e6;
            assert!((6.5..9.5).contains(&clients), "{clients}");
            let dips = &record.analysis.as_ref().unwrap().dips;
            assert!(dips.iter().any(|dip| dip.cause == Cause::Lock), "{dips:?}");
            assert_eq!(run.intervals().unwrap().count(), 245);
            assert_eq!(run.host_samples(|_| true).at_s.len(), 245);
            assert!(run.waits().count() >= 245);
        }
    }

    #[test]
    fn the_same_each_time() {
        let files = || {
            let archive = tempfile::tempdir().unwrap();
            let fixture = Fixture::begin(archive.path(), "update", UPDATE, "2026-11-21T19:40:12[UTC]").unwrap();
            let folder = fixture.complete(|_, _| pace()).unwrap();
            let run = std::fs::read_dir(&folder)
                .unwrap()
                .find(|entry| entry.as_ref().unwrap().path().is_dir());
            let run = run.unwrap().unwrap().path();
            // Rows end with the time of day, which is not the same.
            let without_time = |text: String| {
                let lines = text
                    .lines()
                    .map(|line| line.rsplit_once(',').map_or(line, |(row, _)| row));
                lines.collect::<Vec<_>>().join("\n")
            };
            let of = |file: &str| std::fs::read_to_string(run.join(file)).unwrap();
            let csv = ["intervals.csv", "server.csv", "host.csv", "waits.csv"].map(|file| without_time(of(file)));
            (csv, of("events.jsonl"))
        };
        assert_eq!(files(), files());
    }

    #[test]
    fn hostile_names_come_through_as_they_are() {
        let archive = tempfile::tempdir().unwrap();
        let folder = hostile(archive.path()).unwrap();
        let text = std::fs::read_to_string(folder.join("campaign.json")).unwrap();
        assert!(text.contains("<img src=x onerror=alert(1)>"));
        let campaigns = Archive::new(archive.path()).campaigns().unwrap();
        let record = campaigns[0].runs[0].record.as_ref().unwrap();
        let errors = &record.summary.as_ref().unwrap().workloads[0].errors_by_state;
        assert_eq!(errors[0].example, HOSTILE);
    }
}

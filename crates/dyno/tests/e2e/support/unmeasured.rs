//! Campaigns that were never made, written as dyno writes them.

use dyno_analysis::summary::SummaryBuilder;
use dyno_archive::plan::{PlannedRun, Resolved, Size};
use dyno_archive::summary::{Summary, WorkloadFacts};
use dyno_archive::{CampaignRecord, CampaignWriter, RunRecord, RunState, RunWriter};
use dyno_lab::experiment::find;
use dyno_record::{Interval, Recording};
use std::path::Path;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A campaign that goes on for as long as it is not dropped.
pub struct Campaign {
    writer: CampaignWriter,
    experiment: Resolved,
    plan: Vec<PlannedRun>,
}

/// A run that goes on.
pub struct Load {
    writer: RunWriter,
    builder: SummaryBuilder,
    seconds: u32,
}

impl Campaign {
    /// A campaign of so many runs that begins at this second, with a title.
    pub fn begin(archive: &Path, second: u32, runs: usize, title: &str) -> Self {
        let plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 1, 2).unwrap();
        let mut experiment = plan.cells[0].experiment.clone();
        title.clone_into(&mut experiment.title);
        let started = format!("2026-11-21T19:40:{second:02}+00:00[UTC]").parse().unwrap();
        let plan: Vec<PlannedRun> = (1..=runs).map(PlannedRun::repetition).collect();
        let command = "dyno run pk-update".to_owned();
        let record = CampaignRecord::new(experiment.clone(), command, started, 1, plan.clone());
        Self {
            writer: CampaignWriter::create(archive, &record).unwrap(),
            experiment,
            plan,
        }
    }

    pub fn name(&self) -> String {
        self.writer.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Begins a run, counted from 1.
    pub fn run(&self, number: usize) -> Load {
        let facts = facts();
        let phases = self.experiment.phases();
        let mut record = RunRecord::new("test".to_owned(), String::new(), facts.clone(), &phases, SECOND);
        record.number = number;
        record.repetition = number;
        let mut writer = self.writer.run(&self.plan[number - 1], record).unwrap();
        writer.begin().unwrap();
        Load {
            writer,
            builder: SummaryBuilder::new(&facts, SECOND),
            seconds: 0,
        }
    }
}

fn facts() -> Vec<WorkloadFacts> {
    vec![WorkloadFacts {
        statements: vec!["update tbl set crt_time = now() where id = :id;".to_owned()],
        ..WorkloadFacts::closed("update", 8, 2)
    }]
}

impl Load {
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Goes on for so many seconds with this many transactions in each.
    pub fn go_on(&mut self, seconds: u32, tps: u64) {
        for _ in 0..seconds {
            let mut recording = Recording::new(1);
            (recording.transactions, recording.statements) = (tps, tps);
            for number in 0..tps {
                recording.latency.record(500_000 + 500 * number);
            }
            let interval = Interval {
                phase: usize::from(self.seconds >= 5),
                start: SECOND * self.seconds,
                duration: SECOND,
                first_thread_whole: true,
                recordings: vec![recording],
            };
            self.writer.interval(&interval).unwrap();
            if interval.phase == 1 {
                self.builder.interval("measure", &interval);
            }
            self.seconds += 1;
        }
    }

    /// Ends it.
    pub fn finish(self) {
        let summary: Summary = self.builder.build();
        self.writer.finish(RunState::Complete, summary).unwrap();
    }
}

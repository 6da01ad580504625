//! How a campaign goes on: its runs as they begin, go on and end.

use crate::campaign::cells::tps_words;
use crate::campaign::latencies::p99_words;
use crate::capacity;
use crate::completion;
use crate::figures::{counted, duration};
use crate::live::live_line;
use crate::terminal::finished;
use dyno_analysis::progress::{FinishedRun, Live, Upcoming};
use dyno_archive::plan::PlannedRun;
use dyno_archive::summary::Summary;
use dyno_archive::{Capacity, RunState};
use std::time::Duration;

/// The line that announces a run of several.
#[must_use]
pub fn upcoming_line(run: &Upcoming) -> String {
    let left = run
        .lasts
        .zip(run.afterwards)
        .map(|(lasts, after)| lasts.saturating_add(after));
    let left = left.map_or_else(String::new, |left| {
        format!("; about {} left in total", duration(whole_seconds(left)))
    });
    format!("Run {} of {}{}{left}", run.planned.number, run.of, cell(&run.planned))
}

/// The line that is shown while one of several runs goes on, without a line break.
#[must_use]
pub fn progress_line(live: &Live, run: &Upcoming) -> String {
    let in_all = live
        .left
        .zip(run.afterwards)
        .map(|(left, after)| left.saturating_add(after));
    let in_all = in_all.map_or_else(String::new, |left| {
        format!(", {} in all", duration(whole_seconds(left)))
    });
    format!("{}/{} {}{in_all}", run.planned.number, run.of, live_line(live))
}

/// What came of a run: its summary if it is alone or a repetition of the same, else the figures that matter, and
/// where everything else is.
#[must_use]
pub fn finished_run(run: &FinishedRun, of: Option<usize>) -> String {
    let folder = run.folder.display();
    let saved = match run.archive_error() {
        Some(_) => "Saved in part",
        None => "Saved",
    };
    let kept = format!("{saved} in {folder} ({})", run.state);
    if let Some(known) = run.folder.parent().and_then(Capacity::read) {
        let failure = run.failure.as_ref().map_or_else(String::new, |why| format!("{why}\n"));
        return format!("\n{}\n{failure}{kept}", capacity::page(&known));
    }
    let in_full = of.is_none() || run.planned.cell.is_empty();
    match finished(run, of.is_none()).filter(|_| in_full) {
        Some(text) => format!("\n{text}\n{kept}"),
        None => {
            let of = of.map_or_else(String::new, |of| format!(" of {of}"));
            let figures = run
                .summary
                .as_ref()
                .filter(|_| run.state != RunState::Failed)
                .map(figures_in_short);
            let said = figures
                .into_iter()
                .chain(run.failure.clone())
                .collect::<Vec<_>>()
                .join("; ");
            format!(
                "Run {}{of} ({}){}: {said}\n{saved} in {folder}",
                run.planned.number,
                run.state,
                cell(&run.planned)
            )
        }
    }
}

/// The figures that matter, in one line.
fn figures_in_short(summary: &Summary) -> String {
    let errors: u64 = summary.workloads.iter().map(|workload| workload.errors).sum();
    let p99 = p99_words(summary).map_or_else(String::new, |p99| format!(", p99 {p99}"));
    let figures = completion::figures_in_short(&summary.workloads);
    let figures = figures.unwrap_or_else(|| format!("{} tps", tps_words(summary)));
    format!("{figures}{p99}, {}", counted(errors, "error"))
}

/// The levels and the repetition of a run.
fn cell(planned: &PlannedRun) -> String {
    let levels = planned.cell.iter().map(|(factor, level)| format!("{factor} = {level}"));
    let repetition =
        (planned.repetition > 1 || planned.cell.is_empty()).then(|| format!("repetition {}", planned.repetition));
    let parts: Vec<String> = levels.chain(repetition).collect();
    format!(": {}", parts.join(", "))
}

fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs_f64().ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_analysis::progress::LiveLatency;
    use insta::assert_snapshot;

    fn planned(cell: &[(&str, &str)], repetition: usize) -> PlannedRun {
        let levels = cell
            .iter()
            .map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned()));
        PlannedRun {
            number: 3,
            cell: levels.collect(),
            repetition,
        }
    }

    fn upcoming() -> Upcoming {
        Upcoming {
            planned: planned(&[("clients", "16"), ("fsync", "on")], 2),
            of: 40,
            lasts: Some(Duration::from_millis(20_500)),
            afterwards: Some(Duration::from_secs(700)),
        }
    }

    #[test]
    fn a_run_is_announced_with_its_levels() {
        assert_snapshot!(upcoming_line(&upcoming()), @"Run 3 of 40: clients = 16, fsync = on, repetition 2; about \
            12 min 1 s left in total");
        let endless = Upcoming {
            planned: planned(&[], 1),
            lasts: None,
            ..upcoming()
        };
        assert_snapshot!(upcoming_line(&endless), @"Run 3 of 40: repetition 1");
    }

    #[test]
    fn a_run_of_several_says_how_far_all_are() {
        let live = Live {
            phase: "measure".to_owned(),
            elapsed: Duration::from_secs(9),
            tps: 12_345.6,
            latencies: vec![LiveLatency {
                workload: "update".to_owned(),
                percentiles_us: Some([612.3, 1_034.5, 1_800.0]),
            }],
            errors: 0,
            left: Some(Duration::from_millis(11_200)),
        };
        assert_snapshot!(progress_line(&live, &upcoming()), @"3/40 measure    12,346 tps   p50 0.6123  p95  1.034  \
            p99    1.8 ms   0 errors   12 s left, 11 min 52 s in all");
    }

    #[test]
    fn a_run_that_failed_says_why() {
        let run = FinishedRun {
            folder: "archive/x/003-clients=16-rep1".into(),
            planned: planned(&[("clients", "16")], 1),
            state: RunState::Failed,
            summary: None,
            analysis: None,
            failure: Some("the server did not start".to_owned()),
        };
        assert_snapshot!(finished_run(&run, Some(40)), @"
        Run 3 of 40 (failed): clients = 16: the server did not start
        Saved in archive/x/003-clients=16-rep1
        ");
    }
}

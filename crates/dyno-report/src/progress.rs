//! How a campaign goes on: its runs as they begin, go on and end.

use crate::campaign::cells::tps_words;
use crate::campaign::latencies::p99_words;
use crate::capacity;
use crate::completion;
use crate::figures::counted;
use crate::live::{whole, with_room_for};
use crate::table::Page;
use crate::terminal::finished;
use dyno_analysis::progress::{FinishedRun, Live, Upcoming};
use dyno_archive::plan::PlannedRun;
use dyno_archive::summary::Summary;
use dyno_archive::{Capacity, RunState};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// The line that announces a run of several.
#[must_use]
pub fn upcoming_line(run: &Upcoming) -> String {
    let left = run
        .lasts
        .zip(run.afterwards)
        .map(|(lasts, after)| lasts.saturating_add(after));
    let left = left.map_or_else(String::new, |left| format!("; about {} left in total", whole(left)));
    format!("Run {} of {}: {}{left}", run.planned.number, run.of, cell(&run.planned))
}

/// Which run of several it is, and its cell, before what is said of it in one line.
#[must_use]
pub fn run_words(run: &Upcoming) -> String {
    format!("{}/{} {}", run.planned.number, run.of, cell(&run.planned))
}

/// The line that is shown while one of several runs goes on, without a line break.
#[must_use]
pub fn progress_line(live: &Live, run: &Upcoming, page: Page) -> String {
    let in_all = live
        .left
        .zip(run.afterwards)
        .map(|(left, after)| left.saturating_add(after));
    let time = match (live.left, in_all) {
        (Some(left), Some(in_all)) => format!("{} left, all {}", whole(left), whole(coarse(in_all))),
        (Some(left), None) => format!("{} left", whole(left)),
        (None, _) => String::new(),
    };
    let before = format!("{}/{} ", run.planned.number, run.of);
    with_room_for(live, &before, &time, page)
}

/// A time in whole minutes that have begun, if seconds say nothing of it.
fn coarse(time: Duration) -> Duration {
    const LONG: Duration = Duration::from_secs(300);
    match time {
        short if short < LONG => short,
        long => Duration::from_secs(long.as_secs().div_ceil(60) * 60),
    }
}

/// What came of a run: its summary if it is alone, else a line with the figures that matter.
#[must_use]
pub fn finished_run(run: &FinishedRun, of: Option<usize>, page: Page) -> String {
    let folder = run.folder.display();
    let saved = match run.archive_error() {
        Some(_) => "Saved in part",
        None => "Saved",
    };
    let kept = format!("{saved} in {folder} ({})", run.state);
    if let Some(known) = run.folder.parent().and_then(Capacity::read) {
        let failure = run.failure.as_ref().map_or_else(String::new, |why| format!("{why}\n"));
        return format!("{kept}\n\n{failure}{}", capacity::page(&known, page).trim_end());
    }
    let Some(of) = of else {
        return match finished(run, page) {
            Some(text) => format!("\n{text}\n{kept}"),
            None => {
                let why = run.failure.as_ref().map_or_else(String::new, |why| format!("{why}\n"));
                format!("{why}{kept}")
            }
        };
    };
    let figures = run.summary.as_ref().filter(|_| run.state != RunState::Failed);
    let figures = figures.map(figures_in_short).unwrap_or_default();
    let number = run.planned.number;
    let first = format!("Run {number:>0$} of {of}", of.to_string().len());
    let line = match run.state {
        RunState::Complete => beside_or_below(&format!("{first} {figures}"), &cell(&run.planned), page),
        state => {
            let why = run.failure.as_deref().unwrap_or(figures.trim());
            page.wrapped(&format!("{first} ({state}): {}: {why}", cell(&run.planned)))
        }
    };
    match run.archive_error() {
        Some(_) => format!("{line}\n{saved} in {folder}"),
        None => line,
    }
}

/// Figures with the cell that they are of, which stands below them where there is no room: they keep their places.
fn beside_or_below(figures: &str, cell: &str, page: Page) -> String {
    let line = format!("{figures}  {cell}");
    match line.width() <= page.columns() {
        true => line,
        false => format!("{}\n{}", page.wrapped(figures), page.paragraph(BELOW, cell).trim_end()),
    }
}

/// What stands before a cell below its figures.
const BELOW: &str = "    ";

/// The figures that matter, those of the same kind below each other from line to line.
fn figures_in_short(summary: &Summary) -> String {
    let errors: u64 = summary.workloads.iter().map(|workload| workload.errors).sum();
    let p99 = p99_words(summary).map_or_else(String::new, |p99| format!("  p99 {p99:>9}"));
    let figures = completion::figures_in_short(&summary.workloads);
    let figures = figures.unwrap_or_else(|| format!("{} TPS", tps_words(summary)));
    format!("{figures:>13}{p99}  {}", counted(errors, "error"))
}

/// The levels and the repetition of a run.
fn cell(planned: &PlannedRun) -> String {
    let levels = planned.cell.iter().map(|(factor, level)| format!("{factor} = {level}"));
    let repetition =
        (planned.repetition > 1 || planned.cell.is_empty()).then(|| format!("repetition {}", planned.repetition));
    levels.chain(repetition).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::update;
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
        assert_snapshot!(upcoming_line(&upcoming()), @"
        Run 3 of 40: clients = 16, fsync = on, repetition 2; about 12 min 1 s left in total
        ");
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
        assert_snapshot!(progress_line(&live, &upcoming(), Page::default()), @"
        3/40 measure    12,346 tps  p99   1.80 ms  0 errors  12 s left, all 12 min
        ");
        assert_snapshot!(progress_line(&live, &upcoming(), Page::new(120)), @"
        3/40 measure    12,346 tps  p50  0.612  p95   1.03  p99   1.80 ms  0 errors  12 s left, all 12 min
        ");
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
        assert_snapshot!(finished_run(&run, Some(40), Page::default()), @"
        Run  3 of 40 (failed): clients = 16: the server did not start
        ");
    }

    #[test]
    fn runs_have_a_line_each_with_their_figures_below_each_other() {
        let line = |number: usize, clients: &str, tps: f64| {
            let mut summary = update();
            summary.workloads[0].tps = tps;
            let run = FinishedRun {
                folder: "archive/x/003-clients=16-rep1".into(),
                planned: PlannedRun {
                    number,
                    ..planned(&[("clients", clients)], 1)
                },
                state: RunState::Complete,
                summary: Some(summary),
                analysis: None,
                failure: None,
            };
            finished_run(&run, Some(12), Page::default())
        };
        let lines = [
            line(3, "1", 999.5),
            line(12, "16", 123_456.7),
            line(12, "16, of a cell that has no room", 123_456.7),
        ];
        assert_snapshot!(lines.join("\n"), @"
        Run  3 of 12     999.5 TPS  p99   1.81 ms  0 errors  clients = 1
        Run 12 of 12   123,457 TPS  p99   1.81 ms  0 errors  clients = 16
        Run 12 of 12   123,457 TPS  p99   1.81 ms  0 errors
            clients = 16, of a cell that has no room
        ");
    }
}

//! What a sweep of open loops shows. Their throughput follows the rate that was asked for, so the finding is up to
//! where it was kept.

use super::cells::{Cell, Schedule};
use crate::figures::{counted, rate};

/// Whether TPS says nothing of what the system can do: it is what schedules asked for.
pub(crate) fn follow_schedules<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> bool {
    let mut cells = cells.into_iter().filter(|cell| !cell.tps.is_empty()).peekable();
    cells.peek().is_some() && cells.all(|cell| cell.schedule.is_some())
}

/// The open workload whose rate is varied among `cells` beside closed ones, and the cells with it alone. What is
/// asked for is part of the sum of all workloads' TPS, which therefore says nothing of what the system can do: the
/// finding is the rate that this workload kept.
pub(crate) fn varied_rate<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<(&'a str, Vec<Cell>)> {
    let cells: Vec<&Cell> = cells.into_iter().collect();
    let counting: Vec<&&Cell> = cells.iter().filter(|cell| !cell.tps.is_empty()).collect();
    if counting.iter().all(|cell| cell.schedule.is_some()) {
        return None;
    }
    let is_varied = |name: &&String| {
        let asked = |cell: &&&Cell| cell.workloads.get(*name)?.schedule?.asked_per_s;
        let asked: Option<Vec<f64>> = counting.iter().map(asked).collect();
        asked.is_some_and(|asked| asked.iter().any(|rate| *rate != asked[0]))
    };
    let name = counting.first()?.workloads.keys().find(is_varied)?;
    Some((name, cells.iter().map(|cell| cell.only(name)).collect()))
}

/// What is to be said of the rates of `cells`, with the name of the workload if it is one beside closed ones; `None`
/// if there is no rate to speak of.
pub(crate) fn rate_finding<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<String> {
    let cells: Vec<&Cell> = cells.into_iter().collect();
    match varied_rate(cells.iter().copied()) {
        Some((name, alone)) => kept_rate(&alone).map(|words| format!("{name}: {words}")),
        None => kept_rate(cells),
    }
}

/// Cells with the rate of each, the lowest first, and whether it was kept.
type Ranked<'a> = Vec<(f64, bool, &'a Cell)>;

/// `None` unless all cells with figures have one rate each.
fn ranked<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<Ranked<'a>> {
    let with_figures = cells.into_iter().filter(|cell| !cell.tps.is_empty());
    let of_cell = |cell: &'a Cell| {
        let Schedule { asked_per_s, kept } = cell.schedule?;
        Some((asked_per_s?, kept, cell))
    };
    let mut cells: Ranked<'_> = with_figures.map(of_cell).collect::<Option<_>>()?;
    cells.sort_by(|one, other| one.0.total_cmp(&other.0));
    Some(cells)
}

/// The cell with the highest rate up to which each was kept, and the lowest rate that was not. Of cells with the same
/// rate, each has to keep it.
fn limits<'r, 'a>(cells: &'r Ranked<'a>) -> [Option<&'r (f64, bool, &'a Cell)>; 2] {
    let missed = cells.iter().find(|(_, kept, _)| !kept);
    let below = |(asked, ..): &&(f64, bool, &Cell)| missed.is_none_or(|(first, ..)| asked < first);
    [cells.iter().rev().find(below), missed]
}

/// The highest rate up to which each was kept among `cells`.
pub(crate) fn highest_kept<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<f64> {
    let cells = ranked(cells)?;
    let [best, _] = limits(&cells);
    best.map(|(asked, ..)| *asked)
}

/// The same as a sentence; `None` unless all of them have one rate each.
pub(crate) fn kept_rate<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<String> {
    let all: Vec<&Cell> = cells.into_iter().collect();
    let planned = all.len();
    let cells = ranked(all)?;
    let (lowest, highest) = (cells.first()?.0, cells.last()?.0);
    if lowest == highest {
        let kept = cells.iter().filter(|(_, kept, _)| *kept).count();
        let of = match cells.len() {
            all if all == kept && all == planned => "in all cells".to_owned(),
            all if all == kept => "in all cells that count".to_owned(),
            all => format!("in {kept} of {}", counted(all as u64, "cell")),
        };
        return Some(format!(
            "The rate of {}/s was sustained {of}. TPS follows it, so compare latencies.",
            rate(lowest)
        ));
    }
    let p99 = |cell: &Cell| {
        cell.p99_words()
            .map_or_else(String::new, |p99| format!(", with a p99 of {p99}"))
    };
    let reached = |cell: &Cell| rate(cell.mean_tps());
    Some(match limits(&cells) {
        [Some((asked, _, cell)), None] => format!(
            "Every rate up to {}/s was sustained{}: the limit is higher.",
            rate(*asked),
            p99(cell)
        ),
        [Some((asked, _, cell)), Some((missed, _, other))] => format!(
            "The highest rate sustained is {}/s{}; of {}/s, {} were reached.",
            rate(*asked),
            p99(cell),
            rate(*missed),
            reached(other)
        ),
        [None, Some((missed, _, other))] => format!(
            "Not even the lowest rate of {}/s was sustained: {} were reached.",
            rate(*missed),
            reached(other)
        ),
        [None, None] => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::cells::{Levels, OfWorkload, factor};
    use crate::campaign::knee_of;
    use crate::campaign::ratio::has_ratios;
    use dyno_archive::summary::Latency;
    use indexmap::IndexMap;

    fn cell(asked: f64, reached: f64, kept: bool) -> Cell {
        let latency = Latency {
            p99_us: asked,
            ..crate::fixture::latency(1.0)
        };
        let main = OfWorkload {
            tps: vec![reached],
            latencies: vec![latency],
            ..OfWorkload::default()
        };
        Cell {
            tps: vec![reached],
            workloads: IndexMap::from([("main".to_owned(), main)]),
            schedule: Some(Schedule {
                asked_per_s: Some(asked),
                kept,
            }),
            ..Cell::default()
        }
    }

    #[test]
    fn only_load_has_a_knee() {
        let closed = |tps| Cell {
            schedule: None,
            ..cell(0.0, tps, true)
        };
        let cells = [closed(1_000.0), closed(980.0), closed(990.0)];
        let cells: Vec<&Cell> = cells.iter().collect();
        let knee = |name| knee_of(&cells, &factor(name, &["1", "2", "3"]));
        assert_eq!(
            (knee("clients"), knee("writer.threads"), knee("rows")),
            (Some(0), Some(0), None)
        );
    }

    #[test]
    fn the_highest_rate_that_was_kept_is_the_finding_and_there_is_no_knee() {
        let mut cells = vec![
            cell(500.0, 501.0, true),
            cell(5_000.0, 4_210.0, false),
            cell(2_000.0, 1_998.0, true),
        ];
        let words = |cells: &[Cell]| kept_rate(cells).unwrap();
        assert_eq!(
            words(&cells),
            "The highest rate sustained is 2,000/s, with a p99 of 2.00 ms; of 5,000/s, 4,210 were reached."
        );
        assert!(follow_schedules(&cells));
        let levels = factor("rate", &["500", "2000", "5000"]);
        assert_eq!(knee_of(&cells.iter().collect::<Vec<_>>(), &levels), None);
        let baseline = Levels::from_iter([("rate".to_owned(), "500".to_owned())]);
        assert!(!has_ratios(&cells, &baseline));
        assert!(words(&cells[1..2]).starts_with("The rate of 5,000/s was sustained in 0 of 1 cell."));
        cells[1].schedule = Some(Schedule {
            asked_per_s: Some(5_000.0),
            kept: true,
        });
        assert_eq!(
            words(&cells),
            "Every rate up to 5,000/s was sustained, with a p99 of 5.00 ms: the limit is higher."
        );
        for cell in &mut cells {
            cell.schedule = cell.schedule.map(|schedule| Schedule {
                kept: false,
                ..schedule
            });
        }
        assert_eq!(
            words(&cells),
            "Not even the lowest rate of 500/s was sustained: 501 were reached."
        );
    }

    #[test]
    fn a_rate_that_is_varied_beside_a_closed_loop_is_judged_by_itself() {
        let mixed = |asked: f64, reached: f64, kept: bool| {
            let open = cell(asked, reached, kept);
            let mut workload = open.workloads["main"].clone();
            workload.schedule = open.schedule;
            let closed = OfWorkload {
                tps: vec![9_000.0],
                ..OfWorkload::default()
            };
            Cell {
                tps: vec![9_000.0 + reached],
                workloads: IndexMap::from([("cls".to_owned(), closed), ("opn".to_owned(), workload)]),
                ..Cell::default()
            }
        };
        let cells = [
            mixed(500.0, 501.0, true),
            mixed(2_000.0, 1_998.0, true),
            mixed(5_000.0, 4_210.0, false),
        ];
        assert_eq!(
            rate_finding(&cells).unwrap(),
            "opn: The highest rate sustained is 2,000/s, with a p99 of 2.00 ms; of 5,000/s, 4,210 were reached."
        );
        let levels = factor("opn.rate", &["500", "2000", "5000"]);
        assert_eq!(knee_of(&cells.iter().collect::<Vec<_>>(), &levels), None);
        // With one rate the sum says what the closed loop does.
        assert!(varied_rate(&cells[..1]).is_none());
    }

    #[test]
    fn cells_without_a_run_that_counts_kept_nothing() {
        let cells = [cell(400.0, 400.0, true), Cell::default()];
        assert!(
            kept_rate(&cells)
                .unwrap()
                .starts_with("The rate of 400/s was sustained in all cells that count.")
        );
        assert!(
            kept_rate(&cells[..1])
                .unwrap()
                .starts_with("The rate of 400/s was sustained in all cells.")
        );
    }

    #[test]
    fn closed_loops_are_not_judged_by_a_rate() {
        let closed = Cell {
            tps: vec![10.0],
            ..Cell::default()
        };
        assert_eq!(kept_rate([&closed, &cell(500.0, 500.0, true)]), None);
        assert!(!follow_schedules([&closed, &cell(500.0, 500.0, true)]));
        assert!(!follow_schedules([]));
    }
}

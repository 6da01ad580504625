//! What the cells of a campaign answer that were measured one after the other, in mixed order.

use super::{Known, Pair, by_runs, more_runs, of_runs};
use crate::campaign::cells::{Cell, Levels, cells, mixes_tps};
use crate::campaign::kept::{follow_schedules, rate_finding, varied_rate};
use crate::campaign::server_name;
use crate::completion::seconds;
use crate::figures::one_line;
use dyno_analysis::summary::over_runs;
use dyno_archive::summary::Latency;
use dyno_archive::{Campaign, CampaignRecord, Measure, Verdict};
use dyno_stats::{Outcome, judge};
use indexmap::{IndexMap, IndexSet};

/// The factor whose levels are databases.
const TARGET: &str = "target";

/// What levels are called.
#[derive(Default)]
pub(super) struct Names {
    /// What the databases call themselves, by level, if that tells them apart.
    servers: IndexMap<String, String>,
}

impl Names {
    /// What the servers of `campaign` say that they are.
    pub fn of(campaign: &Campaign) -> Self {
        let records = campaign.runs.iter().filter_map(|run| run.record.as_ref().ok());
        let named = records.filter_map(|record| Some((record.cell.get(TARGET)?.clone(), server_name(record)?)));
        let servers: IndexMap<String, String> = named.collect();
        let different: IndexSet<&String> = servers.values().collect();
        Self {
            servers: if different.len() == servers.len() {
                servers
            } else {
                IndexMap::new()
            },
        }
    }

    /// A database by itself, of anything else what it is a value of.
    pub fn of_level(&self, factor: &str, level: &str) -> String {
        one_line(&match factor {
            TARGET => self.servers.get(level).cloned().unwrap_or_else(|| level.to_owned()),
            factor => format!("{factor} = {level}"),
        })
    }

    /// What tells a cell from others: its levels of the factors that are `varied`.
    fn of_cell(&self, levels: &Levels, varied: &[&str]) -> String {
        let told = levels.iter().filter(|(factor, _)| varied.contains(&factor.as_str()));
        let words: Vec<String> = told.map(|(factor, level)| self.of_level(factor, level)).collect();
        words.join(", ")
    }
}

/// What all runs of `campaign` had to do, as the end of a sentence.
pub(super) fn work_of(campaign: &Campaign) -> String {
    let record = campaign.record.as_ref();
    record.map_or_else(
        |_| String::new(),
        |record| format!(" on {}", one_line(&record.experiment.name)),
    )
}

/// What `campaign` answers; `None` if it has a single cell.
pub(super) fn answer(campaign: &Campaign) -> Option<String> {
    let record = campaign.record.as_ref().ok().filter(|record| record.cells.len() > 1)?;
    let (planned, work) = (record.cells.len(), work_of(campaign));
    let counting: Vec<Cell> = cells(&[campaign]).into_iter().filter(|cell| cell.runs > 0).collect();
    match counting.len() {
        0 => return Some(format!("There is no answer{work}, because no run is complete.")),
        1 => {
            return Some(format!(
                "There is no answer{work}, because only one of {planned} cells has a complete run."
            ));
        }
        _ => {}
    }
    let names = Names::of(campaign);
    let varied: Vec<&str> = record
        .factors
        .iter()
        .filter(|factor| factor.levels.len() > 1)
        .map(|factor| factor.name.as_str())
        .collect();
    let unfinished = counting.iter().filter_map(|cell| Some((cell, cell.longer_than_s?)));
    if let Some((cell, longer_than_s)) = unfinished.max_by(|one, other| one.1.total_cmp(&other.1)) {
        return Some(format!(
            "There is no answer{work}, because not all was finished: with {} a transaction takes longer than {}.",
            names.of_cell(&cell.levels, &varied),
            seconds(longer_than_s)
        ));
    }
    if counting.iter().any(|cell| cell.has_times_apart) {
        return Some(format!(
            "There is no single answer{work}, because the rates of workloads that end after a number of transactions \
             are of different times and do not add up; compare each workload by itself."
        ));
    }
    if mixes_tps(&counting) {
        return Some(format!(
            "There is no answer{work}, because in some runs no transaction was finished in the time measured: their \
             TPS is made of the times of single transactions, and that of the others is not; compare latencies."
        ));
    }
    let told = Told {
        record,
        names,
        varied,
        work,
    };
    if counting.iter().any(|cell| cell.workloads.len() > 1) && !adds_up(campaign) {
        return Some(told.each_workload(&counting));
    }
    if follows_rates(&counting) {
        let none = || {
            format!(
                "There is no answer{}, because the throughput follows what the load's rates ask for.",
                told.work
            )
        };
        return Some(rate_finding(&counting).unwrap_or_else(none));
    }
    told.best_of(&counting)
}

/// Whether the throughput of cells is what the rates of their loads ask for, which differ.
fn follows_rates(cells: &[Cell]) -> bool {
    varied_rate(cells).is_some() || follow_schedules(cells) && !asked_alike(cells)
}

/// Whether the experiment asks to add up workloads, which then do the same.
fn adds_up(campaign: &Campaign) -> bool {
    let records = campaign.runs.iter().filter_map(|run| run.record.as_ref().ok());
    let mut facts = records.flat_map(|record| &record.workloads);
    facts.any(|facts| facts.instances.as_ref().is_some_and(|instances| instances.sum))
}

/// Of more workloads nobody reads.
const MOST_WORKLOADS: usize = 4;

/// What sentences about the cells of a campaign are made of.
struct Told<'a> {
    record: &'a CampaignRecord,
    names: Names,
    varied: Vec<&'a str>,
    work: String,
}

impl Told<'_> {
    /// A sentence for each workload that several cells have: what different workloads do is no sum.
    fn each_workload(&self, counting: &[Cell]) -> String {
        let workloads: IndexSet<&String> = counting.iter().flat_map(|cell| cell.workloads.keys()).collect();
        let sentence = |workload: &&String| {
            let with = counting.iter().filter(|cell| cell.workloads.contains_key(*workload));
            let cells: Vec<Cell> = with.map(|cell| cell.only(workload)).collect();
            let said = match follows_rates(&cells) {
                _ if cells.len() < 2 => None,
                true => rate_finding(&cells),
                false => self.best_of(&cells),
            };
            said.map(|said| format!("{}: {said}", one_line(workload)))
        };
        let mut sentences: Vec<String> = workloads.iter().filter_map(sentence).collect();
        let more = sentences.len().saturating_sub(MOST_WORKLOADS);
        sentences.truncate(MOST_WORKLOADS);
        match more {
            0 => {}
            1 => sentences.push("One more workload is in the table.".to_owned()),
            more => sentences.push(format!("{more} more workloads are in the table.")),
        }
        match sentences.is_empty() {
            true => format!(
                "There is no answer{}, because no two cells have the same workload.",
                self.work
            ),
            false => sentences.join(" "),
        }
    }

    /// The best of `cells`, or of two how they compare.
    fn best_of(&self, cells: &[Cell]) -> Option<String> {
        let planned = self.record.cells.len();
        let measure = if follow_schedules(cells) {
            Measure::P95
        } else {
            Measure::Throughput
        };
        let (baseline, candidate) = two_of(self.record, cells, measure)?;
        let among = (planned > 2).then(|| match cells.len() {
            all if all == planned => planned.to_string(),
            all => format!("{all} cells with complete runs"),
        });
        let pair = Pair {
            baseline: self.names.of_cell(&baseline.levels, &self.varied),
            candidate: self.names.of_cell(&candidate.levels, &self.varied),
            work: self.work.clone(),
            among,
            ..pair(baseline, candidate, measure)
        };
        Some(pair.sentence())
    }
}

/// Whether the schedules of all cells ask for the same.
fn asked_alike(cells: &[Cell]) -> bool {
    let asked = |cell: &Cell| cell.schedule.and_then(|schedule| schedule.asked_per_s);
    let first = cells.first().and_then(asked);
    first.is_some() && cells.iter().all(|cell| asked(cell) == first)
}

/// Of two cells the declared baseline, or the one that was named first, and the other. Of more the second best and the
/// best: that these two differ is as certain as if nobody had chosen them by their figures (S. Gutmann and Z. Maymin,
/// "Is the selected population the best?", The Annals of Statistics 15, 1987).
fn two_of<'a>(record: &CampaignRecord, cells: &'a [Cell], measure: Measure) -> Option<(&'a Cell, &'a Cell)> {
    if let ([one, another], 2) = (cells, record.cells.len()) {
        let is_baseline = |cell: &Cell| {
            let mut levels = record.baseline.iter();
            !record.baseline.is_empty() && levels.all(|(factor, level)| cell.levels.get(factor) == Some(level))
        };
        let place = |cell: &Cell| record.cells.iter().position(|planned| planned.levels == cell.levels);
        let first = is_baseline(one) || !is_baseline(another) && place(one) <= place(another);
        return Some(if first { (one, another) } else { (another, one) });
    }
    let mean = |cell: &&Cell| over_runs(&values(cell, measure));
    let mut ranked: Vec<&Cell> = cells.iter().filter(|cell| mean(cell).is_some()).collect();
    ranked.sort_by(|one, other| {
        let ascending = mean(one).partial_cmp(&mean(other)).unwrap_or(std::cmp::Ordering::Equal);
        match measure {
            Measure::Throughput => ascending.reverse(),
            _ => ascending,
        }
    });
    match ranked.as_slice() {
        [best, next, ..] => Some((next, best)),
        _ => None,
    }
}

/// The figure of each run of a cell. A latency is of a workload: there is none of several.
fn values(cell: &Cell, measure: Measure) -> Vec<f64> {
    let figure: fn(&Latency) -> f64 = match measure {
        Measure::Throughput => return cell.tps.clone(),
        Measure::P50 => |latency| latency.p50_us,
        Measure::P95 => |latency| latency.p95_us,
        Measure::P99 => |latency| latency.p99_us,
    };
    let workload = cell.workload(None);
    workload.map_or_else(Vec::new, |workload| workload.latencies.iter().map(figure).collect())
}

/// What the runs of two cells say; their names are the caller's.
fn pair(baseline: &Cell, candidate: &Cell, measure: Measure) -> Pair {
    let judged = |measure| judge(&values(candidate, measure), &values(baseline, measure));
    let others = [Measure::P95, Measure::P99]
        .into_iter()
        .filter(|other| *other != measure);
    let others: Vec<Known> = others
        .filter_map(|other| Some(of_runs(other, &judged(other)?)))
        .collect();
    let deciding = judged(measure);
    let (answer, more) = match deciding.as_ref().map(|judged| judged.outcome) {
        Some(Outcome::Higher) => (Verdict::Higher, String::new()),
        Some(Outcome::Lower) => (Verdict::Lower, String::new()),
        Some(Outcome::Unknown { more_runs: more }) => (Verdict::Unknown, more_runs(more)),
        None => (Verdict::Unknown, String::new()),
    };
    Pair {
        baseline: String::new(),
        candidate: String::new(),
        work: String::new(),
        among: None,
        answer,
        deciding: deciding
            .map(|judged| of_runs(measure, &judged))
            .ok_or_else(|| "one of them has nothing that could be compared".to_owned()),
        others,
        detect: 0.0,
        effort: by_runs(candidate.tps.len(), baseline.tps.len()),
        more,
    }
}

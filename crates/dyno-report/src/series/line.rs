//! What came of an experiment of a series, in one line of the terminal.

use super::points::points;
use crate::figures::{counted, one_line, rate};
use dyno_archive::{Campaign, RunState};

/// Of a longer title the end is left out.
const LONGEST_TITLE: usize = 36;

/// The experiment `title`, which is `number` of so many, from 1: how its campaign ended and how much it did. Without a
/// campaign it is one that could not be measured.
#[must_use]
pub fn line(number: usize, of: usize, title: &str, campaign: Option<&Campaign>) -> String {
    let digits = of.to_string().len();
    let title = shortened(&one_line(title));
    let came = campaign.map_or_else(|| "failed".to_owned(), state);
    let tps = campaign.map_or_else(String::new, throughput);
    let text = format!("{number:>digits$}/{of}  {title:<LONGEST_TITLE$}  {came:<14}  {tps}");
    text.trim_end().to_owned()
}

fn shortened(title: &str) -> String {
    match title.chars().count() <= LONGEST_TITLE {
        true => title.to_owned(),
        false => title.chars().take(LONGEST_TITLE - 1).chain(['…']).collect(),
    }
}

fn state(campaign: &Campaign) -> String {
    let planned = campaign.record.as_ref().map_or(0, |record| record.runs.len());
    let planned = planned.max(campaign.runs.len());
    let complete = campaign
        .runs
        .iter()
        .filter(|run| run.state == RunState::Complete)
        .count();
    match (complete, planned, campaign.runs.as_slice()) {
        (_, 1, [run]) => run.state.to_string(),
        (complete, planned, _) if complete == planned => RunState::Complete.to_string(),
        (complete, planned, _) => format!("{complete} of {}", counted(planned as u64, "run")),
    }
}

/// From the least to the greatest of all that was measured.
fn throughput(campaign: &Campaign) -> String {
    let points = points(campaign);
    let tps = || points.iter().filter_map(|point| point.figures.tps);
    let (least, most) = (tps().min_by(f64::total_cmp), tps().max_by(f64::total_cmp));
    match (least.map(rate), most.map(rate)) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most} TPS"),
        (Some(only), _) => format!("{only} TPS"),
        _ => String::new(),
    }
}

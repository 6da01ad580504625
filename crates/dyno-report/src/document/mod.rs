//! Reports: what an archive says, as a document that any form can be written from.
//!
//! [`of_run`], [`of_campaign`] and [`of_campaigns`] read the archive and judge nothing anew: figures, steady state,
//! causes and warnings are those of the run's own files. What is over time is made by builders that take rows one by
//! one ([`Throughput`], [`Latency`], [`Counters`], [`Waits`], [`Annotations`]), so that the page of a run that is going
//! on draws the same figures.

mod annotations;
mod bars;
#[cfg(test)]
mod bindings;
mod campaign;
pub(crate) mod cautions;
mod cell_table;
mod compared;
pub mod comparison;
mod counters;
mod definitions;
mod environment;
mod happened;
mod headline;
mod heat;
mod latency;
mod layout;
mod matrix;
mod measures;
mod metrics;
pub mod model;
#[cfg(test)]
mod one_value;
mod parts;
mod recorded;
mod results;
mod run;
mod series;
mod statements;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod throughput;
mod waits;

pub use annotations::Annotations;
pub use compared::of_comparison;
pub use counters::Counters;
pub use latency::Latency;
pub use series::Grid;
pub use throughput::Throughput;
pub use waits::Waits;

use crate::analysis::with_warnings;
use campaign::Together;
use cautions::Cautions;
use dyno_analysis::comparison::compare;
use dyno_analysis::summary::summary_of;
use dyno_archive::plan::Resolved;
use dyno_archive::{Campaign, Run};
use model::{Block, Document, FORMAT, Section};
use parts::{paragraph, section};
use recorded::Recorded;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Of more runs than this only figures are shown, not each over time: nobody looks at them all, and a page has limits.
const MOST_RUNS: usize = 100;

/// The report of one run of a campaign, with everything that was recorded of it.
#[must_use]
pub fn of_run(campaign: &Campaign, run: &Run) -> Document {
    let recorded = Recorded::read(run);
    let mut cautions = Cautions::default();
    cautions.plan(campaign);
    caution(&mut cautions, &recorded, &recorded.name);
    let mut document = document(&[campaign]);
    document.title = format!("{}: {}", document.title, recorded.name);
    document.headlines = headline::of_run(&recorded);
    document.warnings = cautions.all();
    document.sections = run::sections(&recorded, experiment_of(campaign, run));
    document
        .sections
        .push(environment::environment(&[(campaign, vec![run])]));
    document
}

/// What `run` measures, as it was planned.
fn experiment_of<'a>(campaign: &'a Campaign, run: &Run) -> Option<&'a Resolved> {
    let (plan, record) = (campaign.record.as_ref().ok()?, run.record.as_ref().ok()?);
    let cell = plan.cells.iter().find(|cell| cell.levels == record.cell);
    Some(cell.map_or(&plan.experiment, |cell| &cell.experiment))
}

/// The report of a campaign: what its runs show together, and each run. Of a campaign of a single run it is that of
/// the run.
#[must_use]
pub fn of_campaign(campaign: &Campaign) -> Document {
    let planned = campaign.record.as_ref().map_or(1, |record| record.runs.len());
    match campaign.runs.as_slice() {
        [only] if planned < 2 => of_run(campaign, only),
        _ => together(&[campaign], None),
    }
}

/// The report of several campaigns side by side. The one at `baseline` is what the others are compared with.
#[must_use]
pub fn of_campaigns(campaigns: &[Campaign], baseline: Option<usize>) -> Document {
    match campaigns {
        [only] => of_campaign(only),
        _ => together(&campaigns.iter().collect::<Vec<_>>(), baseline),
    }
}

fn together(campaigns: &[&Campaign], baseline: Option<usize>) -> Document {
    let runs: Vec<&Run> = campaigns.iter().flat_map(|campaign| &campaign.runs).collect();
    let (shown, others) = chosen(&runs);
    let recorded = read_all(&shown);
    let mut cautions = Cautions::default();
    campaigns.iter().for_each(|campaign| cautions.campaign(campaign));
    for recorded in &recorded {
        caution(&mut cautions, recorded, &name_among(campaigns, recorded.run));
    }
    for run in &others {
        let analysis = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        let figures = with_warnings(summary_of(run).unwrap_or_default(), analysis);
        cautions.run(
            run,
            &name_among(campaigns, run),
            figures.warnings.iter().map(ToString::to_string),
        );
    }
    let all = Together::new(campaigns, &recorded, baseline);
    let mut document = document(campaigns);
    document.headlines = all.headlines();
    document.warnings = cautions.all();
    document.sections = all.sections();
    if let Some(base) = baseline.and_then(|baseline| campaigns.get(baseline)) {
        let others = campaigns.iter().filter(|campaign| campaign.path != base.path);
        let compared = others.map(|campaign| comparison::section(&compare(base, campaign)));
        document.sections.extend(compared);
    }
    let parts: Vec<_> = campaigns
        .iter()
        .map(|campaign| (*campaign, campaign.runs.iter().collect()))
        .collect();
    document.sections.push(environment::environment(&parts));
    let mut each = section("each-run", "Each run over time", Vec::new());
    let section_of = |(number, recorded): (usize, &Recorded)| Section {
        title: name_among(campaigns, recorded.run),
        ..run::folded(recorded, number + 1)
    };
    each.sections = recorded.iter().enumerate().map(section_of).collect();
    each.blocks.extend(left_out(others.len()));
    document.sections.extend((!each.sections.is_empty()).then_some(each));
    document
}

/// The runs that are shown over time, and the others, both in their order: of too many the first repetitions, which
/// are of as many cells as possible.
fn chosen<'a>(runs: &[&'a Run]) -> (Vec<&'a Run>, Vec<&'a Run>) {
    let repetition = |run: &Run| run.record.as_ref().map_or(usize::MAX, |record| record.repetition);
    let mut by_repetition: Vec<usize> = (0..runs.len()).collect();
    by_repetition.sort_by_key(|&place| repetition(runs[place]));
    by_repetition.truncate(MOST_RUNS);
    let (shown, others) = runs
        .iter()
        .enumerate()
        .partition::<Vec<_>, _>(|(place, _)| by_repetition.contains(place));
    let plain = |runs: Vec<(usize, &&'a Run)>| runs.into_iter().map(|(_, run)| *run).collect();
    (plain(shown), plain(others))
}

/// Says that some runs are not shown over time.
fn left_out(number: usize) -> Option<Block> {
    let words = format!(
        "Of {} runs the first repetitions are here, {MOST_RUNS} in all; the report of any other has the same: dyno \
         report CAMPAIGN --run N.",
        crate::figures::count((number + MOST_RUNS) as u64)
    );
    (number > 0).then(|| paragraph(words))
}

/// The name of a run where there may be several campaigns.
fn name_among(campaigns: &[&Campaign], run: &Run) -> String {
    let of = campaigns
        .iter()
        .find(|campaign| run.path.starts_with(&campaign.path))
        .filter(|_| campaigns.len() > 1);
    of.map_or_else(|| run.name(), |campaign| format!("{}/{}", campaign.name(), run.name()))
}

/// Reads all runs, as many at a time as there are cores and threads to be had.
fn read_all<'a>(runs: &[&'a Run]) -> Vec<Recorded<'a>> {
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(runs.len());
    let work = || {
        let mut done = Vec::new();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(Recorded::read_in_short(run, runs.len()));
        }
        done
    };
    let mut recorded: Vec<Recorded> = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..workers).map_while(start).collect();
        // This thread is one of the workers; where no other can be started, it does all of the work.
        let mut recorded = work();
        recorded.extend(others.into_iter().filter_map(|worker| worker.join().ok()).flatten());
        recorded
    });
    recorded.sort_by_key(|recorded| runs.iter().position(|run| run.path == recorded.run.path));
    recorded
}

/// Adds what is to be kept in mind of a run that is called `name`.
fn caution(cautions: &mut Cautions, recorded: &Recorded, name: &str) {
    let figures = recorded.summary.clone().unwrap_or_default();
    let figures = with_warnings(figures, recorded.analysis.as_ref());
    cautions.run(recorded.run, name, figures.warnings.iter().map(ToString::to_string));
}

/// A document with all that does not depend on runs.
fn document(campaigns: &[&Campaign]) -> Document {
    let mut experiments = indexmap::IndexSet::new();
    let mut questions = indexmap::IndexSet::new();
    for campaign in campaigns {
        match &campaign.record {
            Ok(record) => {
                experiments.insert(crate::figures::one_line(&record.experiment.title));
                questions.insert(crate::figures::one_line(&record.experiment.question));
            }
            Err(_) => drop(experiments.insert(campaign.name())),
        }
    }
    let beside = if campaigns.len() > 1 {
        format!(" ({} campaigns)", campaigns.len())
    } else {
        String::new()
    };
    // Of several databases the first has the word.
    let mut runs = campaigns.iter().flat_map(|campaign| &campaign.runs);
    let server = runs.next().map(dyno_archive::Run::traits);
    let question = questions.into_iter().find(|question| !question.is_empty());
    Document {
        format: FORMAT,
        dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        created: now(),
        title: format!("{}{beside}", experiments.into_iter().collect::<Vec<_>>().join(" · ")),
        question,
        definitions: definitions::definitions(&server.unwrap_or_default()),
        ..Document::default()
    }
}

/// The time, to the second.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

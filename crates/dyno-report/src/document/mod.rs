//! Reports: what an archive says, as a document that any form can be written from.
//!
//! [`of_run`], [`of_campaign`] and [`of_pools`] read the archive and judge nothing anew: figures, steady state,
//! causes and warnings are those of the run's own files. What is over time is made by builders that take rows one by
//! one ([`Throughput`], [`Latency`], [`Counters`], [`Waits`], [`Annotations`]), so that the page of a run that is going
//! on draws the same figures.

mod annotations;
mod around;
mod axes;
mod bars;
#[cfg(test)]
mod bindings;
mod campaign;
mod capacity;
pub(crate) mod cautions;
mod cell_table;
mod compared;
mod comparison;
mod counters;
mod culprit;
mod definitions;
mod environment;
pub(crate) mod gravity;
mod happened;
mod headline;
mod heat;
mod latency;
mod layout;
mod lineup;
mod load_hosts;
mod matrix;
mod measures;
mod metrics;
pub mod model;
#[cfg(test)]
mod one_value;
mod parts;
mod plans;
mod published;
mod recorded;
mod results;
mod run;
mod runs;
mod screen;
mod series;
mod servers;
mod statements;
mod sweep;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod throughput;
mod versus;
mod waits;

pub use annotations::Annotations;
pub use compared::{in_brief as of_comparison_in_brief, of_comparison};
pub use counters::Counters;
pub use latency::Latency;
pub use series::Grid;
pub use throughput::Throughput;
pub use waits::Waits;

use crate::answer::{answer, answer_of_comparison};
use crate::compare::{conclusion, overall};
use crate::figures::one_line;
use campaign::Together;
use cautions::Cautions;
use dyno_analysis::comparison::{Pool, compare};
use dyno_analysis::summary::summary_of;
use dyno_archive::analysis::Analysis;
use dyno_archive::plan::Resolved;
use dyno_archive::summary::{Summary, Warning};
use dyno_archive::{Campaign, Capacity, Run, Screen, Versus};
use model::{Block, Detail, Document, FORMAT, Headline, Section};
use parts::{in_full, paragraph, section};
use recorded::Recorded;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Of more runs than this only figures are shown, not each over time: nobody looks at them all, and a page has limits.
const MOST_RUNS: usize = 100;

/// The report of one run of a campaign, with everything that was recorded of it that is wanted.
#[must_use]
pub fn of_run(campaign: &Campaign, run: &Run, detail: Detail) -> Document {
    let recorded = match detail {
        Detail::Brief => Recorded::in_brief(run),
        Detail::Full => Recorded::read(run),
    };
    let mut document = document(&[campaign]);
    document.title = format!("{}: {}", document.title, run::name(&recorded));
    let mut cautions = Cautions::default();
    cautions.plan(campaign);
    tell(&mut document, cautions, &recorded, experiment_of(campaign, run));
    if let Some(known) = Capacity::read(&campaign.path) {
        document.answer = Some(crate::capacity::capacity(&known));
        document.headlines.clear();
        document.sections.insert(0, capacity::section_of(&known));
    }
    document.sections.extend(around::of_run(run));
    document.sections.extend(published::of(&[campaign], Some(run), detail));
    let environment = environment::environment(&[(campaign, vec![run])]);
    document.sections.push(environment);
    finished(document)
}

/// The document with its chapters in the order of what they are good for, and what they use defined.
fn finished(mut document: Document) -> Document {
    document.sections.sort_by_key(|section| section.part);
    document.definitions = definitions::used(&document);
    document
}

/// How the server executed the statements of `run`, or of the first run of each cell of a campaign that has kept it.
#[must_use]
pub fn of_plans(campaign: &Campaign, run: Option<&Run>) -> Document {
    let runs = campaign
        .runs
        .iter()
        .filter(|one| run.is_none_or(|run| run.path == one.path));
    let mut sections: Vec<Section> = plans::of_cells(runs, Run::name).collect();
    for (number, section) in (1..).zip(&mut sections) {
        section.id = format!("plans-{number}");
        section.detail = Detail::Brief;
    }
    if sections.is_empty() {
        let none = "No plans are kept of it: dyno keeps them of experiments that sample the server (not of pgbench, \
                    sysbench and --no-sampling), from the version on that has dyno show --plans.";
        sections.push(section("plans", "Plans", vec![paragraph(none)]));
    }
    Document {
        sections,
        ..document(&[campaign])
    }
}

/// What came of a run that has just ended, as far as a terminal shows it: it is not read, and nothing is said of its
/// environment. Its figures and their analysis are those of `summary` and `analysis`. With the `campaign`, if nothing
/// else is said of that, come what the run was asked and what was published.
#[must_use]
pub fn of_finished(campaign: Option<&Campaign>, run: &Run, summary: Summary, analysis: Option<Analysis>) -> Document {
    let recorded = Recorded {
        summary: Ok(summary),
        analysis,
        ..Recorded::in_brief(run)
    };
    let mut document = Document::default();
    tell(&mut document, Cautions::default(), &recorded, None);
    if let Some(campaign) = campaign {
        document.sections.extend(around::asked_of_run(run));
        let published = published::of(&[campaign], Some(run), Detail::Brief);
        document.sections.extend(published);
    }
    document
}

/// The results of a run in a few sentences, and what was found in its recording.
pub(crate) fn in_short(run: &Run) -> (Vec<Headline>, Option<Analysis>) {
    let recorded = Recorded::in_brief(run);
    (headline::of_run(&recorded), recorded.analysis)
}

/// Puts into `document` what is to be said of a run.
fn tell(document: &mut Document, mut cautions: Cautions, recorded: &Recorded, experiment: Option<&Resolved>) {
    caution(&mut cautions, recorded, "");
    document.headlines = headline::of_run(recorded);
    document.warnings = cautions.all();
    document.sections = run::sections(recorded, experiment);
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
pub fn of_campaign(campaign: &Campaign, detail: Detail) -> Document {
    let planned = campaign.record.as_ref().map_or(1, |record| record.runs.len());
    match campaign.runs.as_slice() {
        [only] if planned < 2 => of_run(campaign, only, detail),
        _ => together(&[campaign.into()], None, detail),
    }
}

/// The report of several campaigns side by side. The one at `baseline` is what the others are compared with.
#[must_use]
pub fn of_campaigns(campaigns: &[Campaign], baseline: Option<usize>) -> Document {
    of_pools(&campaigns.iter().map(Pool::from).collect::<Vec<_>>(), baseline)
}

/// The same of campaigns some of which are taken together.
#[must_use]
pub fn of_pools(pools: &[Pool<'_>], baseline: Option<usize>) -> Document {
    match pools {
        [pool] if pool.campaigns().len() == 1 => of_campaign(pool.campaigns()[0], Detail::Full),
        _ => together(pools, baseline, Detail::Full),
    }
}

fn together(pools: &[Pool<'_>], baseline: Option<usize>, detail: Detail) -> Document {
    let campaigns: Vec<&Campaign> = pools.iter().flat_map(Pool::campaigns).copied().collect();
    let campaigns = campaigns.as_slice();
    let runs: Vec<&Run> = campaigns.iter().flat_map(|campaign| &campaign.runs).collect();
    let (shown, others) = match detail {
        Detail::Brief => (Vec::new(), runs.clone()),
        Detail::Full => chosen(&runs),
    };
    let recorded = read_all(&shown);
    let mut cautions = Cautions::default();
    let several = campaigns.len() > 1;
    campaigns
        .iter()
        .for_each(|campaign| cautions.campaign(campaign, several));
    for recorded in &recorded {
        caution(&mut cautions, recorded, &name_among(campaigns, recorded.run));
    }
    for run in &others {
        let analysis = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        let figures = summary_of(run).unwrap_or_default();
        cautions.run(run, &name_among(campaigns, run), warnings(&figures, analysis));
    }
    let of_all = cautions.of_campaigns();
    let all = Together::new(pools, &recorded, baseline);
    let mut document = document(campaigns);
    if let [campaign] = campaigns {
        document.answer = answer(campaign);
    }
    document.headlines = all.headlines();
    document.warnings = cautions.all();
    document.sections = all.sections();
    if let Some(results) = document.sections.iter_mut().find(|section| section.id == "cells") {
        results.cautions = of_all;
    }
    let screen = match campaigns {
        [campaign] => Screen::read(&campaign.path),
        _ => None,
    };
    if let Some(screen) = &screen {
        document.headlines.clear();
        document.sections = screen::with_runs(screen, document.sections);
    }
    if let [campaign] = campaigns
        && let Some(versus) = Versus::read(&campaign.path)
    {
        // What is said of runs that were made one after the other does not hold of these.
        document.headlines.clear();
        document.sections.insert(0, versus::section_of(&versus, campaign));
    }
    if let Some((place, base)) = baseline.and_then(|baseline| Some((baseline, pools.get(baseline)?))) {
        for (_, pool) in pools.iter().enumerate().filter(|(other, _)| *other != place) {
            let comparison = compare(base, pool);
            if pools.len() == 2 {
                document.answer = Some(answer_of_comparison(&comparison));
            }
            let mut section = comparison::section(&comparison::id_among_others(&comparison), &comparison);
            let words = format!("Verdict on B: {}. {}", overall(&comparison), conclusion(&comparison));
            section.blocks.insert(1, paragraph(words));
            document
                .warnings
                .extend(compared::cautions(&comparison, &section.title));
            document.sections.push(section);
        }
    }
    let mut each = section("each-run", "Each run over time", Vec::new());
    let section_of = |(number, recorded): (usize, &Recorded)| {
        let figures = recorded.summary.clone().unwrap_or_default();
        Section {
            title: name_among(campaigns, recorded.run),
            cautions: cautions::of_run(recorded.run, warnings(&figures, recorded.analysis.as_ref()))
                .into_iter()
                // The others are said of the run itself.
                .filter(|caution| caution.detail == Detail::Brief)
                .map(|caution| caution.text)
                .collect(),
            ..run::folded(recorded, number + 1)
        }
    };
    each.sections = recorded.iter().enumerate().map(section_of).collect();
    axes::of_runs(&mut each.sections);
    each.blocks.extend(left_out(others.len()));
    document
        .sections
        .extend((!each.sections.is_empty()).then(|| in_full(each)));
    let named = runs.iter().map(|run| (name_among(campaigns, run), *run));
    document.sections.extend(around::together(&named.collect::<Vec<_>>()));
    if screen.is_none() {
        document.sections.extend(published::of(campaigns, None, detail));
    }
    let parts: Vec<_> = campaigns
        .iter()
        .map(|campaign| (*campaign, campaign.runs.iter().collect()))
        .collect();
    document.sections.push(environment::environment(&parts));
    // A screenful has no room for them.
    if detail == Detail::Full {
        let of_campaigns = campaigns.iter();
        let plans = of_campaigns.flat_map(|campaign| {
            let name = |run: &Run| name_among(campaigns, run);
            plans::of_cells(campaign.runs.iter(), name).collect::<Vec<_>>()
        });
        document.sections.extend(plans::together(plans.collect()));
    }
    finished(document)
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
    cautions.run(recorded.run, name, warnings(&figures, recorded.analysis.as_ref()));
}

/// What the figures of a run and their analysis warn of.
fn warnings<'a>(figures: &'a Summary, analysis: Option<&'a Analysis>) -> impl Iterator<Item = &'a Warning> {
    let of_analysis = analysis.into_iter().flat_map(|analysis| &analysis.warnings);
    figures.warnings.iter().chain(of_analysis)
}

/// A document with all that does not depend on runs.
fn document(campaigns: &[&Campaign]) -> Document {
    let title = |campaign: &&Campaign| match &campaign.record {
        Ok(record) => one_line(&record.experiment.title),
        Err(_) => campaign.name(),
    };
    let titles: indexmap::IndexSet<String> = campaigns.iter().map(title).collect();
    let records = campaigns.iter().filter_map(|campaign| campaign.record.as_ref().ok());
    let mut questions = records.map(|record| one_line(&record.experiment.question));
    let beside = if campaigns.len() > 1 {
        format!(" ({} campaigns)", campaigns.len())
    } else {
        String::new()
    };
    // Of several databases the first has the word. A run that could not begin knows of none.
    let mut runs = campaigns.iter().flat_map(|campaign| &campaign.runs);
    let described = |run: &&Run| run.record.as_ref().is_ok_and(|record| !record.server.is_null());
    let server = runs.find(described).map(Run::traits);
    Document {
        format: FORMAT,
        dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        created: now(),
        title: format!("{}{beside}", titles.into_iter().collect::<Vec<_>>().join(" · ")),
        question: questions.find(|question| !question.is_empty()),
        definitions: definitions::definitions(&server.unwrap_or_default()),
        ..Document::default()
    }
}

/// The time, to the second.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

//! What is to be known of an experiment of a series beside its figures.

use crate::answer::answer;
use crate::document::gravity::gravity_of;
use crate::figures::{duration, one_line};
use dyno_archive::{Campaign, CampaignRecord, Series, SeriesMember};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

/// An experiment's own part of the page.
#[derive(Debug, Default, Serialize)]
pub struct Part {
    /// The experiment's name.
    pub experiment: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it finds out; may be empty.
    pub question: String,
    /// Where it was published; may be empty.
    pub source: String,
    /// How large, how long and of what.
    pub facts: Vec<String>,
    /// What it answers, if it compares.
    pub answers: Vec<String>,
    /// What ended it before its time, or why it is not measured.
    pub failures: Vec<String>,
    /// What to keep in mind, each once, the gravest of each campaign first.
    pub cautions: Vec<String>,
    /// The folders of its campaigns.
    pub campaigns: Vec<String>,
}

/// The experiments of some series, each once.
pub(super) fn parts(serieses: &[(&Series, Vec<Option<Campaign>>)]) -> Vec<Part> {
    let mut parts: IndexMap<&str, Part> = IndexMap::new();
    for (series, campaigns) in serieses {
        for (member, campaign) in series.record.members.iter().zip(campaigns) {
            let part = parts.entry(&member.experiment).or_insert_with(|| Part {
                experiment: member.experiment.clone(),
                title: member.title.clone(),
                ..Part::default()
            });
            add(part, member, campaign.as_ref());
        }
    }
    parts.into_values().collect()
}

fn add(part: &mut Part, member: &SeriesMember, campaign: Option<&Campaign>) {
    let failures = member.left_out.iter().chain(&member.failure);
    part.failures.extend(failures.map(|why| one_line(why)));
    let kept = campaign.and_then(|campaign| campaign.record.as_ref().ok());
    if let Some(record) = kept.or(member.planned.as_deref())
        && part.facts.is_empty()
    {
        part.question = one_line(&record.experiment.question);
        part.source = one_line(&record.experiment.source);
        part.facts = facts(record);
    }
    let Some(campaign) = campaign else { return };
    part.campaigns.push(campaign.name());
    part.answers.extend(answer(campaign));
    let runs = campaign.runs.iter().filter_map(|run| run.record.as_ref().ok());
    let summaries = runs.filter_map(|record| record.summary.as_ref());
    let mut warnings: Vec<_> = summaries.flat_map(|summary| &summary.warnings).collect();
    warnings.sort_by_key(|warning| gravity_of(warning));
    let warnings = warnings.iter().map(ToString::to_string);
    let failures = campaign
        .runs
        .iter()
        .filter_map(|run| run.record.as_ref().ok()?.failure.as_deref());
    let said: IndexSet<String> = failures.map(one_line).chain(warnings).collect();
    part.cautions.extend(said);
}

fn facts(record: &CampaignRecord) -> Vec<String> {
    let experiment = &record.experiment;
    let phases = experiment.phases();
    let phases = phases
        .iter()
        .filter_map(|phase| Some(format!("{} {}", phase.name, duration(phase.duration?))));
    let phases = phases.collect::<Vec<_>>().join(", ");
    let factors = record.factors.iter();
    let factors = factors.map(|factor| format!("{}: {}", factor.name, factor.levels.join(", ")));
    let size = experiment.size.map(|size| format!("size {size}"));
    let shared = (!record.defaults.is_empty()).then(|| {
        let values = record.defaults.values.iter();
        let values: Vec<String> = values.map(|(key, value)| format!("{key} = {value}")).collect();
        format!("from {}: {}", record.defaults.file, values.join(", "))
    });
    let phases = Some(phases).filter(|phases| !phases.is_empty());
    size.into_iter().chain(phases).chain(factors).chain(shared).collect()
}

//! What two campaigns were made with that is not the same.

use crate::comparison::cells::{Cell, Cells, Matches};
use crate::comparison::facts::{Facts, is_of_factor, of_campaign, of_experiment, of_run};
use crate::comparison::{Difference, PRODUCT};
use crate::plans;
use dyno_archive::figures::decimal;
use indexmap::{IndexMap, IndexSet};

/// Sizes of loaded data that differ by less are the same: a file grows by whole pages and segments.
const SAME_SIZE: f64 = 0.01;

/// What the names of facts that are settings begin with.
const SETTINGS: &str = "settings.";

/// What the names of facts that are plans of statements begin with.
pub(super) const PLAN: &str = "plan of ";

/// The values of each fact in the runs of one side.
type Values = IndexMap<String, IndexSet<String>>;

/// What two campaigns were made with.
pub(super) struct Differing {
    /// All that differs in the matched cells, and which factor has which only level.
    pub differences: Vec<Difference>,
    /// What the servers of the baseline were set to, if the other's were of another kind.
    pub baseline_settings: IndexMap<String, String>,
    /// What those of the other were set to then.
    pub candidate_settings: IndexMap<String, String>,
}

/// Finds out what differs in the matched cells.
pub(super) fn differences(baseline: &Cells<'_>, candidate: &Cells<'_>, matches: &Matches<'_, '_>) -> Differing {
    let base_cells: Vec<&Cell<'_>> = matches.pairs.iter().map(|(cell, _)| *cell).collect();
    let other_cells: Vec<&Cell<'_>> = matches.pairs.iter().map(|(_, cell)| *cell).collect();
    let (base, other) = (values(baseline, &base_cells), values(candidate, &other_cells));

    let fixed = matches.fixed.iter().map(|(factor, one, another)| Difference {
        what: factor.clone(),
        baseline: one.clone().unwrap_or_default(),
        candidate: another.clone().unwrap_or_default(),
    });
    let mut differences: Vec<Difference> = fixed.filter(|fixed| fixed.baseline != fixed.candidate).collect();

    // What is varied, and what the names of levels stand for, differs between cells and is told as such.
    let fixed = matches.fixed.iter().map(|(factor, ..)| factor);
    let varied: Vec<&String> = matches.matched_by.iter().chain(&matches.unknown).chain(fixed).collect();
    let meanings: IndexSet<&String> = [baseline, candidate]
        .into_iter()
        .flat_map(|cells| &cells.records)
        .flat_map(|record| &record.factors)
        .filter(|factor| matches.matched_by.contains(&factor.name))
        .flat_map(|factor| factor.meanings.values().flat_map(IndexMap::keys))
        .collect();
    let is_told = |name: &str| {
        varied.iter().any(|factor| is_of_factor(name, factor))
            || meanings.iter().any(|factor| is_of_factor(name, factor))
    };
    let names: IndexSet<&String> = base.keys().chain(other.keys()).filter(|name| !is_told(name)).collect();
    let nothing = IndexSet::new();
    let products = base.get(PRODUCT).zip(other.get(PRODUCT));
    let are_of_two_kinds = products.is_some_and(|(one, another)| one != another);
    // Plans that were not kept say nothing, and those of different databases have no step in common.
    let is_comparable = |name: &str| match products {
        _ if name.starts_with(PLAN) => !are_of_two_kinds && base.contains_key(name) && other.contains_key(name),
        Some(_) if are_of_two_kinds => !name.starts_with(SETTINGS) && !name.starts_with("server.locale"),
        Some(_) => true,
        // Earlier dynos did not always say which it is.
        None => name != PRODUCT,
    };
    for name in names.into_iter().filter(|name| is_comparable(name)) {
        let (one, another) = (base.get(name).unwrap_or(&nothing), other.get(name).unwrap_or(&nothing));
        if one != another {
            differences.push(Difference {
                what: name.clone(),
                baseline: joined(one),
                candidate: joined(another),
            });
        }
    }
    differences.extend(data_size(&base_cells, &other_cells));
    let listed = |values: &Values| -> IndexMap<String, String> {
        let settings = values.iter().filter(|_| are_of_two_kinds);
        let settings = settings.filter_map(|(name, values)| Some((name.strip_prefix(SETTINGS)?, values)));
        settings
            .map(|(name, values)| (name.to_owned(), joined(values)))
            .collect()
    };
    Differing {
        differences,
        baseline_settings: listed(&base),
        candidate_settings: listed(&other),
    }
}

/// Several values with commas between them.
fn joined(values: &IndexSet<String>) -> String {
    values.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The facts of a campaign and of these cells of it, with their runs.
fn values(campaign: &Cells<'_>, cells: &[&Cell<'_>]) -> Values {
    let mut values = Values::new();
    let mut add = |facts: Facts| {
        for (name, value) in facts {
            values.entry(name).or_default().insert(value);
        }
    };
    for cell in cells {
        for record in cell.runs.iter().filter_map(|(run, _)| run.record.as_ref().ok()) {
            add(of_run(record));
        }
        for (run, _) in &cell.runs {
            let plans = plans::of_run(run).into_iter();
            add(plans
                .map(|(statement, plan)| (format!("{PLAN}{statement}"), plan))
                .collect());
        }
    }
    for record in &campaign.records {
        add(of_campaign(record));
    }
    for experiment in cells.iter().flat_map(|cell| &cell.experiments) {
        let mut facts = of_experiment(experiment);
        // What was asked for; what the servers made of it is among the facts of the runs.
        facts.retain(|name, _| !name.starts_with(SETTINGS) && name != "target");
        add(facts);
    }
    values
}

/// How much data there was before the load, if that differs.
fn data_size(baseline: &[&Cell<'_>], candidate: &[&Cell<'_>]) -> Option<Difference> {
    let mean = |cells: &[&Cell<'_>]| {
        let runs = cells.iter().flat_map(|cell| &cell.runs);
        let sizes = runs
            .filter(|(_, summary)| !summary.tables.is_empty())
            .map(|(_, summary)| {
                let tables = summary.tables.iter();
                tables
                    .map(|table| table.table_before_bytes + table.indexes_before_bytes)
                    .sum::<u64>() as f64
            });
        sizes.collect::<dyno_stats::Running>().mean()
    };
    let (one, another) = (mean(baseline)?, mean(candidate)?);
    let differ = (one - another).abs() > SAME_SIZE * one.max(another);
    let megabytes = |bytes: f64| format!("{} MB", decimal(bytes / f64::from(1 << 20), 1));
    differ.then(|| Difference {
        what: "tables before the load".to_owned(),
        baseline: megabytes(one),
        candidate: megabytes(another),
    })
}

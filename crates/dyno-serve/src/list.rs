//! The list of campaigns, and which of them are asked for.

use crate::cache::Campaign;
use crate::series::Listed;
use dyno_archive::{RunOutline, RunState};
use dyno_report::figures::{count, rate, time};
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which campaigns are asked for; empty: all.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Filter {
    /// Words that all have to occur in what is shown of a campaign.
    pub text: String,
    /// How far it came, as [`RunState`] is written.
    pub state: String,
    /// The name of its experiment.
    pub experiment: String,
}

/// What the page shows.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    archive: String,
    filter: Filter,
    /// How many campaigns there are in all.
    all: usize,
    states: [&'static str; 5],
    experiments: BTreeSet<String>,
    rows: Vec<Row>,
    /// All series, whatever the filter.
    series: Vec<Listed>,
}

/// A campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    when: String,
    experiment: String,
    title: String,
    target: String,
    state: String,
    under_way: bool,
    runs: String,
    varied: String,
    tps: String,
    p99: String,
    errors: String,
}

impl List {
    /// The list of those of `campaigns`, the oldest first, that are asked for: those under way first, then the newest.
    pub(crate) fn new(archive: String, campaigns: &[Campaign], series: Vec<Listed>, filter: Filter) -> Self {
        let outlines = campaigns.iter().filter_map(|campaign| campaign.outline.as_ref());
        let experiments = outlines.map(|outline| outline.experiment.clone()).collect();
        let mut rows: Vec<Row> = campaigns
            .iter()
            .rev()
            .filter(|campaign| filter.is_of(campaign))
            .map(row)
            .filter(|row| filter.admits(row))
            .collect();
        rows.sort_by_key(|row| !row.under_way);
        Self {
            archive,
            filter,
            all: campaigns.len(),
            states: ["running", "complete", "faulty", "incomplete", "failed"],
            experiments,
            rows,
            series,
        }
    }
}

impl Filter {
    fn admits(&self, row: &Row) -> bool {
        let shown = [&row.name, &row.experiment, &row.title, &row.target, &row.varied].map(|text| text.to_lowercase());
        let has = |word: &str| shown.iter().any(|text| text.contains(word));
        self.text.to_lowercase().split_whitespace().all(has) && (self.state.is_empty() || self.state == row.state)
    }

    /// Whether the campaign measures the experiment that is asked for.
    fn is_of(&self, campaign: &Campaign) -> bool {
        let outline = campaign.outline.as_ref();
        self.experiment.is_empty() || outline.is_some_and(|outline| outline.experiment == self.experiment)
    }
}

/// The words in one line.
fn unbroken(words: &str) -> String {
    words.replace(' ', "\u{a0}")
}

fn row(campaign: &Campaign) -> Row {
    let outline = campaign.outline.as_ref();
    let text = |of: fn(&dyno_archive::CampaignOutline) -> String| outline.map_or_else(String::new, of);
    let outlines = || campaign.runs.iter().filter_map(|run| run.outline.as_ref());
    // As in reports: what ended early or had too many errors says nothing of what was to be measured, but how many
    // errors there were.
    let counting = || {
        let runs = campaign.runs.iter().filter(|run| run.state == RunState::Complete);
        runs.filter_map(|run| run.outline.as_ref())
    };
    let range = |values_of: &dyn Fn(&RunOutline) -> Vec<f64>, show: fn(f64) -> String| {
        let values = || counting().flat_map(values_of);
        let least = values().min_by(f64::total_cmp).map(show);
        let greatest = values().max_by(f64::total_cmp).map(show);
        match (least, greatest) {
            // Two lines at most, whose numbers have their units beside them.
            (Some(least), Some(greatest)) if least != greatest => {
                format!("{} {}", unbroken(&format!("{least} to")), unbroken(&greatest))
            }
            (Some(only), _) => unbroken(&only),
            _ => String::new(),
        }
    };
    // Of latencies each workload has its own.
    let workloads: IndexSet<&String> = counting().flat_map(|run| run.p99_us.keys()).collect();
    let p99s = workloads.iter().map(|workload| {
        let p99 = range(&|run| run.p99_us.get(*workload).cloned().unwrap_or_default(), time);
        match workloads.len() {
            1 => p99,
            _ => format!("{}:\u{a0}{p99}", unbroken(workload)),
        }
    });
    let p99 = p99s.collect::<Vec<_>>().join(" ");
    let errors: u64 = outlines().map(|run| run.errors).sum();
    let (complete, planned) = (campaign.count(RunState::Complete), campaign.planned());
    Row {
        name: campaign.name.clone(),
        when: text(|outline| outline.started.strftime("%Y-%m-%d %H:%M").to_string()),
        experiment: text(|outline| match outline.size {
            Some(size) => format!("{} {size}", outline.experiment),
            None => outline.experiment.clone(),
        }),
        title: text(|outline| outline.title.clone()),
        target: text(|outline| outline.target.clone()),
        state: campaign.state().to_string(),
        under_way: campaign.under_way,
        runs: match complete == planned {
            true => planned.to_string(),
            false => format!("{complete} of {planned}"),
        },
        varied: text(|outline| outline.factors.join(", ")),
        tps: range(&|run| run.tps.into_iter().collect(), rate),
        p99,
        errors: if errors == 0 { String::new() } else { count(errors) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Run;
    use dyno_archive::CampaignOutline;
    use indexmap::IndexMap;

    fn campaign(name: &str, experiment: &str, under_way: bool, tps: &[f64]) -> Campaign {
        let run = |tps: &f64| Run {
            name: "001-rep1".to_owned(),
            state: RunState::Complete,
            outline: Some(RunOutline {
                recorded_state: RunState::Complete,
                tps: Some(*tps),
                p99_us: IndexMap::from([("update".to_owned(), vec![1_812.4])]),
                errors: 0,
            }),
        };
        Campaign {
            name: name.to_owned(),
            under_way,
            outline: Some(CampaignOutline {
                started: "2026-11-21T19:40:12+01:00[+01:00]".parse().unwrap(),
                label: None,
                experiment: experiment.to_owned(),
                title: "Updates by primary key".to_owned(),
                size: None,
                target: "embedded".to_owned(),
                factors: vec!["clients".to_owned()],
                planned: 2,
            }),
            runs: tps.iter().map(run).collect(),
        }
    }

    fn names(filter: Filter) -> Vec<String> {
        let campaigns = [
            campaign("a", "pk-update", true, &[1.0]),
            campaign("b", "pk-update", false, &[1.0, 2.0]),
            campaign("c", "pk-insert", false, &[]),
        ];
        let list = List::new(String::new(), &campaigns, Vec::new(), filter);
        list.rows.into_iter().map(|row| row.name).collect()
    }

    fn filter(text: &str, state: &str, experiment: &str) -> Filter {
        Filter {
            text: text.to_owned(),
            state: state.to_owned(),
            experiment: experiment.to_owned(),
        }
    }

    #[test]
    fn those_under_way_come_first_and_then_the_newest() {
        assert_eq!(names(Filter::default()), ["a", "c", "b"]);
    }

    #[test]
    fn all_parts_of_a_filter_have_to_fit() {
        assert_eq!(names(filter("UPDATE clients", "", "")), ["a", "c", "b"]);
        assert_eq!(names(filter("update nothing", "", "")), [""; 0]);
        assert_eq!(names(filter("", "complete", "")), ["b"]);
        assert_eq!(names(filter("", "incomplete", "")), ["c"]);
        assert_eq!(names(filter("", "", "pk-update")), ["a", "b"]);
        assert_eq!(names(filter("", "running", "pk-insert")), [""; 0]);
    }

    #[test]
    fn a_row_shows_least_and_greatest() {
        let of = |tps| row(&campaign("a", "pk-update", false, tps));
        assert_eq!(of(&[12_345.6, 9_000.0]).tps, "9,000\u{a0}to 12,346");
        assert_eq!(
            (of(&[9_000.0]).tps.as_str(), of(&[9_000.0]).runs.as_str()),
            ("9,000", "1 of 2")
        );
        assert_eq!(of(&[]).tps, "");
        let mut stopped = campaign("a", "pk-update", false, &[9_000.0, 1.0]);
        stopped.runs[1].state = RunState::Incomplete;
        assert_eq!(row(&stopped).tps, "9,000");
    }
}

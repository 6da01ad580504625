//! What the experiment's source published, beside what was measured here. It has a table of its own and is in no
//! chart: it was measured on another machine.

use super::model::{Detail, Section, Table, Value};
use super::parts::{paragraph, section, table};
use super::table::{number, text, value, words};
use crate::campaign::server_name;
use crate::figures::{bytes, counted, one_line};
use dyno_analysis::published::{Beside, published_beside};
use dyno_archive::plan::{Levels, Publication};
use dyno_archive::{Campaign, CampaignRecord, Run};
use indexmap::IndexSet;

/// The section about what was published of the experiments of these campaigns, or with `run` of what this run
/// measures; nothing if nothing was. A short document has only what was measured here, too.
pub(super) fn of(campaigns: &[&Campaign], run: Option<&Run>, detail: Detail) -> Option<Section> {
    let mut blocks = Vec::new();
    for campaign in campaigns {
        let Ok(record) = &campaign.record else { continue };
        let all = published_beside(campaign, run);
        if all.is_empty() {
            continue;
        }
        let mut unmatched: Vec<_> = all.iter().map(|beside| beside.published).collect();
        unmatched.dedup_by(|one, other| std::ptr::eq(*one, *other));
        let number = unmatched.len();
        unmatched.retain(|published| {
            let its = |beside: &&Beside<'_>| std::ptr::eq(beside.published, *published);
            all.iter().filter(its).all(|beside| beside.here.is_none())
        });
        let left_out = unmatched.len();
        let shown: Vec<Beside<'_>> = all
            .into_iter()
            .filter(|beside| detail == Detail::Full || beside.here.is_some())
            .collect();
        blocks.push(paragraph(whose(campaign, record)));
        let caption = match campaigns.len() {
            1 => String::new(),
            _ => format!("Campaign {}", campaign.name()),
        };
        blocks.extend(table(figures(caption, &shown)));
        if left_out > 0 && detail != Detail::Full {
            blocks.push(paragraph(format!(
                "Nothing measured here stands beside {left_out} of {}; dyno report lists them all.",
                counted(number as u64, "published figure")
            )));
        }
    }
    (!blocks.is_empty()).then(|| section("published", "Published, and here", blocks))
}

/// Says once what the two sides have not in common.
fn whose(campaign: &Campaign, record: &CampaignRecord) -> String {
    let Publication { host, .. } = &record.published;
    let source = match record.experiment.source.as_str() {
        "" => "the source".to_owned(),
        source => one_line(source),
    };
    let there = match host.as_str() {
        "" => "a machine that is not described".to_owned(),
        host => one_line(host),
    };
    let size = record.experiment.size;
    let size = size.map_or_else(String::new, |size| format!(", in the size {size}"));
    let levels = match record.cells.iter().any(|cell| !cell.levels.is_empty()) {
        true => " A figure stands beside the cells with its levels.",
        false => "",
    };
    format!(
        "Published by {source}, measured on {there}. Here: {}{size}. Host, version and size differ, so compare how \
         figures relate to each other rather than the figures themselves.{levels}",
        here(campaign).unwrap_or_else(|| "nothing was measured yet".to_owned())
    )
}

/// Server and machine of a campaign's first run that knows them, in words.
fn here(campaign: &Campaign) -> Option<String> {
    let mut records = campaign.runs.iter().filter_map(|run| run.record.as_ref().ok());
    let record = records.find(|record| !record.server.is_null())?;
    let of = |key: &str| record.host.get(key).and_then(serde_json::Value::as_u64);
    let text = |from: &serde_json::Value, key: &str| from.get(key)?.as_str().map(one_line);
    let server = server_name(record).unwrap_or_else(|| record.traits().product);
    let cores = of("cores").map(|cores| counted(cores, "core"));
    let processor = text(&record.host, "cpu_model").filter(|model| !model.is_empty());
    let cores = match (cores, processor) {
        (Some(cores), Some(processor)) => Some(format!("{cores} of {processor}")),
        (cores, _) => cores,
    };
    let memory = of("memory_bytes").filter(|memory| *memory > 0).map(bytes);
    let host: Vec<String> = cores.into_iter().chain(memory).collect();
    let host = match host.as_slice() {
        [] => String::new(),
        host => format!(", load from {}", host.join(", ")),
    };
    Some(format!("{}{host}", server.trim()))
}

fn figures(caption: String, all: &[Beside<'_>]) -> Table {
    // Levels that a cell has beyond those that were published tell its rows apart.
    let others = |beside: &Beside<'_>| -> Levels {
        let cell = beside.cell.iter().flatten();
        let others = cell.filter(|(factor, _)| !beside.published.levels.contains_key(*factor));
        others.map(|(factor, level)| (factor.clone(), level.clone())).collect()
    };
    let factors: IndexSet<&String> = all.iter().flat_map(|beside| beside.published.levels.keys()).collect();
    let mut columns = vec![text("of")];
    columns.extend(factors.iter().map(|factor| text(factor)));
    columns.extend(["workload", "measure", "unit"].map(text));
    columns.extend(["published", "here", "here / published"].map(|name| number(name, "")));
    columns.extend(["here with", "note"].map(text));
    let row = |beside: &Beside<'_>| {
        let published = beside.published;
        let mut row = vec![words(one_line(&published.of))];
        row.extend(factors.iter().map(|factor| {
            let level = published.levels.get(*factor);
            words(level.map_or_else(String::new, |level| one_line(level)))
        }));
        row.push(words(published.workload.as_deref().unwrap_or_default()));
        row.push(words(one_line(&published.measure)));
        row.push(words(one_line(&published.unit)));
        row.push(Value::Number(published.value));
        row.push(dash(beside.here));
        row.push(dash(beside.ratio()));
        let others = others(beside);
        let others = others.iter().map(|(factor, level)| format!("{factor} = {level}"));
        row.push(words(one_line(&others.collect::<Vec<_>>().join(", "))));
        row.push(words(one_line(&published.note)));
        row
    };
    Table {
        caption,
        columns,
        rows: all.iter().map(row).collect(),
    }
}

/// A number, or a dash where there is none.
fn dash(number: Option<f64>) -> Value {
    match value(number) {
        Value::Nothing(()) => words("–"),
        number => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::model::Document;
    use crate::markdown::paper;
    use crate::table::Page;
    use crate::terminal::campaign as text;
    use crate::terminal::campaign_tests::{Fate, campaign};

    const END: &str = "[factors]\nclients = [1, 8]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \
                       \"listed\"\n[[published]]\nlevels = { clients = 8 }\nmeasure = \"tps\"\nvalue = 8_000\n\
                       [[published]]\nof = \"Oracle\"\nlevels = { clients = 26 }\nmeasure = \"latency_p99\"\n\
                       value = 1.25\nnote = \"10 s each\"\n";

    #[test]
    fn figures_stand_beside_the_cells_with_their_levels() {
        let folder = tempfile::tempdir().unwrap();
        let file = |source: &str| {
            campaign(folder.path(), &format!("{END}{source}"), |run| match run.number {
                4 => Fate::NotMade,
                number => Fate::Complete(1_000.0 * number as f64),
            })
        };
        let mut campaign = file("");
        campaign.record.as_mut().unwrap().published.host = "24 cores, 128 GB".to_owned();
        let document = Document {
            sections: of(&[&campaign], None, Detail::Full).into_iter().collect(),
            ..Document::default()
        };
        insta::assert_snapshot!(paper(&document, |_| None));
        // A short document leaves out what has no counterpart, and says so.
        let shown = text(&campaign, true, Page::default());
        assert!(shown.contains("beside 1 of 2 published figures;"), "{shown}");
        // Of a run there is what belongs to its cell.
        let of_run = |number: usize| of(&[&campaign], Some(&campaign.runs[number]), Detail::Full);
        assert_eq!((of_run(0), of_run(2).is_some()), (None, true));
        campaign.record.as_mut().unwrap().published = Publication::default();
        assert_eq!(of(&[&campaign], None, Detail::Full), None);
    }
}

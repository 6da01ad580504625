//! The runs of one or several campaigns: how each ended, and what was found in them.

use super::cautions::Cautions;
use super::layout::CAMPAIGN;
use super::model::{Block, Caution, Column, Table, Value};
use super::parts::{list, table};
use super::table::{RUN, exactly, ms, number, text, value, with_details, words};
use crate::campaign::cells::{Cell, Factor, of_run, whose_tps};
use crate::campaign::whose::{Whose, of_workload};
use crate::campaign::{level, reason};
use crate::figures::one_line;
use dyno_analysis::summary::summary_of;
use dyno_archive::analysis::Analysis;
use dyno_archive::summary::Summary;
use dyno_archive::{Campaign, Run, RunState};

/// Every run with how it ended, and why some do not count.
pub(super) fn blocks(campaigns: &[&Campaign], cells: &[Cell], varied: &[&Factor]) -> Vec<Block> {
    let varied: Vec<&Factor> = varied
        .iter()
        .copied()
        .filter(|factor| factor.name != CAMPAIGN)
        .collect();
    let all = Runs {
        several: campaigns.len() > 1,
        all: Whose::all(cells),
        cells,
        varied,
    };
    let runs = campaigns.iter().flat_map(|campaign| &campaign.runs);
    let others = runs.filter(|run| run.state != RunState::Complete);
    let others = others.map(|run| format!("{} does not count: {}", run.name(), reason(run)));
    let others = list(others.collect());
    table(all.table(campaigns)).into_iter().chain(others).collect()
}

/// What holds for single runs, each said once.
pub(super) fn findings(campaigns: &[&Campaign]) -> Option<Block> {
    let mut found = Cautions::default();
    for run in campaigns.iter().flat_map(|campaign| &campaign.runs) {
        let analysis = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        found.events(
            &run.name(),
            analysis.iter().flat_map(|analysis| analysis.findings.clone()),
        );
    }
    let found = found.all().into_iter();
    list(
        found
            .map(|Caution { subject, text, .. }| format!("{subject}: {text}"))
            .collect(),
    )
}

struct Runs<'a> {
    several: bool,
    all: Vec<Whose>,
    cells: &'a [Cell],
    varied: Vec<&'a Factor>,
}

impl Runs<'_> {
    fn table(&self, campaigns: &[&Campaign]) -> Table {
        let mut columns: Vec<Column> = self.several.then(|| text("campaign")).into_iter().collect();
        columns.push(text(RUN));
        columns.extend(self.varied.iter().map(|factor| text(&factor.name)));
        columns.extend([
            text("state"),
            number(&of_workload("throughput", whose_tps(self.cells)), "TPS"),
        ]);
        columns.extend(self.all.iter().map(|whose| number(&whose.words("p99"), "ms")));
        columns.extend([number("errors", ""), number("dips", "")]);
        let rows = campaigns.iter().flat_map(|campaign| {
            let runs = campaign.runs.iter();
            runs.map(|run| self.row(campaign, run))
        });
        let table = Table {
            caption: String::new(),
            columns,
            rows: rows.collect(),
        };
        // The levels are part of a run's name.
        let levels: Vec<&str> = self.varied.iter().map(|factor| factor.name.as_str()).collect();
        with_details(table, &levels)
    }

    fn row(&self, campaign: &Campaign, run: &Run) -> Vec<Value> {
        let record = run.record.as_ref().ok();
        let summary = summary_of(run).ok().filter(|summary| !summary.workloads.is_empty());
        let errors = summary
            .as_ref()
            .map(|summary| summary.workloads.iter().map(|workload| workload.errors).sum::<u64>());
        let dips = record
            .and_then(|record| record.analysis.as_ref())
            .and_then(Analysis::dips_found);
        let cell = of_run(run);
        let mut row: Vec<_> = self.several.then(|| words(campaign.name())).into_iter().collect();
        row.push(words(run.name()));
        row.extend(self.varied.iter().map(|factor| words(one_line(level(&cell, factor)))));
        row.push(words(run.state.to_string()));
        row.push(value(summary.as_ref().and_then(Summary::tps)));
        row.extend(self.all.iter().map(|whose| ms(cell.p99_us(whose))));
        row.push(errors.map_or(value(None), exactly));
        row.push(value(dips.map(|dips| dips as f64)));
        row
    }
}

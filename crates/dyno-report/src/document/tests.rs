//! Documents of whole campaigns, and of what is left of damaged ones.

use super::model::{Figure, FigureData, Part, Section, Sweep, Table, Value};
use super::*;
use crate::fixture::{staged, two_workloads, write_archive};
use crate::html;
use crate::table::Page;
use crate::terminal::campaign_tests::{Fate, campaign};
use dyno_archive::Archive;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn read(archive: &Path) -> Vec<Campaign> {
    Archive::new(archive).campaigns().unwrap()
}

/// All figures, also of sections within sections.
fn figures(sections: &[Section]) -> Vec<&Figure> {
    let mut found = Vec::new();
    for section in sections {
        found.extend(section.blocks.iter().filter_map(figure_of));
        found.extend(figures(&section.sections));
    }
    found
}

fn figure_of(block: &Block) -> Option<&Figure> {
    match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    }
}

fn figure<'a>(document: &'a Document, id: &str) -> &'a Figure {
    let ids: Vec<&str> = figures(&document.sections)
        .iter()
        .map(|figure| figure.id.as_str())
        .collect();
    figures(&document.sections)
        .into_iter()
        .find(|figure| figure.id == id)
        .unwrap_or_else(|| panic!("{id} is none of {ids:?}"))
}

/// Ids must be unique, because links and the data of figures go by them.
fn ids(sections: &[Section]) -> Vec<&str> {
    let own = sections.iter().flat_map(|section| {
        let figures = section
            .blocks
            .iter()
            .filter_map(figure_of)
            .map(|figure| figure.id.as_str());
        std::iter::once(section.id.as_str()).chain(figures)
    });
    own.chain(sections.iter().flat_map(|section| ids(&section.sections)))
        .collect()
}

fn assert_sound(document: &Document) {
    let mut ids = ids(&document.sections);
    ids.sort_unstable();
    let number = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), number, "{ids:?}");
    html::page(document).unwrap();
    let json = serde_json::to_string(document).unwrap();
    assert!(!json.contains("NaN"));
    // What is written as JSON reads back the same.
    assert_eq!(&serde_json::from_str::<Document>(&json).unwrap(), document);
}

#[test]
fn a_run_whose_dyno_was_killed_has_its_figures() {
    let archive = tempfile::tempdir().unwrap();
    write_archive(archive.path());
    let campaigns = read(archive.path());
    let document = of_campaign(&campaigns[2], Detail::Full);
    assert_sound(&document);
    let FigureData::Timeline(throughput) = &figure(&document, "run-throughput").data else {
        panic!()
    };
    assert_eq!(throughput.lanes[0].series[0].mean, vec![Some(1_000.0); 8]);
    assert_eq!((throughput.end_s, throughput.spans[0].end_s), (8.0, 5.0));
    let FigureData::Timeline(latency) = &figure(&document, "run-latency").data else {
        panic!()
    };
    // 500 µs and up, half a microsecond apart.
    let p50: Vec<f64> = latency.lanes[0].series[0].mean.iter().map(|us| us.unwrap()).collect();
    assert!(
        p50.len() == 8 && p50.iter().all(|us| (749.0..751.0).contains(us)),
        "{p50:?}"
    );
    let FigureData::HeatMap(heat) = &figure(&document, "run-heat-1").data else {
        panic!()
    };
    assert_eq!(
        heat.counts
            .iter()
            .map(|column| column.iter().sum::<f64>())
            .collect::<Vec<_>>(),
        vec![1_000.0; 8]
    );
    let FigureData::Percentiles(percentiles) = &figure(&document, "percentiles").data else {
        panic!()
    };
    // Three seconds were measured, with a thousand each.
    assert!(percentiles.curves[0].latency_us.len() > 60);
    let words: Vec<&str> = document.warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert!(words[0].starts_with("The run is not complete"), "{words:?}");
}

#[test]
fn a_warm_up_of_one_interval_and_a_half_moves_nothing() {
    const EXPERIMENT: &str = "title = \"Half\"\n[[workload]]\nname = \"update\"\nclients = 2\nscript = \"select \
                              1\"\n[phases]\nwarmup = \"1500ms\"\nmeasure = \"4s\"\n";
    let archive = tempfile::tempdir().unwrap();
    let started = "2026-11-21T19:40:12[UTC]";
    let fixture = dyno_fixtures::Fixture::begin(archive.path(), "half", EXPERIMENT, started).unwrap();
    let pace = dyno_fixtures::Pace {
        tps: 1_000.0,
        spread: 0.02,
        ..dyno_fixtures::Pace::default()
    };
    fixture.complete(|_, _| pace.clone()).unwrap();
    let campaigns = read(archive.path());
    let document = of_campaign(&campaigns[0], Detail::Full);
    let FigureData::Timeline(throughput) = &figure(&document, "run-throughput").data else {
        panic!()
    };
    let FigureData::HeatMap(heat) = &figure(&document, "run-heat-1").data else {
        panic!()
    };
    let line = &throughput.lanes[0].series[0];
    // The half interval has no rate of its own.
    assert_eq!((line.first_s, line.mean.len(), line.min.len()), (0.5, 5, 0));
    let rates: Vec<f64> = heat.counts.iter().map(|column| column.iter().sum()).collect();
    assert_eq!((heat.first_s, rates.len()), (-0.5, 6));
    let alike = |one: f64, other: f64| (one / other - 1.0).abs() < 0.002;
    for (rate, tps) in rates[2..].iter().zip(&line.mean[1..]) {
        assert!(alike(*rate, tps.unwrap()), "{rates:?} {:?}", line.mean);
    }
    // Half of the first column is before the load.
    let intervals = campaigns[0].runs[0].intervals().unwrap();
    let all: u64 = intervals.map(|row| row.transactions).sum();
    let drawn = rates[0] / 2.0 + rates[1..].iter().sum::<f64>();
    assert!(alike(drawn, all as f64), "{rates:?} of {all}");
}

#[test]
fn a_run_of_which_only_the_summary_is_left() {
    let archive = tempfile::tempdir().unwrap();
    write_archive(archive.path());
    let campaigns = read(archive.path());
    let document = of_campaign(&campaigns[0], Detail::Full);
    assert_sound(&document);
    assert_eq!(document.headlines[0].figure, "12,346 TPS");
    assert_eq!(
        document.headlines[0].interval,
        "no 95 % confidence interval: it needs 60 intervals, and this run has 0"
    );
    assert!(figures(&document.sections).is_empty());
    let mut told = document.clone();
    told.definitions.clear();
    told.created.clear();
    told.dyno_version.clear();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap());
}

#[test]
fn a_sweep_with_knee_and_ratios() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 4, 16, 64]\n[plan]\nrepetitions = 3\norder = \"listed\"\nbaseline = { clients \
               = 4 }\n";
    let tps = [1_000.0, 3_600.0, 9_900.0, 10_000.0];
    let campaign = campaign(archive.path(), end, |run| {
        Fate::Complete(tps[(run.number - 1) % 4] * (1.0 + 0.01 * run.repetition as f64))
    });
    let document = of_campaign(&campaign, Detail::Full);
    assert_sound(&document);
    let FigureData::Sweep(sweep) = &figure(&document, "tps-1").data else {
        panic!()
    };
    assert_eq!(
        (sweep.factor.as_str(), sweep.log, sweep.panels.len()),
        ("clients", true, 2)
    );
    let line = &sweep.panels[0].lines[0];
    assert_eq!((line.points.len(), line.knee), (4, Some(16.0)));
    assert_eq!(
        (line.points[2].value, line.points[2].low, line.points[2].high),
        (10_098.0, Some(9_999.0), Some(10_197.0))
    );
    // Of three runs of each nobody knows which of the upper two is the best.
    let answer = document.answer.as_deref().unwrap_or_default();
    assert!(answer.contains("is not decided"), "{answer}");
    let text = serde_json::to_string(&document).unwrap();
    assert!(
        !text.contains("ighest throughput") && !text.contains("Highest: "),
        "{text}"
    );
    assert!(text.contains("Knee: clients = 16."), "{text}");
    assert_eq!(
        document.headlines[0].verdict,
        "Compared with clients = 4: cannot tell yet; this would take about 1 more run of each."
    );
    // The metric of the experiment has a chart of its own.
    figure(&document, "metric-1-1");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document.headlines).unwrap());
    insta::assert_snapshot!(serde_json::to_string_pretty(&document.warnings).unwrap());
}

/// The table "cells" of a document, row by row as text.
/// A picture, the table, what both rest on, and how it was measured.
#[test]
fn chapters_stand_in_the_order_of_what_they_are_good_for() {
    let archive = tempfile::tempdir().unwrap();
    write_archive(archive.path());
    for campaign in read(archive.path()) {
        for detail in [Detail::Brief, Detail::Full] {
            let document = of_campaign(&campaign, detail);
            assert!(document.sections.is_sorted_by_key(|section| section.part));
            let ids: Vec<&str> = document.sections.iter().map(|section| section.id.as_str()).collect();
            let place = |id: &str| ids.iter().position(|other| *other == id);
            assert!(place("factors") < place("cells") || place("cells").is_none(), "{ids:?}");
            assert!(
                place("over-time") < place("results") || place("results").is_none(),
                "{ids:?}"
            );
            assert!(place("runs") <= place("each-run") || detail == Detail::Brief, "{ids:?}");
            assert_eq!(document.sections.last().map(|section| section.part), Some(Part::Setup));
        }
    }
}

fn cell_table(document: &Document) -> (Vec<&str>, Vec<Vec<String>>) {
    let section = document.sections.iter().find(|section| section.id == "cells").unwrap();
    let mut tables = section.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let table = tables.next_back().unwrap();
    let shown = |value: &Value| match value {
        Value::Nothing(()) => "–".to_owned(),
        Value::Number(number) => crate::figures::figure(*number),
        Value::Text(words) => words.clone(),
    };
    let rows = table.rows.iter().map(|row| row.iter().map(shown).collect());
    (
        table.columns.iter().map(|column| column.name.as_str()).collect(),
        rows.collect(),
    )
}

#[test]
fn percentiles_of_stages_are_never_put_together() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\n[plan]\norder = \"listed\"\n";
    let campaign = campaign(archive.path(), end, |_| Fate::Found(Box::new(staged())));
    let document = of_campaign(&campaign, Detail::Full);
    assert_sound(&document);
    let (columns, rows) = cell_table(&document);
    let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let told: Vec<[&str; 3]> = rows
        .iter()
        .take(3)
        .map(|row| ["stage", "mean", "p99"].map(|name| row[column(name)].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ["all stages", "10,250", "–"],
            ["calm", "500", "0.9"],
            ["storm", "20,000", "40"]
        ]
    );
    let titles = |sweep: &Sweep| -> Vec<String> { sweep.panels.iter().map(|panel| panel.title.clone()).collect() };
    let FigureData::Sweep(sweep) = &figure(&document, "tps-1").data else {
        panic!()
    };
    assert_eq!(
        titles(sweep),
        ["Throughput", "p99 of latency in calm", "p99 of latency in storm"]
    );
    let everything = [
        serde_json::to_string(&document).unwrap(),
        crate::terminal::campaign(&campaign, true, Page::default()),
        crate::list::runs(&[campaign], None),
    ];
    // The fixture's p99 over both stages.
    assert!(everything.iter().all(|text| !text.contains("1.812")), "{everything:?}");
    assert!(everything.iter().all(|text| text.contains("0.9")));
}

#[test]
fn what_is_asked_for_is_in_no_ratio() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 4]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \"listed\"\n\
               baseline = { full_page_writes = \"on\" }\n";
    let campaign = campaign(archive.path(), end, |run| {
        let mut summary = two_workloads();
        summary.workloads[0].tps = 1_000.0 * run.number as f64;
        Fate::Found(Box::new(summary))
    });
    let document = of_campaign(&campaign, Detail::Full);
    assert_sound(&document);
    let FigureData::Matrix(matrix) = &figure(&document, "ratios").data else {
        panic!()
    };
    assert_eq!(matrix.title, "TPS of closed loops, ratio to full_page_writes = on");
    let ratios: Vec<Option<f64>> = matrix.cells.iter().flatten().map(|cell| cell.value).collect();
    assert_eq!(ratios.iter().flatten().copied().fold(0.0, f64::max), 2.0, "{ratios:?}");
    let (columns, rows) = cell_table(&document);
    let place = columns.iter().position(|column| *column == "workload").unwrap();
    assert_eq!(
        [0, 1, 2].map(|row: usize| rows[row][place].as_str()),
        ["update", "ingest", "closed loops"]
    );
    // One of 1,000 with 993.8 that were asked for.
    assert!(!serde_json::to_string(&document).unwrap().contains("1993.8"));
    assert!(!crate::terminal::campaign(&campaign, true, Page::default()).contains("1,994"));
}

#[test]
fn a_tie_has_no_winner() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\n[plan]\norder = \"listed\"\n";
    let campaign = campaign(archive.path(), end, |_| Fate::Complete(1_000.0));
    let headlines = of_campaign(&campaign, Detail::Full).headlines;
    assert!(
        headlines[0].verdict.starts_with("The same throughput in all 2 cells"),
        "{headlines:?}"
    );
    assert_eq!(headlines[1].verdict, "The same in all 2 cells.");
}

#[test]
fn the_best_of_two_is_marked_where_it_is_known() {
    let end = "[factors]\nclients = [1, 8]\n[plan]\nrepetitions = 4\norder = \"listed\"\n";
    let marked = |faster: f64, scatter: f64| {
        let archive = tempfile::tempdir().unwrap();
        let campaign = campaign(archive.path(), end, |run| {
            let tps = if run.number % 2 == 0 { faster } else { 1_000.0 };
            Fate::Complete(tps * (1.0 + scatter * run.repetition as f64))
        });
        let document = of_campaign(&campaign, Detail::Full);
        let mean = all_tables(&document)
            .iter()
            .flat_map(|table| table.columns.clone())
            .find(|column| column.name == "mean");
        let said = serde_json::to_string(&document.headlines).unwrap();
        (
            mean.map(|column| (column.best, column.worst)).unwrap_or_default(),
            said.contains("The highest throughput"),
        )
    };
    assert_eq!(marked(1_500.0, 0.01), ((vec![1], vec![0]), true));
    assert_eq!(marked(1_010.0, 0.2), ((Vec::new(), Vec::new()), false));
}

#[test]
fn variants_in_turn_have_the_ratio_of_the_verdict() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [4, 16]\n[plan]\norder = \"listed\"\nbaseline = { clients = 4 }\n";
    let campaign = campaign(archive.path(), end, |run| {
        Fate::Complete([900.0, 3_900.0][run.number - 1])
    });
    let ratio = |measure, ratio, low, high| dyno_archive::Ratio {
        measure,
        ratio,
        low,
        high,
    };
    let versus = dyno_archive::Versus {
        factor: "clients".to_owned(),
        baseline: "4".to_owned(),
        candidate: "16".to_owned(),
        detect: 0.03,
        measure: dyno_archive::Measure::Throughput,
        answer: dyno_archive::Verdict::Higher,
        ratios: vec![
            ratio(dyno_archive::Measure::Throughput, 4.057, 3.425, 6.058),
            ratio(dyno_archive::Measure::P50, 0.98, 0.575, 1.426),
        ],
        blocks: 11,
        left_out: 0,
        more_blocks: None,
        block_s: 2.0,
        measured_s: 30.0,
        notes: Vec::new(),
        further: Vec::new(),
    };
    std::fs::write(
        campaign.path.join("versus.json"),
        serde_json::to_string(&versus).unwrap(),
    )
    .unwrap();
    let document = of_campaign(&campaign, Detail::Full);
    let cells = all_tables(&document)
        .into_iter()
        .find(|table| table.caption.starts_with("Cells"))
        .unwrap();
    // The means of all slices have another ratio, and p50 is known of neither.
    let marked = |name: &str| {
        let column = cells.columns.iter().find(|column| column.name == name).unwrap();
        (column.best.clone(), column.worst.clone())
    };
    assert_eq!(
        (marked("mean"), marked("p50")),
        ((vec![1], vec![0]), (Vec::new(), Vec::new()))
    );
    insta::assert_snapshot!(crate::terminal::overview(&campaign, Page::default()));
    let markdown = crate::markdown::paper(&document, |_| None);
    assert!(
        markdown.contains("4.1 (3.4–6.1)") && !markdown.contains("4.33"),
        "{markdown}"
    );
    let found: serde_json::Value = serde_json::from_str(&crate::campaign_json(&campaign, None).unwrap()).unwrap();
    assert_eq!(found["cells"][1]["ratio_to_baseline"]["tps_ratio"], 4.057);
}

fn all_tables(document: &Document) -> Vec<&Table> {
    fn of(section: &Section) -> Vec<&Table> {
        let own = section.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        own.chain(section.sections.iter().flat_map(of)).collect()
    }
    document.sections.iter().flat_map(of).collect()
}

#[test]
fn two_factors_are_lines_and_a_matrix_and_names_are_bars() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \
               \"listed\"\nbaseline = { full_page_writes = \"on\" }\n";
    let two = campaign(archive.path(), end, |run| Fate::Complete(1_000.0 * run.number as f64));
    let document = of_campaign(&two, Detail::Full);
    assert_sound(&document);
    let FigureData::Sweep(sweep) = &figure(&document, "tps-1").data else {
        panic!()
    };
    let names: Vec<&str> = sweep.panels[0].lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["full_page_writes = on", "full_page_writes = off"]);
    let FigureData::Matrix(matrix) = &figure(&document, "ratios").data else {
        panic!()
    };
    // With one run of each, nothing is significant; the baseline is not compared.
    let cells = || matrix.cells.iter().flatten();
    assert!(cells().all(|cell| cell.unproven != cell.baseline && cell.value.is_some()));
    assert_eq!(cells().filter(|cell| cell.baseline).count(), 2);

    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \"listed\"\n";
    let one = campaign(archive.path(), end, |run| Fate::Complete(1_000.0 * run.number as f64));
    let document = of_campaign(&one, Detail::Full);
    let FigureData::Bars(bars) = &figure(&document, "tps-1").data else {
        panic!()
    };
    assert_eq!(
        (bars.categories.as_slice(), &bars.series[0].values),
        (
            ["on".to_owned(), "off".to_owned()].as_slice(),
            &vec![Some(1_000.0), Some(2_000.0)]
        )
    );
}

#[test]
fn campaigns_side_by_side_are_lines_of_one_chart() {
    let archives = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let end = "[factors]\nclients = [1, 4, 16]\n[plan]\norder = \"listed\"\n";
    let campaigns: Vec<Campaign> = archives
        .iter()
        .zip([100.0, 200.0])
        .map(|(archive, tps)| campaign(archive.path(), end, |run| Fate::Complete(tps * run.number as f64)))
        .collect();
    let document = of_campaigns(&campaigns, Some(1));
    assert_sound(&document);
    let FigureData::Sweep(sweep) = &figure(&document, "tps-1").data else {
        panic!()
    };
    let lines: Vec<&str> = sweep.panels[0].lines.iter().map(|line| line.name.as_str()).collect();
    // Both were begun in the same second, in different archives.
    assert_eq!(
        lines,
        ["2026-11-21T19-40-12-updates", "2026-11-21T19-40-12-updates (2)"]
    );
    // The chapter that compares them has the ratios.
    let FigureData::Matrix(matrix) = &figure(&document, "compare-2026-11-21T19-40-12-updates-ratios").data else {
        panic!()
    };
    assert_eq!(matrix.cells[0][0].value, Some(0.5));
}

#[test]
fn what_is_missing_is_said() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\nfull_page_writes = [\"on\", \"off\"]\n[plan]\norder = \"listed\"\n";
    let partly = campaign(archive.path(), end, |run| match run.number {
        1 => Fate::Failed("the server did not start"),
        2 => Fate::Incomplete,
        _ => Fate::NotMade,
    });
    let document = of_campaign(&partly, Detail::Full);
    assert_sound(&document);
    let words: Vec<&str> = document.warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert!(
        words
            .iter()
            .any(|words| words.starts_with("2 of 4 runs are not measured yet")),
        "{words:?}"
    );
    assert!(words.contains(&"The run failed: the server did not start"), "{words:?}");
    assert_eq!(document.headlines[0].figure, "No figures");
    let has_cells = all_tables(&document)
        .iter()
        .any(|table| table.caption.starts_with("Cells"));
    assert!(!has_cells, "a table of no figures");

    // Nothing but folders is left.
    for run in &partly.runs {
        fs::write(run.path.join("run.json"), "").unwrap();
    }
    fs::write(partly.path.join("campaign.json"), "{").unwrap();
    let document = of_campaign(&read(archive.path()).remove(0), Detail::Full);
    assert_sound(&document);
    assert!(
        document.warnings[0]
            .text
            .starts_with("The campaign's plan cannot be read: "),
        "{:?}",
        document.warnings
    );
}

#[test]
fn a_campaign_of_which_nothing_was_made() {
    let archive = tempfile::tempdir().unwrap();
    let empty = campaign(archive.path(), "[factors]\nclients = [1, 8]\n", |_| Fate::NotMade);
    let document = of_campaign(&empty, Detail::Full);
    assert_sound(&document);
    assert!(
        document
            .warnings
            .iter()
            .any(|warning| warning.text == "The campaign contains no run.")
    );
    assert_sound(&of_campaigns(&[], None));
}

#[test]
fn the_words_are_those_of_the_first_database_that_was_reached() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\n[plan]\norder = \"listed\"\n";
    let mut campaign = campaign(archive.path(), end, |_| Fate::Complete(1.0));
    let described = serde_json::json!({ "traits": { "words": { "log": "redo log" }, "settings": {
        "checkpoint_log": "innodb_log_file_size" } } });
    for (run, server) in campaign.runs.iter_mut().zip([serde_json::Value::Null, described]) {
        run.record.as_mut().unwrap().server = server;
    }
    let all = super::document(&[&campaign]).definitions;
    let meanings: Vec<_> = all.iter().map(|definition| definition.meaning.as_str()).collect();
    let words = meanings.join("\n");
    assert!(
        words.contains("faster as the redo log fills up (innodb_log_file_size)"),
        "{words}"
    );
    assert!(
        !words.contains("checkpoint_timeout") && !words.contains("WAL"),
        "{words}"
    );
}

#[test]
fn what_differs_between_runs_is_told_with_its_number_of_runs() {
    let archive = tempfile::tempdir().unwrap();
    let end = "[factors]\nclients = [1, 8]\n[plan]\norder = \"listed\"\n";
    let campaign = campaign(archive.path(), end, |_| Fate::Complete(1.0));
    let path = campaign.runs[0].path.join("run.json");
    let other = fs::read_to_string(&path)
        .unwrap()
        .replace("PostgreSQL 18.6", "PostgreSQL 9.6");
    fs::write(&path, other).unwrap();
    let document = of_campaign(&read(archive.path()).remove(0), Detail::Full);
    let environment = document
        .sections
        .iter()
        .find(|section| section.id == "environment")
        .unwrap();
    let server = environment
        .sections
        .iter()
        .find(|section| section.id == "environment-server")
        .unwrap();
    let Block::Table(table) = &server.blocks[0] else {
        panic!()
    };
    let versions: Vec<_> = table
        .rows
        .iter()
        .filter(|row| row[0] == Value::Text("version".to_owned()))
        .map(|row| row[2].clone())
        .collect();
    assert_eq!(versions, [Value::Number(1.0), Value::Number(1.0)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_file_cut_anywhere_still_gives_a_report(file in 0_usize..4, share in 0.0_f64..=1.0) {
        let archive = tempfile::tempdir().unwrap();
        write_archive(archive.path());
        let run = &read(archive.path())[2].runs[0];
        let path = run.path.join(["intervals.csv", "latency.hlog", "events.jsonl", "run.json"][file]);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..(bytes.len() as f64 * share) as usize]).unwrap();
        let document = of_campaign(&read(archive.path())[2], Detail::Full);
        assert_sound(&document);
        prop_assert!(!document.headlines.is_empty());
    }
}

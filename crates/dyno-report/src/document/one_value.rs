//! Every figure of a cell or run has one value, wherever it is shown: a walk through all that is said of two made-up
//! campaigns with a closed and an open loop side by side and several repetitions.

use super::model::{Block, Detail, Document, Figure, FigureData, Section, Table, Value};
use super::sweep::{ASKED, MEASURED};
use super::{of_campaign, of_campaigns, of_comparison};
use crate::campaign::cells::number;
use crate::figures::{in_unit, ms, rate, time};
use crate::table::Page;
use dyno_analysis::comparison::compare;
use dyno_analysis::summary::{over_runs, summary_of};
use dyno_archive::summary::Latency;
use dyno_archive::{Archive, Campaign, LatencyCounts, Run};
use dyno_fixtures::{Fixture, Pace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const EXPERIMENT: &str = r#"
    title = "Two loops"
    [[workload]]
    name    = "update"
    clients = 2
    script  = "update tbl set a = 1 where id = 1;"
    [[workload]]
    name    = "ingest"
    clients = 4
    rate    = 300
    script  = "insert into tbl values (1);"
    [phases]
    warmup  = "2s"
    measure = "6s"
    [factors]
    "update.clients" = [1, 2]
    [plan]
    repetitions = 2
"#;

/// The factor of [`EXPERIMENT`].
const FACTOR: &str = "update.clients";

/// What the latencies of a workload are called, and how they are found.
type Percentile = (&'static str, fn(&Latency) -> f64);
const PERCENTILES: [Percentile; 5] = [
    ("p50", |latency| latency.p50_us),
    ("p95", |latency| latency.p95_us),
    ("p99", |latency| latency.p99_us),
    ("p99.9", |latency| latency.p99_9_us),
    ("max", |latency| latency.max_us),
];

/// Whose figure: a campaign, the level of its cell or the name of its run, a workload or all of them, and the measure.
type Key = (String, String, String, &'static str);

/// What every figure is, as a person reads it, from the summaries of the runs alone.
#[derive(Default)]
struct Truth {
    figures: BTreeMap<Key, String>,
    campaign: String,
    /// How many figures were met on the walk.
    met: usize,
}

impl Truth {
    fn add(&mut self, campaign: &Campaign) {
        self.campaign = campaign.name();
        let mut cells: BTreeMap<(String, String), (Vec<f64>, Vec<Latency>)> = BTreeMap::new();
        for run in &campaign.runs {
            let level = run.record.as_ref().unwrap().cell[FACTOR].clone();
            let summary = summary_of(run).unwrap();
            // What the open loop does is what it is asked for: it is in no sum.
            let closed = summary.workloads.iter().filter(|workload| workload.name == "update");
            let closed: f64 = closed.map(|workload| workload.tps).sum();
            self.put(&run.name(), "closed loops", &[closed], &[]);
            let cell = (level.clone(), "closed loops".to_owned());
            cells.entry(cell).or_default().0.push(closed);
            for workload in summary.workloads {
                let latency = workload.latency.unwrap();
                self.put(&run.name(), &workload.name, &[workload.tps], &[latency]);
                let cell = cells.entry((level.clone(), workload.name)).or_default();
                cell.0.push(workload.tps);
                cell.1.push(latency);
            }
        }
        for ((level, workload), (tps, latencies)) in cells {
            self.put(&level, &workload, &tps, &latencies);
        }
    }

    fn put(&mut self, place: &str, workload: &str, tps: &[f64], latencies: &[Latency]) {
        let key = |measure| (self.campaign.clone(), place.to_owned(), workload.to_owned(), measure);
        let tps = (key("TPS"), rate(over_runs(tps)));
        let latency = dyno_analysis::summary::latency_over_runs(latencies);
        let latencies = PERCENTILES.map(|(name, of)| Some((key(name), ms(of(latency.as_ref()?)))));
        self.figures.extend(latencies.into_iter().flatten().chain([tps]));
    }

    /// Takes note of a figure that was found.
    fn meet(&mut self, campaign: &str, place: &str, workload: &str, measure: &'static str, found: String, at: &str) {
        let key = (campaign.to_owned(), place.to_owned(), workload.to_owned(), measure);
        let known = self.figures.get(&key);
        assert_eq!(known, Some(&found), "{key:?} in {at}");
        self.met += 1;
    }

    fn document(&mut self, document: &Document) -> usize {
        let before = self.met;
        self.sections(&document.sections);
        self.met - before
    }

    fn sections(&mut self, sections: &[Section]) {
        for section in sections {
            for block in &section.blocks {
                match block {
                    Block::Table(table) => self.table(table, &section.title),
                    Block::Figure(figure) => {
                        self.figure(figure);
                        figure.table.iter().for_each(|table| self.table(table, &figure.title));
                    }
                    _ => {}
                }
            }
            self.sections(&section.sections);
        }
    }

    fn table(&mut self, table: &Table, at: &str) {
        let column = |name: &str| table.columns.iter().position(|column| column.name == name);
        // What is over time, or of single statements, is of no cell and of no run as a whole.
        if ["from", "statement", "stage", "depth", "query"]
            .iter()
            .any(|name| column(name).is_some())
        {
            return;
        }
        for row in &table.rows {
            let words = |name: &str| column(name).map(|place| shown(&row[place]));
            // Lines and curves are named by campaign, workload and cell, or what they have in common is in the title.
            let names = ["campaign", "", "cell", "workload and cell"].map(|name| words(name).unwrap_or_default());
            let subject = at.rsplit(" of ").next().unwrap_or_default();
            let parts = || {
                names
                    .iter()
                    .flat_map(|name| name.split(", "))
                    .chain(subject.split(", "))
            };
            let campaign = self
                .campaigns()
                .into_iter()
                .find(|campaign| parts().any(|part| part == campaign));
            let campaign = campaign.unwrap_or_else(|| self.campaign.clone());
            let level = parts().find_map(|part| part.strip_prefix(FACTOR)?.strip_prefix(" = "));
            let place = words("run").or_else(|| words(FACTOR)).or(level.map(str::to_owned));
            let workload = parts().find(|part| ["update", "ingest"].contains(part));
            let workload = words("workload").or(workload.map(str::to_owned));
            let (Some(place), workload) = (place, workload.unwrap_or_else(|| "all".to_owned())) else {
                continue;
            };
            if let (Some(measure), Some(sides)) = (words("measure"), column("A").zip(column("B"))) {
                let measure = measure.trim_end_matches(" (ms)").to_owned();
                let measure = PERCENTILES
                    .iter()
                    .map(|(name, _)| *name)
                    .find(|name| *name == measure)
                    .unwrap_or("TPS");
                let names = self.campaigns();
                for (name, side) in names.iter().zip([sides.0, sides.1]) {
                    self.meet(name, &place, &workload, measure, shown(&row[side]), at);
                }
                continue;
            }
            for (value, column) in row
                .iter()
                .zip(&table.columns)
                .filter(|(value, _)| matches!(value, Value::Number(_)))
            {
                let (measure, of) = match column.name.split_once(" of ") {
                    Some((measure, of)) => (measure, of.to_owned()),
                    None => (column.name.as_str(), workload.clone()),
                };
                let latency = PERCENTILES.iter().map(|(name, _)| *name).find(|name| *name == measure);
                let found = match (column.unit.as_str(), measure) {
                    ("ms", _) => latency,
                    ("TPS", "mean" | "throughput" | "Throughput") => Some("TPS"),
                    _ => None,
                };
                // The ends of whiskers are those of single runs.
                if let Some(measure) = found.filter(|_| !of.contains(',')) {
                    self.meet(&campaign, &place, &of, measure, shown_in(value, &column.unit), at);
                }
            }
        }
    }

    /// Meets the figures of the cells of `campaign` as CSV, which has them exact, and says how many.
    fn csv(&mut self, campaign: &str, csv: &str) -> usize {
        let before = self.met;
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let columns = reader.headers().unwrap().clone();
        for row in reader.records().map(Result::unwrap) {
            let field = |name: &str| {
                let place = columns.iter().position(|column| column == name);
                &row[place.unwrap_or_else(|| panic!("no {name} in {columns:?}"))]
            };
            let exact = |name: &str| field(name).parse::<f64>().unwrap();
            let (level, workload) = (field(&format!("factor_{FACTOR}")), field("workload"));
            self.meet(campaign, level, workload, "TPS", rate(exact("tps_mean")), "the CSV");
            for (name, _) in PERCENTILES {
                let column = format!("latency_{}_us", name.replace('.', "_"));
                self.meet(campaign, level, workload, name, ms(exact(&column)), "the CSV");
            }
        }
        self.met - before
    }

    fn figure(&mut self, figure: &Figure) {
        let FigureData::Sweep(sweep) = &figure.data else { return };
        for panel in &sweep.panels {
            let (measure, workload) = panel.title.split_once(" of ").unwrap_or((&panel.title, "all"));
            let measure = if measure == "p99" { "p99" } else { "TPS" };
            // What was asked for is not a figure of what was measured.
            for line in panel.lines.iter().filter(|line| line.name != ASKED) {
                let campaign = if matches!(line.name.as_str(), "" | MEASURED) {
                    self.campaign.clone()
                } else {
                    line.name.clone()
                };
                for point in &line.points {
                    let place = crate::figures::figure(point.level);
                    let found = in_unit(point.value, &panel.unit);
                    self.meet(&campaign, &place, workload, measure, found, &figure.title);
                }
            }
        }
    }

    fn campaigns(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.figures.keys().map(|key| &key.0).collect();
        names.into_iter().cloned().collect()
    }

    /// All latencies that may be shown, with their unit.
    fn latencies(&self) -> BTreeSet<String> {
        let latencies = self.figures.iter().filter(|(key, _)| key.3 != "TPS");
        latencies.map(|(_, shown)| format!("{shown} ms")).collect()
    }
}

fn shown(value: &Value) -> String {
    shown_in(value, "")
}

fn shown_in(value: &Value, unit: &str) -> String {
    match value {
        Value::Nothing(()) => "–".to_owned(),
        Value::Number(value) => in_unit(*value, unit),
        Value::Text(words) => words.clone(),
    }
}

/// All sentences of a document in which a percentile is named.
fn sentences(document: &Document) -> Vec<String> {
    fn of(sections: &[Section], sentences: &mut Vec<String>) {
        for section in sections {
            for block in &section.blocks {
                match block {
                    Block::Figure(figure) => sentences.push(figure.caption.clone()),
                    Block::Text { text } => sentences.push(text.clone()),
                    Block::List { items } => sentences.extend(items.iter().cloned()),
                    Block::Code { .. } | Block::Table(_) => {}
                }
            }
            of(&section.sections, sentences);
        }
    }
    let mut found: Vec<String> = document
        .headlines
        .iter()
        .map(|headline| format!("{} {} {}", headline.subject, headline.figure, headline.verdict))
        .collect();
    of(&document.sections, &mut found);
    found.retain(|sentence| sentence.contains("p99"));
    found
}

/// The latencies in words such as `with a p99 of 1.812 ms`.
fn latencies_in(words: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = words.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
    let pairs: Vec<String> = words
        .windows(2)
        .filter(|pair| pair[1].trim_end_matches([',', ';', '.', ')', ':']) == "ms")
        .map(|pair| format!("{} ms", pair[0].trim_start_matches('(')))
        .collect();
    pairs
        .into_iter()
        .filter(|latency| number(&latency.replace([',', ' '], "").replace("ms", "")).is_some())
}

fn campaign(archive: &Path, name: &str, started: &str, speed: f64) -> Campaign {
    let fixture = Fixture::begin(archive, name, EXPERIMENT, started).unwrap();
    let folder = fixture
        .complete(|run, workload| Pace {
            tps: speed
                * if workload == "update" {
                    1_000.0 + 137.0 * run.number as f64
                } else {
                    300.0 - 31.0 * run.number as f64
                },
            spread: 0.02,
            error: String::new(),
        })
        .unwrap();
    Archive::new(archive).campaign(&folder.to_string_lossy()).unwrap()
}

/// Percentiles that mix what is to be kept apart: workloads of a run, and runs of a cell.
fn mixed(campaign: &Campaign, workload: Option<&str>) -> String {
    let mut counts = LatencyCounts::default();
    let of_cell = |run: &&Run| run.record.as_ref().unwrap().cell[FACTOR] == "2";
    for run in campaign.runs.iter().filter(of_cell) {
        run.latencies(2.0..f64::INFINITY, |line| {
            if workload.is_none_or(|workload| line.workload == workload) {
                counts.add(line);
            }
        });
    }
    time(counts.percentiles_us([99.0]).unwrap()[0])
}

#[test]
fn every_figure_has_one_value_wherever_it_is_shown() {
    let archive = tempfile::tempdir().unwrap();
    let one = campaign(archive.path(), "a", "2026-11-21T19:40:12[UTC]", 1.0);
    let other = campaign(archive.path(), "b", "2026-11-21T20:40:12[UTC]", 0.9);
    let mut truth = Truth::default();
    truth.add(&other);
    truth.add(&one);
    let comparison = compare(&one, &other);
    let both = Archive::new(archive.path()).campaigns().unwrap();
    let documents = [
        of_campaign(&one, Detail::Full),
        of_campaigns(&both, Some(0)),
        of_comparison(&one, &other, &comparison),
    ];
    let met = [0, 1, 2].map(|place: usize| truth.document(&documents[place]));
    // Two cells, each with two workloads and all: tables, charts, the list of runs, verdicts.
    assert!(met[0] > 40 && met[1] > 100 && met[2] > 15, "{met:?}");

    let known = truth.latencies();
    let mut told = 0;
    let mut check = |words: &str| {
        for latency in latencies_in(words) {
            assert!(known.contains(&latency), "{latency} is of nothing, in: {words}");
            told += 1;
        }
    };
    documents
        .iter()
        .flat_map(sentences)
        .for_each(|sentence| check(&sentence));
    assert!(told > 40, "{told}");

    // In the terminal: each workload of each cell and run, and nothing that is mixed.
    let show = crate::terminal::campaign(&one, true, Page::new(120));
    let list = crate::list::runs(&both, None);
    let figures = truth.figures.clone();
    let p99 =
        |place: &str, workload: &str| figures[&(one.name(), place.to_owned(), workload.to_owned(), "p99")].clone();
    for run in &one.runs {
        let p99s = ["update", "ingest"].map(|workload| p99(&run.name(), workload));
        let words = format!("update {} ms, ingest {} ms", p99s[0], p99s[1]);
        assert!(list.contains(&words), "{words} is not in\n{list}");
        let mut lines = show.lines();
        let shown = lines.any(|line| line.contains(&run.name()) && p99s.iter().all(|p99| line.contains(p99)));
        assert!(shown, "{} with {p99s:?} is not in\n{show}", run.name());
    }
    for (level, workload) in [("1", "update"), ("1", "ingest"), ("2", "update"), ("2", "ingest")] {
        let row = |line: &&str| line.split_whitespace().take(2).eq([level, workload]);
        let line = show
            .lines()
            .find(row)
            .unwrap_or_else(|| panic!("no {workload} in\n{show}"));
        // The table of cells has three digits of it: half of the third, and what the fourth was rounded by.
        let p99: f64 = p99(level, workload).replace(',', "").parse().unwrap();
        let shown: f64 = line
            .split_whitespace()
            .last()
            .unwrap()
            .replace([',', '*', '!'], "")
            .parse()
            .unwrap();
        let third = 10_f64.powf(p99.log10().floor() - 2.0);
        assert!((shown - p99).abs() <= 0.55 * third, "{shown} for {p99}");
        let digits = shown / third;
        assert!(
            (digits - digits.round()).abs() < 1e-6,
            "{shown} has more than three digits"
        );
    }
    let comparison = crate::terminal::comparison(&one, &other, &comparison, Page::default());
    assert!(comparison.contains(&p99("2", "update")), "{comparison}");
    let csv = String::from_utf8(crate::cells_csv::cells_csv(std::slice::from_ref(&one)).unwrap()).unwrap();
    assert_eq!(truth.csv(&one.name(), &csv), 4 * (PERCENTILES.len() + 1));
    let everything = documents
        .iter()
        .map(|document| serde_json::to_string(document).unwrap());
    let everything: String = everything.chain([show, list, comparison, csv]).collect();
    for workload in [None, Some("update"), Some("ingest")] {
        let mixed = mixed(&one, workload);
        assert!(
            known.contains(&mixed) || !everything.contains(&mixed),
            "{mixed} of {workload:?}"
        );
    }
}

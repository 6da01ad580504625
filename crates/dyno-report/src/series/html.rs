//! The page: rows that can be sorted and filtered, and what else is to be known of each experiment.
//!
//! It is whole without its script, which sorts, filters, and compares with another column. Nothing is fetched: all that
//! it needs is in it.

use super::points::Figures;
use super::{Row, SeriesReport};
use crate::figures::{count, figure, ms};
use crate::html::whole::whole;
use crate::html::{HtmlError, STYLE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use sha2::{Digest, Sha256};

const SCRIPT: &str = include_str!("page.js");

/// The bytes of a MB, as PostgreSQL counts them.
const MB: f64 = (1 << 20) as f64;

/// The width and the height of a row's line over time, in pixels.
const LINE: (f64, f64) = (96.0, 22.0);

/// What a column of a database shows, with its unit, and whether more of it is better.
const MEASURES: [(&str, &str, bool); 4] = [
    ("TPS", "", true),
    ("mean", "ms", false),
    ("p99", "ms", false),
    ("size", "MB", false),
];

/// What the page may do, for its Content-Security-Policy.
#[must_use]
pub fn security_policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()))
    )
}

/// The page of `report`, in which `link` leads to the report of the campaign in a folder; `None`: nothing does.
///
/// # Errors
///
/// None but for mistakes of the program.
pub fn page(report: &SeriesReport, link: &dyn Fn(&str) -> Option<String>) -> Result<String, HtmlError> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("whole", whole);
    environment.add_template("series.html", include_str!("page.html"))?;
    let mut rows: Vec<Shown<'_>> = Vec::new();
    for row in &report.rows {
        let begins = rows.last().is_none_or(|last| last.group != row.group);
        let heading = report.heading(row).filter(|_| begins);
        rows.push(Shown::of(row, heading, link));
    }
    let parts = report.parts.iter().map(|part| {
        let campaigns = part.campaigns.iter();
        let links: Vec<_> = campaigns.map(|name| (name, link(name))).collect();
        (part, links)
    });
    let measures = MEASURES.map(|(name, unit, _)| (name, unit));
    let published = report.rows.iter().any(|row| row.published.is_some());
    let history = report
        .rows
        .iter()
        .any(|row| row.history.iter().any(|line| !line.is_empty()));
    let page = environment.get_template("series.html")?.render(context! {
        report => Value::from(Serde(report)),
        rows => Value::from(Serde(&rows)),
        parts => Value::from(Serde(parts.collect::<Vec<_>>())),
        measures => Value::from(Serde(&measures)),
        width => 3 + report.columns.len() * MEASURES.len() + usize::from(published) + usize::from(history),
        published => published,
        history => history,
        policy => security_policy(),
        style => STYLE,
        script => SCRIPT,
    })?;
    Ok(page)
}

/// A row as the template needs it.
#[derive(Serialize)]
struct Shown<'a> {
    group: &'a str,
    /// The heading of its group if that begins with it.
    heading: Option<&'a str>,
    experiment: &'a str,
    title: &'a str,
    of: &'a str,
    link: Option<String>,
    rows: Number,
    clients: Number,
    /// Of each column in turn each measure.
    figures: Vec<Cell>,
    published: Option<Cell>,
    lines: Vec<Line>,
    /// What the lines are of, in words.
    history: String,
}

/// A number as it is read and as it is sorted by.
#[derive(Serialize)]
struct Number {
    text: String,
    value: Option<f64>,
}

/// A figure of a database.
#[derive(Serialize)]
struct Cell {
    text: String,
    value: Option<f64>,
    /// The measure's place.
    measure: usize,
    /// The column's place.
    column: usize,
    /// Whether it is more that is better; nothing if it is not to be compared.
    more: Option<bool>,
    /// Whether something stands instead of a figure.
    state: bool,
    /// As a ratio to the first column.
    ratio: String,
    /// What else is to be known of it.
    note: String,
}

/// A line over time.
#[derive(Serialize)]
struct Line {
    column: usize,
    points: String,
}

impl<'a> Shown<'a> {
    fn of(row: &'a Row, heading: Option<&'a str>, link: &dyn Fn(&str) -> Option<String>) -> Self {
        let number = |number: Option<u64>| Number {
            text: number.map(count).unwrap_or_default(),
            value: number.map(|number| number as f64),
        };
        let first = row.figures.first().and_then(Option::as_ref);
        let figures = row.figures.iter().enumerate();
        let cells = figures.flat_map(|(column, figures)| cells(column, figures.as_ref(), first));
        let published = row.published.as_ref().map(|published| Cell {
            text: format!("{} {}", figure(published.value), published.unit)
                .trim()
                .to_owned(),
            value: Some(published.value),
            measure: 0,
            column: 0,
            more: None,
            state: false,
            ratio: published.ratio.map_or_else(String::new, times),
            note: [published.measure.as_str(), &published.of, &published.source]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("; "),
        });
        Self {
            group: &row.group,
            heading,
            experiment: &row.experiment,
            title: &row.title,
            of: &row.of,
            link: row.campaigns.iter().flatten().find_map(|campaign| link(campaign)),
            rows: number(row.rows),
            clients: number(row.clients),
            figures: cells.collect(),
            published,
            lines: lines(&row.history),
            history: history_words(&row.history),
        }
    }
}

/// What a row has in a column, beside the first one.
fn cells(column: usize, figures: Option<&Figures>, first: Option<&Figures>) -> Vec<Cell> {
    let values = |figures: &Figures| [figures.tps, figures.mean_us, figures.p99_us, figures.size_bytes];
    let none = [None; MEASURES.len()];
    let (own, base) = (figures.map_or(none, values), first.map_or(none, values));
    let state = figures.map_or("", |figures| figures.state.as_str());
    let scheduled = figures.is_some_and(|figures| figures.scheduled);
    let cell = |(measure, (_, unit, more)): (usize, &(&str, &str, bool))| {
        let (value, base) = (own[measure], base[measure]);
        let compared = !(scheduled && measure == 0);
        let ratio = value.zip(base).map(|(value, base)| value / base);
        let ratio = ratio.filter(|ratio| column > 0 && compared && ratio.is_finite());
        Cell {
            text: match (measure, value) {
                (0, None) => state.to_owned(),
                (_, None) => String::new(),
                (_, Some(value)) => match *unit {
                    "ms" => ms(value),
                    "MB" => figure(value / MB),
                    _ => figure(value),
                },
            },
            value,
            measure,
            column,
            more: compared.then_some(*more),
            state: measure == 0 && value.is_none(),
            ratio: ratio.map_or_else(String::new, times),
            note: String::new(),
        }
    };
    MEASURES.iter().enumerate().map(cell).collect()
}

/// A ratio as it is written everywhere on the page, also by its script.
fn times(ratio: f64) -> String {
    format!("×{}", crate::figures::decimal(ratio, 2))
}

/// The lines of a row within one picture, on one scale.
fn lines(history: &[Vec<(String, f64)>]) -> Vec<Line> {
    let all = || history.iter().flatten().map(|(_, tps)| *tps);
    let (Some(least), Some(most)) = (all().min_by(f64::total_cmp), all().max_by(f64::total_cmp)) else {
        return Vec::new();
    };
    // What differs by less than a fifth does not fill the picture.
    let least = least.min(0.8 * most);
    let times = history.iter().map(Vec::len).max().unwrap_or(0);
    let (width, height) = LINE;
    let place = |number: usize, tps: f64| {
        let x = number as f64 / (times.max(2) - 1) as f64;
        let y = if most > least {
            (tps - least) / (most - least)
        } else {
            0.5
        };
        format!("{:.1},{:.1}", 1.0 + x * (width - 2.0), 1.0 + (1.0 - y) * (height - 2.0))
    };
    let line = |(column, line): (usize, &Vec<(String, f64)>)| {
        let points = line.iter().enumerate().map(|(number, (_, tps))| place(number, *tps));
        let points = points.collect::<Vec<_>>().join(" ");
        (!points.is_empty()).then_some(Line { column, points })
    };
    history.iter().enumerate().filter_map(line).collect()
}

fn history_words(history: &[Vec<(String, f64)>]) -> String {
    let line = |line: &Vec<(String, f64)>| {
        let times = line.iter().map(|(when, tps)| format!("{when}: {} TPS", figure(*tps)));
        times.collect::<Vec<_>>().join("; ")
    };
    let lines = history.iter().filter(|line| !line.is_empty()).map(line);
    lines.collect::<Vec<_>>().join("\n")
}

//! What was done around the load of a run: how its data was made ready, which checks it passed, and the rows that its
//! experiment keeps.

use super::cautions::Cautions;
use super::model::{Block, Caution, Section, Table, Value};
use super::parts::{code, in_full, in_setup, list, paragraph, section, table};
use super::table::{RUN, exactly, number, text, value, with_details, words};
use crate::figures::{count, counted, one_line};
use dyno_archive::plan::When;
use dyno_archive::summary::TableGrowth;
use dyno_archive::{CheckResult, OutputResult, Preparation, Run};

/// As PostgreSQL counts.
const MB: f64 = 1_048_576.0;

/// More rows of an output are not read; all that were kept are in the archive.
const MOST_ROWS: usize = 100;

/// More letters of a value are not read.
const MOST_LETTERS: usize = 200;

/// Of more runs than this the outputs are left to the reports of each.
const MOST_RUNS: usize = 20;

/// The sections about one run.
pub(super) fn of_run(run: &Run) -> Vec<Section> {
    let preparation = Some(preparation(run)).filter(|blocks| !blocks.is_empty());
    let preparation = preparation.map(|blocks| in_setup(section("preparation", "Preparation", blocks)));
    preparation.into_iter().chain(asked_of_run(run)).collect()
}

/// The sections about what the server of one run was asked.
pub(super) fn asked_of_run(run: &Run) -> Vec<Section> {
    let checks = table(checks(std::iter::once((None, run)))).into_iter().collect();
    let mut sections = vec![
        section("checks", "Checks", checks),
        Section {
            sections: outputs(run, "output"),
            ..section("outputs", "Outputs", Vec::new())
        },
    ];
    sections.retain(|section| !section.blocks.is_empty() || !section.sections.is_empty());
    sections
}

/// The sections about several runs, each called by a name.
pub(super) fn together(runs: &[(String, &Run)]) -> Vec<Section> {
    let named = || runs.iter().map(|(name, run)| (Some(name.as_str()), *run));
    let outputs: Vec<Section> = runs
        .iter()
        .take(MOST_RUNS)
        .zip(1..)
        .flat_map(|((name, run), number): (_, usize)| {
            let each = outputs(run, &format!("output-{number}")).into_iter();
            each.map(move |section| Section {
                title: format!("{name}: {}", section.title),
                folded: true,
                ..section
            })
        })
        .collect();
    let mut sections = vec![
        section("checks", "Checks", table(checks(named())).into_iter().collect()),
        in_setup(in_full(section(
            "sizes",
            "Sizes",
            table(sizes(named())).into_iter().collect(),
        ))),
        in_setup(in_full(section(
            "preparation",
            "Preparation",
            list(origins(runs)).into_iter().chain(table(steps(named()))).collect(),
        ))),
        in_full(Section {
            sections: outputs,
            ..section("outputs", "Outputs", Vec::new())
        }),
    ];
    sections.retain(|section| !section.blocks.is_empty() || !section.sections.is_empty());
    sections
}

fn preparation_of(run: &Run) -> Option<&Preparation> {
    run.record.as_ref().ok()?.preparation.as_ref()
}

/// How long each step of making the data ready took.
pub(super) fn preparation(run: &Run) -> Vec<Block> {
    let origin = preparation_of(run).and_then(Preparation::origin);
    let origin = origin.map(|origin| paragraph(one_line(&origin)));
    origin
        .into_iter()
        .chain(table(steps(std::iter::once((None, run)))))
        .collect()
}

/// Where the data of several runs came from, each place once.
fn origins(runs: &[(String, &Run)]) -> Vec<String> {
    let mut origins = Cautions::default();
    for (name, run) in runs {
        origins.events(name, preparation_of(run).and_then(Preparation::origin));
    }
    let origins = origins.all().into_iter();
    origins
        .map(|Caution { subject, text, .. }| format!("{subject}: {text}"))
        .collect()
}

/// A column for the name of the run, if there are several.
fn of_runs<'a>(runs: &[(Option<&'a str>, &'a Run)]) -> Option<super::model::Column> {
    runs.iter().any(|(name, _)| name.is_some()).then(|| text(RUN))
}

fn steps<'a>(runs: impl Iterator<Item = (Option<&'a str>, &'a Run)>) -> Table {
    let runs: Vec<_> = runs.collect();
    let mut columns: Vec<_> = of_runs(&runs).into_iter().collect();
    columns.push(text("step"));
    columns.extend(
        [
            ("time", "s"),
            ("rows", ""),
            ("rows", "1/s"),
            ("table", "MB"),
            ("table", "MB/s"),
        ]
        .map(|(name, unit)| number(name, unit)),
    );
    let rows = runs.iter().flat_map(|(name, run)| {
        let preparation = preparation_of(run);
        let steps = preparation.map_or(&[][..], |preparation| &preparation.steps);
        let steps = steps.iter().map(|step| {
            let mut row: Vec<Value> = name.iter().map(|name| words(*name)).collect();
            row.push(words(one_line(&step.step)));
            row.push(value(step.seconds));
            row.push(step.rows.map_or(Value::Nothing(()), exactly));
            row.push(value(step.rows_per_s()));
            row.push(value(step.bytes.map(|bytes| bytes as f64 / MB)));
            row.push(value(step.bytes_per_s().map(|rate| rate / MB)));
            row
        });
        steps.collect::<Vec<_>>()
    });
    Table {
        caption: "Before the load".to_owned(),
        columns,
        rows: rows.collect(),
    }
}

fn checks<'a>(runs: impl Iterator<Item = (Option<&'a str>, &'a Run)>) -> Table {
    let runs: Vec<_> = runs.collect();
    let mut columns: Vec<_> = of_runs(&runs).into_iter().collect();
    columns.extend(["check", "asked", "passed", "expected", "found", "SQL"].map(text));
    let rows = runs.iter().flat_map(|(name, run)| {
        let checks = run.record.as_ref().map_or(&[][..], |record| &record.checks);
        checks.iter().map(move |check| {
            let mut row: Vec<Value> = name.iter().map(|name| words(*name)).collect();
            row.extend(check_row(check).map(words));
            row
        })
    });
    let table = Table {
        caption: String::new(),
        columns,
        rows: rows.collect(),
    };
    with_details(table, &["SQL"])
}

fn check_row(check: &CheckResult) -> [String; 6] {
    let found = match (&check.found, &check.error) {
        (Some(found), _) => shortened(found),
        (None, Some(error)) => format!("not asked: {}", shortened(error)),
        (None, None) => String::new(),
    };
    [
        check.name.clone(),
        asked(check.when),
        if check.passed { "yes" } else { "no" }.to_owned(),
        shortened(&check.expected),
        found,
        shortened(&check.sql),
    ]
}

fn asked(when: When) -> String {
    format!("{when} the load")
}

/// The tables of each run together, before and after.
fn sizes<'a>(runs: impl Iterator<Item = (Option<&'a str>, &'a Run)>) -> Table {
    let rows = runs.filter_map(|(name, run)| {
        let tables = &run.record.as_ref().ok()?.summary.as_ref()?.tables;
        let sum = |bytes: fn(&TableGrowth) -> u64| tables.iter().map(bytes).fold(0, u64::saturating_add);
        let sizes = [
            sum(|table| table.table_before_bytes),
            sum(|table| table.table_after_bytes),
            sum(|table| table.indexes_before_bytes),
            sum(|table| table.indexes_after_bytes),
        ];
        let sizes = sizes.map(|bytes| value(bytes as f64 / MB));
        let run = words(name.unwrap_or_default());
        (!tables.is_empty()).then(|| [run, exactly(tables.len() as u64)].into_iter().chain(sizes).collect())
    });
    let mut columns = vec![text(RUN), number("tables", "")];
    columns.extend(["before", "after", "indexes before", "indexes after"].map(|name| number(name, "MB")));
    Table {
        caption: "All tables of each run, before and after the load".to_owned(),
        columns,
        rows: rows.collect(),
    }
}

/// The outputs of a run, each a section.
fn outputs(run: &Run, id: &str) -> Vec<Section> {
    let outputs = run.record.as_ref().map_or(&[][..], |record| &record.outputs);
    let each = outputs.iter().zip(1..).map(|(output, number): (_, usize)| {
        let title = format!("{}, {}", output.name, asked(output.when));
        let statement = code("The rows of", output.sql.clone());
        let blocks = std::iter::once(statement).chain(rows_of(run, output));
        section(format!("{id}-{number}"), title, blocks.collect())
    });
    each.collect()
}

fn rows_of(run: &Run, output: &OutputResult) -> Vec<Block> {
    let Some(kept) = run.output(output) else {
        let why = output.error.as_deref().unwrap_or("its file cannot be read");
        return vec![paragraph(format!(
            "There are no rows: {}.",
            shortened(why).trim_end_matches('.')
        ))];
    };
    let is_number = |place: usize| {
        let mut values = kept
            .rows
            .iter()
            .filter_map(|row| row.get(place))
            .filter(|value| !value.is_empty());
        !kept.rows.is_empty() && values.all(|value| value.parse::<f64>().is_ok())
    };
    let columns = kept
        .columns
        .iter()
        .enumerate()
        .map(|(place, name)| super::model::Column {
            numeric: is_number(place),
            ..text(&one_line(name))
        });
    let width = kept.columns.len();
    let rows = kept.rows.iter().take(MOST_ROWS).map(|row| {
        // As the server wrote it: a number keeps its digits.
        let mut row: Vec<Value> = row.iter().take(width).map(|value| words(shortened(value))).collect();
        row.resize(width, Value::Nothing(()));
        row
    });
    let shown = Table {
        caption: String::new(),
        columns: columns.collect(),
        rows: rows.collect(),
    };
    let mut blocks = Vec::new();
    let left = output.rows.saturating_sub(shown.rows.len() as u64);
    match shown.rows.is_empty() {
        true => blocks.push(paragraph("The statement gave no rows.")),
        false => blocks.push(Block::Table(shown)),
    }
    if left > 0 {
        let file = output.file.as_deref().unwrap_or_default();
        blocks.push(paragraph(format!(
            "{} not shown; {file} of the run has the first {}.",
            if left == 1 {
                "1 more row is".to_owned()
            } else {
                format!("{} are", counted(left, "more row"))
            },
            count(kept.rows.len() as u64)
        )));
    }
    blocks
}

/// A text in one line that a table takes.
fn shortened(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::model::Document;
    use crate::markdown::paper;
    use crate::terminal::campaign_tests::{Fate, campaign};
    use dyno_archive::{PreparationStep, write_output};

    fn step(step: &str, table: Option<&str>) -> PreparationStep {
        PreparationStep {
            step: step.to_owned(),
            seconds: 2.0,
            table: table.map(str::to_owned),
            rows: table.map(|_| 1_000_000),
            bytes: table.map(|_| 76_218_368),
        }
    }

    fn written(sections: Vec<Section>) -> String {
        let document = Document {
            sections,
            ..Document::default()
        };
        paper(&document, |_| None)
    }

    #[test]
    fn what_was_done_around_the_load_is_said_of_one_run_and_of_several() {
        let folder = tempfile::tempdir().unwrap();
        let mut campaign = campaign(folder.path(), "[factors]\nclients = [1, 8]\n", |_| Fate::Complete(9.0));
        let run = &mut campaign.runs[0];
        write_output(
            &run.path,
            "output-top.csv",
            &["name".to_owned(), "n".to_owned()],
            &[
                vec![Some("a|b\nc".to_owned()), Some("7".to_owned())],
                vec![None, Some("12.50".to_owned())],
            ],
        )
        .unwrap();
        let record = run.record.as_mut().unwrap();
        record.preparation = Some(Preparation {
            steps: vec![step("Creating the schema", None), step("Loading tbl", Some("tbl"))],
            ..Preparation::default()
        });
        let check = |name: &str, passed: bool, error: Option<&str>| CheckResult {
            name: name.to_owned(),
            when: When::After,
            sql: "select count(*) from t".to_owned(),
            expected: "7".to_owned(),
            found: error.is_none().then(|| "8".to_owned()),
            passed,
            error: error.map(str::to_owned),
        };
        record.checks = vec![check("all", false, None), check("none", false, Some("no such table"))];
        let output = |name: &str, rows: u64, error: Option<&str>| OutputResult {
            name: name.to_owned(),
            when: When::Before,
            sql: "select name, n from t".to_owned(),
            file: error.is_none().then(|| format!("output-{name}.csv")),
            rows,
            error: error.map(str::to_owned),
        };
        record.outputs = vec![output("top", 1_500, None), output("gone", 0, Some("no such table"))];
        let other = campaign.runs[1].record.as_mut().unwrap();
        other.preparation = Some(Preparation {
            loaded_by: Some("001-clients=1-rep1".to_owned()),
            found: false,
            steps: vec![step("Copying the loaded data", None)],
        });
        let both: Vec<(String, &Run)> = campaign.runs.iter().map(|run| (run.name(), run)).collect();
        insta::assert_snapshot!("one_run", written(of_run(&campaign.runs[0])));
        insta::assert_snapshot!("several_runs", written(together(&both)));
    }
}

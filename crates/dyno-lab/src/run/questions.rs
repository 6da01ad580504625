//! What the author of an experiment asks the server around the load: checks, without which a run does not count, and
//! rows that are kept with it.

use super::Beside;
use dyno_archive::plan::{Check, Question, Resolved, When, rows_in_words};
use dyno_archive::{CheckResult, OutputResult, RunRecord, write_output};
use dyno_engine::Stop;
use dyno_target::target::{Asked, Control, Database, Passwords, TargetError, TextRows};
use std::path::Path;

/// Why a question is left open.
const ENDED: &str = "the load ended before its time";

/// The questions of a run, and the connection on which they are asked: a broken one costs nothing else.
pub(super) struct Questions {
    checks: Vec<Check>,
    outputs: Vec<Question>,
    /// For each server that is asked its name, if it is not the main one, and the connection.
    controls: Vec<(Option<String>, Box<dyn Control>)>,
    /// What no answer may show: a server that reaches another knows its password.
    passwords: Passwords,
}

/// What came of the questions of one moment.
#[derive(Default)]
pub(super) struct Answers {
    checks: Vec<CheckResult>,
    /// With the rows that are still to be written.
    outputs: Vec<(OutputResult, Option<TextRows>)>,
}

impl Questions {
    /// Gets ready to ask the main server's `database`, and those `beside` it, what `experiment` asks.
    ///
    /// # Errors
    /// No connection.
    pub fn of(
        experiment: &Resolved,
        database: &dyn Database,
        beside: &[Beside<'_>],
        stop: &Stop,
    ) -> Result<Self, TargetError> {
        let (checks, outputs) = (experiment.checks.clone(), experiment.outputs.clone());
        let asked = |server: Option<&str>| {
            let of_checks = checks.iter().map(|check| &check.question);
            of_checks
                .chain(&outputs)
                .any(|question| question.server.as_deref() == server)
        };
        let further = beside.iter().map(|beside| (Some(beside.name), beside.database));
        let servers = std::iter::once((None, database)).chain(further);
        let controls = servers
            .filter(|(server, _)| asked(*server))
            .map(|(server, database)| Ok((server.map(str::to_owned), database.control(&stop.flag())?)))
            .collect::<Result<_, TargetError>>()?;
        let reached = std::iter::once(database).chain(beside.iter().map(|beside| beside.database));
        Ok(Self {
            checks,
            outputs,
            controls,
            passwords: Passwords::of(reached.map(|database| database.reach())),
        })
    }

    /// Asks what is to be asked now. What fails is part of the answers.
    pub fn ask(&mut self, now: When) -> Answers {
        let mut answers = Answers::default();
        for (server, control) in &mut self.controls {
            let is_its = |question: &Question| question.when == now && question.server == *server;
            for check in self.checks.iter().filter(|check| is_its(&check.question)) {
                let result = checked(&mut **control, check);
                answers.checks.push(shown_check(result, &self.passwords));
            }
            for output in self.outputs.iter().filter(|output| is_its(output)) {
                let (result, rows) = kept(&mut **control, output);
                answers.outputs.push(shown_output(result, rows, &self.passwords));
            }
        }
        answers
    }

    /// What would have been asked after a load that ended early.
    pub fn left_open(&self) -> Answers {
        let checks = self.checks.iter().filter(|check| check.question.when == When::After);
        let outputs = self.outputs.iter().filter(|output| output.when == When::After);
        Answers {
            checks: checks.map(|check| unchecked(check, ENDED)).collect(),
            outputs: outputs.map(|output| (without_rows(output, ENDED), None)).collect(),
        }
    }
}

impl Answers {
    /// Puts them into the record of the run in `folder`. Gives what is to be kept in mind, as sentences.
    pub fn keep(self, record: &mut RunRecord, folder: &Path) -> Vec<String> {
        record.checks.extend(self.checks);
        let mut notes = Vec::new();
        for (mut output, rows) in self.outputs {
            if let (Some(rows), Some(file)) = (rows, output.file.clone())
                && let Err(error) = write_output(folder, &file, &rows.columns, &rows.rows)
            {
                output.file = None;
                output.error = Some(error.to_string());
            }
            if let Some(error) = &output.error {
                notes.push(format!(
                    "The output \"{}\" {} the load is missing: {}.",
                    output.name,
                    output.when,
                    error.trim_end_matches('.')
                ));
            }
            record.outputs.push(output);
        }
        notes
    }
}

/// Asks for the rows of a statement; `Err` is why there are none.
fn rows(control: &mut dyn Control, question: &Question) -> Result<TextRows, String> {
    match control.rows(&question.sql) {
        Ok(Asked::Rows(rows)) => Ok(rows),
        Ok(Asked::Refused(why)) => Err(why),
        Err(error) => Err(error.to_string()),
    }
}

fn checked(control: &mut dyn Control, check: &Check) -> CheckResult {
    let question = &check.question;
    match rows(control, question) {
        Err(error) => unchecked(check, &error),
        Ok(found) => CheckResult {
            name: question.name.clone(),
            when: question.when,
            sql: question.sql.clone(),
            expected: check.expect.to_string(),
            // Rows that were not kept are not known to be the right ones.
            passed: found.number == found.rows.len() as u64 && check.expect.is_met(&found.rows),
            found: Some(rows_in_words(&found.rows)),
            error: None,
        },
    }
}

fn unchecked(check: &Check, why: &str) -> CheckResult {
    CheckResult {
        name: check.question.name.clone(),
        when: check.question.when,
        sql: check.question.sql.clone(),
        expected: check.expect.to_string(),
        found: None,
        passed: false,
        error: Some(why.to_owned()),
    }
}

fn kept(control: &mut dyn Control, output: &Question) -> (OutputResult, Option<TextRows>) {
    match rows(control, output) {
        Err(error) => (without_rows(output, &error), None),
        Ok(rows) => {
            let result = OutputResult {
                name: output.name.clone(),
                when: output.when,
                sql: output.sql.clone(),
                file: Some(format!("output-{}.csv", output.name)),
                rows: rows.number,
                error: None,
            };
            (result, Some(rows))
        }
    }
}

/// What came of a check, as it may be shown.
fn shown_check(result: CheckResult, passwords: &Passwords) -> CheckResult {
    CheckResult {
        sql: passwords.hidden_in(&result.sql),
        expected: passwords.hidden_in(&result.expected),
        found: result.found.map(|found| passwords.hidden_in(&found)),
        error: result.error.map(|error| passwords.hidden_in(&error)),
        ..result
    }
}

/// What came of an output, with its rows, as it may be shown.
fn shown_output(
    result: OutputResult,
    rows: Option<TextRows>,
    passwords: &Passwords,
) -> (OutputResult, Option<TextRows>) {
    let result = OutputResult {
        sql: passwords.hidden_in(&result.sql),
        error: result.error.map(|error| passwords.hidden_in(&error)),
        ..result
    };
    let shown = |value: Option<String>| value.map(|value| passwords.hidden_in(&value));
    let rows = rows.map(|rows| TextRows {
        columns: rows.columns.iter().map(|column| passwords.hidden_in(column)).collect(),
        rows: rows
            .rows
            .into_iter()
            .map(|row| row.into_iter().map(shown).collect())
            .collect(),
        ..rows
    });
    (result, rows)
}

fn without_rows(output: &Question, why: &str) -> OutputResult {
    OutputResult {
        name: output.name.clone(),
        when: output.when,
        sql: output.sql.clone(),
        file: None,
        rows: 0,
        error: Some(why.to_owned()),
    }
}

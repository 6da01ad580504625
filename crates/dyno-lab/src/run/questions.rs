//! What the author of an experiment asks the server around the load: checks, without which a run does not count, and
//! rows that are kept with it.

use super::{Entry, Progress};
use dyno_archive::plan::{Check, Question, Resolved, When, rows_in_words};
use dyno_archive::{CheckResult, OutputResult, RunRecord, write_output};
use dyno_engine::Stop;
use dyno_target::target::{Asked, Control, Passwords, TargetError, TextRows};
use indexmap::IndexMap;
use std::path::Path;

/// Why a question is left open.
const ENDED: &str = "the load ended before its time";

/// The same if nobody wants to wait for the answer.
const STOPPED: &str = "the run was stopped before there was an answer";

/// Why there are no rows of a statement that has done something else.
const NO_RESULT: &str = "the statement has no columns; give one that has rows, such as a select";

/// The questions of a run, and the connection on which they are asked: a broken one costs nothing else.
pub(super) struct Questions {
    checks: Vec<Check>,
    outputs: Vec<Question>,
    servers: Vec<Server>,
    /// What no answer may show: a server that reaches another knows its password.
    passwords: Passwords,
    /// What ends waiting for answers.
    stop: Stop,
}

/// A server that is asked.
struct Server {
    /// Its name, if it is not the main one.
    name: Option<String>,
    control: Box<dyn Control>,
    /// Whether the last question broke the connection.
    is_lost: bool,
}

impl Server {
    /// Asks for the rows of a statement; `Err` is why there are none.
    fn rows(&mut self, question: &Question) -> Result<TextRows, String> {
        if self.is_lost {
            // What broke one connection, such as a value that is too large, does not concern what is asked next.
            self.control.connect_again().map_err(|error| error.to_string())?;
            self.is_lost = false;
        }
        match self.control.rows(&question.sql) {
            Ok(Asked::Rows(rows)) if rows.columns.is_empty() => Err(NO_RESULT.to_owned()),
            Ok(Asked::Rows(rows)) => Ok(rows),
            Ok(Asked::Refused(why)) => Err(why),
            Err(error) => {
                self.is_lost = true;
                Err(error.to_string())
            }
        }
    }
}

/// What came of the questions of one moment.
#[derive(Default)]
pub(super) struct Answers {
    checks: Vec<CheckResult>,
    /// With the rows that are still to be written.
    outputs: Vec<(OutputResult, Option<TextRows>)>,
    /// Whether some are missing because nobody wanted to wait for them.
    pub are_stopped: bool,
}

impl Questions {
    /// Gets ready to ask the servers of a run what its experiment asks.
    ///
    /// # Errors
    /// No connection.
    pub fn of(entry: &Entry<'_>) -> Result<Self, TargetError> {
        let experiment = entry.experiment;
        let (checks, outputs) = (experiment.checks.clone(), experiment.outputs.clone());
        let asked = |server: Option<&str>| {
            let of_checks = checks.iter().map(|check| &check.question);
            of_checks
                .chain(&outputs)
                .any(|question| question.server.as_deref() == server)
        };
        let further = entry.beside.iter().map(|beside| (Some(beside.name), beside.database));
        let servers = std::iter::once((None, entry.database)).chain(further);
        let servers = servers
            .filter(|(server, _)| asked(*server))
            .map(|(server, database)| {
                Ok(Server {
                    name: server.map(str::to_owned),
                    control: database.control(&entry.stop.flag())?,
                    is_lost: false,
                })
            })
            .collect::<Result<_, TargetError>>()?;
        Ok(Self {
            checks,
            outputs,
            servers,
            stop: entry.stop.clone(),
            passwords: entry.passwords.clone(),
        })
    }

    /// Asks what is to be asked now, one after the other, and tells which. What fails is part of the answers.
    pub fn ask(&mut self, now: When, progress: &mut dyn Progress) -> Answers {
        let mut answers = Answers::default();
        for server in &mut self.servers {
            let name = server.name.clone();
            let is_its = |question: &Question| question.when == now && question.server == name;
            for check in self.checks.iter().filter(|check| is_its(&check.question)) {
                progress.asks(&format!("Asking check {}", check.question.name));
                let rows = answers.unless_stopped(&self.stop, || server.rows(&check.question));
                answers.checks.push(shown_check(checked(check, rows), &self.passwords));
            }
            for output in self.outputs.iter().filter(|output| is_its(output)) {
                progress.asks(&format!("Asking output {}", output.name));
                let rows = answers.unless_stopped(&self.stop, || server.rows(output));
                let (result, rows) = kept(output, rows);
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
            are_stopped: false,
        }
    }
}

impl Answers {
    /// What `ask` gives, if it is still wanted: what is under way when `stop` is raised was cancelled, and says so in
    /// one way or another.
    fn unless_stopped(
        &mut self,
        stop: &Stop,
        ask: impl FnOnce() -> Result<TextRows, String>,
    ) -> Result<TextRows, String> {
        let asked = match stop.requested() {
            false => ask(),
            true => Err(String::new()),
        };
        asked.map_err(|error| match stop.requested() {
            false => error,
            true => {
                self.are_stopped = true;
                STOPPED.to_owned()
            }
        })
    }

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
            let what = format!("The output \"{}\" {} the load", output.name, output.when);
            match &output.error {
                Some(error) => notes.push(format!("{what} is missing: {}.", error.trim_end_matches('.'))),
                None if output.rows == 0 => notes.push(format!("{what} is empty: its statement gave no rows.")),
                None => {}
            }
            record.outputs.push(output);
        }
        notes
    }
}

fn checked(check: &Check, rows: Result<TextRows, String>) -> CheckResult {
    let question = &check.question;
    match rows {
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

/// Whether the metrics of a run are within the bounds that its experiment gives them.
pub(super) fn metrics_judged(experiment: &Resolved, values: &IndexMap<String, f64>) -> Vec<CheckResult> {
    let limited = experiment.metrics.iter().filter_map(|(name, expression)| {
        let expect = experiment.limits.get(name)?;
        let found = values.get(name);
        // Judged as it is, told to three decimals.
        let told = found.map(|value| (value * 1000.0).round() / 1000.0);
        Some(CheckResult {
            name: name.clone(),
            when: When::After,
            sql: expression.clone(),
            expected: expect.to_string(),
            passed: expect.is_met(&[vec![found.map(f64::to_string)]]),
            error: found.is_none().then(|| "it could not be calculated".to_owned()),
            found: told.map(|value| value.to_string()),
        })
    });
    limited.collect()
}

fn kept(output: &Question, rows: Result<TextRows, String>) -> (OutputResult, Option<TextRows>) {
    match rows {
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

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Expect;
    use dyno_record::Explained;
    use dyno_target::target::{DatabaseSizes, Description, Difference, TableSizes, ToExplain};
    use std::sync::{Arc, Mutex};

    fn nobody_asks<T>() -> Result<T, TargetError> {
        Err(TargetError::other("this is not asked of it"))
    }

    #[test]
    fn a_metric_beyond_its_bounds_fails_the_run() {
        let file = "title = \"t\"\n[[workload]]\nscript = \"select 1\"\n[metrics]\nfree = \"{tps}\"\n\
                    low = { value = \"{tps}\", at_least = 5, at_most = 6.5 }\n\
                    high = { value = \"{tps}\", at_most = 1 }\nunknown = { value = \"1 / {tps}\", at_most = 1 }\n";
        let experiment = crate::experiment::Experiment::parse(Path::new("t.toml"), file).unwrap();
        let experiment = experiment.resolve(dyno_archive::plan::Size::Small, &[], 1).unwrap();
        let values = [("free", 6.0), ("low", 6.12345), ("high", 6.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let judged = metrics_judged(&experiment, &values);
        let shown = judged.iter().map(|check| {
            let found = check.found.as_deref().or(check.error.as_deref()).unwrap();
            format!("{}: {}, found {found}: {}", check.name, check.expected, check.passed)
        });
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r"
        low: at least 5 and at most 6.5, found 6.123: true
        high: at most 1, found 6: false
        unknown: at most 1, found it could not be calculated: false
        ");
    }

    /// A server that answers with what it is asked for, but for some statements.
    #[derive(Clone, Default)]
    struct Echo {
        stop: Stop,
        asked: Arc<Mutex<Vec<String>>>,
        is_lost: bool,
    }

    impl Control for Echo {
        fn rows(&mut self, statement: &str) -> Result<Asked, TargetError> {
            self.asked.lock().unwrap().push(statement.to_owned());
            match statement {
                "wait" => {
                    // As somebody presses Ctrl-C.
                    self.stop.request();
                    Ok(Asked::Refused("canceling statement due to user request".to_owned()))
                }
                "break" => {
                    self.is_lost = true;
                    Err(TargetError::other("connection closed"))
                }
                "set" => Ok(Asked::Rows(TextRows::default())),
                "nothing" => Ok(Asked::Rows(TextRows {
                    columns: vec!["x".to_owned()],
                    ..TextRows::default()
                })),
                _ if self.is_lost => Err(TargetError::other("no connection")),
                text => Ok(Asked::Rows(TextRows {
                    columns: vec!["s3cret".to_owned()],
                    rows: vec![vec![Some(text.to_owned())]],
                    number: 1,
                })),
            }
        }

        fn connect_again(&mut self) -> Result<(), TargetError> {
            self.is_lost = false;
            Ok(())
        }

        fn describe(&mut self) -> Result<Description, TargetError> {
            nobody_asks()
        }

        fn differences(&mut self, _wanted: &[(String, String)]) -> Result<Vec<Difference>, TargetError> {
            nobody_asks()
        }

        fn settle(&mut self) -> Result<Vec<String>, TargetError> {
            nobody_asks()
        }

        fn warm(&mut self) -> Result<String, TargetError> {
            nobody_asks()
        }

        fn sizes(&mut self) -> Result<DatabaseSizes, TargetError> {
            nobody_asks()
        }

        fn await_sessions_end(&mut self) -> Result<(), TargetError> {
            nobody_asks()
        }

        fn explain(&mut self, _statements: &[ToExplain]) -> Result<Vec<Explained>, TargetError> {
            nobody_asks()
        }

        fn name_of(&self, _table: &TableSizes) -> String {
            String::new()
        }
    }

    /// Writes down what is told.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Progress for Told {
        fn asks(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }

        fn note(&mut self, _text: &str) {}
    }

    fn question(sql: &str) -> Question {
        Question {
            name: format!("{sql}s"),
            when: When::After,
            server: None,
            sql: sql.to_owned(),
        }
    }

    fn questions(server: &Echo, checks: &[&str], outputs: &[&str]) -> Questions {
        let check = |sql: &&str| Check {
            question: question(sql),
            expect: Expect::Rows(vec![vec!["a".to_owned()]]),
        };
        Questions {
            checks: checks.iter().map(check).collect(),
            outputs: outputs.iter().map(|sql| question(sql)).collect(),
            servers: vec![Server {
                name: None,
                control: Box::new(server.clone()),
                is_lost: false,
            }],
            stop: server.stop.clone(),
            passwords: Passwords::new(["s3cret".to_owned()]),
        }
    }

    #[test]
    fn passwords_are_in_no_answer() {
        let server = Echo::default();
        let answers = questions(&server, &["s3cret"], &["is s3cret"]).ask(When::After, &mut Told::default());
        let [check] = &answers.checks[..] else { panic!() };
        assert_eq!((check.sql.as_str(), check.found.as_deref()), ("***", Some("***")));
        let [(output, Some(rows))] = &answers.outputs[..] else {
            panic!()
        };
        assert_eq!(output.sql, "is ***");
        assert_eq!(
            (&rows.columns[0], &rows.rows[0][0]),
            (&"***".to_owned(), &Some("is ***".to_owned()))
        );
    }

    #[test]
    fn a_question_that_breaks_the_connection_concerns_no_other() {
        let server = Echo::default();
        let answers = questions(&server, &["a", "break", "a"], &["break", "a"]).ask(When::After, &mut Told::default());
        let passed = answers.checks.iter().map(|check| check.passed);
        assert_eq!(passed.collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(answers.checks[1].error.as_deref(), Some("connection closed"));
        let rows = answers.outputs.iter().map(|(_, rows)| rows.is_some());
        assert_eq!(rows.collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn an_output_without_rows_says_why() {
        let server = Echo::default();
        let answers = questions(&server, &["set"], &["a", "set", "nothing"]).ask(When::After, &mut Told::default());
        assert_eq!(answers.checks[0].error.as_deref(), Some(NO_RESULT));
        let folder = tempfile::tempdir().unwrap();
        let mut record = RunRecord::new(
            String::new(),
            String::new(),
            Vec::new(),
            &[],
            std::time::Duration::from_secs(1),
        );
        let notes = answers.keep(&mut record, folder.path());
        assert_eq!(
            notes,
            [
                "The output \"sets\" after the load is missing: the statement has no columns; give one that has rows, \
                 such as a select.",
                "The output \"nothings\" after the load is empty: its statement gave no rows.",
            ]
        );
        let is_there = |name: &str| folder.path().join(format!("output-{name}.csv")).exists();
        assert_eq!(["as", "sets", "nothings"].map(is_there), [true, false, true]);
    }

    #[test]
    fn what_nobody_wants_to_wait_for_is_left_open() {
        let (server, mut told) = (Echo::default(), Told::default());
        let answers = questions(&server, &["a", "wait", "b"], &["c"]).ask(When::After, &mut told);
        assert!(answers.are_stopped);
        assert_eq!(*server.asked.lock().unwrap(), ["a", "wait"]);
        let said = answers
            .checks
            .iter()
            .map(|check| (check.passed, check.error.as_deref()));
        let open = (false, Some(STOPPED));
        assert_eq!(said.collect::<Vec<_>>(), [(true, None), open, open]);
        assert_eq!(answers.outputs[0].0.error.as_deref(), Some(STOPPED));
        assert_eq!(told.0[..2], ["Asking check as", "Asking check waits"]);
        // What was answered before that counts.
        let server = Echo::default();
        let answers = questions(&server, &["a"], &[]).ask(When::After, &mut told);
        server.stop.request();
        assert!(!answers.are_stopped);
    }
}

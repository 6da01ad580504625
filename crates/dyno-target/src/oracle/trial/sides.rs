//! Both clients, asked alike.

use super::cases::Step;
use crate::oracle::client::TextRow;
use crate::oracle::{Client, ClientError};
use crate::patience::ANSWER;
use dyno_connect::{Client as OwnClient, ClientError as OwnError};
use dyno_wire::{OraRows, OraSession, OraStatement, Parameters, Protocol, Session, WireError};
use std::collections::HashMap;
use std::sync::Arc;

/// How many rows the crate asks for at a time, as dyno's session does.
const ROWS_AT_A_TIME: u32 = 100;

/// What a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Got {
    Rows(Vec<TextRow>),
    /// So many rows were changed.
    Changed(u64),
    Done,
    /// The server refuses, by its number (`ORA-00942`) and in words.
    Refused(String, String),
    /// The client itself cannot do it.
    Unfit(String),
}

/// The connection is lost, and why.
#[derive(Debug)]
pub(super) struct Lost(pub String);

/// A client.
pub(super) trait Side {
    fn rows(&mut self, text: &'static str, values: &[String]) -> Result<Got, Lost>;
    fn change(&mut self, text: &'static str, values: &[String]) -> Result<Got, Lost>;
    fn array(&mut self, text: &'static str, rows: &[Vec<String>]) -> Result<Got, Lost>;
    fn text(&mut self, text: &str) -> Result<Got, Lost>;
    fn begin(&mut self) -> Result<Got, Lost>;
    fn commit(&mut self) -> Result<Got, Lost>;
    fn rollback(&mut self) -> Result<Got, Lost>;

    /// The digit that stands for it in values.
    fn digit(&self) -> &'static str;

    /// Does a step.
    fn step(&mut self, step: &Step) -> Result<Got, Lost> {
        let digit = self.digit();
        let of_side = |text: &str| text.replace("{side}", digit);
        let values = |values: &[&str]| values.iter().map(|value| of_side(value)).collect::<Vec<_>>();
        match *step {
            Step::Rows(text, given) => self.rows(text, &values(given)),
            Step::Change(text, given) => self.change(text, &values(given)),
            Step::Array(text, count) => {
                let row = |number: u64| {
                    vec![
                        format!("3{number:03}{digit}"),
                        format!("row {number}"),
                        "1.5".to_owned(),
                    ]
                };
                let rows: Vec<_> = (0..count).map(row).collect();
                self.array(text, &rows)
            }
            Step::Text(text) => self.text(text),
            Step::Begin => self.begin(),
            Step::Commit => self.commit(),
            Step::Rollback => self.rollback(),
        }
    }
}

/// dyno's own session.
pub(super) struct Own {
    pub client: OwnClient<OraSession>,
    statements: HashMap<&'static str, OraStatement>,
}

/// Values as statements take them; an empty one is NULL.
struct Values<'a>(&'a [String]);

impl Parameters for Values<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        let value = self.0.get(index).map(String::as_str).unwrap_or_default();
        out.extend_from_slice(value.as_bytes());
        !value.is_empty()
    }
}

impl Own {
    pub(super) fn new(mut client: OwnClient<OraSession>) -> Self {
        client.set_patience(Some(ANSWER));
        Self {
            client,
            statements: HashMap::new(),
        }
    }

    /// A statement that is parsed once and kept.
    fn statement(&mut self, text: &'static str, values: usize) -> Result<OraStatement, WireError> {
        if let Some(known) = self.statements.get(text) {
            return Ok(known.clone());
        }
        let statement = OraStatement::new(self.statements.len(), text, values, Protocol::Prepared)?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }
}

fn of_own(error: OwnError) -> Result<Got, Lost> {
    match error {
        OwnError::Refused(error) => Ok(match error.code.as_str() {
            "" => Got::Unfit(error.message.clone()),
            code => Got::Refused(code.to_owned(), error.message.clone()),
        }),
        OwnError::TooLarge(error) => Ok(Got::Unfit(error.to_string())),
        OwnError::Lost(error) => Err(Lost(error.to_string())),
    }
}

impl Side for Own {
    fn rows(&mut self, text: &'static str, values: &[String]) -> Result<Got, Lost> {
        let statement = match self.statement(text, values.len()) {
            Ok(statement) => statement,
            Err(error) => return Ok(Got::Unfit(error.to_string())),
        };
        let asked = self.client.ask(|session, out| {
            session.capture();
            session.execute(&statement, &Values(values), out);
        });
        match asked {
            Ok(_) => {
                let results = self.client.session().captured().iter().rev();
                let mut results = results.filter(|result| result.is_query);
                Ok(Got::Rows(
                    results.next().map(|result| result.kept.clone()).unwrap_or_default(),
                ))
            }
            Err(error) => of_own(error),
        }
    }

    fn change(&mut self, text: &'static str, values: &[String]) -> Result<Got, Lost> {
        let statement = match self.statement(text, values.len()) {
            Ok(statement) => statement,
            Err(error) => return Ok(Got::Unfit(error.to_string())),
        };
        let asked = self
            .client
            .ask(|session, out| session.execute(&statement, &Values(values), out));
        asked.map_or_else(of_own, |reply| Ok(Got::Changed(reply.affected)))
    }

    fn array(&mut self, text: &'static str, rows: &[Vec<String>]) -> Result<Got, Lost> {
        let values = rows.first().map_or(0, Vec::len);
        let statement = match self.statement(text, values) {
            Ok(statement) => statement,
            Err(error) => return Ok(Got::Unfit(error.to_string())),
        };
        let mut all = OraRows::new(&[true, false, true]);
        for row in rows {
            all.push(&Values(row));
        }
        let asked = self.client.ask(|session, out| session.load_rows(&statement, &all, out));
        asked.map_or_else(of_own, |reply| Ok(Got::Changed(reply.affected)))
    }

    fn text(&mut self, text: &str) -> Result<Got, Lost> {
        self.client.execute(text).map_or_else(of_own, |_| Ok(Got::Done))
    }

    fn begin(&mut self) -> Result<Got, Lost> {
        self.text("begin")
    }

    fn commit(&mut self) -> Result<Got, Lost> {
        self.text("commit")
    }

    fn rollback(&mut self) -> Result<Got, Lost> {
        let asked = self.client.ask(|session, out| session.rollback(out));
        asked.map_or_else(of_own, |_| Ok(Got::Done))
    }

    fn digit(&self) -> &'static str {
        "1"
    }
}

/// Oracle's crate.
pub(super) struct Beside {
    pub client: Client,
    in_transaction: bool,
}

impl Beside {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            in_transaction: false,
        }
    }
}

fn of_beside(error: ClientError) -> Result<Got, Lost> {
    match error {
        ClientError::Server(said) => Ok(Got::Refused(format!("ORA-{:05}", said.code), said.message)),
        ClientError::Unexpected(what) => Ok(Got::Unfit(what)),
        lost => Err(Lost(lost.to_string())),
    }
}

/// The text with placeholders as Oracle has them.
fn with_colons(text: &str) -> String {
    text.replace('$', ":")
}

impl Side for Beside {
    fn rows(&mut self, text: &'static str, values: &[String]) -> Result<Got, Lost> {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let limit = Some(ANSWER);
        let answer = self
            .client
            .answer_by(ROWS_AT_A_TIME, &with_colons(text), &values, usize::MAX, limit);
        answer.map_or_else(of_beside, |answer| Ok(Got::Rows(answer.rows)))
    }

    fn change(&mut self, text: &'static str, values: &[String]) -> Result<Got, Lost> {
        self.array(text, &[values.to_vec()])
    }

    fn array(&mut self, text: &'static str, rows: &[Vec<String>]) -> Result<Got, Lost> {
        let given = |value: &String| (!value.is_empty()).then(|| value.clone());
        let rows = rows.iter().map(|row| row.iter().map(given).collect()).collect();
        let text = Arc::from(with_colons(text));
        let changed = self.client.execute_rows(&text, rows, !self.in_transaction);
        changed.map_or_else(of_beside, |changed| Ok(Got::Changed(changed)))
    }

    fn text(&mut self, text: &str) -> Result<Got, Lost> {
        self.client.execute(text).map_or_else(of_beside, |()| Ok(Got::Done))
    }

    fn begin(&mut self) -> Result<Got, Lost> {
        self.in_transaction = true;
        Ok(Got::Done)
    }

    fn commit(&mut self) -> Result<Got, Lost> {
        self.in_transaction = false;
        self.client.commit().map_or_else(of_beside, |()| Ok(Got::Done))
    }

    fn rollback(&mut self) -> Result<Got, Lost> {
        self.in_transaction = false;
        self.client.rollback().map_or_else(of_beside, |()| Ok(Got::Done))
    }

    fn digit(&self) -> &'static str {
        "2"
    }
}

//! How MariaDB and MySQL would execute statements: EXPLAIN FORMAT=JSON, never ANALYZE.
//!
//! A statement may be several joined by semicolons, of which EXPLAIN would explain the first and the server execute the
//! others. So all are prepared, which these servers do for a single statement only, and executed as such. Beside that,
//! all of it happens in transactions that are rolled back, and that only read where the statement does: MariaDB calls
//! functions to make a plan. (What one writes that an UPDATE uses is rolled back, if the tables' engine can.)

mod decode;

use super::rights::is_denied;
use super::rows::refusable;
use super::{Client, ClientError};
use crate::plans::unfit;
use crate::target::{ToExplain, first_word};
use decode::decode;
use dyno_record::{AskedWith, Explained};
use dyno_wire::{MyStatement, Parameters, Protocol};

/// Bounds what EXPLAIN takes, each by the server that knows it: MariaDB in seconds, MySQL in milliseconds (MariaDB,
/// "Server System Variables"; MySQL Reference Manual, "Server System Variables"). Locks on tables are not waited for
/// long, as others may wait behind us.
const LIMITS: [(&str, &str); 4] = [
    ("lock_wait_timeout", "1"),
    ("max_statement_time", "1"),
    ("max_execution_time", "1000"),
    // The form that both servers have in common.
    ("explain_json_format_version", "1"),
];

/// What EXPLAIN takes and a client may send.
const EXPLAINED: [&str; 8] = [
    "select", "insert", "replace", "update", "delete", "with", "table", "values",
];

/// Which of them a transaction that only reads does not take, not even to be explained. In such a one all others are
/// asked for, as MariaDB calls functions to make a plan, and these may write.
const WRITE: [&str; 4] = ["insert", "replace", "update", "delete"];

/// What stands in for values that are not known: a text, which the server compares with numbers as a number and by the
/// same indexes, and a number where only numbers can be.
const STAND_INS: [StandIns; 2] = [
    StandIns {
        is_text: true,
        number: 0,
    },
    StandIns {
        is_text: false,
        number: 0,
    },
];

/// How far one value is from the next: of two that bound a range, the second one is greater.
const STEP: usize = 99;

/// A value for each parameter.
#[derive(Clone, Copy)]
struct StandIns {
    is_text: bool,
    number: usize,
}

impl Parameters for StandIns {
    fn len(&self) -> usize {
        self.number
    }

    fn is_text(&self, _index: usize) -> bool {
        self.is_text
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice((index * STEP + 1).to_string().as_bytes());
        true
    }
}

/// Asks for the plan of each statement. `asked` counts those that this connection was asked for.
///
/// # Errors
/// The connection is broken.
pub(super) fn explain(
    client: &mut Client,
    asked: &mut usize,
    statements: &[ToExplain],
) -> Result<Vec<Explained>, ClientError> {
    for (name, value) in LIMITS {
        set(client, name, value)?;
    }
    let mut asker = Asker { client, asked };
    let explained = statements.iter().map(|statement| asker.one(statement));
    let explained = explained.collect::<Result<_, _>>()?;
    for (name, _) in LIMITS {
        set(client, name, "default")?;
    }
    Ok(explained)
}

/// Sets a variable of the session, if the server has it.
fn set(client: &mut Client, name: &str, value: &str) -> Result<(), ClientError> {
    refusable(client.execute(&format!("set session {name} = {value}"))).map(drop)
}

/// A connection that asks.
struct Asker<'a> {
    client: &'a mut Client,
    /// How many statements it has prepared: their numbers tell them apart.
    asked: &'a mut usize,
}

impl Asker<'_> {
    fn one(&mut self, statement: &ToExplain) -> Result<Explained, ClientError> {
        let filled = statement.filled.iter();
        let filled = filled.map(|text| (text, statement.filled_with(), STAND_INS[0]));
        let stand_ins = statement.parameterized.iter().flat_map(|text| {
            let each = STAND_INS.into_iter();
            each.map(move |stand_ins| (text, AskedWith::StandIns, stand_ins))
        });
        let mut came = Explained::NotAsked("its text is not known".to_owned());
        for (text, asked_with, stand_ins) in filled.chain(stand_ins) {
            came = self.told(text, asked_with, stand_ins)?;
            if !matches!(came, Explained::Refused(_)) {
                break;
            }
        }
        Ok(came)
    }

    /// Asks with one of the texts of a statement.
    fn told(&mut self, text: &str, asked_with: AskedWith, stand_ins: StandIns) -> Result<Explained, ClientError> {
        let word = first_word(text, &["--", "#"]);
        if !EXPLAINED.contains(&word.as_str()) {
            return Ok(Explained::HasNone);
        }
        if let Some(why) = unfit(text) {
            return Ok(Explained::NotAsked(why));
        }
        let begin = match WRITE.contains(&word.as_str()) {
            true => "start transaction",
            false => "start transaction read only",
        };
        let answer = self.within(begin, text, asked_with, stand_ins)?;
        Ok(match answer.map(|answer| decode(&answer, asked_with)) {
            Ok(Ok(mut plan)) => {
                // MariaDB says of an INSERT only which table it is about.
                let bare = plan.steps.first_mut().filter(|step| step.step == decode::TABLE);
                bare.into_iter().for_each(|step| step.step.clone_from(&word));
                Explained::Plan(plan)
            }
            Ok(Err(why)) => Explained::Refused(why),
            Err(error) if is_denied(&error) => Explained::Denied(error.to_string()),
            Err(error) => Explained::Refused(error.to_string()),
        })
    }

    /// The server's answer, in a transaction of its own.
    fn within(
        &mut self,
        begin: &str,
        text: &str,
        asked_with: AskedWith,
        stand_ins: StandIns,
    ) -> Result<Result<String, ClientError>, ClientError> {
        // Servers before 5.6 know no transactions that only read; then there is none.
        drop(refusable(self.client.execute(begin))?);
        let answer = self.ask(text, asked_with, stand_ins);
        drop(refusable(self.client.execute("rollback"))?);
        refusable(answer)
    }

    fn ask(&mut self, text: &str, asked_with: AskedWith, stand_ins: StandIns) -> Result<String, ClientError> {
        let text = text.trim_end().trim_end_matches(';');
        let query = format!("explain format=json {text}");
        let number = match asked_with {
            AskedWith::StandIns => parameters_in(&query),
            _ => 0,
        };
        *self.asked += 1;
        let statement = MyStatement::new(*self.asked, &query, number, Protocol::Prepared)
            .map_err(|error| ClientError::Unexpected(error.to_string()))?;
        self.client.prepare_to_ask(&statement)?;
        let rows = self.client.rows_of(&statement, &StandIns { number, ..stand_ins })?;
        let first = rows.into_iter().next().and_then(|row| row.into_iter().next());
        first
            .flatten()
            .ok_or_else(|| ClientError::Unexpected("no plan".to_owned()))
    }
}

/// How many values a text with `?`, or with `$1`, `$2`, …, takes.
fn parameters_in(text: &str) -> usize {
    let behind = text.split('$').skip(1);
    let numbers = behind.map(|rest| {
        rest.split(|letter: char| !letter.is_ascii_digit())
            .next()
            .unwrap_or_default()
    });
    let highest = numbers.filter_map(|number| number.parse().ok()).max().unwrap_or(0);
    MyStatement::placeholder_count(text.as_bytes()).min(if highest > 0 { highest } else { usize::MAX })
}

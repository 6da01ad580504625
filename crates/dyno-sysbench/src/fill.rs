//! Tables of `prepare`, filled as an experiment's tables are: with rows that are made here, by MariaDB's bulk protocol,
//! LOAD DATA, COPY or INSERTs of many rows.

use crate::connection::{Driver, mysql_target, pgsql_target};
use crate::options::Settings;
use dyno_lua::{Column, FilledTable, Filler};
use dyno_record::ErrorCode;
use dyno_script::{ColumnError, Draw, Making, Rows};
use dyno_target::target::{Fill, RowSource};
use dyno_target::{mysql, postgres};
use dyno_wire::ServerError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Fills tables of the database that the options lead to.
pub struct Loading {
    target: Target,
}

enum Target {
    Mysql(Box<mysql::address::ConnectionInfo>),
    Pgsql(Box<postgres::address::ConnectionInfo>),
}

impl Loading {
    /// `None`: the options lead nowhere, which is said when the script connects.
    pub fn of(settings: &Settings) -> Option<Self> {
        let target = match Driver::of(settings.text("db-driver"))? {
            Driver::Mysql => Target::Mysql(Box::new(mysql_target(settings).ok()?)),
            Driver::Pgsql => Target::Pgsql(Box::new(pgsql_target(settings, &crate::environment).ok()?)),
        };
        Some(Self { target })
    }
}

impl Filler for Loading {
    fn fill(&self, table: &FilledTable, connections: usize) -> Result<(), Box<ServerError>> {
        let rows = rows(table).map_err(|error| refusal("", "", &error.to_string()))?;
        // Nobody asks for an end: a signal ends commands at once.
        let goes_on = AtomicBool::new(false);
        match &self.target {
            Target::Mysql(target) => {
                let mut client = target.connect().map_err(|error| of_mysql(&error))?;
                let fill = Fill {
                    table: table.name.clone(),
                    rows: table.rows,
                    columns: names(table),
                    source: RowSource::Server,
                };
                let filled = mysql::load::fill_rows(&mut client, &fill, &rows, connections, &goes_on, &mut |_| ());
                filled.map_err(|error| match &error {
                    mysql::load::LoadError::Fill { error, .. } => of_mysql(error),
                    mysql::load::LoadError::Rows { message, state, .. } => of_rows(message, state),
                    other => refusal("", "", &other.to_string()),
                })
            }
            Target::Pgsql(target) => {
                let fill = postgres::load::Fill {
                    connections,
                    ..postgres::load::Fill::new(&table.name, table.rows, names(table))
                };
                let filled = postgres::load::fill_rows(target, &fill, &rows, &goes_on, &mut |_| ());
                filled.map(|_| ()).map_err(|error| match error {
                    postgres::load::LoadError::Fill { message, state, .. } => refusal("", &state, &message),
                    other => refusal("", "", &other.to_string()),
                })
            }
        }
    }
}

/// The columns' names, whose contents are known by [`rows`].
fn names(table: &FilledTable) -> Vec<(String, String)> {
    let columns = table.columns.iter();
    columns.map(|(name, _)| (name.clone(), String::new())).collect()
}

/// The rows, ready to be made.
fn rows(table: &FilledTable) -> Result<Rows, ColumnError> {
    let contents: Vec<_> = table
        .columns
        .iter()
        .map(|(name, column)| (name, content(column)))
        .collect();
    let columns = contents.iter().map(|(name, content)| {
        let making = match content {
            Content::Expression(text) => Making::Expression(text),
            Content::Drawn(draw) => Making::Drawn(draw.clone()),
        };
        (name.as_str(), making)
    });
    Rows::of(&table.name, table.seed, columns)
}

/// A column's content in the language of rows, if it has it.
enum Content {
    Expression(String),
    Drawn(Draw),
}

fn content(column: &Column) -> Content {
    match column {
        Column::Row => Content::Expression("row".to_owned()),
        Column::Text(template) => Content::Expression(format!("pattern('{}')", template.replace('\'', "''"))),
        Column::Number(draw) => {
            let draw = Arc::clone(draw);
            Content::Drawn(Draw::new(move |bits| draw(bits)))
        }
    }
}

/// The SQLSTATEs of what servers warn of without one, by their numbers (MySQL Error Message Reference).
const STATES: [(&str, &str); 7] = [
    ("1048", "23000"),
    ("1062", "23000"),
    ("1136", "21S01"),
    ("1264", "22003"),
    ("1265", "01000"),
    ("1406", "22001"),
    ("1452", "23000"),
];

/// An error with the server's number and its SQLSTATE.
fn refusal(code: &str, state: &str, message: &str) -> Box<ServerError> {
    let known = || STATES.iter().find(|(known, _)| *known == code).map(|(_, state)| *state);
    let state = Some(state).filter(|state| !state.is_empty()).or_else(known);
    Box::new(ServerError {
        code: ErrorCode::new(code),
        // Else no more is known of it than that it is an error.
        state: state.unwrap_or("HY000").to_owned(),
        message: message.to_owned(),
        ..ServerError::default()
    })
}

fn of_mysql(error: &mysql::ClientError) -> Box<ServerError> {
    match error {
        mysql::ClientError::Server(said) => refusal(&said.code.to_string(), &said.state, &said.message),
        other => refusal("", "", &other.to_string()),
    }
}

/// What the server says of rows, which begins with its number if it is an error.
fn of_rows(message: &str, state: &str) -> Box<ServerError> {
    let numbered = message.strip_prefix("ERROR ").and_then(|rest| rest.split_once(": "));
    match numbered {
        Some((code, text)) => refusal(code, state, text),
        None => refusal("", state, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_script::RowFormat;

    #[test]
    fn columns_hold_what_they_are_said_to() {
        let table = FilledTable {
            name: "t".to_owned(),
            rows: 2,
            columns: vec![
                ("id".to_owned(), Column::Row),
                (
                    "k".to_owned(),
                    Column::Number(Arc::new(|bits| (bits[0] % 3) as i64 + 5)),
                ),
                ("c".to_owned(), Column::Text("#-@'".to_owned())),
            ],
            seed: 1,
        };
        let rows = rows(&table).unwrap();
        let mut writer = rows.writer(RowFormat::Lines);
        for number in 1..=20 {
            let values: Vec<String> = writer.values(number).unwrap().into_iter().flatten().collect();
            assert_eq!(values[0], number.to_string());
            assert!(["5", "6", "7"].contains(&values[1].as_str()), "{values:?}");
            let text = values[2].as_bytes();
            assert!(
                text[0].is_ascii_digit() && text[1] == b'-' && text[2].is_ascii_lowercase(),
                "{values:?}"
            );
            assert_eq!(&text[3..], b"'");
        }
    }

    #[test]
    fn what_the_server_says_keeps_its_number() {
        let error = of_rows("ERROR 1062: Duplicate entry '1' for key 'PRIMARY'", "");
        assert_eq!(
            (error.code.as_str(), &*error.state, &*error.message),
            ("1062", "23000", "Duplicate entry '1' for key 'PRIMARY'")
        );
        assert_eq!(of_rows("ERROR 1146: no", "42S02").sqlstate(), "42S02");
        let unknown = of_rows("the server took 1 of 2 rows", "");
        assert_eq!((unknown.code.as_str(), unknown.sqlstate()), ("", "HY000"));
    }
}

//! The crate `postgres` as a library that blocks.

use dyno_engine::Limit;
use dyno_engine::backend::blocking::{Answer, Connection, Interrupter, Library};
use dyno_engine::{ConnectError, Program};
use dyno_target::postgres::address::Host;
use dyno_target::postgres::embedded::Server;
use dyno_wire::{CapturedResult, ErrorClass, ErrorCode, Parameters, ServerError, TransactionStatus};
use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type};
use postgres::{Client, Config, NoTls, Statement};
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The socket of a server of dyno's own.
pub fn socket(server: &Server) -> PathBuf {
    match server.connection("postgres").hosts().next() {
        Some(Host::Unix { directory, port }) => directory.join(format!(".s.PGSQL.{port}")),
        other => unreachable!("{other:?}"),
    }
}

fn folder(server: &Server) -> PathBuf {
    socket(server).parent().unwrap().to_owned()
}

pub struct Postgres {
    config: Config,
    texts: Vec<String>,
}

impl Postgres {
    pub fn new<P: Program>(server: &Server, program: &P) -> Self {
        let mut config = Config::new();
        config
            .host_path(folder(server))
            .port(server.port())
            .user("postgres")
            .dbname("postgres");
        let state = program.state(0);
        let text = |number| {
            let mut text = Vec::new();
            program.write_text(&state, number, &mut text);
            String::from_utf8(text).unwrap()
        };
        Self {
            config,
            texts: (0..program.statements().len()).map(text).collect(),
        }
    }
}

impl Library for Postgres {
    type Connection = Session;

    fn connect_timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn connect(&self, _workload: &str, _limit: Limit<'_>) -> Result<Session, ConnectError> {
        let client = self.config.connect(NoTls).map_err(|error| ConnectError::Unreachable {
            address: self.address(),
            cause: io::Error::other(error),
        })?;
        Ok(Session {
            client,
            prepared: vec![None; self.texts.len()],
            texts: self.texts.clone(),
            status: TransactionStatus::Idle,
        })
    }

    fn address(&self) -> String {
        "the server of the test".to_owned()
    }
}

pub struct Session {
    client: Client,
    prepared: Vec<Option<Statement>>,
    texts: Vec<String>,
    status: TransactionStatus,
}

impl Session {
    /// What a call came to; an error that ends the connection loses it.
    fn answer<T>(
        &mut self,
        text: &str,
        done: Result<T, postgres::Error>,
        answer: impl FnOnce(T) -> Answer,
    ) -> io::Result<Answer> {
        match done {
            Ok(done) => {
                let text = text.trim_start();
                if text.starts_with("begin") {
                    self.status = TransactionStatus::Open;
                } else if ["end", "commit", "rollback"].iter().any(|word| text.starts_with(word)) {
                    self.status = TransactionStatus::Idle;
                }
                Ok(answer(done))
            }
            Err(error) => {
                let Some(said) = error.as_db_error().filter(|said| said.severity() == "ERROR") else {
                    return Err(io::Error::other(error));
                };
                if self.status == TransactionStatus::Open {
                    self.status = TransactionStatus::Failed;
                }
                Ok(Answer {
                    error: Some(ServerError {
                        class: class(said.code()),
                        severity: said.severity().to_owned(),
                        code: ErrorCode::new(said.code().code()),
                        message: said.message().to_owned(),
                        ..ServerError::default()
                    }),
                    ..Answer::default()
                })
            }
        }
    }
}

impl Connection for Session {
    fn execute(&mut self, statement: usize, parameters: &impl Parameters, _results: bool) -> io::Result<Answer> {
        let text = self.texts[statement].clone();
        if self.prepared[statement].is_none() {
            match self.client.prepare(&text) {
                Ok(known) => self.prepared[statement] = Some(known),
                Err(error) => return self.answer::<()>(&text, Err(error), |()| Answer::default()),
            }
        }
        let values: Vec<Value> = (0..parameters.len())
            .map(|index| Value::of(parameters, index))
            .collect();
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let known = self.prepared[statement].clone().unwrap();
        let rows = self.client.query(&known, &values);
        self.answer(&text, rows, |rows| {
            let names = known.columns().iter().map(|column| column.name().to_owned());
            let result = CapturedResult {
                is_query: !known.columns().is_empty(),
                columns: names.collect(),
                rows: rows.len() as u64,
                kept: rows.iter().map(shown).collect(),
            };
            Answer {
                rows: rows.len() as u64,
                affected: rows.len() as u64,
                results: vec![result],
                error: None,
            }
        })
    }

    fn query(&mut self, text: &[u8], _results: bool) -> io::Result<Answer> {
        let text = String::from_utf8_lossy(text).into_owned();
        let done = self.client.batch_execute(&text);
        self.answer(&text, done, |()| Answer::default())
    }

    fn define(&mut self, statement: usize, text: &str) -> io::Result<Answer> {
        let known = self.texts.len().max(statement + 1);
        self.texts.resize(known, String::new());
        self.prepared.resize(known, None);
        text.clone_into(&mut self.texts[statement]);
        match self.client.prepare(text) {
            Ok(prepared) => {
                self.prepared[statement] = Some(prepared);
                Ok(Answer::default())
            }
            Err(error) => self.answer::<()>(text, Err(error), |()| Answer::default()),
        }
    }

    fn in_transaction(&self) -> TransactionStatus {
        self.status
    }

    fn interrupter(&self) -> Option<Interrupter> {
        let token = self.client.cancel_token();
        Some(Box::new(move || {
            let _ = token.cancel_query(NoTls);
        }))
    }

    fn close(self) {
        let _ = self.client.close();
    }
}

/// What an error means, as far as the tests provoke it.
fn class(code: &SqlState) -> ErrorClass {
    match *code {
        SqlState::T_R_SERIALIZATION_FAILURE => ErrorClass::Serialization,
        SqlState::T_R_DEADLOCK_DETECTED => ErrorClass::Deadlock,
        _ if code.code().starts_with("42") => ErrorClass::Statement,
        _ => ErrorClass::Other,
    }
}

/// The values of a row as text, of the types that the tests select.
fn shown(row: &postgres::Row) -> Vec<Option<String>> {
    let value = |index: usize| match *row.columns()[index].type_() {
        Type::INT4 => row.get::<_, Option<i32>>(index).map(|value| value.to_string()),
        Type::INT8 => row.get::<_, Option<i64>>(index).map(|value| value.to_string()),
        _ => None,
    };
    (0..row.len()).map(value).collect()
}

/// A value that is sent as text, as a script has it.
#[derive(Debug)]
struct Value(Option<Vec<u8>>);

impl Value {
    fn of(parameters: &impl Parameters, index: usize) -> Self {
        let mut text = Vec::new();
        Self(parameters.write(index, &mut text).then_some(text))
    }
}

impl ToSql for Value {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            None => Ok(IsNull::Yes),
            Some(text) => {
                out.extend_from_slice(text);
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    postgres::types::to_sql_checked!();
}

//! A connection on a thread of its own, for a client on another.
//!
//! Whoever waits for an answer waits at a channel, at which somebody else can end the wait. The thread goes on until
//! the server has answered, and takes its connection with it.

use super::error::{broken, unstarted};
use super::session::{Execution, Given, Session};
use dyno_engine::backend::blocking::{Answer, Connection, Interrupter};
use dyno_engine::{ConnectError, Limit};
use dyno_target::oracle::unharmed;
use dyno_wire::{ErrorClass, OraKind, OraStatement, Parameters, ServerError, TransactionStatus};
use oracledb::Config;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How often the request to stop is looked at while connecting.
const POLL: Duration = Duration::from_millis(50);

/// How long taking leave of the server may take.
const LEAVE: Duration = Duration::from_secs(5);

/// What a connection is told that has met a panic.
const PANICKED: &str = "Oracle's crate did not know what to make of the server's answer, and panicked; the driver dyno \
                        may";

/// What the thread of a connection tells.
enum Told {
    /// Whether the server lets us in.
    Connected(Result<(), ConnectError>),
    /// What came of an execution, and whether a transaction is open.
    Done(io::Result<Answer>, TransactionStatus),
    /// Nobody is to wait any more.
    Interrupted,
    /// Leave is taken.
    Left,
}

/// The client's end of a connection.
pub struct Link {
    /// Without it, the thread takes leave as soon as it has an answer.
    asks: Option<Sender<Execution>>,
    told: Receiver<Told>,
    /// For those who end the wait.
    tell: Sender<Told>,
    statements: Arc<[OraStatement]>,
    status: TransactionStatus,
}

impl Link {
    /// Opens a connection.
    pub fn open(
        address: &str,
        config: Config,
        statements: Arc<[OraStatement]>,
        timeout: Duration,
        limit: Limit<'_>,
    ) -> Result<Self, ConnectError> {
        let (asks, asked) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let (teller, server) = (tell.clone(), address.to_owned());
        let thread = thread::Builder::new().name("oracledb".to_owned());
        let started = thread.spawn(move || serve(&server, config, &asked, &teller));
        started.map_err(|cause| unstarted(address, &cause))?;
        let deadline = limit.deadline(timeout);
        loop {
            match told.recv_timeout(POLL) {
                Ok(Told::Connected(connected)) => {
                    connected?;
                    return Ok(Self {
                        asks: Some(asks),
                        told,
                        tell,
                        statements,
                        status: TransactionStatus::Idle,
                    });
                }
                Err(RecvTimeoutError::Timeout) if limit.stop.requested() => return Err(ConnectError::Stopped),
                Err(RecvTimeoutError::Timeout) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
                Err(RecvTimeoutError::Timeout) => return Err(broken(address, io::ErrorKind::TimedOut.into())),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(broken(address, io::ErrorKind::ConnectionAborted.into()));
                }
            }
        }
    }

    /// Has the thread execute something, and waits for what comes of it.
    fn ask(&mut self, execution: Execution) -> io::Result<Answer> {
        let asked = self.asks.as_ref().map(|asks| asks.send(execution));
        let told = asked.filter(Result::is_ok).and_then(|_| self.told.recv().ok());
        match told {
            Some(Told::Done(done, status)) => {
                self.status = status;
                done
            }
            Some(Told::Interrupted) => {
                self.asks = None;
                Err(io::ErrorKind::Interrupted.into())
            }
            Some(Told::Connected(_) | Told::Left) | None => {
                self.asks = None;
                Err(io::ErrorKind::NotConnected.into())
            }
        }
    }
}

/// Connects, and executes what is asked for until nobody asks any more.
fn serve(address: &str, config: Config, asked: &Receiver<Execution>, tell: &Sender<Told>) {
    let mut session = match unharmed(|| Session::open(address, config)) {
        Some(Ok(session)) => session,
        // Nobody listens if the connection was given up.
        Some(Err(error)) => return drop(tell.send(Told::Connected(Err(error)))),
        None => {
            let error = broken(address, io::Error::other(PANICKED));
            return drop(tell.send(Told::Connected(Err(error))));
        }
    };
    let _ = tell.send(Told::Connected(Ok(())));
    while let Ok(execution) = asked.recv() {
        let done = unharmed(|| session.execute(&execution));
        let done = done.unwrap_or_else(|| Err(io::Error::other(PANICKED)));
        let is_lost = done.is_err();
        let _ = tell.send(Told::Done(done, session.status()));
        if is_lost {
            break;
        }
    }
    unharmed(|| session.leave(LEAVE));
    let _ = tell.send(Told::Left);
}

/// What is answered to something that the server is not even asked.
fn refused(message: &str) -> Answer {
    Answer {
        error: Some(ServerError {
            severity: "ERROR".to_owned(),
            class: ErrorClass::Statement,
            message: message.to_owned(),
            ..ServerError::default()
        }),
        ..Answer::default()
    }
}

impl Connection for Link {
    fn execute(&mut self, statement: usize, parameters: &impl Parameters, results: bool) -> io::Result<Answer> {
        let Some(statement) = self.statements.get(statement) else {
            return Ok(refused("there is no statement of this number"));
        };
        let mut text = Vec::new();
        statement.write_text(parameters, &mut text);
        let value = |&value: &usize| {
            let mut text = Vec::new();
            let is_given = value < parameters.len() && parameters.write(value, &mut text);
            is_given.then(|| Given {
                text,
                is_text: parameters.is_text(value),
            })
        };
        let execution = Execution {
            kind: statement.kind(),
            text,
            kept: statement.is_kept().then(|| statement.index()),
            values: statement.order().iter().map(value).collect(),
            results,
        };
        self.ask(execution)
    }

    fn query(&mut self, text: &[u8], results: bool) -> io::Result<Answer> {
        let (kind, text) = OraKind::of(text);
        let text = text.to_vec();
        self.ask(Execution {
            kind,
            text,
            kept: None,
            values: Vec::new(),
            results,
        })
    }

    fn define(&mut self, _statement: usize, _text: &str) -> io::Result<Answer> {
        // Only scripts in Lua have such, and there are none for Oracle.
        Ok(refused(
            "Oracle's crate is not asked to prepare statements apart from their execution",
        ))
    }

    fn in_transaction(&self) -> TransactionStatus {
        self.status
    }

    fn interrupter(&self) -> Option<Interrupter> {
        let tell = self.tell.clone();
        Some(Box::new(move || {
            // Nobody waits if the connection is gone.
            let _ = tell.send(Told::Interrupted);
        }))
    }

    fn close(mut self) {
        self.asks = None;
        let deadline = Instant::now() + LEAVE;
        loop {
            match self
                .told
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(Told::Left) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}

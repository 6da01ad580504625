//! Commands: what scripts do outside of a load, over connections that block.

use crate::client::{Client, Doing, ROLLBACK};
use crate::environment::Environment;
use crate::error::LuaError;
use crate::operation::{Answer, Given, Operation, Values};
use crate::settings::Settings;
use crate::source::Source;
use crate::state::Common;
use dyno_connect::{Client as Connected, ClientError, ConnectError, Limit, Stop};
use dyno_engine::Connector;
use dyno_wire::{CapturedResult, Reply, ServerError, Session};
use std::sync::Arc;
use std::thread;

/// Opens connections that block.
pub trait Server: Send + Sync {
    /// Opens one. A request to stop ends what is waited for, then and later.
    ///
    /// # Errors
    /// No server lets us in.
    fn open(&self, stop: &Stop) -> Result<Box<dyn Link>, ConnectError>;
}

/// A connection that blocks.
pub trait Link {
    /// Executes a text.
    ///
    /// # Errors
    /// The server refuses it, or the connection is lost.
    fn query(&mut self, text: &[u8], rows: bool) -> Result<Reply, Box<ServerError>>;

    /// Prepares a statement with so many values, under the next number from 0.
    ///
    /// # Errors
    /// As for [`query`](Link::query).
    fn prepare(&mut self, text: &[u8], parameters: usize) -> Result<usize, Box<ServerError>>;

    /// Executes what was prepared.
    ///
    /// # Errors
    /// As for [`query`](Link::query).
    fn execute(&mut self, number: usize, values: &Values, rows: bool) -> Result<Reply, Box<ServerError>>;

    /// The rows that were asked for last.
    fn results(&self) -> &[CapturedResult];
}

impl<S: Session> Server for Connector<S> {
    fn open(&self, stop: &Stop) -> Result<Box<dyn Link>, ConnectError> {
        let mut last = None;
        for (number, endpoint) in self.endpoints.iter().enumerate() {
            let session = Arc::clone(&self.session);
            let sessions = move |tls| session(number, tls);
            match Connected::connect(endpoint.clone(), sessions, Limit { stop, until: None }) {
                Ok(client) => {
                    return Ok(Box::new(Blocking {
                        client,
                        statements: Vec::new(),
                    }));
                }
                Err(error) if error.is_elsewhere_better() => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or(ConnectError::Stopped))
    }
}

struct Blocking<S: Session> {
    client: Connected<S>,
    statements: Vec<S::Statement>,
}

fn refusal(error: ClientError) -> Box<ServerError> {
    match error {
        ClientError::Refused(error) => error,
        ClientError::Lost(error) => Box::new(error.into_server_error()),
        ClientError::TooLarge(error) => plain(&error),
    }
}

/// Something of ours as an error of the server.
fn plain(error: &impl ToString) -> Box<ServerError> {
    Box::new(ServerError {
        message: error.to_string(),
        ..ServerError::default()
    })
}

impl<S: Session> Link for Blocking<S> {
    fn query(&mut self, text: &[u8], rows: bool) -> Result<Reply, Box<ServerError>> {
        let reply = self.client.ask(|session, out| {
            if rows {
                session.capture();
            }
            session.query(|query| query.extend_from_slice(text), out);
        });
        reply.map_err(refusal)
    }

    fn prepare(&mut self, text: &[u8], parameters: usize) -> Result<usize, Box<ServerError>> {
        let number = self.statements.len();
        let text = dyno_text::decode(text);
        let statement = S::encode_prepared(number, &text, parameters).map_err(|error| plain(&error))?;
        let asked = self.client.ask(|session, out| {
            session.prepare(&statement, out);
        });
        // The number is taken even if the server refuses.
        self.statements.push(statement);
        asked.map(|_| number).map_err(refusal)
    }

    fn execute(&mut self, number: usize, values: &Values, rows: bool) -> Result<Reply, Box<ServerError>> {
        let Some(statement) = self.statements.get(number) else {
            return Err(plain(&"a statement is executed that was not prepared"));
        };
        let reply = self.client.ask(|session, out| {
            if rows {
                session.capture();
            }
            session.execute(statement, &Given(Some(values)), out);
        });
        reply.map_err(refusal)
    }

    fn results(&self) -> &[CapturedResult] {
        self.client.session().captured()
    }
}

/// Lets a script have what it asks for, up to the end of what was begun.
pub(crate) fn execute(
    client: &mut Client,
    server: Option<&dyn Server>,
    stop: &Stop,
    begun: Result<Operation, LuaError>,
) -> Result<(), LuaError> {
    let stands = Arc::clone(&client.state.place);
    let mut links: Vec<Option<Box<dyn Link>>> = Vec::new();
    let mut asked = begun;
    loop {
        let operation = asked?;
        // A script that begins again whatever becomes of its requests would go on without end.
        let is_over = matches!(operation, Operation::Ready | Operation::Done | Operation::Finish(_));
        if stop.requested() && !is_over {
            return Err(LuaError::Stopped);
        }
        asked = match operation {
            Operation::Connect => match open(client, server, stop)? {
                Some(link) => {
                    links.push(Some(link));
                    client.resume(Answer::Id(links.len() - 1))
                }
                None => client.resume(Answer::No),
            },
            Operation::Disconnect(connection) => {
                if let Some(link) = links.get_mut(connection) {
                    stands.away(|| *link = None);
                }
                client.resume(Answer::Yes)
            }
            Operation::Reconnect(connection) => {
                let link = open(client, server, stop)?;
                let answer = if link.is_some() {
                    Answer::Id(connection)
                } else {
                    Answer::No
                };
                if let Some(place) = links.get_mut(connection) {
                    *place = link;
                }
                forget(client, connection);
                client.resume(answer)
            }
            Operation::Query { connection, rows } => {
                let rows = rows || client.state.wants_rows();
                client.ask_text();
                send_text(client, &mut links, server, stop, connection, rows)
            }
            Operation::Prepare { connection } => match client.prepare(connection) {
                (place, true) => {
                    client.ask_text();
                    let prepared = &client.prepared[place];
                    let done = match link(&mut links, connection) {
                        Ok(link) => stands.away(|| link.prepare(&prepared.sent, prepared.parameters)),
                        Err(error) => Err(error),
                    };
                    match done {
                        Ok(number) => {
                            client.prepared[place].number = Some(number);
                            client.resume(Answer::Id(place))
                        }
                        Err(error) if client.cannot_prepare(&error) => client.resume(Answer::Id(place)),
                        Err(error) => {
                            client.prepared.truncate(place);
                            refuse(client, &mut links, server, stop, connection, &error, Doing::Preparing)
                        }
                    }
                }
                (place, false) => client.resume(Answer::Id(place)),
            },
            Operation::Execute(statement) => {
                let rows = client.state.wants_rows();
                let Some(prepared) = client.prepared.get(statement) else {
                    return Err(LuaError::State(
                        "a statement is executed that was not prepared".to_owned(),
                    ));
                };
                client.executed = Some(statement);
                let connection = prepared.connection;
                match prepared.number {
                    Some(number) => {
                        let executed = match link(&mut links, connection) {
                            Ok(link) => stands.away(|| link.execute(number, &client.request.values, rows)),
                            Err(error) => Err(error),
                        };
                        match executed {
                            Ok(reply) => brought(client, &links, connection, &reply, rows),
                            Err(error) => {
                                refuse(client, &mut links, server, stop, connection, &error, Doing::Executing)
                            }
                        }
                    }
                    None => {
                        client.fill_in(statement);
                        send_text(client, &mut links, server, stop, connection, rows)
                    }
                }
            }
            Operation::Fill => fill(client),
            Operation::Close(_) | Operation::Ignored => client.resume(Answer::Yes),
            Operation::Ready | Operation::Done | Operation::Finish(_) | Operation::Failed => return Ok(()),
        };
    }
}

/// Has a table filled, if there is anybody who does that.
fn fill(client: &mut Client) -> Result<Operation, LuaError> {
    let Some(filler) = client.common.settings.filler.clone() else {
        return client.resume(Answer::No);
    };
    let wish = std::mem::take(&mut client.request.wish);
    let connections = wish.connections.max(1);
    let table = wish.table(&client.common.random);
    let place = Arc::clone(&client.state.place);
    match place.away(|| filler.fill(&table, connections)) {
        Ok(()) => client.resume(Answer::Yes),
        Err(error) => {
            client.asked = format!("INSERT INTO {}", table.name).into_bytes();
            client.executed = None;
            client.refuse_for_good(&error);
            client.resume_refused()
        }
    }
}

/// Opens a connection, or says why there is none.
fn open(client: &Client, server: Option<&dyn Server>, stop: &Stop) -> Result<Option<Box<dyn Link>>, LuaError> {
    let opened = match server {
        Some(server) => client.state.place.away(|| server.open(stop)),
        None => {
            client.say_unconnected(&plain(&"no server was given"));
            return Ok(None);
        }
    };
    match opened {
        Ok(link) => Ok(Some(link)),
        Err(_) if stop.requested() => Err(LuaError::Stopped),
        Err(error) => {
            client.say_unconnected(&error.into_server_error());
            Ok(None)
        }
    }
}

/// What was prepared on a connection is not known to the one in its place.
fn forget(client: &mut Client, connection: usize) {
    for prepared in &mut client.prepared {
        if prepared.connection == connection {
            prepared.number = None;
        }
    }
}

fn link(links: &mut [Option<Box<dyn Link>>], connection: usize) -> Result<&mut Box<dyn Link>, Box<ServerError>> {
    let link = links.get_mut(connection).and_then(Option::as_mut);
    link.ok_or_else(|| plain(&"the connection is closed"))
}

fn send_text(
    client: &mut Client,
    links: &mut [Option<Box<dyn Link>>],
    server: Option<&dyn Server>,
    stop: &Stop,
    connection: usize,
    rows: bool,
) -> Result<Operation, LuaError> {
    let sent = match link(links, connection) {
        Ok(link) => client.state.place.away(|| link.query(&client.request.text, rows)),
        Err(error) => Err(error),
    };
    match sent {
        Ok(reply) => brought(client, links, connection, &reply, rows),
        Err(error) => refuse(client, links, server, stop, connection, &error, Doing::Querying),
    }
}

/// Tells a script what a statement has brought.
fn brought(
    client: &mut Client,
    links: &[Option<Box<dyn Link>>],
    connection: usize,
    reply: &Reply,
    rows: bool,
) -> Result<Operation, LuaError> {
    let link = links.get(connection).and_then(Option::as_ref);
    let results = link.filter(|_| rows).map_or(&[][..], |link| link.results());
    client.resume_with(reply, results)
}

fn refuse(
    client: &mut Client,
    links: &mut [Option<Box<dyn Link>>],
    server: Option<&dyn Server>,
    stop: &Stop,
    connection: usize,
    error: &ServerError,
    doing: Doing,
) -> Result<Operation, LuaError> {
    // What was under way was cancelled.
    if stop.requested() {
        return Err(LuaError::Stopped);
    }
    client.refuse(error, doing);
    if client.is_lost_but_ignored()
        && let Some(place) = links.get_mut(connection)
    {
        *place = open(client, server, stop)?;
        client.problem.ignorable = place.is_some();
        forget(client, connection);
    }
    if client.needs_rollback()
        && let Ok(link) = link(links, connection)
    {
        // What was refused before is what the script hears of.
        let _ = client.state.place.away(|| link.query(ROLLBACK, false));
    }
    client.resume_refused()
}

/// Executes a command in as many threads as there are to be clients, each with a state of its own.
///
/// # Errors
/// The first thing that goes wrong. The others are finished all the same, unless one has called `os.exit`: that ends
/// all, and is what is told.
pub fn run_parallel(
    source: &Source,
    settings: &Settings,
    server: &Arc<dyn Server>,
    command: &str,
) -> Result<(), LuaError> {
    let stop = settings.stop.within();
    let settings = Settings {
        stop: stop.clone(),
        ..settings.clone()
    };
    let common = Common::new(source, &settings);
    let generators = common.random.generators(settings.threads.max(1));
    let outcomes: Vec<Result<(), LuaError>> = thread::scope(|scope| {
        let threads: Vec<_> = generators
            .into_iter()
            .enumerate()
            .map(|(tid, generator)| {
                let (common, stop) = (&common, &stop);
                scope.spawn(move || {
                    let outcome = Environment::of(common, tid, generator, Some(Arc::clone(server)))
                        .and_then(|mut environment| environment.command(command));
                    if matches!(outcome, Err(LuaError::Exit { .. })) {
                        stop.request();
                    }
                    outcome
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let exit = outcomes
        .iter()
        .find(|outcome| matches!(outcome, Err(LuaError::Exit { .. })));
    match exit {
        Some(exit) => exit.clone(),
        None => outcomes.into_iter().collect(),
    }
}

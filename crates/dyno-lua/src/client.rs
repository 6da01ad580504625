//! A client: a state, the coroutine that its functions run in, and what the host must know of its connections and
//! statements, whoever executes what it asks for.

use crate::counts::{Brought, Counters};
use crate::error::LuaError;
use crate::operation::{Answer, Given, Operation, Problem, Request, Words, Yielded};
use crate::settings::{Dialect, IgnoredErrors, PreparedStatements, Settings};
use crate::state::{Common, State, parts};
use crate::statement;
use crate::unconnected::unconnected;
use crate::voice::Level;
use dyno_wire::{CapturedResult, ErrorClass, ErrorCode, Reply, ServerError};
use mlua::{Function, IntoLuaMulti, Thread};
use std::sync::Arc;

/// The error of a statement that a server cannot prepare (`ER_UNSUPPORTED_PS`).
const CANNOT_BE_PREPARED: &str = "1295";

/// What a connection's loss is called by MySQL's clients (`CR_SERVER_LOST`).
const SERVER_LOST: u32 = 2013;

/// The numbers by which MySQL's clients tell that a connection is gone.
const LOST: [u32; 4] = [2006, SERVER_LOST, 2011, 2055];

/// What ends a transaction that has failed.
pub(crate) const ROLLBACK: &[u8] = b"ROLLBACK";

/// A statement that a script has prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub connection: usize,
    /// What the script wrote.
    pub text: Vec<u8>,
    /// What is sent.
    pub sent: Vec<u8>,
    pub parameters: usize,
    /// The number by which it is executed; `None`: its text is sent with the values filled in.
    pub number: Option<usize>,
}

/// A client.
pub(crate) struct Client {
    pub state: State,
    thread: Option<Thread>,
    pub common: Arc<Common>,
    /// What came with the operation under way.
    pub request: Request,
    pub prepared: Vec<Prepared>,
    pub counters: Arc<Counters>,
    /// What was refused last.
    pub problem: Problem,
    /// The text of what was asked last, for messages.
    pub asked: Vec<u8>,
    /// The statement that was executed last, if that was later: its text is what was asked.
    pub executed: Option<usize>,
}

impl Client {
    /// A client whose state has loaded its script.
    pub fn new(state: State, common: &Arc<Common>) -> Self {
        Self {
            state,
            thread: None,
            common: Arc::clone(common),
            request: Request::default(),
            prepared: Vec::new(),
            counters: Arc::default(),
            problem: Problem {
                number: 0,
                state: String::new(),
                message: String::new(),
                ignorable: false,
            },
            asked: Vec::new(),
            executed: None,
        }
    }

    /// What the script is run with.
    pub fn settings(&self) -> &Settings {
        &self.common.settings
    }

    /// Begins the life of a client of a load: up to its first operation.
    pub fn begin_life(&mut self) -> Result<Operation, LuaError> {
        let life: Function = self.state.host.get("life").map_err(internal)?;
        self.begin(life, ())
    }

    /// Begins to call a function of the script by way of `host.call`.
    pub fn begin_call(
        &mut self,
        name: &str,
        function: Function,
        argument: Option<mlua::Value>,
    ) -> Result<Operation, LuaError> {
        let call: Function = self.state.host.get("call").map_err(internal)?;
        self.begin(call, (name, function, argument))
    }

    fn begin(&mut self, function: Function, arguments: impl IntoLuaMulti) -> Result<Operation, LuaError> {
        let thread = self.state.lua.create_thread(function).map_err(internal)?;
        let yielded = thread.resume::<Words>(arguments);
        self.thread = Some(thread);
        self.read(yielded)
    }

    /// Goes on with what it has been waiting for, up to its next operation.
    pub fn resume(&mut self, answer: Answer<'_>) -> Result<Operation, LuaError> {
        let Some(thread) = &self.thread else {
            return Err(LuaError::State("a client goes on that has not begun".to_owned()));
        };
        let yielded = answer.tell(thread, &self.state.lua);
        self.read(yielded)
    }

    /// The text of the request is what is asked next.
    pub fn ask_text(&mut self) {
        self.executed = None;
        self.asked.clone_from(&self.request.text);
    }

    /// Tells the script what was refused.
    pub fn resume_refused(&mut self) -> Result<Operation, LuaError> {
        let problem = self.problem.clone();
        self.resume(Answer::Failed(&problem))
    }

    fn read(&mut self, yielded: mlua::Result<Words>) -> Result<Operation, LuaError> {
        let yielded = yielded.map_err(|error| {
            let (message, traceback) = parts(&error);
            LuaError::Load { message, traceback }
        })?;
        match Yielded::from(yielded).read(&mut self.request) {
            Some(Operation::Failed) => {
                let [function, message, traceback] = self.request.failure.take().unwrap_or_default();
                Err(LuaError::Call {
                    function,
                    message,
                    traceback: traceback.trim_start_matches("\nstack traceback:\n").to_owned(),
                })
            }
            Some(operation) => Ok(operation),
            None => Err(LuaError::Call {
                function: "thread_run".to_owned(),
                message: "the script yields outside of a coroutine of its own".to_owned(),
                traceback: String::new(),
            }),
        }
    }

    /// Takes in what is to be prepared. Gives its place among the statements, and whether the server is to be asked:
    /// it is not if it knows it already, or nothing is prepared.
    pub fn prepare(&mut self, connection: usize) -> (usize, bool) {
        let asks = self.settings().prepared == PreparedStatements::Auto;
        if asks && self.settings().dialect == Dialect::Postgres {
            self.state.draw_for_name();
        }
        let text = &self.request.text;
        let same = |prepared: &Prepared| prepared.connection == connection && prepared.text == *text;
        if let Some(place) = self.prepared.iter().position(same) {
            return (place, false);
        }
        let (sent, parameters) = statement::numbered(text, self.settings().dialect);
        self.prepared.push(Prepared {
            connection,
            text: text.clone(),
            sent,
            parameters,
            number: None,
        });
        (self.prepared.len() - 1, asks)
    }

    /// Whether the server refuses to prepare a statement because it is of a kind that cannot be: then it is sent as
    /// text instead.
    pub fn cannot_prepare(&self, error: &ServerError) -> bool {
        self.settings().dialect == Dialect::Mysql && error.code.as_str() == CANNOT_BE_PREPARED
    }

    /// Says that no connection could be made, and why.
    pub fn say_unconnected(&self, error: &ServerError) {
        for message in unconnected(error, self.settings().dialect) {
            self.settings().voice.say(Level::Fatal, &message);
        }
    }

    /// Writes the text of a statement with its values filled in.
    pub fn fill_in(&mut self, place: usize) {
        let prepared = &self.prepared[place];
        self.request.text.clear();
        statement::fill_in(
            &prepared.text,
            &Given(Some(&self.request.values)),
            &mut self.request.text,
        );
    }

    /// Counts what a statement has brought.
    pub fn count(&self, reply: &Reply, results: &[CapturedResult]) -> Brought {
        let brought = Brought {
            result_set: reply.result_sets > 0 || results.iter().any(|result| result.is_query),
            rows: reply.rows,
            affected: reply.affected,
        };
        self.counters.statement(brought);
        brought
    }

    /// Tells the script what a statement has brought, and counts it.
    pub fn resume_with(&mut self, reply: &Reply, results: &[CapturedResult]) -> Result<Operation, LuaError> {
        let brought = self.count(reply, results);
        // The first one is a query's; what comes behind it is asked for by itself.
        let from = results.iter().position(|result| result.is_query);
        match (brought.result_set, from) {
            (true, Some(from)) => self.resume(Answer::Results(&results[from..])),
            (true, None) => self.resume(Answer::Rows(brought.rows)),
            (false, _) => self.resume(Answer::Yes),
        }
    }

    /// Takes in an error of the server, or the loss of the connection, and says what sysbench says of it.
    pub fn refuse(&mut self, error: &ServerError, doing: Doing) {
        let lost = error.class == ErrorClass::Lost;
        let settings = &self.common.settings;
        let (number, state) = match settings.dialect {
            // What was found here, not said by the server.
            Dialect::Mysql if lost && error.code == ErrorCode::CONNECTION_LOST => (SERVER_LOST, "HY000"),
            Dialect::Mysql => (error.code.as_str().parse().unwrap_or(0), error.sqlstate()),
            Dialect::Postgres => (0, error.sqlstate()),
        };
        let message = match number {
            SERVER_LOST if error.code == ErrorCode::CONNECTION_LOST => {
                "Lost connection to MySQL server during query".to_owned()
            }
            _ => error.message.clone(),
        };
        let ignorable = match (settings.dialect, &settings.ignored) {
            (Dialect::Mysql, IgnoredErrors::All) => true,
            (Dialect::Mysql, IgnoredErrors::Numbers(numbers)) => numbers.contains(&number),
            (Dialect::Postgres, _) => matches!(state, "40P01" | "40001" | "23505"),
        };
        self.problem = Problem {
            number,
            state: state.to_owned(),
            message,
            ignorable,
        };
        if ignorable {
            self.counters.error();
        } else {
            self.say_refused(doing);
        }
    }

    /// The same of a query that is not begun again, whatever the error.
    pub fn refuse_for_good(&mut self, error: &ServerError) {
        self.refuse(error, Doing::Querying);
        if std::mem::take(&mut self.problem.ignorable) {
            self.say_refused(Doing::Querying);
        }
    }

    /// Whether what was refused last is a lost connection that the script is not to notice but by the event that it
    /// restarts: then it is connected again first.
    pub fn is_lost_but_ignored(&self) -> bool {
        self.problem.ignorable && self.settings().dialect == Dialect::Mysql && LOST.contains(&self.problem.number)
    }

    /// Whether a transaction is to be ended first that PostgreSQL would refuse to go on with.
    pub fn needs_rollback(&self) -> bool {
        self.problem.ignorable && self.settings().dialect == Dialect::Postgres
    }

    fn say_refused(&self, doing: Doing) {
        let say = |message: &str| self.settings().voice.say(Level::Fatal, message);
        let Problem { number, message, .. } = &self.problem;
        let executed = self.executed.and_then(|place| self.prepared.get(place));
        let query = String::from_utf8_lossy(executed.map_or(&self.asked, |prepared| &prepared.text));
        match (self.settings().dialect, doing) {
            (Dialect::Mysql, Doing::Preparing) => {
                say("mysql_stmt_prepare() failed");
                say(&format!("MySQL error: {number} \"{message}\""));
            }
            (Dialect::Mysql, Doing::Querying | Doing::Executing) => {
                let function = if doing == Doing::Querying {
                    "mysql_drv_query"
                } else {
                    "mysql_stmt_execute"
                };
                say(&format!(
                    "{function}() returned error {number} ({message}) for query '{query}'"
                ));
            }
            (Dialect::Postgres, doing) => {
                let function = match doing {
                    Doing::Preparing => "PQprepare",
                    Doing::Querying => "PQexec",
                    Doing::Executing => "PQexecPrepared",
                };
                say(&format!("{function}() failed: 7 {message}"));
                say(&format!("failed query was: {query}"));
            }
        }
    }
}

/// What a client was doing when the server refused something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Preparing,
    Querying,
    Executing,
}

fn internal(error: mlua::Error) -> LuaError {
    LuaError::State(error.to_string())
}

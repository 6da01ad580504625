//! The script as a program of the engine.

use crate::client::{Client, Doing, ROLLBACK};
use crate::counts::{Counters, Counts, Work};
use crate::error::{self, LuaError};
use crate::label::told_apart;
use crate::operation::{Answer, Given, Operation};
use crate::place::End;
use crate::settings::Settings;
use crate::source::Source;
use crate::state::{Common, State};
use crate::voice::Level;
use dyno_engine::{Action, Draws, Program, ProgramError, Resume, Scripted};
use dyno_wire::{Parameters, ServerError};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A script for the engine: each client has a state of its own.
pub struct LuaProgram {
    /// The states, until their clients take them.
    ready: Mutex<Vec<Option<Client>>>,
    /// The number of the first of them.
    first: usize,
    tally: Tally,
    /// Events that may still begin.
    events: Option<AtomicU64>,
    common: Arc<Common>,
    /// Whether texts are told apart.
    tells: bool,
    /// What schedules are drawn from; 0: the clock.
    seed: u64,
}

/// More labels than these are not told apart: that many statements have latencies of their own in no workload.
const MOST_LABELS: usize = 2 * dyno_record::MOST_STATEMENTS;

/// What the clients of a load have counted. Clones count the same.
#[derive(Clone, Default)]
pub struct Tally {
    counters: Arc<Mutex<Vec<Arc<Counters>>>>,
}

impl Tally {
    /// What all clients have counted, what they did before and after the load included, as in sysbench.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().for_each(|client| client.add_to(&mut sum));
        sum
    }

    /// What each client has done.
    #[must_use]
    pub fn clients(&self) -> Vec<Work> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().map(|client| client.work()).collect()
    }

    /// How many clients have begun and not ended yet.
    #[must_use]
    pub fn running(&self) -> u64 {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().filter(|client| client.runs()).count() as u64
    }

    /// Whether the script of any client was ended, in its events or beside them.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().any(|client| client.is_given_up())
    }

    /// Whether any client has asked for a connection.
    #[must_use]
    pub fn uses_database(&self) -> bool {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().any(|client| client.connects())
    }
}

/// Where a client of the engine stands.
pub struct LuaState {
    client: Option<Client>,
    number: usize,
    /// The next of the numbers of its own.
    next_number: usize,
    /// Its connections: whether each is there.
    connections: Vec<Slot>,
    /// The one in use.
    using: usize,
    /// What it waits for.
    waiting: Waiting,
    /// The numbers under which texts are sent, by their labels; unless they are told apart, by none.
    text_numbers: HashMap<Vec<u8>, usize>,
    /// Whether they are told apart.
    tells: bool,
    /// The label of the text that was sent last.
    label: Vec<u8>,
    /// The number of the label that came last.
    last_label: usize,
    /// When its event began.
    begun: Option<Instant>,
}

impl LuaState {
    /// Counts what comes of an event.
    fn note(&mut self, action: &Action) {
        let Some(client) = &self.client else { return };
        match action {
            Action::End | Action::Finish { completed: true } => {
                client
                    .counters
                    .event(self.begun.take().map_or(Duration::ZERO, |begun| begun.elapsed()));
            }
            _ => {}
        }
        if matches!(action, Action::Finish { .. }) {
            client.counters.set_running(false);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Open,
    Closed,
}

/// What an action of the engine was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Nothing.
    Nothing,
    /// For a connection of this number, which the script has asked for.
    Connection(usize),
    /// For the one that replaces a lost one: then the script hears of what was refused.
    Replacement(usize),
    /// To close this one before it is opened again.
    Reopening(usize),
    /// To change to another connection, for this operation.
    Turning(Operation),
    /// The reply to a text.
    Query,
    /// The end of the transaction in which something was refused, of which the script hears then.
    Rollback,
    /// The server's word on this statement.
    Preparation(usize),
    /// The reply to an execution.
    Execution,
    /// The end of a connection.
    Disconnection,
}

impl LuaProgram {
    /// Makes the states of the clients with these numbers and loads the script in each.
    ///
    /// # Errors
    /// The script cannot be loaded, or has no event.
    pub fn new(source: &Source, settings: &Settings, clients: Range<usize>) -> Result<Self, LuaError> {
        let common = Common::new(source, settings);
        let first = clients.start;
        common.random.begin_at(first, settings.threads);
        let generators = common.random.generators(clients.end.max(1)).split_off(first);
        let clients = clients.len();
        let workers = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(clients.max(1));
        let share = clients.div_ceil(workers.max(1)).max(1);
        let states: Result<Vec<Vec<Client>>, LuaError> = thread::scope(|scope| {
            let shares: Vec<_> = generators
                .chunks(share)
                .enumerate()
                .map(|(part, generators)| {
                    let common = &common;
                    scope.spawn(move || {
                        let numbered = generators.iter().enumerate();
                        let each = numbered.map(|(at, generator)| {
                            let state = State::new(common, first + part * share + at, generator.clone())?;
                            state.load(common)?;
                            state.tidy()?;
                            Ok(Client::new(state, common))
                        });
                        each.collect()
                    })
                })
                .collect();
            let joined = shares.into_iter().map(|share| match share.join() {
                Ok(clients) => clients,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect()
        });
        let states: Vec<Client> = states?.into_iter().flatten().take(clients).collect();
        if let Some(client) = states.first()
            && !client.state.defines("event")
            && !client.state.defines("thread_run")
        {
            return Err(LuaError::NoEvent(source.name().to_owned()));
        }
        let counters = states.iter().map(|client| Arc::clone(&client.counters)).collect();
        Ok(Self {
            tells: settings.tells_statements,
            seed: settings.random.seed,
            first,
            ready: Mutex::new(states.into_iter().map(Some).collect()),
            tally: Tally {
                counters: Arc::new(Mutex::new(counters)),
            },
            events: (settings.events > 0).then(|| AtomicU64::new(settings.events)),
            common,
        })
    }

    /// What all clients have counted, what they did before and after the load included, as in sysbench.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tally.counts()
    }

    /// The same for whoever outlives the program.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally.clone()
    }

    /// Takes one of the events that all clients have together. `false`: there are none left.
    fn take_event(&self) -> bool {
        let Some(left) = &self.events else { return true };
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.is_ok()
    }
}

impl LuaState {
    /// Does what the script asks for, up to something that the engine has to do.
    fn follow(&mut self, mut asked: Result<Operation, LuaError>) -> Result<Action, LuaError> {
        loop {
            let Some(client) = &mut self.client else {
                return Err(LuaError::State("a client has no state".to_owned()));
            };
            let operation = asked?;
            asked = match operation {
                Operation::Connect => {
                    let free = self.connections.iter().position(|slot| *slot != Slot::Open);
                    let number = free.unwrap_or(self.connections.len());
                    client.counters.connect();
                    self.waiting = Waiting::Connection(number);
                    return Ok(Action::Connect(number));
                }
                Operation::Disconnect(number) => match self.connections.get_mut(number) {
                    Some(slot @ Slot::Open) => {
                        *slot = Slot::Closed;
                        self.waiting = Waiting::Disconnection;
                        return Ok(Action::Disconnect(number));
                    }
                    _ => client.resume(Answer::Yes),
                },
                Operation::Reconnect(number) => {
                    self.waiting = Waiting::Reopening(number);
                    return Ok(Action::Disconnect(number));
                }
                Operation::Query { connection, .. } | Operation::Prepare { connection } if connection != self.using => {
                    return Ok(self.turn(connection, operation));
                }
                Operation::Query { rows, .. } => {
                    let rows = rows || client.state.wants_rows();
                    client.ask_text();
                    self.waiting = Waiting::Query;
                    return Ok(self.send_text(rows));
                }
                Operation::Prepare { connection } => match client.prepare(connection) {
                    (place, true) => {
                        client.ask_text();
                        self.waiting = Waiting::Preparation(place);
                        return Ok(Action::Prepare {
                            statement: self.next_number,
                            parameters: client.prepared[place].parameters,
                        });
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
                    let connection = prepared.connection;
                    if connection != self.using {
                        return Ok(self.turn(connection, operation));
                    }
                    client.executed = Some(statement);
                    self.waiting = Waiting::Execution;
                    match prepared.number {
                        Some(number) => {
                            return Ok(Action::Execute {
                                statement: number,
                                results: rows,
                            });
                        }
                        None => {
                            client.fill_in(statement);
                            return Ok(self.send_text(rows));
                        }
                    }
                }
                Operation::Close(_) => client.resume(Answer::Yes),
                // What is measured is executed by the load.
                Operation::Fill => client.resume(Answer::No),
                Operation::Ignored => {
                    client.counters.error();
                    client.resume(Answer::Yes)
                }
                Operation::Ready => return Ok(Action::Ready),
                Operation::Done => {
                    client.state.draw_after_event();
                    return Ok(Action::End);
                }
                Operation::Finish(completed) => return Ok(Action::Finish { completed }),
                Operation::Failed => return Err(LuaError::State("a failure without a word".to_owned())),
            };
        }
    }

    /// Sends the text of the request. All texts of a label have one number.
    fn send_text(&mut self, results: bool) -> Action {
        self.label.clear();
        if let Some(client) = self.client.as_ref().filter(|_| self.tells) {
            told_apart(&client.request.text, client.settings().dialect, &mut self.label);
        }
        let statement = match self.text_numbers.get(self.label.as_slice()) {
            Some(number) => *number,
            // All that come now are counted together anyway.
            None if self.text_numbers.len() > MOST_LABELS => self.last_label,
            None => {
                self.last_label = self.next_number;
                self.text_numbers.insert(self.label.clone(), self.next_number);
                self.next_number += 1;
                self.last_label
            }
        };
        Action::Query { statement, results }
    }

    /// Changes to another connection first.
    fn turn(&mut self, connection: usize, operation: Operation) -> Action {
        self.using = connection;
        self.waiting = Waiting::Turning(operation);
        Action::Use(connection)
    }

    /// The engine has done what was asked for.
    fn done(&mut self) -> Result<Action, LuaError> {
        let Some(client) = &mut self.client else {
            return Err(LuaError::State("a client has no state".to_owned()));
        };
        let asked = match std::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::Connection(number) => {
                if number == self.connections.len() {
                    self.connections.push(Slot::Open);
                }
                self.connections[number] = Slot::Open;
                client.resume(Answer::Id(number))
            }
            Waiting::Reopening(number) => {
                self.waiting = Waiting::Connection(number);
                return Ok(Action::Connect(number));
            }
            Waiting::Replacement(_) => {
                client.counters.reconnect();
                client.resume_refused()
            }
            Waiting::Rollback => client.resume_refused(),
            Waiting::Turning(operation) => Ok(operation),
            Waiting::Preparation(place) => {
                client.prepared[place].number = Some(self.next_number);
                self.next_number += 1;
                client.resume(Answer::Id(place))
            }
            Waiting::Nothing | Waiting::Disconnection | Waiting::Query | Waiting::Execution => {
                client.resume(Answer::Yes)
            }
        };
        self.follow(asked)
    }

    /// The server has refused what was asked for, or the connection is gone.
    fn refused(&mut self, error: &ServerError) -> Result<Action, LuaError> {
        let Some(client) = &mut self.client else {
            return Err(LuaError::State("a client has no state".to_owned()));
        };
        let waiting = std::mem::replace(&mut self.waiting, Waiting::Nothing);
        let doing = match waiting {
            // What was refused before is what the script hears of.
            Waiting::Rollback => {
                let asked = client.resume_refused();
                return self.follow(asked);
            }
            Waiting::Connection(_) | Waiting::Replacement(_) | Waiting::Reopening(_) => {
                client.say_unconnected(error);
                let asked = match waiting {
                    // Nothing comes of an event without a connection.
                    Waiting::Replacement(_) => {
                        client.problem.ignorable = false;
                        client.resume_refused()
                    }
                    _ => client.resume(Answer::No),
                };
                return self.follow(asked);
            }
            Waiting::Preparation(_) => Doing::Preparing,
            Waiting::Execution => Doing::Executing,
            _ => Doing::Querying,
        };
        if let Waiting::Preparation(place) = waiting {
            // The number is taken all the same.
            self.next_number += 1;
            if client.cannot_prepare(error) {
                let asked = client.resume(Answer::Id(place));
                return self.follow(asked);
            }
            client.prepared.truncate(place);
        }
        client.refuse(error, doing);
        if client.is_lost_but_ignored() {
            self.waiting = Waiting::Replacement(self.using);
            return Ok(Action::Connect(self.using));
        }
        if client.needs_rollback() {
            client.request.text.clear();
            client.request.text.extend_from_slice(ROLLBACK);
            self.waiting = Waiting::Rollback;
            return Ok(self.send_text(false));
        }
        let asked = client.resume_refused();
        self.follow(asked)
    }
}

impl Program for LuaProgram {
    type State = LuaState;

    const INDEPENDENT: bool = true;

    fn statements(&self) -> Vec<String> {
        Vec::new()
    }

    fn state(&self, client: usize) -> LuaState {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        LuaState {
            client: client
                .checked_sub(self.first)
                .and_then(|place| ready.get_mut(place)?.take()),
            number: client,
            next_number: 0,
            text_numbers: HashMap::new(),
            tells: self.tells,
            label: Vec::new(),
            last_label: 0,
            connections: vec![Slot::Closed],
            using: 0,
            waiting: Waiting::Nothing,
            begun: None,
        }
    }

    fn next(&self, state: &mut LuaState, resume: Resume<'_>) -> Result<Action, ProgramError> {
        let Some(place) = state.client.as_ref().map(|client| Arc::clone(&client.state.place)) else {
            return Err(ProgramError::new(LuaError::State(format!(
                "client {} has no state",
                state.number
            ))));
        };
        match place.during(|| self.go_on(state, resume)) {
            Ok(next) => next.map_err(ProgramError::new),
            Err(end) => self.ended(state, end).map_err(ProgramError::new),
        }
    }

    fn interrupt(&self, patience: Duration) {
        self.common.watchdog.end_after(patience);
    }

    fn is_held(&self) -> bool {
        self.common.watchdog.is_held()
    }

    fn parameters<'a>(&'a self, state: &'a LuaState, _statement: usize) -> impl Parameters + 'a {
        Given(state.client.as_ref().map(|client| &client.request.values))
    }

    fn write_text(&self, state: &LuaState, _statement: usize, out: &mut Vec<u8>) {
        let Some(client) = &state.client else { return };
        match state.waiting {
            Waiting::Preparation(place) => out.extend_from_slice(&client.prepared[place].sent),
            _ => out.extend_from_slice(&client.request.text),
        }
    }

    fn write_label(&self, state: &LuaState, statement: usize, out: &mut Vec<u8>) {
        match (&state.client, state.waiting) {
            (Some(client), Waiting::Preparation(place)) if self.tells => {
                told_apart(&client.prepared[place].text, client.settings().dialect, out);
            }
            (Some(_), _) if self.tells => out.extend_from_slice(&state.label),
            _ => self.write_text(state, statement, out),
        }
    }
}

impl LuaProgram {
    /// Goes on in a client's script.
    fn go_on(&self, state: &mut LuaState, resume: Resume<'_>) -> Result<Action, LuaError> {
        let next = match resume {
            Resume::Enter => match &mut state.client {
                Some(client) => {
                    client.counters.set_running(true);
                    let begun = client.begin_life();
                    state.follow(begun)
                }
                None => Err(LuaError::State("there are more clients than states".to_owned())),
            },
            Resume::Begin | Resume::Again if !self.take_event() => Ok(Action::Finish { completed: false }),
            Resume::Begin | Resume::Again | Resume::Leave => {
                state.begun = Some(Instant::now());
                let answer = if matches!(resume, Resume::Leave) {
                    Answer::No
                } else {
                    Answer::Yes
                };
                match &mut state.client {
                    Some(client) => {
                        let asked = client.resume(answer);
                        state.follow(asked)
                    }
                    None => Ok(Action::Ready),
                }
            }
            Resume::Done | Resume::Results(_) => state.done(),
            Resume::Replied { .. } if state.waiting == Waiting::Rollback => state.done(),
            Resume::Replied { reply, results } => match &mut state.client {
                Some(client) => {
                    state.waiting = Waiting::Nothing;
                    let asked = client.resume_with(reply, results);
                    state.follow(asked)
                }
                None => Ok(Action::Ready),
            },
            Resume::Failed(error) => state.refused(error),
        };
        if let Ok(action) = &next {
            state.note(action);
        }
        next
    }

    /// A client's script was ended.
    #[cold]
    fn ended(&self, state: &mut LuaState, end: End) -> Result<Action, LuaError> {
        // Nothing can be made of its state.
        if let Some(client) = state.client.take() {
            client.counters.set_running(false);
            client.counters.set_given_up();
        }
        match end {
            End::Endless { at, for_s } => {
                let message = format!(
                    "the script of thread {} was ended{}: it had not asked the server for anything for {}",
                    state.number,
                    error::place(&at),
                    error::lasted(for_s)
                );
                self.common.settings.voice.say(Level::Fatal, &message);
                Ok(Action::Abandon)
            }
            exit @ End::Exit { .. } => Err(exit.error("thread_run")),
        }
    }
}

impl Scripted for LuaProgram {
    type Thread = ();

    fn thread(&self, _thread: usize) {}

    fn schedule(&self, thread: usize) -> Draws {
        let mut random = match self.seed {
            0 => fastrand::Rng::new(),
            seed => fastrand::Rng::with_seed(seed.wrapping_add(thread as u64)),
        };
        Box::new(move || random.f64())
    }
}

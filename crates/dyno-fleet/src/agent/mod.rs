//! The agent: drives its part of a load, for a controller at the other end of a stream.
//!
//! It ends when its controller is gone: at once when the stream ends, and after a while when nothing is heard any more,
//! because a machine that was switched off closes no stream. What it has to say is written by a thread of its own, so a
//! network that is cut for a while stops neither the load nor its recording: intervals wait, and come later.

mod observer;
mod sampling;

use crate::clock::Clock;
use crate::frame::{self, FrameError};
use crate::protocol::{Early, Ended, Hello, Order, PROTOCOL, Report, Told, version};
use dyno_engine::{Ending, Outcome, Part, Stop};
use dyno_load::{Ready, from_bytes, no_log};
use dyno_record::Shape;
use dyno_target::host::{boot_id, host_facts};
use observer::Telling;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A controller of which nothing is heard for so long is gone. That is longer than a controller waits for its agents,
/// so none ends that is still waited for, but not by much: what a given-up agent drives disturbs the others, and is
/// counted by nobody.
pub const SILENCE: Duration = Duration::from_secs(15);

/// So long a load may take to end when the controller is gone; then the process ends without it.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked whether the controller is gone.
const LOOK: Duration = Duration::from_millis(100);

/// Why an agent ended without having been told to.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The controller's stream has ended.
    #[error("the controller is gone: {0}")]
    Gone(String),
    /// What speaks there is no controller, or one of another version.
    #[error("{0}")]
    Controller(String),
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// What the thread that hears the controller passes on.
enum Heard {
    Load { plan: Vec<u8>, part: Part, told: Told },
    Start { at_ns: u64 },
    Quit,
    Gone(String),
}

/// What the parts of an agent share.
#[derive(Clone)]
struct Agent {
    clock: Clock,
    reports: Sender<Report>,
    stop: Stop,
    /// When the controller was heard last, by the agent's clock.
    heard_ns: Arc<AtomicU64>,
    /// Whether it is gone.
    gone: Arc<AtomicBool>,
}

/// Serves the controller that speaks on `input` and hears `output`, until it says that there is nothing more to do.
/// `abandon` ends the process; it is called when the controller is gone and the load does not end by itself.
///
/// # Errors
/// It ended without having been told to.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    abandon: impl Fn() + Send + 'static,
) -> Result<(), AgentError> {
    let clock = Clock::start();
    let (reports, to_tell) = mpsc::channel();
    let (hear, heard) = mpsc::channel();
    let agent = Agent {
        clock,
        reports,
        stop: Stop::new(),
        heard_ns: Arc::new(AtomicU64::new(clock.now_ns())),
        gone: Arc::default(),
    };
    let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(body).map_err(AgentError::Thread)
    };
    let (listener, gone) = (agent.clone(), hear.clone());
    spawn("listener", Box::new(move || listener.listen(input, &hear)))?;
    let writer = {
        let gone = gone.clone();
        spawn("writer", Box::new(move || tell(output, &to_tell, &gone)))?
    };
    let guard = agent.clone();
    let (ended, watched) = mpsc::channel::<()>();
    spawn("guard", Box::new(move || guard.watch(&watched, &gone, &abandon)))?;
    let result = agent.obey(&heard);
    drop(ended);
    // What was said is to arrive, if anybody still hears it.
    drop(agent);
    if result.is_ok() {
        let _ = writer.join();
    }
    result
}

/// Writes what there is to tell until nothing can come any more.
fn tell(mut output: impl Write, reports: &Receiver<Report>, gone: &Sender<Heard>) {
    for report in reports {
        if let Err(error) = frame::write(&mut output, &report) {
            let _ = gone.send(Heard::Gone(error.to_string()));
            return;
        }
    }
}

impl Agent {
    fn say(&self, report: Report) {
        // If nobody writes any more, that is noticed where the controller is heard.
        let _ = self.reports.send(report);
    }

    /// Hears the controller until the stream ends. Whatever cannot wait is done here.
    fn listen(self, mut input: impl Read, hear: &Sender<Heard>) {
        let mut buffer = Vec::new();
        let reason = loop {
            let order = match frame::read::<Order>(&mut input, &mut buffer) {
                Ok(order) => order,
                Err(error @ (FrameError::Closed | FrameError::Broken(_))) => break error.to_string(),
                Err(error) => break format!("{error}; dyno agent is started by dyno itself"),
            };
            let now_ns = self.clock.now_ns();
            self.heard_ns.store(now_ns, Ordering::Relaxed);
            let heard = match order {
                Order::Hello {
                    protocol,
                    version: theirs,
                } => {
                    self.say(Report::Hello(self.hello()));
                    if protocol == PROTOCOL && theirs == version() {
                        continue;
                    }
                    break format!(
                        "it is dyno {theirs} with protocol {protocol}, this one {} with {PROTOCOL}",
                        version()
                    );
                }
                Order::Ping { sent_ns } => {
                    self.say(Report::Pong { sent_ns, at_ns: now_ns });
                    continue;
                }
                Order::Stop => {
                    self.stop.request();
                    continue;
                }
                Order::Load { plan, part, told } => Heard::Load { plan, part, told },
                Order::Start { at_ns } => Heard::Start { at_ns },
                Order::Quit => Heard::Quit,
            };
            let quits = matches!(heard, Heard::Quit);
            if hear.send(heard).is_err() || quits {
                return;
            }
        };
        self.stop.request();
        self.gone.store(true, Ordering::Relaxed);
        let _ = hear.send(Heard::Gone(reason));
    }

    /// Ends the load, and after a while the process, when the controller is gone.
    fn watch(self, ended: &Receiver<()>, hear: &Sender<Heard>, abandon: &impl Fn()) {
        let mut noticed_ns = None;
        while matches!(ended.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
            let now_ns = self.clock.now_ns();
            let silent_ns = now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed));
            if Duration::from_nanos(silent_ns) > SILENCE && !self.gone.swap(true, Ordering::Relaxed) {
                self.stop.request();
                let _ = hear.send(Heard::Gone(format!(
                    "nothing was heard of it for {} s",
                    SILENCE.as_secs()
                )));
            }
            if self.gone.load(Ordering::Relaxed) {
                let since_ns = *noticed_ns.get_or_insert(now_ns);
                if Duration::from_nanos(now_ns - since_ns) > GRACE {
                    abandon();
                }
            }
        }
    }

    fn hello(&self) -> Hello {
        let (facts, boot_id) = (host_facts(None), boot_id());
        // These two are to be of one instant.
        let clock_ns = self.clock.now_ns();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Hello {
            protocol: PROTOCOL,
            version: version(),
            host: facts.hostname.unwrap_or_default(),
            boot_id: boot_id.unwrap_or_default(),
            cores: usize::try_from(facts.cores).unwrap_or(1),
            wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(0),
            clock_ns,
        }
    }

    /// Does what the controller says.
    fn obey(&self, heard: &Receiver<Heard>) -> Result<(), AgentError> {
        loop {
            match heard.recv() {
                Ok(Heard::Load { plan, part, told }) => match self.drive(&plan, &part, told, heard) {
                    Ok(ended) => self.say(Report::Done(Box::new(ended))),
                    Err(Refusal::Failed(reason)) => self.say(Report::Failed(reason)),
                    Err(Refusal::Gone(reason)) => return Err(AgentError::Gone(reason)),
                },
                Ok(Heard::Start { .. }) => {
                    return Err(AgentError::Controller(
                        "the controller starts a load that it has not sent".to_owned(),
                    ));
                }
                Ok(Heard::Quit) => return Ok(()),
                Ok(Heard::Gone(reason)) => return Err(AgentError::Gone(reason)),
                Err(_) => return Err(AgentError::Gone("it cannot be heard any more".to_owned())),
            }
        }
    }

    fn drive(&self, plan: &[u8], part: &Part, told: Told, heard: &Receiver<Heard>) -> Result<Ended, Refusal> {
        let failed = |error: &dyn std::fmt::Display| Refusal::Failed(error.to_string());
        let plan = from_bytes(plan).map_err(|error| failed(&error))?;
        let workloads = plan.workloads.len();
        let own = plan.workloads.iter().enumerate();
        let own = own.map(|(number, workload)| part.clients(number, workload.clients, workload.threads).len());
        let shape = told.ceiling.map(|route| Shape {
            route,
            clients: own.sum(),
            threads: part.threads().iter().map(ExactSizeIterator::len).sum(),
        });
        let heard_of_scripts = Arc::new(dyno_lua::Heard::default());
        let load = Ready::heard_by(&heard_of_scripts.voice(), plan, part, &no_log, &self.stop);
        let said = || {
            let said = heard_of_scripts.said().into_iter();
            said.map(|said| format!("of the script was said: {}.", said.trim_end_matches('.')))
        };
        let load = load.map_err(|error| {
            let said: String = said().map(|said| format!("; {said}")).collect();
            Refusal::Failed(format!("{error}{said}"))
        })?;
        let mut telling = Telling::new(self.clone(), heard, told.counters, shape);
        let outcome = load.drive_part(part, &mut telling, &self.stop);
        if let Ok(outcome) = &outcome {
            self.say(Report::Over);
            load.done(outcome, &self.stop);
        }
        said().for_each(|said| self.say(Report::Warning(said)));
        let mut restarted: Vec<u64> = load.counts().iter().map(|counts| counts.errors).collect();
        restarted.resize(workloads, 0);
        match telling.finish() {
            Some(reason) => Err(Refusal::Gone(reason)),
            None => Ok(ended(outcome.map_err(|error| failed(&error))?, restarted)),
        }
    }
}

/// Why a load was not driven to its end.
enum Refusal {
    /// It could not begin.
    Failed(String),
    /// The controller is gone.
    Gone(String),
}

/// How it ended, as it travels.
fn ended(outcome: Outcome, restarted: Vec<u64>) -> Ended {
    Ended {
        early: outcome.ended_early.map(|ending| match ending {
            Ending::Stopped => Early::Stopped,
            Ending::Aborted => Early::Aborted,
            Ending::ConnectionsLost(said) => Early::ConnectionsLost(said),
            other => Early::Other(other.to_string()),
        }),
        unfinished: outcome.unfinished,
        waited: outcome
            .waited
            .into_iter()
            .map(|waited| waited.map(|waited| (waited.longest, waited.least)))
            .collect(),
        aborted: outcome.aborted,
        connections: outcome.connections,
        connection_time: outcome.connection_time,
        last: outcome.last,
        restarted,
        measured: outcome.measured,
    }
}

//! The controller: starts agents, lets them begin together, and makes one load of what they tell.
//!
//! One thread does all of it and tells an observer, as the engine's collector does with the threads of one process.
//! Each agent has a thread here that hears it and one that writes to it, which also tells it every second that we are
//! there. An agent of which nothing is heard for a while, or whose stream ends, is lost: the others go on without it,
//! and what it has not told is a gap.

mod driving;
mod link;
pub(crate) mod merge;
mod model;
mod outcome;
mod planned;
mod statements;

use crate::clock::{Clock, Comparison, Trip};
use crate::frame;
use crate::protocol::{
    Connections, Ended, Event, HEARTBEAT, Hello, HostCeiling, Order, PROTOCOL, Report, Told, version,
};
use crate::share::Share;
use crate::start::{self, Host, Ray, StartError};
use driving::Driving;
use dyno_engine::{AbortReason, ClientEvent, Connected, Found, Outcome, Stop, TransportKind, raise_descriptor_limit};
use dyno_load::{LoadPlan, Work};
use dyno_record::{LatencyHistogram, ListedInterval};
use link::{Inbox, Link, Said};
pub use model::{FleetError, FleetObserver, Gap, HostOutcome, OnLostHost, Patience};
use planned::is_planned;
use statements::{Misnumbered, Statements};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// So many round trips are made before the load, and after it.
const TRIPS: usize = 16;

/// A plan is sent in one message, which has little else in it.
const MOST_BYTES_OF_A_PLAN: usize = frame::MOST_BYTES as usize - (1 << 20);

/// How many sentences of an agent are kept.
const MOST_WARNINGS: usize = 100;

/// Why an agent is given up that says what is not to be said yet, or any more.
const OUT_OF_TURN: &str = "it speaks out of turn";

/// How often the controller looks at what nobody tells it.
const LOOK: Duration = Duration::from_millis(50);

/// The load begins so long after the last client was connected, and four round trips more.
const LEAD: Duration = Duration::from_millis(100);

/// How long the clocks are compared after the load at most.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// Agents that are there.
pub struct Fleet {
    agents: Vec<Agent>,
    inbox: Receiver<(usize, Said)>,
    said: Inbox,
    clock: Clock,
    /// The time of day at which that clock began, in nanoseconds since 1970.
    epoch_ns: i128,
    patience: Patience,
    /// What clients have come upon so far.
    statements: Statements,
    /// When it was looked last whether the agents are there.
    looked: Instant,
}

/// An agent as the controller knows it.
struct Agent {
    host: Host,
    link: Link,
    hello: Hello,
    clock: Comparison,
    state: State,
    late: Option<Duration>,
    /// What dyno does at most there, as far as it was measured.
    ceiling: Option<HostCeiling>,
    /// Whether its clients have ended.
    is_over: bool,
    /// Up to when it has told of its part of the load.
    told: Duration,
    gap: Option<Gap>,
    warnings: Vec<String>,
}

/// How far an agent is.
#[derive(Debug)]
enum State {
    Connecting,
    Connected(Connections),
    Running,
    Done(Box<Ended>),
    Lost,
}

impl Fleet {
    /// Starts an agent on each host, with the program `dyno`, and makes sure that they understand us. `ray` is the
    /// cluster whose nodes are among the hosts.
    ///
    /// # Errors
    /// One of them cannot be started or does not answer.
    pub fn start(
        hosts: &[Host],
        dyno: &Path,
        ray: Option<&Ray>,
        patience: Patience,
        stop: &Stop,
    ) -> Result<Self, FleetError> {
        let failed = |host: &Host, cause| match cause {
            StartError::Stopped => FleetError::Stopped,
            cause => FleetError::Start {
                host: host.name.clone(),
                cause,
            },
        };
        let starting = start::start(hosts, dyno, ray, stop).map_err(|(host, cause)| failed(host, cause))?;
        let starting = starting
            .into_iter()
            .map(|(host, start)| (host.clone(), move || start().map_err(|cause| failed(host, cause))));
        Self::greeted(starting, patience, stop)
    }

    /// The same of agents that were started in some way.
    ///
    /// # Errors
    /// One of them does not answer.
    pub fn of(channels: Vec<(Host, start::Channel)>, patience: Patience, stop: &Stop) -> Result<Self, FleetError> {
        let channels = channels.into_iter().map(|(host, channel)| (host, || Ok(channel)));
        Self::greeted(channels, patience, stop)
    }

    /// Starts all at the same time, as copying a program takes its time, and speaks to each as soon as it is there.
    fn greeted<S>(hosts: impl Iterator<Item = (Host, S)>, patience: Patience, stop: &Stop) -> Result<Self, FleetError>
    where
        S: FnOnce() -> Result<start::Channel, FleetError> + Send,
    {
        // Each has three pipes and two files of the archive.
        raise_descriptor_limit();
        let clock = Clock::start();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch_ns = wall.as_nanos().cast_signed();
        let (said, inbox) = Inbox::new();
        let links: Vec<Result<_, FleetError>> = std::thread::scope(|scope| {
            let starting = hosts.enumerate().map(|(number, (host, start))| {
                let said = said.clone();
                scope.spawn(move || {
                    let link = Link::open(number, start()?, clock, said).map_err(|error| FleetError::Failed {
                        host: host.name.clone(),
                        reason: format!("cannot start a thread: {error}"),
                    })?;
                    link.order(Order::Hello {
                        protocol: PROTOCOL,
                        version: version(),
                    });
                    Ok((host, link, None))
                })
            });
            let starting: Vec<_> = starting.collect();
            let started = starting.into_iter().map(|thread| match thread.join() {
                Ok(link) => link,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            started.collect()
        });
        let mut links = links.into_iter().collect::<Result<Vec<_>, _>>()?;
        let hellos = greet(&mut links, &inbox, patience, stop);
        said.idle(true);
        let agents = links.into_iter().zip(hellos?).map(|((host, link, _), hello)| Agent {
            host,
            link,
            hello,
            clock: Comparison::default(),
            state: State::Connecting,
            late: None,
            ceiling: None,
            is_over: false,
            told: Duration::ZERO,
            gap: None,
            warnings: Vec::new(),
        });
        Ok(Self {
            agents: agents.collect(),
            inbox,
            said,
            clock,
            epoch_ns,
            patience,
            statements: Statements::default(),
            looked: Instant::now(),
        })
    }

    /// What each agent said of its host.
    pub fn hellos(&self) -> impl Iterator<Item = (&Host, &Hello)> {
        self.agents.iter().map(|agent| (&agent.host, &agent.hello))
    }

    /// Drives a load of which each agent has the share of its number, and `told` what it tells beside. A raised `stop`
    /// ends it early. When it is over the agents are gone.
    ///
    /// # Errors
    /// It could not begin. Once it has begun, whatever ends it early is in the [`Outcome`].
    pub fn drive(
        mut self,
        plan: &LoadPlan,
        shares: Vec<Share>,
        on_lost: OnLostHost,
        told: Told,
        observer: &mut dyn FleetObserver,
        stop: &Stop,
    ) -> Result<(Outcome, Vec<HostOutcome>), FleetError> {
        let bytes = dyno_load::to_bytes(plan)?;
        if bytes.len() > MOST_BYTES_OF_A_PLAN {
            return Err(FleetError::TooLarge { bytes: bytes.len() });
        }
        self.said.idle(false);
        self.hear_idle()?;
        for (agent, share) in self.agents.iter_mut().zip(&shares) {
            agent.link.order(Order::Load {
                plan: bytes.clone(),
                part: share.part.clone(),
                told,
            });
        }
        drop(bytes);
        let are_listed = plan
            .workloads
            .iter()
            .map(|workload| matches!(workload.program, Work::Scripts(_)));
        self.statements = Statements::new(are_listed, self.agents.len());
        let begun = Instant::now();
        self.connect(observer, stop)?;
        let connected = self.connected(plan, begun.elapsed())?;
        self.begin(&connected, observer, stop);
        let lost = Driving::new(&mut self, plan, on_lost).gather(observer, stop);
        self.compare_afterwards();
        let epoch_ns = self.epoch_ns;
        let outcome = outcome::of(&self.agents, plan.workloads.len(), lost, stop);
        let hosts = self.agents.into_iter().zip(shares).map(|(agent, share)| HostOutcome {
            time_of_day_ns: time_of_day_ns(&agent.hello, &agent.clock, epoch_ns),
            host: agent.host,
            hello: agent.hello,
            share,
            late: agent.late,
            ceiling: agent.ceiling,
            clock: agent.clock,
            gap: agent.gap,
            warnings: agent.warnings,
            restarted: match agent.state {
                State::Done(ended) => ended.restarted,
                _ => Vec::new(),
            },
        });
        Ok((outcome, hosts.collect()))
    }

    /// Hears what agents said while there was nothing to do, which tells no more than whether they are there.
    fn hear_idle(&mut self) -> Result<(), FleetError> {
        while let Ok((number, said)) = self.inbox.try_recv() {
            match said {
                Said::Report(Report::Pong { .. }, _) => {}
                Said::Report(Report::Warning(text), _) => self.agents[number].warn(text),
                Said::Report(..) => return Err(self.failed(number, OUT_OF_TURN.to_owned())),
                Said::Gone(reason) => return Err(self.failed(number, reason)),
            }
        }
        Ok(())
    }

    /// Waits until all clients of all agents are connected, and compares clocks meanwhile.
    fn connect(&mut self, observer: &mut dyn FleetObserver, stop: &Stop) -> Result<(), FleetError> {
        self.agents.iter().for_each(|agent| agent.link.ping());
        loop {
            if stop.requested() {
                return Err(FleetError::Stopped);
            }
            let waits = |agent: &Agent| matches!(agent.state, State::Connecting) || agent.clock.trips() < TRIPS;
            if !self.agents.iter().any(waits) {
                break;
            }
            match self.inbox.recv_timeout(LOOK) {
                Ok((number, Said::Report(report, received_ns))) => {
                    self.hear_before(number, report, received_ns, observer)?;
                }
                Ok((number, Said::Gone(reason))) => return Err(self.failed(number, reason)),
                Err(_) => {}
            }
            if let Some(number) = self.silent().first() {
                return Err(self.failed(*number, self.silence()));
            }
        }
        self.agents.iter_mut().for_each(|agent| agent.clock.close());
        Ok(())
    }

    fn hear_before(
        &mut self,
        number: usize,
        report: Report,
        received_ns: u64,
        observer: &mut dyn FleetObserver,
    ) -> Result<(), FleetError> {
        let agent = &mut self.agents[number];
        match report {
            Report::Pong { sent_ns, at_ns } => {
                agent.trip(sent_ns, received_ns, at_ns);
                if agent.clock.trips() < TRIPS {
                    agent.link.ping();
                }
            }
            Report::Connected(connections) => {
                agent.ceiling = connections.ceiling;
                agent.state = State::Connected(connections);
            }
            Report::Failed(reason) => return Err(self.failed(number, reason)),
            Report::Done(ended) => {
                let reason = ended.early.as_ref().map(outcome::words);
                let reason = reason.unwrap_or_else(|| "its load was over before it began".to_owned());
                return Err(self.failed(number, reason));
            }
            Report::Event(event) => observer.client_event(&client_event(event)),
            Report::Statement { workload, place, texts } => {
                let known = come_upon(&mut self.statements, number, workload, place, texts, observer);
                known.map_err(|error| self.failed(number, error.to_string()))?;
            }
            Report::Warning(text) => agent.warn(text),
            Report::Hello(_) | Report::Started { .. } | Report::Interval(_) | Report::Sample { .. } | Report::Over => {
                return Err(self.failed(number, OUT_OF_TURN.to_owned()));
            }
        }
        Ok(())
    }

    /// How the connections of all came up.
    fn connected(&self, plan: &LoadPlan, total: Duration) -> Result<Connected, FleetError> {
        let mut connected = Connected {
            connect_time: vec![LatencyHistogram::new(); plan.workloads.len()],
            total,
            transports: std::collections::BTreeSet::new(),
            fallback: None,
        };
        for (number, agent) in self.agents.iter().enumerate() {
            let State::Connected(connections) = &agent.state else {
                continue;
            };
            let Some(times) = connections.times(plan.workloads.len()) else {
                return Err(self.failed(number, "it tells of connections that are not of this load".to_owned()));
            };
            for (sum, part) in connected.connect_time.iter_mut().zip(&times) {
                sum.add(part);
            }
            let known = [
                TransportKind::IoUring,
                TransportKind::Readiness,
                TransportKind::Blocking,
            ];
            let named = |kind: &TransportKind| connections.transports.contains(&kind.to_string());
            connected.transports.extend(known.into_iter().filter(named));
            if let Some(fallback) = &connections.fallback {
                connected.fallback.get_or_insert_with(|| fallback.clone());
            }
        }
        Ok(connected)
    }

    /// Names the instant at which all begin, and tells of it when it has come.
    fn begin(&mut self, connected: &Connected, observer: &mut dyn FleetObserver, stop: &Stop) {
        let offsets: Vec<_> = self.agents.iter().map(|agent| agent.clock.before()).collect();
        // An uncertainty is half a trip.
        let longest_ns = offsets
            .iter()
            .flatten()
            .map(|offset| offset.uncertainty_ns)
            .max()
            .unwrap_or(0);
        // Nobody who answers so late is waited for.
        let longest = Duration::from_nanos(longest_ns).min(self.patience.silence);
        let lead = LEAD + longest * 8;
        let at = Instant::now() + lead;
        let here_ns = self
            .clock
            .now_ns()
            .saturating_add(u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX));
        for (agent, offset) in self.agents.iter_mut().zip(offsets) {
            let at_ns = offset.map_or(0, |offset| offset.there_ns(here_ns));
            agent.link.order(Order::Start { at_ns });
            agent.state = State::Running;
        }
        while !stop.requested() && Instant::now() < at {
            std::thread::sleep(at.saturating_duration_since(Instant::now()).min(LOOK));
        }
        observer.connected(connected);
    }

    /// Compares the clocks of those that are there once more.
    fn compare_afterwards(&mut self) {
        for agent in &mut self.agents {
            agent.clock.close();
            if matches!(agent.state, State::Done(_)) {
                agent.link.ping();
            }
        }
        let deadline = Instant::now() + AFTERWARDS.min(self.patience.silence);
        let waits = |agent: &Agent| matches!(agent.state, State::Done(_)) && agent.clock.trips() < TRIPS / 4;
        while self.agents.iter().any(waits) {
            match self
                .inbox
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok((number, Said::Report(Report::Pong { sent_ns, at_ns }, received_ns))) => {
                    let agent = &mut self.agents[number];
                    agent.trip(sent_ns, received_ns, at_ns);
                    agent.link.ping();
                }
                Ok((number, Said::Report(Report::Warning(text), _))) => self.agents[number].warn(text),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.agents.iter_mut().for_each(|agent| agent.clock.close());
    }

    fn failed(&self, number: usize, reason: String) -> FleetError {
        let agent = &self.agents[number];
        FleetError::Failed {
            host: agent.host.name.clone(),
            reason: agent.link.with_last_words(reason),
        }
    }

    /// The agents that are to be there and of which nothing was heard for too long. Who does not look, because this
    /// process or its disk stood still, hears nothing: that is not for the agents to answer.
    fn silent(&mut self) -> Vec<usize> {
        let now = Instant::now();
        let since = now.duration_since(self.looked);
        // With many of them something is heard all the time.
        if since < HEARTBEAT / 10 {
            return Vec::new();
        }
        if since > HEARTBEAT {
            self.agents.iter().for_each(|agent| agent.link.forgive());
        }
        self.looked = now;
        let is_silent = |agent: &Agent| {
            !matches!(agent.state, State::Done(_) | State::Lost) && agent.link.silence() > self.patience.silence
        };
        let agents = self.agents.iter().enumerate();
        agents
            .filter(|(_, agent)| is_silent(agent))
            .map(|(number, _)| number)
            .collect()
    }

    fn silence(&self) -> String {
        format!("it was not heard of for {:.0} s", self.patience.silence.as_secs_f64())
    }
}

/// How far the time of day of a host is ahead of ours, whose clock began at `epoch_ns`.
fn time_of_day_ns(hello: &Hello, clock: &Comparison, epoch_ns: i128) -> Option<i64> {
    let ahead_ns = i128::from(clock.before()?.offset_ns);
    // When our clock shows 0, theirs shows what it is ahead.
    let theirs_ns = i128::from(hello.wall_ns) + ahead_ns - i128::from(hello.clock_ns);
    i64::try_from(theirs_ns - epoch_ns).ok()
}

/// Waits for the first word of each.
fn greet(
    links: &mut [(Host, Link, Option<Hello>)],
    inbox: &Receiver<(usize, Said)>,
    patience: Patience,
    stop: &Stop,
) -> Result<Vec<Hello>, FleetError> {
    let deadline = Instant::now() + patience.start;
    let failed = |(host, link, _): &(Host, Link, Option<Hello>), reason: String| FleetError::Failed {
        host: host.name.clone(),
        reason: link.with_last_words(reason),
    };
    while let Some(missing) = links.iter().position(|(_, _, hello)| hello.is_none()) {
        if stop.requested() {
            return Err(FleetError::Stopped);
        }
        match inbox.recv_timeout(LOOK) {
            Ok((number, Said::Report(Report::Hello(hello), _))) => {
                if hello.protocol != PROTOCOL || hello.version != version() {
                    let reason = format!(
                        "it has dyno {} with protocol {}, this one is {} with {PROTOCOL}; use the same program on both",
                        hello.version,
                        hello.protocol,
                        version()
                    );
                    return Err(failed(&links[number], reason));
                }
                links[number].2 = Some(hello);
            }
            // Others are slower, and this one hears that we are there.
            Ok((number, Said::Report(Report::Pong { .. }, _))) if links[number].2.is_some() => {}
            Ok((number, Said::Report(..))) => return Err(failed(&links[number], OUT_OF_TURN.to_owned())),
            Ok((number, Said::Gone(reason))) => return Err(failed(&links[number], reason)),
            Err(_) if Instant::now() > deadline => {
                let reason = format!("its agent did not answer within {:.0} s", patience.start.as_secs_f64());
                return Err(failed(&links[missing], reason));
            }
            Err(_) => {}
        }
    }
    Ok(links.iter_mut().filter_map(|(_, _, hello)| hello.take()).collect())
}

impl Agent {
    /// Whether an interval is the one that comes next, of a time that is over at `latest`, and is as long as intervals
    /// of the plan are.
    fn goes_on_with(&self, interval: &ListedInterval, plan: &LoadPlan, latest: Duration) -> bool {
        let comes_next = interval.start == self.told && interval.start.saturating_add(interval.duration) <= latest;
        comes_next && is_planned(interval, &plan.phases, plan.interval)
    }

    fn trip(&mut self, sent_ns: u64, received_ns: u64, there_ns: u64) {
        self.clock.add(Trip {
            sent_ns,
            received_ns,
            there_ns,
        });
    }

    fn warn(&mut self, text: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(text);
        }
    }
}

/// An agent tells of a statement.
fn come_upon(
    statements: &mut Statements,
    number: usize,
    workload: usize,
    place: usize,
    texts: Option<(String, String)>,
    observer: &mut dyn FleetObserver,
) -> Result<(), Misnumbered> {
    let found = texts.map(|(text, example)| Found { text, example });
    if let Some(here) = statements.find(number, workload, place, found.as_ref())? {
        let found = found.filter(|_| here < dyno_record::MOST_STATEMENTS);
        observer.statement(workload, here, found.as_ref());
    }
    Ok(())
}

/// What happened to a client, as the engine tells it.
fn client_event(event: Event) -> ClientEvent {
    match event {
        Event::Aborted {
            workload,
            client,
            script,
            command,
            reason,
        } => ClientEvent::Aborted {
            workload,
            client,
            script,
            command,
            why: AbortReason::Elsewhere(reason),
        },
        Event::Reconnected {
            workload,
            client,
            endpoint,
            after,
        } => ClientEvent::Reconnected {
            workload,
            client,
            endpoint,
            after,
        },
    }
}

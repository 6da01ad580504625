//! What is to be driven: workloads, phases and where they go.
//!
//! This is the engine's whole input. It says nothing of files, experiments or SQL: statements are numbers, which the
//! workload's program gives and its driver knows. All of it is plain data but for what a workload is driven with: its
//! driver, its program and its log. Their types are parameters, so that in the plan of a load these three are plain
//! data, too.

use crate::backend::wire::transport::TransportChoice;
use crate::cpus::Cpus;
use crate::log::NewLog;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything one call of [`drive`](crate::drive()) does, with drivers `D`, programs `P` and logs `L`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load<D, P, L = NewLog> {
    /// The workloads, which run at the same time.
    pub workloads: Vec<Workload<D, P, L>>,
    /// The phases, one after the other without a pause: clients are not drained between them.
    pub phases: Vec<Phase>,
    /// How often recordings are collected. The last interval of a phase may be shorter.
    pub interval: Duration,
    /// How long transactions that are still running at the end may take to finish before their connections are
    /// closed. When a stop was asked for, at most half a second.
    pub grace: Duration,
    /// Whether the phases begin before the connections are made, as pgbench's `-T` does, rather than when all
    /// stand. The first phase is then shorter by the time that connecting took.
    pub include_connecting: bool,
    /// Whether the load ends with its last transaction, as pgbench does: the intervals of the last phase go on
    /// until the last of those that finish after it, and nobody waits for a phase to end in which nothing is
    /// scheduled any more. Otherwise what finishes later is left out.
    pub record_finishing: bool,
    /// How the threads work.
    pub threads: ThreadOptions,
}

impl<D, P, L> Load<D, P, L> {
    /// A load whose results are collected every second, and whose last transactions have ten seconds to finish.
    #[must_use]
    pub fn new(workloads: Vec<Workload<D, P, L>>, phases: Vec<Phase>) -> Self {
        Self {
            workloads,
            phases,
            interval: Duration::from_secs(1),
            grace: Duration::from_secs(10),
            include_connecting: false,
            record_finishing: false,
            threads: ThreadOptions::default(),
        }
    }

    /// The same load with workloads that `change` makes of these.
    ///
    /// # Errors
    /// The first of `change`.
    pub fn try_map<D2, P2, L2, E>(
        self,
        change: impl FnMut(Workload<D, P, L>) -> Result<Workload<D2, P2, L2>, E>,
    ) -> Result<Load<D2, P2, L2>, E> {
        Ok(Load {
            workloads: self.workloads.into_iter().map(change).collect::<Result<_, E>>()?,
            phases: self.phases,
            interval: self.interval,
            grace: self.grace,
            include_connecting: self.include_connecting,
            record_finishing: self.record_finishing,
            threads: self.threads,
        })
    }
}

/// How the threads of a load work, whatever they do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadOptions {
    /// How they move bytes.
    pub transport: TransportChoice,
    /// The CPUs that they are bound to, one each in turn; empty: none.
    pub cpus: Cpus,
}

/// A stretch of the run with its own results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// For example `warmup` or `measure`.
    pub name: String,
    /// How long it lasts. With [`Duration::MAX`] until all clients have had their transactions.
    pub duration: Duration,
    /// The numbers of workloads, in the order of the load, that have a number of transactions to do: the phase ends
    /// when all their clients have done them, or ended, and the stage of each workload that is under way then ends
    /// with it. Empty: only its time ends it.
    pub until: Vec<usize>,
}

impl Phase {
    /// A phase of this name and length.
    #[must_use]
    pub fn new(name: &str, duration: Duration) -> Self {
        Self {
            name: name.to_owned(),
            duration,
            until: Vec::new(),
        }
    }

    /// The same phase, which ends earlier if the work of these workloads is done.
    #[must_use]
    pub fn until(self, workloads: Vec<usize>) -> Self {
        Self {
            until: workloads,
            ..self
        }
    }
}

/// One program run by a number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload<D, P, L = NewLog> {
    /// Name, unique among the workloads.
    pub name: String,
    /// Number of connections, each executing transactions one after the other. At least 1.
    pub clients: usize,
    /// Number of threads that share the clients out among themselves, 1 to `clients`. Where the driver blocks each
    /// client has a thread of its own, whatever is said here.
    pub threads: usize,
    /// Closed or open loop, where no stage says otherwise.
    pub pacing: Pacing,
    /// No transaction begins earlier than this after the begin of the first phase. Connections are made before it,
    /// as those of all workloads.
    pub start_delay: Duration,
    /// When the first stage begins, counted from the begin of the first phase: the length of the warm-up. Until
    /// then the clients behave as at the begin of the first stage. Without meaning if there are no stages.
    pub stages_begin: Duration,
    /// How many clients are active, and how fast transactions begin, one stage after the other. No transaction
    /// begins after the last one. Empty: all clients are active at the workload's own pacing all the time.
    pub stages: Vec<Stage>,
    /// What the clients do.
    pub program: P,
    /// How they reach the database; it knows the program's statements by their numbers.
    pub driver: D,
    /// How many transactions each client is to have, failed and skipped ones included; `None`: as many as fit into
    /// the phases.
    pub transactions_per_client: Option<u64>,
    /// How long a connection is used.
    pub connecting: Connecting,
    /// Whether a client whose connection is lost gets a new one. The transaction has failed; endpoints are tried
    /// until one of them lets it in.
    pub reconnect: bool,
    /// What is done about transactions that fail.
    pub failures: FailurePolicy,
    /// Transactions that take longer are counted as late. In an open loop, those whose instant is further back than
    /// this when a client is free for them are not even begun but counted as skipped.
    pub latency_limit: Option<Duration>,
    /// Whether every command's time is recorded, that of meta commands too.
    pub time_commands: bool,
    /// Whether the observer is told of everything a client does, as [`crate::ClientEvent::Traced`]. Clients wait until
    /// it was told.
    pub trace: bool,
    /// Makes the log of each thread; `None`: no log.
    pub log: Option<L>,
}

impl<D, P, L> Workload<D, P, L> {
    /// A closed loop of so many clients on one thread, all active all the time, which counts errors and goes on.
    #[must_use]
    pub fn new(name: &str, clients: usize, driver: D, program: P) -> Self {
        Self {
            name: name.to_owned(),
            clients,
            threads: 1,
            pacing: Pacing::Closed,
            start_delay: Duration::ZERO,
            stages_begin: Duration::ZERO,
            stages: Vec::new(),
            program,
            driver,
            transactions_per_client: None,
            connecting: Connecting::Once,
            reconnect: false,
            failures: FailurePolicy::default(),
            latency_limit: None,
            time_commands: false,
            trace: false,
            log: None,
        }
    }

    /// The same workload with another driver, program and log.
    #[must_use]
    pub fn with<D2, P2, L2>(self, driver: D2, program: P2, log: Option<L2>) -> Workload<D2, P2, L2> {
        Workload {
            name: self.name,
            clients: self.clients,
            threads: self.threads,
            pacing: self.pacing,
            start_delay: self.start_delay,
            stages_begin: self.stages_begin,
            stages: self.stages,
            program,
            driver,
            transactions_per_client: self.transactions_per_client,
            connecting: self.connecting,
            reconnect: self.reconnect,
            failures: self.failures,
            latency_limit: self.latency_limit,
            time_commands: self.time_commands,
            trace: self.trace,
            log,
        }
    }
}

impl<D: crate::Driver, P> Workload<D, P> {
    /// Over how many threads the clients are shared out: one for each where the driver blocks.
    pub(crate) fn parts(&self) -> usize {
        let threads = if D::BLOCKS { self.clients } else { self.threads };
        threads.clamp(1, self.clients.max(1))
    }
}

/// A stretch of time in which the number of active clients and the rate of a workload are constant or change evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it lasts. The next one follows without a pause.
    pub duration: Duration,
    /// How many of the workload's clients are active, rounded to the nearest whole number, 0 to all of them;
    /// `None`: all. The others keep their connections and rest: one that is no longer active finishes its
    /// transaction first. While no client is active nothing is due, whatever the rate.
    pub clients: Option<Span>,
    /// Transactions per second of an open loop, over all clients of the workload together, 0 or more; `None`: the
    /// workload's own pacing.
    pub rate_per_s: Option<Span>,
}

/// A value that changes linearly over a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// At the begin of the stage.
    pub from: f64,
    /// At its end.
    pub to: f64,
}

/// How long a connection is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connecting {
    /// From before the first phase to the end.
    #[default]
    Once,
    /// For one transaction, as with pgbench's `-C`. None is made before the first phase.
    EveryTransaction,
    /// From when a client of an [independent](crate::Program::INDEPENDENT) program asks for it; of such programs alone.
    /// None is made before that.
    OnDemand,
}

/// When statements of the prepared protocol are made known to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preparing {
    /// All of them when the connection is made.
    #[default]
    AtStart,
    /// Each with its first execution on the connection, as pgbench does; those of a pipeline before it begins.
    OnFirstUse,
}

/// What is done about transactions that fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailurePolicy {
    /// How often a transaction is begun at most, the first time included, when it fails with a serialization failure or
    /// a deadlock; `None`: until the phases or the latency limit end it.
    pub max_tries: Option<u32>,
    /// What another error means.
    pub on_error: OnError,
    /// What is done about a script that cannot work.
    pub on_broken_script: OnBrokenScript,
    /// Whether an aborted client ends the load.
    pub abort_load: bool,
    /// Whether the observer is told of every failure and what becomes of it, as [`crate::ClientEvent::Failed`] and
    /// [`crate::ClientEvent::Concluded`].
    pub report_failures: bool,
}

impl Default for FailurePolicy {
    /// Nothing is tried again, every error is counted, and a script that cannot work ends the load.
    fn default() -> Self {
        Self {
            max_tries: Some(1),
            on_error: OnError::Count,
            on_broken_script: OnBrokenScript::EndLoad,
            abort_load: false,
            report_failures: false,
        }
    }
}

/// What an error other than a serialization failure or a deadlock means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnError {
    /// The transaction has failed; its client goes on with the next one.
    Count,
    /// The client is aborted; the others go on.
    AbortClient,
}

/// What is done about a script that cannot work: an expression without value, a wrong use of a pipeline, an end inside
/// a transaction, or (with [`OnBrokenScript::EndLoad`] only) a statement of
/// [`ErrorClass::Statement`](dyno_wire::ErrorClass::Statement) before anything of its workload has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnBrokenScript {
    /// The load ends: it would go on failing for hours.
    EndLoad,
    /// The client is aborted; the others go on.
    AbortClient,
}

/// Makes the session of a new connection, given the number of its endpoint and, if this attempt is to be encrypted, how
/// strictly.
pub type NewSession<S> = Box<dyn Fn(usize, Option<dyno_wire::tls::SslMode>) -> S + Send + Sync>;

/// When a client begins its next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pacing {
    /// On completion of the previous one.
    Closed,
    /// At instants of a Poisson process with this mean rate, over all clients of the workload together. Latency
    /// counts from the scheduled instant.
    Open {
        /// Transactions per second, above 0.
        rate_per_s: f64,
    },
}

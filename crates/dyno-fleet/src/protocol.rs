//! What a controller and its agents say to each other, in frames over whatever stream connects them.
//!
//! The controller speaks first: who it is. The agent says what it is and can, gets its part of a load, connects, waits
//! for the instant that it is told, and sends what it records, interval by interval. Both hear something of each other
//! every second, so either notices when the other is gone. Instants travel in the agent's own time, which the
//! controller works out (see [`crate::clock`]), because nothing else is as exact where the load is driven.

use dyno_engine::{LastTransactions, Part};
use dyno_record::{LatencyHistogram, Route, Shape};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of all of this. Both ends must have the same, and be of the same version of dyno: a plan's form as bytes
/// follows from its types.
pub const PROTOCOL: u32 = 2;

/// Both ends say something at least this often.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);

/// The version of this dyno, as both ends tell it.
pub(crate) fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// From the controller to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// The first word.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The version of dyno.
        version: String,
    },
    /// To be answered at once.
    Ping {
        /// When it was sent, in nanoseconds of the controller's clock. It comes back as it is.
        sent_ns: u64,
    },
    /// Get ready to drive this.
    Load {
        /// The plan of the whole load, see [`dyno_load::to_bytes`].
        plan: Vec<u8>,
        /// The agent's part of it.
        part: Part,
        /// What it tells beside what the load does.
        told: Told,
    },
    /// Begin at this instant, in nanoseconds of the agent's clock.
    Start {
        /// The instant; it may be over.
        at_ns: u64,
    },
    /// Begin no transaction any more, and tell how it ended.
    Stop,
    /// There is nothing more to do.
    Quit,
}

/// What agents tell beside what the load does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The host's counters.
    pub counters: bool,
    /// What dyno does there at most by this route, if it was measured there.
    pub ceiling: Option<Route>,
}

/// From an agent to its controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// Its first word.
    Hello(Hello),
    /// The answer to [`Order::Ping`].
    Pong {
        /// What came with the ping.
        sent_ns: u64,
        /// When that came, in nanoseconds of the agent's clock.
        at_ns: u64,
    },
    /// All its clients are connected.
    Connected(Connections),
    /// It has begun.
    Started {
        /// How long after the instant that it was told.
        late_ns: u64,
    },
    /// An interval is complete, see [`dyno_record::Interval::to_bytes`].
    Interval(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Clients have come upon a statement that nobody knew before.
    Statement {
        /// The workload, as index.
        workload: usize,
        /// Where the agent counts it.
        place: usize,
        /// The text under which it is counted and the one that was sent first; `None`: all others together.
        texts: Option<(String, String)>,
    },
    /// Something happened to a client.
    Event(Event),
    /// The host's counters, in the columns of [`dyno_target::host::load_host_series`].
    Sample {
        /// When, since the load began there.
        at: Duration,
        /// A value for each column, if there is one.
        values: Vec<Option<f64>>,
    },
    /// Something to keep in mind, as a sentence.
    Warning(String),
    /// Its clients have ended. What scripts do afterwards may take its time.
    Over,
    /// The load is over there.
    Done(Box<Ended>),
    /// The load could not begin there.
    Failed(String),
}

/// The longest text for people that is taken from an agent, in bytes.
const MOST_OF_A_TEXT: usize = 4096;

/// The longest name.
const MOST_OF_A_NAME: usize = 255;

impl Report {
    /// The same with texts for people only as long as people read them. Whoever reports and archives makes lines of
    /// them, and an agent may be anything.
    pub(crate) fn shortened(mut self) -> Self {
        match &mut self {
            Self::Hello(hello) => {
                for name in [&mut hello.host, &mut hello.version, &mut hello.boot_id] {
                    shorten_to(MOST_OF_A_NAME, name);
                }
            }
            Self::Warning(text) | Self::Failed(text) | Self::Event(Event::Aborted { reason: text, .. }) => {
                shorten(text);
            }
            Self::Connected(connections) => connections.fallback.iter_mut().for_each(shorten),
            Self::Done(ended) => {
                if let Some(Early::ConnectionsLost(text) | Early::Other(text)) = &mut ended.early {
                    shorten(text);
                }
                let failed = ended.last.iter_mut().flat_map(|last| &mut last.failed);
                failed.for_each(|error| shorten(&mut error.example));
            }
            Self::Pong { .. }
            | Self::Started { .. }
            | Self::Interval(_)
            | Self::Statement { .. }
            | Self::Event(Event::Reconnected { .. })
            | Self::Sample { .. }
            | Self::Over => {}
        }
        self
    }
}

/// Cuts a text for people to what they read, and its memory with it.
pub(crate) fn shorten(text: &mut String) {
    shorten_to(MOST_OF_A_TEXT, text);
}

fn shorten_to(most_bytes: usize, text: &mut String) {
    if text.len() > most_bytes {
        text.truncate(text.floor_char_boundary(most_bytes));
        text.shrink_to_fit();
    }
}

/// What an agent is and can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The version of dyno.
    pub version: String,
    /// The host's name.
    pub host: String,
    /// What tells one start of a host from all others; agents with the same are on one machine. May be empty.
    pub boot_id: String,
    /// Cores that it may use.
    pub cores: usize,
    /// The time of day there, in nanoseconds since 1970.
    pub wall_ns: u64,
    /// Its clock at the same instant.
    pub clock_ns: u64,
}

/// How the connections of a part came up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// For each workload how long its clients took, as [`Connections::times`] reads it.
    pub connect_time: Vec<u8>,
    /// From the first attempt to the last client being ready.
    pub total: Duration,
    /// The transports in use, by name.
    pub transports: Vec<String>,
    /// Why they are not the best that there are.
    pub fallback: Option<String>,
    /// What dyno does there at most, as far as it was measured.
    pub ceiling: Option<HostCeiling>,
}

impl Connections {
    /// How long clients took as it travels.
    #[must_use]
    pub fn bytes_of(times: &[LatencyHistogram]) -> Vec<u8> {
        // None of these fails: they are numbers alone.
        let each = times.iter().filter_map(|times| postcard::to_allocvec(times).ok());
        each.flatten().collect()
    }

    /// For each of so many workloads how long its clients took. A few bytes say that nothing is in a histogram, which
    /// takes a lot of memory, so no more are read than there have to be.
    #[must_use]
    pub fn times(&self, workloads: usize) -> Option<Vec<LatencyHistogram>> {
        let mut rest = self.connect_time.as_slice();
        let each = (0..workloads).map(|_| {
            let (times, behind) = postcard::take_from_bytes(rest).ok()?;
            rest = behind;
            Some(times)
        });
        let times = each.collect::<Option<Vec<_>>>()?;
        rest.is_empty().then_some(times)
    }
}

/// What dyno does at most on a host: the point of what was measured there that is most like its part of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCeiling {
    /// Statements per second, each a transaction, against a server that answers at once.
    pub statements_per_s: f64,
    /// How that was measured.
    pub shape: Shape,
}

/// What happened to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// It ended before its time.
    Aborted {
        /// The workload, as index.
        workload: usize,
        /// The client's number in the workload.
        client: usize,
        /// The script, as index.
        script: usize,
        /// The command, as index.
        command: usize,
        /// Why, in a few words.
        reason: String,
    },
    /// It has a new connection.
    Reconnected {
        /// The workload, as index.
        workload: usize,
        /// The client's number in the workload.
        client: usize,
        /// The endpoint, as index.
        endpoint: usize,
        /// How long it had none.
        after: Duration,
    },
}

/// How the load ended for an agent: see [`dyno_engine::Outcome`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Why before its time, if it did.
    pub early: Option<Early>,
    /// For each workload the transactions that were not finished.
    pub unfinished: Vec<u64>,
    /// How long their clients had waited, the longest and the shortest.
    pub waited: Vec<Option<(Duration, Duration)>>,
    /// Clients that were aborted.
    pub aborted: Vec<u64>,
    /// Connections made while the load ran.
    pub connections: Vec<u64>,
    /// Time spent on making and closing them.
    pub connection_time: Vec<Duration>,
    /// What else became of the last transactions, for each workload.
    pub last: Vec<LastTransactions>,
    /// Events of scripts in Lua that began again after an error which they ignore.
    pub restarted: Vec<u64>,
    /// From when the clients began to when the last of them was done.
    pub measured: Duration,
}

/// Why a load ended before its time: see [`dyno_engine::Ending`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Early {
    /// It was asked to.
    Stopped,
    /// All clients were aborted.
    Aborted,
    /// No client had a connection left; the last one said this.
    ConnectionsLost(String),
    /// Something that ends the load for all, in words.
    Other(String),
}

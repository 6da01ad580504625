//! Brings up the connections of many clients before the load begins: a few at a time, and not for ever.
//!
//! A server needs a moment for each connection, and one far away some trips to and fro. Where there are many
//! clients, several connections are therefore under way at once, but only so many: the server's queue of those that
//! it has yet to accept is short, and more would come up no sooner.

use crate::backend::{Driver, Opened};
use crate::descriptors::allow_descriptors;
use crate::load::Workload;
use crate::outcome::DriveError;
use crate::program::Scripted;
use dyno_connect::{ConnectError, Limit, Stop};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections under way at a time, over all threads of the load.
const IN_FLIGHT: usize = 32;

/// A thread with this many clients has one connection under way at a time, one with twice as many two. So a small
/// load connects one client after the other.
const CLIENTS_FOR_EACH: usize = 16;

/// Beside what one connection may take, all of them have this much for each: many times what a server needs.
const ALLOWANCE: Duration = Duration::from_millis(100);

/// File descriptors that come and go while the load runs: a cancel request, a lookup of a name.
const PASSING_DESCRIPTORS: u64 = 4;

/// A new connection, and how long making it took.
type Timed<C> = (Opened<C>, Duration);

/// All connections of a load that are to be made before it begins.
pub(crate) struct InitialConnections {
    clients: usize,
    connected: AtomicUsize,
    /// Raised when a client has failed, so that the others are not waited for.
    abandoned: Stop,
    begun: Instant,
    limit: Duration,
    /// Connections that a thread of the load may have under way at a time.
    in_flight: usize,
}

impl InitialConnections {
    /// Of so many clients of these workloads on so many threads. Makes sure that the process may have as many
    /// connections.
    pub fn of<D: Driver, P>(workloads: &[Workload<D, P>], clients: usize, threads: usize) -> Result<Self, DriveError> {
        allow_descriptors(clients, threads, PASSING_DESCRIPTORS)?;
        let timeouts = workloads.iter().map(|workload| workload.driver.connect_timeout());
        let longest = timeouts.max().unwrap_or_default();
        Ok(Self {
            clients,
            connected: AtomicUsize::new(0),
            abandoned: Stop::new(),
            begun: Instant::now(),
            limit: longest.saturating_add(ALLOWANCE.saturating_mul(u32::try_from(clients).unwrap_or(u32::MAX))),
            in_flight: (IN_FLIGHT / threads.max(1)).max(1),
        })
    }

    /// Makes no more connections: somebody has failed.
    pub fn abandon(&self) {
        self.abandoned.request();
    }

    /// Connects these clients of a workload and gives them in their order, each with the time that it took.
    pub fn connect<D: Driver, P: Scripted>(
        &self,
        workload: &Workload<D, P>,
        clients: Range<usize>,
        stop: &Stop,
    ) -> Result<Vec<Timed<D::Connection>>, DriveError> {
        let next = AtomicUsize::new(clients.start);
        let some = || {
            let mut opened = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= clients.end {
                    return Ok(opened);
                }
                match self.open(workload, number, stop) {
                    Ok(client) => opened.push((number, client)),
                    Err(error) => {
                        next.store(clients.end, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
        };
        let helpers = clients.len().div_ceil(CLIENTS_FOR_EACH).clamp(1, self.in_flight) - 1;
        let mut opened = thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers)
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, some).ok())
                .collect();
            let mut opened = some()?;
            for helper in helpers {
                match helper.join() {
                    Ok(more) => opened.append(&mut more?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<_, DriveError>(opened)
        })?;
        opened.sort_unstable_by_key(|(number, _)| *number);
        Ok(opened.into_iter().map(|(_, client)| client).collect())
    }

    fn open<D: Driver, P: Scripted>(
        &self,
        workload: &Workload<D, P>,
        client: usize,
        stop: &Stop,
    ) -> Result<Timed<D::Connection>, DriveError> {
        let begun = Instant::now();
        let (clients, limit) = (self.clients, self.limit);
        let opened = if self.abandoned.requested() {
            Err(ConnectError::Stopped)
        } else if begun - self.begun > limit {
            let connected = self.connected.load(Ordering::Relaxed);
            return Err(DriveError::Slow {
                connected,
                clients,
                limit,
            });
        } else {
            workload.driver.open(&workload.name, Limit { stop, until: None })
        };
        match opened {
            Ok(opened) => {
                self.connected.fetch_add(1, Ordering::Relaxed);
                Ok((opened, begun.elapsed()))
            }
            Err(cause) => Err(DriveError::Connect {
                client,
                cause,
                connected: self.connected.load(Ordering::Relaxed),
                clients,
            }),
        }
    }
}

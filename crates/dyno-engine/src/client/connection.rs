//! Connections that are made and closed while the load runs.
//!
//! They are made with blocking calls, as in pgbench: the other clients of the thread wait for each, but not for
//! several at a time.

use super::Clients;
use super::state::Waiting;
use crate::backend::{Backend, Driver};
use crate::client_event::{AbortReason, ClientEvent};
use crate::program::Scripted;
use dyno_connect::{ConnectError, Limit};
use std::time::{Duration, Instant};

/// How long to wait before trying again to replace a lost connection.
const PAUSE_NS: u64 = 100_000_000;

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// Makes the first of the connections that are needed now. Before the next one the others have their turn, and
    /// the time is looked at.
    pub(super) fn connect_due(&mut self) {
        if self.over && !P::INDEPENDENT {
            return;
        }
        let Some(index) = self.connecting.pop_front() else {
            return;
        };
        let waiting = self.clients[index].waiting;
        if P::INDEPENDENT {
            return self.serve(index);
        }
        // The transaction whose connection is being made goes on after the end if it is recorded then. Those that still
        // wait for their turn have not begun, and do not.
        let until_ns = match waiting {
            Waiting::Connection if self.record_finishing => u64::MAX,
            _ => self.end_ns,
        };
        // Connecting blocks: what the others have to say is not to wait for it.
        self.backend.flush();
        let begin_ns = self.clock.now_ns();
        let connected = self.connect(index, index, until_ns.saturating_sub(begin_ns));
        let now_ns = self.clock.now_ns();
        self.summary.connection_time_ns += now_ns - begin_ns;
        match (connected, waiting) {
            (Ok(()), Waiting::Replacement) => {
                let client = &self.clients[index];
                self.event(ClientEvent::Reconnected {
                    workload: self.number,
                    client: client.rare.number,
                    endpoint: self.backend.endpoint(index),
                    after: Duration::from_nanos(now_ns.saturating_sub(client.rare.lost_ns)),
                });
                self.choose(index);
                self.line_up(index, now_ns);
            }
            (Ok(()), _) => {
                let client = &mut self.clients[index];
                if !client.scheduled {
                    client.transaction_ns = now_ns;
                }
                self.roll(now_ns);
                self.enter(index, now_ns);
                self.send();
            }
            (Err(ConnectError::Stopped), _) => self.clients[index].waiting = Waiting::Turn,
            // Nothing would begin on it any more.
            (Err(_), _) if now_ns >= until_ns => self.clients[index].waiting = Waiting::Turn,
            (Err(_), Waiting::Replacement) => {
                self.sleep(index, now_ns.saturating_add(PAUSE_NS));
            }
            (Err(error), _) => self.unconnected(index, error, now_ns),
        }
    }

    /// No connection is needed any more.
    pub(super) fn connect_no_more(&mut self) {
        if P::INDEPENDENT {
            // Who is in the middle of something needs an answer.
            return;
        }
        for index in self.connecting.drain(..) {
            self.clients[index].waiting = Waiting::Turn;
        }
    }

    /// Connects a client by the connection of this number among all, which may take so long.
    pub(super) fn connect(&mut self, index: usize, line: usize, within_ns: u64) -> Result<(), ConnectError> {
        let limit = Limit {
            stop: self.stop,
            until: Instant::now().checked_add(Duration::from_nanos(within_ns)),
        };
        let driver = &self.workload.driver;
        let opened = driver.open(&self.workload.name, limit)?;
        let endpoint = opened.endpoint;
        let adopted = self.backend.adopt(line, opened);
        adopted.map_err(|cause| ConnectError::Broken {
            address: driver.address(endpoint),
            doing: "logging in",
            cause,
        })?;
        self.summary.connections += 1;
        let client = &mut self.clients[index];
        client.connected = true;
        client.piping = false;
        client.rare.outstanding = 0;
        client.rare.accepting.clear();
        client.rare.loss = None;
        Ok(())
    }

    /// No connection could be made for a transaction: it has failed, or its client is aborted.
    fn unconnected(&mut self, index: usize, error: ConnectError, now_ns: u64) {
        if !self.workload.reconnect {
            return self.abort(index, AbortReason::Connect(error));
        }
        let client = &mut self.clients[index];
        client.tries = 1;
        self.record_failed(index, &error.into_server_error(), now_ns);
        self.replace(index, true, now_ns, PAUSE_NS);
    }

    /// A client has no connection any more: it is closed once everything of the others is sent.
    pub(super) fn part(&mut self, index: usize) {
        if std::mem::take(&mut self.clients[index].connected) {
            self.backend.hang_up(index);
        }
    }
}

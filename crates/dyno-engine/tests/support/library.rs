//! Sessions of our own as a library that blocks: what is driven over transports can be driven over it as well.

use crate::support::Keep;
use dyno_connect::{Opening, log_in};
use dyno_engine::backend::blocking::{Answer, BlockingDriver, Connection, Interrupter, Library};
use dyno_engine::{
    ConnectError, DriveError, Limit, Load, Outcome, Scripted, Stop, TransportChoice, WireDriver, Workload, drive,
};
use dyno_wire::{Event, Parameters, PgSession, Session, TransactionStatus};
use std::io;
use std::time::Duration;

/// What a load is driven over.
#[derive(Clone, Copy)]
pub enum Over {
    /// Sessions and a transport.
    Transport(TransportChoice),
    /// The library, with a thread for each client.
    Library,
}

impl From<TransportChoice> for Over {
    fn from(transport: TransportChoice) -> Self {
        Self::Transport(transport)
    }
}

impl Over {
    /// The transport, whether it is used or not.
    pub fn transport(self) -> TransportChoice {
        match self {
            Self::Transport(transport) => transport,
            Self::Library => TransportChoice::Auto,
        }
    }

    /// Drives a load of one workload. Its log serves once.
    pub fn drive<P: Scripted + Clone>(
        self,
        load: &mut Load<WireDriver<PgSession>, P>,
        keep: &mut Keep,
    ) -> Result<Outcome, DriveError> {
        let stop = Stop::new();
        let Self::Library = self else {
            return drive(load, keep, &stop);
        };
        let log = load.workloads[0].log.take();
        let of = &load.workloads[0];
        let driver = BlockingDriver::new(Sessions(&of.driver));
        let workload = Workload {
            pacing: of.pacing,
            transactions_per_client: of.transactions_per_client,
            connecting: of.connecting,
            reconnect: of.reconnect,
            failures: of.failures.clone(),
            latency_limit: of.latency_limit,
            time_commands: of.time_commands,
            log,
            ..Workload::new(&of.name, of.clients, driver, of.program.clone())
        };
        let load = Load {
            interval: load.interval,
            grace: load.grace,
            include_connecting: load.include_connecting,
            record_finishing: load.record_finishing,
            ..Load::new(vec![workload], load.phases.clone())
        };
        drive(&load, keep, &stop)
    }
}

/// The endpoints, sessions and statements of a driver.
struct Sessions<'a>(&'a WireDriver<PgSession>);

/// A connection to the first endpoint that lets it in.
struct Line<'a> {
    driver: &'a WireDriver<PgSession>,
    opening: Opening,
    session: PgSession,
}

impl<'a> Library for Sessions<'a> {
    type Connection = Line<'a>;

    fn connect_timeout(&self) -> Duration {
        self.0.endpoints[0].connect_timeout
    }

    fn connect(&self, _workload: &str, limit: Limit<'_>) -> Result<Line<'a>, ConnectError> {
        let driver = self.0;
        let (opening, session) = log_in(&driver.endpoints[0], |tls| (driver.session)(0, tls), limit)?;
        Ok(Line {
            driver,
            opening,
            session,
        })
    }

    fn address(&self) -> String {
        self.0.endpoints[0].address.to_string()
    }
}

impl Line<'_> {
    /// Asks for what `append` appends, and waits for the reply.
    fn ask(&mut self, results: bool, append: impl FnOnce(&mut PgSession, &mut Vec<u8>)) -> io::Result<Answer> {
        if results {
            self.session.capture();
        }
        let mut out = Vec::new();
        append(&mut self.session, &mut out);
        match self.opening.ask(&mut self.session, &mut out, "executing") {
            Ok(Event::Reply(reply)) => Ok(Answer {
                rows: reply.rows,
                affected: reply.affected,
                results: self.session.captured().to_vec(),
                error: self.session.error().filter(|_| reply.failed).cloned(),
            }),
            Ok(other) => Err(io::Error::other(format!("{other:?} in place of a reply"))),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl Connection for Line<'_> {
    fn execute(&mut self, statement: usize, parameters: &impl Parameters, results: bool) -> io::Result<Answer> {
        let encoded = &self.driver.statements[statement];
        self.ask(results, |session, out| session.execute(encoded, parameters, out))
    }

    fn query(&mut self, text: &[u8], results: bool) -> io::Result<Answer> {
        let write = |query: &mut Vec<u8>| query.extend_from_slice(text);
        self.ask(results, |session, out| session.query(write, out))
    }

    fn define(&mut self, _statement: usize, _text: &str) -> io::Result<Answer> {
        // Scripts list all their statements.
        Err(io::ErrorKind::Unsupported.into())
    }

    fn in_transaction(&self) -> TransactionStatus {
        self.session.in_transaction()
    }

    fn interrupter(&self) -> Option<Interrupter> {
        None
    }

    fn close(mut self) {
        let mut goodbye = Vec::new();
        self.session.terminate(&mut goodbye);
        let _ = self.opening.tell(&goodbye, Duration::from_secs(1));
    }
}

//! One of two drivers: so that the workloads of one load can be on databases of different kinds.
//!
//! A thread's clients are of one workload, and its backend is that of the driver which the workload has: which of the
//! two it is, is asked once for a thread and once for a connection, not for each request.

use super::{Backend, Driver, Opened, Owner, Wait, Work};
use crate::backend::wire::transport::TransportKind;
use dyno_connect::{ConnectError, Limit};
use dyno_wire::{CapturedResult, Parameters, Reply, ServerError, TransactionStatus, WireError};
use std::io;
use std::marker::PhantomData;
use std::time::Duration;

/// One of two: of drivers, or of their connections. Neither driver may [block](Driver::BLOCKS), as threads are shared
/// out alike for all workloads.
#[derive(Clone, Debug)]
pub enum Either<A, B> {
    /// The first.
    First(A),
    /// The second.
    Second(B),
}

impl<A, B> Either<A, B> {
    fn first(self) -> Option<A> {
        match self {
            Self::First(one) => Some(one),
            Self::Second(_) => None,
        }
    }

    fn second(self) -> Option<B> {
        match self {
            Self::First(_) => None,
            Self::Second(other) => Some(other),
        }
    }
}

impl<A: Driver, B: Driver> Driver for Either<A, B> {
    type Connection = Either<A::Connection, B::Connection>;

    const BLOCKS: bool = {
        assert!(
            !A::BLOCKS && !B::BLOCKS,
            "a driver that blocks has its threads for itself"
        );
        false
    };

    fn connect_timeout(&self) -> Duration {
        match self {
            Self::First(driver) => driver.connect_timeout(),
            Self::Second(driver) => driver.connect_timeout(),
        }
    }

    fn open(&self, workload: &str, limit: Limit<'_>) -> Result<Opened<Self::Connection>, ConnectError> {
        Ok(match self {
            Self::First(driver) => driver.open(workload, limit)?.map(Either::First),
            Self::Second(driver) => driver.open(workload, limit)?.map(Either::Second),
        })
    }

    fn address(&self, endpoint: usize) -> String {
        match self {
            Self::First(driver) => driver.address(endpoint),
            Self::Second(driver) => driver.address(endpoint),
        }
    }

    fn sends_text(&self, statement: usize) -> bool {
        match self {
            Self::First(driver) => driver.sends_text(statement),
            Self::Second(driver) => driver.sends_text(statement),
        }
    }

    fn run<W: Work<Self::Connection>>(
        &self,
        connections: Vec<Option<Opened<Self::Connection>>>,
        spare: usize,
        transport: TransportKind,
        work: W,
    ) -> io::Result<W::Outcome> {
        match self {
            Self::First(driver) => {
                let work = WorkOfOne {
                    work,
                    own: Either::first,
                };
                driver.run(work.own_of(connections), spare, transport, work)
            }
            Self::Second(driver) => {
                let work = WorkOfOne {
                    work,
                    own: Either::second,
                };
                driver.run(work.own_of(connections), spare, transport, work)
            }
        }
    }
}

/// Work for connections of either kind, which has one of the two; `own` finds it in them.
struct WorkOfOne<W, C, O> {
    work: W,
    own: fn(C) -> Option<O>,
}

impl<W, C, O> WorkOfOne<W, C, O> {
    fn own_of(&self, connections: Vec<Option<Opened<C>>>) -> Vec<Option<Opened<O>>> {
        let own = |opened: Option<Opened<C>>| opened?.filter_map(self.own);
        connections.into_iter().map(own).collect()
    }
}

impl<W: Work<C>, C, O> Work<O> for WorkOfOne<W, C, O> {
    type Outcome = W::Outcome;

    fn run<B: Backend<Connection = O>>(self, backend: B) -> Self::Outcome {
        self.work.run(BackendOfOne { backend, own: self.own })
    }
}

/// The backend of one of the two, which is given connections of either kind.
struct BackendOfOne<B: Backend, C> {
    backend: B,
    own: fn(C) -> Option<B::Connection>,
}

impl<B: Backend, C> Backend for BackendOfOne<B, C> {
    type Connection = C;

    #[inline]
    fn execute(&mut self, client: usize, statement: usize, parameters: &impl Parameters, results: bool) {
        self.backend.execute(client, statement, parameters, results);
    }

    #[inline]
    fn query(&mut self, client: usize, write: impl FnOnce(&mut Vec<u8>), results: bool) {
        self.backend.query(client, write, results);
    }

    fn rollback(&mut self, client: usize) {
        self.backend.rollback(client);
    }

    fn define(&mut self, client: usize, statement: usize, text: &str, parameter_count: usize) -> Result<(), WireError> {
        self.backend.define(client, statement, text, parameter_count)
    }

    fn prepare(&mut self, client: usize, statement: usize) -> bool {
        self.backend.prepare(client, statement)
    }

    #[inline]
    fn knows(&self, client: usize, statement: usize) -> bool {
        self.backend.knows(client, statement)
    }

    #[inline]
    fn is_introducing(&self, client: usize) -> bool {
        self.backend.is_introducing(client)
    }

    fn queue(&mut self, client: usize, statement: usize, parameters: &impl Parameters) {
        self.backend.queue(client, statement, parameters);
    }

    fn sync(&mut self, client: usize) {
        self.backend.sync(client);
    }

    #[inline]
    fn results(&self, client: usize) -> &[CapturedResult] {
        self.backend.results(client)
    }

    #[inline]
    fn error(&self, client: usize) -> Option<&ServerError> {
        self.backend.error(client)
    }

    #[inline]
    fn in_transaction(&self, client: usize) -> TransactionStatus {
        self.backend.in_transaction(client)
    }

    fn take_notices(&mut self, client: usize) -> Vec<ServerError> {
        self.backend.take_notices(client)
    }

    fn adopt(&mut self, client: usize, connection: Opened<C>) -> io::Result<()> {
        // The driver of the workload opened it, so it is of the kind.
        let own = connection.filter_map(self.own).ok_or(io::ErrorKind::InvalidInput)?;
        self.backend.adopt(client, own)
    }

    fn endpoint(&self, client: usize) -> usize {
        self.backend.endpoint(client)
    }

    fn hang_up(&mut self, client: usize) {
        self.backend.hang_up(client);
    }

    #[inline]
    fn send<O: Owner<Self>>(owner: &mut O) -> Option<Duration> {
        B::send(&mut OwnerOfOne::<_, C> {
            owner,
            own: PhantomData,
        })
    }

    fn flush(&mut self) {
        self.backend.flush();
    }

    #[inline]
    fn poll<O: Owner<Self>>(owner: &mut O, wait: Wait) -> io::Result<()> {
        let mut owner = OwnerOfOne::<_, C> {
            owner,
            own: PhantomData,
        };
        B::poll(&mut owner, wait)
    }

    fn close(self, running: impl Fn(usize) -> bool) {
        self.backend.close(running);
    }
}

/// Who owns the backend of one of the two, behind what makes it one of either.
struct OwnerOfOne<'a, O, C> {
    owner: &'a mut O,
    own: PhantomData<C>,
}

impl<B: Backend, C, O: Owner<BackendOfOne<B, C>>> Owner<B> for OwnerOfOne<'_, O, C> {
    #[inline]
    fn backend(&mut self) -> &mut B {
        &mut self.owner.backend().backend
    }

    #[inline]
    fn expect(&mut self, client: usize) {
        self.owner.expect(client);
    }

    #[inline]
    fn replied(&mut self, client: usize, reply: Reply) {
        self.owner.replied(client, reply);
    }

    fn lost(&mut self, client: usize, error: &io::Error) {
        self.owner.lost(client, error);
    }
}

//! Control connections: one statement at a time, each waited for.
//!
//! The crate `tokio-postgres` does the work. The crate `postgres`, which is the same made blocking, always opens
//! its sockets itself; ours are opened by [`address`](crate::postgres::address), which bounds what a server may
//! send before it has let us in, and how long it may take for that.

use crate::postgres::address::dial::Route;
use crate::postgres::server_message;
use crate::target::TextRows;
use bytes::Bytes;
use dyno_wire::LogInMethod;
use futures_util::task::AtomicWaker;
use futures_util::{SinkExt, TryStreamExt};
use postgres::types::ToSql;
use postgres::{Error, Row, SimpleQueryMessage, Statement};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::{CancelToken, ToStatement};

/// How long a connection may take to say good-bye.
const CLOSING_PATIENCE: Duration = Duration::from_secs(1);

/// What moves the bytes of a connection, until that has ended.
pub(crate) type Traffic = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A control connection.
pub struct Client {
    // Dropped before the driver, which then says good-bye to the server.
    client: tokio_postgres::Client,
    driver: Driver,
    route: Route,
    asked: LogInMethod,
}

/// Cancels what a control connection executes, from another thread.
pub(crate) struct Canceller {
    token: CancelToken,
    route: Route,
    activity: Arc<Activity>,
}

impl Canceller {
    /// Asks the server, which may take as long as `limit`. One that cannot be asked notices the connection's end.
    pub(crate) fn cancel(&self, limit: Duration) {
        let _ = self.route.cancel(&self.token, limit);
    }

    /// The number of what the connection executes at the moment.
    pub(crate) fn executing(&self) -> Option<u64> {
        let steps = self.activity.steps.load(Ordering::Acquire);
        (steps % 2 == 1).then_some(steps)
    }

    /// Ends the connection without the server, so that what it executes fails.
    pub(crate) fn sever(&self) {
        self.activity.severed.store(true, Ordering::Release);
        self.activity.waker.wake();
    }
}

/// What other threads see and want of a connection.
#[derive(Default)]
struct Activity {
    /// Counts beginnings and ends of what is executed: odd in between.
    steps: AtomicU64,
    /// Nothing is to be expected of the server any more.
    severed: AtomicBool,
    /// Of whoever waits for the server.
    waker: AtomicWaker,
}

/// A transaction on a control connection; rolled back unless committed.
pub struct Transaction<'a> {
    transaction: tokio_postgres::Transaction<'a>,
    driver: &'a mut Driver,
}

struct Driver {
    runtime: Runtime,
    traffic: Option<Traffic>,
    activity: Arc<Activity>,
    /// How long the server may take each time.
    patience: Option<Duration>,
    /// How long it was waited for in vain.
    waited: Option<Duration>,
}

impl Driver {
    /// Waits for `work` and moves bytes meanwhile. What ends the connection is the error then: the work would know
    /// only that it ended.
    fn wait<T>(&mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut work = pin!(work);
        let traffic = &mut self.traffic;
        let activity = &*self.activity;
        let patience = self.patience;
        let waited = &mut self.waited;
        let mut late = pin!(async move {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        });
        activity.steps.fetch_add(1, Ordering::Release);
        let done = self.runtime.block_on(poll_fn(|context| {
            activity.waker.register(context.waker());
            if late.as_mut().poll(context).is_ready() {
                *waited = patience;
                activity.severed.store(true, Ordering::Release);
            }
            if activity.severed.load(Ordering::Acquire) {
                // Without it the work fails.
                *traffic = None;
            }
            let moved = traffic.as_mut().map(|traffic| traffic.as_mut().poll(context));
            if let Some(Poll::Ready(ended)) = moved {
                *traffic = None;
                if let Err(ended) = ended {
                    // Unless the server said it before.
                    return match work.as_mut().poll(context) {
                        Poll::Ready(Err(error)) if error.as_db_error().is_none() => Poll::Ready(Err(ended)),
                        Poll::Pending => Poll::Ready(Err(ended)),
                        told => told,
                    };
                }
            }
            work.as_mut().poll(context)
        }));
        activity.steps.fetch_add(1, Ordering::Release);
        done
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(traffic) = self.traffic.take() {
            // The server also understands a connection that is just closed.
            let _ = self
                .runtime
                .block_on(async { tokio::time::timeout(CLOSING_PATIENCE, traffic).await });
        }
    }
}

impl Client {
    /// Where the server is: the path of its socket, or its numeric address with the port. See
    /// [`ConnectionInfo::host_at`].
    ///
    /// [`ConnectionInfo::host_at`]: crate::postgres::address::ConnectionInfo::host_at
    #[must_use]
    pub fn address(&self) -> String {
        self.route.address()
    }

    /// How the server has had us prove who we are; `None`: not at all, as far as it asked.
    pub(crate) fn log_in_method(&self) -> Option<&'static str> {
        self.asked.name()
    }

    pub(crate) fn new(
        runtime: Runtime,
        route: Route,
        asked: LogInMethod,
        client: tokio_postgres::Client,
        traffic: Traffic,
    ) -> Self {
        Self {
            client,
            driver: Driver {
                runtime,
                traffic: Some(traffic),
                activity: Arc::default(),
                patience: None,
                waited: None,
            },
            route,
            asked,
        }
    }

    /// The same connection, which ends when the server takes longer than `limit` for anything that it is asked from
    /// now on.
    pub(crate) fn with_patience(mut self, limit: Duration) -> Self {
        self.set_patience(Some(limit));
        self
    }

    /// Has the connection end when the server takes longer than this for anything that it is asked from now on; with
    /// `None`, as at first, it may take as long as it takes.
    pub(crate) fn set_patience(&mut self, limit: Option<Duration>) {
        self.driver.patience = limit;
    }

    /// What went wrong, in words: of a connection that ended for lack of an answer, the error itself knows only that.
    pub(crate) fn explain(&self, error: &Error) -> String {
        match self.driver.waited {
            Some(waited) => format!(
                "no answer within {} s; the server, its machine or its disk may be standing still, or something in \
                 between may drop what is sent: look at the server's log and load",
                waited.as_secs_f64()
            ),
            None => server_message(error),
        }
    }

    pub(crate) fn canceller(&self) -> Canceller {
        Canceller {
            token: self.client.cancel_token(),
            route: self.route.clone(),
            activity: Arc::clone(&self.driver.activity),
        }
    }

    /// Executes statements whose rows nobody looks at.
    ///
    /// # Errors
    /// The server refuses one, or the connection is lost; so with all that follow.
    pub fn batch_execute(&mut self, statements: &str) -> Result<(), Error> {
        self.driver.wait(self.client.batch_execute(statements))
    }

    /// Executes a statement and gives the number of rows it changed.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn execute<T: ?Sized + ToStatement>(
        &mut self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Error> {
        self.driver.wait(self.client.execute(statement, parameters))
    }

    /// Executes statements by the simple protocol and gives all they say, values as text.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn simple_query(&mut self, statements: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
        self.driver.wait(self.client.simple_query(statements))
    }

    /// The rows of a query as text. Those that are not kept take no memory.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub(crate) fn text_rows(&mut self, query: &str) -> Result<TextRows, Error> {
        let client = &self.client;
        self.driver.wait(async move {
            let mut messages = pin!(client.simple_query_raw(query).await?);
            let mut rows = TextRows::default();
            while let Some(message) = messages.try_next().await? {
                match message {
                    SimpleQueryMessage::RowDescription(columns) => {
                        rows.columns = columns.iter().map(|column| column.name().to_owned()).collect();
                    }
                    SimpleQueryMessage::Row(row) => {
                        // In a database of any encoding a value need not be text.
                        let value = |place| row.try_get(place).unwrap_or(Some("(no text)"));
                        rows.push((0..row.len()).map(|place| value(place).map(str::to_owned)));
                    }
                    _ => {}
                }
            }
            Ok(rows)
        })
    }

    /// Has the server prepare a statement.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn prepare(&mut self, statement: &str) -> Result<Statement, Error> {
        self.driver.wait(self.client.prepare(statement))
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn query<T: ?Sized + ToStatement>(
        &mut self,
        query: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.driver.wait(self.client.query(query, parameters))
    }

    /// The row of a query that has exactly one.
    ///
    /// # Errors
    /// See [`Client::batch_execute`]; another number of rows.
    pub fn query_one<T: ?Sized + ToStatement>(
        &mut self,
        query: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        self.driver.wait(self.client.query_one(query, parameters))
    }

    /// The row of a query that has one at most.
    ///
    /// # Errors
    /// See [`Client::batch_execute`]; more rows.
    pub fn query_opt<T: ?Sized + ToStatement>(
        &mut self,
        query: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Error> {
        self.driver.wait(self.client.query_opt(query, parameters))
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn transaction(&mut self) -> Result<Transaction<'_>, Error> {
        let transaction = self.driver.wait(self.client.transaction())?;
        Ok(Transaction {
            transaction,
            driver: &mut self.driver,
        })
    }

    /// Whether the connection has ended, as far as is known.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

impl Transaction<'_> {
    /// See [`Client::batch_execute`].
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn batch_execute(&mut self, statements: &str) -> Result<(), Error> {
        self.driver.wait(self.transaction.batch_execute(statements))
    }

    /// See [`Client::execute`].
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn execute<T: ?Sized + ToStatement>(
        &mut self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Error> {
        self.driver.wait(self.transaction.execute(statement, parameters))
    }

    /// See [`Client::prepare`].
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn prepare(&mut self, statement: &str) -> Result<Statement, Error> {
        self.driver.wait(self.transaction.prepare(statement))
    }

    /// See [`Client::query`].
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn query<T: ?Sized + ToStatement>(
        &mut self,
        query: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.driver.wait(self.transaction.query(query, parameters))
    }

    /// See [`Client::query_one`].
    ///
    /// # Errors
    /// See [`Client::query_one`].
    pub fn query_one<T: ?Sized + ToStatement>(
        &mut self,
        query: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        self.driver.wait(self.transaction.query_one(query, parameters))
    }

    /// Executes `copy … from stdin` with these pieces of data and gives the number of rows.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn copy_in(&mut self, statement: &str, pieces: impl Iterator<Item = Bytes>) -> Result<u64, Error> {
        let transaction = &self.transaction;
        self.driver.wait(async move {
            let mut sink = pin!(transaction.copy_in(statement).await?);
            for piece in pieces {
                sink.send(piece).await?;
            }
            sink.finish().await
        })
    }

    /// Begins a transaction within this one, by a savepoint.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn transaction(&mut self) -> Result<Transaction<'_>, Error> {
        let transaction = self.driver.wait(self.transaction.transaction())?;
        Ok(Transaction {
            transaction,
            driver: self.driver,
        })
    }

    /// Makes what was done last.
    ///
    /// # Errors
    /// See [`Client::batch_execute`].
    pub fn commit(self) -> Result<(), Error> {
        self.driver.wait(self.transaction.commit())
    }
}

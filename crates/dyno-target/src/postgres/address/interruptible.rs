//! Control connections that a request to stop interrupts: whoever presses Ctrl-C does not want to wait for a vacuum
//! or an index of an hour.

use super::{ConnectError, ConnectionInfo};
use crate::patience::ANSWER;
use crate::postgres::Client;
use crate::postgres::client::Canceller;
use crate::stopping::unless_stopped;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often the flag is looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long a server may go on with what it was asked to cancel, before nothing is expected of it any more.
const GRACE: Duration = Duration::from_secs(2);

/// A control connection whose statements are cancelled at the server once a flag is raised: they fail then, also if
/// the server does not care.
pub struct Interruptible {
    client: Client,
    /// Dropped with the connection, which ends the thread that watches the flag.
    _open: Sender<()>,
}

impl Deref for Interruptible {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Interruptible {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

impl ConnectionInfo {
    /// Opens a control connection to the first server that accepts. Connecting is given up, and what the connection
    /// executes is cancelled, when `stop` is raised.
    ///
    /// # Errors
    /// [`ConnectError`] with every server tried, or that it was stopped.
    pub fn connect_until(&self, stop: &Arc<AtomicBool>) -> Result<Interruptible, ConnectError> {
        let client = self.unless(stop, Self::connect)?;
        let (open, closed) = mpsc::channel();
        let (canceller, stop) = (client.canceller(), Arc::clone(stop));
        let watch = move || watch(&canceller, &stop, &closed);
        // Without the thread everything works, but for being interrupted.
        let _ = std::thread::Builder::new().name("interrupt".to_owned()).spawn(watch);
        Ok(Interruptible { client, _open: open })
    }

    /// The same for [questions](crate::patience): it ends, too, when the server does not answer one in time.
    ///
    /// # Errors
    /// As for [`connect_until`](Self::connect_until).
    pub(crate) fn connect_to_ask(&self, stop: &Arc<AtomicBool>) -> Result<Interruptible, ConnectError> {
        let mut connection = self.connect_until(stop)?;
        connection.set_patience(Some(ANSWER));
        Ok(connection)
    }

    /// [`ConnectionInfo::first_reachable`], given up when `stop` is raised.
    ///
    /// # Errors
    /// [`ConnectError`] with every server tried, or that it was stopped.
    pub fn first_reachable_until(&self, stop: &AtomicBool) -> Result<Self, ConnectError> {
        self.unless(stop, Self::first_reachable)
    }

    fn unless<T: Send + 'static>(
        &self,
        stop: &AtomicBool,
        connect: fn(&Self) -> Result<T, ConnectError>,
    ) -> Result<T, ConnectError> {
        let info = self.clone();
        unless_stopped(stop, move || connect(&info)).unwrap_or_else(|| Err(ConnectError::stopped()))
    }
}

/// Cancels what the connection executes, one statement after the other, from when the flag is raised until the
/// connection is closed. Where that has no effect, ends the connection.
fn watch(canceller: &Canceller, stop: &AtomicBool, closed: &Receiver<()>) {
    let mut asked: Option<(u64, Instant)> = None;
    while let Err(RecvTimeoutError::Timeout) = closed.recv_timeout(PATIENCE) {
        if !stop.load(Ordering::Relaxed) {
            continue;
        }
        let Some(executing) = canceller.executing() else {
            continue;
        };
        let since = match asked {
            Some((same, since)) if same == executing => since,
            _ => Instant::now(),
        };
        asked = Some((executing, since));
        if since.elapsed() >= GRACE {
            return canceller.sever();
        }
        canceller.cancel(GRACE.saturating_sub(since.elapsed()));
    }
}

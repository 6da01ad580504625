//! A connection on a thread of its own: Oracle's crate owns its socket, blocks, and cannot be told to give up.
//!
//! Whoever asks waits for the answer, as long as it likes. One that is not waited for any more takes its connection
//! with it: the thread ends when the server has answered. And a crate that panics (it is young, and takes some of what
//! a server sends for granted) loses its connection, no more.

use super::unharmed;
use crate::target::StopFlag;
use oracledb::{Connection, Error};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How often the request to stop is looked at.
const POLL: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// What the crate says.
    Failed(Error),
    /// Somebody asked to stop.
    Stopped,
    /// It took longer than is waited for.
    Late(Duration),
    /// The crate did not know what to make of the server's answer, or the connection was given up before.
    Broken,
    /// There is no thread to be had.
    NoThread(std::io::Error),
}

/// A connection, as long as it is there.
pub(super) struct Worker {
    jobs: Option<Sender<Job>>,
}

impl Worker {
    /// Connects, within a limit.
    pub fn connect(
        connect: impl FnOnce() -> Result<Connection, Error> + Send + 'static,
        limit: Duration,
        stop: &StopFlag,
    ) -> Result<Self, Unanswered> {
        let (jobs, asked) = mpsc::channel::<Job>();
        let (tell, told) = mpsc::sync_channel(1);
        let work = move || {
            let connection = match unharmed(connect) {
                Some(Ok(connection)) => connection,
                failed => {
                    // Nobody listens if it was given up.
                    let _ = tell.send(failed.map(|connected| connected.map(drop)));
                    return;
                }
            };
            let _ = tell.send(Some(Ok(())));
            while let Ok(job) = asked.recv() {
                job(&connection);
            }
            // Taking leave is a call, too.
            unharmed(|| drop(connection));
        };
        let thread = thread::Builder::new().name("oracle".to_owned()).spawn(work);
        thread.map_err(Unanswered::NoThread)?;
        match answer(&told, Some(limit), stop)? {
            Some(Ok(())) => Ok(Self { jobs: Some(jobs) }),
            Some(Err(error)) => Err(Unanswered::Failed(error)),
            None => Err(Unanswered::Broken),
        }
    }

    /// Has the connection do something, and waits for what comes of it.
    pub fn ask<T: Send + 'static>(
        &mut self,
        limit: Option<Duration>,
        stop: &StopFlag,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Unanswered> {
        let (tell, told) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |connection| {
            let _ = tell.send(unharmed(|| work(connection)));
        });
        let jobs = self.jobs.as_ref().ok_or(Unanswered::Broken)?;
        let answered = match jobs.send(job) {
            Ok(()) => answer(&told, limit, stop),
            Err(_) => Err(Unanswered::Broken),
        };
        match answered {
            Ok(Some(Ok(done))) => Ok(done),
            Ok(Some(Err(error))) => Err(Unanswered::Failed(error)),
            Ok(None) => {
                self.jobs = None;
                Err(Unanswered::Broken)
            }
            Err(unanswered) => {
                self.jobs = None;
                Err(unanswered)
            }
        }
    }
}

/// Waits for what a thread tells.
fn answer<T>(told: &Receiver<T>, limit: Option<Duration>, stop: &StopFlag) -> Result<T, Unanswered> {
    let begun = Instant::now();
    let stop = Arc::clone(stop);
    loop {
        match told.recv_timeout(POLL) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Disconnected) => return Err(Unanswered::Broken),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Err(Unanswered::Stopped),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(limit) = limit.filter(|limit| begun.elapsed() > *limit) {
            return Err(Unanswered::Late(limit));
        }
    }
}

//! Work that is left alone when somebody asks to stop.

use crate::target::{StopFlag, TargetError};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often the flag is looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does `work` on a thread of its own, which is left alone when `stop` is raised: neither a look-up of a name nor a
/// server that stands still can be interrupted. `None` then.
pub(crate) fn unless_stopped<T: Send + 'static>(
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Clone + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let attempt = {
        let work = work.clone();
        move || {
            // Nobody receives once the attempt is given up.
            let _ = sender.send(work());
        }
    };
    let thread = std::thread::Builder::new().name("connect".to_owned());
    if thread.spawn(attempt).is_err() {
        return Some(work());
    }
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(done) => return Some(done),
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}

/// Opens a connection, or finds out about one, unless `stop` is raised before it stands.
///
/// # Errors
/// There is none, or `stop` was raised.
pub(crate) fn connected<T: Send + 'static, E: Error + Send + Sync + 'static>(
    stop: &StopFlag,
    connect: impl FnOnce() -> Result<T, E> + Clone + Send + 'static,
) -> Result<T, TargetError> {
    match unless_stopped(stop, connect) {
        Some(connected) => connected.map_err(TargetError::connect),
        None => Err(TargetError::Stopped("stopped while connecting".into())),
    }
}

//! Executing while listening: a client may break a statement off while it is executed.

use crate::executor::{Cancel, Executor};
use crate::link::{Link, Woken, await_signal, give, kind, signal};
use crate::session::{Ended, Session, is_break};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

/// How long a cancelled statement may take to end before it is cancelled again: it may not have begun at first.
const PATIENCE: Duration = Duration::from_millis(100);

/// Gives a signal however its scope is left.
struct Finally<'a>(&'a OwnedFd);

impl Drop for Finally<'_> {
    fn drop(&mut self) {
        give(self.0);
    }
}

impl Session {
    /// Has the executor do something. None: the client broke it off.
    pub(crate) fn perform<R: Send>(
        &mut self,
        work: impl FnOnce(&mut dyn Executor) -> R + Send,
    ) -> Result<Option<R>, Ended> {
        let Some(executor) = &mut self.executor else {
            return Err(Ended::Wrong("a statement before the log-in".to_owned()));
        };
        let Some(cancel) = executor.cancel() else {
            return Ok(Some(work(&mut **executor)));
        };
        let done = signal()?;
        let link = &mut self.link;
        let (result, watched) = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _done = Finally(&done);
                work(&mut **executor)
            });
            let watched = watch(link, &done);
            if !matches!(watched, Ok(false)) {
                end(&cancel, &done);
            }
            (worker.join(), watched)
        });
        match (watched?, result) {
            (true, _) => {
                self.break_off()?;
                Ok(None)
            }
            (false, Ok(result)) => Ok(Some(result)),
            (false, Err(_)) => Err(Ended::Wrong("the executor panicked".to_owned())),
        }
    }
}

/// Waits until the work is done or broken off; whether it was broken off.
fn watch(link: &mut Link, done: &OwnedFd) -> Result<bool, Ended> {
    loop {
        if let Some(packet) = link.packet_at_hand()? {
            if packet.kind == kind::MARKER && is_break(&packet) {
                return Ok(true);
            }
            let message = format!("a packet of kind {} while a statement was executed", packet.kind);
            return Err(Ended::Wrong(message));
        }
        match link.wait(done)? {
            Woken::Done => return Ok(false),
            Woken::Client => link.receive()?,
        }
    }
}

fn end(cancel: &Cancel, done: &OwnedFd) {
    loop {
        cancel();
        if await_signal(done, PATIENCE) {
            return;
        }
    }
}

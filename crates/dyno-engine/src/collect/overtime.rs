//! Ends what threads still wait for when a load is over: a thread that waits in a library's call cannot do it itself.

use dyno_connect::Stop;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often somebody looks whether the load is over.
const LOOK: Duration = Duration::from_millis(50);

/// How long a call may go on after a request to stop, at most: as for clients that do not block.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// Watches for the end of a load whose threads block.
pub(crate) struct Overtime<'a> {
    /// When the phases end; `None`: when all clients have had their transactions.
    pub end: Option<Instant>,
    /// How long calls may go on after that.
    pub grace: Duration,
    pub stop: &'a Stop,
    /// Ends all calls that threads wait in.
    pub interrupt: &'a dyn Fn(),
    /// When the load was found to be over.
    pub over: Option<Instant>,
}

impl Overtime<'_> {
    /// The next message; `None` when there will be none any more.
    pub fn receive<M>(&mut self, inbox: &Receiver<M>) -> Option<M> {
        loop {
            match inbox.recv_timeout(LOOK) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.look(Instant::now()),
            }
        }
    }

    fn look(&mut self, now: Instant) {
        let stopped = self.stop.requested();
        if !stopped && self.end.is_none_or(|end| now < end) {
            return;
        }
        let over = *self.over.get_or_insert(now);
        let grace = if stopped {
            self.grace.min(STOP_GRACE)
        } else {
            self.grace
        };
        // Again each time: a thread may have made another call meanwhile.
        if now.saturating_duration_since(over) >= grace {
            (self.interrupt)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn calls_are_ended_when_the_load_is_over_and_its_grace_is() {
        let (interrupted, stop) = (Cell::new(0), Stop::new());
        let begin = Instant::now();
        let interrupt = || interrupted.set(interrupted.get() + 1);
        let mut overtime = Overtime {
            end: Some(begin + Duration::from_secs(10)),
            grace: Duration::from_secs(3),
            stop: &stop,
            interrupt: &interrupt,
            over: None,
        };
        for second in 0..13 {
            overtime.look(begin + Duration::from_secs(second));
            assert_eq!(interrupted.get(), 0, "after {second} s");
        }
        overtime.look(begin + Duration::from_secs(13));
        overtime.look(begin + Duration::from_secs(14));
        assert_eq!(interrupted.get(), 2);
    }

    #[test]
    fn a_request_to_stop_does_not_wait_for_the_whole_grace() {
        let (interrupted, stop) = (Cell::new(false), Stop::new());
        let begin = Instant::now();
        let interrupt = || interrupted.set(true);
        let mut overtime = Overtime {
            end: None,
            grace: Duration::from_secs(3600),
            stop: &stop,
            interrupt: &interrupt,
            over: None,
        };
        overtime.look(begin + Duration::from_secs(100));
        stop.request();
        overtime.look(begin + Duration::from_secs(101));
        assert!(!interrupted.get());
        overtime.look(begin + Duration::from_secs(102));
        assert!(interrupted.get());
    }
}

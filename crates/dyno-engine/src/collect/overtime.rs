//! Ends what threads still do when a load is over: a thread that waits in a library's call, or whose client's program
//! does not come back, cannot do it itself.

use dyno_connect::Stop;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often somebody looks whether the load is over.
const LOOK: Duration = Duration::from_millis(50);

/// How long a call may go on after a request to stop, at most: as for clients that do not block.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// How long a program may go on by itself after the end of a load that waits for its transactions however long they
/// take. It is the server that is waited for: a program that has not asked it for anything for so long may never.
const OWN_GRACE: Duration = Duration::from_secs(5);

/// Watches for the end of a load whose threads may not notice it.
pub(crate) struct Overtime<'a> {
    /// When the phases end; `None`: when all clients have had their transactions.
    pub end: Option<Instant>,
    /// How long calls may go on after that.
    pub grace: Duration,
    pub stop: &'a Stop,
    /// Ends all calls that threads wait in.
    pub interrupt: &'a dyn Fn(),
    /// Makes clients come back whose programs go on by themselves for this long from now on.
    pub recall: &'a dyn Fn(Duration),
    /// Whether a client does not come back all the same.
    pub is_held: &'a dyn Fn() -> bool,
    /// When the load was found to be over.
    pub over: Option<Instant>,
    /// When it was looked last.
    pub looked: Instant,
}

/// How long threads have to end when all that they do was interrupted. What has not ended by then may never, if it is
/// held up: closing thousands of connections, or tidying up on the server, takes its time as well.
const LAST_GRACE: Duration = Duration::from_secs(2);

/// What somebody who waits for messages gets.
pub(crate) enum Received<M> {
    Message(M),
    /// None yet: there is time for a look around.
    Nothing,
    /// There will be none any more.
    Closed,
}

impl Overtime<'_> {
    /// The next message, if one comes soon.
    pub fn receive<M>(&mut self, inbox: &Receiver<M>) -> Received<M> {
        let now = Instant::now();
        // Also where messages never cease.
        if now.saturating_duration_since(self.looked) >= LOOK {
            self.looked = now;
            self.look(now);
            return Received::Nothing;
        }
        match inbox.recv_timeout(LOOK) {
            Ok(message) => Received::Message(message),
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
        }
    }

    /// How long calls may go on after the end.
    fn patience(&self) -> Duration {
        match self.stop.requested() {
            true => self.grace.min(STOP_GRACE),
            false => self.grace,
        }
    }

    /// Whether threads had time enough to end, and more, and one is in something that does not come back.
    pub fn is_hopeless(&self) -> bool {
        let limit = self.patience().saturating_add(LAST_GRACE);
        self.over
            .is_some_and(|over| self.looked.saturating_duration_since(over) >= limit)
            && (self.is_held)()
    }

    fn look(&mut self, now: Instant) {
        let stopped = self.stop.requested();
        if !stopped && self.end.is_none_or(|end| now < end) {
            return;
        }
        let over = *self.over.get_or_insert(now);
        let grace = self.patience();
        let waited = now.saturating_duration_since(over);
        // Again each time: a thread may have made another call meanwhile.
        if waited >= grace {
            (self.interrupt)();
            (self.recall)(Duration::ZERO);
        } else if grace == Duration::MAX {
            (self.recall)(OWN_GRACE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

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
            recall: &|_| (),
            is_held: &|| false,
            over: None,
            looked: begin,
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
            recall: &|_| (),
            is_held: &|| false,
            over: None,
            looked: begin,
        };
        overtime.look(begin + Duration::from_secs(100));
        stop.request();
        overtime.look(begin + Duration::from_secs(101));
        assert!(!interrupted.get());
        overtime.look(begin + Duration::from_secs(102));
        assert!(interrupted.get());
    }

    #[test]
    fn threads_are_given_up_only_if_a_client_is_held() {
        let (is_held, stop) = (Cell::new(true), Stop::new());
        let begin = Instant::now();
        let held = || is_held.get();
        let mut overtime = Overtime {
            end: Some(begin),
            grace: Duration::from_secs(1),
            stop: &stop,
            interrupt: &|| (),
            recall: &|_| (),
            is_held: &held,
            over: None,
            looked: begin,
        };
        let mut is_hopeless_after = |seconds| {
            overtime.looked = begin + Duration::from_secs(seconds);
            overtime.look(overtime.looked);
            overtime.is_hopeless()
        };
        assert!(!is_hopeless_after(0));
        assert!(!is_hopeless_after(2));
        assert!(is_hopeless_after(3));
        is_held.set(false);
        assert!(!is_hopeless_after(1000));
    }

    #[test]
    fn programs_are_not_waited_for_without_end() {
        let (recalled, stop) = (RefCell::new(Vec::new()), Stop::new());
        let begin = Instant::now();
        let recall = |patience| recalled.borrow_mut().push(patience);
        let mut overtime = Overtime {
            end: Some(begin),
            grace: Duration::MAX,
            stop: &stop,
            interrupt: &|| panic!("the server may take as long as it likes"),
            recall: &recall,
            is_held: &|| false,
            over: None,
            looked: begin,
        };
        overtime.look(begin - Duration::from_secs(1));
        assert!(recalled.borrow().is_empty());
        overtime.look(begin);
        assert_eq!(*recalled.borrow(), [OWN_GRACE]);
        // With a limit, all that is under way is given up when that is over.
        overtime.grace = Duration::from_secs(60);
        overtime.interrupt = &|| ();
        overtime.look(begin + Duration::from_secs(59));
        assert_eq!(*recalled.borrow(), [OWN_GRACE]);
        overtime.look(begin + Duration::from_secs(60));
        assert_eq!(*recalled.borrow(), [OWN_GRACE, Duration::ZERO]);
    }
}

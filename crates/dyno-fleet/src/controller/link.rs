//! The connection to one agent: a thread that hears it, and one that writes to it.

use super::{MOST_WARNINGS, OUT_OF_TURN};
use crate::clock::Clock;
use crate::frame;
use crate::protocol::{HEARTBEAT, Order, Report};
use crate::start::{Channel, Stands};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// What is heard of an agent.
pub(super) enum Said {
    /// A report, and when it came by the controller's clock.
    Report(Report, u64),
    /// It can say nothing more.
    Gone(String),
}

/// Where what is heard of all agents goes.
#[derive(Clone)]
pub(super) struct Inbox {
    said: Sender<(usize, Said)>,
    /// Whether there is nothing to do yet. Answers to pings are not kept then: making data may take hours in which
    /// nobody reads them.
    is_idle: Arc<AtomicBool>,
}

impl Inbox {
    /// An inbox, and where it is read.
    pub fn new() -> (Self, Receiver<(usize, Said)>) {
        let (said, heard) = mpsc::channel();
        let is_idle = Arc::default();
        (Self { said, is_idle }, heard)
    }

    /// Says whether there is nothing to do.
    pub fn idle(&self, is_idle: bool) {
        self.is_idle.store(is_idle, Ordering::Relaxed);
    }
}

/// What is to be written.
enum Letter {
    Order(Order),
    /// A ping, which says when it is written.
    Ping,
}

/// The connection. When it is dropped the agent hears that there is nothing more to do, and what stands for it here is
/// waited for.
pub(super) struct Link {
    letters: Option<Sender<Letter>>,
    stands: Option<Box<dyn Stands>>,
    clock: Clock,
    /// When it was heard last, by that clock: whoever reads the inbox may be behind.
    heard_ns: Arc<AtomicU64>,
}

impl Link {
    /// Begins to hear the agent of this number, and to tell it every second that somebody is there.
    pub fn open(number: usize, channel: Channel, clock: Clock, inbox: Inbox) -> io::Result<Self> {
        let Channel { input, output, stands } = channel;
        let (letters, queue) = mpsc::channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let heard_ns = Arc::new(AtomicU64::new(clock.now_ns()));
        let hearing = Arc::clone(&heard_ns);
        thread("agent-output").spawn(move || hear(number, output, clock, &hearing, &inbox))?;
        thread("agent-input").spawn(move || write(input, clock, &queue))?;
        Ok(Self {
            letters: Some(letters),
            stands,
            clock,
            heard_ns,
        })
    }

    /// For how long nothing was heard of it.
    pub fn silence(&self) -> Duration {
        let heard_ns = self.heard_ns.load(Ordering::Relaxed);
        Duration::from_nanos(self.clock.now_ns().saturating_sub(heard_ns))
    }

    /// Forgets for how long: nobody heard it, because this process stood still.
    pub fn forgive(&self) {
        self.heard_ns.store(self.clock.now_ns(), Ordering::Relaxed);
    }

    /// Tells the agent something. If it cannot be told any more, that is noticed where it is heard.
    pub fn order(&self, order: Order) {
        self.send(Letter::Order(order));
    }

    /// Asks it for its time.
    pub fn ping(&self) {
        self.send(Letter::Ping);
    }

    fn send(&self, letter: Letter) {
        if let Some(letters) = &self.letters {
            let _ = letters.send(letter);
        }
    }

    /// Ends the connection now, and what stands for the agent here.
    pub fn cut(&mut self) {
        self.letters = None;
        if let Some(stands) = &mut self.stands {
            stands.kill();
        }
    }

    /// A reason, and what the agent said last beside its reports.
    pub fn with_last_words(&self, reason: String) -> String {
        let said = self.stands.as_ref().map(|stands| stands.said()).unwrap_or_default();
        match said.is_empty() || reason.contains(&said) {
            true => reason,
            false => format!("{reason} (it said: {said})"),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.order(Order::Quit);
        // The thread that writes ends with its queue, and with it the agent's input.
        self.letters = None;
    }
}

fn hear(number: usize, mut output: impl Read, clock: Clock, heard_ns: &AtomicU64, inbox: &Inbox) {
    let mut buffer = Vec::new();
    let mut warnings = 0;
    loop {
        let mut said = match frame::read(&mut output, &mut buffer) {
            Ok(report) => {
                let report: Report = report;
                let now_ns = clock.now_ns();
                heard_ns.store(now_ns, Ordering::Relaxed);
                Said::Report(report.shortened(), now_ns)
            }
            Err(error) => Said::Gone(error.to_string()),
        };
        if inbox.is_idle.load(Ordering::Relaxed) {
            match &said {
                Said::Report(Report::Pong { .. }, _) => continue,
                Said::Report(Report::Warning(_), _) if warnings == MOST_WARNINGS => continue,
                Said::Report(Report::Warning(_), _) => warnings += 1,
                Said::Report(..) => said = Said::Gone(OUT_OF_TURN.to_owned()),
                Said::Gone(_) => {}
            }
        }
        let is_gone = matches!(said, Said::Gone(_));
        if inbox.said.send((number, said)).is_err() || is_gone {
            return;
        }
    }
}

fn write(mut input: impl Write, clock: Clock, queue: &Receiver<Letter>) {
    loop {
        let order = match queue.recv_timeout(HEARTBEAT) {
            Ok(Letter::Order(order)) => order,
            Ok(Letter::Ping) | Err(RecvTimeoutError::Timeout) => Order::Ping {
                sent_ns: clock.now_ns(),
            },
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // That nobody takes it any more is noticed where the agent is heard.
        if frame::write(&mut input, &order).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_nobody_waits_for_are_not_kept() {
        let mut said = Vec::new();
        for sent_ns in 0..100 {
            frame::write(&mut said, &Report::Pong { sent_ns, at_ns: 7 }).unwrap();
        }
        frame::write(&mut said, &Report::Warning("hot".to_owned())).unwrap();
        for (is_idle, kept) in [(true, 2), (false, 102)] {
            let (inbox, heard) = Inbox::new();
            inbox.idle(is_idle);
            let heard_ns = AtomicU64::new(0);
            hear(0, said.as_slice(), Clock::start(), &heard_ns, &inbox);
            assert!(heard_ns.into_inner() > 0);
            // The warning, and the end.
            assert_eq!(heard.try_iter().count(), kept);
        }
    }

    #[test]
    fn who_speaks_without_end_fills_no_memory() {
        let mut said = Vec::new();
        for _ in 0..2 * MOST_WARNINGS {
            frame::write(&mut said, &Report::Warning("é".repeat(1 << 16))).unwrap();
        }
        let (inbox, heard) = Inbox::new();
        inbox.idle(true);
        hear(0, said.as_slice(), Clock::start(), &AtomicU64::new(0), &inbox);
        let warnings = heard.try_iter().filter_map(|(_, said)| match said {
            Said::Report(Report::Warning(text), _) => Some(text.capacity()),
            _ => None,
        });
        assert_eq!(warnings.collect::<Vec<_>>(), [4096; MOST_WARNINGS]);
    }
}

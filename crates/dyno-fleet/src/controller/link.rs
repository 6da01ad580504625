//! The connection to one agent: a thread that hears it, and one that writes to it.

use super::Inbox;
use crate::clock::Clock;
use crate::frame;
use crate::protocol::{HEARTBEAT, Order, Report};
use crate::start::{Channel, Stands};
use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};

/// What is heard of an agent.
pub(super) enum Said {
    /// A report, and when it came by the controller's clock.
    Report(Report, u64),
    /// It can say nothing more.
    Gone(String),
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
}

impl Link {
    /// Begins to hear the agent of this number, and to tell it every second that somebody is there.
    pub fn open(number: usize, channel: Channel, clock: Clock, inbox: Inbox) -> io::Result<Self> {
        let Channel { input, output, stands } = channel;
        let (letters, queue) = mpsc::channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("agent-output").spawn(move || hear(number, output, clock, &inbox))?;
        thread("agent-input").spawn(move || write(input, clock, &queue))?;
        Ok(Self {
            letters: Some(letters),
            stands,
        })
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

fn hear(number: usize, mut output: impl Read, clock: Clock, inbox: &Inbox) {
    let mut buffer = Vec::new();
    loop {
        let said = match frame::read(&mut output, &mut buffer) {
            Ok(report) => Said::Report(report, clock.now_ns()),
            Err(error) => Said::Gone(error.to_string()),
        };
        let is_gone = matches!(said, Said::Gone(_));
        if inbox.send((number, said)).is_err() || is_gone {
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

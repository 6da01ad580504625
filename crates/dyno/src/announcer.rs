//! Progress that is told by a thread of its own: whoever reads it slowly, or not at all, holds up neither the load
//! nor its archive.

use dyno_analysis::progress::{FinishedRun, Live, Upcoming};
use dyno_archive::{Capacity, Versus};
use dyno_lab::run::Progress;
use dyno_report::figures::count;
use std::collections::VecDeque;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// So much may wait to be told. What is more waits where it comes from, which then is between the runs of a campaign.
const MOST_WAITING: usize = 10_000;

/// While so much waits, how the load goes on is not added to it, and the load does not wait for a reader.
const MOST_BEFORE_LIVE: usize = 5_000;

/// For so long a server may say nothing before it is said that it is waited for.
const SILENCE: Duration = Duration::from_secs(5);

/// Passes on to `P` what it is told, without waiting for it.
pub struct Announcer<P> {
    waiting: Arc<Waiting>,
    thread: JoinHandle<P>,
}

impl<P: Progress + Send + 'static> Announcer<P> {
    /// Begins to tell `to`.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(to: P) -> io::Result<Self> {
        Self::with_silence(to, SILENCE)
    }

    fn with_silence(mut to: P, silence: Duration) -> io::Result<Self> {
        let waiting = Arc::new(Waiting::default());
        let told = Arc::clone(&waiting);
        let thread = Builder::new().name("progress".to_owned()).spawn(move || {
            let mut asked = false;
            loop {
                match told.next(asked.then_some(silence)) {
                    Next::News(news) => {
                        asked = matches!(news, News::Asks(_));
                        news.tell(&mut to);
                    }
                    Next::Silence => {
                        asked = false;
                        to.waits();
                    }
                    Next::End => return to,
                }
            }
        })?;
        Ok(Self { waiting, thread })
    }

    /// Waits until all is told, and gives back to whom it was.
    pub fn close(self) -> P {
        self.waiting.close();
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// What is to be told: a call of [`Progress`].
enum News {
    Begins(Upcoming),
    Step(String),
    Asks(String),
    Amount {
        done: u64,
        total: u64,
        unit: String,
    },
    Done(String),
    Note(String),
    Live(Box<Live>),
    Versus {
        known: Box<Versus>,
        measured: Duration,
        at_most: Duration,
    },
    Pair {
        number: usize,
        of: usize,
        left: Duration,
        each: Duration,
    },
    Capacity(Box<Capacity>, Duration),
    Finished(Box<FinishedRun>),
}

impl News {
    fn tell(&self, to: &mut impl Progress) {
        match self {
            Self::Begins(run) => to.begins(run),
            Self::Step(text) => to.step(text),
            Self::Asks(text) => to.asks(text),
            Self::Amount { done, total, unit } => to.amount(*done, *total, unit),
            Self::Done(result) => to.done(result),
            Self::Note(text) => to.note(text),
            Self::Live(live) => to.live(live),
            Self::Versus {
                known,
                measured,
                at_most,
            } => to.versus(known, *measured, *at_most),
            Self::Pair { number, of, left, each } => to.pair(*number, *of, *left, *each),
            Self::Capacity(known, left) => to.capacity(known, *left),
            Self::Finished(run) => to.finished(run),
        }
    }
}

/// What comes next.
enum Next {
    News(News),
    /// Nothing for as long as that was waited for.
    Silence,
    /// Nothing any more.
    End,
}

/// News that were not told yet.
#[derive(Default)]
struct Waiting {
    news: Mutex<Pile>,
    changed: Condvar,
}

#[derive(Default)]
struct Pile {
    news: VecDeque<News>,
    /// How often it was not added how the load goes on, since something was.
    left_out: usize,
    closed: bool,
}

impl Pile {
    /// Adds `news`, and before it how much is missing there.
    fn add(&mut self, news: News) {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            let text = match left_out {
                1 => "A line about the load was left out".to_owned(),
                _ => format!("{} lines about the load were left out", count(left_out as u64)),
            };
            self.news
                .push_back(News::Note(format!("{text}, because nobody read those before.")));
        }
        self.news.push_back(news);
    }
}

impl Waiting {
    /// Adds `news`. How far a step has come takes the place of how far it had.
    fn push(&self, news: News) {
        let mut pile = self.pile();
        match news {
            News::Live(_) | News::Versus { .. } | News::Pair { .. } | News::Capacity(..)
                if pile.news.len() >= MOST_BEFORE_LIVE =>
            {
                pile.left_out += 1;
                return;
            }
            News::Amount { .. } => {
                pile.news.pop_back_if(|last| matches!(last, News::Amount { .. }));
            }
            News::Live(_) | News::Versus { .. } | News::Pair { .. } | News::Capacity(..) => {}
            _ => {
                let full = |pile: &mut Pile| pile.news.len() >= MOST_WAITING;
                pile = self
                    .changed
                    .wait_while(pile, full)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        pile.add(news);
        self.changed.notify_all();
    }

    /// Waits for the next, so long or as long as it takes.
    fn next(&self, limit: Option<Duration>) -> Next {
        let none = |pile: &mut Pile| pile.news.is_empty() && !pile.closed;
        let pile = self.pile();
        let mut pile = match limit {
            Some(limit) => {
                let waited = self.changed.wait_timeout_while(pile, limit, none);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait_while(pile, none);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        let next = match pile.news.pop_front() {
            Some(news) => Next::News(news),
            None if pile.closed => Next::End,
            None => Next::Silence,
        };
        self.changed.notify_all();
        next
    }

    fn close(&self) {
        self.pile().closed = true;
        self.changed.notify_all();
    }

    fn pile(&self) -> MutexGuard<'_, Pile> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Progress for Announcer<P> {
    fn begins(&mut self, run: &Upcoming) {
        self.waiting.push(News::Begins(run.clone()));
    }

    fn step(&mut self, text: &str) {
        self.waiting.push(News::Step(text.to_owned()));
    }

    fn asks(&mut self, text: &str) {
        self.waiting.push(News::Asks(text.to_owned()));
    }

    fn amount(&mut self, done: u64, total: u64, unit: &str) {
        let unit = unit.to_owned();
        self.waiting.push(News::Amount { done, total, unit });
    }

    fn done(&mut self, result: &str) {
        self.waiting.push(News::Done(result.to_owned()));
    }

    fn note(&mut self, text: &str) {
        self.waiting.push(News::Note(text.to_owned()));
    }

    fn live(&mut self, live: &Live) {
        self.waiting.push(News::Live(Box::new(live.clone())));
    }

    fn versus(&mut self, known: &Versus, measured: Duration, at_most: Duration) {
        let known = Box::new(known.clone());
        self.waiting.push(News::Versus {
            known,
            measured,
            at_most,
        });
    }

    fn pair(&mut self, number: usize, of: usize, left: Duration, each: Duration) {
        self.waiting.push(News::Pair { number, of, left, each });
    }

    fn capacity(&mut self, known: &Capacity, left: Duration) {
        self.waiting.push(News::Capacity(Box::new(known.clone()), left));
    }

    fn finished(&mut self, run: &FinishedRun) {
        self.waiting.push(News::Finished(Box::new(run.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::time::Duration;

    /// Writes down what it is told, the first time when it may.
    struct Slow {
        begun: Sender<()>,
        may: Receiver<()>,
        told: Vec<String>,
    }

    impl Slow {
        fn hear(&mut self, text: String) {
            if self.told.is_empty() {
                self.begun.send(()).unwrap();
                self.may.recv().unwrap();
            }
            self.told.push(text);
        }
    }

    impl Progress for Slow {
        fn step(&mut self, text: &str) {
            self.hear(text.to_owned());
        }

        fn note(&mut self, text: &str) {
            self.hear(format!("note: {text}"));
        }

        fn live(&mut self, live: &Live) {
            self.hear(format!("{} s", live.elapsed.as_secs()));
        }
    }

    /// An announcer whose listener hears "Connecting" and then no more until the sender is used.
    fn stalled() -> (Announcer<Slow>, Sender<()>) {
        let ((begun, has_begun), (go, may)) = (mpsc::channel(), mpsc::channel());
        let told = Vec::new();
        let mut announcer = Announcer::start(Slow { begun, may, told }).unwrap();
        announcer.step("Connecting");
        has_begun.recv().unwrap();
        (announcer, go)
    }

    fn pass(seconds: std::ops::Range<u64>, announcer: &mut Announcer<Slow>) {
        for second in seconds {
            announcer.live(&Live {
                phase: "measure".to_owned(),
                elapsed: Duration::from_secs(second),
                left: None,
                tps: 0.0,
                latencies: Vec::new(),
                errors: 0,
            });
        }
    }

    #[test]
    fn who_listens_late_hears_of_every_second() {
        let (mut announcer, go) = stalled();
        pass(1..4, &mut announcer);
        announcer.note("the disk is full");
        pass(4..6, &mut announcer);
        go.send(()).unwrap();
        let told = announcer.close().told;
        let expected = [
            "Connecting",
            "1 s",
            "2 s",
            "3 s",
            "note: the disk is full",
            "4 s",
            "5 s",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn who_does_not_listen_holds_up_nobody_and_is_told_what_was_left_out() {
        let (mut announcer, go) = stalled();
        // Were any of them waited for, this would not come to its end.
        pass(0..50_000, &mut announcer);
        announcer.note("the disk is full");
        pass(50_000..50_001, &mut announcer);
        announcer.step("Stopping");
        go.send(()).unwrap();
        let told = announcer.close().told;
        let (lines, rest) = told.split_at(1 + MOST_BEFORE_LIVE);
        assert_eq!(lines[MOST_BEFORE_LIVE], "4999 s");
        assert_eq!(
            rest,
            [
                "note: 45,000 lines about the load were left out, because nobody read those before.",
                "note: the disk is full",
                "note: A line about the load was left out, because nobody read those before.",
                "Stopping"
            ]
        );
    }

    /// Writes down what it is told of servers, and passes on that one is waited for.
    struct Watcher {
        waits: Sender<()>,
        told: Vec<String>,
    }

    impl Progress for Watcher {
        fn step(&mut self, text: &str) {
            self.told.push(text.to_owned());
        }

        fn waits(&mut self) {
            self.told.push("it waits".to_owned());
            self.waits.send(()).unwrap();
        }

        fn note(&mut self, _text: &str) {}
    }

    #[test]
    fn a_silent_server_is_told_once_each_time_that_it_is_asked() {
        let (waits, waited) = mpsc::channel();
        let told = Vec::new();
        let mut announcer = Announcer::with_silence(Watcher { waits, told }, Duration::from_millis(1)).unwrap();
        for text in ["Connecting", "Restoring"] {
            announcer.asks(text);
            waited.recv().unwrap();
        }
        announcer.step("Filling");
        // Nobody is waited for, however long this takes.
        assert!(waited.recv_timeout(Duration::from_millis(50)).is_err());
        let told = announcer.close().told;
        assert_eq!(told, ["Connecting", "it waits", "Restoring", "it waits", "Filling"]);
    }
}

//! Progress that is told by a thread of its own: whoever reads it slowly, or not at all, holds up neither the load
//! nor its archive.

use dyno_analysis::progress::{FinishedRun, Live, Upcoming};
use dyno_lab::run::Progress;
use std::collections::VecDeque;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// So much may wait to be told. What is more waits where it comes from, which then is between the runs of a campaign.
const MOST_WAITING: usize = 10_000;

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
    pub fn start(mut to: P) -> io::Result<Self> {
        let waiting = Arc::new(Waiting::default());
        let told = Arc::clone(&waiting);
        let thread = Builder::new().name("progress".to_owned()).spawn(move || {
            while let Some(news) = told.next() {
                news.tell(&mut to);
            }
            to
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
    Amount { done: u64, total: u64, unit: String },
    Done(String),
    Note(String),
    Live(Box<Live>),
    Finished(Box<FinishedRun>),
}

impl News {
    /// Whether it is old when there is more of its kind.
    fn ages(&self) -> bool {
        matches!(self, Self::Amount { .. } | Self::Live(_))
    }

    fn tell(&self, to: &mut impl Progress) {
        match self {
            Self::Begins(run) => to.begins(run),
            Self::Step(text) => to.step(text),
            Self::Amount { done, total, unit } => to.amount(*done, *total, unit),
            Self::Done(result) => to.done(result),
            Self::Note(text) => to.note(text),
            Self::Live(live) => to.live(live),
            Self::Finished(run) => to.finished(run),
        }
    }
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
    closed: bool,
}

impl Waiting {
    /// Adds `news`; of those that age, the newest takes the place of the one before.
    fn push(&self, news: News) {
        let mut pile = self.pile();
        if !news.ages() {
            let full = |pile: &mut Pile| pile.news.len() >= MOST_WAITING;
            pile = self
                .changed
                .wait_while(pile, full)
                .unwrap_or_else(PoisonError::into_inner);
        } else if pile.news.back().is_some_and(News::ages) {
            pile.news.pop_back();
        }
        pile.news.push_back(news);
        self.changed.notify_all();
    }

    /// Waits for the next; `None` if there is none any more.
    fn next(&self) -> Option<News> {
        let none = |pile: &mut Pile| pile.news.is_empty() && !pile.closed;
        let pile = self.changed.wait_while(self.pile(), none);
        let next = pile.unwrap_or_else(PoisonError::into_inner).news.pop_front();
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

    #[test]
    fn who_does_not_listen_holds_up_nobody_and_misses_only_what_is_old() {
        let ((begun, has_begun), (go, may)) = (mpsc::channel(), mpsc::channel());
        let told = Vec::new();
        let mut announcer = Announcer::start(Slow { begun, may, told }).unwrap();
        let mut live = Live {
            phase: "measure".to_owned(),
            elapsed: Duration::ZERO,
            left: None,
            tps: 0.0,
            latencies: Vec::new(),
            errors: 0,
        };
        announcer.step("Connecting");
        has_begun.recv().unwrap();
        // Were any of them waited for, this would not come to its end.
        let mut passes = |seconds: std::ops::Range<u64>, announcer: &mut Announcer<Slow>| {
            for second in seconds {
                live.elapsed = Duration::from_secs(second);
                announcer.live(&live);
            }
        };
        passes(0..50_000, &mut announcer);
        announcer.note("the disk is full");
        passes(50_000..100_000, &mut announcer);
        announcer.step("Stopping");
        go.send(()).unwrap();
        let told = announcer.close().told;
        assert_eq!(
            told,
            ["Connecting", "49999 s", "note: the disk is full", "99999 s", "Stopping"]
        );
    }
}

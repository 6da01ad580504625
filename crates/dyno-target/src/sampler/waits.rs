//! What sessions wait for, counted ten times a second: `waits.csv`.

use crate::sampler::{Moment, Sink};
use dyno_record::{Series, Value, WaitKind};
use std::collections::BTreeMap;
use std::time::Duration;

const COLUMNS: [&str; 5] = ["backend", "wait_event_type", "wait_event", "sessions", "kind"];

/// The measured sessions, as rows of `waits.csv` call them.
pub(crate) const CLIENT: &str = "client";

/// The class of sessions that do not wait.
pub(crate) const RUNNING: &str = "CPU";

/// Whom a session belongs to, the class of what it waits for, and what that is.
pub(crate) type Wait = (String, String, String);

/// What a wait of this class, for this event, is for.
pub(crate) type KindOf = fn(&str, &str) -> WaitKind;

/// How often rows are written, less some tolerance. Sessions are looked at far more often: for longer between two
/// looks nobody knows what they did.
const ROWS_EVERY: Duration = Duration::from_millis(950);

/// The waits seen since the last rows were written.
pub(crate) struct Waits {
    series: Series,
    kind_of: KindOf,
    open: Window,
    /// Rows that are complete but for what later looks know better.
    closed: Option<Window>,
    /// How many looks these are kept for.
    kept_for: u32,
    /// When the time began that the open rows are of.
    began: Duration,
    looked: Option<Moment>,
}

/// What was seen in a stretch of time.
#[derive(Default)]
struct Window {
    /// Sessions, summed up over all looks.
    seen: BTreeMap<Wait, f64>,
    looks: u32,
    /// The last look.
    end: Option<Moment>,
}

impl Waits {
    /// Rows are written as soon as they can be.
    pub(crate) fn new(kind_of: KindOf) -> Self {
        Self::corrected_within(0, kind_of)
    }

    /// Rows are kept for so many looks more, as these may know better what was seen at those before them.
    pub(crate) fn corrected_within(looks: u32, kind_of: KindOf) -> Self {
        Self {
            series: Series::new("waits.csv", COLUMNS),
            kind_of,
            open: Window::default(),
            closed: None,
            kept_for: looks,
            began: Duration::ZERO,
            looked: None,
        }
    }

    /// Adds what was seen at one instant, and writes the mean numbers of sessions when it is time. Gives back whether
    /// rows are complete with this look.
    pub(crate) fn add(
        &mut self,
        moment: Moment,
        waits: impl IntoIterator<Item = (Wait, f64)>,
        sink: &mut dyn Sink,
    ) -> bool {
        let looked = self.looked.map_or(Duration::ZERO, |looked| looked.at);
        if moment.at.saturating_sub(looked) >= ROWS_EVERY {
            self.write(sink);
            self.began = moment.at;
        }
        self.looked = Some(moment);
        self.open.end = Some(moment);
        self.open.looks += 1;
        for (wait, sessions) in waits {
            *self.open.seen.entry(wait).or_default() += sessions;
        }
        let is_complete = moment.at.saturating_sub(self.began) >= ROWS_EVERY;
        if is_complete {
            self.close(sink);
            self.began = moment.at;
        }
        if self.open.looks >= self.kept_for {
            self.write_closed(sink);
        }
        is_complete
    }

    /// At the look so many looks before the last one, sessions of those that `from` names waited for `to`. What is
    /// written already stays.
    pub(crate) fn correct(&mut self, looks_ago: u32, from: impl Fn(&Wait) -> bool, to: &Wait, sessions: f64) {
        let window = match looks_ago < self.open.looks {
            true => Some(&mut self.open),
            false => self.closed.as_mut(),
        };
        if let Some(window) = window {
            window.shift(from, to, sessions);
        }
    }

    /// In the rows that were completed last, so many sessions in the mean, of those that `from` names, waited for `to`.
    /// Gives back for how many of them there was room.
    pub(crate) fn refine(&mut self, from: impl Fn(&Wait) -> bool, to: &Wait, sessions: f64) -> f64 {
        let Some(closed) = &mut self.closed else {
            return 0.0;
        };
        let looks = f64::from(closed.looks);
        closed.shift(from, to, sessions * looks) / looks
    }

    /// To the rows that were completed last belong so many sessions in the mean that no look has seen.
    pub(crate) fn complement(&mut self, wait: Wait, sessions: f64) {
        if let Some(closed) = &mut self.closed {
            *closed.seen.entry(wait).or_default() += sessions * f64::from(closed.looks);
        }
    }

    /// Writes what was seen until the last look, and begins anew.
    pub(crate) fn write(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
        self.write_closed(sink);
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        self.write_closed(sink);
        if self.open.looks > 0 {
            self.closed = Some(std::mem::take(&mut self.open));
        }
    }

    fn write_closed(&mut self, sink: &mut dyn Sink) {
        let Some(Window {
            mut seen,
            looks,
            end: Some(end),
        }) = self.closed.take()
        else {
            return;
        };
        if seen.is_empty() {
            // That nobody did anything is something else than that nobody looked.
            seen.insert((CLIENT.to_owned(), RUNNING.to_owned(), String::new()), 0.0);
        }
        for ((backend, class, event), sessions) in seen {
            let means = (self.kind_of)(&class, &event).name();
            let values = [
                Value::from(backend),
                Value::from(class),
                Value::from(event),
                Value::from(sessions / f64::from(looks)),
                Value::from(means),
            ];
            sink.row(end, &self.series, &values);
        }
    }
}

impl Window {
    /// Has so many sessions of those that `from` names wait for `to`, as far as there are so many. Gives back how many
    /// there were.
    fn shift(&mut self, from: impl Fn(&Wait) -> bool, to: &Wait, sessions: f64) -> f64 {
        let mut left = sessions;
        for (_, seen) in self.seen.iter_mut().filter(|(wait, _)| from(wait)) {
            let taken = left.min(*seen).max(0.0);
            *seen -= taken;
            left -= taken;
        }
        let shifted = sessions - left;
        if shifted > 0.0 {
            *self.seen.entry(to.clone()).or_default() += shifted;
            self.seen.retain(|_, sessions| *sessions > 0.0);
        }
        shifted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;

    fn kind_of(class: &str, _: &str) -> WaitKind {
        match class {
            RUNNING => WaitKind::None,
            _ => WaitKind::Lock,
        }
    }

    /// The time, what was waited for, and the sessions of each row.
    fn rows(heard: &Heard) -> Vec<(f64, Value, Value)> {
        let rows = heard.rows.iter();
        rows.map(|(at_s, values)| (*at_s, values[1].clone(), values[3].clone()))
            .collect()
    }

    /// Looks ten times a second between these tenths of seconds, and sees so many sessions wait for a lock.
    fn look(waits: &mut Waits, tenths: std::ops::Range<u64>, sessions: Option<f64>, heard: &mut Heard) {
        for tenth in tenths {
            let moment = Moment {
                at: Duration::from_millis(tenth * 100),
                late: Duration::ZERO,
            };
            let lock = ("client".to_owned(), "Lock".to_owned(), "relation".to_owned());
            waits.add(moment, sessions.map(|sessions| (lock, sessions)), heard);
        }
    }

    #[test]
    fn a_second_in_which_nobody_does_anything_has_a_row() {
        let (mut waits, mut heard) = (Waits::new(kind_of), Heard::default());
        look(&mut waits, 1..11, Some(2.0), &mut heard);
        look(&mut waits, 11..21, None, &mut heard);
        assert_eq!(
            rows(&heard),
            [(1.0, "Lock".into(), 2.0.into()), (2.0, "CPU".into(), 0.0.into())]
        );
    }

    #[test]
    fn time_without_a_look_is_in_no_row() {
        let (mut waits, mut heard) = (Waits::new(kind_of), Heard::default());
        look(&mut waits, 1..16, Some(2.0), &mut heard);
        // The server was not to be reached.
        look(&mut waits, 200..213, Some(8.0), &mut heard);
        waits.write(&mut heard);
        waits.write(&mut heard);
        let sessions = [(1.0, 2.0), (1.5, 2.0), (21.0, 8.0), (21.2, 8.0)];
        assert_eq!(
            rows(&heard),
            sessions.map(|(at_s, sessions)| (at_s, "Lock".into(), sessions.into()))
        );
    }

    fn client(class: &str) -> Wait {
        ("client".to_owned(), class.to_owned(), class.to_lowercase())
    }

    fn at(tenth: u64) -> Moment {
        Moment {
            at: Duration::from_millis(tenth * 100),
            late: Duration::ZERO,
        }
    }

    #[test]
    fn later_looks_put_right_what_is_not_yet_written() {
        let (mut waits, mut heard) = (Waits::corrected_within(3, kind_of), Heard::default());
        let running = |wait: &Wait| wait.1 == RUNNING;
        for tenth in 1..=10 {
            let is_complete = waits.add(at(tenth), [(client(RUNNING), 2.0)], &mut heard);
            assert_eq!(is_complete, tenth == 10);
        }
        // The first look of the next rows knows of the last one of those before, and of the one before that.
        waits.add(at(11), [(client("Lock"), 2.0)], &mut heard);
        waits.correct(1, running, &client("Lock"), 2.0);
        waits.correct(2, running, &client("Lock"), 2.0);
        assert_eq!(rows(&heard), []);
        waits.add(at(12), [(client(RUNNING), 1.0), (client("Lock"), 1.0)], &mut heard);
        waits.correct(0, running, &client("Lock"), 1.0);
        waits.add(at(13), [(client("Lock"), 2.0)], &mut heard);
        let first = [(1.0, RUNNING.into(), 1.6.into()), (1.0, "Lock".into(), 0.4.into())];
        assert_eq!(rows(&heard), first);
        // What is written stays.
        waits.correct(5, running, &client("Lock"), 2.0);
        waits.write(&mut heard);
        assert_eq!(rows(&heard)[2..], [(1.3, "Lock".into(), 2.0.into())]);
    }

    #[test]
    fn what_is_known_better_of_all_looks_together_is_no_more_than_was_seen() {
        let (mut waits, mut heard) = (Waits::corrected_within(1, kind_of), Heard::default());
        let running = |wait: &Wait| wait.1 == RUNNING;
        assert_eq!(waits.refine(running, &client("Lock"), 1.0), 0.0);
        look(&mut waits, 1..10, None, &mut heard);
        waits.add(at(10), [(client(RUNNING), 20.0)], &mut heard);
        assert_eq!(waits.refine(running, &client("IO"), 0.5), 0.5);
        assert_eq!(waits.refine(running, &client("Lock"), 3.0), 1.5);
        waits.complement(("background".to_owned(), "IO".to_owned(), String::new()), 0.25);
        waits.write(&mut heard);
        assert_eq!(
            rows(&heard),
            [
                (1.0, "IO".into(), 0.25.into()),
                (1.0, "IO".into(), 0.5.into()),
                (1.0, "Lock".into(), 1.5.into())
            ]
        );
    }
}

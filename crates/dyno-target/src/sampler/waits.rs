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
    seen: BTreeMap<Wait, f64>,
    samples: u32,
    /// When the time began that the next rows are of.
    began: Duration,
    looked: Option<Moment>,
}

impl Waits {
    pub(crate) fn new(kind_of: KindOf) -> Self {
        Self {
            series: Series::new("waits.csv", COLUMNS),
            kind_of,
            seen: BTreeMap::new(),
            samples: 0,
            began: Duration::ZERO,
            looked: None,
        }
    }

    /// Adds what was seen at one instant, and writes the mean numbers of sessions when it is time.
    pub(crate) fn add(&mut self, moment: Moment, waits: impl IntoIterator<Item = (Wait, f64)>, sink: &mut dyn Sink) {
        let looked = self.looked.map_or(Duration::ZERO, |looked| looked.at);
        if moment.at.saturating_sub(looked) >= ROWS_EVERY {
            self.write(sink);
            self.began = moment.at;
        }
        self.looked = Some(moment);
        self.samples += 1;
        for (wait, sessions) in waits {
            *self.seen.entry(wait).or_default() += sessions;
        }
        if moment.at.saturating_sub(self.began) >= ROWS_EVERY {
            self.write(sink);
            self.began = moment.at;
        }
    }

    /// Writes what was seen until the last look, and begins anew.
    pub(crate) fn write(&mut self, sink: &mut dyn Sink) {
        let (Some(moment), 1..) = (self.looked, self.samples) else {
            return;
        };
        let samples = f64::from(std::mem::take(&mut self.samples));
        let mut seen = std::mem::take(&mut self.seen);
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
                Value::from(sessions / samples),
                Value::from(means),
            ];
            sink.row(moment, &self.series, &values);
        }
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
}

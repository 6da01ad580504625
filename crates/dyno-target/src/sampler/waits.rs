//! What sessions wait for, counted ten times a second: `waits.csv`.

use super::{Moment, Series, Sink, Value};
use std::collections::BTreeMap;

const COLUMNS: [&str; 4] = ["backend", "wait_event_type", "wait_event", "sessions"];

/// Whom a session belongs to, what it waits for, and the details of that.
type Wait = (String, String, String);

/// The waits seen since the last rows were written.
pub(super) struct Waits {
    series: Series,
    seen: BTreeMap<Wait, f64>,
    samples: u32,
}

impl Waits {
    pub(super) fn new() -> Self {
        Self {
            series: Series::new("waits.csv", COLUMNS),
            seen: BTreeMap::new(),
            samples: 0,
        }
    }

    /// Adds what was seen at one instant.
    pub(super) fn add(&mut self, waits: impl IntoIterator<Item = (Wait, f64)>) {
        self.samples += 1;
        for (wait, sessions) in waits {
            *self.seen.entry(wait).or_default() += sessions;
        }
    }

    /// Writes the mean numbers of sessions, and begins anew.
    pub(super) fn write(&mut self, moment: Moment, sink: &mut dyn Sink) {
        let samples = f64::from(self.samples.max(1));
        for ((backend, kind, event), sessions) in std::mem::take(&mut self.seen) {
            let values = [
                Value::from(backend),
                Value::from(kind),
                Value::from(event),
                Value::from(sessions / samples),
            ];
            sink.row(moment, &self.series, &values);
        }
        self.samples = 0;
    }
}

//! A sink that keeps what it is told, for tests.

use super::{Moment, Sink};
use dyno_record::{Event, Series, Value};

/// What a sampler told, in order.
#[derive(Default)]
pub(crate) struct Heard {
    /// The time and the values of each row.
    pub rows: Vec<(f64, Vec<Value>)>,
    pub events: Vec<Event>,
}

impl Sink for Heard {
    fn row(&mut self, moment: Moment, _: &Series, values: &[Value]) {
        self.rows.push((moment.at_s(), values.to_vec()));
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn warn(&mut self, text: String) {
        panic!("{text}");
    }
}

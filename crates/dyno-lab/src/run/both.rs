//! A load that is both reported by a front end of its own and kept in the archive.

use super::Recorder;
use dyno_engine::{ClientEvent, Connected, Ending, Found, Observer};
use dyno_record::Interval;
use std::ops::ControlFlow;

/// Lets two see the load: who reports and who keeps.
pub struct Both<'a, 'b, W> {
    /// Always.
    pub watch: &'a mut W,
    /// If the run is kept.
    pub recorder: Option<&'a mut Recorder<'b>>,
}

impl<W: Observer> Observer for Both<'_, '_, W> {
    fn connected(&mut self, connected: &Connected) {
        self.watch.connected(connected);
        if let Some(recorder) = &mut self.recorder {
            recorder.connected(connected);
        }
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        if let Some(recorder) = &mut self.recorder {
            recorder.interval(interval)?;
        }
        self.watch.interval(interval)
    }

    fn overdue(&mut self, interval: &Interval) -> ControlFlow<()> {
        // What is kept is complete.
        self.watch.overdue(interval)
    }

    fn stuck(&mut self, known: &[Interval], ending: Option<&Ending>) {
        self.watch.stuck(known, ending);
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        self.watch.statement(workload, place, found);
        if let Some(recorder) = &mut self.recorder {
            recorder.statement(workload, place, found);
        }
    }

    fn client_event(&mut self, event: &ClientEvent) {
        self.watch.client_event(event);
        if let Some(recorder) = &mut self.recorder {
            recorder.client_event(event);
        }
    }
}

//! Reads the host's counters beside the load, once a second.

use crate::protocol::Report;
use dyno_record::{Event, Series, Value};
use dyno_target::host::load_host_sampler;
use dyno_target::sampler::{Moment, Sampler, Sink};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

/// Sampling under way.
pub(super) struct Sampling {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

/// What reads this host.
pub(super) fn sampler() -> Box<dyn Sampler> {
    load_host_sampler()
}

impl Sampling {
    /// Begins: times count from now.
    pub fn start(mut sampler: Box<dyn Sampler>, reports: Sender<Report>) -> Self {
        let begin = Instant::now();
        let (stop, stopped) = mpsc::channel();
        let problem = reports.clone();
        let body = move || {
            let mut told = Told(reports);
            let period = sampler.period();
            let mut next = begin + period;
            loop {
                let ended = stopped.recv_timeout(next.saturating_duration_since(Instant::now()));
                let is_last = !matches!(ended, Err(RecvTimeoutError::Timeout));
                let began = Instant::now();
                let moment = Moment {
                    at: began.duration_since(begin),
                    late: began.saturating_duration_since(next),
                };
                // What cannot be read has no value; there is nothing else that could fail.
                let _ = sampler.sample(moment, &mut told);
                if is_last {
                    return;
                }
                while next <= Instant::now() {
                    next += period;
                }
            }
        };
        let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(body);
        if let Err(error) = &thread {
            let text = format!("The host's counters are missing, because no thread could be started: {error}.");
            let _ = problem.send(Report::Warning(text));
        }
        Self {
            stop,
            thread: thread.ok(),
        }
    }

    /// Takes a last sample and ends.
    pub fn finish(self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

/// Tells the controller what is read.
struct Told(Sender<Report>);

impl Sink for Told {
    fn row(&mut self, moment: Moment, series: &Series, values: &[Value]) {
        if series.file != dyno_target::host::HOST_FILE {
            return;
        }
        let values = values.iter().map(|value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        });
        let _ = self.0.send(Report::Sample {
            at: moment.at,
            values: values.collect(),
        });
    }

    fn event(&mut self, _event: Event) {}

    fn warn(&mut self, text: String) {
        let _ = self.0.send(Report::Warning(text));
    }
}

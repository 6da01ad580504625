//! Samplers at work, and what they have to say.

use dyno_record::{Event, Meaning, Series, Value};
use dyno_target::sampler::{Moment, Sink};
use dyno_target::target::SamplerSet;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// A row by column, with its time.
pub type Row = (f64, HashMap<String, Value>);

/// Everything that samplers had to say.
#[derive(Default)]
pub struct Told {
    /// For each file its rows.
    pub rows: HashMap<&'static str, Vec<Row>>,
    /// For each file its columns by what they mean.
    pub meanings: HashMap<&'static str, BTreeMap<Meaning, String>>,
    pub events: Vec<Event>,
    pub warnings: Vec<String>,
}

struct Ear(Arc<Mutex<Told>>);

impl Sink for Ear {
    fn row(&mut self, moment: Moment, series: &Series, values: &[Value]) {
        assert_eq!(series.columns.len(), values.len(), "{}", series.file);
        let row = series.columns.iter().cloned().zip(values.iter().cloned()).collect();
        let mut told = self.0.lock().unwrap();
        told.meanings.insert(series.file, series.meanings.clone());
        told.rows
            .entry(series.file)
            .or_default()
            .push((moment.at.as_secs_f64(), row));
    }

    fn event(&mut self, event: Event) {
        self.0.lock().unwrap().events.push(event);
    }

    fn warn(&mut self, text: String) {
        self.0.lock().unwrap().warnings.push(text);
    }
}

/// Has all samplers work, each on a thread of its own as in a run, until `provoke` is done.
pub fn watch(set: SamplerSet, provoke: impl FnOnce()) -> Told {
    let told = Arc::new(Mutex::new(Told::default()));
    told.lock().unwrap().warnings = set.warnings;
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let mut stops = Vec::new();
        for mut sampler in set.samplers {
            let (stop, stopped) = mpsc::channel::<()>();
            stops.push(stop);
            let mut ear = Ear(Arc::clone(&told));
            scope.spawn(move || {
                // Tables need not be waited for.
                let period = sampler.period().min(Duration::from_secs(1));
                let mut next = begin + period;
                loop {
                    // On time, however long the last sample took.
                    let ended = stopped
                        .recv_timeout(next.saturating_duration_since(Instant::now()))
                        .is_err_and(|e| e == mpsc::RecvTimeoutError::Disconnected);
                    next = (next + period).max(Instant::now());
                    let moment = Moment {
                        at: begin.elapsed(),
                        late: Duration::ZERO,
                    };
                    let result = if ended {
                        sampler.finish(moment, &mut ear)
                    } else {
                        sampler.sample(moment, &mut ear)
                    };
                    if let Err(error) = result {
                        ear.warn(format!("{}: {error}", sampler.subject()));
                    }
                    if ended {
                        return;
                    }
                }
            });
        }
        provoke();
        drop(stops);
    });
    Arc::into_inner(told).unwrap().into_inner().unwrap()
}

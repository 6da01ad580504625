//! Drives the samplers beside a running load: each on a thread of its own, so that one that hangs holds up nothing
//! else.

use dyno_archive::summary::SamplingCost;
use dyno_archive::{ArchiveError, EventRecord, SampleWriter};
use dyno_engine::Stop;
use dyno_record::{Event, Series, Value};
use dyno_target::sampler::{Moment, Sampler, Sink};
use dyno_target::target::{Database, SamplerSet};
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the last samples may take when the load is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// How soon a sampler that failed is tried again: at first, and at the latest.
const RETRY_FIRST: Duration = Duration::from_millis(200);
const RETRY_LAST: Duration = Duration::from_secs(5);

/// An answer that takes longer may say more about the server than about the question.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The sampling of one run, ready to begin.
#[derive(Default)]
pub(super) struct Sampling(SamplerSet);

/// Sampling under way.
pub(super) struct Running {
    begin: Instant,
    followed: Vec<Followed>,
    events: Receiver<EventRecord>,
    warnings: Receiver<String>,
    outages: Receiver<Outage>,
    cost: Arc<Cost>,
}

/// A sampler on its thread, as seen from outside.
struct Followed {
    subject: &'static str,
    stop: Sender<()>,
    thread: JoinHandle<()>,
    /// When its last sample began, or the first of those that failed since then, in milliseconds since the first phase
    /// began.
    asked_ms: Arc<AtomicU64>,
}

/// A time in which a sampler failed.
#[derive(Debug)]
struct Outage {
    subjects: Vec<&'static str>,
    since: Duration,
    /// None: the run ended first.
    until: Option<Duration>,
    reason: String,
}

/// What came of it, beside the files.
#[derive(Default)]
pub(super) struct Sampled {
    /// What has happened and was not yet told.
    pub events: Vec<EventRecord>,
    /// What went wrong, as sentences.
    pub warnings: Vec<String>,
    pub cost: Option<SamplingCost>,
}

/// What sampling has cost so far, over all threads.
#[derive(Default)]
struct Cost {
    server_us: AtomicU64,
    cpu_us: AtomicU64,
    standstills: Mutex<Standstills>,
}

/// What may be the cost of a sample, and may be a server that stands still. Times are in seconds since the first
/// phase began.
#[derive(Default)]
struct Standstills {
    /// Begin and end of each sample that took long.
    samples: Vec<(f64, f64)>,
    /// Begin and end of each time in which the server or dyno stood still.
    seen: Vec<(f64, f64)>,
}

impl Cost {
    fn standstills(&self) -> MutexGuard<'_, Standstills> {
        self.standstills.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a sample that the server has given.
    fn answered(&self, at: Duration, took: Duration) {
        if took < STANDSTILL {
            let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.server_us.fetch_add(us, Ordering::Relaxed);
        } else {
            let sample = (at.as_secs_f64(), (at + took).as_secs_f64());
            self.standstills().samples.push(sample);
        }
    }

    /// How long the server was busy with samples, in seconds. One that stands still is not.
    fn server_s(&self) -> f64 {
        let Standstills { samples, seen } = &*self.standstills();
        let long = samples.iter().map(|(start_s, end_s)| {
            let overlap_s = seen
                .iter()
                .map(|(from_s, to_s)| to_s.min(*end_s) - from_s.max(*start_s));
            let stood_still_s: f64 = overlap_s.map(|overlap_s| overlap_s.max(0.0)).sum();
            (end_s - start_s - stood_still_s).max(0.0)
        });
        self.server_us.load(Ordering::Relaxed) as f64 / 1e6 + long.sum::<f64>()
    }
}

impl Sampling {
    /// Makes ready all samplers of a database; `None` if `stop` is raised before they are.
    pub fn prepare(database: &dyn Database, stop: &Stop) -> Option<Self> {
        database.samplers(&stop.flag()).map(Self)
    }

    /// What will not be sampled, as sentences.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Says that these are the servers of one run: what they use of the machine is not taken for that of strangers.
    pub fn stand_together<'a>(all: impl Iterator<Item = &'a Self> + Clone) {
        for (place, one) in all.clone().enumerate() {
            all.clone()
                .skip(place + 1)
                .for_each(|other| one.0.stand_beside(&other.0));
        }
    }

    /// Begins: the time of every sample counts from now, which is `load_started` by the time of day. The files are made
    /// in `folder`.
    pub fn start(self, folder: &Path, load_started: Option<Timestamp>) -> Running {
        let begin = Instant::now();
        let (events_to, events) = mpsc::channel();
        let (warnings_to, warnings) = mpsc::channel();
        let (outages_to, outages) = mpsc::channel();
        let cost = Arc::new(Cost::default());
        let mut followed = Vec::new();
        for sampler in self.0.samplers {
            let (stop, stopped) = mpsc::channel();
            let subject = sampler.subject();
            let files = Files {
                folder: folder.to_owned(),
                load_started,
                writers: HashMap::new(),
                events: events_to.clone(),
                warnings: warnings_to.clone(),
                cost: Arc::clone(&cost),
            };
            let asked_ms = Arc::default();
            let turn = Turn {
                sampler,
                asked_ms: Arc::clone(&asked_ms),
                files,
                outages: outages_to.clone(),
                begin,
                cost: Arc::clone(&cost),
                failing: None,
            };
            let thread = std::thread::Builder::new().name("sampler".to_owned());
            match thread.spawn(move || turn.run(&stopped)) {
                Ok(thread) => followed.push(Followed {
                    subject,
                    stop,
                    thread,
                    asked_ms,
                }),
                Err(error) => {
                    let _ = warnings_to.send(format!(
                        "{subject} could not be sampled, because no thread could be started: {error}."
                    ));
                }
            }
        }
        Running {
            begin,
            followed,
            events,
            warnings,
            outages,
            cost,
        }
    }
}

impl Outage {
    /// One for what several samplers met at the same time for the same reason.
    fn merged(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_by_key(|outage| outage.since);
        let mut merged: Vec<Self> = Vec::new();
        for outage in all {
            let same = |other: &&mut Self| {
                other.reason == outage.reason && other.until.is_none_or(|until| outage.since <= until)
            };
            match merged.iter_mut().find(same) {
                Some(other) => {
                    other.subjects.extend(outage.subjects);
                    other.until = other.until.zip(outage.until).map(|(one, two)| one.max(two));
                }
                None => merged.push(outage),
            }
        }
        merged
    }
}

impl std::fmt::Display for Outage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "From {:.1} s ", self.since.as_secs_f64())?;
        match self.until {
            Some(until) => write!(f, "to {:.1} s", until.as_secs_f64())?,
            None => f.write_str("to the end")?,
        }
        write!(
            f,
            ", there are no samples of {}, because reading them failed: {}.",
            self.subjects.join(", "),
            self.reason
        )
    }
}

impl Running {
    /// What has happened since the last time.
    pub fn events(&self) -> Vec<EventRecord> {
        self.events.try_iter().collect()
    }

    /// Takes last samples and ends. A sampler that does not come back is abandoned, and that is said.
    pub fn finish(self) -> Sampled {
        let sampled_s = self.begin.elapsed().as_secs_f64().max(1e-9);
        for sampler in &self.followed {
            // A thread that has ended does not listen any more.
            let _ = sampler.stop.send(());
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && !self.followed.iter().all(|sampler| sampler.thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let abandoned = self.followed.iter().filter(|sampler| !sampler.thread.is_finished());
        let abandoned = abandoned.map(|sampler| Outage {
            subjects: vec![sampler.subject],
            since: Duration::from_millis(sampler.asked_ms.load(Ordering::Relaxed)),
            until: None,
            reason: "there was no answer when the run ended".to_owned(),
        });
        let outages = Outage::merged(self.outages.try_iter().chain(abandoned).collect());
        let outages = outages.iter().map(Outage::to_string);
        Sampled {
            events: self.events(),
            warnings: self.warnings.try_iter().chain(outages).collect(),
            cost: (!self.followed.is_empty()).then(|| SamplingCost {
                server_ms_per_s: self.cost.server_s() * 1e3 / sampled_s,
                dyno_cpu_us_per_s: self.cost.cpu_us.load(Ordering::Relaxed) as f64 / sampled_s,
            }),
        }
    }
}

/// A sampler on its thread.
struct Turn {
    sampler: Box<dyn Sampler>,
    asked_ms: Arc<AtomicU64>,
    files: Files,
    outages: Sender<Outage>,
    begin: Instant,
    cost: Arc<Cost>,
    failing: Option<Failing>,
}

/// Samples that fail.
struct Failing {
    since: Duration,
    reason: String,
    retry: Duration,
}

impl Turn {
    fn run(mut self, stopped: &Receiver<()>) {
        let period = self.sampler.period();
        let mut next = self.begin.checked_add(period);
        loop {
            let ended = match next {
                Some(next) => stopped.recv_timeout(next.saturating_duration_since(Instant::now())),
                None => stopped.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let last = !matches!(ended, Err(RecvTimeoutError::Timeout));
            let began = Instant::now();
            let moment = Moment {
                at: began.duration_since(self.begin),
                late: next.map_or(Duration::ZERO, |next| began.saturating_duration_since(next)),
            };
            if self.failing.is_none() {
                let asked_ms = u64::try_from(moment.at.as_millis()).unwrap_or(u64::MAX);
                self.asked_ms.store(asked_ms, Ordering::Relaxed);
            }
            let result = if last {
                self.sampler.finish(moment, &mut self.files)
            } else {
                self.sampler.sample(moment, &mut self.files)
            };
            // One that failed was mostly waited for.
            if self.sampler.asks_server() && result.is_ok() {
                self.cost.answered(moment.at, began.elapsed());
            }
            self.judge(moment.at, result.map_err(|error| error.to_string()));
            if last {
                self.recovered(None);
                return;
            }
            // Samples whose time has passed meanwhile are left out, so that the others come when they should.
            let now = Instant::now();
            next = match &self.failing {
                Some(failing) => now.checked_add(failing.retry),
                None => next.map(|mut next| {
                    while next <= now {
                        next += period;
                    }
                    next
                }),
            };
        }
    }

    fn judge(&mut self, at: Duration, result: Result<(), String>) {
        match (result, &mut self.failing) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => self.recovered(Some(at)),
            (Err(_), Some(failing)) => failing.retry = (failing.retry * 2).min(RETRY_LAST),
            (Err(reason), none) => {
                *none = Some(Failing {
                    since: at,
                    reason,
                    retry: RETRY_FIRST,
                });
            }
        }
    }

    /// What failed works again, or the run is over.
    fn recovered(&mut self, at: Option<Duration>) {
        let Some(failing) = self.failing.take() else { return };
        let _ = self.outages.send(Outage {
            subjects: vec![self.sampler.subject()],
            since: failing.since,
            until: at,
            reason: failing.reason,
        });
    }
}

impl Drop for Turn {
    /// The thread's CPU time is known when it ends; one that never does has not cost any lately.
    fn drop(&mut self) {
        let used = clock_gettime(ClockId::ThreadCPUTime);
        let us = used.tv_sec.unsigned_abs() * 1_000_000 + used.tv_nsec.unsigned_abs() / 1_000;
        self.cost.cpu_us.fetch_add(us, Ordering::Relaxed);
    }
}

/// Where a sampler's rows and events go: each series into a file of its own, made for its first row.
struct Files {
    folder: PathBuf,
    load_started: Option<Timestamp>,
    writers: HashMap<&'static str, Option<SampleWriter>>,
    events: Sender<EventRecord>,
    warnings: Sender<String>,
    cost: Arc<Cost>,
}

impl Files {
    fn write(&mut self, moment: Moment, series: &Series, values: &[Value]) -> Result<(), ArchiveError> {
        let folder = &self.folder;
        let writer = match self.writers.get_mut(series.file) {
            Some(writer) => writer,
            None => {
                // If it cannot be made, that is said once.
                self.writers.insert(series.file, None);
                let made = SampleWriter::create(folder, series, self.load_started)?;
                self.writers.entry(series.file).insert_entry(Some(made)).into_mut()
            }
        };
        match writer {
            Some(writer) => writer.row(moment.at, values),
            None => Ok(()),
        }
    }
}

impl Sink for Files {
    fn row(&mut self, moment: Moment, series: &Series, values: &[Value]) {
        if let Err(error) = self.write(moment, series, values) {
            self.warn(format!("{error}. Further samples for this file are lost."));
        }
    }

    fn event(&mut self, event: Event) {
        if let Event::Stalled(stalled) = &event {
            let seen = (stalled.start_s, stalled.end_s);
            self.cost.standstills().seen.push(seen);
        }
        // Nobody listens any more when the sampler was abandoned.
        let _ = self.events.send(event.into());
    }

    fn warn(&mut self, text: String) {
        let _ = self.warnings.send(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_target::sampler::SampleError;

    #[test]
    fn a_long_sample_costs_what_no_standstill_explains() {
        let cost = Cost::default();
        let seconds = Duration::from_secs_f64;
        cost.answered(seconds(3.0), seconds(0.5));
        cost.answered(seconds(5.0), seconds(1.5));
        assert_eq!(cost.server_s(), 2.0);
        cost.standstills().seen.push((4.0, 6.25));
        assert_eq!(cost.server_s(), 0.75);
    }

    /// A sampler whose server never answers.
    struct Unanswered;

    impl Sampler for Unanswered {
        fn subject(&self) -> &'static str {
            "the server's counters"
        }

        fn period(&self) -> Duration {
            Duration::from_secs(3600)
        }

        fn asks_server(&self) -> bool {
            true
        }

        fn sample(&mut self, _: Moment, _: &mut dyn Sink) -> Result<(), SampleError> {
            loop {
                std::thread::park();
            }
        }
    }

    #[test]
    fn a_sampler_that_does_not_come_back_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let mut sampling = Sampling::default();
        sampling.0.samplers.push(Box::new(Unanswered));
        let said = sampling.start(folder.path(), None).finish().warnings;
        let expected = "s to the end, there are no samples of the server's counters, because reading them failed: \
                        there was no answer when the run ended.";
        assert!(said.len() == 1 && said[0].ends_with(expected), "{said:?}");
    }

    #[test]
    fn what_failed_at_the_same_time_for_the_same_reason_is_said_once() {
        let outage = |subject, since, until: Option<u64>, reason: &str| Outage {
            subjects: vec![subject],
            since: Duration::from_secs(since),
            until: until.map(Duration::from_secs),
            reason: reason.to_owned(),
        };
        let all = vec![
            outage("b", 4, Some(9), "gone"),
            outage("a", 3, Some(5), "gone"),
            outage("a", 20, None, "gone"),
            outage("c", 4, Some(5), "refused"),
        ];
        let said: Vec<String> = Outage::merged(all).iter().map(Outage::to_string).collect();
        assert_eq!(
            said,
            [
                "From 3.0 s to 9.0 s, there are no samples of a, b, because reading them failed: gone.",
                "From 4.0 s to 5.0 s, there are no samples of c, because reading them failed: refused.",
                "From 20.0 s to the end, there are no samples of a, because reading them failed: gone.",
            ]
        );
    }
}

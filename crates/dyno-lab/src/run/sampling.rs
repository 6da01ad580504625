//! Reads the counters of host and server beside a running load, on a thread of its own so that a server that does not answer holds up nothing else.

use crate::archive::{ArchiveError, RunWriter, SampleWriter};
use dyno_target::address::ConnectionInfo;
use dyno_target::sampler::{HostSampler, PgSampler, Sampler};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The shortest time between two samples: reading counters more often would weigh on what is measured.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// How long the last sample may take when the load is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// A source with the file its samples go to.
struct Source {
    sampler: Box<dyn Sampler>,
    file: SampleWriter,
}

/// The sampling of one run, ready to begin.
pub(super) struct Sampling {
    sources: Vec<Source>,
    period: Duration,
    /// What could not be sampled, as sentences.
    pub warnings: Vec<String>,
}

/// Sampling under way.
pub(super) struct Running {
    stop: Sender<()>,
    warnings: Receiver<String>,
    thread: JoinHandle<()>,
}

impl Sampling {
    /// Connects to what is to be sampled and makes the files.
    pub fn prepare(target: &ConnectionInfo, interval: Duration, writer: &RunWriter) -> Result<Self, ArchiveError> {
        let mut warnings = Vec::new();
        let host = HostSampler::new();
        let mut sources = vec![Source {
            file: writer.host_samples(host.columns())?,
            sampler: Box::new(host),
        }];
        match PgSampler::connect(target) {
            Ok(server) => {
                warnings.extend_from_slice(server.warnings());
                sources.push(Source {
                    file: writer.server_samples(server.columns())?,
                    sampler: Box::new(server),
                });
            }
            Err(error) => warnings.push(format!("The server's counters are not sampled: {error}.")),
        }
        Ok(Self {
            sources,
            period: interval.max(SHORTEST_PERIOD),
            warnings,
        })
    }

    /// Begins: the time of every sample counts from now.
    pub fn start(self) -> std::io::Result<Running> {
        let (stop, stopped) = mpsc::channel();
        let (complaints, warnings) = mpsc::channel();
        let begin = Instant::now();
        let body = move || sample(self.sources, self.period, begin, &stopped, &complaints);
        let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(body)?;
        Ok(Running { stop, warnings, thread })
    }
}

fn sample(
    mut sources: Vec<Source>,
    period: Duration,
    begin: Instant,
    stopped: &Receiver<()>,
    complaints: &Sender<String>,
) {
    let mut next = begin;
    loop {
        next += period;
        let ended = stopped.recv_timeout(next.saturating_duration_since(Instant::now()));
        sources.retain_mut(|source| {
            let result = source
                .sampler
                .sample()
                .map_err(|error| error.to_string())
                .and_then(|row| {
                    source
                        .file
                        .sample(begin.elapsed(), &row)
                        .map_err(|error| error.to_string())
                });
            // A source that fails is left alone: what failed will be in the run's errors as well.
            let Err(error) = result else { return true };
            let _ = complaints.send(format!(
                "Sampling stopped after {:.0} s: {error}.",
                begin.elapsed().as_secs_f64()
            ));
            false
        });
        if !matches!(ended, Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}

impl Running {
    /// Takes a last sample and ends. Gives back what went wrong. A source that does not answer any more is abandoned.
    pub fn finish(self) -> Vec<String> {
        let _ = self.stop.send(());
        let deadline = Instant::now() + PATIENCE;
        while !self.thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.warnings.try_iter().collect()
    }
}

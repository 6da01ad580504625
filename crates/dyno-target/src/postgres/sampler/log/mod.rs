//! The log of a server that dyno started: checkpoints and autovacuums, exact to the millisecond.
//!
//! Logs of other servers are not read: their format, language and clock may be anything.

mod entry;

use self::entry::{Entry, Told};
use crate::sampler::tail::Tail;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Autovacuum, Checkpoint, Event};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Follows a log.
pub(super) struct LogSampler {
    tail: Tail,
    /// A checkpoint that has begun.
    open: Option<(f64, String)>,
}

impl LogSampler {
    /// Begins at the end that the log has now.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            tail: Tail::of(path),
            open: None,
        }
    }

    /// Tells of a checkpoint whose end was not seen.
    fn tell_open(&mut self, sink: &mut dyn Sink) {
        if let Some((start_s, reason)) = self.open.take() {
            sink.event(Event::Checkpoint(Checkpoint {
                reason,
                start_s,
                ..Checkpoint::default()
            }));
        }
    }

    /// `begun_s` is when the first phase began, in seconds since 1970.
    fn tell(&mut self, entry: &Entry<'_>, begun_s: f64, sink: &mut dyn Sink) {
        let at_s = entry.unix_s - begun_s;
        match entry.told() {
            Some(Told::CheckpointBegins { reason }) => {
                // One that did not end, because the server did.
                self.tell_open(sink);
                self.open = Some((at_s, reason.to_owned()));
            }
            Some(Told::CheckpointEnds(figures)) => {
                let begun = self.open.take();
                sink.event(Event::Checkpoint(Checkpoint {
                    start_s: figures
                        .total_s
                        .map(|total_s| at_s - total_s)
                        .or(begun.as_ref().map(|(start_s, _)| *start_s))
                        .unwrap_or(at_s),
                    reason: begun.map_or_else(|| "unknown".to_owned(), |(_, reason)| reason),
                    end_s: Some(at_s),
                    write_s: figures.write_s,
                    sync_s: figures.sync_s,
                    buffers: figures.buffers,
                    wal_files: figures.wal_files,
                }));
            }
            Some(Told::Autovacuum {
                table,
                analyze,
                elapsed_s,
            }) => sink.event(Event::Autovacuum(Autovacuum {
                table: table.to_owned(),
                start_s: at_s - elapsed_s.unwrap_or(0.0),
                end_s: at_s,
                analyze,
            })),
            None => {}
        }
    }
}

impl Sampler for LogSampler {
    fn subject(&self) -> &'static str {
        "the server's log"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn asks_server(&self) -> bool {
        false
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun_s = now.as_secs_f64() - moment.at_s();
        let failed = |error: std::io::Error| SampleError(error.to_string());
        let written = self.tail.written().map_err(failed)?;
        while let Some(text) = self.tail.lines(written).map_err(failed)? {
            for entry in Entry::all(&text) {
                self.tell(&entry, begun_s, sink);
            }
        }
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let result = self.sample(moment, sink);
        self.tell_open(sink);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;
    use std::io::Write;

    #[test]
    fn a_log_that_grows_fast_is_read_to_its_end() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut sampler = LogSampler::new(file.path());
        let statement = "2026-01-02 03:04:05.678 UTC [9] LOG:  duration: 0.1 ms  statement: select 1\n";
        let statements = statement.repeat(3 * Tail::CHUNK_BYTES as usize / statement.len());
        let checkpoint = "2026-01-02 03:04:06.678 UTC [7] LOG:  checkpoint starting: time\n";
        write!(file, "{statements}{checkpoint}").unwrap();
        let moment = Moment {
            at: Duration::from_secs(1),
            late: Duration::ZERO,
        };
        let mut heard = Heard::default();
        sampler.finish(moment, &mut heard).unwrap();
        assert!(
            matches!(&heard.events[..], [Event::Checkpoint(_)]),
            "{:?}",
            heard.events
        );
    }
}

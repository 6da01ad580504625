//! The files of `-l`: a line per transaction, or per interval.
//!
//! Each thread has a file of its own: `PREFIX.PID` for the first, `PREFIX.PID.N` for the others. Lines are
//! collected in memory and written in large pieces, and whatever ends the load writes the rest. A file that cannot
//! be written further is told about once; the load goes on.

use crate::message;
use crate::version::Version;
use dyno_engine::{LogContext, LogEntry, LoggedOutcome, NewLog, Pacing, TransactionLog};
use dyno_load::{LogError, LogPlan, Work, WorkloadPlan, no_log};
use dyno_record::{FailureCounts, Sums};
use dyno_script::Random;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the lines have.
#[derive(Clone, Copy, Debug)]
struct Layout {
    version: Version,
    /// With `-R`.
    lag: bool,
    /// With `-L`.
    limited: bool,
    /// With more than one try.
    retries: bool,
    /// Failures by kind.
    detailed: bool,
    /// The first phase that is logged; earlier ones are warm-up.
    first_phase: usize,
}

/// Opens the files of all threads of a workload.
///
/// # Errors
/// One of them cannot be made.
pub fn open(workload: &WorkloadPlan, log: &LogPlan) -> Result<NewLog, LogError> {
    let version = log.version.parse().map_err(|()| LogError {
        name: log.prefix.clone(),
        cause: io::Error::other(format!("there is no pgbench {}", log.version)),
    })?;
    let process = std::process::id();
    let mut files = Vec::with_capacity(workload.threads);
    for thread in 0..workload.threads {
        let name = match thread {
            0 => format!("{}.{process}", log.prefix),
            _ => format!("{}.{process}.{thread}", log.prefix),
        };
        let file = File::create(crate::path(&name)).map_err(|cause| LogError { name, cause })?;
        files.push(Mutex::new(Some(file)));
    }
    let layout = Layout {
        version,
        lag: workload.pacing != Pacing::Closed,
        limited: workload.latency_limit.is_some(),
        retries: workload.failures.max_tries != Some(1),
        detailed: log.failures_detailed,
        first_phase: log.first_phase,
    };
    let Work::Scripts(scripts) = &workload.program else {
        return no_log(workload, log);
    };
    let seeds = scripts.seeds(workload.clients, workload.threads);
    let (interval_s, rate) = (log.aggregate_s, log.sampling_rate);
    Ok(Box::new(move |context: LogContext| {
        let file = files.get(context.thread).and_then(|file| file.lock().ok()?.take());
        let out = Output::new(file, epoch_us(context.epoch));
        match interval_s {
            Some(interval_s) => {
                let start_us = out.epoch_us + context.start_ns / 1000;
                Box::new(Aggregate {
                    out,
                    layout,
                    interval_s,
                    start_s: start_us / 1_000_000,
                    sums: Part::default(),
                })
            }
            None => Box::new(Plain {
                out,
                layout,
                sample: rate.zip(seeds.threads.get(context.thread).map(|thread| thread.sample.clone())),
            }),
        }
    }))
}

fn epoch_us(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// A file that may stop taking lines.
struct Output {
    file: Option<BufWriter<File>>,
    /// The wall clock when the load's clock was at 0.
    epoch_us: u64,
}

impl Output {
    fn new(file: Option<File>, epoch_us: u64) -> Self {
        Self {
            file: file.map(|file| BufWriter::with_capacity(1 << 16, file)),
            epoch_us,
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if let Some(file) = &mut self.file
            && let Err(cause) = write(file)
        {
            message::error(&format!(
                "could not write to a log file: {}; it ends here",
                crate::system_text(&cause)
            ));
            self.file = None;
        }
    }
}

/// A line per transaction.
struct Plain {
    out: Output,
    layout: Layout,
    /// The share of transactions to log, and what decides.
    sample: Option<(f64, Random)>,
}

impl TransactionLog for Plain {
    fn transaction(&mut self, entry: &LogEntry) {
        if let Some((rate, random)) = &mut self.sample
            && random.unit() > *rate
        {
            return;
        }
        let (layout, epoch_us) = (self.layout, self.out.epoch_us);
        if entry.phase < layout.first_phase {
            return;
        }
        self.out.write(|file| write_plain(file, layout, epoch_us, entry));
    }

    fn finish(&mut self) {
        self.out.write(Write::flush);
    }
}

fn write_plain(out: &mut impl Write, layout: Layout, epoch_us: u64, entry: &LogEntry) -> io::Result<()> {
    // Up to 10 a client's first transaction is number 0.
    let number = entry.number - u64::from(layout.version < Version::V11 && entry.number > 0);
    write!(out, "{} {number} ", entry.client)?;
    match entry.outcome {
        LoggedOutcome::Done { latency_ns } => write!(out, "{}", rounded_us(latency_ns))?,
        LoggedOutcome::Skipped => out.write_all(b"skipped")?,
        LoggedOutcome::Serialization if layout.detailed => out.write_all(b"serialization")?,
        LoggedOutcome::Deadlock if layout.detailed => out.write_all(b"deadlock")?,
        LoggedOutcome::Other if layout.detailed => out.write_all(b"other")?,
        LoggedOutcome::Serialization | LoggedOutcome::Deadlock | LoggedOutcome::Other => out.write_all(b"failed")?,
    }
    let at_us = epoch_us + entry.at_ns / 1000;
    write!(out, " {} {} {}", entry.script, at_us / 1_000_000, at_us % 1_000_000)?;
    if layout.lag {
        write!(out, " {}", rounded_us(entry.lag_ns))?;
    }
    if layout.retries {
        write!(out, " {}", entry.retries)?;
    }
    out.write_all(b"\n")
}

fn rounded_us(ns: u64) -> u64 {
    ns.saturating_add(500) / 1000
}

/// A line per interval. Like pgbench it never writes the last one, which is not over.
struct Aggregate {
    out: Output,
    layout: Layout,
    interval_s: u64,
    /// When the interval that is being summed up began, since 1970.
    start_s: u64,
    sums: Part,
}

/// What happened in an interval.
#[derive(Clone, Debug, Default)]
struct Part {
    transactions: u64,
    latency: Sums,
    lag: Sums,
    skipped: u64,
    retried: u64,
    retries: u64,
    failures: FailureCounts,
}

impl Aggregate {
    /// Writes the intervals that are over at `now_us`, since 1970.
    fn write_until(&mut self, now_us: u64) {
        while (self.start_s + self.interval_s) * 1_000_000 <= now_us {
            let (layout, start_s) = (self.layout, self.start_s);
            let part = std::mem::take(&mut self.sums);
            self.out.write(|file| part.write(file, layout, start_s));
            self.start_s += self.interval_s;
        }
    }
}

impl TransactionLog for Aggregate {
    fn transaction(&mut self, entry: &LogEntry) {
        self.write_until(self.out.epoch_us + entry.at_ns / 1000);
        if entry.phase >= self.layout.first_phase {
            self.sums.count(entry);
        }
    }

    fn finish(&mut self) {
        self.write_until(epoch_us(SystemTime::now()));
        self.out.write(Write::flush);
    }
}

impl Part {
    fn count(&mut self, entry: &LogEntry) {
        if entry.outcome == LoggedOutcome::Skipped {
            self.skipped += 1;
            return;
        }
        self.retried += u64::from(entry.retries > 0);
        self.retries += u64::from(entry.retries);
        match entry.outcome {
            LoggedOutcome::Done { latency_ns } => {
                self.transactions += 1;
                self.latency.record(latency_ns);
                self.lag.record(entry.lag_ns);
            }
            LoggedOutcome::Serialization => self.failures.serialization += 1,
            LoggedOutcome::Deadlock => self.failures.deadlock += 1,
            LoggedOutcome::Other => self.failures.other += 1,
            LoggedOutcome::Skipped => {}
        }
    }

    /// Writes the line. From 15 on it has all fields always, what does not apply being 0; before, only those that
    /// apply. 19 adds other failures.
    fn write(&self, out: &mut impl Write, layout: Layout, start_s: u64) -> io::Result<()> {
        let sums = |sums: &Sums| {
            format!(
                "{:.0} {:.0} {:.0} {:.0}",
                sums.sum_us, sums.sum_squares_us2, sums.min_us, sums.max_us
            )
        };
        // Up to 14 skipped transactions count here too.
        let counted = match layout.version < Version::V15 {
            true => self.transactions + self.skipped,
            false => self.transactions,
        };
        write!(out, "{start_s} {counted} {}", sums(&self.latency))?;
        let lag = if layout.lag { self.lag } else { Sums::default() };
        let skipped = if layout.limited { self.skipped } else { 0 };
        if layout.version < Version::V15 {
            if layout.lag {
                write!(out, " {}", sums(&lag))?;
                if layout.limited {
                    write!(out, " {skipped}")?;
                }
            }
            return out.write_all(b"\n");
        }
        let (retried, retries) = if layout.retries {
            (self.retried, self.retries)
        } else {
            (0, 0)
        };
        let failures = if layout.detailed {
            self.failures
        } else {
            FailureCounts::default()
        };
        write!(
            out,
            " {} {skipped} {retried} {retries} {} {}",
            sums(&lag),
            failures.serialization,
            failures.deadlock
        )?;
        if layout.version >= Version::V19 {
            write!(out, " {}", failures.other)?;
        }
        out.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        version: Version::NEWEST,
        lag: false,
        limited: false,
        retries: false,
        detailed: false,
        first_phase: 0,
    };

    fn entry(outcome: LoggedOutcome) -> LogEntry {
        LogEntry {
            client: 3,
            number: 7,
            script: 1,
            outcome,
            at_ns: 1_500_000_000,
            lag_ns: 1_700,
            retries: 2,
            phase: 0,
        }
    }

    fn plain(layout: Layout, outcome: LoggedOutcome) -> String {
        let mut out = Vec::new();
        write_plain(&mut out, layout, 1_000_000_000_700_000, &entry(outcome)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_what_applies() {
        let done = LoggedOutcome::Done { latency_ns: 12_345_678 };
        assert_eq!(plain(LAYOUT, done), "3 7 12346 1 1000000002 200000\n");
        let old = Layout {
            version: Version::V10,
            ..LAYOUT
        };
        assert_eq!(plain(old, done), "3 6 12346 1 1000000002 200000\n");
        let mut layout = LAYOUT;
        layout.lag = true;
        layout.retries = true;
        assert_eq!(plain(layout, done), "3 7 12346 1 1000000002 200000 2 2\n");
        assert_eq!(
            plain(layout, LoggedOutcome::Deadlock),
            "3 7 failed 1 1000000002 200000 2 2\n"
        );
        layout.detailed = true;
        assert_eq!(
            plain(layout, LoggedOutcome::Deadlock),
            "3 7 deadlock 1 1000000002 200000 2 2\n"
        );
        assert_eq!(
            plain(layout, LoggedOutcome::Skipped),
            "3 7 skipped 1 1000000002 200000 2 2\n"
        );
    }

    #[test]
    fn an_interval_has_all_fields_from_15_on() {
        let mut part = Part::default();
        part.count(&entry(LoggedOutcome::Done { latency_ns: 2_000_000 }));
        part.count(&entry(LoggedOutcome::Serialization));
        part.count(&entry(LoggedOutcome::Skipped));
        let line = |layout: Layout| {
            let mut out = Vec::new();
            part.write(&mut out, layout, 5).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(line(LAYOUT), "5 1 2000 4000000 2000 2000 0 0 0 0 0 0 0 0 0 0\n");
        let mut layout = LAYOUT;
        (layout.lag, layout.limited, layout.retries, layout.detailed) = (true, true, true, true);
        assert_eq!(line(layout), "5 1 2000 4000000 2000 2000 2 3 2 2 1 2 4 1 0 0\n");
        layout.version = Version::V18;
        assert_eq!(line(layout), "5 1 2000 4000000 2000 2000 2 3 2 2 1 2 4 1 0\n");
        layout.version = Version::V14;
        assert_eq!(line(layout), "5 2 2000 4000000 2000 2000 2 3 2 2 1\n");
        layout.lag = false;
        assert_eq!(line(layout), "5 2 2000 4000000 2000 2000\n");
    }
}

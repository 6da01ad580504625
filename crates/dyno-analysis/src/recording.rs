//! What a run recorded, in the form in which causes are looked for: series over time, and stretches of time in
//! which something went on.

use crate::series::{Series, Signal, Window};
use crate::throughput::Throughput;
use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{EventKind, EventRecord, ProcessRow, Run, Samples, WaitRow};
use dyno_record::{Autovacuum, Blocked, Checkpoint, Meaning, Stalled, Vacuum, WaitKind, Words};
use std::collections::{BTreeMap, HashMap};

/// Everything causes are judged by. In tests it is made by hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    /// The time measured.
    pub measured: Window,
    /// The parts of it in which the load was the same all the time.
    pub levels: Vec<Window>,
    /// Its dips, in order.
    pub dips: Vec<Window>,
    /// Connections of all workloads.
    pub clients: f64,
    /// Connections of the workload whose dips are judged; of all, if these are dips of all together.
    pub losing_clients: f64,
    /// Threads of all workloads.
    pub threads: f64,
    /// Cores of the load's machine.
    pub cores: f64,
    /// What the server calls its parts.
    pub words: Words,
    /// Transactions per second.
    pub tps: Series,
    /// Share of all CPU time that other guests of the machine's host took.
    pub steal_share: Option<Signal>,
    /// Share of all CPU time that was idle.
    pub idle_share: Option<Signal>,
    /// Cores kept busy by processes of neither dyno nor the server.
    pub other_cores: Option<Signal>,
    /// Cores kept busy by dyno.
    pub dyno_cores: Option<Signal>,
    /// Seconds per second that dyno's threads waited for a core.
    pub run_queue: Option<Signal>,
    /// Share of the time in which a disk was busy.
    pub disk_busy_share: Option<Signal>,
    /// Share of the time in which somebody waited for a disk.
    pub disk_pressure: Option<Signal>,
    /// Number of the server's processes that were stopped.
    pub server_stopped: Option<Signal>,
    /// Bytes of the log of changes per second.
    pub log_bytes: Option<Signal>,
    /// Whole pages written to the log per second; not every server counts them.
    pub page_images: Option<Signal>,
    /// Bytes of the log per transaction.
    pub log_per_transaction: Option<Signal>,
    /// Bytes of the log since the last checkpoint, as a share of how many there may be.
    pub log_fill: Option<Signal>,
    /// Bytes of the log written per second, as a share of the same.
    pub log_turnover: Option<Signal>,
    /// Changed pages written per second.
    pub pages_written: Option<Signal>,
    /// Pages per second that were not in the server's cache.
    pub pages_read: Option<Signal>,
    /// The same per transaction.
    pub reads_per_transaction: Option<Signal>,
    /// Transactions of which old versions of rows are left.
    pub to_purge: Option<Signal>,
    /// How many of these were done with per second, where they grew fewer.
    pub purged: Option<Signal>,
    /// Seconds that a transaction waited for the log.
    pub log_wait_per_transaction: Option<Signal>,
    /// Whether the server writes no whole pages to the log.
    pub no_page_images: bool,
    /// Measured sessions that waited for locks.
    pub lock_waits: Option<Signal>,
    /// Measured sessions that waited for a row that another transaction has changed.
    pub row_waits: Series,
    /// Measured sessions that waited for the log.
    pub log_waits: Option<Signal>,
    /// Measured sessions that waited for room in the log, which a checkpoint has yet to make.
    pub room_waits: Option<Signal>,
    /// Measured sessions that waited for something in the server's memory that other sessions used.
    pub memory_waits: Option<Signal>,
    /// Measured sessions that waited for data files.
    pub data_waits: Option<Signal>,
    /// Measured sessions that waited for a standby.
    pub standby_waits: Option<Signal>,
    /// Measured sessions that waited for another server.
    pub remote_waits: Option<Signal>,
    /// The processes of neither dyno nor the server, by name: cores kept busy.
    pub others: HashMap<String, Series>,
    /// Checkpoints.
    pub checkpoints: Vec<Checkpoint>,
    /// Work of the autovacuum.
    pub autovacuums: Vec<Autovacuum>,
    /// Vacuums somebody asked for.
    pub vacuums: Vec<Vacuum>,
    /// Times in which measured sessions waited for a lock.
    pub blocked: Vec<Blocked>,
    /// Times in which dyno or the server did not run.
    pub stalled: Vec<Stalled>,
    /// Transactions that failed: how many until when, and the first message.
    pub errors: Vec<(f64, u64, String)>,
    /// When clients lost their connection or ended, and what is said of it.
    pub losses: Vec<(Window, String)>,
}

/// Less CPU time per second than this cannot be told from none: it is counted in hundredths of a second.
const LEAST_RUN: f64 = 0.01;

/// Waits for a core so many times as long as usual, for each second of running and in all, are for a core that
/// somebody else has. Measured here on two cores, with builds beside the run and without: 2.4 to 27 times and 1.4
/// to 11 times with busy loops; in dips with other causes one or the other was less, but for vacuums, during which
/// the others had less than usual.
const LONGER_QUEUE: f64 = 2.0;
const LONGER_IN_ALL: f64 = 1.2;

/// How far around a time throughput is compared with it, in seconds.
const AROUND_S: f64 = 5.0;

/// Fewer other occurrences say nothing about what something does.
const FEWEST_ELSEWHERE: usize = 3;

/// What is read of `host.csv`.
const HOST: [Meaning; 8] = [
    Meaning::CpuStealShare,
    Meaning::CpuIdleShare,
    Meaning::OtherCpuS,
    Meaning::DynoCpuS,
    Meaning::RunQueueS,
    Meaning::DiskBusyShare,
    Meaning::IoPressureUs,
    Meaning::ServerStopped,
];

/// What is read of `server.csv`.
const SERVER: [Meaning; 8] = [
    Meaning::LogBytes,
    Meaning::LogPageImages,
    Meaning::LogSinceCheckpointBytes,
    Meaning::LogSinceCheckpointLimitBytes,
    Meaning::PagesWritten,
    Meaning::PagesRead,
    Meaning::TransactionsToPurge,
    Meaning::SessionsWaitingForLocks,
];

impl Recording {
    /// Reads what `run` recorded. `throughput` and its `dips` are known already.
    pub fn read(run: &Run, throughput: &Throughput, dips: Vec<Window>) -> Self {
        let host = run.host_samples(|meaning| HOST.contains(&meaning));
        let server = run.server_samples(|meaning| SERVER.contains(&meaning));
        let waits = Waits::of(run.waits());
        let facts = run.record.as_ref().ok();
        let total = |number: fn(&WorkloadFacts) -> usize| {
            facts.map_or(0.0, |facts| facts.workloads.iter().map(number).sum::<usize>() as f64)
        };
        let server_traits = run.traits();
        let cores = facts.and_then(|facts| facts.host.get("cores")?.as_f64());
        let signal = |series: Series| Signal::new(series, &dips);
        let gauge = |samples: &Samples, meaning| signal(Series::gauge(&samples.at_s, samples.column(meaning)?));
        let rate = |samples: &Samples, meaning| signal(Series::rate(&samples.at_s, samples.column(meaning)?));
        let mut recording = Self {
            measured: throughput.measured(),
            levels: throughput.levels(),
            clients: total(|workload| workload.clients),
            losing_clients: total(|workload| workload.clients),
            threads: total(|workload| workload.threads),
            cores: cores.unwrap_or(1.0),
            tps: throughput.series(),
            steal_share: gauge(&host, Meaning::CpuStealShare),
            idle_share: gauge(&host, Meaning::CpuIdleShare),
            other_cores: rate(&host, Meaning::OtherCpuS),
            dyno_cores: rate(&host, Meaning::DynoCpuS),
            run_queue: rate(&host, Meaning::RunQueueS),
            disk_busy_share: gauge(&host, Meaning::DiskBusyShare),
            disk_pressure: host
                .column(Meaning::IoPressureUs)
                .map(|us| us.iter().map(|us| us / 1e6).collect::<Vec<_>>())
                .and_then(|seconds| signal(Series::rate(&host.at_s, &seconds))),
            server_stopped: gauge(&host, Meaning::ServerStopped),
            log_bytes: rate(&server, Meaning::LogBytes),
            page_images: rate(&server, Meaning::LogPageImages),
            log_fill: log_fill(&server).and_then(signal),
            log_turnover: log_turnover(&server).and_then(signal),
            pages_written: rate(&server, Meaning::PagesWritten),
            pages_read: rate(&server, Meaning::PagesRead),
            to_purge: gauge(&server, Meaning::TransactionsToPurge),
            purged: server
                .column(Meaning::TransactionsToPurge)
                .and_then(|left| signal(Series::decline(&server.at_s, left))),
            no_page_images: !server_traits.logs_page_images,
            words: server_traits.words,
            lock_waits: signal(waits.series(&[WaitKind::Lock, WaitKind::Row]))
                .or_else(|| gauge(&server, Meaning::SessionsWaitingForLocks)),
            row_waits: waits.series(&[WaitKind::Row]),
            log_waits: signal(waits.series(&[WaitKind::Log])),
            room_waits: signal(waits.series(&[WaitKind::LogRoom])),
            memory_waits: signal(waits.series(&[WaitKind::Memory])),
            data_waits: signal(waits.series(&[WaitKind::Data])),
            standby_waits: signal(waits.series(&[WaitKind::Standby])),
            remote_waits: signal(waits.series(&[WaitKind::Remote])),
            others: others(run.processes()),
            ..Self::default()
        };
        if let Ok(events) = run.events() {
            events.for_each(|event| recording.event(event));
        }
        let per_transaction = |of: &Option<Signal>, tps: &Series| signal(of.as_ref()?.series.per(tps));
        recording.log_per_transaction = per_transaction(&recording.log_bytes, &recording.tps);
        recording.reads_per_transaction = per_transaction(&recording.pages_read, &recording.tps);
        recording.log_wait_per_transaction = per_transaction(&recording.log_waits, &recording.tps);
        recording.dips = dips;
        recording
    }

    /// The same as one workload saw it: its own throughput, and locks that hold up its clients alone. Of what else
    /// sessions waited for, it is not known whose they were.
    pub fn of_workload(&self, name: &str, facts: &[WorkloadFacts], each: &BTreeMap<String, Throughput>) -> Self {
        let facts = facts.iter().find(|workload| workload.name == name);
        Self {
            losing_clients: facts.map_or(self.clients, |workload| workload.clients as f64),
            tps: each.get(name).map_or_else(|| self.tps.clone(), Throughput::series),
            ..self.clone()
        }
    }

    fn event(&mut self, event: EventRecord) {
        match event.kind {
            EventKind::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint),
            EventKind::Autovacuum(autovacuum) => self.autovacuums.push(autovacuum),
            EventKind::Vacuum(vacuum) => self.vacuums.push(vacuum),
            EventKind::Blocked(blocked) => self.blocked.push(blocked),
            EventKind::Stalled(stalled) => self.stalled.push(stalled),
            EventKind::Errors { count, example, .. } => self.errors.push((event.at_s, count, example)),
            EventKind::Aborted { client, reason, .. } => {
                let window = Window {
                    start_s: event.at_s,
                    end_s: event.at_s,
                };
                self.losses.push((window, format!("client {client} ended: {reason}")));
            }
            EventKind::Reconnected { client, after_s, .. } => {
                let window = Window {
                    start_s: event.at_s - after_s,
                    end_s: event.at_s,
                };
                self.losses
                    .push((window, format!("client {client} was disconnected for {after_s:.1} s")));
            }
            EventKind::Phase { .. } | EventKind::Note { .. } => {}
        }
    }

    /// How many seconds dyno's threads waited for a core in `window` for each second they ran, and how many they
    /// usually do. A dyno that has less to do waits less often, so what it waited in all says little.
    pub fn queue(&self, window: Window) -> Option<(f64, f64)> {
        let (waits, runs) = (self.run_queue.as_ref()?, self.dyno_cores.as_ref()?);
        let inside = waits.series.mean_in(window)? / runs.series.mean_in(window)?.max(LEAST_RUN);
        Some((inside, waits.usual.median / runs.usual.median.max(LEAST_RUN)))
    }

    /// Whether dyno had to wait for a core much longer than usual in `window`: the sign that the CPU was what was
    /// missing. When storage or a lock is waited for, fewer threads want a core, and they wait less in all. None
    /// where that was not recorded.
    pub fn is_starved(&self, window: Window) -> Option<bool> {
        let starved = |stall: &Stalled| {
            let time = Window {
                start_s: stall.start_s,
                end_s: stall.end_s,
            };
            stall.starved && time.overlap_s(window) > 0.0
        };
        if self.stalled.iter().any(starved) {
            return Some(true);
        }
        let (inside, usual) = self.queue(window)?;
        let waits = self.run_queue.as_ref()?;
        let in_all = waits.series.mean_in(window)? >= LONGER_IN_ALL * waits.usual.median;
        Some(in_all && inside >= LONGER_QUEUE * usual)
    }

    /// By what share throughput was lower during `times` than right before and after them, not counting what is
    /// near `window`; none if there are too few others to tell. Something that comes again and again and mostly
    /// leaves no mark is no cause when once it comes with a dip.
    pub fn harm_elsewhere(&self, window: Window, times: &[Window]) -> Option<f64> {
        let near = window.widened(AROUND_S);
        let (mut during, mut around, mut count) = (0.0, 0.0, 0);
        for time in times.iter().filter(|time| time.overlap_s(near) == 0.0) {
            let sides = [
                (time.start_s - AROUND_S, time.start_s),
                (time.end_s, time.end_s + AROUND_S),
            ];
            let sides: Vec<f64> = sides
                .into_iter()
                .filter_map(|(start_s, end_s)| self.tps.mean_in(Window { start_s, end_s }))
                .collect();
            let (Some(inside), false) = (self.tps.mean_in(*time), sides.is_empty()) else {
                continue;
            };
            during += inside;
            around += sides.iter().sum::<f64>() / sides.len() as f64;
            count += 1;
        }
        (count >= FEWEST_ELSEWHERE && around > 0.0).then(|| 1.0 - during / around)
    }

    /// The share of `window` in which something goes on, less the share of the time outside of all dips in which it
    /// does: 1 for what happens there and nowhere else, 0 or less for what has nothing to do with it.
    pub fn coincidence(&self, window: Window, times: &[Window]) -> f64 {
        let covered_s = |window: Window| {
            times
                .iter()
                .map(|time| time.overlap_s(window))
                .sum::<f64>()
                .min(window.length_s())
        };
        let (mut usual_s, mut covered_usual_s) = (self.measured.length_s(), covered_s(self.measured));
        for dip in &self.dips {
            usual_s -= dip.length_s();
            covered_usual_s -= covered_s(*dip);
        }
        let inside = if window.length_s() > 0.0 {
            covered_s(window) / window.length_s()
        } else {
            0.0
        };
        let usual = if usual_s > 0.0 {
            (covered_usual_s / usual_s).clamp(0.0, 1.0)
        } else {
            0.0
        };
        inside - usual
    }
}

/// Bytes of the log since the last checkpoint, as a share of how many there may be.
fn log_fill(server: &Samples) -> Option<Series> {
    let used = server.column(Meaning::LogSinceCheckpointBytes)?;
    let limit = server.column(Meaning::LogSinceCheckpointLimitBytes)?;
    let share: Vec<f64> = used.iter().zip(limit).map(|(used, limit)| used / limit).collect();
    Some(Series::gauge(&server.at_s, &share))
}

/// Bytes of the log written per second, as a share of how many there may be since the last checkpoint.
fn log_turnover(server: &Samples) -> Option<Series> {
    let written = server.column(Meaning::LogBytes)?;
    let limit = server.column(Meaning::LogSinceCheckpointLimitBytes)?;
    let limit = Series::gauge(&server.at_s, limit);
    Some(Series::rate(&server.at_s, written).per(&limit))
}

/// The kinds of waits by which causes differ.
const WAITS: [WaitKind; 8] = [
    WaitKind::Lock,
    WaitKind::Row,
    WaitKind::Log,
    WaitKind::LogRoom,
    WaitKind::Memory,
    WaitKind::Data,
    WaitKind::Standby,
    WaitKind::Remote,
];

/// How many measured sessions waited, kind by kind.
#[derive(Default)]
struct Waits {
    /// By the time's bits, so that it sorts (times are positive): sessions of each of [`WAITS`].
    at: BTreeMap<u64, [f64; WAITS.len()]>,
}

impl Waits {
    fn of(rows: impl Iterator<Item = WaitRow>) -> Self {
        let mut waits = Self::default();
        for row in rows.filter(|row| row.at_s >= 0.0 && row.sessions.is_finite()) {
            let sessions = waits.at.entry(row.at_s.to_bits()).or_default();
            let kind = WAITS.iter().position(|kind| *kind == row.kind());
            if let Some(kind) = kind.filter(|_| row.backend == "client") {
                sessions[kind] += row.sessions;
            }
        }
        waits
    }

    /// Sessions that waited in one of these ways.
    fn series(&self, kinds: &[WaitKind]) -> Series {
        let mut series = Series::default();
        let mut before_s = None;
        for (bits, sessions) in &self.at {
            let end_s = f64::from_bits(*bits);
            let start_s = WaitRow::start_s(end_s, before_s.replace(end_s));
            let of_kind = WAITS.iter().zip(sessions).filter(|(kind, _)| kinds.contains(kind));
            let sessions = of_kind.map(|(_, sessions)| sessions).sum();
            series.push(Window { start_s, end_s }, sessions);
        }
        series
    }
}

/// The processes of neither dyno nor the server, by name; those of one name together.
pub(super) fn others(rows: impl Iterator<Item = ProcessRow>) -> HashMap<String, Series> {
    let mut by_name: HashMap<String, Series> = HashMap::new();
    let (mut last_s, mut start_s) = (f64::NAN, f64::NAN);
    for row in rows {
        if row.at_s != last_s {
            (start_s, last_s) = (last_s, row.at_s);
        }
        if row.role == "other" && start_s < row.at_s {
            let window = Window {
                start_s,
                end_s: row.at_s,
            };
            by_name
                .entry(row.process)
                .or_default()
                .push(window, row.cpu_user_share + row.cpu_system_share);
        }
    }
    by_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_after_an_outage_say_nothing_of_it() {
        let row = |at_s, sessions| WaitRow::new(at_s, "client", WaitKind::Lock, ["Lock", "relation"], sessions);
        let rows = [row(9.0, 0.0), row(10.0, 1.0), row(30.0, 8.0)];
        let series = Waits::of(rows.into_iter()).series(&[WaitKind::Lock]);
        let mean = |start_s, end_s| series.mean_in(Window { start_s, end_s });
        assert_eq!(mean(10.0, 29.0), None);
        assert_eq!((mean(9.0, 10.0), mean(29.0, 30.0)), (Some(1.0), Some(8.0)));
    }
}

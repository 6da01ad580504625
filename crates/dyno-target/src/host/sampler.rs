//! The machine dyno runs on, from /proc: `host.csv` and `processes.csv`.

use super::process::ServerProcesses;
use super::processes::{Processes, Role};
use super::{CpuMeter, CpuShares, counters, cpu, kernel, processes, scheduling};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Meaning, Series, Value};
use procfs_core::ProcError;
use std::time::{Duration, Instant};

/// How many processes are named in each sample.
const BUSIEST: usize = 10;

/// The file of the host's counters.
pub const HOST_FILE: &str = "host.csv";

/// What reads the counters of a machine from which a load is driven and on which no server is known: `host.csv` and
/// `processes.csv`.
#[must_use]
pub fn load_host_sampler() -> Box<dyn Sampler> {
    Box::new(HostSampler::new(ServerProcesses::default()))
}

/// The series that has the host's counters.
#[must_use]
pub fn load_host_series() -> Series {
    let meanings = COLUMNS
        .iter()
        .filter_map(|(column, meaning)| Some((*column, (*meaning)?)));
    Series::new(HOST_FILE, COLUMNS.map(|(column, _)| column)).meaning(meanings)
}

/// The columns, with what they mean as far as that is asked for.
const COLUMNS: [(&str, Option<Meaning>); 29] = [
    ("cpu_user_share", Some(Meaning::CpuUserShare)),
    ("cpu_system_share", Some(Meaning::CpuSystemShare)),
    ("cpu_iowait_share", Some(Meaning::CpuIowaitShare)),
    ("cpu_steal_share", Some(Meaning::CpuStealShare)),
    ("cpu_idle_share", Some(Meaning::CpuIdleShare)),
    ("dyno_cpu_s", Some(Meaning::DynoCpuS)),
    ("memory_available_bytes", Some(Meaning::MemoryAvailableBytes)),
    ("load_1min", None),
    ("disk_read_bytes", Some(Meaning::DiskReadBytes)),
    ("disk_written_bytes", Some(Meaning::DiskWrittenBytes)),
    ("net_received_bytes", Some(Meaning::NetReceivedBytes)),
    ("net_sent_bytes", Some(Meaning::NetSentBytes)),
    ("pressure_cpu_some_us", Some(Meaning::CpuPressureUs)),
    ("pressure_io_some_us", Some(Meaning::IoPressureUs)),
    ("pressure_memory_some_us", Some(Meaning::MemoryPressureUs)),
    ("pressure_io_full_us", None),
    ("memory_dirty_bytes", Some(Meaning::MemoryDirtyBytes)),
    ("memory_writeback_bytes", None),
    ("swap_in_bytes", None),
    ("swap_out_bytes", Some(Meaning::SwapOutBytes)),
    ("disk_busy_share", Some(Meaning::DiskBusyShare)),
    ("server_cpu_s", Some(Meaning::ServerCpuS)),
    ("other_cpu_s", Some(Meaning::OtherCpuS)),
    ("procs_running", None),
    ("late_s", None),
    ("runqueue_wait_s", Some(Meaning::RunQueueS)),
    ("server_stopped", Some(Meaning::ServerStopped)),
    ("involuntary_switches", Some(Meaning::InvoluntarySwitches)),
    ("throttled_s", Some(Meaning::ThrottledS)),
];

const PROCESS_COLUMNS: [&str; 6] = ["pid", "process", "role", "cpu_user_share", "cpu_system_share", "state"];

/// Samples CPU by kind and by process, memory, disks, network and pressure.
pub(crate) struct HostSampler {
    series: Series,
    process_series: Series,
    cpu: CpuMeter,
    disks: Option<(Instant, counters::Disks)>,
    processes: Processes,
    others: Others,
    threads: scheduling::Threads,
    server: ServerProcesses,
}

/// CPU time of all other processes: what is left of everybody's. Adding them up one by one would lose those that
/// end between two samples, and what takes the CPU away is often a crowd of them.
#[derive(Debug, Default)]
struct Others {
    first: Option<f64>,
    used_s: f64,
}

impl Others {
    /// From the CPU time of everybody and the part of it that is known; gives what is left since the first reading.
    fn advance(&mut self, all_s: f64, known_s: f64) -> f64 {
        let left = all_s - known_s;
        let first = *self.first.get_or_insert(left);
        // The readings are not of the same instant: what looks like less now is made up for by the next.
        self.used_s = self.used_s.max(left - first);
        self.used_s
    }
}

impl HostSampler {
    /// Begins now: the first sample's shares are since here.
    pub(crate) fn new(server: ServerProcesses) -> Self {
        let mut processes = Processes::default();
        // What has been used so far is not what the load uses.
        let _ = processes.read(server.main(), &server.beside());
        Self {
            series: load_host_series(),
            process_series: Series::new("processes.csv", PROCESS_COLUMNS),
            cpu: CpuMeter::new(),
            disks: None,
            processes,
            others: Others::default(),
            threads: scheduling::Threads::default(),
            server,
        }
    }

    /// Bytes read and written, and how busy the busiest disk was since the last sample.
    fn read_disks(&mut self) -> [Option<f64>; 3] {
        let now = Instant::now();
        let Some(disks) = counters::disks() else {
            return [None; 3];
        };
        let busy = self
            .disks
            .as_ref()
            .and_then(|(then, earlier)| disks.busy_share_since(earlier, now.duration_since(*then).as_secs_f64() * 1e3));
        let values = [Some(disks.read_bytes), Some(disks.written_bytes), busy];
        self.disks = Some((now, disks));
        values
    }
}

/// Why there are no samples.
fn unsampled(error: &ProcError) -> String {
    match cfg!(target_os = "linux") {
        true => error.to_string(),
        false => "only Linux has them where dyno looks (/proc)".to_owned(),
    }
}

impl Sampler for HostSampler {
    fn subject(&self) -> &'static str {
        "the host's counters"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn asks_server(&self) -> bool {
        false
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let begun = Instant::now();
        let main = self.server.main();
        let seen = self.processes.read(main, &self.server.beside()).unwrap_or_default();
        let stats = kernel::stats().map_err(|error| SampleError(unsampled(&error)))?;
        let own_cpu_s = processes::own_cpu_s().map(|own_s| own_s + self.processes.agents_cpu_s());
        let servers_s = self.processes.server_cpu_s() + self.processes.beside_cpu_s();
        let known_s = servers_s + own_cpu_s.unwrap_or(0.0);
        let other_cpu_s = self.others.advance(cpu::used_cpu_s(&stats), known_s);
        // Where processes have to wait for a CPU, reading about them all takes its time, too.
        let moment = Moment {
            at: moment.at + begun.elapsed(),
            ..moment
        };
        let cpu = self.cpu.advance(&stats);
        let share = |part: fn(&CpuShares) -> f64| cpu.as_ref().map(part);
        let stopped: Vec<u32> = seen
            .iter()
            .filter(|process| process.role == Role::Server && process.state == 'T')
            .map(|process| process.pid)
            .collect();
        let [available, dirty, writeback] = counters::memory_bytes();
        let [read, written, busy] = self.read_disks();
        let [received, sent] = counters::net_bytes();
        let [cpu_pressure, io_pressure, memory_pressure, io_full] = counters::pressure_us();
        let [swap_in, swap_out] = counters::swap_bytes();
        let local = main.map(|_| ());
        let values: [Option<f64>; COLUMNS.len()] = [
            share(|cpu| cpu.user),
            share(|cpu| cpu.system),
            share(|cpu| cpu.iowait),
            share(|cpu| cpu.steal),
            share(|cpu| cpu.idle),
            own_cpu_s,
            available,
            counters::load_1min(),
            read,
            written,
            received,
            sent,
            cpu_pressure,
            io_pressure,
            memory_pressure,
            io_full,
            dirty,
            writeback,
            swap_in,
            swap_out,
            busy,
            local.map(|()| self.processes.server_cpu_s()),
            Some(other_cpu_s),
            stats.procs_running.map(f64::from),
            Some(moment.late.as_secs_f64()),
            self.threads.runqueue_wait_s(),
            local.map(|()| stopped.len() as f64),
            self.threads.involuntary_switches(),
            scheduling::throttled_s(),
        ];
        sink.row(moment, &self.series, &values.map(Value::from));
        for process in seen.iter().filter(|process| process.busy_share() > 0.0).take(BUSIEST) {
            let values = [
                Value::from(f64::from(process.pid)),
                Value::from(process.name.as_str()),
                Value::from(process.role.name()),
                Value::from(process.user_share),
                Value::from(process.system_share),
                Value::from(process.state.to_string()),
            ];
            sink.row(moment, &self.process_series, &values);
        }
        self.server.set_stopped(stopped);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_documented() {
        let formats = include_str!("../../../../docs/formats.md");
        let of = |file: &str| formats.split_once(&format!("\n**{file}**")).unwrap().1;
        let (host, rest) = of("host.csv").split_once("\n**").unwrap();
        for (column, _) in COLUMNS {
            assert!(host.contains(&format!("`{column}`")), "host.csv: {column}");
        }
        let (processes, _) = rest.split_once("\n**").unwrap();
        for column in PROCESS_COLUMNS {
            assert!(processes.contains(&format!("`{column}`")), "processes.csv: {column}");
        }
    }

    #[test]
    fn what_nobody_known_used_is_that_of_others() {
        let mut others = Others::default();
        assert_eq!(others.advance(1_000.0, 10.0), 0.0);
        assert_eq!(others.advance(1_004.0, 11.0), 3.0);
        // Less than before is a reading that came too early.
        assert_eq!(others.advance(1_004.1, 11.3), 3.0);
        assert_eq!(others.advance(1_006.0, 11.5), 4.5);
    }
}

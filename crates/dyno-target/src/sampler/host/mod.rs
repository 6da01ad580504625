//! The machine dyno runs on, from /proc: `host.csv` and `processes.csv`.

mod counters;
mod cpu;
mod processes;

pub use cpu::{CpuMeter, CpuShares};

use self::processes::{Processes, Role};
use super::process::ServerProcesses;
use super::{Moment, SampleError, Sampler, Series, Sink, Value};
use procfs::{CurrentSI, KernelStats};
use std::time::{Duration, Instant};

/// How many processes are named in each sample.
const BUSIEST: usize = 10;

const COLUMNS: [&str; 27] = [
    "cpu_user_share",
    "cpu_system_share",
    "cpu_iowait_share",
    "cpu_steal_share",
    "cpu_idle_share",
    "dyno_cpu_s",
    "memory_available_bytes",
    "load_1min",
    "disk_read_bytes",
    "disk_written_bytes",
    "net_received_bytes",
    "net_sent_bytes",
    "pressure_cpu_some_us",
    "pressure_io_some_us",
    "pressure_memory_some_us",
    "pressure_io_full_us",
    "memory_dirty_bytes",
    "memory_writeback_bytes",
    "swap_in_bytes",
    "swap_out_bytes",
    "disk_busy_share",
    "server_cpu_s",
    "other_cpu_s",
    "procs_running",
    "late_s",
    "runqueue_wait_s",
    "server_stopped",
];

const PROCESS_COLUMNS: [&str; 6] = ["pid", "process", "role", "cpu_user_share", "cpu_system_share", "state"];

/// Samples CPU by kind and by process, memory, disks, network and pressure.
pub(super) struct HostSampler {
    series: Series,
    process_series: Series,
    cpu: CpuMeter,
    disks: Option<(Instant, counters::Disks)>,
    processes: Processes,
    server: ServerProcesses,
}

impl HostSampler {
    /// Begins now: the first sample's shares are since here.
    pub(super) fn new(server: ServerProcesses) -> Self {
        let mut processes = Processes::default();
        // What has been used so far is not what the load uses.
        let _ = processes.read(server.main());
        Self {
            series: Series::new("host.csv", COLUMNS),
            process_series: Series::new("processes.csv", PROCESS_COLUMNS),
            cpu: CpuMeter::new(),
            disks: None,
            processes,
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
        let stats = KernelStats::current().map_err(|error| SampleError(error.to_string()))?;
        let cpu = self.cpu.advance(&stats);
        let share = |part: fn(&CpuShares) -> f64| cpu.as_ref().map(part);
        let main = self.server.main();
        let seen = self.processes.read(main).unwrap_or_default();
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
            processes::own_cpu_s(),
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
            Some(self.processes.other_cpu_s()),
            stats.procs_running.map(f64::from),
            Some(moment.late.as_secs_f64()),
            processes::own_runqueue_wait_s(),
            local.map(|()| stopped.len() as f64),
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

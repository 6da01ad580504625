//! What was not read of server and machine: `server.csv`, `host.csv`, `waits.csv`, `processes.csv`, `statements.csv`.

use crate::Error;
use crate::disturbances::Disturbances;
use dyno_archive::{RunWriter, SampleWriter};
use dyno_record::{Series, Value};
use jiff::Timestamp;
use std::path::PathBuf;
use std::time::Duration;

const SERVER: [&str; 10] = [
    "wal_position_bytes",
    "pg_stat_database.xact_commit",
    "pg_stat_database.blks_read",
    "pg_stat_wal.wal_fpi",
    "pg_stat_checkpointer.buffers_written",
    "pg_stat_bgwriter.buffers_clean",
    "locks.waiting",
    "sessions.active",
    "sessions.idle_in_transaction",
    "sample_ms",
];
const HOST: [&str; 19] = [
    "cpu_user_share",
    "cpu_system_share",
    "cpu_iowait_share",
    "cpu_steal_share",
    "cpu_idle_share",
    "server_cpu_s",
    "dyno_cpu_s",
    "other_cpu_s",
    "memory_available_bytes",
    "memory_dirty_bytes",
    "disk_read_bytes",
    "disk_written_bytes",
    "disk_busy_share",
    "net_received_bytes",
    "net_sent_bytes",
    "pressure_cpu_some_us",
    "pressure_io_some_us",
    "pressure_memory_some_us",
    "runqueue_wait_s",
];
const WAITS: [&str; 4] = ["backend", "wait_event_type", "wait_event", "sessions"];
const PROCESSES: [&str; 6] = ["pid", "process", "role", "cpu_user_share", "cpu_system_share", "state"];
const STATEMENTS: [&str; 7] = [
    "query",
    "calls",
    "total_exec_time",
    "rows",
    "shared_blks_hit",
    "shared_blks_read",
    "wal_bytes",
];

/// Writes samples; what adds up is kept here.
pub(crate) struct Samples {
    folder: PathBuf,
    load_started: Option<Timestamp>,
    server: SampleWriter,
    host: SampleWriter,
    waits: SampleWriter,
    processes: SampleWriter,
    last: Duration,
    transactions: f64,
    wal_bytes: f64,
    page_images: f64,
    buffers: f64,
    server_cpu_s: f64,
    dyno_cpu_s: f64,
    io_pressure_us: f64,
}

impl Samples {
    /// Makes the files beside those of a run that has begun.
    pub fn create(run: &RunWriter) -> Result<Self, Error> {
        let (folder, load_started) = (run.path(), run.load_started());
        let writer = |series| SampleWriter::create(folder, series, load_started);
        Ok(Self {
            server: writer(&series("server.csv", &SERVER))?,
            host: writer(&series("host.csv", &HOST))?,
            waits: writer(&series("waits.csv", &WAITS))?,
            processes: writer(&series("processes.csv", &PROCESSES))?,
            folder: folder.to_owned(),
            load_started,
            last: Duration::ZERO,
            transactions: 0.0,
            wal_bytes: 1e9,
            page_images: 0.0,
            buffers: 0.0,
            server_cpu_s: 0.0,
            dyno_cpu_s: 0.0,
            io_pressure_us: 0.0,
        })
    }

    /// Samples `now`, since when last it was sampled `clients` had so many transactions.
    pub fn row(
        &mut self,
        now: Duration,
        transactions: u64,
        clients: usize,
        disturbances: &Disturbances,
        random: &mut fastrand::Rng,
    ) -> Result<(), Error> {
        let period_s = (now - self.last).as_secs_f64();
        let at_s = self.last.as_secs_f64() + period_s / 2.0;
        self.last = now;
        let (done, clients) = (transactions as f64, clients as f64);
        let locked = disturbances.is_locked(at_s);
        let images = done * disturbances.page_images(at_s);
        let writing = disturbances.is_writing(at_s);
        self.transactions += done;
        self.page_images += images.round();
        self.wal_bytes += (done * 120.0 + images * 4_100.0).round();
        self.buffers += if writing { (350.0 * period_s).round() } else { 0.0 };
        let jitter = 0.95 + 0.1 * random.f64();
        let busy = if locked { 0.05 } else { 0.85 * jitter };
        self.server_cpu_s += 1.2 * busy * period_s;
        self.dyno_cpu_s += 0.5 * busy * period_s;
        let iowait = if writing { 0.08 * jitter } else { 0.01 };
        self.io_pressure_us += iowait * 1e6 * period_s;

        let waiting = if locked { clients } else { 0.0 };
        let server = [
            self.wal_bytes,
            self.transactions,
            (self.transactions / 40.0).round(),
            self.page_images,
            self.buffers,
            (self.buffers / 6.0).round(),
            waiting,
            (clients * 0.6).round(),
            0.0,
            3.0 * jitter,
        ];
        self.server.row(now, &server.map(Value::Number))?;
        let host = [
            0.5 * busy,
            0.4 * busy,
            iowait,
            0.004,
            (1.0 - 0.9 * busy - iowait - 0.004).max(0.0),
            self.server_cpu_s,
            self.dyno_cpu_s,
            0.02 * now.as_secs_f64(),
            16e9 - self.transactions * 10.0 % 4e9,
            if writing { 60e6 } else { 220e6 * jitter },
            1e9 + self.transactions * 40.0,
            2e9 + self.wal_bytes + self.buffers * 8_192.0,
            if writing { 0.55 } else { 0.2 * jitter },
            5e6 + self.transactions * 180.0,
            5e6 + self.transactions * 240.0,
            0.3 * busy * 1e6 * now.as_secs_f64(),
            self.io_pressure_us,
            0.0,
            0.1 * self.dyno_cpu_s,
        ];
        self.host.row(now, &host.map(Value::Number))?;
        let running = if locked { 0.1 } else { 0.25 * clients * jitter };
        let sync = if writing { 0.35 } else { 0.25 } * clients;
        let waits = [
            ("client", "CPU", "", running),
            ("client", "IO", "WalSync", if locked { 0.0 } else { sync }),
            (
                "client",
                "LWLock",
                "WALWrite",
                if locked { 0.0 } else { 0.3 * clients * jitter },
            ),
            ("client", "Lock", "relation", waiting),
            (
                "checkpointer",
                "Timeout",
                "CheckpointWriteDelay",
                if writing { 0.9 } else { 0.0 },
            ),
        ];
        for (backend, class, event, sessions) in waits.into_iter().filter(|wait| wait.3 > 0.0) {
            self.waits
                .row(now, &[backend.into(), class.into(), event.into(), sessions.into()])?;
        }
        let processes = [
            ("postgres", "server", 0.25 * busy),
            ("dyno", "dyno", 0.3 * busy),
            ("systemd", "other", 0.01),
        ];
        for (index, (name, role, share)) in processes.into_iter().enumerate() {
            let pid = Value::Number(4_711.0 + index as f64);
            let row = [
                pid,
                name.into(),
                role.into(),
                share.into(),
                (0.8 * share).into(),
                "S".into(),
            ];
            self.processes.row(now, &row)?;
        }
        Ok(())
    }

    /// Writes what statements cost, at the end.
    pub fn statements<'a>(&mut self, now: Duration, statements: impl Iterator<Item = &'a String>) -> Result<(), Error> {
        let mut writer = SampleWriter::create(&self.folder, &series("statements.csv", &STATEMENTS), self.load_started)?;
        let calls = self.transactions;
        for sql in statements {
            let figures = [calls, calls * 0.05, calls, calls * 3.5, calls / 40.0, calls * 300.0];
            let row: Vec<Value> = [sql.as_str().into()]
                .into_iter()
                .chain(figures.map(Value::Number))
                .collect();
            writer.row(now, &row)?;
        }
        Ok(())
    }
}

fn series(file: &'static str, columns: &[&str]) -> Series {
    Series::new(file, columns.iter().copied())
}

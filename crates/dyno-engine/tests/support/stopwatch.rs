//! A client of the scripted server that is nothing but a socket and a clock, with a thread for each connection:
//! what any client of this server sees at best, the system's own delays in waking server and client included. It
//! works out by itself when the transactions of an open loop are due.

use super::scripted_server::ScriptedServer;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The instants at which a thread's transactions are due, from the begin on: gaps with this mean that are
/// distributed as between independent arrivals.
#[derive(Clone)]
pub struct Arrivals {
    random: fastrand::Rng,
    mean: Duration,
    next: Duration,
}

impl Arrivals {
    /// Those of each thread of a load by [`super::load`], of which `threads` threads share `rate_per_s`.
    pub fn of_threads(threads: usize, rate_per_s: f64) -> Vec<Self> {
        let mean = Duration::from_secs_f64(threads as f64 / rate_per_s);
        let of_thread = |thread| Self {
            random: fastrand::Rng::with_seed(thread),
            mean,
            next: Duration::ZERO,
        };
        (0..threads as u64).map(of_thread).collect()
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let gap = -(1.0 - self.random.f64()).ln();
        self.next += self.mean.mul_f64(gap);
        Some(self.next)
    }
}

/// What the stopwatch saw of the transactions that were over in time.
#[derive(Default)]
pub struct Seen {
    /// From when they were due to the end, ascending.
    pub latencies: Vec<Duration>,
    /// From when they were due to when they began, ascending.
    pub lags: Vec<Duration>,
}

impl Seen {
    /// The latency in nanoseconds that `percent` percent do not exceed.
    pub fn percentile_ns(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.latencies.len() as f64).ceil() as usize;
        let value = self.latencies.get(rank.saturating_sub(1));
        value.map_or(f64::NAN, |latency| latency.as_nanos() as f64)
    }
}

/// One request after the other on each of `clients` connections.
pub fn closed(server: &ScriptedServer, clients: usize, lasting: Duration) -> Seen {
    watch(server, &[clients], lasting, |_, now| Some(now))
}

/// Requests by the schedule: each thread's clients take the next arrival when they are free.
pub fn open(server: &ScriptedServer, clients: usize, arrivals: Vec<Arrivals>, lasting: Duration) -> Seen {
    let threads = arrivals.len();
    let shares: Vec<usize> = (0..threads)
        .map(|part| clients / threads + usize::from(part < clients % threads))
        .collect();
    let arrivals: Vec<_> = arrivals.into_iter().map(Mutex::new).collect();
    watch(server, &shares, lasting, |part, _| arrivals[part].lock().ok()?.next())
}

/// `due` says for a thread when its client that is free at the given time is to begin.
fn watch(
    server: &ScriptedServer,
    shares: &[usize],
    lasting: Duration,
    due: impl Fn(usize, Duration) -> Option<Duration> + Sync,
) -> Seen {
    let streams = || -> io::Result<Vec<(usize, TcpStream)>> {
        let parts = shares.iter().enumerate();
        let parts = parts.flat_map(|(part, &share)| std::iter::repeat_n(part, share));
        parts.map(|part| Ok((part, connect(server)?))).collect()
    };
    let Ok(streams) = streams() else {
        return Seen::default();
    };
    let begin = Instant::now();
    let client = |part: usize, mut stream: TcpStream| -> io::Result<Vec<(Duration, Duration)>> {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut buffer = [0; 256];
        let mut times = Vec::new();
        while let Some(due) = due(part, begin.elapsed()).filter(|due| *due < lasting) {
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
            let lag = begin.elapsed().saturating_sub(due);
            stream.write_all(b"Q\0\0\0\x0dselect 1\0")?;
            // Every answer comes in one piece.
            let _ = stream.read(&mut buffer)?;
            let end = begin.elapsed();
            if end < lasting {
                times.push((end - due, lag));
            }
        }
        Ok(times)
    };
    let (mut latencies, mut lags): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        let threads = streams.into_iter().map(|(part, stream)| {
            let client = &client;
            scope.spawn(move || client(part, stream))
        });
        let threads: Vec<_> = threads.collect();
        let times = threads.into_iter().filter_map(|thread| thread.join().ok()?.ok());
        times.flatten().unzip()
    });
    latencies.sort_unstable();
    lags.sort_unstable();
    Seen { latencies, lags }
}

/// Logs in; the greeting comes in one piece.
fn connect(server: &ScriptedServer) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address())?;
    stream.set_nodelay(true)?;
    stream.write_all(b"\0\0\0\x08\0\x03\0\0")?;
    let _ = stream.read(&mut [0; 256])?;
    Ok(stream)
}

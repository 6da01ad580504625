//! What stands in for ssh and the agent that it leads to: a real agent whose words are kept, or a simulated one that
//! says such words again.

use crate::WORKLOADS;
use crate::recorded::Recorded;
use dyno_bench::Result;
use dyno_fleet::frame;
use dyno_fleet::protocol::{Order, Report};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The variable with the stream of a real agent: to be written, or to be said again.
pub const SAID: &str = "FLEET_SCALE_SAID";

/// The variable with the program whose agent is to be recorded; without it, one is simulated.
pub const RECORDS: &str = "FLEET_SCALE_RECORDS";

/// The variable with the file that each host adds a line to, a [`Told`].
pub const TOLD: &str = "FLEET_SCALE_TOLD";

/// What a simulated host says of itself. Instants are in nanoseconds of the machine's monotonic clock.
#[derive(Serialize, Deserialize)]
pub struct Told {
    /// When ssh was first called for any host is the least of these.
    pub called_ns: u64,
    /// When the controller greeted it.
    pub greeted_ns: u64,
    /// When the load began.
    pub began_ns: u64,
    /// When each interval had been sent.
    pub sent_ns: Vec<u64>,
    /// Bytes to the controller while the load ran.
    pub said_bytes: u64,
    /// Bytes from it.
    pub heard_bytes: u64,
}

/// The machine's monotonic clock, which all its processes share.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Whether this process was started as `ssh`.
pub fn is_asked_for() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    Path::new(&name).file_name().is_some_and(|name| name == "ssh")
}

/// Does what the controller asks of ssh.
pub fn main() -> Result<()> {
    // Behind the options are the host and a script for its shell.
    let mut words = std::env::args().rev();
    let (script, host) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !script.ends_with("agent'") {
        // It looks for its program.
        let system = Command::new("uname").arg("-sm").output()?;
        println!("dyno finds: {} there", String::from_utf8_lossy(&system.stdout).trim());
        return Ok(());
    }
    let said = std::env::var(SAID)?;
    match std::env::var_os(RECORDS) {
        Some(dyno) => record(Path::new(&dyno), Path::new(&said)),
        // Each begins at another place.
        None => simulate(Path::new(&said), 7 * number_of(&host)),
    }
}

/// A real agent whose words are kept.
fn record(dyno: &Path, said: &Path) -> Result<()> {
    let mut agent = Command::new(dyno).arg("agent").stdout(Stdio::piped()).spawn()?;
    let mut output = agent.stdout.take().ok_or("the agent has no output")?;
    let (mut ours, mut kept) = (File::from(stdout().as_fd().try_clone_to_owned()?), File::create(said)?);
    let mut chunk = vec![0; 1 << 16];
    loop {
        match output.read(&mut chunk)? {
            0 => break,
            read => {
                ours.write_all(&chunk[..read])?;
                kept.write_all(&chunk[..read])?;
            }
        }
    }
    agent.wait()?;
    Ok(())
}

/// Counts what goes through it.
struct Counting<S>(S, Arc<AtomicU64>);

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(bytes)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

type Output = Arc<Mutex<Counting<File>>>;

fn say(output: &Output, report: &Report) -> Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(frame::write(&mut *output, report)?)
}

/// Hears the controller, and answers at once what it asks for at once.
fn listen(mut input: impl Read, output: &Output, recorded: &Recorded, hear: &Sender<Order>) -> Result<()> {
    let mut buffer = Vec::new();
    loop {
        match frame::read::<Order>(&mut input, &mut buffer)? {
            Order::Ping { sent_ns } => say(
                output,
                &Report::Pong {
                    sent_ns,
                    at_ns: now_ns(),
                },
            )?,
            Order::Hello { .. } => {
                let hello = dyno_fleet::protocol::Hello {
                    clock_ns: now_ns(),
                    ..recorded.hello.clone()
                };
                say(output, &Report::Hello(hello))?;
                hear.send(Order::Hello {
                    protocol: 0,
                    version: String::new(),
                })?;
            }
            order => hear.send(order)?,
        }
    }
}

/// What the controller says next, but for its end.
fn next(heard: &Receiver<Order>) -> Result<Order> {
    match heard.recv()? {
        Order::Quit => Err("the controller has left".into()),
        order => Ok(order),
    }
}

/// The number at the end of a host's name.
fn number_of(host: &str) -> usize {
    host.rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Says again what a real agent has said, from its interval `first` on.
fn simulate(said: &Path, first: usize) -> Result<()> {
    let called_ns = now_ns();
    let recorded = Arc::new(Recorded::read(said, WORKLOADS)?);
    let (said_bytes, heard_bytes) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let input = Counting(
        File::from(stdin().as_fd().try_clone_to_owned()?),
        Arc::clone(&heard_bytes),
    );
    let output = Counting(
        File::from(stdout().as_fd().try_clone_to_owned()?),
        Arc::clone(&said_bytes),
    );
    let output = Arc::new(Mutex::new(output));
    let (hear, heard) = channel();
    let (listening, words) = (Arc::clone(&output), Arc::clone(&recorded));
    // When the controller is gone, nothing is heard any more.
    std::thread::spawn(move || drop(listen(input, &listening, &words, &hear)));
    next(&heard)?;
    let greeted_ns = now_ns();
    let Order::Load { plan, .. } = next(&heard)? else {
        return Err("the controller speaks out of turn".into());
    };
    let plan = dyno_load::from_bytes(&plan)?;
    say(&output, &Report::Connected(recorded.connections.clone()))?;
    let Order::Start { at_ns } = next(&heard)? else {
        return Err("the controller speaks out of turn".into());
    };
    let interval = plan.interval;
    let lasts = plan.phases.first().map_or(Duration::ZERO, |phase| phase.duration);
    wait_until(at_ns);
    say(
        &output,
        &Report::Started {
            late_ns: now_ns() - at_ns,
        },
    )?;
    let before = (said_bytes.load(Ordering::Relaxed), heard_bytes.load(Ordering::Relaxed));
    let mut sent_ns = Vec::new();
    let (mut at, mut sampled) = (Duration::ZERO, 0);
    while at < lasts {
        let bytes = recorded.again(first + sent_ns.len(), at, interval)?;
        at += interval;
        wait_until(at_ns + u64::try_from(at.as_nanos())?);
        say(&output, &Report::Interval(bytes))?;
        sent_ns.push(now_ns());
        if at.as_secs() > sampled {
            sampled = at.as_secs();
            let values = recorded.samples[sampled as usize % recorded.samples.len()].clone();
            say(&output, &Report::Sample { at, values })?;
        }
    }
    let told = Told {
        called_ns,
        greeted_ns,
        began_ns: at_ns,
        said_bytes: said_bytes.load(Ordering::Relaxed) - before.0,
        heard_bytes: heard_bytes.load(Ordering::Relaxed) - before.1,
        sent_ns,
    };
    say(&output, &Report::Done(Box::new(recorded.ended.clone())))?;
    if let Ok(path) = std::env::var(TOLD) {
        let line = serde_json::to_string(&told)? + "\n";
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)?
            .write_all(line.as_bytes())?;
    }
    // It compares clocks, and leaves.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Order::Quit) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => return Ok(()),
            Ok(_) => {}
        }
    }
}

fn wait_until(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(now_ns())));
}

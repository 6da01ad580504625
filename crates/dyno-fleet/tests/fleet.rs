//! Agents and their controller in one process, with what can happen between them: the load goes to a server that
//! answers at once, or to a real one where it matters what it is asked.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use dyno_engine::{ClientEvent, Connected, Ending, Load, Observer, Pacing, Phase, Preparing, Stop, Workload};
use dyno_fleet::agent::{AgentError, serve};
use dyno_fleet::protocol::Told;
use dyno_fleet::protocol::{Order, Report};
use dyno_fleet::share::{ShareError, share_out};
use dyno_fleet::start::{Channel, Host, Place};
use dyno_fleet::{Fleet, FleetError, FleetObserver, Gap, HostOutcome, OnLostHost, Patience, frame};
use dyno_load::{Access, LoadPlan, Ready, ScriptText, Scripts, Server, no_log};
use dyno_record::{Interval, Latencies, LatencyHistogram, ListedInterval, Recording};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server as Process};
use dyno_wire::Protocol;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::Duration;

const TOLD: Told = Told {
    counters: true,
    ceiling: None,
};

/// Answers at once.
static RESPONDER: LazyLock<u16> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap().keep();
    dyno_ceiling::responder::serve(&folder, 1).unwrap().port
});

/// A real server.
static SERVER: LazyLock<Process> = LazyLock::new(|| {
    let mut options = EmbeddedOptions::new(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home"));
    "tests-fleet".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    embedded.start(&[], &mut |_| ()).unwrap()
});

fn scripts(texts: &[&str]) -> Scripts {
    let texts = texts.iter().map(|text| ScriptText {
        name: "test".to_owned(),
        text: text.as_bytes().to_vec(),
        weight: 1,
    });
    Scripts {
        scripts: texts.collect(),
        lexis: Default::default(),
        variables: Vec::new(),
        seed: 11,
        protocol: Protocol::Prepared,
    }
}

/// A load of so many clients on as many threads.
fn load(info: ConnectionInfo, clients: usize, texts: &[&str], lasts: Duration) -> LoadPlan {
    let access = Access {
        server: Server::Postgres(Box::new(info)),
        preparing: Preparing::AtStart,
    };
    let workload = Workload {
        threads: clients,
        // A few hundred a second are enough.
        pacing: Pacing::Open { rate_per_s: 400.0 },
        ..Workload::new("main", clients, access, scripts(texts).into())
    };
    Load {
        interval: Duration::from_millis(100),
        ..Load::new(vec![workload], vec![Phase::new("run", lasts)])
    }
}

fn quick(clients: usize, lasts_ms: u64) -> LoadPlan {
    let words = format!("host=127.0.0.1 port={} user=u dbname=d sslmode=disable", *RESPONDER);
    let info = ConnectionInfo::resolve(Some(&words), &|_| None).unwrap();
    load(info, clients, &["select 1;"], Duration::from_millis(lasts_ms))
}

#[derive(Default)]
struct Keep {
    /// How long it takes to keep the tenth interval.
    stands_still: Duration,
    intervals: Vec<Interval>,
    of_hosts: Vec<Vec<ListedInterval>>,
    samples: usize,
    /// For each host that is lost how many intervals there were, and from when on it is missing.
    lost: Vec<(usize, usize, Duration)>,
    connected: usize,
    /// How long it takes over the first interval.
    pause: Duration,
}

impl Observer for Keep {
    fn connected(&mut self, connected: &Connected) {
        let mut all = LatencyHistogram::new();
        connected.connect_time.iter().for_each(|times| all.add(times));
        self.connected = all.count() as usize;
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        std::thread::sleep(std::mem::take(&mut self.pause));
        self.intervals.push(interval.clone());
        if self.intervals.len() == 10 {
            std::thread::sleep(self.stands_still);
        }
        ControlFlow::Continue(())
    }

    fn client_event(&mut self, _: &ClientEvent) {}
}

impl FleetObserver for Keep {
    fn host_interval(&mut self, host: usize, interval: &ListedInterval) {
        if self.of_hosts.len() <= host {
            self.of_hosts.resize(host + 1, Vec::new());
        }
        self.of_hosts[host].push(interval.clone());
    }

    fn host_sample(&mut self, _: usize, _: Duration, _: &[Option<f64>]) {
        self.samples += 1;
    }

    fn host_lost(&mut self, host: usize, gap: &Gap) {
        self.lost.push((host, self.intervals.len(), gap.from));
    }
}

fn transactions<H: Latencies, S>(intervals: &[Interval<H, S>]) -> u64 {
    intervals
        .iter()
        .map(|interval| interval.recordings[0].transactions)
        .sum()
}

/// An agent on a thread.
type Served = JoinHandle<Result<(), AgentError>>;

/// An agent on a thread. Dropping the channel is what the death of a controller is to it.
fn agent(name: &str) -> ((Host, Channel), Served) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = theirs.try_clone().unwrap();
    let thread = std::thread::spawn(move || serve(theirs, output, || ()));
    ((host(name), Channel::new(ours.try_clone().unwrap(), ours)), thread)
}

fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        place: Place::Local,
    }
}

/// What a relay does with what it is to pass on.
#[derive(Default)]
struct Weather {
    holds: AtomicBool,
    cuts: AtomicBool,
}

/// An agent behind a relay in both directions.
fn relayed(name: &str) -> ((Host, Channel), Arc<Weather>, Served) {
    let weather = Arc::<Weather>::default();
    let (near, relay_near) = UnixStream::pair().unwrap();
    let (relay_far, far) = UnixStream::pair().unwrap();
    for (from, to) in [(&relay_near, &relay_far), (&relay_far, &relay_near)] {
        let (mut from, mut to, weather) = (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(&weather));
        from.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                if weather.cuts.load(Ordering::Relaxed) {
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    return;
                }
                if weather.holds.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                match from.read(&mut chunk) {
                    Ok(0) => {
                        let _ = to.shutdown(Shutdown::Write);
                        return;
                    }
                    Ok(read) => {
                        if to.write_all(&chunk[..read]).is_err() {
                            return;
                        }
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        });
    }
    let output = far.try_clone().unwrap();
    let thread = std::thread::spawn(move || serve(far, output, || ()));
    let channel = Channel::new(near.try_clone().unwrap(), near);
    ((host(name), channel), weather, thread)
}

fn patience(silence_s: u64) -> Patience {
    Patience {
        silence: Duration::from_secs(silence_s),
        ..Patience::default()
    }
}

fn drive(
    fleet: Fleet,
    plan: LoadPlan,
    on_lost: OnLostHost,
    stop: &Stop,
) -> (dyno_engine::Outcome, Vec<HostOutcome>, Keep) {
    drive_for(Keep::default(), fleet, plan, on_lost, stop)
}

fn drive_for(
    mut keep: Keep,
    fleet: Fleet,
    mut plan: LoadPlan,
    on_lost: OnLostHost,
    stop: &Stop,
) -> (dyno_engine::Outcome, Vec<HostOutcome>, Keep) {
    let weights = vec![1.0; fleet.hellos().count()];
    let shares = share_out(&mut plan, &weights, &[]).unwrap();
    let (outcome, hosts) = fleet.drive(&plan, shares, on_lost, TOLD, &mut keep, stop).unwrap();
    (outcome, hosts, keep)
}

#[test]
fn three_agents_are_one_load() {
    let stop = Stop::new();
    let (channels, threads): (Vec<_>, Vec<_>) = ["a", "b", "c"].map(agent).into_iter().unzip();
    let fleet = Fleet::of(channels, Patience::default(), &stop).unwrap();
    let (outcome, hosts, keep) = drive(fleet, quick(7, 1_500), OnLostHost::Continue, &stop);
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    assert_eq!(keep.connected, 7);
    let clients: Vec<_> = hosts
        .iter()
        .map(|host| host.share.workloads[0].clients.clone())
        .collect();
    assert_eq!(clients, [0..3, 3..5, 5..7]);
    assert_eq!(keep.intervals.len(), 15);
    for (place, whole) in keep.intervals.iter().enumerate() {
        let mut sum = Recording::default();
        keep.of_hosts
            .iter()
            .for_each(|host| sum.add(&host[place].recordings[0]));
        assert_eq!(whole.recordings[0].latency, sum.latency);
        assert_eq!(whole.recordings[0].lag, sum.lag);
        assert_eq!(whole.recordings[0].transactions, sum.transactions);
    }
    assert!(transactions(&keep.intervals) > 100);
    assert!(keep.samples >= 3);
    for host in hosts {
        assert!(host.gap.is_none() && host.late.is_some() && host.warnings.is_empty());
        assert!(host.clock.before().is_some() && host.clock.uncertainty_ns() > 0);
        assert!(host.time_of_day_ns.unwrap().abs() < 1_000_000_000);
    }
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

/// What each client has drawn, in its order.
fn drawn() -> Vec<(i32, i64)> {
    let mut client = SERVER.connection("postgres").connect().unwrap();
    let rows = client.query("select client, n from drawn order by client, id", &[]);
    rows.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[test]
fn a_seed_gives_the_same_draws_on_one_host_or_many() {
    let execute = |sql: &str| {
        let mut client = SERVER.connection("postgres").connect().unwrap();
        client.batch_execute(sql).unwrap();
    };
    // Which of two scripts comes next is drawn for a thread.
    let insert = |factor: i32| {
        format!("\\set n random(1, 1000000000) * {factor}\ninsert into drawn (client, n) values (:client_id, :n);")
    };
    let texts = [insert(1), insert(-1)];
    let mut plan = load(
        SERVER.connection("postgres"),
        9,
        &texts.each_ref().map(String::as_str),
        Duration::MAX,
    );
    plan.workloads[0].transactions_per_client = Some(20);
    let mut rounds = Vec::new();
    for hosts in [0, 2, 4] {
        execute("drop table if exists drawn; create table drawn (id serial, client int, n bigint)");
        let stop = Stop::new();
        if hosts == 0 {
            let ready = Ready::of(plan.clone(), &no_log).unwrap();
            let outcome = ready.drive(&mut Keep::default(), &stop).unwrap();
            assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
        } else {
            let names = ["a", "b", "c", "d"];
            let (channels, _threads): (Vec<_>, Vec<_>) = names[..hosts].iter().map(|name| agent(name)).unzip();
            let fleet = Fleet::of(channels, Patience::default(), &stop).unwrap();
            let (outcome, ..) = drive(fleet, plan.clone(), OnLostHost::Continue, &stop);
            assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
        }
        rounds.push(drawn());
    }
    assert_eq!(rounds[0].len(), 9 * 20);
    assert!(rounds[0].iter().any(|(_, n)| *n < 0) && rounds[0].iter().any(|(_, n)| *n > 0));
    assert_eq!(rounds[0], rounds[1]);
    assert_eq!(rounds[0], rounds[2]);
}

#[test]
fn a_network_that_is_cut_for_three_seconds_costs_nothing() {
    let stop = Stop::new();
    let (near, _thread) = agent("near");
    let (far, weather, _other) = relayed("far");
    let fleet = Fleet::of(vec![near, far], Patience::default(), &stop).unwrap();
    let cut = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1_500));
        weather.holds.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs(3));
        weather.holds.store(false, Ordering::Relaxed);
    });
    let (outcome, hosts, keep) = drive(fleet, quick(4, 6_000), OnLostHost::Continue, &stop);
    cut.join().unwrap();
    assert!(outcome.ended_early.is_none());
    assert!(hosts.iter().all(|host| host.gap.is_none()), "{:?}", hosts[1].gap);
    assert_eq!((keep.intervals.len(), keep.of_hosts[1].len()), (60, 60));
    let hosts: u64 = keep.of_hosts.iter().map(|host| transactions(host)).sum();
    assert_eq!(transactions(&keep.intervals), hosts);
    // The load has gone on behind the cut.
    let behind = keep.of_hosts[1][25..40].iter();
    assert!(behind.clone().all(|interval| interval.recordings[0].transactions > 0));
}

#[test]
fn an_agent_that_is_gone_is_a_gap() {
    let stop = Stop::new();
    let (near, _thread) = agent("near");
    let (far, weather, other) = relayed("far");
    let fleet = Fleet::of(vec![near, far], Patience::default(), &stop).unwrap();
    let cut = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1_500));
        weather.cuts.store(true, Ordering::Relaxed);
    });
    let (outcome, hosts, keep) = drive(fleet, quick(4, 4_000), OnLostHost::Continue, &stop);
    cut.join().unwrap();
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    let gap = hosts[1].gap.as_ref().unwrap();
    assert!(hosts[0].gap.is_none() && gap.from < Duration::from_secs(4), "{gap:?}");
    assert!(gap.reason.contains("connection"), "{gap:?}");
    // It was told while the others went on.
    assert!(
        matches!(keep.lost.as_slice(), [(1, ..40, from)] if *from == gap.from),
        "{:?}",
        keep.lost
    );
    // What it told counts, and what comes later is of the other alone.
    assert_eq!(keep.intervals.len(), 40);
    let told = keep.of_hosts[1].len();
    assert_eq!(gap.from, Duration::from_millis(100 * told as u64));
    for (whole, part) in keep.intervals[told..].iter().zip(&keep.of_hosts[0][told..]) {
        assert_eq!(whole.to_bytes(), part.to_bytes());
    }
    // The agent has noticed, too.
    assert!(matches!(other.join().unwrap(), Err(AgentError::Gone(_))));
}

#[test]
fn an_agent_of_which_nothing_is_heard_is_not_waited_for() {
    for on_lost in [OnLostHost::Continue, OnLostHost::End] {
        let stop = Stop::new();
        let (near, _thread) = agent("near");
        let (far, weather, _other) = relayed("far");
        let fleet = Fleet::of(vec![near, far], patience(2), &stop).unwrap();
        let held = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(1_200));
            weather.holds.store(true, Ordering::Relaxed);
            weather
        });
        let (outcome, hosts, keep) = drive(fleet, quick(4, 8_000), on_lost, &stop);
        // Only now the agent may go.
        held.join().unwrap().cuts.store(true, Ordering::Relaxed);
        assert!(hosts[1].gap.as_ref().unwrap().reason.contains("not heard of"));
        match on_lost {
            OnLostHost::Continue => {
                assert!(outcome.ended_early.is_none());
                assert_eq!(keep.intervals.len(), 80);
            }
            OnLostHost::End => {
                let said = outcome.ended_early.unwrap().to_string();
                assert!(said.starts_with("load host far was lost after "), "{said}");
                assert!(keep.intervals.len() < 80);
            }
        }
    }
}

#[test]
fn a_controller_that_stands_still_loses_nobody() {
    let stop = Stop::new();
    let (channels, _threads): (Vec<_>, Vec<_>) = ["a", "b", "c"].map(agent).into_iter().unzip();
    let fleet = Fleet::of(channels, patience(2), &stop).unwrap();
    let keep = Keep {
        stands_still: Duration::from_secs(4),
        ..Keep::default()
    };
    let (outcome, hosts, keep) = drive_for(keep, fleet, quick(6, 7_000), OnLostHost::Continue, &stop);
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    for host in hosts {
        assert_eq!(host.gap, None, "{}", host.host.name);
    }
    assert_eq!(keep.intervals.len(), 70);
    assert!(keep.of_hosts.iter().all(|host| host.len() == 70));
}

#[test]
fn a_controller_that_is_behind_blames_no_host() {
    let stop = Stop::new();
    let (channels, _threads): (Vec<_>, Vec<_>) = ["a", "b", "c"].map(agent).into_iter().unzip();
    let fleet = Fleet::of(channels, patience(2), &stop).unwrap();
    let mut plan = quick(3, 4_000);
    let shares = share_out(&mut plan, &[1.0; 3], &[]).unwrap();
    let mut keep = Keep {
        pause: Duration::from_secs(3),
        ..Keep::default()
    };
    let driven = fleet.drive(&plan, shares, OnLostHost::Continue, TOLD, &mut keep, &stop);
    let (_, hosts) = driven.unwrap();
    assert!(hosts.iter().all(|host| host.gap.is_none()), "{:?}", hosts[0].gap);
    assert_eq!(keep.intervals.len(), 40);
}

#[test]
fn asked_to_stop_all_stop() {
    let stop = Stop::new();
    let (channels, _threads): (Vec<_>, Vec<_>) = ["a", "b"].map(agent).into_iter().unzip();
    let fleet = Fleet::of(channels, Patience::default(), &stop).unwrap();
    let asked = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        asked.request();
    });
    let (outcome, hosts, keep) = drive(fleet, quick(4, 3_600_000), OnLostHost::Continue, &stop);
    assert!(matches!(outcome.ended_early, Some(Ending::Stopped)), "{outcome:?}");
    assert!(hosts.iter().all(|host| host.gap.is_none()) && !keep.intervals.is_empty());
}

#[test]
fn a_load_that_cannot_begin_is_told_with_its_host() {
    let stop = Stop::new();
    let (channels, threads): (Vec<_>, Vec<_>) = ["a", "b"].map(agent).into_iter().unzip();
    let fleet = Fleet::of(channels, Patience::default(), &stop).unwrap();
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let words = format!("host=127.0.0.1 port={port} user=u dbname=d sslmode=disable");
    let info = ConnectionInfo::resolve(Some(&words), &|_| None).unwrap();
    let mut plan = load(info, 2, &["select 1;"], Duration::from_secs(1));
    let shares = share_out(&mut plan, &[1.0, 1.0], &[]).unwrap();
    let error = fleet
        .drive(
            &plan,
            shares,
            OnLostHost::Continue,
            Told::default(),
            &mut Keep::default(),
            &stop,
        )
        .unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("load host ") && said.contains("127.0.0.1"), "{said}");
    for thread in threads {
        // Whether it was told to quit or noticed that we are gone.
        let _ = thread.join().unwrap();
    }
}

#[test]
fn whatever_is_no_agent_is_refused() {
    let speaks = |bytes: Vec<u8>| {
        // As of a process: two streams, and it ends when its input does.
        let (input, mut hears) = UnixStream::pair().unwrap();
        let (mut says, output) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let _ = says.write_all(&bytes);
            let mut rest = Vec::new();
            let _ = hears.read_to_end(&mut rest);
        });
        let channel = Channel::new(input, output);
        let error = Fleet::of(vec![(host("b"), channel)], Patience::default(), &Stop::new())
            .err()
            .unwrap();
        thread.join().unwrap();
        error.to_string()
    };
    let said = speaks(b"Welcome to b!\nLast login: yesterday\n".to_vec());
    assert!(
        said.ends_with("but text: Welcome to b! Last login: yesterday"),
        "{said}"
    );
    let said = speaks(vec![0xff; 8]);
    assert!(said.contains("not what dyno agents"), "{said}");
    let mut pong = Vec::new();
    frame::write(&mut pong, &Report::Pong { sent_ns: 1, at_ns: 2 }).unwrap();
    assert!(speaks(pong).contains("out of turn"));
}

#[test]
fn whatever_is_no_controller_is_refused() {
    let heard = |bytes: &[u8]| {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let output = theirs.try_clone().unwrap();
        let thread = std::thread::spawn(move || serve(theirs, output, || ()));
        ours.write_all(bytes).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        thread.join().unwrap().unwrap_err().to_string()
    };
    let said = heard(b"GET / HTTP/1.1\r\n\r\n");
    assert!(said.contains("dyno agent is started by dyno itself"), "{said}");
    let mut other = Vec::new();
    let hello = Order::Hello {
        protocol: 4_000,
        version: "9.9".to_owned(),
    };
    frame::write(&mut other, &hello).unwrap();
    assert!(heard(&other).contains("protocol 4000"));
    assert!(heard(&[]).contains("closed"));
}

#[test]
fn what_cannot_be_shared_is_refused_in_words() {
    let mut plan = quick(2, 1_000);
    let error = share_out(&mut plan, &[1.0, 1.0, 1.0], &[]).unwrap_err();
    assert!(matches!(error, ShareError::Idle { host: 1, hosts: 3, .. }));
    assert!(matches!(
        share_out(&mut plan, &[1.0, 0.0], &[]),
        Err(ShareError::Weights { .. })
    ));
    plan.threads.cpus = "0-1".parse().unwrap();
    let said = FleetError::from(share_out(&mut plan, &[1.0], &[]).unwrap_err()).to_string();
    assert!(said.contains("--cpus"), "{said}");
}

#[test]
fn a_plan_that_no_message_holds_is_refused() {
    let stop = Stop::new();
    let (channel, _thread) = agent("a");
    let fleet = Fleet::of(vec![channel], patience(2), &stop).unwrap();
    let mut plan = quick(1, 100);
    let shares = share_out(&mut plan, &[1.0], &[]).unwrap();
    plan.workloads[0].name = "x".repeat(40_000_000);
    let driven = fleet.drive(&plan, shares, OnLostHost::Continue, TOLD, &mut Keep::default(), &stop);
    let said = driven.unwrap_err().to_string();
    assert!(said.starts_with("the load takes 40 MB to describe"), "{said}");
}

//! Start delays and stages against a scripted server that notes when each connection asked for something.

#[macro_use]
mod support;

use dyno_engine::{
    Connected, Ending, Load, Observer, Pacing, Phase, Span, Stage, Steering, Stop, TransportChoice, WireDriver, drive,
};
use dyno_record::Interval;
use dyno_wire::PgSession;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, OneStatement, load};

over_each_transport!(
    clients_step_hold_and_rest,
    a_ramp_adds_and_takes_clients_one_by_one,
    a_rate_ramps_steps_and_pauses,
    a_delayed_workload_connects_with_the_others_and_begins_later,
    what_was_due_before_a_closed_stage_counts_from_its_instant,
    nothing_begins_after_the_last_stage,
    stages_last_until_their_work_is_done,
    a_load_beside_counted_work_ends_with_it,
    what_takes_longer_than_all_phases_is_told_with_its_time,
    a_stop_before_all_clients_are_done_is_told,
    what_fails_after_all_phases_is_told_and_done,
    whoever_watches_changes_rate_and_clients,
    what_a_step_left_undone_is_not_the_next_ones_work,
);

/// When requests arrived, and on which connection.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<Vec<(Instant, usize)>>>);

impl Requests {
    /// A server that answers after `delay`.
    fn server(&self, delay: Duration) -> ScriptedServer {
        let requests = self.clone();
        ScriptedServer::start(move |connection, _, _| {
            requests.0.lock().expect("no panic").push((Instant::now(), connection));
            Behaviour::Answer(delay)
        })
    }

    /// Those that arrived between two instants, counted in milliseconds from `begin`.
    fn between(&self, begin: Instant, from_ms: u64, to_ms: u64) -> Vec<usize> {
        let window = begin + Duration::from_millis(from_ms)..begin + Duration::from_millis(to_ms);
        let requests = self.0.lock().expect("no panic");
        let inside = requests.iter().filter(|(at, _)| window.contains(at));
        inside.map(|(_, connection)| *connection).collect()
    }

    /// On how many connections requests arrived between two instants.
    fn active(&self, begin: Instant, from_ms: u64, to_ms: u64) -> usize {
        let connections: BTreeSet<_> = self.between(begin, from_ms, to_ms).into_iter().collect();
        connections.len()
    }
}

fn span(from: f64, to: f64) -> Option<Span> {
    Some(Span { from, to })
}

fn stage(ms: u64, clients: Option<Span>, rate_per_s: Option<Span>) -> Stage {
    Stage {
        duration: Duration::from_millis(ms),
        clients,
        rate_per_s,
    }
}

/// Runs to the end, and gives what was observed with the instant at which it began.
fn run(load: &Load<WireDriver<PgSession>, OneStatement>) -> (Keep, Instant) {
    let mut keep = Keep::default();
    let outcome = drive(load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    assert_eq!(
        outcome.connections,
        vec![0; load.workloads.len()],
        "nobody lost a connection"
    );
    let begin = keep.connected_at.expect("it was connected");
    (keep, begin)
}

fn clients_step_hold_and_rest(transport: TransportChoice) {
    for (clients, threads) in [(8, 3), (8, 8)] {
        let requests = Requests::default();
        let server = requests.server(Duration::from_millis(1));
        let phases = [("warmup", 300), ("measure", 2000)];
        let mut load = load(transport, &server, clients, threads, Pacing::Closed, &phases);
        load.workloads[0].stages_begin = Duration::from_millis(300);
        let numbers = [2, 8, 0, 3];
        load.workloads[0].stages = numbers
            .iter()
            .map(|&number| stage(500, span(number.into(), number.into()), None))
            .collect();
        let (keep, begin) = run(&load);
        assert_eq!(requests.active(begin, 0, 300), 2, "the warm-up is like the first stage");
        for (number, start_ms) in numbers.into_iter().zip((300..).step_by(500)) {
            // A change is allowed some time on a busy machine.
            let active = requests.active(begin, start_ms + 200, start_ms + 500);
            assert_eq!(active, number as usize, "from {start_ms} ms on, {threads} threads");
        }
        assert_eq!(keep.total(1).errors, 0);
        assert_eq!(keep.total(1).lag.count(), 0, "it is a closed loop throughout");
    }
}

fn a_ramp_adds_and_takes_clients_one_by_one(transport: TransportChoice) {
    let requests = Requests::default();
    let server = requests.server(Duration::from_millis(1));
    let mut load = load(transport, &server, 8, 2, Pacing::Closed, &[("measure", 3200)]);
    load.workloads[0].stages = vec![stage(1600, span(0.0, 8.0), None), stage(1600, span(8.0, 0.0), None)];
    let (_, begin) = run(&load);
    for step in 1..8_usize {
        for middle_ms in [step as u64 * 200, 3200 - step as u64 * 200] {
            let active = requests.active(begin, middle_ms - 50, middle_ms + 50);
            assert!(active.abs_diff(step) <= 1, "{active} for {step} at {middle_ms} ms");
        }
    }
}

fn a_rate_ramps_steps_and_pauses(transport: TransportChoice) {
    let requests = Requests::default();
    let server = requests.server(Duration::ZERO);
    let mut load = load(
        transport,
        &server,
        4,
        2,
        Pacing::Open { rate_per_s: 300.0 },
        &[("measure", 4000)],
    );
    load.workloads[0].stages = vec![
        stage(2000, None, span(0.0, 800.0)),
        stage(1000, None, None),
        stage(500, None, span(0.0, 0.0)),
        stage(500, None, span(600.0, 600.0)),
    ];
    let (keep, begin) = run(&load);
    let slices = [
        (0, 500, 50.0),
        (500, 1000, 150.0),
        (1000, 1500, 250.0),
        (1500, 2000, 350.0),
        (2000, 3000, 300.0),
        (3000, 3500, 0.0_f64),
        (3500, 4000, 300.0),
    ];
    for (from_ms, to_ms, expected) in slices {
        let count = requests.between(begin, from_ms, to_ms).len() as f64;
        // Four standard deviations, and some that came late.
        let bound = 4.0 * expected.sqrt() + 10.0;
        assert!(
            (count - expected).abs() <= bound,
            "{count} from {from_ms} ms on, {expected} expected"
        );
    }
    let total = keep.total(0);
    assert_eq!(total.lag.count(), total.transactions);
}

fn a_delayed_workload_connects_with_the_others_and_begins_later(transport: TransportChoice) {
    let (early, late) = (Requests::default(), Requests::default());
    let (server, other) = (
        early.server(Duration::from_millis(1)),
        late.server(Duration::from_millis(1)),
    );
    for pacing in [Pacing::Closed, Pacing::Open { rate_per_s: 2000.0 }] {
        late.0.lock().expect("no panic").clear();
        let mut load = load(transport, &server, 2, 1, Pacing::Closed, &[("measure", 800)]);
        let mut delayed = support::load(transport, &other, 3, 2, pacing, &[]).workloads;
        delayed[0].start_delay = Duration::from_millis(400);
        load.workloads.append(&mut delayed);
        let (keep, begin) = run(&load);
        let connected = keep.connected.expect("connected");
        assert_eq!(connected.connect_time[1].count(), 3, "before the first phase");
        assert_eq!(late.active(begin, 0, 400), 0, "none before its time");
        assert_eq!(late.active(begin, 400, 800), 3);
        assert_eq!(early.active(begin, 0, 400), 2);
        let before = keep
            .intervals
            .iter()
            .filter(|interval| interval.start < Duration::from_millis(400));
        assert!(
            before
                .map(|interval| &interval.recordings[1])
                .all(|recording| recording.transactions == 0)
        );
    }
}

fn what_was_due_before_a_closed_stage_counts_from_its_instant(transport: TransportChoice) {
    // From 300 to 900 ms there is no answer.
    let stall = (Duration::from_millis(300), Duration::from_millis(900));
    let begun: Arc<Mutex<Option<Instant>>> = Arc::default();
    let since = Arc::clone(&begun);
    let server = ScriptedServer::start(move |_, _, _| {
        let since = since
            .lock()
            .expect("no panic")
            .get_or_insert_with(Instant::now)
            .elapsed();
        let stalled = since >= stall.0 && since < stall.1;
        Behaviour::Answer(if stalled {
            stall.1 - since
        } else {
            Duration::from_micros(100)
        })
    });
    let mut load = load(transport, &server, 4, 1, Pacing::Closed, &[("measure", 1500)]);
    load.workloads[0].stages = vec![stage(600, None, span(500.0, 500.0)), stage(900, None, None)];
    let (keep, _) = run(&load);
    let total = keep.total(0);
    // 150 were due during the stall and had to wait for at least 300 ms, although only 4 of them were waiting for
    // the server.
    let late = total.latency.inner().count_between(250_000_000, 700_000_000);
    assert!((90..220).contains(&late), "{late} of {} are late", total.transactions);
    let scheduled = total.lag.count();
    assert!((220..380).contains(&scheduled), "{scheduled} scheduled");
    assert!(total.transactions > scheduled, "after them the loop is closed again");
}

fn nothing_begins_after_the_last_stage(transport: TransportChoice) {
    for rate_per_s in [None, span(500.0, 500.0)] {
        let requests = Requests::default();
        let server = requests.server(Duration::from_millis(1));
        let mut load = load(transport, &server, 3, 2, Pacing::Closed, &[("measure", 900)]);
        load.workloads[0].stages = vec![stage(300, None, rate_per_s)];
        let (_, begin) = run(&load);
        assert!(requests.active(begin, 0, 300) > 0);
        assert_eq!(requests.active(begin, 500, 900), 0);
    }
}

/// How many transactions a workload completed in a phase.
fn completed(keep: &Keep, phase: usize, workload: usize) -> u64 {
    let intervals = keep.intervals.iter().filter(|interval| interval.phase == phase);
    intervals
        .map(|interval| interval.recordings[workload].transactions)
        .sum()
}

/// When the last interval of a phase ended, counted from the begin of the load.
fn end_of(keep: &Keep, phase: usize) -> Duration {
    let intervals = keep.intervals.iter().filter(|interval| interval.phase == phase);
    let ends = intervals.map(|interval| interval.start + interval.duration);
    ends.max().expect("it had an interval")
}

fn stages_last_until_their_work_is_done(transport: TransportChoice) {
    let requests = Requests::default();
    let server = requests.server(Duration::from_millis(2));
    let one = |clients, threads, transactions: Option<u64>, takes_part: [bool; 2]| {
        let load = load(transport, &server, clients, threads, Pacing::Closed, &[]);
        let mut workload = load.workloads.into_iter().next().expect("one workload");
        workload.transactions_per_client = transactions;
        workload.stages = takes_part
            .map(|takes_part| Stage {
                duration: Duration::MAX,
                clients: if takes_part { None } else { span(0.0, 0.0) },
                rate_per_s: None,
            })
            .to_vec();
        workload
    };
    let mut load = load(transport, &server, 1, 1, Pacing::Closed, &[]);
    load.workloads = vec![
        one(4, 2, Some(60), [true, false]),
        one(3, 3, Some(50), [false, true]),
        one(2, 1, None, [true, true]),
        one(2, 1, None, [true, false]),
    ];
    load.phases = vec![
        Phase::new("load", Duration::MAX).until(vec![0]),
        Phase::new("consume", Duration::MAX).until(vec![1]),
    ];
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
    assert_eq!([0, 1].map(|phase| completed(&keep, phase, 0)), [240, 0]);
    assert_eq!([0, 1].map(|phase| completed(&keep, phase, 1)), [0, 150]);
    assert!([0, 1].iter().all(|&phase| completed(&keep, phase, 2) > 0));
    // Those that were under way when the stage ended may be counted in the next one.
    assert!(completed(&keep, 0, 3) > 20 && completed(&keep, 1, 3) <= 2);
    let done = |workload: usize| outcome.last[workload].done.expect("all is done");
    assert_eq!(outcome.last[2].done, None);
    for phase in [0, 1] {
        let off = end_of(&keep, phase).abs_diff(done(phase));
        assert!(off < Duration::from_millis(50), "phase {phase} ended {off:?} off");
    }
    let mut next = Duration::ZERO;
    for interval in &keep.intervals {
        assert_eq!(interval.start, next, "intervals touch");
        next += interval.duration;
    }
}

fn a_load_beside_counted_work_ends_with_it(transport: TransportChoice) {
    let requests = Requests::default();
    let server = requests.server(Duration::from_millis(2));
    let mut both = load(transport, &server, 2, 2, Pacing::Closed, &[]);
    both.workloads[0].transactions_per_client = Some(100);
    both.workloads[0].start_delay = Duration::from_millis(150);
    let beside = load(transport, &server, 3, 1, Pacing::Closed, &[]);
    both.workloads.extend(beside.workloads);
    both.phases = vec![
        Phase::new("warmup", Duration::from_millis(150)),
        Phase::new("measure", Duration::MAX).until(vec![0]),
    ];
    let (keep, _) = run(&both);
    assert_eq!([0, 1].map(|phase| completed(&keep, phase, 0)), [0, 200]);
    assert!(completed(&keep, 0, 1) > 0 && completed(&keep, 1, 1) > 0);
    // With a limit it ends at that at the latest.
    both.phases[1].duration = Duration::from_millis(100);
    let (keep, _) = run(&both);
    assert!((1..200).contains(&completed(&keep, 1, 0)));
    assert_eq!(end_of(&keep, 1), Duration::from_millis(250));
}

fn what_takes_longer_than_all_phases_is_told_with_its_time(transport: TransportChoice) {
    let requests = Requests::default();
    let server = requests.server(Duration::from_millis(400));
    let mut load = load(transport, &server, 2, 1, Pacing::Closed, &[("measure", 100)]);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert_eq!((completed(&keep, 0, 0), outcome.unfinished[0]), (0, 0));
    let last = &outcome.last[0];
    assert_eq!((last.finished.len(), last.open_for), (2, None));
    assert!(
        last.finished.iter().all(|took| *took >= Duration::from_millis(400)),
        "{last:?}"
    );
    load.grace = Duration::from_millis(50);
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    let last = &outcome.last[0];
    assert_eq!((outcome.unfinished[0], last.finished.len()), (2, 0));
    assert!(last.open_for >= Some(Duration::from_millis(150)), "{last:?}");
}

fn a_stop_before_all_clients_are_done_is_told(transport: TransportChoice) {
    let server = ScriptedServer::start(|connection, _, _| {
        let is_slow = connection % 2 == 0;
        Behaviour::Answer(if is_slow {
            Duration::from_secs(30)
        } else {
            Duration::ZERO
        })
    });
    let mut load = load(transport, &server, 2, 1, Pacing::Closed, &[("measure", 60_000)]);
    load.workloads[0].transactions_per_client = Some(1);
    let stop = Stop::new();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.request();
        });
        drive(&load, &mut Keep::default(), &stop).expect("the load runs")
    });
    assert!(matches!(outcome.ended_early, Some(Ending::Stopped)), "{outcome:?}");
    assert_eq!((outcome.unfinished[0], outcome.last[0].done), (1, None));
}

fn what_fails_after_all_phases_is_told_and_done(transport: TransportChoice) {
    let server = ScriptedServer::start(|_, _, _| {
        std::thread::sleep(Duration::from_millis(400));
        Behaviour::Fail("23505")
    });
    let mut load = load(transport, &server, 2, 1, Pacing::Closed, &[("measure", 100)]);
    load.workloads[0].transactions_per_client = Some(1);
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
    assert!(outcome.ended_early.is_none(), "{outcome:?}");
    let last = &outcome.last[0];
    assert_eq!(
        (keep.total(0).errors, outcome.unfinished[0], last.finished.len()),
        (0, 0, 0)
    );
    let failed: Vec<_> = last
        .failed
        .iter()
        .map(|failed| (failed.code.as_str(), failed.count))
        .collect();
    assert_eq!(failed, [("23505", 2)]);
    assert!(last.done >= Some(Duration::from_millis(400)), "{last:?}");
}

/// Keeps what is observed, and changes the pace as `then` says when so many milliseconds are over.
struct Steered {
    keep: Keep,
    steering: Arc<Steering>,
    then: Vec<(u64, Duration, Stage)>,
}

impl Steered {
    /// The first change is told before anything begins.
    fn run(load: &Load<WireDriver<PgSession>, OneStatement>, changes: &[(u64, u64, Stage)]) -> Instant {
        let steering = Arc::new(Steering::default());
        let then = changes
            .iter()
            .map(|(told_ms, from_ms, stage)| (*told_ms, Duration::from_millis(*from_ms), *stage));
        let mut steered = Self {
            keep: Keep::default(),
            steering,
            then: then.collect(),
        };
        let outcome = drive(load, &mut steered, &Stop::new()).expect("the load runs");
        assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
        assert_eq!(outcome.connections, vec![0], "nobody lost a connection");
        steered.keep.connected_at.expect("it was connected")
    }
}

impl Observer for Steered {
    fn steering(&self) -> Option<Arc<Steering>> {
        Some(Arc::clone(&self.steering))
    }

    fn connected(&mut self, connected: &Connected) {
        self.keep.connected(connected);
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        let end_ms = (interval.start + interval.duration).as_millis() as u64;
        if let Some(place) = self.then.iter().position(|(told_ms, ..)| *told_ms <= end_ms) {
            let (_, from, stage) = self.then.remove(place);
            self.steering.go_on(from, vec![vec![stage]]);
        }
        self.keep.interval(interval)
    }
}

fn whoever_watches_changes_rate_and_clients(transport: TransportChoice) {
    let requests = Requests::default();
    let server = requests.server(Duration::from_millis(1));
    let mut load = load(transport, &server, 6, 2, Pacing::Closed, &[("measure", 3000)]);
    load.interval = Duration::from_millis(100);
    let begin = Steered::run(
        &load,
        &[
            (300, 500, stage(1, None, span(400.0, 400.0))),
            (1300, 1500, stage(1, None, span(100.0, 100.0))),
            (2100, 2300, stage(1, span(3.0, 3.0), None)),
        ],
    );
    assert_eq!(requests.active(begin, 0, 500), 6, "a closed loop until then");
    for (from_ms, to_ms, expected) in [(600, 1500, 360.0_f64), (1600, 2300, 70.0)] {
        let count = requests.between(begin, from_ms, to_ms).len() as f64;
        let bound = 4.0 * expected.sqrt() + 10.0;
        assert!(
            (count - expected).abs() <= bound,
            "{count} from {from_ms} ms on, {expected} expected"
        );
    }
    assert_eq!(requests.active(begin, 2500, 3000), 3, "a closed loop again");
}

fn what_a_step_left_undone_is_not_the_next_ones_work(transport: TransportChoice) {
    let requests = Requests::default();
    // Two clients do no more than 200 a second.
    let server = requests.server(Duration::from_millis(10));
    let mut load = load(transport, &server, 2, 1, Pacing::Closed, &[("measure", 2500)]);
    load.interval = Duration::from_millis(100);
    let begin = Steered::run(
        &load,
        &[
            (100, 300, stage(1, None, span(2000.0, 2000.0))),
            (1100, 1300, stage(1, None, span(30.0, 30.0))),
        ],
    );
    let behind = requests.between(begin, 400, 1300).len();
    assert!(behind > 90, "it was busy: {behind}");
    let after = requests.between(begin, 1500, 2500).len();
    assert!((5..70).contains(&after), "{after}, 30 expected");
}

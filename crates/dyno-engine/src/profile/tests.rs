//! Courses in steps and ramps: when each transaction is due, whatever the load was before.

use super::*;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

fn span(from: f64, to: f64) -> Option<Span> {
    Some(Span { from, to })
}

fn stage(seconds: u64, clients: Option<Span>, rate_per_s: Option<Span>) -> Stage {
    Stage {
        duration: Duration::from_secs(seconds),
        clients,
        rate_per_s,
    }
}

fn rules(clients: usize, threads: usize, stages: &[Stage]) -> Rules<'_> {
    Rules {
        clients,
        threads,
        pacing: Pacing::Closed,
        start_delay: Duration::ZERO,
        stages_begin: Duration::ZERO,
        stages: stages.into(),
    }
}

impl Profile {
    fn at(&self, at_ns: u64) -> (usize, bool) {
        let made = self.changes.iter().rfind(|change| change.at_ns <= at_ns);
        made.map_or((0, false), |change| (change.active, change.open))
    }

    fn rate_per_s(&self, at_ns: u64) -> f64 {
        let at_ns = at_ns as f64;
        let ramp = self
            .ramps
            .iter()
            .find(|ramp| ramp.start_ns <= at_ns && at_ns < ramp.end_ns);
        ramp.map_or(0.0, |ramp| ramp.rate_per_ns(at_ns) * 1e9)
    }
}

#[test]
fn without_stages_all_clients_are_active_from_the_delay_on() {
    let mut rules = rules(7, 3, &[]);
    rules.pacing = Pacing::Open { rate_per_s: 90.0 };
    rules.start_delay = Duration::from_secs(2);
    let share = |part| {
        let profile = rules.profile(part, 5, 5);
        assert_eq!(profile.at(2 * SECOND_NS + 4), (0, false));
        assert_eq!(profile.rate_per_s(2 * SECOND_NS + 4), 0.0);
        assert!((profile.rate_per_s(2 * SECOND_NS + 5) - 30.0).abs() < 1e-9);
        assert!((profile.rate_per_s(1000 * SECOND_NS) - 30.0).abs() < 1e-9);
        profile.at(2 * SECOND_NS + 5)
    };
    assert_eq!([0, 1, 2].map(share), [(3, true), (2, true), (2, true)]);
}

#[test]
fn a_workload_steps_holds_rests_and_ends() {
    let stages = [
        stage(10, span(2.0, 2.0), None),
        stage(10, None, span(50.0, 100.0)),
        stage(10, span(0.0, 0.0), span(50.0, 50.0)),
        stage(10, span(4.0, 1.0), None),
    ];
    let mut rules = rules(4, 1, &stages);
    rules.stages_begin = Duration::from_secs(5);
    let profile = rules.profile(0, 0, 0);
    let changes: Vec<_> = profile
        .changes
        .iter()
        .map(|change| (change.at_ns / 1_000_000, change.active, change.open))
        .collect();
    assert_eq!(
        changes,
        [
            (0, 2, false),
            (15_000, 4, true),
            (25_000, 0, true),
            (35_000, 4, false),
            (36_666, 3, false),
            (40_000, 2, false),
            (43_333, 1, false),
            (45_000, 0, false),
        ]
    );
    assert!((profile.rate_per_s(20 * SECOND_NS) - 75.0).abs() < 1e-6);
    assert_eq!(
        profile.rate_per_s(30 * SECOND_NS),
        0.0,
        "nothing is due while nobody is active"
    );
}

#[test]
fn before_the_first_stage_everything_is_as_at_its_begin() {
    let stages = [stage(10, span(3.0, 8.0), span(10.0, 60.0))];
    let mut rules = rules(8, 1, &stages);
    rules.stages_begin = Duration::from_secs(20);
    let profile = rules.profile(0, 0, 0);
    for second in [0, 10, 20] {
        assert_eq!(profile.at(second * SECOND_NS), (3, true));
        assert!((profile.rate_per_s(second * SECOND_NS) - 10.0).abs() < 1e-6);
    }
    assert_eq!(profile.at(30 * SECOND_NS - 1), (8, true));
}

#[test]
fn a_delay_covers_what_comes_before_it() {
    let stages = [stage(10, span(0.0, 10.0), span(0.0, 100.0))];
    let mut rules = rules(10, 1, &stages);
    rules.start_delay = Duration::from_secs(6);
    let profile = rules.profile(0, 0, SECOND_NS);
    assert_eq!(
        (profile.changes[0].at_ns, profile.changes[0].active),
        (6 * SECOND_NS, 6)
    );
    assert!((profile.rate_per_s(6 * SECOND_NS) - 60.0).abs() < 1e-3);
    rules.start_delay = Duration::from_secs(11);
    assert!(rules.profile(0, 0, 0).changes.iter().all(|change| change.active == 0));
}

#[test]
fn a_thread_without_active_clients_leaves_the_rate_to_the_others() {
    let stages = [stage(10, span(2.0, 2.0), span(90.0, 90.0))];
    let rules = rules(9, 3, &stages);
    let rates = [0, 1, 2].map(|part| rules.profile(part, 0, 0).rate_per_s(SECOND_NS));
    assert!(
        (rates[0] - 45.0).abs() < 1e-6 && (rates[1] - 45.0).abs() < 1e-6,
        "{rates:?}"
    );
    assert_eq!(rates[2], 0.0);
}

#[test]
fn values_that_make_no_sense_count_as_nothing() {
    for value in [f64::NAN, f64::INFINITY, -3.0] {
        let stages = [
            stage(1, span(value, value), span(value, 5.0)),
            stage(1, span(2.0, value), span(value, value)),
        ];
        let profile = rules(2, 1, &stages).profile(0, 0, 0);
        assert_eq!(profile.at(SECOND_NS / 2), (0, true), "{value}");
        assert_eq!(profile.rate_per_s(SECOND_NS / 2), 0.0);
        assert_eq!(profile.rate_per_s(SECOND_NS * 3 / 2), 0.0);
    }
}

proptest! {
    #[test]
    fn threads_together_do_what_the_workload_is_to_do(
        clients in 1_usize..40,
        threads in 1_usize..6,
        drawn in prop::collection::vec((0_u64..5, prop::option::of((0.0..50.0_f64, 0.0..50.0_f64)),
            (0.0..1e4_f64, 0.0..1e4_f64)), 1..5),
        begin_s in 0_u64..3,
        at_ns in 0_u64..25 * SECOND_NS,
    ) {
        let threads = threads.min(clients);
        let stages: Vec<_> = drawn
            .iter()
            .map(|&(seconds, clients, (from, to))| stage(seconds, clients.and_then(|(from, to)| span(from, to)),
                span(from, to)))
            .collect();
        let mut rules = rules(clients, threads, &stages);
        rules.stages_begin = Duration::from_secs(begin_s);
        let profiles: Vec<_> = (0..threads).map(|part| rules.profile(part, 0, 0)).collect();
        let actives: Vec<_> = profiles.iter().map(|profile| profile.at(at_ns).0).collect();
        let rate: f64 = profiles.iter().map(|profile| profile.rate_per_s(at_ns)).sum();

        // The same, said without cutting.
        let mut end_ns = begin_s * SECOND_NS;
        let (mut wanted, mut wanted_rate) = (0.0, 0.0);
        for (number, stage) in stages.iter().enumerate() {
            let start_ns = if number == 0 { 0 } else { end_ns };
            let ramp_ns = end_ns;
            end_ns += duration_ns(stage.duration);
            if (start_ns..end_ns).contains(&at_ns) {
                let point = at_ns.saturating_sub(ramp_ns) as f64 / (end_ns - ramp_ns).max(1) as f64;
                wanted = stage.clients.map_or(clients as f64, |span| span.at(point)).min(clients as f64);
                wanted_rate = stage.rate_per_s.map_or(0.0, |span| span.at(point));
                break;
            }
        }
        prop_assume!((wanted.fract() - 0.5).abs() > 1e-6);
        let wanted = wanted.round() as usize;
        prop_assert_eq!(actives.iter().sum::<usize>(), wanted);
        prop_assert!(actives.iter().max().zip(actives.iter().min()).is_some_and(|(most, least)| most - least <= 1));
        let wanted_rate = if wanted == 0 { 0.0 } else { wanted_rate };
        prop_assert!((rate - wanted_rate).abs() <= 1e-3, "{rate} for {wanted_rate}");
    }
}

#[test]
fn a_stage_can_end_early_and_what_follows_moves() {
    let endless = Stage {
        duration: Duration::MAX,
        clients: span(0.0, 0.0),
        rate_per_s: None,
    };
    let stages = [endless, stage(5, None, span(60.0, 60.0)), endless];
    let mut rules = rules(6, 2, &stages);
    rules.stages_begin = Duration::from_secs(2);
    assert!(!rules.end_stage(SECOND_NS), "it is the warm-up");
    assert_eq!(rules.profile(0, 7, 7).at(1_000 * SECOND_NS), (0, false));
    let end_ns = 10 * SECOND_NS;
    assert!(rules.end_stage(end_ns));
    let profile = rules.profile(0, 7, end_ns + 7);
    assert_eq!(profile.at(end_ns + 7), (3, true));
    assert!((profile.rate_per_s(end_ns + 7) - 30.0).abs() < 1e-9);
    assert_eq!(profile.at(end_ns + 5 * SECOND_NS + 7), (0, false));
    // One that was over when it began takes no time.
    assert!(rules.end_stage(end_ns));
    assert_eq!(rules.profile(0, 7, end_ns + 7).at(end_ns + 7), (0, false));
}

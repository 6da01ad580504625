//! Processes that are neither dyno's nor the server's took the CPU.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::{Deviation, Signal, Window};
use dyno_archive::analysis::Cause;

/// Less additional load than this share of all cores leaves enough.
const LEAST_SHARE: f64 = 0.1;

/// With more idle time than this there was CPU left.
const IDLE_SHARE: f64 = 0.25;

/// With less idle time than this before, others may have been waiting for more than they got.
const NOTHING_IDLE: f64 = 0.05;

/// Who has more than this share of the cores is who others wait for.
const MOST_CORES: f64 = 0.5;

/// How well a crowded machine explains a dip by itself.
const CROWDED: f64 = 0.6;

/// What others had of the cores, if that was most of them and more than usual while dyno notably waited for one.
fn crowded(recording: &Recording, others: &Signal, dip: Window) -> Option<Deviation> {
    let starved = recording.is_starved(dip)?;
    let (inside, usual) = (others.series.mean_in(dip)?, others.usual.median);
    let most = starved && inside >= MOST_CORES * recording.cores && inside > usual;
    most.then_some(Deviation {
        inside,
        usual,
        spreads: 0.0,
    })
}

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let signal = recording.other_cores.as_ref()?;
    let raised = signal.raised_in(dip, LEAST_SHARE * recording.cores);
    // On a machine that is always shared a little more is not notable in itself. It is when dyno suddenly waits for
    // a core that others have.
    let (raised, crowded) = match raised {
        Some(raised) => (raised, false),
        None => (crowded(recording, signal, dip)?, true),
    };
    let more = (raised.inside - raised.usual) / recording.cores.max(1.0);
    let idle = recording.idle_share.as_ref();
    let left = idle
        .and_then(|idle| idle.series.mean_in(dip))
        .is_some_and(|idle| idle > IDLE_SHARE);
    // Others take what a server leaves that stands still for another reason; but where there was time left before,
    // few waited for such a chance.
    let wanted_more = idle.is_none_or(|idle| idle.usual.median < NOTHING_IDLE);
    let certainty = match recording.is_starved(dip) {
        _ if left => 0.5,
        Some(false) if wanted_more || raised.inside < MOST_CORES * recording.cores => 0.5,
        Some(false) => 0.75,
        _ => 1.0,
    };
    let mut named: Vec<(&String, f64)> = recording
        .others
        .iter()
        .filter_map(|(name, cores)| Some((name, cores.mean_in(dip)?)))
        .filter(|(_, cores)| *cores >= 0.05)
        .collect();
    named.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    let names: Vec<_> = named
        .iter()
        .take(3)
        .map(|(name, cores)| format!("{name} {cores:.1}"))
        .collect();
    let names = if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    };
    Some(Evidence {
        cause: Cause::OtherProcesses,
        score: if crowded {
            CROWDED
        } else {
            (0.45 + 1.1 * more).min(0.92) * certainty
        },
        words: format!(
            "other processes kept {:.1} of {:.0} cores busy{names}, usually {:.1}",
            raised.inside, recording.cores, raised.usual
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};
    use crate::series::Series;

    #[test]
    fn a_hog_is_named() {
        let mut recording = calm();
        recording.other_cores = signal(0.1, 1.5);
        recording.idle_share = signal(0.2, 0.01);
        recording.run_queue = signal(0.2, 1.5);
        let mut cc = Series::default();
        cc.push(DIP, 1.4);
        recording.others.insert("cc1plus".to_owned(), cc);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.9, "{found:?}");
        assert_eq!(
            found.words,
            "other processes kept 1.5 of 2 cores busy (cc1plus 1.4), usually 0.1"
        );
    }

    #[test]
    fn a_hog_on_a_quiet_machine_need_not_make_dyno_wait_longer_in_all() {
        // Figures of a run with nothing beside it: dyno had so little to do that it waited less, but there had been
        // time left that nobody took.
        let mut recording = calm();
        recording.other_cores = signal(0.0, 1.72);
        recording.idle_share = signal(0.19, 0.0);
        recording.run_queue = signal(0.55, 0.42);
        recording.dyno_cores = signal(0.19, 0.035);
        let score = look(&recording, DIP).unwrap().score;
        assert!(
            (0.6..0.8).contains(&score),
            "a rule that is certain has to win: {score}"
        );
        // A package manager beside a vacuum.
        recording.other_cores = signal(0.0, 0.8);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn where_cpu_is_left_it_explains_little() {
        let mut recording = calm();
        recording.other_cores = signal(0.1, 0.6);
        recording.run_queue = signal(0.2, 0.6);
        recording.idle_share = signal(0.6, 0.5);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn a_machine_that_is_always_shared_explains_nothing() {
        let mut recording = calm();
        recording.other_cores = signal(1.0, 1.05);
        assert_eq!(look(&recording, DIP), None);
    }

    #[test]
    fn taking_what_is_left_over_explains_nothing() {
        // Figures of a run beside a build: first somebody's busy loops, then a vacuum that kept the clients waiting
        // for the write-ahead log.
        let mut recording = calm();
        recording.idle_share = signal(0.0, 0.0);
        recording.other_cores = signal(1.10, 1.68);
        recording.run_queue = signal(0.65, 1.58);
        recording.dyno_cores = signal(0.12, 0.03);
        assert!(look(&recording, DIP).unwrap().score > 0.7);
        recording.other_cores = signal(1.15, 1.55);
        recording.run_queue = signal(0.65, 0.19);
        recording.dyno_cores = signal(0.12, 0.02);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
    }

    #[test]
    fn a_hog_among_builds_shows_in_waiting_for_a_core() {
        // Figures of a run beside builds that had three quarters of two cores anyway.
        let mut recording = calm();
        recording.other_cores = noisy(1.56, 1.92);
        recording.dyno_cores = signal(0.05, 0.015);
        recording.idle_share = signal(0.0, 0.0);
        recording.run_queue = signal(0.24, 0.25);
        assert_eq!(look(&recording, DIP), None);
        recording.run_queue = signal(0.24, 2.8);
        assert!(look(&recording, DIP).unwrap().score > 0.5);
    }

    /// A signal with a spread of 0.2.
    fn noisy(usual: f64, inside: f64) -> Option<Signal> {
        let mut signal = signal(usual, inside)?;
        signal.usual.spread = 0.2;
        Some(signal)
    }

    #[test]
    fn a_hog_that_leaves_dyno_little_to_do_is_found_all_the_same() {
        // Figures of a run during which a build came and went: half the transactions, so half the waits, but each
        // for longer.
        let mut recording = calm();
        recording.other_cores = noisy(1.07, 1.64);
        recording.idle_share = signal(0.02, 0.0);
        recording.run_queue = signal(0.38, 0.56);
        recording.dyno_cores = signal(0.09, 0.043);
        assert!(look(&recording, DIP).unwrap().score > 0.5);
        // A vacuum in the same run.
        recording.other_cores = noisy(1.07, 1.16);
        recording.run_queue = signal(0.38, 0.15);
        recording.dyno_cores = signal(0.09, 0.04);
        assert_eq!(look(&recording, DIP), None);
    }
}

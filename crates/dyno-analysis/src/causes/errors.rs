//! Transactions failed or connections were lost.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let near = dip.widened(1.0);
    let lost = recording
        .losses
        .iter()
        .filter(|(window, _)| window.start_s < near.end_s && window.end_s > near.start_s);
    if let Some((_, words)) = lost.clone().next() {
        let share = (lost.count() as f64 / recording.clients.max(1.0)).min(1.0);
        return Some(Evidence {
            cause: Cause::Errors,
            score: 0.4 + 0.45 * share,
            words: words.clone(),
        });
    }
    let errors = recording
        .errors
        .iter()
        .filter(|(at_s, ..)| *at_s > dip.start_s && *at_s <= dip.end_s + 1e-3);
    let example = errors.clone().next().map(|(.., example)| example)?;
    let inside: u64 = errors.map(|(_, count, _)| count).sum();
    let all: u64 = recording.errors.iter().map(|(_, count, _)| count).sum();
    // Errors at the rate of the rest of the run explain nothing.
    let outside_s = (recording.measured.length_s() - dip.length_s()).max(1.0);
    let expected = (all - inside) as f64 / outside_s * dip.length_s();
    let usual_tps = dyno_stats::median(&recording.tps.iter().map(|(_, tps)| tps).collect::<Vec<_>>())?;
    let missing = (usual_tps - recording.tps.mean_in(dip)?).max(1.0) * dip.length_s();
    let share = ((inside as f64 - expected) / missing).clamp(0.0, 1.0);
    (share > 0.0).then(|| Evidence {
        cause: Cause::Errors,
        score: 0.2 + 0.6 * share.sqrt(),
        words: format!("{inside} transactions failed, the first with: {example}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm};

    #[test]
    fn connections_lost_at_the_time_explain_it() {
        let mut recording = calm();
        for client in 0..8 {
            let window = Window {
                start_s: 60.5,
                end_s: 62.0,
            };
            recording
                .losses
                .push((window, format!("client {client} had no connection for 1.5 s")));
        }
        assert!(look(&recording, DIP).unwrap().score > 0.8);
    }

    #[test]
    fn errors_in_place_of_transactions_explain_it_and_a_few_do_not() {
        let mut recording = calm();
        recording.errors.push((62.0, 2_600, "ERROR: out of memory".to_owned()));
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.7, "{found:?}");
        recording.errors[0].1 = 20;
        assert!(look(&recording, DIP).unwrap().score < 0.3);
    }

    #[test]
    fn errors_as_usual_explain_nothing() {
        let mut recording = calm();
        recording.errors = (1..=120)
            .map(|at| (f64::from(at), 5, "ERROR: deadlock detected".to_owned()))
            .collect();
        assert_eq!(look(&recording, DIP), None);
    }
}

//! Old versions of rows had piled up, so that readers had to go through them, or the server was removing many.
//!
//! They pile up for as long as somebody may still need them, mostly because of a transaction that is left open. That
//! alone is a mention: it takes much to be felt, and what is felt comes and goes slowly.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;
use dyno_archive::figures::decimal;

/// Fewer transactions than this are no pile.
const LEAST: f64 = 5_000.0;

/// What leads to a dip begins a little before it.
const AROUND_S: f64 = 1.0;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let left = recording.to_purge.as_ref()?;
    let near = dip.widened(AROUND_S);
    // When fewer change something, the usual few are soon removed, and that is no cause of anything.
    let was_long = left
        .series
        .max_in(near)
        .is_some_and(|most| most - left.usual.median >= LEAST.max(left.usual.median));
    let purged = recording
        .purged
        .as_ref()
        .filter(|_| was_long)
        .and_then(|purged| purged.raised_in(near, LEAST / dip.length_s().max(1.0)));
    if let Some(purged) = purged {
        return Some(Evidence {
            cause: Cause::Purge,
            score: 0.6,
            words: format!(
                "the server removed the old versions of rows of {} transactions per second, usually {}",
                decimal(purged.inside, 0),
                decimal(purged.usual, 0)
            ),
        });
    }
    let piled = left.raised_in(dip, LEAST.max(left.usual.median))?;
    let most: Vec<Window> = left
        .series
        .iter()
        .filter(|(_, number)| *number >= 0.5 * piled.inside)
        .map(|(window, _)| window)
        .collect();
    let coincidence = recording.coincidence(dip, &most).clamp(0.0, 1.0);
    Some(Evidence {
        cause: Cause::Purge,
        score: 0.2 + 0.4 * coincidence,
        words: format!(
            "old versions of rows of {} transactions were yet to be removed, usually {}",
            decimal(piled.inside, 0),
            decimal(piled.usual, 0)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn versions_that_pile_up_and_go_within_the_dip_explain_it() {
        let mut recording = calm();
        assert_eq!(look(&recording, DIP), None);
        recording.to_purge = signal(200.0, 40_000.0);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.5, "{found:?}");
        recording.to_purge = signal(200.0, 900.0);
        assert_eq!(look(&recording, DIP), None);
    }

    #[test]
    fn many_that_are_removed_are_work() {
        let mut recording = calm();
        recording.to_purge = signal(8_000.0, 9_000.0);
        recording.purged = signal(10.0, 20_000.0);
        assert_eq!(look(&recording, DIP), None);
        recording.to_purge = signal(8_000.0, 30_000.0);
        let found = look(&recording, DIP).unwrap();
        assert!(found.score > 0.5 && found.words.contains("removed"), "{found:?}");
    }
}

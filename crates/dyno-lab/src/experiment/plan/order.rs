//! The order in which runs are made.

use dyno_archive::plan::{Levels, Order, PlannedRun};
use dyno_script::Random;
use std::collections::HashMap;

/// The runs of `cells`, each `repetitions` times, in `order`.
pub(super) fn runs(cells: &[&Levels], repetitions: usize, order: Order, seed: u64) -> Vec<PlannedRun> {
    // Scripts draw from generators with the seed itself; these are to be other numbers.
    let mut random = Random::new(!seed);
    let mut sequence: Vec<usize> = Vec::with_capacity(cells.len().saturating_mul(repetitions));
    for _ in 0..repetitions {
        let start = sequence.len();
        sequence.extend(0..cells.len());
        if order == Order::Interleaved {
            shuffle(&mut sequence[start..], &mut random);
        }
    }
    if order == Order::Random {
        shuffle(&mut sequence, &mut random);
    }
    let mut times: HashMap<usize, usize> = HashMap::new();
    let numbered = sequence.into_iter().zip(1..);
    let run = |(index, number): (usize, usize)| {
        let repetition = times.entry(index).or_default();
        *repetition += 1;
        PlannedRun {
            number,
            cell: cells[index].clone(),
            repetition: *repetition,
        }
    };
    numbered.map(run).collect()
}

/// Fisher and Yates's shuffle: every order is as likely.
fn shuffle(sequence: &mut [usize], random: &mut Random) {
    for last in (1..sequence.len()).rev() {
        // Both bounds are positions in memory, far below the largest i64.
        let other = random.uniform(0, last as i64) as usize;
        sequence.swap(last, other);
    }
}

//! Whose turn it is when: slices of two sides in blocks of four, A B B A or B A A B as drawn.

use dyno_script::Random;
use std::time::Duration;

/// Slices in a block.
pub(super) const BLOCK: usize = 4;

/// Into so many intervals a slice is divided.
pub(super) const PARTS: u32 = 5;

/// So many of them, at the begin of each slice, count for nothing: in them clients come back from their rest, and
/// caches of the processor from what the other side did.
pub(super) const CUT: u32 = 1;

/// Whose turn it is in each slice of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    slice: Duration,
    /// When the first slice begins.
    begin: Duration,
    /// Of each block, whether the second side has the slices outside.
    second_outside: Vec<bool>,
}

/// A place in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The slice, from 0.
    pub slice: usize,
    /// The part of it, from 0.
    pub part: u32,
    /// Whose turn it is: 0 or 1.
    pub side: usize,
}

impl Sequence {
    /// As many whole blocks as fit into `lasts`, at least one, from `begin` on. The same `seed` draws the same order.
    pub fn new(begin: Duration, slice: Duration, lasts: Duration, seed: u64) -> Self {
        let blocks = lasts.as_nanos() / (slice.as_nanos().max(1) * BLOCK as u128);
        let blocks = usize::try_from(blocks).unwrap_or(usize::MAX).max(1);
        // Neither the numbers of scripts nor those that order runs.
        let mut random = Random::new(seed.rotate_left(32) ^ 0x7475_726e);
        Self {
            slice,
            begin,
            second_outside: (0..blocks).map(|_| random.uniform(0, 1) == 1).collect(),
        }
    }

    /// How long all of it takes.
    pub fn lasts(&self) -> Duration {
        let slices = u32::try_from(self.slices()).unwrap_or(u32::MAX);
        self.slice.saturating_mul(slices)
    }

    /// How many slices there are.
    pub fn slices(&self) -> usize {
        self.second_outside.len() * BLOCK
    }

    /// Whose turn the slice is.
    pub fn side(&self, slice: usize) -> usize {
        let outside = matches!(slice % BLOCK, 0 | 3);
        usize::from(self.second_outside(slice / BLOCK) == outside)
    }

    /// Whether the second side has the slices outside of this block.
    pub fn second_outside(&self, block: usize) -> bool {
        self.second_outside.get(block).copied().unwrap_or_default()
    }

    /// Where an interval is that begins at `start`; `None` before the first slice and behind the last.
    pub fn place(&self, start: Duration) -> Option<Place> {
        let part = self.slice / PARTS;
        // Intervals begin where they should, give or take a rounding.
        let parts = (start + part / 2).checked_sub(self.begin)?.as_nanos() / part.as_nanos().max(1);
        let parts = usize::try_from(parts).ok()?;
        let slice = parts / PARTS as usize;
        (slice < self.slices()).then(|| Place {
            slice,
            part: (parts % PARTS as usize) as u32,
            side: self.side(slice),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence() -> Sequence {
        let ms = Duration::from_millis;
        Sequence::new(ms(1_000), ms(500), ms(60_000), 7)
    }

    #[test]
    fn each_block_gives_both_sides_the_same_places() {
        let sequence = sequence();
        assert_eq!(sequence.slices(), 120);
        assert_eq!(sequence.lasts(), Duration::from_secs(60));
        let sides: Vec<usize> = (0..sequence.slices()).map(|slice| sequence.side(slice)).collect();
        let mut seen = [0, 0];
        for (block, sides) in sides.chunks(BLOCK).enumerate() {
            let second = sequence.second_outside(block);
            assert_eq!(sides, if second { [1, 0, 0, 1] } else { [0, 1, 1, 0] });
            seen[usize::from(second)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
    }

    #[test]
    fn the_order_is_drawn_from_the_seed() {
        let ms = Duration::from_millis;
        let other = |seed| Sequence::new(ms(1_000), ms(500), ms(60_000), seed);
        assert_eq!(other(7), sequence());
        assert_ne!(other(8), sequence());
    }

    #[test]
    fn intervals_are_found_whatever_was_rounded() {
        let sequence = sequence();
        let at = |ns: u64| {
            sequence
                .place(Duration::from_nanos(ns))
                .map(|place| (place.slice, place.part))
        };
        assert_eq!(at(0), None);
        assert_eq!(at(999_999_999), Some((0, 0)));
        assert_eq!(at(1_000_000_001), Some((0, 0)));
        assert_eq!(at(1_499_999_999), Some((1, 0)));
        assert_eq!(at(1_899_999_990), Some((1, 4)));
        assert_eq!(at(60_999_999_999), None);
    }
}

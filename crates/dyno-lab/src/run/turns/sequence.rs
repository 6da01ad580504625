//! Whose turn it is when. In a block each side has two slices: in an order that is drawn, and then in the same order
//! from its end. Of two sides that is A B B A or B A A B. Where all work at once a block is two slices of all.

use dyno_script::Random;
use std::time::Duration;

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
    /// What there is time for.
    lasts: Duration,
    sides: usize,
    /// Whether all sides work in every slice.
    at_once: bool,
    /// The order of the sides in the first half of each block, one block after the other.
    orders: Vec<u8>,
    /// From which slice on they are so many times as long.
    longer: Option<(usize, u32)>,
}

/// A place in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The slice, from 0.
    pub slice: usize,
    /// The part of it, from 0: all are as long as those of the first slice.
    pub part: u32,
    /// How many parts it has.
    pub parts: u32,
}

impl Sequence {
    /// As many whole blocks of so many `sides` as fit into `lasts`, at least one, from `begin` on. The same `seed`
    /// draws the same order.
    pub fn new(begin: Duration, slice: Duration, lasts: Duration, seed: u64, sides: u8) -> Self {
        let blocks = lasts.as_nanos() / (slice.as_nanos().max(1) * 2 * u128::from(sides.max(1)));
        let blocks = usize::try_from(blocks).unwrap_or(usize::MAX).max(1);
        // Neither the numbers of scripts nor those that order runs.
        let mut random = Random::new(seed.rotate_left(32) ^ 0x7475_726e);
        Self {
            slice,
            begin,
            lasts,
            longer: None,
            sides: usize::from(sides),
            at_once: false,
            orders: (0..blocks).flat_map(|_| drawn(&mut random, sides)).collect(),
        }
    }

    /// As many slices of this length as fit into `lasts`, in which all `sides` work.
    pub fn at_once(begin: Duration, slice: Duration, lasts: Duration, sides: u8) -> Self {
        // As many turns take so much longer.
        let turns = Self::new(begin, slice, lasts.saturating_mul(u32::from(sides)), 0, sides);
        Self {
            at_once: true,
            lasts,
            ..turns
        }
    }

    /// The same with slices `factor` times as long from this block on, as many as there is time for; `None`: for none.
    pub fn lengthened(&self, block: usize, factor: u32) -> Option<Self> {
        let mut longer = Self {
            longer: Some((block * self.block(), factor)),
            ..self.clone()
        };
        let left = self.lasts.saturating_sub(longer.start_of(block * self.block()));
        let length = self.slice * factor * self.block() as u32;
        let more = usize::try_from(left.as_nanos() / length.as_nanos().max(1)).unwrap_or(usize::MAX);
        longer
            .orders
            .truncate(block.saturating_add(more).saturating_mul(self.sides));
        (more > 0).then_some(longer)
    }

    /// How long all of it takes.
    pub fn lasts(&self) -> Duration {
        self.start_of(self.slices())
    }

    /// When a slice begins, counted from the begin of the first.
    pub fn start_of(&self, slice: usize) -> Duration {
        let times = |slices: usize| u32::try_from(slices).unwrap_or(u32::MAX);
        let (short, long) = match self.longer {
            Some((first, factor)) => (
                slice.min(first),
                times(slice.saturating_sub(first)).saturating_mul(factor),
            ),
            None => (slice, 0),
        };
        self.slice.saturating_mul(times(short).saturating_add(long))
    }

    /// When the load is to go on with longer slices, and from which slice on.
    pub fn longer_from(&self) -> Option<(Duration, usize)> {
        let (first, _) = self.longer?;
        Some((self.begin + self.start_of(first), first))
    }

    /// How long a slice is.
    pub fn length(&self, slice: usize) -> Duration {
        match self.longer {
            Some((first, factor)) if slice >= first => self.slice * factor,
            _ => self.slice,
        }
    }

    /// How many slices there are.
    pub fn slices(&self) -> usize {
        self.orders.len() / self.sides.max(1) * self.block()
    }

    /// How many slices a block has.
    pub fn block(&self) -> usize {
        match self.at_once {
            true => 2,
            false => 2 * self.sides,
        }
    }

    /// How many parts at the begin of a slice of so many do not count.
    pub fn cut(&self, parts: u32) -> u32 {
        match self.at_once {
            // Nobody comes back from a rest.
            true => 0,
            false => parts / PARTS * CUT,
        }
    }

    /// Whether this side works in the slice.
    pub fn works(&self, slice: usize, side: usize) -> bool {
        self.at_once || self.side(slice) == side
    }

    /// How many sides there are.
    pub fn sides(&self) -> usize {
        self.sides
    }

    /// Whose turn the slice is, where it is one's.
    pub fn side(&self, slice: usize) -> usize {
        let place = slice % self.block();
        let place = place.min(self.block() - 1 - place);
        let order = self.orders.get(slice / self.block() * self.sides + place);
        order.copied().map_or(0, usize::from)
    }

    /// Whether this side has slices outside of those of the first one in this block.
    pub fn is_outside(&self, block: usize, side: usize) -> bool {
        if self.at_once {
            return false;
        }
        let order = self.orders.chunks(self.sides).nth(block).unwrap_or_default();
        let ours = order.iter().take_while(|one| **one != 0);
        ours.copied().any(|one| usize::from(one) == side)
    }

    /// Where an interval is that begins at `start`; `None` before the first slice and behind the last.
    pub fn place(&self, start: Duration) -> Option<Place> {
        let part = self.slice / PARTS;
        // Intervals begin where they should, give or take a rounding.
        let parts = (start + part / 2).checked_sub(self.begin)?.as_nanos() / part.as_nanos().max(1);
        let parts = usize::try_from(parts).ok()?;
        let short = PARTS as usize;
        let (slice, part, length) = match self.longer {
            Some((first, factor)) if parts >= first * short => {
                let (parts, length) = (parts - first * short, short * factor as usize);
                (first + parts / length, parts % length, length)
            }
            _ => (parts / short, parts % short, short),
        };
        (slice < self.slices()).then_some(Place {
            slice,
            part: part as u32,
            parts: length as u32,
        })
    }
}

/// An order of so many sides, all with the same probability (R. Durstenfeld, 1964).
fn drawn(random: &mut Random, sides: u8) -> Vec<u8> {
    let mut order: Vec<u8> = (0..sides).collect();
    for last in (1..order.len()).rev() {
        let before = usize::try_from(random.uniform(0, last as i64)).unwrap_or_default();
        order.swap(last, last - before.min(last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 4;

    fn sequence() -> Sequence {
        let ms = Duration::from_millis;
        Sequence::new(ms(1_000), ms(500), ms(60_000), 7, 2)
    }

    #[test]
    fn each_block_gives_both_sides_the_same_places() {
        let sequence = sequence();
        assert_eq!(sequence.slices(), 120);
        assert_eq!(sequence.lasts(), Duration::from_secs(60));
        let sides: Vec<usize> = (0..sequence.slices()).map(|slice| sequence.side(slice)).collect();
        let mut seen = [0, 0];
        for (block, sides) in sides.chunks(BLOCK).enumerate() {
            let second = sequence.is_outside(block, 1);
            assert_eq!(sides, if second { [1, 0, 0, 1] } else { [0, 1, 1, 0] });
            seen[usize::from(second)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
    }

    #[test]
    fn slices_can_become_longer() {
        let (ms, short) = (Duration::from_millis, sequence());
        let long = short.lengthened(5, 4).unwrap();
        // 50 s are left for blocks of 8 s.
        assert_eq!((long.slices(), long.lasts()), ((5 + 6) * BLOCK, ms(58_000)));
        assert_eq!((long.length(19), long.length(20)), (ms(500), ms(2_000)));
        assert_eq!(long.longer_from(), Some((ms(11_000), 20)));
        assert!((0..long.slices()).all(|slice| long.side(slice) == short.side(slice)));
        let at = |at_ms| {
            long.place(ms(at_ms))
                .map(|place| (place.slice, place.part, place.parts))
        };
        assert_eq!(at(10_900), Some((19, 4, 5)));
        assert_eq!(at(11_000), Some((20, 0, 20)));
        assert_eq!(at(13_900), Some((21, 9, 20)));
        assert_eq!(at(59_000), None);
        assert_eq!(short.lengthened(5, 100), None);
    }

    #[test]
    fn of_three_sides_each_order_is_as_probable() {
        let ms = Duration::from_millis;
        let sequence = Sequence::new(ms(0), ms(500), ms(3_600_000), 7, 3);
        let sides: Vec<usize> = (0..sequence.slices()).map(|slice| sequence.side(slice)).collect();
        let mut seen = std::collections::BTreeMap::new();
        for (block, sides) in sides.chunks(6).enumerate() {
            let mirrored: Vec<usize> = sides.iter().rev().copied().collect();
            assert_eq!(sides, mirrored);
            let place = |side| sides.iter().position(|one| *one == side).unwrap();
            assert_eq!(sequence.is_outside(block, 2), place(2) < place(0));
            *seen.entry(sides[..3].to_vec()).or_insert(0) += 1;
        }
        // 1,200 blocks, 200 of each on average.
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (140..260).contains(count)), "{seen:?}");
    }

    #[test]
    fn all_may_work_at_once() {
        let ms = Duration::from_millis;
        let sequence = Sequence::at_once(ms(1_000), ms(500), ms(60_000), 3);
        assert_eq!(
            (sequence.slices(), sequence.lasts(), sequence.block()),
            (120, ms(60_000), 2)
        );
        assert!((0..3).all(|side| sequence.works(17, side)));
        assert!((0..3).all(|side| !sequence.is_outside(4, side)));
        assert_eq!(sequence.cut(PARTS), 0);
    }

    #[test]
    fn the_order_is_drawn_from_the_seed() {
        let ms = Duration::from_millis;
        let other = |seed| Sequence::new(ms(1_000), ms(500), ms(60_000), seed, 2);
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

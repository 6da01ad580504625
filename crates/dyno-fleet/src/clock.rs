//! What time it is elsewhere.
//!
//! A round trip tells the other clock's reading at an instant between sending and receiving. Where between is not
//! known, so the middle is taken, and half of the trip is how far off that may be. Most of a long trip is waiting (in
//! queues, for a CPU), which need not be the same on both ways; so of several trips the shortest counts, and the others
//! tell nothing. Clocks are monotonic: nobody sets them while a load runs, but they need not be equally fast, so they
//! are compared before, during and after it.

use std::time::Instant;

/// Nanoseconds since some instant of this process's choosing.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Its reading.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The instant of a reading, which may be over.
    #[must_use]
    pub fn instant(&self, at_ns: u64) -> Instant {
        // Readings that no process lives to see count as now: nothing is to wait for ever.
        self.origin
            .checked_add(std::time::Duration::from_nanos(at_ns))
            .unwrap_or_else(Instant::now)
    }
}

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// When it was sent, by our clock.
    pub sent_ns: u64,
    /// When the answer came, by our clock.
    pub received_ns: u64,
    /// When it arrived there, by theirs.
    pub there_ns: u64,
}

/// How far their clock is ahead of ours, in nanoseconds, and how far that may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Theirs less ours.
    pub offset_ns: i64,
    /// It is off by this at most, if both clocks are equally fast for the length of a trip.
    pub uncertainty_ns: u64,
}

impl Trip {
    fn offset(self) -> Option<Offset> {
        let trip_ns = self.received_ns.checked_sub(self.sent_ns)?;
        let middle_ns = self.sent_ns + trip_ns / 2;
        Some(Offset {
            offset_ns: self.there_ns.cast_signed().wrapping_sub(middle_ns.cast_signed()),
            uncertainty_ns: trip_ns.div_ceil(2),
        })
    }
}

impl Offset {
    /// Our reading in their time, at least 0.
    #[must_use]
    pub fn there_ns(self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.offset_ns)
    }

    /// What the shortest of some trips tells; `None` without any.
    pub fn of(trips: impl IntoIterator<Item = Trip>) -> Option<Self> {
        let offsets = trips.into_iter().filter_map(Trip::offset);
        offsets.min_by_key(|offset| offset.uncertainty_ns)
    }
}

/// How many trips of a running load are one measurement.
const WINDOW: usize = 8;

/// What is known of another clock in the course of a load.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    window: Vec<Trip>,
    /// Before the load.
    before: Option<Offset>,
    /// The one that differs most from that before, of all measured since, as far as they are certain.
    farthest: Option<Offset>,
    /// The last one.
    last: Option<Offset>,
}

impl Comparison {
    /// Adds a trip.
    pub fn add(&mut self, trip: Trip) {
        self.window.push(trip);
        if self.before.is_some() && self.window.len() >= WINDOW {
            self.close();
        }
    }

    /// How many trips have been made since the last measurement.
    #[must_use]
    pub fn trips(&self) -> usize {
        self.window.len()
    }

    /// Makes a measurement of the trips since the last one. The first measurement is the one before the load.
    pub fn close(&mut self) {
        let Some(offset) = Offset::of(self.window.drain(..)) else {
            return;
        };
        let Some(before) = self.before else {
            (self.before, self.last) = (Some(offset), Some(offset));
            return;
        };
        // What was under way while the network was cut may differ by half of the cut: what is uncertain is beaten by
        // whatever is known better, even if it differs less.
        let far = |offset: Offset| {
            i128::from(offset.offset_ns.abs_diff(before.offset_ns)) - 2 * i128::from(offset.uncertainty_ns)
        };
        if self.farthest.is_none_or(|farthest| far(offset) > far(farthest)) {
            self.farthest = Some(offset);
        }
        self.last = Some(offset);
    }

    /// What was measured before the load.
    #[must_use]
    pub fn before(&self) -> Option<Offset> {
        self.before
    }

    /// What was measured last.
    #[must_use]
    pub fn last(&self) -> Option<Offset> {
        self.last
    }

    /// By how much the clocks drifted apart at most since the load began, in nanoseconds.
    #[must_use]
    pub fn drift_ns(&self) -> u64 {
        let drift = self.before.zip(self.farthest);
        drift.map_or(0, |(before, farthest)| farthest.offset_ns.abs_diff(before.offset_ns))
    }

    /// How far the worst measurement may be off, in nanoseconds.
    #[must_use]
    pub fn uncertainty_ns(&self) -> u64 {
        let all = [self.before, self.farthest, self.last];
        all.into_iter()
            .flatten()
            .map(|offset| offset.uncertainty_ns)
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A trip that takes so long on its way there and back, to a clock that is ahead by `ahead_ns`.
    fn trip(sent_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: i64) -> Trip {
        Trip {
            sent_ns,
            received_ns: sent_ns + there_ns + back_ns,
            there_ns: (sent_ns + there_ns).saturating_add_signed(ahead_ns),
        }
    }

    proptest! {
        #[test]
        fn the_offset_is_off_by_no_more_than_it_says(
            ahead_ns in -1_000_000_000_i64..1_000_000_000_000,
            trips in prop::collection::vec((0_u64..50_000_000, 0_u64..50_000_000), 1..30),
        ) {
            let all = trips.iter().zip(1..).map(|(&(there_ns, back_ns), number)| {
                trip(number * 1_000_000_000, there_ns, back_ns, ahead_ns)
            });
            let offset = Offset::of(all).unwrap();
            prop_assert!(offset.offset_ns.abs_diff(ahead_ns) <= offset.uncertainty_ns, "{offset:?}");
            let least = trips.iter().map(|(there_ns, back_ns)| there_ns + back_ns).min().unwrap();
            prop_assert_eq!(offset.uncertainty_ns, least.div_ceil(2));
        }

        #[test]
        fn what_took_long_is_no_drift(
            ahead_ns in -1_000_000_000_i64..1_000_000_000,
            before in (0_u64..1_000_000, 0_u64..1_000_000),
            // Some go through a network that is cut for up to ten seconds.
            since in prop::collection::vec((0_u64..10_000_000_000, 0_u64..10_000_000_000), 1..6),
            one_of_them in (0_u64..1_000_000, 0_u64..1_000_000),
        ) {
            let mut comparison = Comparison::default();
            for (there_ns, back_ns) in [before].into_iter().chain(since).chain([one_of_them]) {
                comparison.add(trip(1_000_000_000, there_ns, back_ns, ahead_ns));
                comparison.close();
            }
            let longest_ns = before.0 + before.1 + one_of_them.0 + one_of_them.1;
            prop_assert!(comparison.drift_ns() <= longest_ns + 2, "{comparison:?}");
        }

        #[test]
        fn no_readings_are_too_strange(sent_ns: u64, received_ns: u64, there_ns: u64, here_ns: u64) {
            let told = Offset::of([Trip { sent_ns, received_ns, there_ns }]);
            prop_assert_eq!(told.is_some(), received_ns >= sent_ns);
            let mut comparison = Comparison::default();
            for _ in 0..20 {
                comparison.add(Trip { sent_ns, received_ns, there_ns });
                comparison.close();
            }
            let _ = (comparison.drift_ns(), told.map(|offset| offset.there_ns(here_ns)));
        }
    }

    #[test]
    fn a_clock_that_drifts_is_noticed() {
        let mut comparison = Comparison::default();
        comparison.add(trip(1_000, 300, 500, 7_000));
        comparison.close();
        assert_eq!(comparison.before().unwrap().offset_ns, 6_900);
        for number in 0..16_i64 {
            comparison.add(trip(1_000_000 + number as u64, 500, 500, 7_000 + number * 10));
        }
        // The shortest of each window counts; all take the same, so it is the first.
        assert_eq!(
            (comparison.last().unwrap().offset_ns, comparison.drift_ns()),
            (7_080, 180)
        );
        assert_eq!(comparison.uncertainty_ns(), 500);
    }
}

//! Which load is tried next: the highest one that holds is enclosed by doubling and halving, then the gap is narrowed.

use dyno_archive::StepVerdict;

/// Before anything else is known, the next load is so many times the one before, or such a part of it.
const STRIDE: f64 = 2.0;

/// Each end of what is found is tried so often.
const TIMES: usize = 2;

/// Finds the highest load that holds.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The first to be tried.
    start: f64,
    /// The lowest and the highest that can be.
    least: f64,
    most: f64,
    /// Whether there are whole loads only.
    whole: bool,
    /// How near the ends have to come to each other: a ratio above 1.
    near: f64,
    /// By how much loads change where one side is not known.
    stride: f64,
    tried: Vec<Tried>,
}

/// A load that was tried.
#[derive(Clone, Copy, Debug)]
struct Tried {
    load: f64,
    verdict: StepVerdict,
    /// Whether it seems to hold, as far as that is worth anything.
    within: bool,
}

impl Search {
    /// Begins at `start`, between `least` and `most`, all above 0. It goes on until what holds and what does not are as
    /// near as `within`, as a share.
    pub fn new(start: f64, [least, most]: [f64; 2], whole: bool, within: f64) -> Self {
        Self {
            start: start.clamp(least, most.max(least)),
            least,
            most: most.max(least),
            whole,
            near: 1.0 + within,
            stride: STRIDE,
            tried: Vec::new(),
        }
    }

    /// Takes what was found out about a load; `within` says whether it seems to hold if that is unsure. A load that is
    /// found to be otherwise than before, or than what is known of others would have it, is believed: what speaks
    /// against it is forgotten.
    pub fn found(&mut self, load: f64, verdict: StepVerdict, within: bool) {
        let before = self.tried.len();
        self.tried.retain(|other| match (verdict, other.verdict) {
            (StepVerdict::Holds, StepVerdict::Fails) => other.load > load,
            (StepVerdict::Fails, StepVerdict::Holds) => other.load < load,
            // What only seemed so counts for less than what is sure.
            (StepVerdict::Holds, StepVerdict::Unsure) => other.load > load || other.within,
            (StepVerdict::Fails, StepVerdict::Unsure) => other.load < load || !other.within,
            // Longer looked at, it is not as sure as it was.
            (StepVerdict::Unsure, StepVerdict::Holds) => other.load != load || within,
            (StepVerdict::Unsure, StepVerdict::Fails) => other.load != load || !within,
            _ => true,
        });
        if self.tried.len() < before {
            // It cannot be far.
            self.stride = self.near * self.near;
        }
        self.tried.push(Tried { load, verdict, within });
    }

    /// The highest load that holds.
    pub fn holds(&self) -> Option<f64> {
        highest(self.loads(|tried| tried.verdict == StepVerdict::Holds))
    }

    /// The lowest that does not.
    pub fn fails(&self) -> Option<f64> {
        lowest(self.loads(|tried| tried.verdict == StepVerdict::Fails))
    }

    /// Whether what holds and what does not are as near to each other as they have to be.
    fn is_near(&self) -> bool {
        let ends = self.holds().zip(self.fails());
        ends.is_some_and(|(holds, fails)| fails / holds <= self.near || self.whole && fails - holds <= 1.0)
    }

    /// Whether no load holds.
    pub fn is_hopeless(&self) -> bool {
        self.holds().is_none() && self.fails().is_some_and(|fails| fails <= self.least)
    }

    /// Whether this load is tried again, to be sure of it: then it is worth more time.
    pub fn is_known(&self, load: f64) -> bool {
        self.times(load) > 0
    }

    /// The load to try next; `None` if everything is known, or nothing more can be.
    pub fn next(&self) -> Option<f64> {
        let [held, failed] = self.sides();
        let high = lowest(failed.iter().copied());
        let below = |load: &f64| high.is_none_or(|high| *load < high);
        let low = highest(held.iter().copied().filter(below));
        match (low, high) {
            (None, None) => Some(self.rounded(self.start)),
            (None, Some(high)) => self.lower(high).or_else(|| (self.times(high) < TIMES).then_some(high)),
            (Some(low), None) => self.higher(low),
            (Some(low), Some(high)) => self
                .middle(low, high, self.near)
                .or_else(|| self.surer())
                .or_else(|| self.again())
                .or_else(|| self.further()),
        }
    }

    /// A load that is higher, unless this one is the highest.
    fn higher(&self, low: f64) -> Option<f64> {
        let least = if self.whole { low + 1.0 } else { low };
        (low < self.most).then(|| self.rounded(low * self.stride).max(least).min(self.most))
    }

    /// A load that is lower, unless this one is the lowest.
    fn lower(&self, high: f64) -> Option<f64> {
        let most = if self.whole { high - 1.0 } else { high };
        (high > self.least).then(|| self.rounded(high / self.stride).min(most).max(self.least))
    }

    /// The loads that hold or seem to, and those that do not.
    fn sides(&self) -> [Vec<f64>; 2] {
        let holds = self.loads(|tried| match tried.verdict {
            StepVerdict::Unsure => tried.within,
            verdict => verdict == StepVerdict::Holds,
        });
        let fails = self.loads(|tried| match tried.verdict {
            StepVerdict::Unsure => !tried.within,
            verdict => verdict == StepVerdict::Fails,
        });
        [holds.collect(), fails.collect()]
    }

    /// A load between what is sure and what only seems so, if what is sure is not near enough.
    fn surer(&self) -> Option<f64> {
        let near = self.near.sqrt();
        let (holds, fails) = (self.holds(), self.fails());
        let unsure = || {
            self.loads(|tried| tried.verdict == StepVerdict::Unsure)
                .filter(move |load| holds.is_none_or(|holds| *load > holds) && fails.is_none_or(|fails| *load < fails))
        };
        let below = || self.middle(holds?, lowest(unsure())?, near);
        let above = || self.middle(highest(unsure())?, fails?, near);
        match self.is_near() {
            true => None,
            false => below().or_else(above),
        }
    }

    /// A load beyond all that were tried, on a side of which nothing is sure.
    fn further(&self) -> Option<f64> {
        let all = || self.loads(|_| true);
        let higher = || self.higher(highest(all())?);
        let lower = || self.lower(lowest(all())?);
        match (self.holds(), self.fails()) {
            (_, None) => higher(),
            (None, Some(_)) => lower(),
            _ => None,
        }
    }

    /// The ends once more, surely known or not.
    fn again(&self) -> Option<f64> {
        let [held, failed] = self.sides();
        let ends = [
            self.holds().or_else(|| highest(held.iter().copied())),
            self.fails().or_else(|| lowest(failed.iter().copied())),
        ];
        ends.into_iter().flatten().find(|end| self.times(*end) < TIMES)
    }

    /// What lies between two loads, if they are further from each other than `near` and there is anything.
    fn middle(&self, low: f64, high: f64, near: f64) -> Option<f64> {
        let middle = self.rounded((low * high).sqrt());
        (high / low > near && middle > low && middle < high && self.times(middle) < TIMES).then_some(middle)
    }

    fn loads(&self, are: impl Fn(&Tried) -> bool) -> impl Iterator<Item = f64> {
        self.tried
            .iter()
            .filter(move |tried| are(tried))
            .map(|tried| tried.load)
    }

    fn times(&self, load: f64) -> usize {
        self.loads(|tried| tried.load == load).count()
    }

    fn rounded(&self, load: f64) -> f64 {
        if self.whole { load.round().max(1.0) } else { load }
    }
}

fn highest(loads: impl Iterator<Item = f64>) -> Option<f64> {
    loads.max_by(f64::total_cmp)
}

fn lowest(loads: impl Iterator<Item = f64>) -> Option<f64> {
    loads.min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches where `holds` says what is true, and gives every load that was tried.
    fn searched(mut search: Search, mut says: impl FnMut(f64) -> (StepVerdict, bool)) -> (Search, Vec<f64>) {
        let mut tried = Vec::new();
        while let Some(load) = search.next() {
            assert!(tried.len() < 300, "{tried:?}");
            tried.push(load);
            let (verdict, within) = says(load);
            search.found(load, verdict, within);
        }
        (search, tried)
    }

    fn up_to(capacity: f64) -> impl Fn(f64) -> (StepVerdict, bool) {
        move |load| match load <= capacity {
            true => (StepVerdict::Holds, true),
            false => (StepVerdict::Fails, false),
        }
    }

    const ALL: [f64; 2] = [1.0, f64::MAX];

    #[test]
    fn it_is_enclosed_and_narrowed_and_both_ends_are_tried_again() {
        let (search, tried) = searched(Search::new(500.0, ALL, false, 0.05), up_to(1_234.0));
        assert_eq!(tried[..3], [500.0, 1_000.0, 2_000.0]);
        let (holds, fails) = (search.holds().unwrap(), search.fails().unwrap());
        assert!(
            holds <= 1_234.0 && fails > 1_234.0 && fails / holds <= 1.05,
            "{holds} {fails}"
        );
        assert_eq!(tried[tried.len() - 2..], [holds, fails]);
        assert!(tried.len() < 12, "{tried:?}");
    }

    #[test]
    fn what_holds_nowhere_or_everywhere_is_found_out() {
        let (search, tried) = searched(Search::new(100.0, ALL, false, 0.05), |_| (StepVerdict::Fails, false));
        assert!(search.is_hopeless());
        assert_eq!(tried[tried.len() - 2..], [1.0, 1.0], "it is looked at twice");
        let (search, tried) = searched(Search::new(1.0, [1.0, 24.0], true, 0.05), |_| {
            (StepVerdict::Holds, true)
        });
        assert_eq!((search.holds(), search.fails()), (Some(24.0), None));
        assert_eq!(tried, [1.0, 2.0, 4.0, 8.0, 16.0, 24.0]);
    }

    #[test]
    fn whole_loads_end_with_neighbours() {
        let (search, _) = searched(Search::new(1.0, [1.0, 64.0], true, 0.05), up_to(5.0));
        assert_eq!((search.holds(), search.fails()), (Some(5.0), Some(6.0)));
    }

    #[test]
    fn one_wrong_verdict_is_corrected() {
        let mut search = Search::new(500.0, ALL, false, 0.05);
        let mut wrong = false;
        while let Some(load) = search.next() {
            // The machine was disturbed, once.
            let disturbed = load == 1_000.0 && !wrong;
            wrong |= disturbed;
            let (verdict, within) = match disturbed {
                true => (StepVerdict::Fails, false),
                false => up_to(1_234.0)(load),
            };
            search.found(load, verdict, within);
        }
        let (holds, fails) = (search.holds().unwrap(), search.fails().unwrap());
        assert!(
            holds <= 1_234.0 && fails > 1_234.0 && fails / holds <= 1.11,
            "{holds} {fails}"
        );
    }

    #[test]
    fn what_cannot_be_told_is_enclosed() {
        let (search, tried) = searched(Search::new(500.0, ALL, false, 0.05), |load| match load {
            load if load < 1_200.0 => (StepVerdict::Holds, true),
            load if load > 1_260.0 => (StepVerdict::Fails, false),
            load => (StepVerdict::Unsure, load < 1_230.0),
        });
        let (holds, fails) = (search.holds().unwrap(), search.fails().unwrap());
        assert!(holds > 1_140.0 && fails < 1_330.0, "{holds} {fails}: {tried:?}");
    }

    #[test]
    fn a_load_of_which_too_little_is_seen_is_followed_by_a_higher_one() {
        let (search, tried) = searched(Search::new(10.0, ALL, false, 0.05), |load| match load {
            load if load < 70.0 => (StepVerdict::Unsure, true),
            load => up_to(1_234.0)(load),
        });
        assert_eq!(tried[..4], [10.0, 20.0, 40.0, 80.0]);
        assert!(search.holds().is_some_and(|holds| holds > 1_170.0), "{tried:?}");
    }

    #[test]
    fn nothing_higher_is_left_out_because_the_upper_end_only_seemed_not_to_hold() {
        let mut before = 0;
        let (search, tried) = searched(Search::new(50.0, ALL, false, 0.05), |load| match load {
            // The machine was disturbed, at first.
            100.0 if before == 0 => {
                before += 1;
                (StepVerdict::Unsure, false)
            }
            load => up_to(200.0)(load),
        });
        assert!(
            search.is_near() && search.holds().is_some_and(|holds| holds > 190.0),
            "{tried:?}"
        );
        // The same if it never becomes sure.
        let (search, tried) = searched(Search::new(50.0, ALL, false, 0.05), |load| match load {
            100.0 => (StepVerdict::Unsure, false),
            load => up_to(200.0)(load),
        });
        assert!(
            search.is_near() && search.holds().is_some_and(|holds| holds > 190.0),
            "{tried:?}"
        );
    }

    #[test]
    fn what_only_seemed_so_ends_no_search_once_it_is_contradicted() {
        let mut search = Search::new(95.8, ALL, false, 0.05);
        for (load, verdict, within) in [
            (95.8, StepVerdict::Holds, true),
            (100.0, StepVerdict::Unsure, false),
            (100.0, StepVerdict::Unsure, false),
            (200.0, StepVerdict::Fails, false),
            (200.0, StepVerdict::Fails, false),
            (141.0, StepVerdict::Holds, true),
            (141.0, StepVerdict::Holds, true),
        ] {
            search.found(load, verdict, within);
        }
        assert!(
            search.next().is_some_and(|load| load > 141.0 && load < 200.0),
            "{search:?}"
        );
    }

    #[test]
    fn an_end_that_is_not_near_is_known_as_such() {
        let (search, tried) = searched(Search::new(500.0, ALL, false, 0.05), |load| match load {
            load if load < 1_000.0 => (StepVerdict::Holds, true),
            load if load > 1_400.0 => (StepVerdict::Fails, false),
            load => (StepVerdict::Unsure, load < 1_200.0),
        });
        assert!(!search.is_near() && search.fails().is_some(), "{tried:?}");
    }

    #[test]
    fn whole_loads_go_on_by_one_at_least() {
        let mut search = Search::new(4.0, [1.0, 64.0], true, 0.05);
        search.found(4.0, StepVerdict::Fails, false);
        search.found(4.0, StepVerdict::Holds, true);
        assert_eq!(search.next(), Some(5.0));
        search.found(4.0, StepVerdict::Fails, false);
        assert_eq!(search.next(), Some(3.0));
    }

    proptest! {
        /// What is said may contradict itself.
        #[test]
        fn it_ends_with_contradictions(
            seed: u64, capacity in 0.5..1e3_f64, start in 1.0..1e3_f64, whole: bool,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let says = |load: f64| match random.f64() {
                chance if chance < 0.1 => up_to(load)(capacity),
                chance if chance < 0.3 => (StepVerdict::Unsure, random.bool()),
                _ => up_to(capacity)(load),
            };
            let (search, tried) = searched(Search::new(start, [1.0, 1e4], whole, 0.05), says);
            prop_assert!(search.next().is_none(), "{tried:?}");
        }

        /// Whatever is said, there is an end.
        #[test]
        fn it_ends(capacity in 0.5..1e6_f64, start in 1.0..1e6_f64, fuzzy in 0.0..0.3_f64, whole: bool) {
            let says = |load: f64| match load / capacity {
                ratio if ratio < 1.0 - fuzzy => (StepVerdict::Holds, true),
                ratio if ratio > 1.0 + fuzzy => (StepVerdict::Fails, false),
                // It may seem anything.
                _ => (StepVerdict::Unsure, load.to_bits().is_multiple_of(2)),
            };
            let (search, _) = searched(Search::new(start, [1.0, 1e7], whole, 0.05), says);
            let (holds, fails) = (search.holds(), search.fails());
            prop_assert!(holds.is_none_or(|holds| holds <= capacity));
            prop_assert!(fails.is_none_or(|fails| fails >= capacity || fails <= 1.0));
        }
    }
}

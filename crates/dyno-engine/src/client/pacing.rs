//! When transactions begin in an open loop.
//!
//! The schedule is absolute: it is drawn from its own random state, begins when the run begins and is never moved,
//! so a stalled server does not slow the arrivals down. A transaction that begins late because all clients were
//! busy is timed from the instant at which it should have begun.

use crate::load::Span;

/// A stretch of time over which the rate of arrivals is constant or changes linearly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    pub start_ns: f64,
    pub end_ns: f64,
    /// At its start.
    rate_per_ns: f64,
    slope_per_ns2: f64,
}

impl Ramp {
    /// From `start_ns` to a later `end_ns`; rates are finite and not below 0.
    pub fn new(start_ns: u64, end_ns: u64, rate_per_s: Span) -> Self {
        let (start_ns, end_ns) = (start_ns as f64, end_ns as f64);
        Self {
            start_ns,
            end_ns,
            rate_per_ns: rate_per_s.from / 1e9,
            slope_per_ns2: (rate_per_s.to - rate_per_s.from) / 1e9 / (end_ns - start_ns),
        }
    }

    /// The rate at an instant within it.
    pub fn rate_per_ns(&self, at_ns: f64) -> f64 {
        (self.rate_per_ns + self.slope_per_ns2 * (at_ns - self.start_ns)).max(0.0)
    }

    /// How many arrivals are expected from `from_ns` to its end: the integral of the rate.
    fn expected(&self, from_ns: f64) -> f64 {
        (self.rate_per_ns(from_ns) + self.rate_per_ns(self.end_ns)) / 2.0 * (self.end_ns - from_ns)
    }

    /// The instant up to which so many arrivals are expected from `from_ns` on: the inverse of the integral. The
    /// quadratic equation is solved in the form that holds for a slope of 0, too, and subtracts nothing.
    fn instant_ns(&self, from_ns: f64, expected: f64) -> f64 {
        let rate = self.rate_per_ns(from_ns);
        let discriminant = (rate * rate + 2.0 * self.slope_per_ns2 * expected).max(0.0);
        (from_ns + 2.0 * expected / (rate + discriminant.sqrt())).min(self.end_ns)
    }
}

/// Random numbers, evenly distributed from 0 to below 1.
pub type Draws = Box<dyn FnMut() -> f64 + Send>;

/// The instants at which one thread's transactions are due.
///
/// They are a Poisson process whose rate is piecewise linear, drawn by inversion: between two arrivals the integral
/// of the rate grows by a number that is exponentially distributed with mean 1 (R. W. Klein and S. D. Roberts, "A
/// time-varying Poisson arrival process generator", Simulation 43, 1984).
pub(crate) struct Schedule {
    ramp: Option<Ramp>,
    /// The ramps after it.
    ramps: std::vec::IntoIter<Ramp>,
    /// Kept as a floating-point number so that rounding does not add up.
    next_ns: f64,
    draws: Draws,
}

impl Schedule {
    /// Arrivals over `ramps`, of which each begins where the one before it ends. Without any, nothing is ever due.
    pub fn new(ramps: Vec<Ramp>, draws: Draws) -> Self {
        let mut schedule = Self {
            ramp: None,
            ramps: Vec::new().into_iter(),
            next_ns: 0.0,
            draws,
        };
        schedule.begin_again(ramps);
        schedule
    }

    /// Forgets what is still due, and goes on with other ramps.
    pub fn begin_again(&mut self, ramps: Vec<Ramp>) {
        self.ramps = ramps.into_iter();
        self.ramp = self.ramps.next();
        self.next_ns = self.ramp.map_or(0.0, |ramp| ramp.start_ns);
        self.advance();
    }

    /// The next instant that is due; `u64::MAX` if nothing is any more.
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// From this instant on the arrivals are those over `ramps`, the first of which begins there. What was due before
    /// stays so.
    pub fn redirect(&mut self, at_ns: u64, ramps: Vec<Ramp>) {
        self.ramps = ramps.into_iter();
        match &mut self.ramp {
            Some(ramp) if self.next_ns < at_ns as f64 => ramp.end_ns = at_ns as f64,
            // The process has no memory: what was drawn for later is as good as not drawn.
            _ => {
                self.ramp = self.ramps.next();
                self.next_ns = self.ramp.map_or(0.0, |ramp| ramp.start_ns);
                self.advance();
            }
        }
    }

    /// Goes on to the instant after it.
    pub fn advance(&mut self) {
        let mut expected = -(1.0 - (self.draws)()).ln();
        while let Some(ramp) = &self.ramp {
            let left = ramp.expected(self.next_ns);
            if expected < left {
                self.next_ns = ramp.instant_ns(self.next_ns, expected);
                return;
            }
            expected -= left;
            self.next_ns = ramp.end_ns;
            self.ramp = self.ramps.next();
        }
        self.next_ns = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn draws(seed: u64) -> Draws {
        let mut random = fastrand::Rng::with_seed(seed);
        Box::new(move || random.f64())
    }

    fn span(from: f64, to: f64) -> Span {
        Span { from, to }
    }

    #[test]
    fn arrivals_keep_the_rate_and_vary_like_a_poisson_process() {
        let constant = Ramp::new(0, u64::MAX, span(1000.0, 1000.0));
        let mut schedule = Schedule::new(vec![constant], draws(7));
        let mut gaps_ms = Vec::new();
        let mut last_ns = 0;
        for _ in 0..20_000 {
            let next_ns = schedule.next_ns();
            gaps_ms.push((next_ns - last_ns) as f64 / 1e6);
            last_ns = next_ns;
            schedule.advance();
        }
        let mean = gaps_ms.iter().sum::<f64>() / gaps_ms.len() as f64;
        let variance = gaps_ms.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps_ms.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "mean gap {mean} ms");
        assert!((variance.sqrt() - 1.0).abs() < 0.05, "deviation {} ms", variance.sqrt());
    }

    #[test]
    fn arrivals_follow_ramps_steps_and_pauses() {
        let rates = [
            span(0.0, 2000.0),
            span(2000.0, 500.0),
            span(0.0, 0.0),
            span(800.0, 800.0),
        ];
        let start_ns = 3 * SECOND_NS;
        let ramps = rates.iter().zip(0..).map(|(&rate, number)| {
            let begin_ns = start_ns + number * 4 * SECOND_NS;
            Ramp::new(begin_ns, begin_ns + 4 * SECOND_NS, rate)
        });
        let mut schedule = Schedule::new(ramps.collect(), draws(11));
        let mut counts = [0_i32; 16];
        while schedule.next_ns() != u64::MAX {
            counts[((schedule.next_ns() - start_ns) / SECOND_NS) as usize] += 1;
            schedule.advance();
        }
        for (second, &count) in counts.iter().enumerate() {
            let rate = rates[second / 4];
            let expected = rate.from + (rate.to - rate.from) * (second % 4 * 2 + 1) as f64 / 8.0;
            let off = (f64::from(count) - expected).abs();
            // Four standard deviations of a Poisson distribution.
            assert!(
                off <= 4.0 * expected.sqrt(),
                "second {second}: {count}, {expected} expected"
            );
        }
    }

    #[test]
    fn arrivals_follow_what_takes_the_place_of_an_endless_ramp() {
        for is_behind in [false, true] {
            let endless = Ramp::new(0, u64::MAX, span(1000.0, 1000.0));
            let mut schedule = Schedule::new(vec![endless], draws(3));
            let mut due = 0;
            while schedule.next_ns() < SECOND_NS / if is_behind { 2 } else { 1 } {
                schedule.advance();
                due += 1;
            }
            let pause = Ramp::new(SECOND_NS, 2 * SECOND_NS, span(0.0, 0.0));
            let slow = Ramp::new(2 * SECOND_NS, 3 * SECOND_NS, span(100.0, 100.0));
            schedule.redirect(SECOND_NS, vec![pause, slow]);
            let mut after = 0;
            while schedule.next_ns() != u64::MAX {
                let at_ns = schedule.next_ns();
                assert!(at_ns <= SECOND_NS || at_ns >= 2 * SECOND_NS, "{at_ns}");
                *(if at_ns < 2 * SECOND_NS { &mut due } else { &mut after }) += 1;
                schedule.advance();
            }
            assert!(
                (880..1120).contains(&due) && (60..140).contains(&after),
                "{due}, {after}"
            );
        }
    }

    proptest! {
        /// From one transaction an hour to half a million a second, however long it goes on: each instant is the
        /// sum of the gaps drawn so far, to the nanosecond within a day, and later as exactly as a floating-point
        /// number of nanoseconds can tell.
        #[test]
        fn a_constant_rate_neither_drifts_nor_is_rounded_away(
            exponent in 0.0..1.0_f64,
            start_ns in 0..86_400 * SECOND_NS,
            seed: u64,
        ) {
            let (least, most) = (1.0 / 3600.0, 500_000.0_f64);
            let rate_per_s = least * (most / least).powf(exponent);
            let ramp = Ramp::new(start_ns, u64::MAX, span(rate_per_s, rate_per_s));
            let mut schedule = Schedule::new(vec![ramp], draws(seed));
            let mut random = draws(seed);
            // Added up with what each addition loses, by Neumaier's method.
            let (mut sum_ns, mut lost_ns) = (start_ns as f64, 0.0);
            for number in 0..5_000 {
                let gap_ns = -(1.0 - random()).ln() * (1e9 / rate_per_s);
                let next_ns = sum_ns + gap_ns;
                lost_ns += if sum_ns >= gap_ns { sum_ns - next_ns + gap_ns } else { gap_ns - next_ns + sum_ns };
                sum_ns = next_ns;
                let exact_ns = sum_ns + lost_ns;
                let off_ns = (schedule.next_ns() as f64 - exact_ns).abs();
                prop_assert!(off_ns <= 1.0 + exact_ns * 2e-14, "arrival {number} is {off_ns} ns off at {rate_per_s}/s");
                schedule.advance();
            }
        }

        #[test]
        fn the_inverse_undoes_the_integral(
            start_ns in 0..1_000_000 * SECOND_NS,
            length_ns in 1_000..100_000 * SECOND_NS,
            from in 0.0..1e6_f64,
            to in 0.0..1e6_f64,
            at in 0.0..1.0_f64,
            share in 0.0..1.0_f64,
        ) {
            let ramp = Ramp::new(start_ns, start_ns + length_ns, span(from, to));
            let from_ns = ramp.start_ns + (ramp.end_ns - ramp.start_ns) * at;
            let whole = ramp.expected(from_ns);
            let expected = whole * share;
            prop_assume!(expected > 0.0);
            let instant_ns = ramp.instant_ns(from_ns, expected);
            // The instants themselves are only so exact.
            let blur_ns = ramp.end_ns * 1e-15;
            prop_assert!(instant_ns >= from_ns && instant_ns <= ramp.end_ns, "{instant_ns} of {ramp:?}");
            let passed = whole - ramp.expected(instant_ns);
            let tolerance = whole * 1e-9 + from.max(to) / 1e9 * (1.0 + blur_ns);
            prop_assert!((passed - expected).abs() <= tolerance, "{passed} for {expected} of {whole}");
        }

        #[test]
        fn a_schedule_never_goes_back_and_ends(
            stretches in prop::collection::vec((1_u64..SECOND_NS, 0.0..500.0_f64, 0.0..500.0_f64), 0..8),
            seed: u64,
        ) {
            let mut end_ns = 5;
            let ramps = stretches.iter().map(|&(length_ns, from, to)| {
                let start_ns = end_ns;
                end_ns += length_ns;
                Ramp::new(start_ns, end_ns, span(from, to))
            });
            let mut schedule = Schedule::new(ramps.collect(), draws(seed));
            let mut last_ns = 0;
            while schedule.next_ns() != u64::MAX {
                prop_assert!(schedule.next_ns() >= last_ns.max(5) && schedule.next_ns() <= end_ns);
                last_ns = schedule.next_ns();
                schedule.advance();
            }
        }
    }
}

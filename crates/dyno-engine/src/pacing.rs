//! When transactions begin in an open loop.
//!
//! The schedule is absolute: it is drawn from its own random state, begins when the run begins and is never moved, so a stalled server does not
//! slow the arrivals down. A transaction that begins late because all clients were busy is timed from the instant at which it should have begun.

use dyno_script::Random;

/// The instants at which one thread's transactions are due.
#[derive(Debug)]
pub(crate) struct Schedule {
    mean_gap_ns: f64,
    /// Kept as a floating-point number so that rounding does not add up.
    next_ns: f64,
    random: Random,
}

impl Schedule {
    /// Arrivals of a Poisson process with `rate_per_s`, beginning at `start_ns`.
    pub fn new(rate_per_s: f64, start_ns: u64, random: Random) -> Self {
        let mut schedule = Self {
            mean_gap_ns: 1e9 / rate_per_s,
            next_ns: start_ns as f64,
            random,
        };
        schedule.advance();
        schedule
    }

    /// The next instant that is due.
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Goes on to the instant after it: the gaps of a Poisson process are exponentially distributed.
    pub fn advance(&mut self) {
        self.next_ns += self.mean_gap_ns * -(1.0 - self.random.unit()).ln();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_the_rate_and_vary_like_a_poisson_process() {
        let mut schedule = Schedule::new(1000.0, 0, Random::new(7));
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
}

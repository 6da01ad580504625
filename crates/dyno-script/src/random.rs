//! Random numbers: pgbench 15's generator and distributions, value for value.
//!
//! The generator is xoroshiro128** 1.0 by Blackman and Vigna (<https://prng.di.unimi.it/>), its state filled by
//! splitmix64, as in PostgreSQL's `pg_prng`. Distributions draw from it in the same order and with the same
//! arithmetic as pgbench, so that a seed gives the same values. Logarithm, sine and power come from the system's
//! mathematics library, as they do for pgbench.

use std::f64::consts::PI;

/// The smallest parameter of a Gaussian distribution.
pub(crate) const MIN_GAUSSIAN: f64 = 2.0;
/// The smallest parameter of a Zipfian distribution.
pub(crate) const MIN_ZIPFIAN: f64 = 1.001;
/// The largest parameter of a Zipfian distribution.
pub(crate) const MAX_ZIPFIAN: f64 = 1000.0;

/// A random state. Clone it to be able to repeat what follows, as a retried transaction must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    s0: u64,
    s1: u64,
}

impl Random {
    /// The state that a seed stands for.
    pub fn new(seed: u64) -> Random {
        let mut seed = seed;
        let (s0, s1) = (splitmix64(&mut seed), splitmix64(&mut seed));
        if s0 == 0 && s1 == 0 {
            // The one state that the generator cannot leave; these stand in for it in PostgreSQL.
            return Random {
                s0: 0x5851_F42D_4C95_7F2D,
                s1: 0x1405_7B7E_F767_814F,
            };
        }
        Random { s0, s1 }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let (s0, mixed) = (self.s0, self.s1 ^ self.s0);
        self.s0 = s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number in [0, 1) with 52 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 52) as f64;
        (self.bits() >> 12) as f64 * STEP
    }

    /// A number in 0 ..= `max`, by masking and rejection.
    #[inline]
    pub(crate) fn below_or_at(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        let shift = max.leading_zeros();
        loop {
            let value = self.bits() >> shift;
            if value <= max {
                return value;
            }
        }
    }

    /// An integer in `min ..= max`, each as likely. An empty range gives `min`.
    #[inline]
    pub fn uniform(&mut self, min: i64, max: i64) -> i64 {
        if max <= min {
            return min;
        }
        min.wrapping_add(self.below_or_at(max.wrapping_sub(min) as u64) as i64)
    }

    /// An integer in `min ..= max` from a normal distribution about the middle, cut at `parameter` standard
    /// deviations on each side. A parameter below 2.0 counts as 2.0.
    pub fn gaussian(&mut self, min: i64, max: i64, parameter: f64) -> i64 {
        let parameter = parameter.max(MIN_GAUSSIAN);
        // Box–Muller; the logarithm needs numbers in (0, 1].
        let deviations = loop {
            let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
            let deviations = radius * (2.0 * PI * (1.0 - self.unit())).sin();
            if deviations >= -parameter && deviations < parameter {
                break deviations;
            }
        };
        spread(min, max, (deviations + parameter) / (parameter * 2.0))
    }

    /// An integer in `min ..= max`, smaller ones more likely: the density falls by exp(-`parameter`) over the range. A
    /// parameter that is not above 0 counts as the smallest that is.
    pub fn exponential(&mut self, min: i64, max: i64, parameter: f64) -> i64 {
        let parameter = parameter.max(f64::MIN_POSITIVE);
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.unit();
        spread(min, max, -(cut + (1.0 - cut) * uniform).ln() / parameter)
    }

    /// An integer in `min ..= max`, the k-th with a probability in proportion to 1/k^`parameter`. A parameter
    /// outside [1.001, 1000] counts as the nearest of these. By rejection: L. Devroye, Non-Uniform Random Variate
    /// Generation, 1986, p. 550.
    pub fn zipfian(&mut self, min: i64, max: i64, parameter: f64) -> i64 {
        if max <= min {
            return min;
        }
        // The first step is for NaN, which `clamp` leaves.
        let s = parameter.max(MIN_ZIPFIAN).clamp(MIN_ZIPFIAN, MAX_ZIPFIAN);
        let count = max.wrapping_sub(min).wrapping_add(1) as f64;
        let b = 2f64.powf(s - 1.0);
        let rank = loop {
            let u = self.unit();
            let v = self.unit();
            let x = u.powf(-1.0 / (s - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(s - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= count {
                break x;
            }
        };
        min.wrapping_add(rank as i64 - 1)
    }
}

/// The integer at `fraction` (in [0, 1)) of the range.
fn spread(min: i64, max: i64, fraction: f64) -> i64 {
    let count = max.wrapping_sub(min).wrapping_add(1) as f64;
    min.wrapping_add((count * fraction) as i64)
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_range_and_reach_its_ends() {
        let mut random = Random::new(7);
        let mut seen = [[false; 4]; 4];
        for _ in 0..10_000 {
            let drawn = [
                random.uniform(-1, 2),
                random.gaussian(-1, 2, 2.0),
                random.exponential(-1, 2, 1.0),
                random.zipfian(-1, 2, 1.1),
            ];
            for (distribution, value) in drawn.into_iter().enumerate() {
                seen[distribution][(value + 1) as usize] = true;
            }
        }
        assert_eq!(seen, [[true; 4]; 4]);
    }

    #[test]
    fn extreme_ranges_and_parameters_end() {
        let mut random = Random::new(1);
        assert_eq!(random.uniform(5, 5), 5);
        assert_eq!(random.uniform(6, 5), 6);
        assert_eq!(random.zipfian(9, 9, 2.0), 9);
        random.uniform(i64::MIN, i64::MAX);
        for parameter in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0] {
            random.gaussian(i64::MIN, i64::MAX, parameter);
            random.exponential(i64::MIN, i64::MAX, parameter);
            random.zipfian(0, i64::MAX - 1, parameter);
        }
    }
}

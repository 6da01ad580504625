//! sysbench's random numbers: its generator, seeded as sysbench seeds it, and its distributions.
//!
//! With `--rand-seed` and one client, values are those that sysbench draws. It seeds the generators of its threads from
//! the C library's `random()`, whose algorithm is therefore here as well; with several threads sysbench's own order is
//! that in which its threads happen to start, here it is that of their numbers.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How `sysbench.rand.default` draws (`--rand-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Distribution {
    /// All values alike.
    Uniform,
    /// Around the middle.
    Gaussian,
    /// Some in the middle often, all others alike.
    #[default]
    Special,
    /// The first ones most often, by Pareto's law.
    Pareto,
    /// The first ones most often, by Zipf's law.
    Zipfian,
}

/// How random numbers are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomSettings {
    /// How `sysbench.rand.default` draws.
    pub distribution: Distribution,
    /// `--rand-spec-iter`: numbers that are added up for one of the gaussian and special distributions.
    pub iterations: u32,
    /// `--rand-spec-pct`: the percentage of values that are special.
    pub percent: u32,
    /// `--rand-spec-res`: the percentage of draws that bring a special value.
    pub reserved: u32,
    /// `--rand-pareto-h`.
    pub pareto_h: f64,
    /// `--rand-zipfian-exp`.
    pub zipfian_exponent: f64,
    /// `--rand-seed`; 0: by the clock.
    pub seed: u64,
}

impl Default for RandomSettings {
    fn default() -> Self {
        Self {
            distribution: Distribution::default(),
            iterations: 12,
            percent: 1,
            reserved: 75,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
            seed: 0,
        }
    }
}

/// The C library's `random()` (additive feedback over 31 words), which seeds the generators.
#[derive(Clone, Debug)]
struct Seeds {
    words: [u32; 31],
    at: usize,
}

impl Seeds {
    fn new(seed: u32) -> Self {
        let mut words = [0_u32; 31];
        // Park and Miller's minimal standard generator fills the state.
        let mut word = i64::from(seed.max(1).cast_signed());
        for place in &mut words {
            *place = word as u32;
            word = (16807 * word) % 2_147_483_647;
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        let mut seeds = Self { words, at: 0 };
        for _ in 0..310 {
            seeds.next();
        }
        seeds
    }

    fn next(&mut self) -> u32 {
        let front = (self.at + 3) % 31;
        self.words[front] = self.words[front].wrapping_add(self.words[self.at]);
        self.at = (self.at + 1) % 31;
        self.words[front] >> 1
    }

    fn generator(&mut self) -> [u64; 2] {
        let mut word = || {
            let high = u64::from(self.next()) << 32;
            high | u64::from(self.next())
        };
        [word(), word()]
    }
}

/// Where the random numbers of a load come from: all clients share it.
#[derive(Debug)]
pub(crate) struct RandomSource {
    settings: RandomSettings,
    /// The seed, or what the clock has given in its place.
    seed: u64,
    zipfian: Zipfian,
    pareto_power: f64,
    /// Seeds the generators of the clients, one after the other.
    first: Seeds,
    unique_base: u32,
    unique_offset: u32,
    /// How many unique numbers were drawn, by all clients together.
    unique_drawn: AtomicU32,
}

impl RandomSource {
    pub fn new(settings: &RandomSettings) -> Self {
        let seed = match settings.seed {
            0 => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                since.as_nanos() as u64
            }
            seed => seed,
        };
        let first = Seeds::new(seed as u32);
        // sysbench's unique numbers, and what its main thread draws, differ from run to run; here they do not.
        let mut seeds = Seeds::new(!seed as u32);
        let unique_base = permute(permute(seeds.next()).wrapping_add(0x682f_0161));
        let unique_offset = permute(permute(seeds.next()).wrapping_add(0x4679_0905));
        Self {
            zipfian: Zipfian::new(settings.zipfian_exponent),
            pareto_power: settings.pareto_h.ln() / (1.0 - settings.pareto_h).ln(),
            settings: settings.clone(),
            seed,
            first,
            unique_base,
            unique_offset,
            unique_drawn: AtomicU32::new(0),
        }
    }

    /// What everything drawn follows from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The generators of so many clients.
    pub fn generators(&self, clients: usize) -> Vec<Generator> {
        let mut seeds = self.first.clone();
        let next = |_| Generator {
            state: seeds.generator(),
        };
        (0..clients).map(next).collect()
    }

    /// Lets the numbers of [`unique`](Self::unique) begin elsewhere, where other processes have the clients before
    /// `first` of so many: each client has an equal part of all numbers.
    pub fn begin_at(&self, first: usize, clients: usize) {
        let drawn = ((first as u64) << 32) / clients.max(1) as u64;
        self.unique_drawn.store(drawn as u32, Ordering::Relaxed);
    }

    /// A number of 32 bits that no client has drawn before.
    pub fn unique(&self) -> u32 {
        let drawn = self.unique_drawn.fetch_add(1, Ordering::Relaxed);
        let place = permute(self.unique_base.wrapping_add(drawn)).wrapping_add(self.unique_offset) ^ 0x5bf0_3635;
        permute(place)
    }
}

/// A permutation of the 32-bit numbers: quadratic residues of a prime.
fn permute(number: u32) -> u32 {
    const PRIME: u64 = 4_294_967_291;
    let wide = u64::from(number);
    if wide >= PRIME {
        return number;
    }
    let residue = (wide * wide % PRIME) as u32;
    if wide <= PRIME / 2 {
        residue
    } else {
        (PRIME - u64::from(residue)) as u32
    }
}

/// One client's generator: xoroshiro128+ (D. Blackman and S. Vigna).
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    state: [u64; 2],
}

impl Generator {
    /// One that begins in this state, which has to be random itself.
    pub fn of(state: [u64; 2]) -> Self {
        Self { state }
    }

    pub fn next(&mut self) -> u64 {
        let [first, mut second] = self.state;
        let drawn = first.wrapping_add(second);
        second ^= first;
        self.state = [first.rotate_left(55) ^ second ^ (second << 14), second.rotate_left(36)];
        drawn
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        f64::from_bits(0x3ff << 52 | self.next() >> 12) - 1.0
    }

    pub fn uniform(&mut self, a: u32, b: u32) -> u32 {
        let range = f64::from(b) - f64::from(a) + 1.0;
        (f64::from(a) + self.unit() * range) as u32
    }

    pub fn gaussian(&mut self, source: &RandomSource, a: u32, b: u32) -> u32 {
        let range = f64::from(b) - f64::from(a) + 1.0;
        let iterations = source.settings.iterations;
        let mut sum = 0.0;
        for _ in 0..iterations {
            sum += self.unit() * range;
        }
        (f64::from(a) + sum / f64::from(iterations.max(1))) as u32
    }

    pub fn special(&mut self, source: &RandomSource, a: u32, b: u32) -> u32 {
        let settings = &source.settings;
        let range = f64::from(b) - f64::from(a);
        let stretched = range * (100.0 / (100.0 - f64::from(settings.reserved)));
        let u = self.unit();
        let place = u * stretched;
        if place < range {
            let iterations = settings.iterations;
            let mut sum = 0.0;
            for _ in 0..iterations {
                sum += self.unit();
            }
            return (f64::from(a) + range * sum / f64::from(iterations.max(1))) as u32;
        }
        let special = range * (f64::from(settings.percent) / 100.0);
        let middle = range / 2.0 - range * (f64::from(settings.percent) / 200.0);
        let drawn = u * (special + 1.0) + middle;
        a.wrapping_add(drawn as u32)
    }

    pub fn pareto(&mut self, source: &RandomSource, a: u32, b: u32) -> u32 {
        let range = f64::from(b) - f64::from(a) + 1.0;
        a.wrapping_add((range * self.unit().powf(source.pareto_power)) as u32)
    }

    pub fn zipfian(&mut self, source: &RandomSource, a: u32, b: u32) -> u32 {
        a.wrapping_add((source.zipfian.draw(b.wrapping_sub(a) as f64 + 1.0, self) - 1.0) as u32)
    }

    pub fn default(&mut self, source: &RandomSource, a: u32, b: u32) -> u32 {
        match source.settings.distribution {
            Distribution::Uniform => self.uniform(a, b),
            Distribution::Gaussian => self.gaussian(source, a, b),
            Distribution::Special => self.special(source, a, b),
            Distribution::Pareto => self.pareto(source, a, b),
            Distribution::Zipfian => self.zipfian(source, a, b),
        }
    }

    /// A text in which each `#` of the template is a digit, and each `@` a small letter.
    pub fn text(&mut self, template: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend(template.iter().map(|&byte| match byte {
            b'#' => self.uniform(u32::from(b'0'), u32::from(b'9')) as u8,
            b'@' => self.uniform(u32::from(b'a'), u32::from(b'z')) as u8,
            byte => byte,
        }));
    }

    /// Letters and digits, of a length from `least` to `most`.
    pub fn varying_text(&mut self, least: u32, most: u32, out: &mut Vec<u8>) {
        out.clear();
        let length = self.uniform(least, most.max(least));
        for _ in 0..length {
            out.push(self.uniform(u32::from(b'a'), u32::from(b'z')) as u8);
        }
    }
}

/// Zipf's law by rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM Transactions on Modeling and Computer Simulation 6, 1996).
#[derive(Debug)]
struct Zipfian {
    exponent: f64,
    /// Values nearer to the hat than this are taken at once.
    squeeze: f64,
    integral_of_one: f64,
}

impl Zipfian {
    fn new(exponent: f64) -> Self {
        let mut zipfian = Self {
            exponent,
            squeeze: 0.0,
            integral_of_one: 0.0,
        };
        zipfian.integral_of_one = zipfian.integral(1.5) - 1.0;
        zipfian.squeeze = 2.0 - zipfian.inverse(zipfian.integral(2.5) - zipfian.height(2.0));
        zipfian
    }

    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.exponent)).max(-1.0);
        (log1p_over(t) * x).exp()
    }

    /// From 1 to `most`.
    fn draw(&self, most: f64, generator: &mut Generator) -> f64 {
        let of_most = self.integral(most + 0.5);
        loop {
            let u = of_most + generator.unit() * (self.integral_of_one - of_most);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, most);
            if k - x <= self.squeeze || u >= self.integral(k + 0.5) - self.height(k) {
                return k;
            }
        }
    }
}

/// `ln(1 + x) / x`, also near 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x * (0.5 - x * (1.0 / 3.0 - x * 0.25))
    }
}

/// `(exp(x) - 1) / x`, also near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x * 0.5 * (1.0 + x / 3.0 * (1.0 + x * 0.25))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(distribution: Distribution) -> RandomSource {
        RandomSource::new(&RandomSettings {
            distribution,
            seed: 1,
            ..RandomSettings::default()
        })
    }

    #[test]
    fn seeds_are_those_of_the_c_library() {
        // Printed by a program that calls srandom(1), or srandom(42), and random().
        let mut seeds = Seeds::new(1);
        assert_eq!(
            [seeds.next(), seeds.next(), seeds.next()],
            [1_804_289_383, 846_930_886, 1_681_692_777]
        );
        let mut seeds = Seeds::new(42);
        assert_eq!(
            [seeds.next(), seeds.next(), seeds.next()],
            [71_876_166, 708_592_740, 1_483_128_881]
        );
    }

    #[test]
    fn all_values_are_within_bounds_and_the_ends_occur() {
        for distribution in [
            Distribution::Uniform,
            Distribution::Gaussian,
            Distribution::Special,
            Distribution::Pareto,
            Distribution::Zipfian,
        ] {
            let source = source(distribution);
            let mut generator = source.generators(1).remove(0);
            let drawn: Vec<u32> = (0..20_000).map(|_| generator.default(&source, 5, 14)).collect();
            assert!(drawn.iter().all(|number| (5..=14).contains(number)), "{distribution:?}");
            let of = |number| drawn.iter().filter(|&&drawn| drawn == number).count();
            match distribution {
                Distribution::Uniform => assert!((5..=14).all(|number| (1_800..2_200).contains(&of(number)))),
                Distribution::Gaussian => assert!(of(9) + of(10) > 8_000 && of(5) < 100, "{} {}", of(9), of(5)),
                Distribution::Special => assert!(of(9) + of(10) > 12_000),
                Distribution::Pareto => assert!(of(5) > of(6) && of(6) > of(8) && of(5) > 10_000),
                Distribution::Zipfian => assert!(of(5) > of(6) && of(6) > of(9) && of(14) > 200),
            }
        }
    }

    #[test]
    fn unique_numbers_do_not_repeat() {
        let source = source(Distribution::Uniform);
        let mut drawn: Vec<u32> = (0..50_000).map(|_| source.unique()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 50_000);
    }

    #[test]
    fn templates_are_filled() {
        let source = source(Distribution::Uniform);
        let mut generator = source.generators(1).remove(0);
        let mut out = Vec::new();
        generator.text(b"##-@@x", &mut out);
        let digit = |at: usize| out[at].is_ascii_digit();
        let letter = |at: usize| out[at].is_ascii_lowercase();
        assert!(digit(0) && digit(1) && out[2] == b'-' && letter(3) && letter(4) && out[5] == b'x');
    }
}

//! What the slices of all sides say about each other, block by block: of each beside the first.

use super::sequence::Sequence;
use dyno_archive::plan::Levels;
use dyno_archive::{Block, Measure, Ratio, Verdict, Versus};
use dyno_stats::{Answer, Paired, Running, block};
use std::time::Duration;

/// So many blocks say only how much blocks scatter, and how long slices have to be.
pub(super) const PILOTS: usize = 4;

/// Never decided by fewer blocks. It is for people: the interval holds with any number.
const FEWEST: usize = 10;

/// The same where a block takes long.
const PILOTS_OF_RUNS: usize = 2;
const FEWEST_OF_RUNS: usize = 6;

/// What one side did in the part of a slice that counts.
pub(super) struct Done {
    pub side: usize,
    /// Transactions per second and latencies, in the order of [`Measure::ALL`]; 0 if it did nothing.
    pub figures: [f64; 4],
    /// What the other side's server did meanwhile, if it was busy.
    pub idle_busy: Option<String>,
}

/// Judges all sides beside the first.
pub(super) struct Judge {
    /// From which difference on it matters.
    detect: f64,
    sequence: Sequence,
    decides: Measure,
    /// See [`PILOTS`] and [`FEWEST`].
    pilots: usize,
    fewest: usize,
    /// What was done in the block under way.
    slices: Vec<Done>,
    /// From which block on slices are longer, and how many times; those before are pilots.
    longer: Option<(usize, u32)>,
    /// Of each side but the first, what is known of it.
    candidates: Vec<Candidate>,
    /// How many blocks are over.
    blocks: usize,
}

/// A side that is compared with the first.
#[derive(Default)]
struct Candidate {
    /// The pilots' ratios.
    pilots: Vec<[f64; 4]>,
    compared: Option<[Paired; 4]>,
    blocks: Vec<Block>,
    left_out: usize,
}

impl Judge {
    /// Nothing measured yet. `open` says that the load has a rate of its own: then throughput is what was asked for,
    /// and latency decides.
    pub fn new(detect: f64, sequence: Sequence, open: bool) -> Self {
        Self {
            detect,
            decides: if open { Measure::P95 } else { Measure::Throughput },
            pilots: PILOTS,
            fewest: FEWEST,
            slices: Vec::new(),
            longer: None,
            candidates: (1..sequence.sides()).map(|_| Candidate::default()).collect(),
            blocks: 0,
            sequence,
        }
    }

    /// The same, of slices that are runs.
    pub fn of_runs(self) -> Self {
        Self {
            pilots: PILOTS_OF_RUNS,
            fewest: FEWEST_OF_RUNS,
            ..self
        }
    }

    /// Takes the `slice` that is over, with what each side did that worked in it. Gives whether a block is over, too.
    pub fn slice(&mut self, slice: usize, done: impl IntoIterator<Item = Done>, end: Duration) -> bool {
        let block = self.sequence.block();
        if slice.is_multiple_of(block) {
            self.slices.clear();
        }
        self.slices.extend(done);
        let is_last = slice % block == block - 1;
        if is_last {
            self.block(slice / block, end);
        }
        is_last
    }

    /// Goes on with longer slices from this block on, `factor` times as long.
    pub fn lengthen(&mut self, sequence: Sequence, block: usize, factor: u32) {
        self.sequence = sequence;
        self.longer = Some((block, factor));
        self.candidates
            .iter_mut()
            .for_each(|candidate| candidate.compared = None);
    }

    fn block(&mut self, number: usize, end: Duration) {
        self.blocks = number + 1;
        let several = self.candidates.len();
        // What comes of few transactions is less in longer slices.
        let shrunk = self.longer.map_or(1.0, |(_, factor)| f64::from(factor).sqrt());
        for (candidate, side) in self.candidates.iter_mut().zip(1..) {
            let of = |side: usize, measure: usize| {
                let mut own = self.slices.iter().filter(|done| done.side == side);
                let mut next = || own.next().map_or(0.0, |done| done.figures[measure]);
                [next(), next()]
            };
            let each: Option<Vec<f64>> = Measure::ALL
                .iter()
                .map(|measure| block(of(0, measure.place()), of(side, measure.place())))
                .collect();
            let ratios: Option<[f64; 4]> = each.and_then(|each| each.try_into().ok());
            let was_pilot = candidate.compared.is_none();
            candidate.add(ratios);
            let are_enough = match self.longer {
                None => candidate.pilots.len() == self.pilots,
                Some((block, _)) => number + 1 == block,
            };
            if was_pilot && are_enough {
                candidate.begin(shrunk, several);
            }
            let decides = self.decides.place();
            let idle_busy = self.slices.iter().filter_map(|done| done.idle_busy.as_deref());
            candidate.blocks.push(Block {
                end_s: end.as_secs_f64(),
                variant: side + 1,
                candidate_outside: self.sequence.is_outside(number, side),
                block_ratio: ratios.filter(|_| !was_pilot).map(|ratios| ratios[decides].exp()),
                each: ratios.map(|ratios| ratios.map(f64::exp)),
                known: candidate.ratio(self.decides),
                idle_busy: idle_busy.collect::<Vec<_>>().join("; "),
            });
        }
    }

    /// What is known so far, of sides with these levels of `factor`.
    pub fn versus(&self, factor: &str, levels: &[Levels]) -> Versus {
        let mut all = self.candidates.iter().zip(1..).map(|(candidate, side)| {
            let level = |side: usize| levels.get(side).and_then(|levels| levels.get(factor)).cloned();
            Versus {
                factor: factor.to_owned(),
                baseline: level(0).unwrap_or_default(),
                candidate: level(side).unwrap_or_default(),
                ..self.of(candidate)
            }
        });
        let mut versus = all.next().unwrap_or_else(|| self.of(&Candidate::default()));
        versus.further = all.collect();
        versus
    }

    /// How that came about: the blocks of one side after those of another.
    pub fn blocks(&self) -> Vec<Block> {
        let blocks = self.candidates.iter().flat_map(|candidate| &candidate.blocks);
        blocks.cloned().collect()
    }

    fn of(&self, candidate: &Candidate) -> Versus {
        let compared = candidate
            .compared
            .as_ref()
            .map(|compared| &compared[self.decides.place()]);
        let blocks = compared.map_or(0, Paired::blocks);
        let answer = candidate.answer(self.decides, self.detect, self.fewest);
        let needed = compared.filter(|_| answer == Verdict::Unknown);
        let needed = needed.and_then(|paired| paired.blocks_for(self.detect));
        let measured = self.blocks * self.sequence.block();
        Versus {
            factor: String::new(),
            baseline: String::new(),
            candidate: String::new(),
            detect: self.detect,
            measure: self.decides,
            answer,
            ratios: Measure::ALL
                .into_iter()
                .filter_map(|measure| candidate.ratio(measure))
                .collect(),
            blocks,
            left_out: candidate.left_out,
            more_blocks: needed.map(|needed| needed.saturating_sub(blocks).max(1)),
            block_s: self.sequence.length(measured).as_secs_f64() * self.sequence.block() as f64,
            measured_s: self.sequence.start_of(measured).as_secs_f64(),
            notes: Vec::new(),
            further: Vec::new(),
        }
    }
}

impl Candidate {
    /// Takes the ratios of a block; `None`: one of the two did nothing in it.
    fn add(&mut self, ratios: Option<[f64; 4]>) {
        match (ratios, &mut self.compared) {
            (None, _) => self.left_out += 1,
            (Some(ratios), Some(compared)) => compared
                .iter_mut()
                .zip(ratios)
                .for_each(|(paired, ratio)| paired.add(ratio)),
            (Some(ratios), None) => self.pilots.push(ratios),
        }
    }

    /// From now on blocks count, which scatter less than the pilots by the factor `shrunk`; it is one of `several`
    /// comparisons.
    fn begin(&mut self, shrunk: f64, several: usize) {
        let spread = [0, 1, 2, 3].map(|measure| self.spread(measure) / shrunk);
        self.compared = Some(spread.map(|spread| Paired::of_several(spread, several)));
    }

    /// About how much the pilots scatter around their mean; `NaN` if they do not say.
    fn spread(&self, measure: usize) -> f64 {
        let ratios: Running = self.pilots.iter().map(|ratios| ratios[measure]).collect();
        // Few of them may be alike by chance.
        ratios.stddev().map_or(f64::NAN, |stddev| stddev.max(0.01))
    }

    fn ratio(&self, measure: Measure) -> Option<Ratio> {
        let estimate = self.compared.as_ref()?[measure.place()].estimate()?;
        Some(Ratio {
            measure,
            ratio: estimate.value,
            low: estimate.low,
            high: estimate.high,
        })
    }

    /// What is known of what decides, by at least so many blocks.
    fn answer(&self, decides: Measure, detect: f64, fewest: usize) -> Verdict {
        let paired = self.compared.as_ref().map(|compared| &compared[decides.place()]);
        match paired
            .filter(|paired| paired.blocks() >= fewest)
            .map(|paired| paired.answer(detect))
        {
            Some(Answer::Higher) => Verdict::Higher,
            Some(Answer::Lower) => Verdict::Lower,
            Some(Answer::Same) => Verdict::Same,
            Some(Answer::Unknown) | None => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(500);

    fn judge(open: bool) -> Judge {
        judge_of(open, 2)
    }

    fn judge_of(open: bool, sides: u8) -> Judge {
        let sequence = Sequence::new(Duration::ZERO, SLICE, Duration::from_secs(400), 7, sides);
        Judge::new(0.03, sequence, open)
    }

    fn done(side: usize, tps: f64) -> [Done; 1] {
        let latency = if tps > 0.0 { 1e9 / tps } else { 0.0 };
        [Done {
            side,
            figures: [tps, latency, latency, latency],
            idle_busy: None,
        }]
    }

    /// Slices until it is known, at most 800: how many, and what is known. The second side does `ratio` times as much.
    fn decided(mut judge: Judge, ratio: f64) -> (usize, Versus) {
        let mut slice = 0;
        while slice < 800 && !judge.versus("", &[]).is_decided() {
            // The machine wanders.
            let speed = 1_000.0 + 300.0 * (slice as f64 / 9.0).sin() + (slice * 7919 % 101) as f64;
            let side = judge.sequence.side(slice);
            let own = if side == 1 { ratio } else { 1.0 };
            let end = SLICE * (slice as u32 + 1);
            judge.slice(slice, done(side, (speed * own).floor()), end);
            slice += 1;
        }
        let levels = ["14", "18"].map(|level| Levels::from([("target".to_owned(), level.to_owned())]));
        let (versus, blocks) = (judge.versus("target", &levels), judge.blocks());
        assert_eq!(blocks.len(), slice / 4);
        (slice, versus)
    }

    #[test]
    fn a_difference_is_told_as_soon_as_it_is_known() {
        let (slices, versus) = decided(judge(false), 1.07);
        assert_eq!((versus.answer, versus.measure), (Verdict::Higher, Measure::Throughput));
        assert!((40..400).contains(&slices), "{slices}");
        let ratio = versus.ratio(Measure::Throughput).expect("a ratio");
        assert!(ratio.low > 1.0 && ratio.low < 1.07 && ratio.high > 1.07, "{ratio:?}");
        assert_eq!((versus.baseline.as_str(), versus.candidate.as_str()), ("14", "18"));
        let latency = versus.ratio(Measure::P99).expect("a ratio");
        assert!(latency.high < 1.0, "{latency:?}");
    }

    #[test]
    fn each_of_several_is_told_beside_the_first() {
        let mut judge = judge_of(false, 3);
        let mut slice = 0;
        while slice < 600 && !judge.versus("", &[]).is_decided() {
            let side = judge.sequence.side(slice);
            let speed = 1_000.0 + 300.0 * (slice as f64 / 9.0).sin() + (slice * 7919 % 101) as f64;
            let own = [1.0, 1.2, 0.8][side];
            let end = SLICE * (slice as u32 + 1);
            judge.slice(slice, done(side, (speed * own).floor()), end);
            slice += 1;
        }
        let levels = ["14", "16", "18"].map(|level| Levels::from([("target".to_owned(), level.to_owned())]));
        let (versus, blocks) = (judge.versus("target", &levels), judge.blocks());
        let told: Vec<_> = versus
            .all()
            .map(|one| (one.baseline.as_str(), one.candidate.as_str(), one.answer))
            .collect();
        assert_eq!(told, [("14", "16", Verdict::Higher), ("14", "18", Verdict::Lower)]);
        assert!(slice < 600 && slice.is_multiple_of(6), "{slice}");
        assert_eq!(blocks.iter().filter(|block| block.variant == 3).count(), slice / 6);
    }

    #[test]
    fn with_a_rate_latency_decides() {
        let (_, versus) = decided(judge(true), 0.9);
        assert_eq!((versus.answer, versus.measure), (Verdict::Higher, Measure::P95));
    }

    #[test]
    fn equal_sides_are_the_same() {
        let (_, versus) = decided(judge(false), 1.0);
        assert_eq!(versus.answer, Verdict::Same, "{versus:?}");
    }

    #[test]
    fn a_side_that_does_nothing_is_no_ratio() {
        let mut judge = judge(false);
        for slice in 0..8 {
            judge.slice(slice, done(judge.sequence.side(slice), 0.0), SLICE);
        }
        let (versus, blocks) = (judge.versus("target", &[]), judge.blocks());
        assert_eq!((versus.left_out, versus.blocks, blocks.len()), (2, 0, 2));
        assert_eq!(versus.answer, Verdict::Unknown);
    }
}

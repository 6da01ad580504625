//! What the slices of two sides say about each other, block by block.

use super::sequence::{BLOCK, Sequence};
use dyno_archive::plan::Levels;
use dyno_archive::{Block, Measure, Ratio, Turns, Verdict, Versus};
use dyno_record::LatencyHistogram;
use dyno_stats::{Answer, Paired, block};
use std::time::Duration;

/// All that is compared.
const MEASURES: [Measure; 4] = [Measure::Throughput, Measure::P50, Measure::P95, Measure::P99];

/// So many blocks say only how much blocks scatter, and how long slices have to be.
pub(super) const PILOTS: usize = 4;

/// Never decided by fewer blocks.
const FEWEST: usize = 10;

/// What one side did in the part of a slice that counts.
#[derive(Default)]
pub(super) struct Done {
    pub transactions: u64,
    pub latency: LatencyHistogram,
    pub time: Duration,
    /// What the other side's server did meanwhile, if it was busy.
    pub idle_busy: Option<String>,
}

impl Done {
    fn figure(&self, measure: Measure) -> f64 {
        let percentile = |percent| self.latency.percentile_ns(percent) as f64;
        match measure {
            Measure::Throughput => self.transactions as f64 / self.time.as_secs_f64(),
            Measure::P50 => percentile(50.0),
            Measure::P95 => percentile(95.0),
            Measure::P99 => percentile(99.0),
        }
    }
}

/// Judges two sides.
pub(super) struct Judge {
    turns: Turns,
    sequence: Sequence,
    decides: Measure,
    /// The figures of the block under way: of each slice, the side and a figure for each measure.
    slices: Vec<(usize, [f64; 4])>,
    /// What servers did in it whose turn it was not.
    idle_busy: Vec<String>,
    /// The pilots' ratios.
    pilots: Vec<[f64; 4]>,
    compared: Option<[Paired; 4]>,
    /// From which block on slices are longer, and how many times; those before are pilots.
    longer: Option<(usize, u32)>,
    blocks: Vec<Block>,
    left_out: usize,
}

impl Judge {
    /// Nothing measured yet. `open` says that the load has a rate of its own: then throughput is what was asked for,
    /// and latency decides.
    pub fn new(turns: Turns, sequence: Sequence, open: bool) -> Self {
        Self {
            turns,
            sequence,
            decides: if open { Measure::P95 } else { Measure::Throughput },
            slices: Vec::new(),
            idle_busy: Vec::new(),
            pilots: Vec::new(),
            compared: None,
            longer: None,
            blocks: Vec::new(),
            left_out: 0,
        }
    }

    /// Takes the `slice` that is over.
    pub fn slice(&mut self, slice: usize, done: &Done, end: Duration) {
        if slice.is_multiple_of(BLOCK) {
            self.slices.clear();
            self.idle_busy.clear();
        }
        self.idle_busy.extend(done.idle_busy.clone());
        self.slices
            .push((self.sequence.side(slice), MEASURES.map(|measure| done.figure(measure))));
        if slice % BLOCK == BLOCK - 1 {
            self.block(slice / BLOCK, end);
        }
    }

    /// Goes on with longer slices from this block on, `factor` times as long.
    pub fn lengthen(&mut self, sequence: Sequence, block: usize, factor: u32) {
        self.sequence = sequence;
        self.longer = Some((block, factor));
        self.compared = None;
    }

    fn block(&mut self, number: usize, end: Duration) {
        let of = |side: usize, measure: usize| {
            let mut figures = self.slices.iter().filter(|(its, _)| *its == side);
            let mut next = || figures.next().map_or(0.0, |(_, figures)| figures[measure]);
            [next(), next()]
        };
        let each: Option<Vec<f64>> = (0..MEASURES.len())
            .map(|index| block(of(0, index), of(1, index)))
            .collect();
        let ratios: Option<[f64; 4]> = each.and_then(|each| each.try_into().ok());
        let before = self.compared.is_none();
        match (ratios, &mut self.compared) {
            (None, _) => self.left_out += 1,
            (Some(ratios), Some(compared)) => compared
                .iter_mut()
                .zip(ratios)
                .for_each(|(paired, ratio)| paired.add(ratio)),
            (Some(ratios), None) => {
                self.pilots.push(ratios);
            }
        }
        let are_enough = match self.longer {
            None => self.pilots.len() == PILOTS,
            Some((block, _)) => number + 1 == block,
        };
        if before && are_enough {
            self.compared = Some([0, 1, 2, 3].map(|measure| Paired::new(self.spread(measure))));
        }
        let decides = self.place(self.decides);
        self.blocks.push(Block {
            end_s: end.as_secs_f64(),
            candidate_outside: self.sequence.second_outside(number),
            block_ratio: ratios.filter(|_| !before).map(|ratios| ratios[decides].exp()),
            each: ratios.map(|ratios| ratios.map(f64::exp)),
            known: self.ratio(self.decides),
            idle_busy: self.idle_busy.join("; "),
        });
    }

    /// About how much blocks scatter, as the pilots do around their mean; `NaN` if they do not say.
    fn spread(&self, measure: usize) -> f64 {
        if self.pilots.len() < 2 {
            return f64::NAN;
        }
        let count = self.pilots.len() as f64;
        let mean = self.pilots.iter().map(|ratios| ratios[measure]).sum::<f64>() / count;
        let squares = self.pilots.iter().map(|ratios| (ratios[measure] - mean).powi(2));
        // Few of them may be alike by chance.
        let spread = (squares.sum::<f64>() / (count - 1.0)).sqrt().max(0.01);
        // What comes of few transactions is less in longer slices.
        spread / self.longer.map_or(1.0, |(_, factor)| f64::from(factor).sqrt())
    }

    fn place(&self, measure: Measure) -> usize {
        MEASURES.iter().position(|other| *other == measure).unwrap_or_default()
    }

    fn ratio(&self, measure: Measure) -> Option<Ratio> {
        let estimate = self.compared.as_ref()?[self.place(measure)].estimate()?;
        Some(Ratio {
            measure,
            ratio: estimate.value,
            low: estimate.low,
            high: estimate.high,
        })
    }

    /// What is known of what decides.
    pub fn answer(&self) -> Verdict {
        let Some(compared) = &self.compared else {
            return Verdict::Unknown;
        };
        let paired = &compared[self.place(self.decides)];
        if paired.blocks() < FEWEST {
            return Verdict::Unknown;
        }
        match paired.answer(self.turns.detect) {
            Answer::Higher => Verdict::Higher,
            Answer::Lower => Verdict::Lower,
            Answer::Same => Verdict::Same,
            Answer::Unknown => Verdict::Unknown,
        }
    }

    /// What is known so far, of these two levels of `factor`, and how it came about.
    pub fn known(&self, factor: &str, levels: [&Levels; 2]) -> (Versus, Vec<Block>) {
        let level = |levels: &Levels| levels.get(factor).cloned().unwrap_or_default();
        let compared = self
            .compared
            .as_ref()
            .map(|compared| &compared[self.place(self.decides)]);
        let blocks = compared.map_or(0, Paired::blocks);
        let answer = self.answer();
        let needed = compared.filter(|_| answer == Verdict::Unknown);
        let needed = needed.and_then(|paired| paired.blocks_for(self.turns.detect));
        let versus = Versus {
            factor: factor.to_owned(),
            baseline: level(levels[0]),
            candidate: level(levels[1]),
            detect: self.turns.detect,
            measure: self.decides,
            answer,
            ratios: MEASURES.into_iter().filter_map(|measure| self.ratio(measure)).collect(),
            blocks,
            left_out: self.left_out,
            more_blocks: needed.map(|needed| needed.saturating_sub(blocks).max(1)),
            block_s: self.sequence.length(self.blocks.len() * BLOCK).as_secs_f64() * BLOCK as f64,
            measured_s: self.sequence.start_of(self.blocks.len() * BLOCK).as_secs_f64(),
            notes: Vec::new(),
        };
        (versus, self.blocks.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(500);

    fn judge(open: bool) -> Judge {
        let turns = Turns {
            slice: SLICE,
            may_grow: false,
            detect: 0.03,
        };
        Judge::new(
            turns,
            Sequence::new(Duration::ZERO, SLICE, Duration::from_secs(400), 7),
            open,
        )
    }

    fn done(transactions: u64, latency_ns: u64) -> Done {
        let mut latency = LatencyHistogram::new();
        latency.record_n(latency_ns, transactions);
        Done {
            transactions,
            latency,
            time: SLICE * 4 / 5,
            idle_busy: None,
        }
    }

    /// Slices until it is known, at most 800: how many, and what is known. The second side does `ratio` times as much.
    fn decided(mut judge: Judge, ratio: f64) -> (usize, Versus) {
        let mut slice = 0;
        while slice < 800 && judge.answer() == Verdict::Unknown {
            // The machine wanders.
            let speed = 1_000.0 + 300.0 * (slice as f64 / 9.0).sin() + (slice * 7919 % 101) as f64;
            let own = if judge.sequence.side(slice) == 1 { ratio } else { 1.0 };
            let end = SLICE * (slice as u32 + 1);
            judge.slice(slice, &done((speed * own) as u64, (1e9 / (speed * own)) as u64), end);
            slice += 1;
        }
        let levels = ["14", "18"].map(|level| Levels::from([("target".to_owned(), level.to_owned())]));
        let (versus, blocks) = judge.known("target", [&levels[0], &levels[1]]);
        assert_eq!(blocks.len(), slice / BLOCK);
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
            judge.slice(slice, &done(0, 1), SLICE);
        }
        let levels = Levels::new();
        let (versus, blocks) = judge.known("target", [&levels, &levels]);
        assert_eq!((versus.left_out, versus.blocks, blocks.len()), (2, 0, 2));
        assert_eq!(versus.answer, Verdict::Unknown);
    }
}

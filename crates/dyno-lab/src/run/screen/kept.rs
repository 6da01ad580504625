//! What is known of the factors after each pair, and what an earlier attempt has left.

use super::{blocks_in, pairs};
use dyno_archive::plan::Plan;
use dyno_archive::{
    ArchiveError, Block, Effect, Measure, PairRatio, Ratio, Screen, ScreenedFactor, ScreenedPair, Versus,
};
use dyno_stats::{Design, Effects, Running};
use std::path::Path;

/// Keeps what pairs say in the campaign's folder.
pub(in crate::run) struct Kept<'a> {
    plan: &'a Plan,
    campaign: &'a Path,
    screen: Screen,
    /// How many blocks a pair has that is measured to its end.
    blocks: usize,
}

impl<'a> Kept<'a> {
    /// With the pairs that are there already.
    pub fn of(plan: &'a Plan, campaign: &'a Path) -> Self {
        let factor = |factor: &dyno_archive::plan::Factor| match factor.levels.as_slice() {
            [first, second] => Some(ScreenedFactor {
                name: factor.name.clone(),
                first: first.clone(),
                second: second.clone(),
            }),
            _ => None,
        };
        let screen = Screen::read(campaign).unwrap_or_else(|| Screen {
            factors: plan.factors.iter().filter_map(factor).collect(),
            measure: Measure::Throughput,
            pairs_planned: pairs(plan),
            pairs: Vec::new(),
            effects: Vec::new(),
            unexplained: None,
            each_s: plan.screen.map_or(0.0, |screen| screen.each.as_secs_f64()),
        });
        Self {
            plan,
            campaign,
            screen,
            blocks: plan.turns.as_ref().zip(plan.screen).map_or(0, |(turns, screen)| {
                let blocks = blocks_in(screen.each, turns.slice);
                usize::try_from(blocks).unwrap_or(usize::MAX)
            }),
        }
    }

    /// Whether the pair of this number, from 0, is there.
    pub fn has(&self, number: usize) -> bool {
        self.screen.pairs.iter().any(|pair| pair.row == number + 1)
    }

    /// Takes what the two of a pair say about each other, in place of what an earlier attempt left. Of a pair that was
    /// not measured to its end the blocks are kept.
    pub fn keep(&mut self, number: usize, versus: &Versus, blocks: &[Block]) -> Result<(), ArchiveError> {
        let row = number + 1;
        self.screen.measure = versus.measure;
        self.screen.pairs.retain(|pair| pair.row != row);
        self.screen
            .pairs
            .extend((blocks.len() >= self.blocks).then(|| self.pair(number, blocks)));
        self.screen.pairs.sort_by_key(|pair| pair.row);
        self.conclude();
        Screen::add_blocks(self.campaign, row, blocks)?;
        self.screen.write(self.campaign)
    }

    /// Leaves out the pair of this number, because it turned out not to count. Its blocks are kept.
    pub fn forget(&mut self, number: usize) -> Result<(), ArchiveError> {
        self.screen.pairs.retain(|pair| pair.row != number + 1);
        self.conclude();
        self.screen.write(self.campaign)
    }

    /// What a pair says.
    fn pair(&self, number: usize, blocks: &[Block]) -> ScreenedPair {
        let run = self.plan.runs.get(2 * number + 1);
        let compared: Vec<[f64; 4]> = blocks.iter().filter_map(|block| block.each).collect();
        let ratio = |measure: Measure| {
            let logs: Running = compared.iter().map(|ratios| ratios[measure.place()].ln()).collect();
            Some(PairRatio {
                measure,
                log_ratio: logs.mean()?,
                standard_error: logs.stddev()? / (logs.count() as f64).sqrt(),
            })
        };
        ScreenedPair {
            row: number + 1,
            levels: run.map(|run| run.cell.clone()).unwrap_or_default(),
            blocks: compared.len(),
            left_out: blocks.len() - compared.len(),
            ratios: Measure::ALL.into_iter().filter_map(ratio).collect(),
        }
    }

    /// Works out what the factors do, if all pairs are there.
    fn conclude(&mut self) {
        let found: Vec<_> = Measure::ALL
            .into_iter()
            .filter_map(|measure| Some((measure, effects(&self.screen, measure)?)))
            .collect();
        let deciding = found.iter().find(|(measure, _)| *measure == self.screen.measure);
        self.screen.unexplained = deciding
            .and_then(|(_, effects)| effects.unexplained)
            .map(|log| log.exp() - 1.0);
        self.screen.effects = found
            .iter()
            .flat_map(|(measure, effects)| {
                let factors = self.screen.factors.iter().zip(&effects.factors);
                factors.map(|(factor, effect)| Effect {
                    factor: factor.name.clone(),
                    ratio: Ratio {
                        measure: *measure,
                        ratio: effect.value,
                        low: effect.low,
                        high: effect.high,
                    },
                })
            })
            .collect();
    }
}

/// What the factors do by one measure; `None` as long as pairs are missing or had too few blocks.
fn effects(screen: &Screen, measure: Measure) -> Option<Effects> {
    let log_ratio = |pair: &ScreenedPair| Some(pair.ratio(measure)?.log_ratio);
    let pairs: Option<Vec<f64>> = screen.pairs.iter().map(log_ratio).collect();
    Design::new(screen.factors.len())?.effects(&pairs?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::run::screen::{MeasuringTime, screening};
    use dyno_archive::Verdict;
    use dyno_archive::plan::Size;
    use std::time::Duration;

    fn plan() -> Plan {
        let file = "title = \"t\"\n[[workload]]\nname = \"w\"\nclients = 2\nscript = \"select :a, :b;\"\n\
                    [parameters]\na = 1\nb = 1\n";
        let experiment = Experiment::parse(Path::new("mine.toml"), file).unwrap();
        let set = [("a", "1,2"), ("b", "1,2")].map(|(name, levels)| (name.to_owned(), levels.to_owned()));
        let plan = experiment.plan(Size::Small, &set, None, 7, 2).unwrap();
        let each = MeasuringTime::Each(Duration::from_secs(20));
        screening(plan, Duration::from_millis(500), each).unwrap()
    }

    fn versus() -> Versus {
        Versus {
            factor: String::new(),
            baseline: String::new(),
            candidate: String::new(),
            detect: 0.0,
            measure: Measure::Throughput,
            answer: Verdict::Unknown,
            ratios: Vec::new(),
            blocks: 0,
            left_out: 0,
            more_blocks: None,
            block_s: 2.0,
            measured_s: 20.0,
            notes: Vec::new(),
            further: Vec::new(),
        }
    }

    /// Blocks of a pair whose variant does `ratio` times as much, and one in which a side did nothing.
    fn blocks(ratio: f64) -> Vec<Block> {
        let block = |number: usize| Block {
            variant: 1,
            end_s: 2.0 * number as f64,
            candidate_outside: false,
            block_ratio: None,
            each: (number != 3).then(|| {
                let noise = 1.0 + 0.01 * ((number * 7 % 5) as f64 - 2.0);
                [ratio * noise, noise / ratio, noise, noise]
            }),
            known: None,
            idle_busy: String::new(),
        };
        (1..=10).map(block).collect()
    }

    #[test]
    fn what_is_known_is_there_after_each_pair_and_effects_after_all() {
        let (plan, folder) = (plan(), tempfile::tempdir().unwrap());
        for number in 0..8 {
            let mut kept = Kept::of(&plan, folder.path());
            assert!(!kept.has(number));
            let variant = &plan.runs[2 * number + 1].cell;
            let ratio = if variant["a"] == "2" { 1.5 } else { 1.0 / 1.5 };
            // An attempt that was interrupted is made again.
            kept.keep(number, &versus(), &blocks(7.0)[..8]).unwrap();
            assert!(!kept.has(number));
            kept.keep(number, &versus(), &blocks(ratio)).unwrap();
            assert!(kept.has(number));
            let screen = Screen::read(folder.path()).unwrap();
            assert_eq!(screen.pairs.len(), number + 1);
            assert_eq!((screen.pairs[number].blocks, screen.pairs[number].left_out), (9, 1));
            assert_eq!(screen.effects.is_empty(), number < 7);
        }
        let screen = Screen::read(folder.path()).unwrap();
        let of = |measure: Measure| {
            screen
                .effects_of(measure)
                .map(|effect| effect.ratio)
                .collect::<Vec<_>>()
        };
        let [a, b] = of(Measure::Throughput)[..] else {
            panic!("{screen:?}")
        };
        assert!(a.low < a.ratio && (a.ratio - 1.5).abs() < 0.01 && a.low > 1.4, "{a:?}");
        assert!(b.low < 1.0 && b.high > 1.0 && b.high < 1.1, "{b:?}");
        assert!((of(Measure::P50)[0].ratio - 1.0 / 1.5).abs() < 0.01);
        assert_eq!(screen.unexplained, None);
        let csv = std::fs::read_to_string(folder.path().join("screen.csv")).unwrap();
        assert_eq!(csv.lines().count(), 1 + 8 * 10, "{csv}");
    }

    #[test]
    fn a_pair_that_does_not_count_is_in_no_effect() {
        let (plan, folder) = (plan(), tempfile::tempdir().unwrap());
        let mut kept = Kept::of(&plan, folder.path());
        for number in 0..8 {
            kept.keep(number, &versus(), &blocks(1.0)).unwrap();
        }
        assert!(!Screen::read(folder.path()).unwrap().effects.is_empty());
        kept.forget(2).unwrap();
        let screen = Screen::read(folder.path()).unwrap();
        assert_eq!((screen.pairs.len(), screen.effects.len()), (7, 0));
        let kept = Kept::of(&plan, folder.path());
        assert!(kept.has(1) && !kept.has(2));
    }
}

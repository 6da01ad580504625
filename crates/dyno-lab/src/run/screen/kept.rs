//! What is known of the factors after each pair, and what an earlier attempt has left.

use super::pairs;
use dyno_archive::plan::Plan;
use dyno_archive::{
    ArchiveError, Block, Effect, Measure, PairBlock, PairRatio, Ratio, Screen, ScreenedFactor, ScreenedPair, Versus,
};
use dyno_stats::{Design, Effects, PairMean};
use std::path::Path;

/// In the order of the ratios of a block.
const MEASURES: [Measure; 4] = [Measure::Throughput, Measure::P50, Measure::P95, Measure::P99];

/// Keeps what pairs say in the campaign's folder.
pub(in crate::run) struct Kept<'a> {
    plan: &'a Plan,
    campaign: &'a Path,
    screen: Screen,
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
        Self { plan, campaign, screen }
    }

    /// Whether the pair of this number, from 0, is there.
    pub fn has(&self, number: usize) -> bool {
        self.screen.pairs.iter().any(|pair| pair.row == number + 1)
    }

    /// Takes what the two of a pair say about each other, in place of what an earlier attempt left.
    pub fn keep(&mut self, number: usize, versus: &Versus, blocks: &[Block]) -> Result<(), ArchiveError> {
        let row = number + 1;
        self.screen.measure = versus.measure;
        self.screen.pairs.retain(|pair| pair.row != row);
        let run = self.plan.runs.get(2 * number + 1);
        let compared: Vec<[f64; 4]> = blocks.iter().filter_map(|block| block.each).collect();
        let ratio = |(place, measure): (usize, Measure)| {
            let logs: Vec<f64> = compared.iter().map(|ratios| ratios[place].ln()).collect();
            PairMean::of(&logs).map(|pair| PairRatio {
                measure,
                log_ratio: pair.mean,
                standard_error: pair.error,
            })
        };
        self.screen.pairs.push(ScreenedPair {
            row,
            levels: run.map(|run| run.cell.clone()).unwrap_or_default(),
            blocks: compared.len(),
            left_out: blocks.len() - compared.len(),
            ratios: MEASURES.into_iter().enumerate().filter_map(ratio).collect(),
        });
        self.screen.pairs.sort_by_key(|pair| pair.row);
        self.conclude();
        let blocks: Vec<PairBlock> = blocks
            .iter()
            .map(|block| PairBlock {
                end_s: block.end_s,
                ratios: block.each,
            })
            .collect();
        Screen::add_blocks(self.campaign, row, &blocks)?;
        self.screen.write(self.campaign)
    }

    /// Works out what the factors do, if all pairs are there.
    fn conclude(&mut self) {
        let found: Vec<_> = MEASURES
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
    let mean = |pair: &ScreenedPair| {
        let ratio = pair.ratios.iter().find(|ratio| ratio.measure == measure)?;
        Some(PairMean {
            mean: ratio.log_ratio,
            error: ratio.standard_error,
            blocks: pair.blocks,
        })
    };
    let pairs: Option<Vec<PairMean>> = screen.pairs.iter().map(mean).collect();
    Design::new(screen.factors.len())?.effects(&pairs?)
}

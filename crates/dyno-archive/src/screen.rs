//! Which of several factors matter, as far as pairs of variants say it: `screen.json` and `screen.csv` in the
//! campaign's folder.

use crate::plan::Levels;
use crate::{ArchiveError, Block, Measure, Ratio, read_json, replace, replace_json, rounded, to_csv};
use jiff::fmt::serde::unsigned_duration::friendly::compact::required;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

const SCREEN_JSON: &str = "screen.json";
const SCREEN_CSV: &str = "screen.csv";

/// That the cells of a campaign are measured in pairs, each in turn with its mirror image, to find out which factors
/// matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screening {
    /// How long each pair is measured.
    #[serde(with = "required")]
    pub each: Duration,
}

/// What is known of the factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Screen {
    /// What is varied.
    pub factors: Vec<ScreenedFactor>,
    /// By what it is decided which of them matter.
    pub measure: Measure,
    /// How many pairs are needed to know anything.
    pub pairs_planned: usize,
    /// Those that have been measured.
    pub pairs: Vec<ScreenedPair>,
    /// What is known of each factor by each measure; empty as long as pairs are missing. The intervals of all factors
    /// hold at 95 % together, for each measure by itself.
    pub effects: Vec<Effect>,
    /// What the measured pairs say of the deciding measure that effects do not explain, if it is more than noise: about
    /// how much of it is in each effect, as a share. Intervals are made of that then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<f64>,
    /// How long each pair is measured.
    pub each_s: f64,
}

/// Something that is varied between two values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenedFactor {
    /// What it is called.
    pub name: String,
    /// Its first value, with which the other is compared.
    pub first: String,
    /// Its second value.
    pub second: String,
}

/// A variant beside its mirror image, in which every factor has its other value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScreenedPair {
    /// Which row of the design it is, from 1.
    pub row: usize,
    /// The levels of the variant that the ratios are of; those of its mirror image are the others.
    pub levels: Levels,
    /// In how many blocks of four slices both could be compared.
    pub blocks: usize,
    /// In how many more blocks one of the two did nothing.
    pub left_out: usize,
    /// Each figure of the variant as a ratio to that of its mirror image; empty if there were too few blocks.
    pub ratios: Vec<PairRatio>,
}

impl ScreenedPair {
    /// What it says of this measure; `None` if there were too few blocks.
    #[must_use]
    pub fn ratio(&self, measure: Measure) -> Option<&PairRatio> {
        self.ratios.iter().find(|ratio| ratio.measure == measure)
    }
}

/// A figure of a variant as a ratio to that of its mirror image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairRatio {
    /// Of what.
    pub measure: Measure,
    /// The natural logarithm of the ratio: the mean of its blocks.
    pub log_ratio: f64,
    /// The standard error of that.
    pub standard_error: f64,
}

/// What a factor does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Which factor.
    pub factor: String,
    /// The figure with its second value as a ratio to that with its first, with its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// A row of the file of blocks.
#[derive(Serialize, Deserialize)]
struct BlockRow {
    pair: usize,
    block: usize,
    end_s: f64,
    throughput_ratio: Option<f64>,
    p50_ratio: Option<f64>,
    p95_ratio: Option<f64>,
    p99_ratio: Option<f64>,
    #[serde(default)]
    idle_busy: String,
}

impl BlockRow {
    fn of(pair: usize, number: usize, block: &Block) -> Self {
        let ratio = |measure: Measure| block.each.map(|ratios| rounded(ratios[measure.place()]));
        Self {
            pair,
            block: number,
            end_s: block.end_s,
            throughput_ratio: ratio(Measure::Throughput),
            p50_ratio: ratio(Measure::P50),
            p95_ratio: ratio(Measure::P95),
            p99_ratio: ratio(Measure::P99),
            idle_busy: block.idle_busy.clone(),
        }
    }
}

impl Screen {
    /// What is known of the factors by this measure, in their order.
    pub fn effects_of(&self, measure: Measure) -> impl Iterator<Item = &Effect> {
        self.effects
            .iter()
            .filter(move |effect| effect.ratio.measure == measure)
    }

    /// Writes it into the `campaign`'s folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, campaign: &Path) -> Result<(), ArchiveError> {
        replace_json(&campaign.join(SCREEN_JSON), self)
    }

    /// The factor of an effect.
    #[must_use]
    pub fn factor_of(&self, effect: &Effect) -> Option<&ScreenedFactor> {
        self.factors.iter().find(|factor| factor.name == effect.factor)
    }

    /// Adds the blocks of the pair of this row to those in the `campaign`'s folder, in place of those that an earlier
    /// attempt at the pair left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_blocks(campaign: &Path, row: usize, blocks: &[Block]) -> Result<(), ArchiveError> {
        let path = campaign.join(SCREEN_CSV);
        let kept = csv::Reader::from_path(&path).ok();
        let kept = kept.into_iter().flat_map(csv::Reader::into_deserialize::<BlockRow>);
        let mut rows: Vec<_> = kept.map_while(Result::ok).filter(|kept| kept.pair != row).collect();
        rows.extend(
            blocks
                .iter()
                .zip(1..)
                .map(|(block, number)| BlockRow::of(row, number, block)),
        );
        replace(&path, &to_csv(&rows, true))
    }

    /// That of the `campaign`'s folder; `None` if there is none, or it cannot be read.
    #[must_use]
    pub fn read(campaign: &Path) -> Option<Self> {
        read_json(&campaign.join(SCREEN_JSON)).ok()
    }
}

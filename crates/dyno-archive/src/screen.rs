//! Which of several factors matter, as far as pairs of variants say it: `screen.json` and `screen.csv` in the
//! campaign's folder.

use crate::plan::Levels;
use crate::{ArchiveError, Measure, Ratio, read_json, replace_json};
use jiff::fmt::serde::unsigned_duration::friendly::compact::required;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
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

/// One block of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairBlock {
    /// When it ended, in seconds since the load of its pair began.
    pub end_s: f64,
    /// Each measure of the variant as a ratio to that of its mirror image: throughput, p50, p95 and p99; `None` if one
    /// of the two did nothing.
    pub ratios: Option<[f64; 4]>,
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

    /// Adds the blocks of the pair of this row to those in the `campaign`'s folder, in place of those that an earlier
    /// attempt at the pair left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_blocks(campaign: &Path, row: usize, blocks: &[PairBlock]) -> Result<(), ArchiveError> {
        let path = campaign.join(SCREEN_CSV);
        let mut text = "pair,block,end_s,throughput_ratio,p50_ratio,p95_ratio,p99_ratio\n".to_owned();
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let of_row = format!("{row},");
        for line in kept.lines().skip(1).filter(|line| !line.starts_with(&of_row)) {
            text.push_str(line);
            text.push('\n');
        }
        for (block, number) in blocks.iter().zip(1..) {
            let figure = |place: usize| {
                block
                    .ratios
                    .map_or_else(String::new, |ratios| format!("{:.6}", ratios[place]))
            };
            let columns = [0, 1, 2, 3].map(figure).join(",");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{row},{number},{:.3},{columns}", block.end_s);
        }
        fs::write(&path, text).map_err(ArchiveError::write(&path))
    }

    /// That of the `campaign`'s folder; `None` if there is none, or it cannot be read.
    #[must_use]
    pub fn read(campaign: &Path) -> Option<Self> {
        read_json(&campaign.join(SCREEN_JSON)).ok()
    }
}

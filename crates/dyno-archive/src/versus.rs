//! What variants that were measured in turn say about each other, and how that came about: `versus.json` and
//! `versus.csv` in the campaign's folder.

use crate::{ArchiveError, read_json, replace, replace_json, rounded, to_csv};
use jiff::fmt::serde::unsigned_duration::friendly::compact::required;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

const VERSUS_JSON: &str = "versus.json";
const VERSUS_CSV: &str = "versus.csv";

/// That the cells of a campaign are measured in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// In which way.
    #[serde(default, skip_serializing_if = "Way::is_in_slices")]
    pub way: Way,
    /// How long one of them works before it may be another's turn.
    #[serde(with = "required")]
    pub slice: Duration,
    /// Whether slices become longer if the first ones show that they have to.
    #[serde(default)]
    pub may_grow: bool,
    /// How large a difference has to be to matter, as a share: 0.03 is 3 %.
    pub detect: f64,
}

impl Turns {
    /// Whether each time has a run of its own.
    #[must_use]
    pub fn is_by_runs(&self) -> bool {
        matches!(self.way, Way::ByRuns { .. })
    }
}

/// How variants that are compared share the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// All are up, and the load goes to one or another in slices.
    #[default]
    InSlices,
    /// All are up, and each has its load all the time. A slice is a stretch of time, in which all work.
    AtOnce,
    /// One is up and measured after the other, for a slice in a run of its own: they cannot be up at once.
    ByRuns {
        /// Why not, as a sentence without its full stop.
        why: String,
        /// How long all runs take together at most, with what is done between them.
        #[serde(with = "required")]
        at_most: Duration,
    },
}

impl Way {
    fn is_in_slices(&self) -> bool {
        *self == Self::InSlices
    }
}

/// What is known of a variant beside the first: of the second, and of others as [`further`](Self::further).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// What differs between them.
    pub factor: String,
    /// The level of the first, with which this one is compared.
    pub baseline: String,
    /// The level of this one.
    pub candidate: String,
    /// See [`Turns::detect`].
    pub detect: f64,
    /// By what it was decided.
    pub measure: Measure,
    /// What is known of that.
    pub answer: Verdict,
    /// Each figure of this one as a ratio to the first's.
    pub ratios: Vec<Ratio>,
    /// How many blocks were compared, each of two slices of every variant.
    pub blocks: usize,
    /// In how many more blocks one of the two did nothing that could be compared.
    #[serde(default)]
    pub left_out: usize,
    /// About how many more blocks would decide what is not decided; absent if it is, or if nobody would wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_blocks: Option<usize>,
    /// How long a block takes.
    pub block_s: f64,
    /// How long all were measured together.
    pub measured_s: f64,
    /// What to keep in mind of a difference, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The same of further variants, beside the same baseline. Intervals hold at 95 % for all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Self>,
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Transactions per second.
    Throughput,
    /// Median of the transactions' latency.
    P50,
    /// Their 95th percentile.
    P95,
    /// Their 99th percentile.
    P99,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::P50, Self::P95, Self::P99];

    /// Its place among [`ALL`](Self::ALL).
    #[must_use]
    pub const fn place(self) -> usize {
        self as usize
    }
}

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The variant has more than the first.
    Higher,
    /// It has less.
    Lower,
    /// They differ by less than matters, if at all.
    Same,
    /// Nothing yet.
    Unknown,
}

/// A figure as a ratio to another, with its interval at 95 %: that of a variant to that of the first, which holds
/// whenever it is looked at, or that with the second value of a screened factor to that with its first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Of what.
    pub measure: Measure,
    /// The ratio.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// One block, and what was known after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// When it ended, in seconds since the load began.
    pub end_s: f64,
    /// Which of the variants is compared with the first: from 2.
    pub variant: usize,
    /// Whether it had its slices before and after those of the first one, and not between them.
    pub candidate_outside: bool,
    /// The ratio of this block alone by what decides; `None` of the first blocks, which only say how much blocks
    /// scatter, and if one of the two did nothing.
    pub block_ratio: Option<f64>,
    /// The ratio of each measure in the order of [`Measure::ALL`], also of the first blocks; `None` if one of the two
    /// did nothing. It is in no file of `versus`.
    pub each: Option<[f64; 4]>,
    /// What all blocks up to it say; `None` as long as they are too few.
    pub known: Option<Ratio>,
    /// What servers did in slices of another variant, such as `checkpointer`; empty if they were at rest.
    pub idle_busy: String,
}

/// A row of the file of blocks.
#[derive(Serialize, Deserialize)]
struct BlockRow {
    /// Among those of its variant, from 1.
    block: usize,
    end_s: f64,
    candidate_outside: bool,
    block_ratio: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    #[serde(default)]
    idle_busy: String,
    #[serde(default = "second")]
    variant: usize,
}

fn second() -> usize {
    2
}

impl BlockRow {
    fn of(number: usize, block: &Block) -> Self {
        let Block {
            end_s,
            variant,
            candidate_outside,
            block_ratio,
            each: _,
            known,
            idle_busy,
        } = block;
        Self {
            block: number,
            end_s: *end_s,
            candidate_outside: *candidate_outside,
            block_ratio: block_ratio.map(rounded),
            ratio: known.map(|known| rounded(known.ratio)),
            low: known.map(|known| rounded(known.low)),
            high: known.map(|known| rounded(known.high)),
            idle_busy: idle_busy.clone(),
            variant: *variant,
        }
    }

    fn block(self, measure: Measure) -> Block {
        let known = self.ratio.zip(self.low).zip(self.high);
        Block {
            end_s: self.end_s,
            variant: self.variant,
            candidate_outside: self.candidate_outside,
            block_ratio: self.block_ratio,
            each: None,
            known: known.map(|((ratio, low), high)| Ratio {
                measure,
                ratio,
                low,
                high,
            }),
            idle_busy: self.idle_busy,
        }
    }
}

impl Versus {
    /// What is known of each variant beside the baseline, one or more.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.further)
    }

    /// Whether the answer is known of each variant.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.all().all(|one| one.answer != Verdict::Unknown)
    }

    /// What is known of this measure; `None` if there were too few blocks.
    #[must_use]
    pub fn ratio(&self, measure: Measure) -> Option<Ratio> {
        self.ratios.iter().copied().find(|ratio| ratio.measure == measure)
    }

    /// Writes it into the `campaign`'s folder, with the blocks, those of one variant after those of another.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn write(&self, campaign: &Path, blocks: &[Block]) -> Result<(), ArchiveError> {
        let rows: Vec<_> = blocks
            .chunk_by(|one, next| one.variant == next.variant)
            .flat_map(|blocks| blocks.iter().zip(1..))
            .map(|(block, number)| BlockRow::of(number, block))
            .collect();
        replace(&campaign.join(VERSUS_CSV), &to_csv(&rows, true))?;
        replace_json(&campaign.join(VERSUS_JSON), self)
    }

    /// The blocks by which it came about, as the `campaign`'s folder has them; none if they cannot be read.
    #[must_use]
    pub fn blocks(&self, campaign: &Path) -> Vec<Block> {
        let Ok(mut reader) = csv::Reader::from_path(campaign.join(VERSUS_CSV)) else {
            return Vec::new();
        };
        let rows = reader.deserialize::<BlockRow>().map_while(Result::ok);
        rows.map(|row| row.block(self.measure)).collect()
    }

    /// That of the `campaign`'s folder; `None` if there is none, or it cannot be read.
    #[must_use]
    pub fn read(campaign: &Path) -> Option<Self> {
        read_json(&campaign.join(VERSUS_JSON)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let versus = Versus {
            factor: "target".to_owned(),
            baseline: "14".to_owned(),
            candidate: "18".to_owned(),
            detect: 0.03,
            measure: Measure::P95,
            answer: Verdict::Unknown,
            ratios: Vec::new(),
            blocks: 1,
            left_out: 1,
            more_blocks: None,
            block_s: 2.0,
            measured_s: 4.0,
            notes: vec!["Something.".to_owned()],
            further: Vec::new(),
        };
        let none = Block {
            end_s: 2.0,
            variant: 2,
            candidate_outside: true,
            block_ratio: None,
            each: None,
            known: None,
            idle_busy: String::new(),
        };
        let known = Ratio {
            measure: Measure::P95,
            ratio: 1.25,
            low: 0.5,
            high: 2.0,
        };
        let some = Block {
            end_s: 4.0,
            variant: 3,
            candidate_outside: false,
            block_ratio: Some(1.5),
            each: None,
            known: Some(known),
            idle_busy: "checkpointer; a, \"b\"".to_owned(),
        };
        versus
            .write(folder.path(), &[none.clone(), some.clone()])
            .expect("it can be written");
        let read = Versus::read(folder.path()).expect("it can be read");
        assert_eq!((read.blocks(folder.path()), read), (vec![none, some], versus));
        assert!(Versus::read(&folder.path().join("nowhere")).is_none());
    }
}

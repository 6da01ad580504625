//! The plan of a screening: which of the cells are measured, beside which.

use super::{BLOCK, blocks_in};
use crate::run::turns::{TurnsError, is_alike, prepared};
use dyno_archive::plan::{Cell, Factor, Levels, Plan, PlannedRun};
use dyno_archive::{Screening, Turns, Way};
use dyno_engine::Stop;
use dyno_stats::{Design, MOST_FACTORS};
use std::time::Duration;

/// With fewer blocks nobody knows how much those of a pair scatter.
const FEWEST_BLOCKS: u32 = 4;

/// Why factors cannot be screened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScreenError {
    /// There is nothing to find out.
    #[error(
        "no factor is given: give each that may matter its two values, such as --set shared_buffers=64MB,256MB --set \
         wal_compression=off,on"
    )]
    NoFactor,
    /// That is a comparison of two.
    #[error("{factor} is the only factor: use dyno versus, which ends as soon as the question is answered")]
    OneFactor {
        /// The factor.
        factor: String,
    },
    /// There is no design for so many.
    #[error("{factors} factors are given, but at most {MOST_FACTORS} can be screened at once: leave some out")]
    TooManyFactors {
        /// How many.
        factors: usize,
    },
    /// A factor has another number of values.
    #[error(
        "the factor {factor} has {levels} different value{}, but each has two here: those between which it is to be \
         found out whether it matters",
        if *levels == 1 { "" } else { "s" }
    )]
    NotTwoLevels {
        /// The factor.
        factor: String,
        /// How many.
        levels: usize,
    },
    /// It cannot matter.
    #[error("the factor {factor} changes nothing that is measured: no script uses it; leave it out")]
    WithoutEffect {
        /// The factor.
        factor: String,
    },
    /// The experiment leaves out a cell.
    #[error("the experiment excludes {cell}, which the design needs: leave out a factor")]
    NoCell {
        /// Its levels.
        cell: String,
    },
    /// The time is too short for the slices.
    #[error(
        "each of {pairs} pairs would be measured for {each:?}, but at least {FEWEST_BLOCKS} blocks of {BLOCK} slices \
         have to fit: give --each {least:?} or more, --at-most {all:?} or more, or shorter slices"
    )]
    TooShort {
        /// How many pairs there are.
        pairs: usize,
        /// How long each would be measured.
        each: Duration,
        /// How long it has to be at least.
        least: Duration,
        /// The same of all together.
        all: Duration,
    },
    /// The variants of a pair cannot be measured in turn.
    #[error(transparent)]
    Pair(#[from] TurnsError),
}

/// How long is measured, without warm-ups and whatever comes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuringTime {
    /// Each pair.
    Each(Duration),
    /// All pairs together.
    All(Duration),
}

/// `plan`, of all cells of factors with two values, as one that measures those of a design: each for a fixed time in
/// turn with its mirror image.
///
/// # Errors
/// There is no design for these factors, or a pair cannot be measured in turn.
pub fn screening(plan: Plan, slice: Duration, time: MeasuringTime) -> Result<Plan, ScreenError> {
    let mut plan = plan;
    plan.factors.retain(|factor| factor.levels.len() > 1);
    let design = design(&plan.factors)?;
    let each = each(design.pairs(), slice, time)?;
    let all = std::mem::take(&mut plan.cells);
    check_effects(&plan.factors, &all)?;
    plan.screen = Some(Screening { each });
    let turns = Turns {
        way: Way::InSlices,
        slice,
        // Every pair has its time, so that all are measured alike.
        may_grow: false,
        detect: 0.0,
    };
    let mut runs: Vec<PlannedRun> = Vec::new();
    for number in 0..design.pairs() {
        let of = |mirrored: bool| {
            cell(&plan.factors, &all, |factor| {
                design.is_second(number, factor) != mirrored
            })
        };
        let pair = Plan {
            cells: vec![of(true)?, of(false)?],
            ..plan.clone()
        };
        for cell in prepared(pair, turns.clone(), each)?.cells {
            let earlier = runs.iter().filter(|run| run.cell == cell.levels).count();
            runs.push(PlannedRun {
                number: runs.len() + 1,
                cell: cell.levels.clone(),
                repetition: earlier + 1,
            });
            if earlier == 0 {
                plan.cells.push(cell);
            }
        }
    }
    // In the first pair one has the first value of every factor.
    plan.baseline = plan.cells.first().map(|cell| cell.levels.clone()).unwrap_or_default();
    plan.turns = Some(turns);
    plan.runs = runs;
    Ok(plan)
}

/// The design for these factors.
fn design(factors: &[Factor]) -> Result<Design, ScreenError> {
    if let Some(factor) = factors.iter().find(|factor| factor.levels.len() != 2) {
        return Err(ScreenError::NotTwoLevels {
            factor: factor.name.clone(),
            levels: factor.levels.len(),
        });
    }
    match factors {
        [] => Err(ScreenError::NoFactor),
        [only] => Err(ScreenError::OneFactor {
            factor: only.name.clone(),
        }),
        several => Design::new(several.len()).ok_or(ScreenError::TooManyFactors { factors: several.len() }),
    }
}

/// How long each of so many pairs is measured: whole blocks.
fn each(pairs: usize, slice: Duration, time: MeasuringTime) -> Result<Duration, ScreenError> {
    let count = u32::try_from(pairs).unwrap_or(u32::MAX).max(1);
    let asked = match time {
        MeasuringTime::Each(each) => each,
        MeasuringTime::All(all) => all / count,
    };
    let block = slice.saturating_mul(BLOCK);
    let blocks = blocks_in(asked, slice);
    let least = block.saturating_mul(FEWEST_BLOCKS);
    match blocks {
        FEWEST_BLOCKS.. => Ok(block.saturating_mul(blocks)),
        _ => Err(ScreenError::TooShort {
            pairs,
            each: asked,
            least,
            all: least.saturating_mul(count),
        }),
    }
}

/// The cell in which those factors have their second level of which `is_second` says it.
fn cell(factors: &[Factor], all: &[Cell], is_second: impl Fn(usize) -> bool) -> Result<Cell, ScreenError> {
    let levels = factors.iter().enumerate().filter_map(|(place, factor)| {
        let level = factor.levels.get(usize::from(is_second(place)))?;
        Some((factor.name.clone(), level.clone()))
    });
    let levels: Levels = levels.collect();
    let has = |cell: &&Cell| {
        levels
            .iter()
            .all(|(factor, level)| cell.levels.get(factor) == Some(level))
    };
    let found = all.iter().find(has).cloned();
    found.ok_or_else(|| ScreenError::NoCell {
        cell: levels
            .iter()
            .map(|(factor, level)| format!("{factor} = {level}"))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// Makes sure that each factor changes something.
fn check_effects(factors: &[Factor], all: &[Cell]) -> Result<(), ScreenError> {
    for (place, factor) in factors.iter().enumerate() {
        let pair = [false, true].map(|second| cell(factors, all, |other| second && other == place));
        // What is excluded need not be measured.
        if let [Ok(one), Ok(other)] = &pair
            && is_alike(&one.experiment, &other.experiment, &Stop::new())
        {
            return Err(ScreenError::WithoutEffect {
                factor: factor.name.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{driven, pair, pairs};
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    const FILE: &str = "[parameters]\na = 1\nb = 1\nunused = 1\ns = 1\n[[workload]]\nname = \"w\"\nclients = 2\n\
                        script = \"select :a, :b;\"\n";
    const SLICE: Duration = Duration::from_millis(500);

    fn planned(set: &[(&str, &str)], time: MeasuringTime) -> Result<Plan, ScreenError> {
        let experiment = Experiment::parse(Path::new("mine.toml"), &format!("title = \"t\"\n{FILE}")).unwrap();
        let set: Vec<_> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let plan = experiment.plan(Size::Small, &set, None, 7, 2).unwrap();
        screening(plan, SLICE, time)
    }

    fn twenty(set: &[(&str, &str)]) -> Result<Plan, ScreenError> {
        planned(set, MeasuringTime::Each(Duration::from_secs(21)))
    }

    #[test]
    fn each_variant_is_beside_its_mirror_image() {
        let plan = twenty(&[("a", "1,2"), ("b", "1,2"), ("work_mem", "4MB,8MB"), ("clients", "4")]).unwrap();
        assert_eq!((pairs(&plan), plan.runs.len(), plan.cells.len()), (8, 16, 8));
        // Whole blocks.
        assert_eq!(plan.screen.unwrap().each, Duration::from_secs(20));
        for number in 0..pairs(&plan) {
            let pair = pair(&plan, number);
            let [mirror, variant] = [0, 1].map(|place| &pair.cells[place].levels);
            assert!(
                plan.factors
                    .iter()
                    .all(|factor| mirror[&factor.name] != variant[&factor.name])
            );
            assert_eq!(pair.cells[0].experiment.measure, Some(Duration::from_secs(20)));
            assert_eq!(pair.cells[0].experiment.workloads[0].clients, 4);
        }
        assert!(plan.baseline.values().eq(["1", "1", "4MB"]));
        let driven = driven(&plan).unwrap();
        let servers: Vec<Vec<&str>> = driven
            .cells
            .iter()
            .map(|cell| cell.experiment.server_names().collect())
            .collect();
        assert_eq!(servers, vec![vec!["a", "b"]; 8]);
        let draws: Vec<u64> = (0..8).map(|number| pair(&plan, number).seed).collect();
        assert_eq!(draws, [7, 8, 9, 10, 11, 12, 13, 14]);
        // All come again with their sides exchanged.
        let variants = |number: usize| pair(&plan, number).cells.into_iter().map(|cell| cell.levels);
        assert!((0..4).all(|number| variants(number).rev().eq(variants(number + 4))));
    }

    #[test]
    fn two_factors_have_four_cells() {
        let plan = planned(
            &[("a", "1,2"), ("b", "1,2")],
            MeasuringTime::All(Duration::from_secs(120)),
        )
        .unwrap();
        assert_eq!((pairs(&plan), plan.cells.len()), (8, 4));
        assert_eq!(plan.screen.unwrap().each, Duration::from_secs(14));
        let repetitions: Vec<usize> = plan.runs.iter().map(|run| run.repetition).collect();
        assert_eq!(repetitions, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]);
        assert_eq!(plan.runs[0].cell, plan.runs[7].cell);
    }

    #[test]
    fn options_of_scripts_in_lua_can_be_screened() {
        let file = "title = \"t\"\n[parameters]\nrows = 10\n[[workload]]\nname = \"w\"\nlua = \"oltp_point_select\"\n\
                    options = { tables = 1, table_size = \"{rows}\" }\n";
        let experiment = Experiment::parse(Path::new("mine.toml"), file).unwrap();
        let set = [("rows", "10,20"), ("options.tables", "1,2")];
        let set = set.map(|(name, levels)| (name.to_owned(), levels.to_owned()));
        let plan = experiment.plan(Size::Small, &set, None, 7, 2).unwrap();
        let each = MeasuringTime::Each(Duration::from_secs(20));
        assert_eq!(screening(plan, SLICE, each).unwrap().runs.len(), 16);
    }

    #[test]
    fn what_cannot_be_screened_is_told() {
        let said = |set: &[(&str, &str)]| twenty(set).unwrap_err().to_string();
        let two = [("a", "1,2"), ("b", "1,2")];
        let errors = [
            said(&[]),
            said(&[("a", "1,2")]),
            said(&[two[0], ("b", "1,2,3")]),
            said(&[two[0], two[1], ("unused", "1,2")]),
            // The letter occurs in the script.
            said(&[two[0], two[1], ("s", "1,2")]),
            said(&[
                ("target", "postgres://u@127.0.0.1:5999/d"),
                two[0],
                ("work_mem", "4MB,8MB"),
            ]),
            planned(&two, MeasuringTime::All(Duration::from_secs(40)))
                .unwrap_err()
                .to_string(),
            ScreenError::TooManyFactors { factors: 12 }.to_string(),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }
}

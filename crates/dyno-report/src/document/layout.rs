//! Which factor goes where in the charts of a campaign.

use crate::campaign::cells::{Cell, Factor, Levels, number};
use crate::campaign::kept::{follow_schedules, varied_rate};
use crate::campaign::{is_load, level};

/// The name under which campaigns are a factor when several are shown side by side.
pub(super) const CAMPAIGN: &str = "campaign";

/// The factor that chooses among the workloads of an experiment. What these do is so different that they share no
/// chart.
const WORKLOAD: &str = "workload";

/// More charts of the same kind are not looked at; the table has everything.
const MOST_FACETS: usize = 12;

/// More lines cannot be told apart.
const MOST_LINES: usize = 12;

/// A chart to be drawn.
pub(super) struct Facet<'a> {
    /// The levels that all of its cells have, in words; empty if there is but one chart.
    pub name: String,
    /// The factor along its axis.
    pub axis: Factor,
    /// Its lines, or the bars of each group: a name, and the cells by level of the axis.
    pub lines: Vec<(String, Vec<(&'a str, &'a Cell)>)>,
}

impl Facet<'_> {
    /// Whether throughput is what schedules asked for.
    pub fn follows_schedules(&self) -> bool {
        let points = || self.lines.iter().flat_map(|(_, points)| points).map(|(_, cell)| *cell);
        follow_schedules(points()) || varied_rate(points()).is_some()
    }
}

/// The factors that differ between `cells`, with the levels that occur.
fn varied(cells: &[&Cell], factors: &[Factor]) -> Vec<Factor> {
    let occurring = factors.iter().map(|factor| Factor {
        name: factor.name.clone(),
        levels: levels_of(cells, factor),
    });
    occurring.filter(|factor| factor.levels.len() > 1).collect()
}

/// The levels of `factor` that occur in `cells`; those that lack it have the level `-`.
fn levels_of(cells: &[&Cell], factor: &Factor) -> Vec<String> {
    let occurs = |wanted: &str| cells.iter().any(|cell| level(cell, factor) == wanted);
    let mut levels: Vec<String> = factor.levels.iter().filter(|wanted| occurs(wanted)).cloned().collect();
    levels.extend(occurs("-").then(|| "-".to_owned()));
    levels
}

/// The charts of `cells`, all of which have a value. None if nothing is varied between them.
///
/// Along the axis is a factor with numbers as levels, preferably how much load there is. The lines are what is
/// compared: campaigns, targets, or what the experiment says is the baseline. Every further factor makes charts of
/// their own.
pub(super) fn facets<'a>(cells: &[&'a Cell], factors: &[Factor], baseline: &Levels) -> Vec<Facet<'a>> {
    let varied = varied(cells, factors);
    let Some(axis) = axis(&varied, baseline) else {
        return Vec::new();
    };
    let mut others: Vec<Factor> = varied.into_iter().filter(|factor| factor.name != axis.name).collect();
    let line = line(&others, baseline).map(|place| others.remove(place));
    let number: usize = others.iter().map(|factor| factor.levels.len()).product();
    // With too many charts everything is drawn into one, as far as lines can be told apart.
    let (apart, mut together) = if number <= MOST_FACETS {
        (others, Vec::new())
    } else {
        (Vec::new(), others)
    };
    together.extend(line);
    combinations(&apart)
        .into_iter()
        .filter_map(|levels| {
            let of_facet: Vec<&Cell> = having(cells, &levels);
            let lines = combinations(&together).into_iter().filter_map(|levels| {
                let of_line = having(&of_facet, &levels);
                let mut points: Vec<(&str, &Cell)> =
                    of_line.into_iter().map(|cell| (level(cell, &axis), cell)).collect();
                points.sort_by_key(|(level, _)| axis.levels.iter().position(|other| other == level));
                (!points.is_empty()).then(|| (in_words(&levels), points))
            });
            let lines: Vec<_> = lines.take(MOST_LINES).collect();
            (!lines.is_empty()).then(|| Facet {
                name: in_words(&levels),
                axis: axis.clone(),
                lines,
            })
        })
        .collect()
}

fn axis(varied: &[Factor], baseline: &Levels) -> Option<Factor> {
    let numeric = varied.iter().filter(|factor| factor.is_numeric());
    let by_load = numeric.max_by_key(|factor| (is_load(&factor.name), factor.levels.len()));
    let compared = |factor: &Factor| factor.name == CAMPAIGN || baseline.contains_key(&factor.name);
    let words = || {
        varied
            .iter()
            .max_by_key(|factor| (factor.name != WORKLOAD, !compared(factor), factor.levels.len()))
    };
    by_load.or_else(words).cloned()
}

fn line(others: &[Factor], baseline: &Levels) -> Option<usize> {
    let rank = |factor: &Factor| match factor.name.as_str() {
        WORKLOAD => 0,
        CAMPAIGN => 4,
        "target" => 3,
        name if baseline.contains_key(name) => 2,
        _ => 1,
    };
    let ranked = others.iter().enumerate().filter(|(_, factor)| rank(factor) > 0);
    ranked
        .max_by_key(|(_, factor)| (rank(factor), factor.levels.len()))
        .map(|(place, _)| place)
}

/// All combinations of levels, in order.
fn combinations(factors: &[Factor]) -> Vec<Vec<(&Factor, &str)>> {
    let mut all = vec![Vec::new()];
    for factor in factors {
        let each = |levels: Vec<_>| {
            factor
                .levels
                .iter()
                .map(move |level| [levels.as_slice(), &[(factor, level.as_str())]].concat())
        };
        all = all.into_iter().flat_map(each).collect();
    }
    all
}

fn having<'a>(cells: &[&'a Cell], levels: &[(&Factor, &str)]) -> Vec<&'a Cell> {
    let has = |cell: &&&Cell| levels.iter().all(|(factor, wanted)| level(cell, factor) == *wanted);
    cells.iter().filter(has).copied().collect()
}

fn in_words(levels: &[(&Factor, &str)]) -> String {
    let words = levels.iter().map(|(factor, level)| match factor.name.as_str() {
        CAMPAIGN => (*level).to_owned(),
        name => format!("{name} = {level}"),
    });
    crate::figures::one_line(&words.collect::<Vec<_>>().join(", "))
}

/// The number of a level on an axis.
pub(super) fn position(level: &str) -> f64 {
    number(level).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::cells::factor;

    /// Cells of all combinations of levels.
    fn cells(factors: &[Factor]) -> Vec<Cell> {
        let cell = |levels: Vec<(&Factor, &str)>| Cell {
            levels: levels
                .into_iter()
                .map(|(factor, level)| (factor.name.clone(), level.to_owned()))
                .collect(),
            tps: vec![1.0],
            ..Cell::default()
        };
        combinations(factors).into_iter().map(cell).collect()
    }

    fn drawn(factors: &[Factor], baseline: &Levels) -> Vec<(String, String, Vec<String>)> {
        let cells = cells(factors);
        let facets = facets(&cells.iter().collect::<Vec<_>>(), factors, baseline);
        let names = |facet: Facet| {
            let lines = facet.lines.into_iter().map(|(name, _)| name).collect();
            (facet.name, facet.axis.name, lines)
        };
        facets.into_iter().map(names).collect()
    }

    #[test]
    fn systems_are_lines_over_clients_and_the_rest_makes_charts() {
        let factors = [
            factor(CAMPAIGN, &["debian", "freebsd"]),
            factor("workload", &["ro", "rw"]),
            factor("clients", &["1", "10", "20"]),
            factor("profile", &["32 GB", "200 GB"]),
        ];
        let drawn = drawn(&factors, &Levels::new());
        assert_eq!(drawn.len(), 4);
        assert!(
            drawn
                .iter()
                .all(|(_, axis, lines)| axis == "clients" && *lines == ["debian", "freebsd"])
        );
        assert_eq!(drawn[0].0, "workload = ro, profile = 32 GB");
    }

    #[test]
    fn names_are_compared_with_the_baseline() {
        let factors = [
            factor("full_page_writes", &["on", "off"]),
            factor("target", &["9.6", "18", "dev"]),
        ];
        let baseline = Levels::from([("full_page_writes".to_owned(), "on".to_owned())]);
        let facets = drawn(&factors, &baseline);
        assert_eq!(facets.len(), 1);
        assert_eq!((facets[0].1.as_str(), facets[0].2.len()), ("target", 2));
        let alone = drawn(&factors[..1], &baseline);
        assert_eq!(
            (alone[0].1.as_str(), alone[0].2.as_slice()),
            ("full_page_writes", [String::new()].as_slice())
        );
        assert!(drawn(&[], &baseline).is_empty());
    }
}

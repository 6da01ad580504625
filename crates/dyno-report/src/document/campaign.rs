//! The sections about all runs of one or several campaigns together.

use super::axes;
use super::latency::{OVER_RUNS, OVER_STAGES, percentile_curves};
use super::layout::{CAMPAIGN, Facet, facets};
use super::measures::Measure;
use super::metrics::SAME_MAGNITUDE;
use super::model::{Block, Figure, FigureData, Headline, Lane, Section, Series, Table, Timeline};
use super::parts::{figure, in_answer, paragraph, section, table};
use super::recorded::Recorded;
use super::table::{number, text, value, words};
use super::{bars, cell_table, matrix, runs, sweep};
use crate::campaign::cells::{Cell, Factor, Levels, cells, extremes, factors, mixes_tps, whose_tps};
use crate::campaign::kept::{follow_schedules, highest_kept, rate_finding, varied_rate};
use crate::campaign::ratio::ratio_of;
use crate::campaign::whose::of_workload;
use crate::campaign::{columns, knee_words, knees_by_column, ordered, rows_of};
use crate::completion::seconds;
use crate::figures::{Greatest, counted, decimal, one_line, rate, rounded};
use dyno_analysis::comparison::Pool;
use dyno_archive::analysis::Analysis;
use dyno_archive::{Campaign, LatencyCounts, RunState, Way};
use dyno_stats::{MANY_RUNS, Outcome};
use indexmap::{IndexMap, IndexSet};

/// More curves of percentiles, or runs in one chart, cannot be told apart.
const MOST_CURVES: usize = 8;

/// More columns of a table by levels do not fit on a page.
const MOST_COLUMNS: usize = 7;

/// Runs of one or several campaigns with what was read of each.
pub(super) struct Together<'a> {
    campaigns: Vec<&'a Campaign>,
    cells: Vec<Cell>,
    factors: Vec<Factor>,
    baseline: Levels,
    /// What was read of runs, with the levels of their cells.
    recorded: Vec<(Levels, &'a Recorded<'a>)>,
}

impl<'a> Together<'a> {
    /// Puts campaigns together; `recorded` are those of their runs that were read, in any order. Of several pools,
    /// which of them is a factor, and the one at `baseline` is what the others are compared with.
    pub fn new(pools: &[Pool<'a>], recorded: &'a [Recorded<'a>], baseline: Option<usize>) -> Self {
        let several = pools.len() > 1;
        let names = unique_names(pools);
        let campaigns: Vec<&'a Campaign> = pools.iter().flat_map(Pool::campaigns).copied().collect();
        let mut together = Self {
            campaigns: campaigns.clone(),
            cells: Vec::new(),
            factors: Vec::new(),
            baseline: Levels::new(),
            recorded: Vec::new(),
        };
        for (pool, name) in pools.iter().zip(&names) {
            let with_campaign = |levels: &Levels| {
                let campaign = several.then(|| (CAMPAIGN.to_owned(), name.clone()));
                campaign.into_iter().chain(levels.clone()).collect::<Levels>()
            };
            together
                .cells
                .extend(cells(pool.campaigns()).into_iter().map(|cell| Cell {
                    levels: with_campaign(&cell.levels),
                    // What they are beside each other, not beside another campaign.
                    in_turn: cell.in_turn.filter(|_| !several),
                    ..cell
                }));
            let is_of = |recorded: &&Recorded<'_>| {
                let mut campaigns = pool.campaigns().iter();
                campaigns.any(|campaign| recorded.run.path.starts_with(&campaign.path))
            };
            for recorded in recorded.iter().filter(is_of) {
                let levels = recorded
                    .run
                    .record
                    .as_ref()
                    .map(|record| with_campaign(&record.cell))
                    .unwrap_or_default();
                together.recorded.push((levels, recorded));
            }
        }
        together.factors = factors(campaigns.iter().copied(), &together.cells);
        // The plan mixes them; tables, charts and legends have all of them in the same order.
        together.cells = ordered(&together.cells, &together.varied())
            .into_iter()
            .cloned()
            .collect();
        let place = |levels: &Levels| together.cells.iter().position(|cell| cell.levels == *levels);
        together.recorded.sort_by_key(|(levels, _)| place(levels));
        let declared = || Some(campaigns.first()?.record.as_ref().ok()?.baseline.clone());
        together.baseline = match baseline.and_then(|baseline| names.get(baseline)) {
            Some(name) if several => Levels::from([(CAMPAIGN.to_owned(), name.clone())]),
            _ if several => Levels::new(),
            _ => declared().unwrap_or_default(),
        };
        together
    }

    /// The factors that differ between cells.
    fn varied(&self) -> Vec<&Factor> {
        self.factors.iter().filter(|factor| factor.levels.len() > 1).collect()
    }

    /// The best cell, if it is known which that is, and how the others compare with the baseline.
    pub fn headlines(&self) -> Vec<Headline> {
        const MOST: usize = 6;
        let mut headlines = Vec::new();
        let with_tps = self.cells.iter().filter_map(|cell| Some((cell, cell.mean_tps()?)));
        let (cells, tps): (Vec<&Cell>, Vec<f64>) = with_tps.unzip();
        if self.cells.iter().all(|cell| cell.runs == 0) {
            return vec![Headline {
                figure: "No figures".to_owned(),
                verdict: "No run is complete, so there is nothing to compare.".to_owned(),
                ..Headline::default()
            }];
        }
        let paced = follow_schedules(&self.cells) || varied_rate(&self.cells).is_some();
        headlines.extend(paced.then(|| self.kept_rate()).flatten());
        let comparable = !paced && !mixes_tps(&self.cells);
        let is_known = Measure::tps(&self.cells).is_highest_known(&cells);
        let says_something = |greatest: &Greatest| comparable && (is_known || greatest.alike == greatest.of);
        let greatest = Greatest::of(&tps).filter(says_something);
        headlines.extend(greatest.map(|greatest| self.best(greatest, cells[greatest.place], tps[greatest.place])));
        let unfinished = self.cells.iter().filter_map(|cell| self.unfinished(cell));
        headlines.extend(unfinished.take(MOST));
        headlines.extend(
            Measure::of_metrics(&self.cells)
                .iter()
                .filter_map(|metric| self.highest(metric)),
        );
        if !self.baseline.is_empty() && comparable {
            let compared = self.cells.iter().filter_map(|cell| self.against_baseline(cell));
            headlines.extend(compared.take(MOST));
        }
        headlines
    }

    /// The `greatest` TPS of all cells, which `best` has.
    fn best(&self, greatest: Greatest, best: &Cell, tps: f64) -> Headline {
        let runs = extremes(&best.tps);
        Headline {
            subject: self.name_of(best),
            figure: format!("{} TPS", rate(tps)),
            interval: runs.map_or_else(
                || "of one run".to_owned(),
                |(min, max)| {
                    format!(
                        "{} between {} and {}",
                        counted(best.tps.len() as u64, "run"),
                        rate(min),
                        rate(max)
                    )
                },
            ),
            verdict: format!(
                "{}{}.",
                greatest.of_cells(&of_workload(" throughput", whose_tps(&self.cells))),
                best.p99_words()
                    .map_or_else(String::new, |p99| format!(", with a p99 of {p99}"))
            ),
        }
    }

    /// A cell in which not all was finished.
    fn unfinished(&self, cell: &Cell) -> Option<Headline> {
        Some(Headline {
            subject: self.name_of(cell),
            figure: format!("longer than {}", seconds(cell.longer_than_s?)),
            interval: String::new(),
            verdict: "No transaction was finished, so it has no throughput.".to_owned(),
        })
    }

    /// Up to which rate open loops kept their schedule.
    fn kept_rate(&self) -> Option<Headline> {
        let best = match varied_rate(&self.cells) {
            Some((_, alone)) => highest_kept(&alone),
            None => highest_kept(&self.cells),
        };
        Some(Headline {
            subject: "Highest rate sustained".to_owned(),
            figure: best.map_or_else(|| "none".to_owned(), |best| format!("{} TPS", rate(best))),
            interval: String::new(),
            verdict: rate_finding(&self.cells)?,
        })
    }

    /// The cell with the highest value of a metric, if it is known which that is.
    fn highest(&self, metric: &Measure) -> Option<Headline> {
        let values = self.cells.iter().filter_map(|cell| Some((cell, metric.value(cell)?)));
        let (cells, values): (Vec<&Cell>, Vec<f64>) = values.unzip();
        let is_known = metric.is_highest_known(&cells);
        let greatest = Greatest::of(&values).filter(|greatest| is_known || greatest.alike == greatest.of)?;
        Some(Headline {
            subject: match self.name_of(cells[greatest.place]) {
                name if name.is_empty() => metric.title.clone(),
                name => format!("{}, {name}", metric.title),
            },
            figure: rate(values[greatest.place]),
            interval: String::new(),
            verdict: format!("{}.", greatest.of_cells("")),
        })
    }

    fn against_baseline(&self, cell: &Cell) -> Option<Headline> {
        let ratio = ratio_of(&self.cells, &self.baseline, cell).filter(|ratio| !ratio.is_baseline)?;
        // In all other factors it is the same.
        let base = self.name_of_levels(&self.baseline);
        let verdict = match ratio.outcome {
            Outcome::Higher => format!("Better than {base}."),
            Outcome::Lower => format!("Worse than {base}."),
            Outcome::Unknown {
                more_runs: Some(MANY_RUNS..),
            } => format!("Compared with {base}: cannot tell yet; even {MANY_RUNS} more runs of each would hardly do."),
            Outcome::Unknown { more_runs: Some(more) } => {
                let more = counted(more as u64, "more run");
                format!("Compared with {base}: cannot tell yet; this would take about {more} of each.")
            }
            Outcome::Unknown { more_runs: None } => {
                format!(
                    "Compared with {base}: cannot tell yet, and there are too few runs to estimate how many are \
                         needed."
                )
            }
        };
        Some(Headline {
            subject: self.name_of(cell),
            figure: format!(
                "{} × the {}",
                decimal(ratio.value, 2),
                of_workload("TPS", whose_tps(&self.cells))
            ),
            interval: ratio.interval.map_or_else(String::new, |(low, high)| {
                format!("95 % confidence interval {} to {}", decimal(low, 2), decimal(high, 2))
            }),
            verdict,
        })
    }

    /// What tells a cell from the others.
    fn name_of(&self, cell: &Cell) -> String {
        self.name_of_levels(&cell.levels)
    }

    fn name_of_levels(&self, levels: &Levels) -> String {
        let varied = self.varied();
        let told = varied
            .iter()
            .filter_map(|factor| Some((factor.name.as_str(), levels.get(&factor.name)?)));
        let words = told.map(|(name, level)| {
            if name == CAMPAIGN {
                level.clone()
            } else {
                format!("{name} = {level}")
            }
        });
        one_line(&words.collect::<Vec<_>>().join(", "))
    }

    /// The sections: charts over factors, cells, latency, and all runs.
    pub fn sections(&self) -> Vec<Section> {
        let varied = self.varied();
        let fixed = self.factors.iter().filter(|factor| factor.levels.len() == 1);
        let fixed: Vec<String> = fixed
            .map(|factor| format!("{} = {}", factor.name, factor.levels[0]))
            .collect();
        let mut cells = Vec::new();
        cells.extend((!fixed.is_empty()).then(|| paragraph(format!("All with {}.", one_line(&fixed.join(", "))))));
        cells.extend(self.at_a_glance());
        let any = self.cells.iter().any(|cell| cell.runs > 0);
        let rows = any.then(|| cell_table::cells(&self.cells, &varied, &self.baseline));
        cells.extend(rows.and_then(table));
        let mut sections = vec![
            in_answer(section("factors", "Effect of the factors", self.charts())),
            in_answer(section(
                "matrix",
                "Compared with the baseline",
                self.matrix().into_iter().collect(),
            )),
            in_answer(section("cells", "Results", cells)),
            section("distribution", "Distribution of latency", self.percentiles()),
            section(
                "together",
                "Over time, side by side",
                self.side_by_side().into_iter().collect(),
            ),
            section("runs", "All runs", runs::blocks(&self.campaigns, &self.cells, &varied)),
            section(
                "findings",
                "Findings",
                runs::findings(&self.campaigns).into_iter().collect(),
            ),
        ];
        sections.retain(|section| !section.blocks.is_empty());
        sections
    }

    /// One factor by the others, as far as these fit, and where the knee is or which rate was kept.
    fn at_a_glance(&self) -> Vec<Block> {
        let varied = self.varied();
        let (tables, words) = match rows_of(&varied) {
            Some(rows) => {
                let columns = columns(&varied, rows);
                if columns.len() > MOST_COLUMNS {
                    return Vec::new();
                }
                let words = knees_by_column(&self.cells, rows, &columns);
                (matrix::tables(&self.cells, rows, &columns), words)
            }
            None => {
                let words = varied.first().and_then(|factor| knee_words(&self.cells, factor));
                (Vec::new(), words.into_iter().collect())
            }
        };
        let words = words.into_iter().map(|words| paragraph(one_line(&words)));
        tables.into_iter().map(Block::Table).chain(words).collect()
    }

    /// Throughput and p99 over the factors, where there are several workloads of each of them; then metrics.
    fn charts(&self) -> Vec<Block> {
        let p99s = Measure::p99s(&self.cells);
        let of_workloads = Measure::of_workloads(&self.cells);
        // A latency is of a workload: beside the throughput of several it would be taken for one of all.
        let (first, others) = match of_workloads.is_empty() {
            true => ([vec![Measure::tps(&self.cells)], p99s].concat(), Vec::new()),
            false => (vec![Measure::tps(&self.cells)], vec![of_workloads, p99s]),
        };
        let mut groups = vec![first];
        groups.extend(others.into_iter().flat_map(|measures| alike(measures, &self.cells)));
        groups.extend(alike(Measure::of_metrics(&self.cells), &self.cells));
        let mut blocks = Vec::new();
        for measures in groups {
            let Some(first) = measures.first() else { continue };
            let cells: Vec<&Cell> = self.cells.iter().filter(|cell| first.value(cell).is_some()).collect();
            let facets = facets(&cells, &self.factors, &self.baseline);
            let reach = |measure: &Measure| reach(&facets, measures.iter().filter(|other| other.is_like(measure)));
            for (number, facet) in facets.iter().enumerate() {
                let id = format!("{}-{}", first.id, number + 1);
                blocks.extend(charts_of(&id, facet, &measures, &reach));
            }
        }
        blocks
    }

    /// Of two factors and a baseline the ratios. A baseline that is a campaign has a chapter with ratios of its own.
    fn matrix(&self) -> Option<Block> {
        if self.baseline.contains_key(CAMPAIGN) {
            return None;
        }
        figure(matrix::figure("ratios", &self.cells, &self.varied(), &self.baseline))
    }

    /// Percentile curves of cells, the baseline among them; of several workloads a figure for each.
    fn percentiles(&self) -> Vec<Block> {
        type Curves<'c> = IndexMap<String, (bool, Vec<&'c LatencyCounts>)>;
        let mut workloads: IndexMap<&str, Curves> = IndexMap::new();
        for (levels, recorded) in self
            .recorded
            .iter()
            .filter(|(_, recorded)| recorded.run.state == RunState::Complete)
        {
            let is_baseline = !self.baseline.is_empty()
                && self
                    .baseline
                    .iter()
                    .all(|(factor, level)| levels.get(factor) == Some(level));
            for (workload, counts) in recorded.latency.measured() {
                let curves = workloads.entry(workload).or_default();
                let new = || (is_baseline, Vec::new());
                let (_, runs) = curves.entry(self.name_of_levels(levels)).or_insert_with(new);
                runs.push(counts);
            }
        }
        let several = workloads.len() > 1;
        let staged = self.cells.iter().any(Cell::is_staged);
        let over = if staged { OVER_STAGES } else { "" };
        let figures = workloads
            .into_iter()
            .zip(1..)
            .filter_map(|((workload, curves), number)| {
                let (id, subject) = match several {
                    true => (format!("percentiles-{number}"), format!("each cell{over}, {workload}")),
                    false => ("percentiles".to_owned(), format!("each cell{over}")),
                };
                let few = curves.len() <= MOST_CURVES;
                let curves = curves
                    .into_iter()
                    .map(|(name, (baseline, runs))| (name, baseline, runs));
                few.then(|| percentile_curves(&id, &subject, OVER_RUNS, curves))
                    .flatten()
            });
        let mut figures: Vec<Figure> = figures.collect();
        axes::of_percentiles(&mut figures);
        for figure in &mut figures {
            if let FigureData::Percentiles(percentiles) = &mut figure.data {
                percentiles.names = self.names();
            }
        }
        figures.into_iter().map(Block::Figure).collect()
    }

    /// How the runs of cells shared the time.
    fn order(&self) -> &'static str {
        let turns = match self.campaigns.as_slice() {
            [campaign] => campaign.record.as_ref().ok().and_then(|record| record.turns.as_ref()),
            _ => None,
        };
        match turns.map(|turns| &turns.way) {
            Some(Way::InSlices) => "the load went to one or another in slices",
            Some(Way::AtOnce) => "all had their load at the same time",
            Some(Way::ByRuns { .. }) | None => "the runs were made one after the other",
        }
    }

    /// What tells the cells apart of which there is a complete run.
    fn names(&self) -> Vec<String> {
        let complete = self.recorded.iter();
        let complete = complete.filter(|(_, recorded)| recorded.run.state == RunState::Complete);
        let names: IndexSet<String> = complete.map(|(levels, _)| self.name_of_levels(levels)).collect();
        names.into_iter().collect()
    }

    /// The throughput of the first complete run of each cell in one chart, if they are few.
    fn side_by_side(&self) -> Option<Block> {
        let mut first: IndexMap<String, &Recorded> = IndexMap::new();
        for (levels, recorded) in self
            .recorded
            .iter()
            .filter(|(_, recorded)| recorded.run.state == RunState::Complete)
        {
            first.entry(self.name_of_levels(levels)).or_insert(recorded);
        }
        if !(2..=MOST_CURVES).contains(&first.len()) {
            return None;
        }
        let mut workloads: IndexMap<&str, Vec<Series>> = IndexMap::new();
        for (name, recorded) in &first {
            for (workload, line) in recorded.throughput.lines(name) {
                workloads.entry(workload).or_default().push(line);
            }
        }
        let end_s = first
            .values()
            .map(|recorded| recorded.annotations.end_s())
            .fold(0.0, f64::max);
        let rows = first.iter().filter_map(|(name, recorded)| {
            let summary = recorded.summary.as_ref().ok()?;
            let dips = recorded.analysis.as_ref().and_then(Analysis::dips_found);
            Some(vec![
                words(name.as_str()),
                words(recorded.name.as_str()),
                value(summary.tps()),
                value(dips.map(|dips| dips as f64)),
            ])
        });
        let table = Table {
            caption: String::new(),
            columns: vec![
                text("cell"),
                text("run"),
                number(&of_workload("mean", whose_tps(&self.cells)), "TPS"),
                number("dips", ""),
            ],
            rows: rows.collect(),
        };
        let several = workloads.len() > 1;
        let lanes = workloads.into_iter().zip(1..).map(|((workload, series), number)| Lane {
            id: if several {
                format!("throughput-{number}")
            } else {
                "throughput".to_owned()
            },
            title: of_workload("Throughput", Some(workload).filter(|_| several)),
            unit: "TPS".to_owned(),
            series,
            ..Lane::default()
        });
        let lanes: Vec<Lane> = lanes.collect();
        let annotations = super::Annotations::new("side-by-side", 1.0, end_s);
        (!lanes.is_empty()).then(|| {
            Block::Figure(Figure {
                id: "side-by-side".to_owned(),
                title: "Throughput over time, the first run of each cell".to_owned(),
                caption: format!(
                    "Times count from the start of each load, warm-up included; {}.",
                    self.order()
                ),
                data: FigureData::Timeline(Timeline {
                    names: self.names(),
                    ..annotations.timeline(lanes)
                }),
                table: Some(table),
            })
        })
    }
}

/// A chart of each facet: a sweep of all measures where there are numbers along the axis, bars of each where there
/// are names.
fn charts_of(
    id: &str,
    facet: &Facet,
    measures: &[Measure],
    reach: &dyn Fn(&Measure) -> Option<[f64; 2]>,
) -> Vec<Block> {
    let known: Vec<&Measure> = measures
        .iter()
        .filter(|measure| {
            facet
                .lines
                .iter()
                .flat_map(|(_, cells)| cells)
                .any(|(_, cell)| measure.value(cell).is_some())
        })
        .collect();
    if facet.axis.is_numeric() {
        return vec![Block::Figure(sweep::figure(id, facet, &known, reach))];
    }
    // What workloads do, such as reading and writing, is looked at apart.
    let together: Vec<&[&Measure]> = match facet.lines.as_slice() {
        [_] if known.iter().all(|measure| measure.is_metric()) => vec![&known],
        _ => known.chunks(1).collect(),
    };
    let bars = together.iter().enumerate().filter_map(|(number, measures)| {
        let id = if number == 0 {
            id.to_owned()
        } else {
            format!("{id}-{}", measures.first()?.id)
        };
        bars::figure(&id, facet, measures, reach(measures.first()?))
    });
    bars.map(Block::Figure).collect()
}

/// The least and the greatest value of `measures` in all `facets`, of which each has a panel. `None` if that is but
/// one, or if the values of some could not be seen on the axis of others.
fn reach<'a>(facets: &[Facet], measures: impl Iterator<Item = &'a Measure> + Clone) -> Option<[f64; 2]> {
    let panel = |facet: &Facet, measure: &Measure| {
        let cells = facet.lines.iter().flat_map(|(_, cells)| cells);
        let values = cells.filter_map(|(_, cell)| {
            let value = measure.value(cell)?;
            let (low, high) = measure.range(cell).unwrap_or((value, value));
            Some([low.min(value), high.max(value)])
        });
        values.reduce(|[low, high], [least, greatest]| [low.min(least), high.max(greatest)])
    };
    let panels = facets
        .iter()
        .flat_map(|facet| measures.clone().filter_map(move |measure| panel(facet, measure)));
    let panels: Vec<[f64; 2]> = panels.collect();
    let smallest = panels.iter().map(|[_, high]| *high).fold(f64::INFINITY, f64::min);
    let all = panels
        .iter()
        .copied()
        .reduce(|[low, high], [least, greatest]| [low.min(least), high.max(greatest)])?;
    (panels.len() > 1 && all[1] <= SAME_MAGNITUDE * smallest).then(|| all.map(rounded))
}

/// Measures in groups that are drawn together: all, if they are known of the same cells and their values would be
/// seen on one axis, else each alone.
fn alike(measures: Vec<Measure>, cells: &[Cell]) -> Vec<Vec<Measure>> {
    let same = cells.iter().all(|cell| {
        let known = measures.iter().filter(|measure| measure.value(cell).is_some()).count();
        known == 0 || known == measures.len()
    });
    let greatest = measures
        .iter()
        .map(|measure| cells.iter().filter_map(|cell| measure.value(cell)).fold(0.0, f64::max));
    let (least, most) = greatest.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), value| {
        (least.min(value), most.max(value))
    });
    if same && most <= SAME_MAGNITUDE * least {
        vec![measures]
    } else {
        measures.into_iter().map(|measure| vec![measure]).collect()
    }
}

/// The names of campaigns that are beside each other, with their targets where these differ, and with a number where
/// folders of the same name lie in different archives.
fn unique_names(pools: &[Pool<'_>]) -> Vec<String> {
    let target = |pool: &Pool<'_>| {
        let records = pool
            .campaigns()
            .iter()
            .filter_map(|campaign| campaign.record.as_ref().ok());
        let targets: IndexSet<&str> = records.map(|record| record.target.as_str()).collect();
        targets.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let targets: IndexSet<String> = pools.iter().map(target).collect();
    let mut names: Vec<String> = Vec::new();
    let called: Vec<String> = pools.iter().map(Pool::name).collect();
    let are_apart = called.iter().collect::<IndexSet<_>>().len() == called.len();
    let name_of = |pool: &Pool<'_>| match are_apart {
        true => pool.name(),
        false => pool.folders(),
    };
    for pool in pools {
        let name = name_of(pool);
        let same = pools[..names.len()]
            .iter()
            .filter(|other| name_of(other) == name)
            .count();
        let name = match same {
            0 => name,
            _ => format!("{name} ({})", same + 1),
        };
        names.push(match target(pool) {
            target if targets.len() > 1 && !target.is_empty() => format!("{name}, {target}"),
            _ => name,
        });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::campaign_tests::{Fate, campaign};

    #[test]
    fn campaigns_are_named_by_their_targets_where_these_differ() {
        let archives = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, mut other] = archives
            .each_ref()
            .map(|archive| campaign(archive.path(), "", |_| Fate::NotMade));
        let name = one.name();
        assert_eq!(
            unique_names(&[Pool::from(&one), Pool::from(&other)]),
            [name.clone(), format!("{name} (2)")]
        );
        other.record.as_mut().unwrap().target = "embedded:mariadb".to_owned();
        let target = one.record.as_ref().unwrap().target.clone();
        let first = if target.is_empty() {
            name.clone()
        } else {
            format!("{name}, {target}")
        };
        let names = [first, format!("{name} (2), embedded:mariadb")];
        assert_eq!(unique_names(&[Pool::from(&one), Pool::from(&other)]), names);
    }
}

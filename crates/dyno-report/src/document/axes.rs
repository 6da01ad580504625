//! The axes of figures that are to be compared: the same for all of one measure.

use super::metrics::SAME_MAGNITUDE;
use super::model::{Block, Figure, FigureData, Lane, Percentiles, Section};
use indexmap::IndexMap;

/// The least and the greatest value.
type Reach = [f64; 2];

/// Has several figures of percentiles the same axis, so that they can be compared.
pub(super) fn of_percentiles(figures: &mut [Figure]) {
    if figures.len() < 2 {
        return;
    }
    let mut drawn: Vec<&mut Percentiles> = figures
        .iter_mut()
        .filter_map(|figure| match &mut figure.data {
            FigureData::Percentiles(percentiles) => Some(percentiles),
            _ => None,
        })
        .collect();
    let latencies = drawn
        .iter()
        .flat_map(|one| &one.curves)
        .flat_map(|curve| &curve.latency_us);
    // Zero has no place on a logarithmic axis.
    let reach = reach_of(latencies.copied().filter(|us| *us > 0.0));
    drawn.iter_mut().for_each(|one| one.reach = reach);
}

/// Has the lanes of one measure the same axis in all `sections`, each of which is of one run.
pub(super) fn of_runs(sections: &mut [Section]) {
    of_lanes(sections.iter_mut().flat_map(|section| &mut section.blocks));
}

/// Has the lanes of one measure the same axis in all `blocks`, unless the values of some could then not be seen.
pub(super) fn of_lanes<'a>(blocks: impl Iterator<Item = &'a mut Block>) {
    let figures = blocks.filter_map(|block| match block {
        Block::Figure(Figure {
            data: FigureData::Timeline(timeline),
            ..
        }) => Some(timeline),
        _ => None,
    });
    let mut alike: IndexMap<_, Vec<&mut Lane>> = IndexMap::new();
    for lane in figures.flat_map(|timeline| &mut timeline.lanes) {
        // How high a stack is, its layers do not say.
        if !lane.stacked {
            alike.entry(measure(lane)).or_default().push(lane);
        }
    }
    for mut lanes in alike.into_values().filter(|lanes| lanes.len() > 1) {
        let reaches: Vec<Reach> = lanes.iter().filter_map(|lane| reach(lane)).collect();
        let size = |[low, high]: &Reach| low.abs().max(high.abs());
        let smallest = reaches.iter().map(size).fold(f64::INFINITY, f64::min);
        let greatest = reaches.iter().map(size).fold(0.0, f64::max);
        if lanes[0].log || greatest <= SAME_MAGNITUDE * smallest {
            let all = reach_of(reaches.into_iter().flatten());
            lanes.iter_mut().for_each(|lane| lane.reach = all);
        }
    }
}

/// What is on the axis of a lane. What has no unit is told by its name.
fn measure(lane: &Lane) -> (bool, String) {
    let name = if lane.unit.is_empty() { &lane.title } else { &lane.unit };
    (lane.log, name.clone())
}

fn reach(lane: &Lane) -> Option<Reach> {
    let series = lane.series.iter();
    let values = series.flat_map(|series| [&series.mean, &series.min, &series.max]);
    let known = values.flatten().copied().flatten();
    reach_of(known.filter(|value| !lane.log || *value > 0.0))
}

fn reach_of(values: impl Iterator<Item = f64>) -> Option<Reach> {
    let each = values.map(|value| [value, value]);
    each.reduce(|[low, high], [least, greatest]| [low.min(least), high.max(greatest)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::model::{Series, Timeline};

    fn lane(unit: &str, mean: &[f64]) -> Lane {
        Lane {
            unit: unit.to_owned(),
            log: unit == "µs",
            series: vec![Series {
                mean: mean.iter().copied().map(Some).collect(),
                ..Series::default()
            }],
            ..Lane::default()
        }
    }

    fn reaches(runs: &[&[Lane]]) -> Vec<Vec<Option<Reach>>> {
        let of_run = |lanes: &&[Lane]| Section {
            blocks: vec![Block::Figure(Figure {
                id: String::new(),
                title: String::new(),
                caption: String::new(),
                data: FigureData::Timeline(Timeline {
                    lanes: lanes.to_vec(),
                    ..Timeline::default()
                }),
                table: None,
            })],
            ..Section::default()
        };
        let mut sections: Vec<Section> = runs.iter().map(of_run).collect();
        of_runs(&mut sections);
        let lanes_of = |section: &Section| match &section.blocks[..] {
            [
                Block::Figure(Figure {
                    data: FigureData::Timeline(timeline),
                    ..
                }),
            ] => timeline.lanes.iter().map(|lane| lane.reach).collect(),
            _ => Vec::new(),
        };
        sections.iter().map(lanes_of).collect()
    }

    #[test]
    fn runs_share_the_axis_of_each_measure() {
        let found = reaches(&[
            &[lane("TPS", &[100.0, 120.0]), lane("µs", &[0.0, 50.0])],
            &[lane("TPS", &[900.0]), lane("µs", &[90_000.0])],
        ]);
        let wanted = vec![Some([100.0, 900.0]), Some([50.0, 90_000.0])];
        assert_eq!(found, [wanted.clone(), wanted]);
    }

    #[test]
    fn a_run_whose_line_would_lie_on_the_axis_has_its_own() {
        assert_eq!(
            reaches(&[&[lane("TPS", &[10.0])], &[lane("TPS", &[900.0])]]),
            [[None], [None]]
        );
    }

    #[test]
    fn a_single_run_and_other_units_have_none_to_share() {
        assert_eq!(
            reaches(&[&[lane("TPS", &[10.0])], &[lane("errors/s", &[9.0])]]),
            [[None], [None]]
        );
    }
}

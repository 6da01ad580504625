//! What changes in a figure from one second to the next, so that viewers who have it need not get all of it again.
//!
//! A change is found by comparing: whatever makes the figure need not know how it is sent.

use dyno_report::document::model::{Figure, FigureData, Lane, Mark, Series, Span, Timeline};
use serde::Serialize;

/// How a figure that a viewer has becomes the present one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(super) enum Change {
    /// By taking this one instead.
    Whole {
        /// The present figure.
        figure: Box<Figure>,
    },
    /// By adding to its timeline.
    Grown(Growth),
}

/// What is new in a timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Growth {
    /// The figure's.
    id: String,
    /// The present one.
    caption: String,
    /// The present one.
    end_s: f64,
    /// The series with new values, in no particular order.
    series: Vec<SeriesGrowth>,
    /// All spans of the present one: there are few.
    spans: Vec<Span>,
    /// How many marks stay.
    marks_kept: usize,
    /// The marks after them.
    marks: Vec<Mark>,
}

/// What is new in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SeriesGrowth {
    /// The lane's position.
    lane: usize,
    /// The series' position in the lane.
    series: usize,
    /// How many steps stay. The last one is often still open.
    kept: usize,
    /// The steps after them.
    mean: Vec<Option<f64>>,
    /// Theirs; empty where a step is a single value.
    min: Vec<Option<f64>>,
    /// Theirs; empty where a step is a single value.
    max: Vec<Option<f64>>,
}

/// How `old` becomes `new`; `None` if they are the same.
pub(super) fn change(old: &Figure, new: &Figure) -> Option<Change> {
    if old == new {
        return None;
    }
    let grown = match (&old.data, &new.data) {
        (FigureData::Timeline(before), FigureData::Timeline(now)) if (&old.id, &old.title) == (&new.id, &new.title) => {
            growth(before, now)
        }
        _ => None,
    };
    Some(match grown {
        Some(growth) => Change::Grown(Growth {
            id: new.id.clone(),
            caption: new.caption.clone(),
            ..growth
        }),
        None => Change::Whole {
            figure: Box::new(new.clone()),
        },
    })
}

/// What was added; `None` if more than that has changed.
fn growth(old: &Timeline, new: &Timeline) -> Option<Growth> {
    if (&old.group, old.start_s, old.lanes.len()) != (&new.group, new.start_s, new.lanes.len()) {
        return None;
    }
    let mut series = Vec::new();
    for (lane, (before, now)) in old.lanes.iter().zip(&new.lanes).enumerate() {
        if !same_axes(before, now) {
            return None;
        }
        for (index, (before, now)) in before.series.iter().zip(&now.series).enumerate() {
            if !same_steps(before, now) {
                return None;
            }
            series.extend(series_growth(before, now).map(|growth| SeriesGrowth {
                lane,
                series: index,
                ..growth
            }));
        }
    }
    let marks_kept = same(&old.marks, &new.marks);
    Some(Growth {
        id: String::new(),
        caption: String::new(),
        end_s: new.end_s,
        series,
        spans: new.spans.clone(),
        marks_kept,
        marks: new.marks[marks_kept..].to_vec(),
    })
}

fn same_axes(old: &Lane, new: &Lane) -> bool {
    let axes = |lane: &Lane| {
        (
            lane.id.clone(),
            lane.title.clone(),
            lane.unit.clone(),
            lane.log,
            lane.stacked,
        )
    };
    axes(old) == axes(new) && old.series.len() == new.series.len()
}

fn same_steps(old: &Series, new: &Series) -> bool {
    (&old.name, old.first_s, old.step_s) == (&new.name, new.first_s, new.step_s)
        && old.min.is_empty() == new.min.is_empty()
        && old.max.is_empty() == new.max.is_empty()
}

fn series_growth(old: &Series, new: &Series) -> Option<SeriesGrowth> {
    let same_bounds = |old: &[Option<f64>], new: &[Option<f64>]| match new {
        [] => usize::MAX,
        _ => same(old, new),
    };
    let kept = same(&old.mean, &new.mean)
        .min(same_bounds(&old.min, &new.min))
        .min(same_bounds(&old.max, &new.max));
    let from = |values: &[Option<f64>]| values.get(kept..).unwrap_or_default().to_vec();
    let changed = kept < new.mean.len() || kept < old.mean.len();
    changed.then(|| SeriesGrowth {
        lane: 0,
        series: 0,
        kept,
        mean: from(&new.mean),
        min: from(&new.min),
        max: from(&new.max),
    })
}

/// How many values in front are the same.
fn same<T: PartialEq>(old: &[T], new: &[T]) -> usize {
    old.iter().zip(new).take_while(|(old, new)| old == new).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_report::document::model::{MarkKind, SpanKind};
    use proptest::prelude::*;

    /// What a viewer does.
    fn apply(figure: &Figure, change: Change) -> Figure {
        let growth = match change {
            Change::Whole { figure } => return *figure,
            Change::Grown(growth) => growth,
        };
        let mut figure = figure.clone();
        figure.caption = growth.caption;
        let FigureData::Timeline(timeline) = &mut figure.data else {
            panic!("no timeline");
        };
        timeline.end_s = growth.end_s;
        timeline.spans = growth.spans;
        timeline.marks.truncate(growth.marks_kept);
        timeline.marks.extend(growth.marks);
        for grown in growth.series {
            let series = &mut timeline.lanes[grown.lane].series[grown.series];
            for (values, new) in [
                (&mut series.mean, grown.mean),
                (&mut series.min, grown.min),
                (&mut series.max, grown.max),
            ] {
                values.truncate(grown.kept);
                values.extend(new);
            }
        }
        figure
    }

    fn series(steps: usize, last: f64, bounds: bool) -> Series {
        let mut mean: Vec<_> = (0..steps).map(|step| Some(step as f64)).collect();
        if let Some(value) = mean.last_mut() {
            *value = Some(last);
        }
        let bounds = if bounds { mean.clone() } else { Vec::new() };
        Series {
            name: "update".to_owned(),
            first_s: 0.0,
            step_s: 1.0,
            min: bounds.clone(),
            max: bounds,
            mean,
            ..Series::default()
        }
    }

    fn figure(series: Vec<Series>, marks: usize, spans: usize) -> Figure {
        let mark = |number: usize| Mark {
            kind: MarkKind::Note,
            start_s: number as f64,
            end_s: None,
            label: String::new(),
        };
        let span = |number: usize| Span {
            kind: SpanKind::Dip,
            start_s: number as f64,
            end_s: number as f64 + 1.0,
            label: String::new(),
            weight: 100.0,
        };
        Figure {
            id: "throughput".to_owned(),
            title: "Throughput".to_owned(),
            caption: format!("{marks} marks"),
            data: FigureData::Timeline(Timeline {
                end_s: marks as f64,
                lanes: vec![Lane {
                    id: "tps".to_owned(),
                    series,
                    ..Lane::default()
                }],
                marks: (0..marks).map(mark).collect(),
                spans: (0..spans).map(span).collect(),
                ..Timeline::default()
            }),
            table: None,
        }
    }

    fn any_figure() -> impl Strategy<Value = Figure> {
        let series = (0..5_usize, 0..3_u8, any::<bool>())
            .prop_map(|(steps, last, bounds)| series(steps, f64::from(last), bounds));
        (prop::collection::vec(series, 0..3), 0..4_usize, 0..3_usize)
            .prop_map(|(series, marks, spans)| figure(series, marks, spans))
    }

    proptest! {
        #[test]
        fn a_viewer_who_applies_changes_has_the_present_figure(old in any_figure(), new in any_figure()) {
            match change(&old, &new) {
                None => prop_assert_eq!(old, new),
                Some(change) => prop_assert_eq!(apply(&old, change), new),
            }
        }
    }

    #[test]
    fn only_what_is_new_is_sent() {
        let old = figure(vec![series(1_000, 1.0, true)], 2, 0);
        let new = figure(vec![series(1_001, 7.0, true)], 3, 0);
        let Some(Change::Grown(growth)) = change(&old, &new) else {
            panic!("not grown");
        };
        assert_eq!(growth.series[0].kept, 999);
        assert_eq!(growth.series[0].mean, [Some(999.0), Some(7.0)]);
        assert_eq!((growth.marks_kept, growth.marks.len()), (2, 1));
        assert_eq!(change(&new, &new), None);
    }

    #[test]
    fn other_steps_need_the_whole_figure() {
        let old = figure(vec![series(10, 1.0, true)], 0, 0);
        let mut coarser = series(5, 1.0, true);
        coarser.step_s = 2.0;
        let new = figure(vec![coarser], 0, 0);
        assert!(matches!(change(&old, &new), Some(Change::Whole { .. })));
    }
}

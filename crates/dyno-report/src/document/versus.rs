//! The part of a report that says what variants measured in turn say about each other.

use super::axes;
use super::model::{
    Figure, FigureData, Lane, Mark, MarkKind, Role, Section, Series, Span, SpanKind, Table, Timeline, Value,
};
use super::parts::{figure, in_answer, paragraph, section, table};
use super::series::significant;
use super::table::{interval_end, percent_change, text, words};
use crate::answer::{change as signed, name, names};
use dyno_archive::{Block, Campaign, Versus, Way};

/// How the figures came about.
const HOW: &str = "All were up at the same time, and the load went to one or another in slices, in blocks of two for \
                   each whose order was drawn; the begin of each slice does not count. Each ratio is of slices next \
                   to each other. Its interval holds at 95 % whenever it is looked at, so measuring could end as \
                   soon as it was known what was asked.";

/// The same of those that worked at the same time.
const HOW_AT_ONCE: &str = "All had their load at the same time. Each ratio is of what two did in the same slices. Its \
                           interval holds at 95 % whenever it is looked at if ratios scatter around their middle in \
                           both directions alike, so measuring could end as soon as it was known what was asked.";

/// The same of those that had runs of their own.
const HOW_BY_RUNS: &str = "Each ratio is of runs next to each other, in blocks of two for each whose order was drawn. \
                           Its interval holds at 95 % whenever it is looked at, so measuring could end as soon as it \
                           was known what was asked.";

/// How the figures of this campaign came about.
fn how(campaign: &Campaign) -> &'static str {
    let turns = campaign.record.as_ref().ok().and_then(|record| record.turns.as_ref());
    match turns.map(|turns| &turns.way) {
        Some(Way::AtOnce) => HOW_AT_ONCE,
        Some(Way::ByRuns { .. }) => HOW_BY_RUNS,
        Some(Way::InSlices) | None => HOW,
    }
}

/// Every ratio of each variant.
pub(super) fn section_of(versus: &Versus, campaign: &Campaign) -> Section {
    let blocks = versus.blocks(&campaign.path);
    let each = versus.all().zip(2..).flat_map(|(one, variant)| {
        let names = names(one, campaign);
        let own = blocks.iter().filter(|block| block.variant == variant);
        let course = course(
            one,
            &own.collect::<Vec<_>>(),
            names.each_ref().map(String::as_str),
            variant,
        );
        figure(course).into_iter().chain(table(ratios(one, &names)))
    });
    let several = (!versus.further.is_empty()).then(|| paragraph(SEVERAL));
    let mut each: Vec<_> = each.collect();
    axes::of_lanes(each.iter_mut());
    let notes = versus.notes.iter().map(paragraph);
    let how = std::iter::once(paragraph(how(campaign))).chain(several);
    Section {
        sections: vec![section("versus-how", "How it was measured", how.collect())],
        ..in_answer(section("versus", "Verdict", each.into_iter().chain(notes).collect()))
    }
}

/// What intervals of several variants are.
const SEVERAL: &str = "Each variant is compared with the first. What decides has intervals so wide that all of them \
                       together hold at 95 %.";

fn ratios(versus: &Versus, [baseline, candidate]: &[String; 2]) -> Table {
    let change = |ratio: f64| Value::Number(((ratio - 1.0) * 1e4).round() / 100.0);
    let rows = versus.ratios.iter().map(|ratio| {
        let ends = [ratio.ratio, ratio.low, ratio.high].map(change);
        std::iter::once(words(name(ratio.measure))).chain(ends).collect()
    });
    let columns = vec![
        text("measure"),
        percent_change("change"),
        interval_end("at least", "%"),
        interval_end("at most", "%"),
    ];
    Table {
        caption: format!("{candidate} beside {baseline}"),
        columns,
        rows: rows.collect(),
    }
}

/// More points would not be seen.
const MOST_POINTS: usize = 600;

/// What was known after each block of what decides: the change in percent with its interval, beside no difference and
/// the least that matters. `None` as long as nothing is known.
fn course(versus: &Versus, blocks: &[&Block], [baseline, candidate]: [&str; 2], variant: usize) -> Option<Figure> {
    let first = blocks.iter().position(|block| block.known.is_some())?;
    let known = &blocks[first..];
    let each = known.len().div_ceil(MOST_POINTS);
    // The last block of each step, so that the last of all is always there.
    let mut shown: Vec<&Block> = known.rchunks(each).filter_map(|step| step.last().copied()).collect();
    shown.reverse();
    let end_s = shown.last()?.end_s;
    let step_s = versus.block_s * each as f64;
    let change = |ratio: f64| significant((ratio - 1.0) * 100.0);
    let of = |part: fn(dyno_archive::Ratio) -> f64| -> Vec<Option<f64>> {
        shown
            .iter()
            .map(|block| block.known.map(|known| change(part(known))))
            .collect()
    };
    // A point is drawn in the middle of its step, and stands for the end of a block.
    let begin_s = (end_s - versus.measured_s).max(0.0);
    let line = |name: String, first_s: f64, step_s: f64, mean: Vec<Option<f64>>| Series {
        name,
        first_s: first_s - step_s / 2.0,
        step_s,
        mean,
        ..Series::default()
    };
    let estimate = Series {
        role: Role::Knowledge,
        min: of(|known| known.low),
        max: of(|known| known.high),
        ..line(
            "change, with its interval at 95 %".to_owned(),
            end_s - step_s * (shown.len() - 1) as f64,
            step_s,
            of(|known| known.ratio),
        )
    };
    let level = |name: String, ratio: f64| Series {
        role: Role::Level,
        ..line(name, begin_s, end_s - begin_s, vec![Some(change(ratio)); 2])
    };
    let matters = [1.0 - versus.detect, 1.0 / (1.0 - versus.detect)];
    let matters = matters.map(|ratio| level(format!("{} %", signed(ratio)), ratio));
    let matters = matters.into_iter().filter(|_| versus.detect > 0.0);
    let measure = name(versus.measure);
    let lane = Lane {
        id: "change".to_owned(),
        title: format!("Change of {measure}"),
        unit: "%".to_owned(),
        series: [estimate, level("no difference".to_owned(), 1.0)]
            .into_iter()
            .chain(matters)
            .collect(),
        ..Lane::default()
    };
    Some(Figure {
        id: match variant {
            2 => "versus-course".to_owned(),
            variant => format!("versus-course-{variant}"),
        },
        title: format!("What was known of {candidate} beside {baseline}, over time"),
        caption: format!(
            "The change of {measure} from {baseline} to {candidate} as it was known after each block of slices, with \
             the interval in which it lies at 95 %. Measuring ends when the interval is on one side of no difference, \
             or between the two lines of the least difference that matters."
        ),
        table: None,
        data: FigureData::Timeline(Timeline {
            group: "versus".to_owned(),
            start_s: 0.0,
            end_s,
            lanes: vec![lane],
            spans: vec![Span {
                kind: SpanKind::Warmup,
                start_s: 0.0,
                end_s: begin_s,
                label: "warm-up".to_owned(),
                weight: 100.0,
            }],
            marks: blocks
                .iter()
                .filter(|block| !block.idle_busy.is_empty())
                .map(|block| disturbed(block))
                .collect(),
            names: Vec::new(),
        }),
    })
}

/// A block in which a server was busy whose turn it was not.
fn disturbed(block: &Block) -> Mark {
    Mark {
        kind: MarkKind::Note,
        start_s: block.end_s,
        end_s: None,
        label: format!("busy though at rest: {}", block.idle_busy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::{Measure, Ratio, Verdict};

    fn versus(blocks: usize) -> Versus {
        Versus {
            factor: "target".to_owned(),
            baseline: "14".to_owned(),
            candidate: "18".to_owned(),
            detect: 0.05,
            measure: Measure::Throughput,
            answer: Verdict::Unknown,
            ratios: Vec::new(),
            blocks,
            left_out: 0,
            more_blocks: None,
            block_s: 2.0,
            measured_s: 2.0 * blocks as f64,
            notes: Vec::new(),
            further: Vec::new(),
        }
    }

    /// After a warm-up of 10 s; the first four say nothing.
    fn blocks(count: usize) -> Vec<Block> {
        let ratio = |number: usize| Ratio {
            measure: Measure::Throughput,
            ratio: 1.1,
            low: 1.1 - 1.0 / number as f64,
            high: 1.1 + 1.0 / number as f64,
        };
        let block = |number: usize| Block {
            end_s: 10.0 + 2.0 * number as f64,
            variant: 2,
            candidate_outside: false,
            block_ratio: Some(1.1),
            each: None,
            known: (number > 4).then(|| ratio(number)),
            idle_busy: if number == 7 { "checkpointer" } else { "" }.to_owned(),
        };
        (1..=count).map(block).collect()
    }

    fn lane(blocks: &[Block]) -> Option<Lane> {
        let figure = course(&versus(blocks.len()), &blocks.iter().collect::<Vec<_>>(), ["A", "B"], 2)?;
        match figure.data {
            FigureData::Timeline(mut timeline) => timeline.lanes.pop(),
            _ => None,
        }
    }

    #[test]
    fn the_interval_is_drawn_beside_what_it_is_judged_by() {
        assert_eq!(lane(&blocks(4)), None);
        let lane = lane(&blocks(20)).expect("it is known");
        let names: Vec<&str> = lane.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(
            names,
            ["change, with its interval at 95 %", "no difference", "−5 %", "+5.3 %"]
        );
        let [estimate, none, ..] = &lane.series[..] else {
            panic!()
        };
        // The middle of the first step is the end of the fifth block.
        assert_eq!(
            (estimate.first_s, estimate.step_s, estimate.mean.len()),
            (19.0, 2.0, 16)
        );
        assert_eq!((estimate.min[0], estimate.max[0]), (Some(-10.0), Some(30.0)));
        assert_eq!((none.first_s, none.step_s, none.mean.len()), (-10.0, 40.0, 2));
    }

    #[test]
    fn a_long_one_has_no_more_points_than_can_be_seen() {
        let blocks = blocks(5_000);
        let lane = lane(&blocks).expect("it is known");
        let estimate = &lane.series[0];
        assert!(estimate.mean.len() <= MOST_POINTS, "{}", estimate.mean.len());
        let last = estimate.first_s + estimate.step_s * (estimate.mean.len() as f64 - 0.5);
        assert!((last - 10_010.0).abs() < 1e-6, "{last}");
    }
}

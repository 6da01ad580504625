//! The part of a report that says which of several factors matter.

use super::model::{BarSeries, Bars, Column, Detail, Figure, FigureData, Section, Table, Value};
use super::parts::{figure, in_answer, in_full, paragraph, section, table};
use super::table::{interval_end, number, percent_change, text, words};
use crate::answer::{by_size, change as signed, matters, name};
use crate::figures::one_line;
use dyno_archive::{Effect, Measure, Ratio, Screen, ScreenedFactor, ScreenedPair};

/// How the figures came about.
const HOW: &str = "Each variant was measured at the same time as its mirror image, in which every factor has its other \
                   value: the load went to one or the other in slices. Each pair was measured twice, the second time \
                   with sides exchanged. Which combinations make a variant is chosen so that each effect is estimated \
                   from all pairs (a Plackett-Burman design). What factors do together in twos cancels within a pair: \
                   effects are free of it, and it is not known. What three do together is, with more than four \
                   factors, mixed into effects. All intervals of a measure hold together at 95 %.";

/// The effects, and of the `sections` of a campaign those that do not compare its cells: cells of different pairs were
/// measured at different times.
pub(super) fn with_runs(screen: &Screen, sections: Vec<Section>) -> Vec<Section> {
    let kept = sections
        .into_iter()
        .filter(|section| matches!(section.id.as_str(), "runs" | "findings"));
    std::iter::once(section_of(screen)).chain(kept.map(in_full)).collect()
}

/// The effects, and each pair.
fn section_of(screen: &Screen) -> Section {
    let blocks = figure(chart(screen)).into_iter().chain(table(effects(screen)));
    let mut effects = in_answer(section("screen", "Factors", blocks.collect()));
    let pairs = in_full(section(
        "screen-pairs",
        "Pairs",
        table(pairs(screen)).into_iter().collect(),
    ));
    let how = section("screen-how", "How it was measured", vec![paragraph(HOW)]);
    effects.sections.extend([pairs, how]);
    effects
}

/// A ratio as a change in percent.
fn change(ratio: f64) -> f64 {
    ((ratio - 1.0) * 1e4).round() / 100.0
}

fn effects(screen: &Screen) -> Table {
    let others = || Measure::ALL.into_iter().filter(|measure| *measure != screen.measure);
    let full = |column: Column| Column {
        detail: Detail::Full,
        ..column
    };
    let mut columns = vec![
        text("factor"),
        text("from"),
        text("to"),
        percent_change(name(screen.measure)),
        interval_end("at least", "%"),
        interval_end("at most", "%"),
        text("matters"),
    ];
    for measure in others() {
        let name = name(measure);
        columns.push(percent_change(name));
        columns.push(full(percent_change(&format!("{name} at least"))));
        columns.push(full(percent_change(&format!("{name} at most"))));
    }
    let row = |effect: &&Effect| {
        let ends = |ratio: Ratio| [ratio.ratio, ratio.low, ratio.high].map(|end| Value::Number(change(end)));
        let factor = factor(screen, effect);
        let mut row = [&factor.name, &factor.first, &factor.second]
            .map(|word| words(one_line(word)))
            .to_vec();
        row.extend(ends(effect.ratio));
        row.push(words(if matters(effect) { "yes" } else { "not seen" }));
        for measure in others() {
            let other = screen.effects_of(measure).find(|other| other.factor == effect.factor);
            let nothing = || [const { Value::Nothing(()) }; 3];
            row.extend(other.map_or_else(nothing, |other| ends(other.ratio)));
        }
        row
    };
    Table {
        caption: "What the second value of each factor changes, beside the first".to_owned(),
        columns,
        rows: by_size(screen).iter().map(row).collect(),
    }
}

/// The factor of an effect.
fn factor(screen: &Screen, effect: &Effect) -> ScreenedFactor {
    screen.factor_of(effect).cloned().unwrap_or_else(|| ScreenedFactor {
        name: effect.factor.clone(),
        first: String::new(),
        second: String::new(),
    })
}

/// Each effect with its interval; `None` as long as nothing is known.
fn chart(screen: &Screen) -> Option<Figure> {
    let effects = by_size(screen);
    let first = effects.first()?;
    let of = |end: fn(Ratio) -> f64| effects.iter().map(|effect| Some(change(end(effect.ratio)))).collect();
    let category = |effect: &&Effect| {
        let factor = factor(screen, effect);
        one_line(&format!("{}: {} → {}", factor.name, factor.first, factor.second))
    };
    let measure = name(screen.measure);
    Some(Figure {
        id: "screen-effects".to_owned(),
        title: format!("What each factor changes of {measure}"),
        caption: format!(
            "Largest: {} % from {}. Whiskers are the intervals.",
            signed(first.ratio.ratio),
            category(first)
        ),
        table: None,
        data: FigureData::Bars(Bars {
            title: format!("Change of {measure}"),
            unit: "%".to_owned(),
            categories: effects.iter().map(category).collect(),
            series: vec![BarSeries {
                name: String::new(),
                values: of(|ratio| ratio.ratio),
                low: of(|ratio| ratio.low),
                high: of(|ratio| ratio.high),
            }],
            ..Bars::default()
        }),
    })
}

/// What each variant did beside its mirror image.
fn pairs(screen: &Screen) -> Table {
    let levels = screen.factors.iter().map(|factor| text(&factor.name));
    let columns = [number("pair", "")].into_iter().chain(levels).chain([
        percent_change(name(screen.measure)),
        number("blocks", ""),
        number("left out", ""),
    ]);
    let row = |pair: &ScreenedPair| {
        let ratio = pair.ratio(screen.measure);
        let levels = screen.factors.iter().map(|factor| {
            let level = pair.levels.get(&factor.name).map_or("", String::as_str);
            words(one_line(level))
        });
        [Value::Number(pair.row as f64)]
            .into_iter()
            .chain(levels)
            .chain([
                ratio.map_or(Value::Nothing(()), |ratio| Value::Number(change(ratio.log_ratio.exp()))),
                Value::Number(pair.blocks as f64),
                Value::Number(pair.left_out as f64),
            ])
            .collect()
    };
    Table {
        caption: "Each variant beside its mirror image, which has the other value of every factor".to_owned(),
        columns: columns.collect(),
        rows: screen.pairs.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::screen_tests::screen;
    use crate::document::model::{Block, Document};
    use crate::table::Page;
    use crate::terminal::text;

    #[test]
    fn effects_stand_by_size_in_table_and_chart() {
        let known = screen(&[("a", 1.02, 0.99, 1.05), ("b", 0.8, 0.76, 0.84)], 8);
        let section = section_of(&known);
        let Block::Figure(figure) = &section.blocks[0] else {
            panic!("{section:?}")
        };
        let FigureData::Bars(bars) = &figure.data else {
            panic!("{figure:?}")
        };
        assert_eq!(bars.categories, ["b: off → on", "a: off → on"]);
        assert_eq!(bars.series[0].low, [Some(-24.0), Some(-1.0)]);
        let document = Document {
            sections: vec![section],
            ..Document::default()
        };
        insta::assert_snapshot!(text(&document, Page::default()));
    }

    #[test]
    fn as_long_as_pairs_are_missing_there_are_no_effects() {
        let section = section_of(&screen(&[("a", 1.02, 0.99, 1.05), ("b", 0.8, 0.76, 0.84)], 3));
        assert_eq!(section.blocks.len(), 0, "{section:?}");
        assert_eq!(section.sections[0].blocks.len(), 1);
    }
}

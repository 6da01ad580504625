//! The part of a report that says what two variants measured in turn say about each other.

use super::model::{Section, Table, Value};
use super::parts::{paragraph, section, table};
use super::table::{number, text, words};
use crate::answer::{name, names};
use dyno_archive::{Campaign, Versus};

/// How the figures came about.
const HOW: &str = "Both were up at the same time, and the load went to one or the other in slices, in blocks of four \
                   whose order was drawn; the begin of each slice does not count. Each ratio is of slices next to each \
                   other. Its interval holds at 95 % whenever it is looked at, so measuring could end as soon as it \
                   was known what was asked.";

/// Every ratio.
pub(super) fn section_of(versus: &Versus, campaign: &Campaign) -> Section {
    let change = |ratio: f64| Value::Number(((ratio - 1.0) * 1e4).round() / 100.0);
    let rows = versus.ratios.iter().map(|ratio| {
        let ends = [ratio.ratio, ratio.low, ratio.high].map(change);
        std::iter::once(words(name(ratio.measure))).chain(ends).collect()
    });
    let columns = vec![
        text("measure"),
        number("change", "%"),
        number("at least", "%"),
        number("at most", "%"),
    ];
    let [baseline, candidate] = names(versus, campaign);
    let ratios = Table {
        caption: format!("{candidate} beside {baseline}"),
        columns,
        rows: rows.collect(),
    };
    let notes = versus.notes.iter().map(paragraph);
    let blocks = table(ratios).into_iter().chain(notes).chain([paragraph(HOW)]);
    section("versus", "Verdict", blocks.collect())
}

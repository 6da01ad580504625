//! The part of a report that says up to which load limits hold.

use super::model::{Figure, FigureData, Headline, Section, Sweep, SweepLine, SweepPanel, SweepPoint, Table, Value};
use super::parts::{figure, in_answer, paragraph, section, table};
use super::series::significant;
use super::table::{number, text, words};
use crate::capacity::{ascending, capacity as sentence, head};
use crate::figures::rounded;
use dyno_archive::{Capacity, CapacityAnswer, CapacityStep, LimitedMeasure, LoadDimension};

/// How the figures came about.
const HOW: &str = "The clients stayed connected while the load changed from step to step; the begin of each step does \
                   not count. A step ended as soon as it was known whether the limits hold, with a risk of about 2.5 % \
                   for each limit and step.";

/// The same of an answer with two ends.
const TWICE: &str = "What holds and what does not was tried twice.";

/// What latency is of an open loop.
const LATENCY: &str = "Latency counts from the instant at which a transaction should have begun, so it includes \
                       waiting for a free client.";

/// The answer.
pub(super) fn headline(known: &Capacity) -> Headline {
    Headline {
        verdict: sentence(known),
        ..Headline::default()
    }
}

/// The course of latency over the load, and what gave way.
pub(super) fn section_of(known: &Capacity) -> Section {
    let columns = vec![
        number(head(known), ""),
        text("limits"),
        number("throughput", "TPS"),
        number("mean latency", "ms"),
        number("p50", "ms"),
        number("p95", "ms"),
        number("p99", "ms"),
        number("p99.9", "ms"),
        number("errors", "%"),
    ];
    let rows = ascending(known).into_iter().map(|step| {
        let ms = [step.mean_us, step.p50_us, step.p95_us, step.p99_us, step.p999_us]
            .map(|us| Value::Number(significant(us / 1e3)));
        [
            Value::Number(significant(step.load)),
            words(step.verdict.word()),
            Value::Number(significant(step.tps)),
        ]
        .into_iter()
        .chain(ms)
        .chain([Value::Number(significant(step.errors * 100.0))])
        .collect()
    });
    let steps = Table {
        caption: "Every load that was tried, the lowest first".to_owned(),
        columns,
        rows: rows.collect(),
    };
    let latency = (known.over == LoadDimension::Rate).then(|| paragraph(LATENCY));
    let twice = (known.answer == CapacityAnswer::Found).then(|| paragraph(TWICE));
    let blocks = std::iter::once(paragraph(sentence(known)))
        .chain(known.gave_way.iter().map(paragraph))
        .chain(figure(course(known)))
        .chain(table(steps))
        .chain([paragraph(HOW)])
        .chain(twice)
        .chain(latency);
    in_answer(section("capacity", "Capacity", blocks.collect()))
}

/// Latency and throughput over the load, with the limits drawn in; `None` if nothing was measured.
fn course(known: &Capacity) -> Option<Figure> {
    let mut steps = ascending(known);
    // Of what was tried twice, the last time.
    steps.reverse();
    steps.dedup_by(|one, before| one.load == before.load);
    steps.reverse();
    let (first, last) = (steps.first()?.load, steps.last()?.load);
    let point = |level: f64, value: f64| SweepPoint {
        level: rounded(level),
        value: rounded(value),
        ..SweepPoint::default()
    };
    let line = |name: &str, of: &dyn Fn(&CapacityStep) -> f64| SweepLine {
        name: name.to_owned(),
        points: steps.iter().map(|step| point(step.load, of(step))).collect(),
        knee: None,
    };
    let limits = known
        .limits
        .iter()
        .filter(|limit| limit.measure != LimitedMeasure::Errors);
    let limits = limits.map(|limit| SweepLine {
        name: format!("limit: {limit}"),
        points: [first, last].map(|load| point(load, limit.below / 1e3)).to_vec(),
        knee: None,
    });
    let latency = [
        line("p50", &|step| step.p50_us / 1e3),
        line("p95", &|step| step.p95_us / 1e3),
        line("p99", &|step| step.p99_us / 1e3),
    ];
    let panel = |title: &str, unit: &str, log: bool, lines: Vec<SweepLine>| SweepPanel {
        title: title.to_owned(),
        unit: unit.to_owned(),
        log,
        lines,
        ..SweepPanel::default()
    };
    Some(Figure {
        id: "capacity-course".to_owned(),
        title: format!("Latency and throughput over {}", head(known)),
        caption: sentence(known),
        table: None,
        data: FigureData::Sweep(Sweep {
            factor: head(known).to_owned(),
            log: first > 0.0 && last >= 20.0 * first,
            panels: vec![
                panel("Latency", "ms", true, latency.into_iter().chain(limits).collect()),
                panel("Throughput", "TPS", false, vec![line("throughput", &|step| step.tps)]),
            ],
        }),
    })
}

//! The part of a report that says up to which load limits hold.

use super::model::{Figure, FigureData, Section, Sweep, SweepLine, SweepPanel, SweepPoint, Table};
use super::parts::{figure, in_answer, paragraph, section, table};
use super::table::{latency, ms, number, text, value, words};
use crate::capacity::{ascending, head};
use crate::figures::rounded;
use dyno_archive::{Capacity, CapacityAnswer, CapacityStep, LimitedMeasure, LoadDimension, StepVerdict};

/// How the figures came about.
const HOW: &str = "The clients stayed connected while the load changed from step to step; the begin of each step does \
                   not count. A step ended as soon as it was known whether the limits hold, with a risk of about 2.5 % \
                   for each limit and step.";

/// The same of an answer with two ends.
const TWICE: &str = "What holds and what does not was tried twice.";

/// What latency is of an open loop.
const LATENCY: &str = "Latency counts from the instant at which a transaction should have begun, so it includes \
                       waiting for a free client.";

/// The course of latency over the load, and what gave way.
pub(super) fn section_of(known: &Capacity) -> Section {
    let columns = vec![
        number(head(known), ""),
        text("limits"),
        number("throughput", "TPS"),
        latency("mean latency"),
        latency("p50"),
        latency("p95"),
        latency("p99"),
        latency("p99.9"),
        number("errors", "%"),
    ];
    let rows = ascending(known).into_iter().map(|step| {
        let latencies = [step.mean_us, step.p50_us, step.p95_us, step.p99_us, step.p999_us];
        [value(step.load), words(step.verdict.word()), value(step.tps)]
            .into_iter()
            .chain(latencies.map(ms))
            .chain([value(step.errors * 100.0)])
            .collect()
    });
    let steps = Table {
        caption: "Every load that was tried, the lowest first".to_owned(),
        columns,
        rows: rows.collect(),
    };
    let from_when = (known.over == LoadDimension::Rate).then(|| paragraph(LATENCY));
    let twice = (known.answer == CapacityAnswer::Found).then(|| paragraph(TWICE));
    let gave_way = known.gave_way.iter().map(paragraph);
    let blocks = gave_way
        .chain(figure(course(known)))
        .chain(table(steps))
        .chain([paragraph(HOW)])
        .chain(twice)
        .chain(from_when);
    in_answer(section("capacity", "Capacity", blocks.collect()))
}

/// A figure of a step.
type Of = fn(&CapacityStep) -> f64;

/// Latency and throughput over the load, with the limits drawn in; `None` if nothing was measured.
fn course(known: &Capacity) -> Option<Figure> {
    let steps = ascending(known);
    let (first, last) = (steps.first()?.load, steps.last()?.load);
    let point = |level: f64, value: f64| SweepPoint {
        level: rounded(level),
        value: rounded(value),
        ..SweepPoint::default()
    };
    let line_of = |name: &str, steps: &[&CapacityStep], of: Of| SweepLine {
        name: name.to_owned(),
        points: steps.iter().map(|step| point(step.load, of(step))).collect(),
        knee: None,
    };
    let line = |name: &str, of: Of| line_of(name, &steps, of);
    // What is limited shows of each try what came of it.
    let by_verdict = |name: &str, of: Of| -> Vec<SweepLine> {
        let verdicts = [StepVerdict::Holds, StepVerdict::Unsure, StepVerdict::Fails];
        let lines = verdicts.map(|verdict| {
            let own: Vec<&CapacityStep> = steps.iter().copied().filter(|step| step.verdict == verdict).collect();
            line_of(&format!("{name}, {}", verdict.word()), &own, of)
        });
        lines.into_iter().filter(|line| !line.points.is_empty()).collect()
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
    let percentiles: [(&str, Of); 3] = [
        ("p50", |step| step.p50_us / 1e3),
        ("p95", |step| step.p95_us / 1e3),
        ("p99", |step| step.p99_us / 1e3),
    ];
    let limited = |name: &str| known.limits.iter().any(|limit| limit.measure.to_string() == name);
    let latency = percentiles.into_iter().flat_map(|(name, of)| match limited(name) {
        true => by_verdict(name, of),
        false => vec![line(name, of)],
    });
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
        caption: "Every try of a load is a point: what was tried twice has two. Tries with the same verdict have \
                  a line of what is limited, and of the throughput."
            .to_owned(),
        table: None,
        data: FigureData::Sweep(Sweep {
            factor: head(known).to_owned(),
            log: first > 0.0 && last >= 20.0 * first,
            panels: vec![
                panel("Latency", "ms", true, latency.chain(limits).collect()),
                panel("Throughput", "TPS", false, by_verdict("throughput", |step| step.tps)),
            ],
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tests::{known, step};

    #[test]
    fn every_try_is_a_point_and_the_answer_stands_elsewhere() {
        let mut known = known(CapacityAnswer::Found, LoadDimension::Rate, Some(8_000.0), Some(8_500.0));
        known.steps.push(step(8_500.0, StepVerdict::Fails, 9_000.0));
        known.steps.push(step(11_126.0, StepVerdict::Holds, 1_000.0));
        let FigureData::Sweep(sweep) = course(&known).unwrap().data else {
            panic!()
        };
        let named = |name: &str| {
            let lines = sweep.panels.iter().flat_map(|panel| &panel.lines);
            let points = lines
                .filter(|line| line.name.starts_with(name))
                .flat_map(|line| &line.points);
            points.map(|point| point.level).collect::<Vec<_>>()
        };
        assert_eq!(named("p50"), [8_000.0, 8_500.0, 8_500.0, 9_000.0, 11_126.0]);
        assert_eq!(named("p99, holds"), [8_000.0, 11_126.0]);
        assert_eq!(named("p99, unsure"), [8_500.0]);
        assert_eq!(named("throughput, fails"), [8_500.0, 9_000.0]);
        let section = serde_json::to_string(&section_of(&known)).unwrap();
        assert!(!section.contains("no longer at"), "{section}");
        // The table has the load as the chart has it.
        assert!(section.contains("11126"), "{section}");
    }
}

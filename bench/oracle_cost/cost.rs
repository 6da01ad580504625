//! CPU, parses and messages per select.

use crate::programs::{Program, Programs};
use crate::running::{Running, Slice};
use crate::standin::StandIn;
use dyno_bench::{Result, Spread, in_rotation};
use serde_json::{Value, json};
use std::fmt::Write;
use std::thread::sleep;
use std::time::Duration;

/// dyno may cost this part of the cheapest of the others.
const GOAL: f64 = 1.0 / 3.0;

const HEAD: &str = "| connections | program | CPU µs/select | dyno's part of it | user µs/select | dyno's part of \
                    it | selects/s | stand-in's CPU µs/select | stand-in's core busy % | messages/select | \
                    parses/1000 selects |\n|---|---|---|---|---|---|---|---|---|---|---|\n";

/// Measures all programs with each number of connections.
pub fn measure(
    programs: &Programs,
    standin: &mut StandIn,
    connections: &[usize],
    rounds: usize,
    slice: Duration,
    text: &mut String,
) -> Result<Value> {
    print!("{HEAD}");
    text.push_str(HEAD);
    let mut results = Vec::new();
    let mut said = String::new();
    for &connections in connections {
        let measured = with(programs, standin, connections, rounds, slice)?;
        let dyno = measured.iter().find(|(program, _)| *program == Program::Dyno);
        let dyno = dyno.map_or(&[][..], |(_, slices)| slices);
        let mut cheapest: Option<(Program, Spread, f64)> = None;
        for (program, slices) in &measured {
            let spread = |figure: fn(&Slice) -> f64| Spread::of(slices.iter().map(figure));
            let cpu_us = spread(|slice| slice.cpu_us);
            let part = |figure: fn(&Slice) -> f64| {
                Spread::of(
                    dyno.iter()
                        .zip(slices)
                        .map(|(dyno, other)| figure(dyno) / figure(other)),
                )
            };
            let (cpu_part, user_part) = (part(|slice| slice.cpu_us), part(|slice| slice.user_us));
            let of_others = |part: Spread| match program {
                Program::Dyno => "–".to_owned(),
                _ => part.to_string(),
            };
            let row = format!(
                "| {connections} | {} | {cpu_us} | {} | {} | {} | {} | {:.2} | {:.0} | {:.2} | {:.2} |\n",
                program.name(),
                of_others(cpu_part),
                spread(|slice| slice.user_us),
                of_others(user_part),
                spread(|slice| slice.selects_per_s),
                spread(|slice| slice.standin_us).median,
                100.0 * spread(|slice| slice.standin_busy).median,
                spread(|slice| slice.round_trips).median,
                1000.0 * spread(|slice| slice.parses).median,
            );
            print!("{row}");
            text.push_str(&row);
            if *program != Program::Dyno && cheapest.is_none_or(|(_, _, least)| cpu_us.median < least) {
                cheapest = Some((*program, cpu_part, cpu_us.median));
            }
            results.push(json!({
                "connections": connections, "program": program.name(), "cpu_us": cpu_us, "dyno_part": cpu_part,
                "dyno_part_of_user": user_part,
                "slices": slices,
            }));
        }
        if let Some((program, part, _)) = cheapest {
            let verdict = if part.median <= GOAL { "reached" } else { "not reached" };
            writeln!(
                said,
                "* {connections} connections: the cheapest of the others is {}, of which dyno costs {part}; a third \
                 is the goal: {verdict}.",
                program.name()
            )?;
        }
    }
    print!("\n{said}");
    write!(text, "\n{said}")?;
    Ok(json!(results))
}

/// All programs with a number of connections, round by round.
fn with(
    programs: &Programs,
    standin: &mut StandIn,
    connections: usize,
    rounds: usize,
    slice: Duration,
) -> Result<Vec<(Program, Vec<Slice>)>> {
    let logs = tempfile::tempdir()?;
    let mut running = Vec::new();
    for (program, _) in &programs.there {
        let log = logs.path().join(program.name());
        let started = Running::start(programs, *program, connections, standin, &log)?;
        sleep(program.warm_up());
        started.stop()?;
        running.push(started);
    }
    let slices = in_rotation(rounds, running.len(), |side| running[side].slice(standin, slice))?;
    let names = programs.there.iter().map(|(program, _)| *program);
    Ok(names.zip(slices).collect())
}

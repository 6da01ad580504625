//! Events per second when the server costs next to nothing: point selects from dyno's instant responder, which speaks
//! PostgreSQL's protocol.

use crate::programs::{ALIKE, Program, Programs};
use crate::{Choice, Found};
use dyno_bench::{Client, Cost, Result, Spread, in_rotation};
use dyno_ceiling::Responder;
use serde_json::{Value, json};

const WORKLOAD: &str = "oltp_point_select";
const CONNECTIONS: usize = 256;

/// Events per second, of sysbench's, that dyno is to reach by issue 16.
const GOAL: f64 = 3.0;

const HEAD: &str = "| program | connections | events/s | of sysbench's | events per second of the client's CPU | of \
                    sysbench's | goal | reached |\n|---|---|---|---|---|---|---|---|\n";

/// Measures them.
///
/// # Errors
/// The responder cannot be started.
pub fn measure(found: &mut Found, programs: &Programs<'_>, choice: &Choice) -> Result<()> {
    found.say(&format!(
        "\n## Events per second from an instant responder, {WORKLOAD}\n\n{HEAD}"
    ));
    // As many as `dyno sysbench` has: what is measured must be the client's limit, not the responder's.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let responder = Responder::start(programs.dyno, &["responder".to_owned(), format!("--threads={threads}")])?;
    let client = Client {
        clients: CONNECTIONS,
        threads: 1,
        tcp: false,
        seconds: choice.seconds,
    };
    let measured = in_rotation(choice.rounds, ALIKE.len(), |side| {
        programs.run(ALIKE[side], WORKLOAD, &responder, client)
    });
    found.add("responder", measured.map(|measured| told(&measured)));
    Ok(())
}

fn told(measured: &[Vec<Cost>]) -> (String, Value) {
    let mut rows = String::new();
    let mut results = Vec::new();
    for (program, runs) in ALIKE.iter().zip(measured) {
        let spread = |figure: fn(&Cost) -> f64| Spread::of(runs.iter().map(figure));
        let ratio = |figure: fn(&Cost) -> f64| {
            let pairs = runs.iter().zip(measured.iter().take(1).flatten());
            Spread::of(pairs.map(|(dyno, peer)| figure(dyno) / figure(peer)))
        };
        let per_core = |cost: &Cost| 1e6 / cost.cpu_us();
        let rate = ratio(|cost| cost.tps);
        let (goal, reached) = match *program == Program::Sysbench {
            true => ("–".to_owned(), "–"),
            false => (format!("{GOAL:.1}"), if rate.median >= GOAL { "yes" } else { "no" }),
        };
        rows += &format!(
            "| {} | {CONNECTIONS} | {} | {rate} | {} | {} | {goal} | {reached} |\n",
            program.name(),
            spread(|cost| cost.tps),
            spread(per_core),
            ratio(per_core),
        );
        results.push(json!({ "program": program.name(), "rate_of_sysbench": rate, "runs": runs }));
    }
    let result = json!({
        "part": "responder", "workload": WORKLOAD, "connections": CONNECTIONS, "goal": GOAL, "programs": results,
    });
    (rows, result)
}

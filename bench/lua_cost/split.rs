//! Where the CPU of `dyno sysbench` goes: Lua, protocol, or kernel.
//!
//! The same statements are also executed by `dyno run` from a script in its own language, which is compiled and has no
//! Lua. What both need in user space is the protocol and the engine; what `dyno sysbench` needs beyond it is what Lua
//! costs, waiting for memory included, which the states of many clients take up in the caches. What the kernel needs
//! is system time. Beside it stand events that do nothing, and those that make their statements but execute none:
//! they come back to the same client at once, so their states stay in the caches.
//!
//! oltp_read_write is not split: dyno's own language does not make random texts.

use crate::programs::{Program, Programs};
use crate::{Choice, Found};
use dyno_bench::{Client, Cost, Result, Server, Spread, in_rotation, run_experiment};
use serde_json::{Value, json};

/// The workloads, and the experiments that do the same.
const WORKLOADS: [(&str, &str); 2] = [
    ("oltp_point_select", "point-select.toml"),
    ("oltp_read_only", "read-only.toml"),
];

const HEAD: &str = "| server | workload | connections | CPU µs/event | Lua | protocol and engine | kernel | start and \
                    end | Lua: empty event | Lua: making statements |\n|---|---|---|---|---|---|---|---|---|---|\n";

/// What a round found, in microseconds per event.
struct Parts {
    all: f64,
    lua: f64,
    protocol: f64,
    kernel: f64,
    start: f64,
    empty: f64,
    making: f64,
}

impl Parts {
    fn of(own: &Cost, start: (f64, f64), compiled: &Cost, empty: &Cost, unexecuted: &Cost) -> Self {
        let start = (start.0 / own.transactions, start.1 / own.transactions);
        Self {
            all: own.cpu_us(),
            lua: own.user_us - start.0 - compiled.user_us,
            protocol: compiled.user_us,
            kernel: own.system_us - start.1,
            start: start.0 + start.1,
            empty: empty.user_us,
            making: unexecuted.user_us - empty.user_us,
        }
    }
}

/// What is run in turn.
#[derive(Clone, Copy)]
enum Side {
    Own,
    Start,
    Compiled,
    Empty,
    Unexecuted,
}

const SIDES: [Side; 5] = [Side::Own, Side::Start, Side::Compiled, Side::Empty, Side::Unexecuted];

/// Measures it on a server.
pub fn measure(found: &mut Found, programs: &Programs<'_>, name: &str, server: &dyn Server, choice: &Choice) {
    found.say(&format!(
        "\n## Where the CPU goes, dyno with its own scripts, {name}\n\n{HEAD}"
    ));
    for (workload, experiment) in WORKLOADS {
        for &clients in &choice.split_connections {
            let client = Client {
                clients,
                // As many as `dyno sysbench` has.
                threads: std::thread::available_parallelism().map_or(1, usize::from).min(clients),
                tcp: false,
                seconds: choice.seconds,
            };
            let measured = in_rotation(choice.rounds, SIDES.len(), |side| {
                let run = |program| programs.run(program, workload, server, client);
                match SIDES[side] {
                    Side::Own => run(Program::Own),
                    Side::Start => {
                        programs
                            .start(Program::Own, workload, server, client)
                            .map(|(user_us, system_us)| Cost {
                                transactions: 1.0,
                                tps: 0.0,
                                user_us,
                                system_us,
                            })
                    }
                    Side::Compiled => run_experiment(programs.dyno, server, client, experiment, &["--no-sampling"]),
                    Side::Empty => run(Program::Empty),
                    Side::Unexecuted => run(Program::Unexecuted),
                }
            });
            let case = format!("{name} split {workload} {clients}");
            let measured = measured.and_then(|measured| told(name, workload, client, &measured));
            found.add(&case, measured);
        }
    }
}

fn told(name: &str, workload: &str, client: Client, measured: &[Vec<Cost>]) -> Result<(String, Value)> {
    let [own, start, compiled, empty, unexecuted] = measured else {
        return Err("not everything was measured".into());
    };
    let rounds: Vec<Parts> = (0..own.len())
        .map(|round| {
            let start = (start[round].user_us, start[round].system_us);
            Parts::of(&own[round], start, &compiled[round], &empty[round], &unexecuted[round])
        })
        .collect();
    let spread = |part: fn(&Parts) -> f64| Spread::of(rounds.iter().map(part));
    let parts = [
        spread(|parts| parts.all),
        spread(|parts| parts.lua),
        spread(|parts| parts.protocol),
        spread(|parts| parts.kernel),
        spread(|parts| parts.start),
        spread(|parts| parts.empty),
        spread(|parts| parts.making),
    ];
    let cells = parts.map(|part| format!("{part:.2}"));
    let row = format!("| {name} | {workload} | {} | {} |\n", client.clients, cells.join(" | "));
    let [all, lua, protocol, kernel, start_and_end, empty_event, making] = parts;
    let result = json!({
        "part": "split", "server": name, "workload": workload, "connections": client.clients, "cpu_us": all,
        "lua_us": lua, "protocol_us": protocol, "kernel_us": kernel, "start_us": start_and_end,
        "empty_event_us": empty_event, "making_us": making, "runs": {
            "own": own, "start": start, "compiled": compiled, "empty": empty, "unexecuted": unexecuted,
        },
    });
    Ok((row, result))
}

//! From an experiment's workloads to the plan of a load.

use super::RunError;
use super::target::lexis;
use crate::lua::loadable;
use dyno_archive::plan::{Driver, Protocol, Resolved, Span, Value, Workload, padded};
use dyno_engine::{Load, Pacing, Phase, Preparing, Stop, ThreadOptions};
use dyno_load::{Access, Given, LoadError, LoadPlan, ScriptText, Scripts, Server, Work};
use dyno_lua::Dialect;
use dyno_script::{Defined, Lexis, ScriptError};
use dyno_target::target::Reach;
use std::time::Duration;

/// Variables that every script has.
const AUTOMATIC: [&str; 3] = ["client_id", "default_seed", "random_seed"];

/// What the clients of each workload execute. `seed` fixes every random number of the run, and `lexis` says by which
/// rules the scripts for a server of this name are read. `stop` ends the looking at a script that computes without end.
///
/// # Errors
/// A script cannot be used.
pub(super) fn scripts(
    experiment: &Resolved,
    seed: u64,
    lexis: impl Fn(&str) -> Lexis,
    stop: &Stop,
) -> Result<Vec<Work>, RunError> {
    let each = experiment.workloads.iter().enumerate();
    each.map(|(index, workload)| {
        // Workloads that run side by side draw from states of their own.
        let seed = seed.wrapping_add(index as u64);
        let lexis = lexis(experiment.server_of(workload));
        if let Some(script) = workload.scripts.lua() {
            let prepares = workload.protocol != Protocol::Simple;
            let script = loadable(script, dialect(lexis), seed, prepares, stop).map_err(LoadError::from)?;
            return Ok(Work::Lua(Box::new(script)));
        }
        let texts = workload.scripts.iter().map(|(script, weight)| ScriptText {
            name: script.script_name.clone(),
            text: padded(&script.script, script.script_offset).into_bytes(),
            weight,
        });
        let parameters = experiment.parameters.iter();
        let scripts = Scripts {
            scripts: texts.collect(),
            lexis,
            variables: parameters
                .map(|(name, value)| Given::new(name, script_value(value)))
                .collect(),
            seed,
            protocol: wire_protocol(workload.protocol),
        };
        check(&scripts)?;
        Ok(scripts.into())
    })
    .collect()
}

/// Makes sure that scripts can be used by the rules of their database, as long as no server has said which of them it
/// goes by.
///
/// # Errors
/// A script cannot be used by the usual rules, nor by others.
pub(super) fn rehearse(
    experiment: &Resolved,
    seed: u64,
    usual: impl Fn(&str) -> Lexis,
    stop: &Stop,
) -> Result<(), RunError> {
    let Err(error) = scripts(experiment, seed, &usual, stop) else {
        return Ok(());
    };
    let other = |server: &str| usual(server).alternative().unwrap_or_else(|| usual(server));
    match scripts(experiment, seed, other, stop) {
        Ok(_) => Ok(()),
        Err(_) => Err(error),
    }
}

/// Makes sure that nothing is wrong with the script that makes the data, if one does.
///
/// # Errors
/// It cannot be used.
pub(super) fn check_prepare(experiment: &Resolved, stop: &Stop) -> Result<(), RunError> {
    let prepare = experiment.data.prepare.iter();
    let mut checked = prepare.map(|prepare| loadable(&prepare.script, dialect(lexis(experiment)), 1, true, stop));
    checked.try_for_each(|checked| Ok(checked.map(drop).map_err(LoadError::from)?))
}

/// What scripts in Lua are told of the database.
fn dialect(lexis: Lexis) -> Dialect {
    match lexis {
        Lexis::Mysql | Lexis::MysqlNoEscapes => Dialect::Mysql,
        // There is no such script for Oracle: one is refused when the load is made.
        Lexis::Psql | Lexis::Oracle => Dialect::Postgres,
    }
}

/// Makes sure that nothing is wrong with scripts that can be seen before they are executed.
fn check(scripts: &Scripts) -> Result<(), ScriptError> {
    let parsed = scripts.parse()?;
    let parameterized = scripts.protocol != dyno_wire::Protocol::Simple;
    for (script, _) in &parsed.scripts {
        script.check_names()?;
        if parameterized {
            script.check_parameters()?;
        }
    }
    let names = scripts.variables.iter().map(|given| given.name.as_str());
    let mut defined = Defined::new(names.chain(AUTOMATIC), &parsed.symbols);
    parsed.scripts.iter().for_each(|(script, _)| defined.add(script));
    for (script, _) in &parsed.scripts {
        script.check_defined(&defined, &parsed.symbols, parameterized)?;
    }
    Ok(())
}

/// How clients reach a server by this driver.
pub(super) fn server(reach: Reach<'_>, driver: Driver) -> Server {
    match (driver, reach) {
        (Driver::Oracledb, Reach::Oracle(info)) => Server::OracleByCrate(Box::new(info.clone())),
        (_, reach) => reach.into(),
    }
}

/// The whole load, with what [`scripts`] gave; `servers` says how clients reach the server of each workload.
pub(super) fn plan(experiment: &Resolved, scripts: Vec<Work>, servers: &[Server], threads: ThreadOptions) -> LoadPlan {
    let workloads = experiment.workloads.iter().zip(scripts).zip(servers);
    let workloads = workloads.map(|((workload, scripts), server)| {
        let access = Access {
            server: server.clone(),
            preparing: Preparing::AtStart,
        };
        dyno_engine::Workload {
            threads: workload.threads,
            pacing: match workload.rate_per_s {
                None => Pacing::Closed,
                Some(rate_per_s) => Pacing::Open { rate_per_s },
            },
            start_delay: start_delay(experiment, workload),
            stages_begin: experiment.warmup,
            stages: stages(experiment, workload),
            transactions_per_client: workload.transactions_per_client,
            ..dyno_engine::Workload::new(&workload.name, workload.clients, access, scripts)
        }
    });
    let phases = experiment.phases().into_iter();
    let phases = phases.map(|phase| {
        let number = |work: &Workload| {
            experiment
                .workloads
                .iter()
                .position(|workload| workload.name == work.name)
        };
        let until = experiment.work_of(&phase.name).filter_map(number).collect();
        let lasts = phase.duration.or(experiment.limit_of(&phase.name));
        Phase::new(&phase.name, lasts.unwrap_or(Duration::MAX)).until(until)
    });
    Load {
        interval: experiment.interval,
        grace: experiment.grace,
        threads,
        ..Load::new(workloads.collect(), phases.collect())
    }
}

/// When the clients of a workload begin. Those that have a number of transactions have none of them in the warm-up.
fn start_delay(experiment: &Resolved, workload: &Workload) -> Duration {
    match workload.transactions_per_client {
        Some(_) => workload.start_delay.max(experiment.warmup),
        None => workload.start_delay,
    }
}

/// What `workload` does in each stage.
fn stages(experiment: &Resolved, workload: &Workload) -> Vec<dyno_engine::Stage> {
    let all = workload.clients as f64;
    let span = |span: Span| dyno_engine::Span {
        from: span.from,
        to: span.to,
    };
    let each = experiment.stages.iter().map(|stage| {
        let takes_part = stage.has(&workload.name);
        let clients = stage.clients.map(|clients| Span {
            from: clients.from.min(all),
            to: clients.to.min(all),
        });
        let none = Span { from: 0.0, to: 0.0 };
        dyno_engine::Stage {
            duration: stage.lasts.or(stage.limit).unwrap_or(Duration::MAX),
            clients: if takes_part { clients } else { Some(none) }.map(span),
            rate_per_s: stage.rate.map(span),
        }
    });
    each.collect()
}

fn wire_protocol(protocol: Protocol) -> dyno_wire::Protocol {
    match protocol {
        Protocol::Simple => dyno_wire::Protocol::Simple,
        Protocol::Extended => dyno_wire::Protocol::Extended,
        Protocol::Prepared => dyno_wire::Protocol::Prepared,
    }
}

fn script_value(value: &Value) -> dyno_script::Value {
    match value {
        Value::Integer(number) => dyno_script::Value::Int(*number),
        Value::Float(number) => dyno_script::Value::Double(*number),
        Value::Text(text) => dyno_script::Value::from(text.as_str()),
    }
}

//! From an experiment's workloads to what the load engine drives.

use super::connector::Connector;
use super::error::RunError;
use super::mysql::MysqlConnector;
use dyno_archive::plan::{Protocol, Resolved, Span, Value, Workload, padded};
use dyno_engine::{
    Connecting, DriveError, Endpoint, FailurePolicy, Load, NewSession, Observer, Outcome, Phase, Preparing, Program,
    Stop, ThreadOptions, WireDriver, drive,
};
use dyno_script::{Defined, Script, ScriptError, ScriptProgram, ScriptSet, Seeds, Symbols, Variables};
use dyno_target::target::{Database, Reach, TargetError};
use dyno_wire::{Session, WireError};
use std::sync::Arc;
use std::time::Duration;

/// How long clients may take to finish their last transaction.
const GRACE: Duration = Duration::from_secs(10);

/// Variables that every script has.
const AUTOMATIC: [&str; 3] = ["client_id", "default_seed", "random_seed"];

/// A workload whose script is parsed, before there is a server.
pub(super) struct Compiled {
    workload: Workload,
    program: ScriptProgram,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// It does not follow the language.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A statement cannot be sent.
    #[error(transparent)]
    Statement(#[from] WireError),
}

/// Parses all scripts. `seed` fixes every random number of the run.
pub(super) fn compile(experiment: &Resolved, seed: u64) -> Result<Vec<Compiled>, CompileError> {
    let each = experiment.workloads.iter().enumerate();
    each.map(|(index, workload)| {
        // Workloads that run side by side draw from states of their own.
        let seed = seed.wrapping_add(index as u64);
        let seeds = Seeds::draw(seed, workload.clients, workload.threads, false);
        let mut symbols = Symbols::new();
        let protocol = wire_protocol(workload.protocol);
        let mut scripts = Vec::new();
        for (script, weight) in workload.scripts.iter() {
            let text = padded(&script.script, script.script_offset);
            let script = Script::parse(&script.script_name, &text, &mut symbols)?;
            script.check_names()?;
            if protocol != dyno_wire::Protocol::Simple {
                script.check_parameters()?;
            }
            scripts.push((Arc::new(script), weight));
        }
        let names = experiment.parameters.keys().map(String::as_str);
        let mut defined = Defined::new(names.chain(AUTOMATIC), &symbols);
        scripts.iter().for_each(|(script, _)| defined.add(script));
        for (script, _) in &scripts {
            script.check_defined(&defined, &symbols, protocol != dyno_wire::Protocol::Simple)?;
        }
        let mut variables = Variables::new(&symbols);
        let given = experiment
            .parameters
            .iter()
            .map(|(name, value)| (name.as_str(), script_value(value)));
        let automatic = [
            ("random_seed", Some(seed.cast_signed())),
            ("default_seed", seeds.default_seed),
        ];
        let automatic = automatic
            .into_iter()
            .filter_map(|(name, value)| Some((name, dyno_script::Value::Int(value?))));
        for (name, value) in automatic.chain(given) {
            if let Some(id) = symbols.lookup(name) {
                variables.set(id, value);
            }
        }
        let client_id = symbols.lookup("client_id");
        let program = ScriptProgram::new(ScriptSet {
            scripts,
            variables,
            client_id,
            seeds,
            protocol,
        });
        Ok(Compiled {
            workload: workload.clone(),
            program,
        })
    })
    .collect()
}

impl Compiled {
    /// The SQL of each of its statements.
    pub(super) fn statements(&self) -> Vec<String> {
        self.program.statements()
    }
}

/// A load that is ready to be driven, whatever the protocol of its database.
pub(super) type Ready = Box<dyn FnOnce(&mut dyn Observer, &Stop) -> Result<Outcome, DriveError>>;

/// The whole load against `database`.
pub(super) fn load(
    experiment: &Resolved,
    compiled: Vec<Compiled>,
    database: &dyn Database,
    threads: ThreadOptions,
) -> Result<Ready, RunError> {
    match database.reach() {
        Reach::Postgres(info) => {
            let connector = Connector::to(info).map_err(TargetError::from)?;
            let load = assemble(experiment, compiled, threads, |program| {
                wire(connector.endpoints(), connector.sessions(), program)
            })?;
            Ok(ready(load))
        }
        Reach::Mysql(info) => {
            let connector = MysqlConnector::to(info).map_err(TargetError::other)?;
            let load = assemble(experiment, compiled, threads, |program| {
                wire(connector.endpoints(), connector.sessions(), program)
            })?;
            Ok(ready(load))
        }
    }
}

fn wire<S: Session>(
    endpoints: Vec<Endpoint>,
    session: NewSession<S>,
    program: &ScriptProgram,
) -> Result<WireDriver<S>, WireError> {
    Ok(WireDriver {
        endpoints,
        session,
        statements: program.encode::<S>()?,
        texts: program.statements(),
        preparing: Preparing::AtStart,
    })
}

fn ready<S: Session>(load: Load<WireDriver<S>, ScriptProgram>) -> Ready {
    Box::new(move |observer, stop| drive(&load, observer, stop))
}

/// The load, with drivers that `driver` makes for the programs.
fn assemble<S: Session>(
    experiment: &Resolved,
    compiled: Vec<Compiled>,
    threads: ThreadOptions,
    driver: impl Fn(&ScriptProgram) -> Result<WireDriver<S>, WireError>,
) -> Result<Load<WireDriver<S>, ScriptProgram>, CompileError> {
    let workloads = compiled.into_iter().map(|compiled| {
        Ok(dyno_engine::Workload {
            name: compiled.workload.name.clone(),
            clients: compiled.workload.clients,
            threads: compiled.workload.threads,
            pacing: match compiled.workload.rate_per_s {
                None => dyno_engine::Pacing::Closed,
                Some(rate_per_s) => dyno_engine::Pacing::Open { rate_per_s },
            },
            start_delay: compiled.workload.start_delay,
            stages_begin: experiment.warmup,
            stages: stages(experiment, &compiled.workload),
            driver: driver(&compiled.program)?,
            program: compiled.program,
            transactions_per_client: compiled.workload.transactions_per_client,
            connecting: Connecting::Once,
            reconnect: false,
            failures: FailurePolicy::default(),
            latency_limit: None,
            time_commands: false,
            trace: false,
            log: None,
        })
    });
    Ok(Load {
        workloads: workloads.collect::<Result<_, CompileError>>()?,
        phases: experiment
            .phases()
            .into_iter()
            .map(|phase| Phase {
                name: phase.name.to_owned(),
                duration: phase.duration.unwrap_or(Duration::MAX),
            })
            .collect(),
        interval: experiment.interval,
        grace: GRACE,
        include_connecting: false,
        record_finishing: false,
        threads,
    })
}

/// What `workload` does in each stage.
fn stages(experiment: &Resolved, workload: &Workload) -> Vec<dyno_engine::Stage> {
    let all = workload.clients as f64;
    let span = |span: Span| dyno_engine::Span {
        from: span.from,
        to: span.to,
    };
    let each = experiment.stages.iter().map(|stage| {
        let takes_part = stage.workloads.is_empty() || stage.workloads.contains(&workload.name);
        let clients = stage.clients.map(|clients| Span {
            from: clients.from.min(all),
            to: clients.to.min(all),
        });
        let none = Span { from: 0.0, to: 0.0 };
        dyno_engine::Stage {
            duration: stage.lasts,
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

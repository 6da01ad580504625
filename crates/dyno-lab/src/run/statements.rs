//! Has servers prepare the statements of an experiment without executing any: what a server would refuse is known
//! before anything is loaded.
//!
//! On dyno's own servers tables are made for it, and stay empty. On a server by address nothing is made: what it has is
//! the user's.

use super::embedded::EmbeddedServers;
use super::servers::{CellServer, CellServers};
use super::stand::make_ready;
use super::target::settings;
use super::{Emergency, Progress, RunError, data, preflight, workload};
use crate::experiment::did_you_mean;
use crate::nearest::nearest;
use dyno_archive::plan::{Cell, Plan, Protocol, Question, Resolved, Scripts};
use dyno_engine::{Connected, Load, Observer, Part, Phase, Stop, ThreadOptions};
use dyno_load::{Ready, no_log};
use dyno_lua::Heard;
use dyno_record::{Explained, Interval};
use dyno_target::target::{Control, Data, Database, Environment, Fill, State, Target, ToExplain, Unfillable, Wanted};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// The role of the servers on which statements are tried.
const ROLE: &str = "check";

/// Longer than what is tried takes: no transaction begins.
const NEVER: Duration = Duration::from_secs(3_600);

/// What became of a script, a question or a table to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The server that was asked, in words.
    pub server: String,
    /// The script: its workload, and its own name if the workload has several. Or what else it is, with its name.
    pub script: String,
    /// How many statements it has that the server understands.
    pub result: Result<usize, Untried>,
}

/// Why statements were not prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untried {
    /// The server refuses one: its words.
    Refused(String),
    /// It was not asked: why not.
    NotAsked(String),
}

/// Has the servers of the different cells of `plan` prepare what their workloads execute.
///
/// # Errors
/// A server cannot be had, or its tables not be made.
pub fn try_statements(
    plan: &Plan,
    environment: Environment<'_>,
    progress: &mut dyn Progress,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<Vec<Tried>, RunError> {
    let cells = preflight::servers(plan, environment, stop)?;
    preflight::check(plan, &cells, true, None, progress, stop)?;
    let mut held = EmbeddedServers::new(emergency);
    let mut seen = HashSet::new();
    let mut tried = Vec::new();
    for (cell, servers) in plan.cells.iter().zip(&cells) {
        for server in servers.all() {
            if seen.insert(what(cell, server)) {
                tried.extend(try_server(
                    &cell.experiment,
                    (servers, server),
                    &mut held,
                    progress,
                    stop,
                )?);
            }
            if stop.requested() {
                return Err(RunError::Stopped);
            }
        }
    }
    held.stop(progress);
    Ok(tried)
}

/// What decides about the statements on a server: cells often differ in other things.
fn what(cell: &Cell, server: &CellServer<'_>) -> String {
    let experiment = &cell.experiment;
    let scripts: Vec<_> = experiment
        .workloads
        .iter()
        .map(|workload| (&workload.name, &workload.scripts))
        .collect();
    let data = &server.experiment.data;
    let filled: Vec<(_, Vec<_>)> = data
        .fill
        .iter()
        .map(|fill| (&fill.table, fill.columns.keys().collect()))
        .collect();
    let checks: Vec<_> = experiment.checks.iter().map(|check| &check.question).collect();
    let asked = (checks, &experiment.outputs);
    let tables = (&data.setup, &data.finish, filled, asked);
    let names: Vec<_> = experiment.parameters.keys().collect();
    serde_json::to_string(&(&server.name, server.target.to_string(), scripts, tables, names)).unwrap_or_default()
}

fn try_server(
    experiment: &Resolved,
    (servers, server): (&CellServers<'_>, &CellServer<'_>),
    held: &mut EmbeddedServers<'_>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Vec<Tried>, RunError> {
    let flag = stop.flag();
    let its = experiment.workloads.iter();
    let its = its.filter(|workload| experiment.server_of(workload) == server.name);
    let scripts: Vec<_> = its.flat_map(|workload| alone(experiment, &workload.name)).collect();
    let questions = questions(experiment, (servers, server));
    if scripts.is_empty() && questions.is_empty() && server.experiment.data.fill.is_empty() {
        return Ok(Vec::new());
    }
    let said = |result: &Result<usize, Untried>, name: &str| Tried {
        server: server.target.to_string(),
        script: name.to_owned(),
        result: result.clone(),
    };
    let refused = |why: &str| {
        let result = Err(Untried::NotAsked(why.to_owned()));
        let names = scripts.iter().map(|(name, _)| name);
        let names = names.chain(questions.iter().map(|(name, _)| name));
        names.map(|name| said(&result, name)).collect()
    };
    let own = data::of_server(server);
    let mut fills = Vec::new();
    let database: Box<dyn Database> = match &server.target {
        _ if server.is_linked() || server.primary().is_some() => {
            return Ok(refused("its tables are those of another server"));
        }
        Target::Embedded(embedded) => {
            let role = match servers.is_one() {
                true => ROLE.to_owned(),
                false => format!("{ROLE}-{}", server.name),
            };
            let embedded = embedded.in_role(&role)?;
            let instance = held.hold(&*embedded, progress)?;
            let settings = settings(&server.experiment);
            let mut notes = Vec::new();
            fills.clone_from(&own.fill);
            let data = empty(own);
            make_ready(
                instance,
                server.needs(&settings),
                &data,
                ROLE,
                &mut notes,
                progress,
                &flag,
            )?;
            instance.database(None)?
        }
        Target::External(_) if own.is_some() => {
            return Ok(refused(
                "a check makes no tables on a server by address: leave out --target, and it has dyno's own server try \
                 them",
            ));
        }
        Target::External(external) => {
            let external = external.first_reachable(&flag)?;
            let wanted = Wanted {
                data: &own,
                all: &[],
                campaign: ROLE,
            };
            external.prepare(wanted, &mut Vec::new(), &mut super::progress::Told(progress), &flag)?
        }
    };
    let mut tried = Vec::new();
    let mut control = database.control(&flag)?;
    for fill in &fills {
        if let Some(unfillable) = Unfillable::of(&mut *control, database.reach(), fill)? {
            let why = Untried::Refused(why_not(fill, &unfillable));
            tried.push(said(&Err(why), &format!("rows of {}", fill.table)));
        }
    }
    for (name, alone) in &scripts {
        progress.step(&format!("Preparing the statements of {name}"));
        let result = prepare(alone, &*database, stop)?;
        tried.push(said(&result, name));
    }
    for (name, question) in &questions {
        let result = plan(&mut *control, question)?;
        tried.push(said(&result, name));
    }
    Ok(tried)
}

/// What is asked of a server around the load, by what it is.
fn questions<'a>(
    experiment: &'a Resolved,
    (servers, server): (&CellServers<'_>, &CellServer<'_>),
) -> Vec<(String, &'a Question)> {
    let checks = experiment.checks.iter().map(|check| ("check", &check.question));
    let outputs = experiment.outputs.iter().map(|output| ("output", output));
    let its = checks.chain(outputs).filter(|(_, question)| match &question.server {
        Some(name) => *name == server.name,
        None => server.name == servers.main.name,
    });
    its.map(|(kind, question)| (format!("{kind} {}", question.name), question))
        .collect()
}

/// Has the server plan a question. Executed on empty tables, one might fail that will not on others.
fn plan(control: &mut dyn Control, question: &Question) -> Result<Result<usize, Untried>, RunError> {
    let question = ToExplain {
        filled: Some(question.sql.clone()),
        ..ToExplain::default()
    };
    let explained = control.explain(&[question])?.into_iter().next();
    Ok(match explained.unwrap_or(Explained::HasNone) {
        Explained::Plan(_) => Ok(1),
        Explained::Refused(why) => Err(Untried::Refused(why)),
        Explained::NotAsked(why) | Explained::Denied(why) => Err(Untried::NotAsked(why)),
        Explained::HasNone => Err(Untried::NotAsked("only what has a plan is asked for".to_owned())),
    })
}

/// The same data without rows.
fn empty(data: Data) -> Data {
    Data {
        fill: Vec::new(),
        maker: None,
        definition: format!("{}\nempty", data.definition),
        state: State::Reload,
        // Scripts may work on tables that others have made.
        linked: true,
        ..data
    }
}

/// The experiment with one script of a workload alone, for one client, by the name of the script.
fn alone(experiment: &Resolved, workload: &str) -> Vec<(String, Resolved)> {
    let Some(its) = experiment.workloads.iter().find(|other| other.name == workload) else {
        return Vec::new();
    };
    let with = |scripts: Scripts| {
        let mut one = its.clone();
        (one.clients, one.threads, one.rate_per_s) = (1, 1, None);
        (one.start_delay, one.scripts) = (NEVER, scripts);
        Resolved {
            workloads: vec![one],
            stages: Vec::new(),
            ..experiment.clone()
        }
    };
    match &its.scripts {
        Scripts::Several { scripts } => scripts
            .iter()
            .map(|weighted| {
                let name = format!("{workload}.{}", weighted.script.script_name);
                (name, with(Scripts::One(weighted.script.clone())))
            })
            .collect(),
        scripts => vec![(workload.to_owned(), with(scripts.clone()))],
    }
}

/// Has the server prepare all statements of the only script.
fn prepare(alone: &Resolved, database: &dyn Database, stop: &Stop) -> Result<Result<usize, Untried>, RunError> {
    let not_asked = |why: &str| Ok(Err(Untried::NotAsked(why.to_owned())));
    let Some(workload) = alone.workloads.first() else {
        return Ok(Ok(0));
    };
    if workload.scripts.lua().is_some() {
        return not_asked("what a script in Lua executes is known only when it runs");
    }
    if workload.protocol == Protocol::Simple {
        return not_asked("in the simple protocol statements are sent as texts, and none is prepared");
    }
    let mut prepared = alone.clone();
    for workload in &mut prepared.workloads {
        workload.protocol = Protocol::Prepared;
    }
    let usual = super::target::lexis(&prepared);
    let lexis = database.lexis(usual, &stop.flag())?;
    let scripts = workload::scripts(&prepared, 1, |_| lexis, stop)?;
    let server = workload::server(database.reach(), workload.driver);
    let plan = workload::plan(&prepared, scripts, &[server], ThreadOptions::default());
    let plan = Load {
        // Clients connect, prepare and are done.
        phases: vec![Phase::new("check", Duration::from_millis(1))],
        ..plan
    };
    let heard = Arc::new(Heard::default());
    let refused = |why: String| Ok(Err(Untried::Refused(why)));
    let load = match Ready::heard_by(&heard.voice(), plan, &Part::whole(), &no_log, stop) {
        Ok(load) => load,
        // It cannot even be sent.
        Err(error) if !stop.requested() => return refused(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let number = load.statements().iter().map(Vec::len).sum();
    match load.drive(&mut Nobody, stop) {
        Ok(outcome) => match outcome.ended_early {
            None => Ok(Ok(number)),
            Some(ending) => refused(ending.to_string()),
        },
        Err(error) => refused(error.to_string()),
    }
}

/// Why rows cannot get into a table, with what may have been meant.
fn why_not(fill: &Fill, unfillable: &Unfillable) -> String {
    let Unfillable { why, tables, columns } = unfillable;
    let names = fill.columns.iter().map(|(name, _)| name.as_str());
    if columns.is_empty() && !tables.is_empty() {
        let hint = did_you_mean(nearest(&fill.table, tables.iter().map(String::as_str)));
        return format!("{why}\nsetup makes no table {}{hint}", fill.table);
    }
    match unfillable.missing(names).filter(|_| !columns.is_empty()) {
        Some(name) => {
            let hint = did_you_mean(nearest(name, columns.iter().map(String::as_str)));
            format!("{why}\nthe table {} has no column {name}{hint}", fill.table)
        }
        None => why.clone(),
    }
}

/// Looks at nothing: there is nothing to see.
struct Nobody;

impl Observer for Nobody {
    fn connected(&mut self, _: &Connected) {}

    fn interval(&mut self, _: &Interval) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

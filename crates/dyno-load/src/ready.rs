//! From a plan to the load that the engine drives.

use crate::connect;
use crate::log::{LogError, OpenLog};
use crate::plan::{LoadPlan, Server};
use dyno_engine::{Connector, DriveError, Load, Observer, Outcome, Program, Stop, WireDriver, drive};
use dyno_script::{ScriptError, ScriptProgram};
use dyno_target::mysql::EndpointError;
use dyno_target::postgres::address::ConnectError;
use dyno_wire::{MySession, PgSession, Session, WireError};

/// A load that can be driven: its scripts are parsed, its hosts looked up, its logs open.
pub enum Ready {
    /// Through PostgreSQL's protocol.
    Postgres(Load<WireDriver<PgSession>, ScriptProgram>),
    /// Through MySQL's protocol.
    Mysql(Load<WireDriver<MySession>, ScriptProgram>),
}

/// Why a plan cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A script does not follow the language.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A statement cannot be sent.
    #[error(transparent)]
    Statement(#[from] WireError),
    /// No host of a PostgreSQL server can be connected to.
    #[error(transparent)]
    Postgres(#[from] ConnectError),
    /// A MariaDB or MySQL server cannot be connected to.
    #[error(transparent)]
    Mysql(#[from] EndpointError),
    /// A log cannot be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Its workloads speak different protocols.
    #[error("the workloads of one load must speak one protocol, PostgreSQL's or MySQL's; drive them one by one")]
    Mixed,
    /// There is nothing to do.
    #[error("the load has no workload")]
    Empty,
}

impl Ready {
    /// Makes a planned load ready.
    ///
    /// # Errors
    /// It cannot be driven.
    pub fn of(plan: LoadPlan, open_log: &OpenLog<'_>) -> Result<Self, LoadError> {
        match plan.workloads.first().map(|workload| &workload.driver.server) {
            None => Err(LoadError::Empty),
            Some(Server::Postgres(_)) => {
                let to = |server: &Server| match server {
                    Server::Postgres(info) => Ok(connect::postgres(info)?),
                    Server::Mysql(_) => Err(LoadError::Mixed),
                };
                Ok(Self::Postgres(build(plan, to, open_log)?))
            }
            Some(Server::Mysql(_)) => {
                let to = |server: &Server| match server {
                    Server::Mysql(info) => Ok(connect::mysql(info)?),
                    Server::Postgres(_) => Err(LoadError::Mixed),
                };
                Ok(Self::Mysql(build(plan, to, open_log)?))
            }
        }
    }

    /// The statements of each workload, as a person wrote them.
    #[must_use]
    pub fn statements(&self) -> Vec<Vec<String>> {
        fn of<D>(load: &Load<D, ScriptProgram>) -> Vec<Vec<String>> {
            let programs = load.workloads.iter().map(|workload| &workload.program);
            programs.map(Program::statements).collect()
        }
        match self {
            Self::Postgres(load) => of(load),
            Self::Mysql(load) => of(load),
        }
    }

    /// Drives it. Whoever observes is asked now and then only, so that the code of clients is made once, here, and not
    /// once more for each front end.
    ///
    /// # Errors
    /// It could not begin.
    pub fn drive(&self, observer: &mut dyn Observer, stop: &Stop) -> Result<Outcome, DriveError> {
        match self {
            Self::Postgres(load) => drive(load, observer, stop),
            Self::Mysql(load) => drive(load, observer, stop),
        }
    }
}

fn build<S: Session>(
    plan: LoadPlan,
    connect: impl Fn(&Server) -> Result<Connector<S>, LoadError>,
    open_log: &OpenLog<'_>,
) -> Result<Load<WireDriver<S>, ScriptProgram>, LoadError> {
    // Workloads on one server share what is looked up and read.
    let mut known: Vec<(Server, Connector<S>)> = Vec::new();
    plan.try_map(|workload| {
        let program = workload.program.program(workload.clients, workload.threads)?;
        let program = program.telling_each_command(workload.time_commands || workload.trace);
        let log = workload.log.as_ref().map(|log| open_log(&workload, log)).transpose()?;
        let server = &workload.driver.server;
        let connector = match known.iter().find(|(known, _)| known == server) {
            Some((_, connector)) => connector.clone(),
            None => {
                let connector = connect(server)?;
                known.push((server.clone(), connector.clone()));
                connector
            }
        };
        let driver = WireDriver {
            choice: dyno_engine::Choice::First,
            statements: program.encode::<S>()?,
            texts: program.statements(),
            preparing: workload.driver.preparing,
            session: connector.sessions(),
            endpoints: connector.endpoints,
        };
        Ok(workload.with(driver, program, log))
    })
}

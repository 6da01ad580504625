//! From a plan to the load that the engine drives.

use crate::connect;
use crate::connect::oracledb::Crate;
use crate::log::{LogError, OpenLog};
use crate::lua::{Deaf, LuaLoad};
use crate::plan::{Access, LoadPlan, Server, Work, WorkloadPlan};
use crate::scripts::Scripts;
use dyno_engine::backend::blocking::BlockingDriver;
use dyno_engine::{
    Connector, DriveError, Either, Load, Observer, Outcome, Part, Program, Stop, WireDriver, drive_part,
};
use dyno_lua::{Counts, Dialect, LuaError, Voice};
use dyno_script::{Example, ScriptError, ScriptProgram};
use dyno_target::postgres::address::ConnectError;
use dyno_target::{mysql, oracle};
use dyno_wire::{MySession, OraSession, PgSession, Session, WireError};
use std::mem::discriminant;
use std::sync::Arc;

/// A load that can be driven: its scripts are parsed, its hosts looked up, its logs open.
pub enum Ready {
    /// Through PostgreSQL's protocol.
    Postgres(Load<WireDriver<PgSession>, ScriptProgram>),
    /// Through MySQL's protocol.
    Mysql(Load<WireDriver<MySession>, ScriptProgram>),
    /// Through Oracle's protocol.
    Oracle(Load<WireDriver<OraSession>, ScriptProgram>),
    /// Through Oracle's own crate.
    OracleByCrate(Load<BlockingDriver<Crate>, ScriptProgram>),
    /// Each workload through the protocol of its own server.
    Mixed(Load<MixedDriver, ScriptProgram>),
    /// Scripts in Lua through PostgreSQL's protocol.
    PostgresLua(LuaLoad<PgSession>),
    /// Scripts in Lua through MySQL's protocol.
    MysqlLua(LuaLoad<MySession>),
}

/// The driver of a workload on a server of any kind.
pub type MixedDriver = Either<WireDriver<PgSession>, Either<WireDriver<MySession>, WireDriver<OraSession>>>;

/// Why a plan cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A script does not follow the language.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A script in Lua cannot be loaded, or fails before the load.
    #[error(transparent)]
    Lua(#[from] LuaError),
    /// A statement cannot be sent.
    #[error(transparent)]
    Statement(#[from] WireError),
    /// No host of a PostgreSQL server can be connected to.
    #[error(transparent)]
    Postgres(#[from] ConnectError),
    /// A MariaDB or MySQL server cannot be connected to.
    #[error(transparent)]
    Mysql(#[from] mysql::EndpointError),
    /// An Oracle server cannot be connected to.
    #[error(transparent)]
    Oracle(#[from] oracle::EndpointError),
    /// Oracle's own crate cannot do what the address of an Oracle server asks for.
    #[error(transparent)]
    Crate(#[from] oracle::ClientError),
    /// A log cannot be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Its workloads have different drivers that cannot be mixed.
    #[error(
        "the workloads of one load must be on databases of one kind and have one driver if any is in Lua or driven by \
         Oracle's own crate; drive them one by one"
    )]
    Mixed,
    /// A script in Lua for a database that has none.
    #[error("scripts in Lua are for PostgreSQL, MariaDB and MySQL only; write the workload in pgbench's language")]
    NoLua,
    /// Its workloads are in different languages.
    #[error("the workloads of one load must all be in pgbench's language or all in Lua; drive them one by one")]
    Languages,
    /// There is nothing to do.
    #[error("the load has no workload")]
    Empty,
}

impl Ready {
    /// Makes a planned load ready. What scripts in Lua print and what is said of them is not heard.
    ///
    /// # Errors
    /// It cannot be driven.
    pub fn of(plan: LoadPlan, open_log: &OpenLog<'_>) -> Result<Self, LoadError> {
        let deaf: Arc<dyn Voice> = Arc::new(Deaf);
        Self::heard_by(&deaf, plan, &Part::whole(), open_log, &Stop::new())
    }

    /// The same, of which `part` is to be driven here, with somebody who hears what scripts in Lua print and what is
    /// said of them. Their `init` is executed, until `stop` asks to end.
    ///
    /// # Errors
    /// It cannot be driven.
    pub fn heard_by(
        voice: &Arc<dyn Voice>,
        plan: LoadPlan,
        part: &Part,
        open_log: &OpenLog<'_>,
        stop: &Stop,
    ) -> Result<Self, LoadError> {
        let Some(first) = plan.workloads.first() else {
            return Err(LoadError::Empty);
        };
        let is_lua = |workload: &WorkloadPlan| matches!(workload.program, Work::Lua(_));
        let kind = |workload: &WorkloadPlan| discriminant(&workload.driver.server);
        let is_mixed = plan.workloads.iter().any(|workload| kind(workload) != kind(first));
        if is_mixed && plan.workloads.iter().any(is_lua) {
            return Err(LoadError::Mixed);
        }
        let lua = is_lua(first);
        match &first.driver.server {
            _ if is_mixed => Ok(Self::Mixed(build_mixed(plan, open_log)?)),
            Server::Postgres(_) => Ok(match lua {
                true => Self::PostgresLua(LuaLoad::build(
                    plan,
                    part,
                    to_postgres,
                    Dialect::Postgres,
                    voice,
                    open_log,
                    stop,
                )?),
                false => Self::Postgres(build(plan, to_postgres, open_log)?),
            }),
            Server::Mysql(_) => Ok(match lua {
                true => Self::MysqlLua(LuaLoad::build(
                    plan,
                    part,
                    to_mysql,
                    Dialect::Mysql,
                    voice,
                    open_log,
                    stop,
                )?),
                false => Self::Mysql(build(plan, to_mysql, open_log)?),
            }),
            Server::Oracle(_) | Server::OracleByCrate(_) if lua => Err(LoadError::NoLua),
            Server::Oracle(_) => Ok(Self::Oracle(build(plan, to_oracle, open_log)?)),
            Server::OracleByCrate(_) => Ok(Self::OracleByCrate(build_by_crate(plan, open_log)?)),
        }
    }

    /// The statements of each workload that are known before it is driven, as a person wrote them.
    #[must_use]
    pub fn statements(&self) -> Vec<Vec<String>> {
        fn of<D, P: Program>(load: &Load<D, P>) -> Vec<Vec<String>> {
            let programs = load.workloads.iter().map(|workload| &workload.program);
            programs.map(Program::statements).collect()
        }
        match self {
            Self::Postgres(load) => of(load),
            Self::Mysql(load) => of(load),
            Self::Oracle(load) => of(load),
            Self::OracleByCrate(load) => of(load),
            Self::Mixed(load) => of(load),
            Self::PostgresLua(load) => of(&load.load),
            Self::MysqlLua(load) => of(&load.load),
        }
    }

    /// For each workload an example of each of [these](Self::statements) as the server could get it.
    #[must_use]
    pub fn examples(&self) -> Vec<Vec<Example>> {
        fn of<D>(load: &Load<D, ScriptProgram>) -> Vec<Vec<Example>> {
            load.workloads
                .iter()
                .map(|workload| workload.program.examples())
                .collect()
        }
        match self {
            Self::Postgres(load) => of(load),
            Self::Mysql(load) => of(load),
            Self::Oracle(load) => of(load),
            Self::OracleByCrate(load) => of(load),
            Self::Mixed(load) => of(load),
            Self::PostgresLua(load) => vec![Vec::new(); load.load.workloads.len()],
            Self::MysqlLua(load) => vec![Vec::new(); load.load.workloads.len()],
        }
    }

    /// What the clients of scripts in Lua have counted so far, workload by workload; nothing for other scripts.
    #[must_use]
    pub fn counts(&self) -> Vec<Counts> {
        match self {
            Self::Postgres(_) | Self::Mysql(_) | Self::Oracle(_) | Self::OracleByCrate(_) | Self::Mixed(_) => {
                Vec::new()
            }
            Self::PostgresLua(load) => load.counts(),
            Self::MysqlLua(load) => load.counts(),
        }
    }

    /// Drives it. Whoever observes is asked now and then only, so that the code of clients is made once, here, and not
    /// once more for each front end.
    ///
    /// # Errors
    /// It could not begin.
    pub fn drive(&self, observer: &mut dyn Observer, stop: &Stop) -> Result<Outcome, DriveError> {
        let outcome = self.drive_part(&Part::whole(), observer, stop)?;
        self.done(&outcome, stop);
        Ok(outcome)
    }

    /// Does what scripts in Lua want to be done after a load that has ended so, until `stop` asks to end.
    pub fn done(&self, outcome: &Outcome, stop: &Stop) {
        match self {
            Self::Postgres(_) | Self::Mysql(_) | Self::Oracle(_) | Self::OracleByCrate(_) | Self::Mixed(_) => {}
            Self::PostgresLua(load) => load.done(outcome, stop),
            Self::MysqlLua(load) => load.done(outcome, stop),
        }
    }

    /// Drives a part of it, while others see to the rest: of scripts in Lua the part that it was made ready for. They
    /// are not [done](Self::done) then.
    ///
    /// # Errors
    /// It could not begin.
    pub fn drive_part(&self, part: &Part, observer: &mut dyn Observer, stop: &Stop) -> Result<Outcome, DriveError> {
        match self {
            Self::Postgres(load) => drive_part(load, part, observer, stop),
            Self::Mysql(load) => drive_part(load, part, observer, stop),
            Self::Oracle(load) => drive_part(load, part, observer, stop),
            Self::OracleByCrate(load) => drive_part(load, part, observer, stop),
            Self::Mixed(load) => drive_part(load, part, observer, stop),
            Self::PostgresLua(load) => drive_part(&load.load, part, observer, stop),
            Self::MysqlLua(load) => drive_part(&load.load, part, observer, stop),
        }
    }
}

/// What workloads on one server share: what is looked up and read for it.
pub(crate) struct Known<S: Session, F> {
    connect: F,
    known: Vec<(Server, Connector<S>)>,
}

impl<S: Session, F: Fn(&Server) -> Result<Connector<S>, LoadError>> Known<S, F> {
    pub fn new(connect: F) -> Self {
        Self {
            connect,
            known: Vec::new(),
        }
    }

    /// What clients on this server connect with.
    pub fn connector(&mut self, server: &Server) -> Result<Connector<S>, LoadError> {
        if let Some((_, connector)) = self.known.iter().find(|(known, _)| known == server) {
            return Ok(connector.clone());
        }
        let connector = (self.connect)(server)?;
        self.known.push((server.clone(), connector.clone()));
        Ok(connector)
    }

    /// The driver of a workload that executes `program`.
    fn driver(&mut self, access: &Access, program: &ScriptProgram) -> Result<WireDriver<S>, LoadError> {
        let connector = self.connector(&access.server)?;
        Ok(WireDriver {
            choice: dyno_engine::Choice::First,
            statements: program.encode::<S>()?,
            texts: program.statements(),
            preparing: access.preparing,
            session: connector.sessions(),
            endpoints: connector.endpoints,
        })
    }
}

fn to_postgres(server: &Server) -> Result<Connector<PgSession>, LoadError> {
    match server {
        Server::Postgres(info) => Ok(connect::postgres(info)?),
        _ => Err(LoadError::Mixed),
    }
}

fn to_mysql(server: &Server) -> Result<Connector<MySession>, LoadError> {
    match server {
        Server::Mysql(info) => Ok(connect::mysql(info)?),
        _ => Err(LoadError::Mixed),
    }
}

fn to_oracle(server: &Server) -> Result<Connector<OraSession>, LoadError> {
    match server {
        Server::Oracle(info) => Ok(connect::oracle(info)?),
        _ => Err(LoadError::Mixed),
    }
}

fn build<S: Session>(
    plan: LoadPlan,
    connect: impl Fn(&Server) -> Result<Connector<S>, LoadError>,
    open_log: &OpenLog<'_>,
) -> Result<Load<WireDriver<S>, ScriptProgram>, LoadError> {
    let mut known = Known::new(connect);
    build_with(plan, open_log, |access, program| known.driver(access, program))
}

fn build_mixed(plan: LoadPlan, open_log: &OpenLog<'_>) -> Result<Load<MixedDriver, ScriptProgram>, LoadError> {
    let (mut postgres, mut mysql, mut oracle) = (Known::new(to_postgres), Known::new(to_mysql), Known::new(to_oracle));
    build_with(plan, open_log, |access, program| {
        Ok(match &access.server {
            Server::Postgres(_) => Either::First(postgres.driver(access, program)?),
            Server::Mysql(_) => Either::Second(Either::First(mysql.driver(access, program)?)),
            Server::Oracle(_) => Either::Second(Either::Second(oracle.driver(access, program)?)),
            Server::OracleByCrate(_) => return Err(LoadError::Mixed),
        })
    })
}

fn build_with<D>(
    plan: LoadPlan,
    open_log: &OpenLog<'_>,
    mut driver: impl FnMut(&Access, &ScriptProgram) -> Result<D, LoadError>,
) -> Result<Load<D, ScriptProgram>, LoadError> {
    plan.try_map(|workload| {
        let program = scripts(&workload.program)?.program(workload.clients, workload.threads)?;
        let program = program.telling_each_command(workload.time_commands || workload.trace);
        let log = workload.log.as_ref().map(|log| open_log(&workload, log)).transpose()?;
        let driver = driver(&workload.driver, &program)?;
        Ok(workload.with(driver, program, log))
    })
}

fn build_by_crate(
    plan: LoadPlan,
    open_log: &OpenLog<'_>,
) -> Result<Load<BlockingDriver<Crate>, ScriptProgram>, LoadError> {
    build_with(plan, open_log, |access, program| match &access.server {
        Server::OracleByCrate(info) => Ok(BlockingDriver::new(Crate::new(info, program.encode::<OraSession>()?)?)),
        _ => Err(LoadError::Mixed),
    })
}

fn scripts(work: &Work) -> Result<&Scripts, LoadError> {
    match work {
        Work::Scripts(scripts) => Ok(scripts),
        Work::Lua(_) => Err(LoadError::Languages),
    }
}

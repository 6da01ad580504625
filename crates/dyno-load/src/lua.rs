//! A script in sysbench's Lua as plain data, and the program that it becomes.

use crate::connect;
use crate::log::OpenLog;
use crate::plan::{LoadPlan, Server, Work};
use crate::ready::{Known, LoadError};
use dyno_engine::{Choice, Connecting, Connector, Ending, Load, Outcome, Part, Preparing, Stop, WireDriver};
use dyno_lua::{
    Counts, Dialect, Environment, Function, IgnoredErrors, Level, LuaError, LuaProgram, OptionValue,
    PreparedStatements, RandomSettings, Server as Links, Settings, Source, Voice, run_parallel,
};
use dyno_wire::Session;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What the clients of a workload execute: a script that does what it likes, in events. Its options may be secrets:
/// `Debug` prints their names alone.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct LuaScript {
    /// Its file, or whatever tells a person which script it is.
    pub name: String,
    /// Its text, which need not be UTF-8.
    pub text: Vec<u8>,
    /// Where it looks for modules that are not in `modules`; `None`: only where all scripts look.
    pub folder: Option<PathBuf>,
    /// Modules that it finds before any file, by name, with their texts.
    pub modules: Vec<(String, Vec<u8>)>,
    /// Files that `dofile` and `loadfile` find before any other, by the names that the script gives them.
    pub files: Vec<(String, Vec<u8>)>,
    /// `sysbench.opt`, with underscores in the names; what is not in here has the script's own defaults.
    pub options: Vec<(String, OptionValue)>,
    /// Globals that are set: what a script without options of its own is given.
    pub globals: Vec<(String, OptionValue)>,
    /// Whether it has no FFI, files and commands.
    pub is_safe: bool,
    /// Whether what it prepares is prepared.
    pub prepared: PreparedStatements,
    /// Which errors of the server restart an event instead of ending the load.
    pub ignored: IgnoredErrors,
    /// How random numbers are drawn, and from what seed.
    pub random: RandomSettings,
}

impl fmt::Debug for LuaScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.options.iter().chain(&self.globals);
        f.debug_struct("LuaScript")
            .field("name", &self.name)
            .field("options", &given.map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl LuaScript {
    /// Where the program finds it.
    #[must_use]
    pub fn source(&self) -> Source {
        let source = Source::of_bytes(&self.name, &self.text);
        let source = match &self.folder {
            Some(folder) => source.in_folder(folder),
            None => source,
        };
        let modules = self.modules.iter();
        let modules = modules.map(|(name, text)| (name.as_str(), text.as_slice()));
        let files = self.files.iter();
        let files = files.map(|(name, text)| (name.as_str(), text.as_slice()));
        source.with_own_modules().with_modules(modules).with_files(files)
    }

    /// What it is run with by so many clients on this kind of database, for a command such as `run`. What it does
    /// outside of a load ends when `stop` asks for it.
    #[must_use]
    pub fn settings(
        &self,
        dialect: Dialect,
        clients: usize,
        command: &str,
        voice: &Arc<dyn Voice>,
        stop: &Stop,
    ) -> Settings {
        let argv = ["sysbench", self.name.as_str(), command];
        Settings {
            options: self.options.clone(),
            globals: self.globals.clone(),
            argv: argv.map(str::to_owned).to_vec(),
            command: Some(command.to_owned()),
            threads: clients,
            random: self.random.clone(),
            safe: self.is_safe,
            prepared: self.prepared,
            ignored: self.ignored.clone(),
            tells_statements: true,
            stop: stop.clone(),
            ..Settings::new(dialect, Arc::clone(voice))
        }
    }
}

impl LuaScript {
    /// Executes a command of the script over connections that block, by so many threads if it is a parallel one, until
    /// `stop` asks to end.
    ///
    /// # Errors
    /// It fails, or no host is known.
    pub fn command(
        &self,
        command: &str,
        server: &Server,
        threads: usize,
        voice: &Arc<dyn Voice>,
        stop: &Stop,
    ) -> Result<(), LoadError> {
        let links: Arc<dyn Links> = match server {
            Server::Postgres(info) => Arc::new(connect::postgres(info)?),
            Server::Mysql(info) => Arc::new(connect::mysql(info)?),
            Server::Oracle(_) | Server::OracleByCrate(_) => return Err(LoadError::NoLua),
        };
        let dialect = server.dialect().ok_or(LoadError::NoLua)?;
        let settings = self.settings(dialect, threads, command, voice, stop);
        let source = self.source();
        let mut environment = Environment::load(&source, &settings, 0, Some(Arc::clone(&links)))?;
        let declared = environment.declared().command(command);
        if declared.is_some_and(|declared| declared.parallel) && threads > 1 {
            drop(environment);
            return Ok(run_parallel(&source, &settings, &links, command)?);
        }
        Ok(environment.command(command)?)
    }
}

/// The command of a load.
const RUN: &str = "run";

/// A load of scripts in Lua of which a part can be driven, once: the states of its clients are there.
pub struct LuaLoad<S: Session> {
    pub(crate) load: Load<WireDriver<S>, LuaProgram>,
    /// For each workload the script beside the load, whose `init` was called and whose `done` is to be.
    beside: Mutex<Vec<Environment>>,
    voice: Arc<dyn Voice>,
}

impl<S: Session + 'static> LuaLoad<S> {
    /// Loads the scripts of `part`, and executes their `init`, until `stop` asks to end.
    pub(crate) fn build(
        plan: LoadPlan,
        part: &Part,
        connect: impl Fn(&Server) -> Result<Connector<S>, LoadError>,
        dialect: Dialect,
        voice: &Arc<dyn Voice>,
        open_log: &OpenLog<'_>,
        stop: &Stop,
    ) -> Result<Self, LoadError> {
        let mut known = Known::new(connect);
        let mut beside = Vec::new();
        let mut number = 0;
        let load = plan.try_map(|mut workload| {
            let Work::Lua(script) = &workload.program else {
                return Err(LoadError::Languages);
            };
            let connector = known.connector(&workload.driver.server)?;
            let settings = script.settings(dialect, workload.clients, RUN, voice, stop);
            let server: Arc<dyn Links> = Arc::new(connector.clone());
            let clients = part.clients(number, workload.clients, workload.threads);
            number += 1;
            if !clients.is_empty() {
                let mut environment = Environment::load(&script.source(), &settings, 0, Some(server))?;
                environment.call(Function::Init)?;
                beside.push(environment);
            }
            let program = LuaProgram::new(&script.source(), &settings, clients)?;
            let log = workload.log.as_ref().map(|log| open_log(&workload, log)).transpose()?;
            let driver = WireDriver {
                choice: Choice::First,
                statements: Vec::new(),
                texts: Vec::new(),
                preparing: Preparing::OnFirstUse,
                session: connector.sessions(),
                endpoints: connector.endpoints,
            };
            // Scripts connect as they like.
            workload.connecting = Connecting::OnDemand;
            Ok(workload.with(driver, program, log))
        })?;
        Ok(Self {
            load,
            beside: Mutex::new(beside),
            voice: Arc::clone(voice),
        })
    }

    pub(crate) fn counts(&self) -> Vec<Counts> {
        let workloads = self.load.workloads.iter();
        workloads.map(|workload| workload.program.counts()).collect()
    }

    /// Executes the scripts' `done` after a load that has ended so. If that fails, or `stop` ends it, it is said: what
    /// was measured counts.
    pub(crate) fn done(&self, outcome: &Outcome, stop: &Stop) {
        if has_asked_for_exit(outcome) {
            return;
        }
        for environment in self.beside.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            environment.heed(stop);
            if let Err(error) = environment.call(Function::Done) {
                self.voice.say(Level::Fatal, &error.to_string());
            }
        }
    }
}

/// Whether a load has ended because its script asked for the end of the program. Then nothing of it is called any more.
#[must_use]
pub fn has_asked_for_exit(outcome: &Outcome) -> bool {
    match &outcome.ended_early {
        Some(Ending::Program(error)) => matches!(error.of(), Some(LuaError::Exit { .. })),
        _ => false,
    }
}

/// Hears nothing.
pub(crate) struct Deaf;

impl Voice for Deaf {
    fn print(&self, _: &[u8]) {}

    fn say(&self, _: Level, _: &str) {}
}

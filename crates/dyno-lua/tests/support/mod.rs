//! What the tests share: servers, a voice that remembers, and ways to run scripts over the engine.

#![allow(dead_code, reason = "each test uses its own part")]

use dyno_engine::{
    Connected, Connector, FailurePolicy, Found, Load, Observer, OnBrokenScript, OnError, Outcome, Phase, Preparing,
    Stop, WireDriver, Workload, drive,
};
use dyno_lua::{
    Counts, Dialect, Environment, Level, LuaError, LuaProgram, OptionValue, Server, Settings, Source, Voice,
};
use dyno_lua::{RandomSettings, run_parallel};
use dyno_record::{Interval, Recording};
use dyno_target::mysql::address::ConnectionInfo as MyInfo;
use dyno_target::{mysql, postgres};
use dyno_wire::{MySession, PgSession, Session};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// Where Debian puts sysbench's scripts.
pub const SYSBENCH: &str = "/usr/share/sysbench";

/// A home that stays between test runs, so that one download serves all: `DYNO_HOME`, if it is set.
fn home() -> PathBuf {
    if let Some(home) = std::env::var_os("DYNO_HOME") {
        return home.into();
    }
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home")
}

/// Whether sysbench is here. A test that needs it says that it is left out if not, or fails if it must not be.
pub fn has_sysbench(test: &str) -> bool {
    let there = Path::new(SYSBENCH).is_dir() && Command::new("sysbench").arg("--version").output().is_ok();
    if !there {
        assert!(
            std::env::var_os("DYNO_REQUIRE_SYSBENCH").is_none(),
            "{test}: sysbench is not installed, and DYNO_REQUIRE_SYSBENCH is set"
        );
        let line = format!("test {test} is skipped: sysbench is not installed\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    there
}

/// A MariaDB with a database and a user `sbtest`.
pub struct Maria {
    server: mysql::embedded::Server,
}

/// The MariaDB of a test binary.
pub fn maria(cluster: &str) -> Maria {
    let mut options = mysql::embedded::EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    let embedded = mysql::embedded::Embedded::prepare(&options, &mut |_| ()).unwrap();
    let server = embedded.start(&[], &mut |_| ()).unwrap();
    let maria = Maria { server };
    maria.execute(
        "create database if not exists sbtest;
         create or replace user sbtest identified by 'secret';
         grant all on *.* to sbtest;
         set global log_output = 'TABLE'; set global general_log = on",
    );
    maria
}

impl Maria {
    pub fn execute(&self, statements: &str) {
        let mut client = self.server.connection("mysql").connect().unwrap();
        client.execute(statements).unwrap();
    }

    pub fn number(&self, query: &str) -> i64 {
        let mut client = self.server.connection("sbtest").connect().unwrap();
        client.query_first::<i64>(query).unwrap().unwrap()
    }

    pub fn text(&self, query: &str) -> String {
        let mut client = self.server.connection("sbtest").connect().unwrap();
        client.query_first::<String>(query).unwrap().unwrap()
    }

    pub fn info(&self) -> MyInfo {
        let address = format!(
            "mysql://sbtest:secret@127.0.0.1:{}/sbtest?ssl-mode=disabled",
            self.server.port()
        );
        MyInfo::resolve(&address, &|_| None).unwrap()
    }

    pub fn connector(&self) -> Connector<MySession> {
        dyno_load::connect::mysql(&self.info()).unwrap()
    }

    /// What sysbench takes to get here.
    pub fn words(&self) -> Vec<String> {
        let port = self.server.port();
        vec![
            "--db-driver=mysql".to_owned(),
            "--mysql-host=127.0.0.1".to_owned(),
            format!("--mysql-port={port}"),
            "--mysql-user=sbtest".to_owned(),
            "--mysql-password=secret".to_owned(),
            "--mysql-db=sbtest".to_owned(),
        ]
    }

    /// Forgets what was logged.
    pub fn forget(&self) {
        self.execute("truncate mysql.general_log");
    }

    /// What `sbtest` has asked for since: the kinds of commands and their texts, in their order.
    pub fn log(&self) -> Vec<String> {
        let mut client = self.server.connection("mysql").connect().unwrap();
        let query = "select concat(command_type, ': ', convert(argument using utf8mb4)) from mysql.general_log
                     where user_host like 'sbtest%' and command_type not in ('Quit', 'Connect', 'Close stmt')
                     order by event_time, thread_id";
        client.query::<String>(query).unwrap()
    }
}

/// The PostgreSQL of a test binary, with a database and a user `sbtest`.
pub struct Pg {
    server: postgres::embedded::Server,
}

pub fn pg(cluster: &str) -> Pg {
    let mut options = postgres::embedded::EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    let embedded = postgres::embedded::Embedded::prepare(&options, &mut |_| ()).unwrap();
    let settings = [("shared_preload_libraries".to_owned(), "pg_stat_statements".to_owned())];
    let server = embedded.start(&settings, &mut |_| ()).unwrap();
    let pg = Pg { server };
    let mut client = pg.server.connection("postgres").connect().unwrap();
    if client
        .query_opt("select from pg_database where datname = 'sbtest'", &[])
        .unwrap()
        .is_none()
    {
        client.batch_execute("create database sbtest").unwrap();
    }
    pg.execute(
        "create extension if not exists pg_stat_statements;
         do $$ begin create role sbtest superuser login password 'secret'; exception when others then null; end $$",
    );
    pg
}

impl Pg {
    pub fn execute(&self, statements: &str) {
        let mut client = self.server.connection("sbtest").connect().unwrap();
        client.batch_execute(statements).unwrap();
    }

    pub fn number(&self, query: &str) -> i64 {
        let mut client = self.server.connection("sbtest").connect().unwrap();
        client.query_one(query, &[]).unwrap().get(0)
    }

    pub fn text(&self, query: &str) -> String {
        let mut client = self.server.connection("sbtest").connect().unwrap();
        client.query_one(query, &[]).unwrap().get(0)
    }

    pub fn connector(&self) -> Connector<PgSession> {
        dyno_load::connect::postgres(&self.server.connection("sbtest")).unwrap()
    }

    pub fn words(&self) -> Vec<String> {
        let port = self.server.port();
        vec![
            "--db-driver=pgsql".to_owned(),
            "--pgsql-host=127.0.0.1".to_owned(),
            format!("--pgsql-port={port}"),
            "--pgsql-user=sbtest".to_owned(),
            "--pgsql-password=secret".to_owned(),
            "--pgsql-db=sbtest".to_owned(),
        ]
    }

    pub fn forget(&self) {
        self.execute("select pg_stat_statements_reset()");
    }

    /// How often each statement was executed, by text.
    pub fn calls(&self) -> Vec<(String, i64)> {
        let mut client = self.server.connection("sbtest").connect().unwrap();
        let query = "select query, sum(calls)::bigint from pg_stat_statements where query not like '%pg_stat%'
                     group by 1 order by 1";
        let rows = client.query(query, &[]).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

/// Remembers what scripts print and what is said of them.
#[derive(Default)]
pub struct Heard {
    pub printed: Mutex<String>,
    pub said: Mutex<Vec<String>>,
}

impl Voice for Heard {
    fn print(&self, bytes: &[u8]) {
        self.printed.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
    }

    fn say(&self, level: Level, message: &str) {
        self.said.lock().unwrap().push(format!("{level:?}: {message}"));
    }
}

impl Heard {
    pub fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
}

/// Settings with a fixed seed, and who hears.
pub fn settings(dialect: Dialect, threads: usize, options: &[(&str, OptionValue)]) -> (Settings, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let settings = Settings {
        options: options.collect(),
        threads,
        command: Some("run".to_owned()),
        random: RandomSettings {
            seed: 7,
            ..RandomSettings::default()
        },
        ..Settings::new(dialect, Arc::clone(&heard) as Arc<dyn Voice>)
    };
    (settings, heard)
}

pub fn number(value: i32) -> OptionValue {
    OptionValue::Number(value.into())
}

/// One of sysbench's scripts.
pub fn script(name: &str) -> Source {
    Source::file(&Path::new(SYSBENCH).join(format!("{name}.lua"))).unwrap()
}

/// A command, in as many states as it wants.
pub fn command<S: Session>(
    connector: &Connector<S>,
    source: &Source,
    settings: &Settings,
    name: &str,
) -> Result<(), LuaError> {
    let server: Arc<dyn Server> = Arc::new(connector.clone());
    let mut environment = Environment::load(source, settings, 0, Some(Arc::clone(&server)))?;
    match environment.declared().command(name) {
        Some(command) if command.parallel => run_parallel(source, settings, &server, name),
        _ => environment.command(name),
    }
}

/// What a load came to.
pub struct Came {
    pub outcome: Outcome,
    pub recording: Recording,
    pub counts: Counts,
    pub connected: bool,
    pub events: Vec<String>,
    /// What statements are counted under that the program came upon, in the order in which it did.
    pub statements: Vec<String>,
}

#[derive(Default)]
struct Keep {
    recording: Recording,
    connected: bool,
    events: Vec<String>,
    statements: Vec<String>,
}

impl Observer for Keep {
    fn connected(&mut self, _: &Connected) {
        self.connected = true;
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.recording.add(&interval.recordings[0]);
        ControlFlow::Continue(())
    }

    fn statement(&mut self, _workload: usize, _place: usize, found: Option<&Found>) {
        let text = found.map_or("others", |found| found.text.as_str());
        self.statements.push(text.to_owned());
    }

    fn client_event(&mut self, event: &dyno_engine::ClientEvent) {
        self.events.push(format!("{event:?}"));
    }
}

/// Drives a script for so long, or until its events are used up.
pub fn run<S: Session>(
    connector: &Connector<S>,
    source: &Source,
    settings: &Settings,
    threads: usize,
    duration: Duration,
) -> Result<Came, LuaError> {
    run_until(connector, source, settings, threads, duration, &Stop::new())
}

/// The same, unless somebody asks to stop.
pub fn run_until<S: Session>(
    connector: &Connector<S>,
    source: &Source,
    settings: &Settings,
    threads: usize,
    duration: Duration,
    stop: &Stop,
) -> Result<Came, LuaError> {
    let program = LuaProgram::new(source, settings, 0..settings.threads)?;
    let tally = program.tally();
    let driver = WireDriver {
        endpoints: connector.endpoints.clone(),
        choice: dyno_engine::Choice::First,
        session: connector.sessions(),
        statements: Vec::new(),
        texts: Vec::new(),
        preparing: Preparing::OnFirstUse,
    };
    let workload = Workload {
        threads,
        failures: FailurePolicy {
            on_error: OnError::AbortClient,
            on_broken_script: OnBrokenScript::EndLoad,
            ..FailurePolicy::default()
        },
        ..Workload::new("lua", settings.threads, driver, program)
    };
    let load = Load {
        record_finishing: true,
        ..Load::new(vec![workload], vec![Phase::new("run", duration)])
    };
    let mut keep = Keep::default();
    let outcome = drive(&load, &mut keep, stop).unwrap();
    Ok(Came {
        outcome,
        counts: tally.counts(),
        recording: keep.recording,
        connected: keep.connected,
        events: keep.events,
        statements: keep.statements,
    })
}

/// Executes the real one.
pub fn sysbench(words: &[String]) -> Output {
    Command::new("sysbench").args(words).output().unwrap()
}

pub static FOREVER: LazyLock<Duration> = LazyLock::new(|| Duration::MAX);

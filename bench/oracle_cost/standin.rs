//! The stand-in as a process of its own, so that what it takes counts for nobody: it answers the measured select from
//! memory and has the embedded PostgreSQL execute whatever else `dyno run` asks.

use crate::{ANSWER, ROWS};
use dyno_bench::{BENCH, BenchServer, Result, Server, option};
use dyno_oracle_standin::{
    Cancel, Column, Counts, Executor, Executors, Failure, Instant, Kind, Options, OracleError, Outcome, Postgres,
    Profile, Standin, Value, Work,
};
use postgres::{Config, NoTls};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

/// The word that makes this program the stand-in.
const WORD: &str = "--stand-in";

/// Which release it stands in for.
pub fn profile(name: &str) -> Result<Profile> {
    match name {
        "19" => Ok(Profile::V19),
        "23" => Ok(Profile::V23),
        other => Err(format!("--profile {other}: there are only 19 and 23").into()),
    }
}

/// Whether this process is to be the stand-in.
pub fn is_asked_for() -> bool {
    std::env::args().any(|word| word == WORD)
}

/// The stand-in's process: says its port, then its counts at each line that it reads, until there are no more.
pub fn serve() -> Result<()> {
    let mut config = Config::new();
    config.host_path(option("--sockets", String::new())?);
    config.port(option("--port", 0)?).user("postgres").dbname(BENCH);
    let behind = Postgres::prepare(config.clone(), BENCH)?;
    // Room for the sessions whose memory is measured.
    config.connect(NoTls)?.batch_execute(
        "update sysviews.\"v$resource_limit\" set limit_value = '5000' \
         where resource_name in ('processes', 'sessions')",
    )?;
    let instant = Instant::new().answer(
        STATEMENT_BEGIN,
        vec![Column::new("INFO", Kind::Varchar).sized(64)],
        vec![vec![Value::Text(ANSWER.to_owned())]],
    );
    // node-oracledb asks this at each log-in; PostgreSQL has no room for as many sessions.
    let instant = instant.answer(
        TIME_ZONE,
        vec![Column::new("DBTIMEZONE", Kind::Varchar).sized(64)],
        vec![vec![Value::Text("+00:00".to_owned())]],
    );
    let mut options = Options::new(Arc::new(Both { instant, behind }));
    options.profile = profile(&option("--profile", "23".to_owned())?)?;
    let standin = Standin::start(options)?;
    println!("{}", standin.address().port());
    for line in std::io::stdin().lines() {
        line?;
        let Counts {
            logins,
            parses,
            executions,
            round_trips,
            ..
        } = standin.counts();
        println!("{logins} {parses} {executions} {round_trips}");
        std::io::stdout().flush()?;
    }
    match standin.complaints().as_slice() {
        [] => Ok(()),
        complaints => Err(complaints.join("\n").into()),
    }
}

/// What all drivers' and dyno's texts of the select begin with; behind it is the placeholder.
const STATEMENT_BEGIN: &str = "select info from tbl where id =";
/// What node-oracledb asks for.
const TIME_ZONE: &str = "SELECT DBTIMEZONE FROM DUAL";

/// Executors that answer the select from memory and have PostgreSQL execute the rest.
struct Both {
    instant: Instant,
    behind: Postgres,
}

impl Executors for Both {
    fn executor(&self, session: u32) -> std::result::Result<Box<dyn Executor>, OracleError> {
        Ok(Box::new(Session {
            instant: self.instant.executor(session)?,
            behind: self.behind.clone(),
            rest: None,
            number: session,
        }))
    }
}

/// One session's. Most never ask PostgreSQL.
struct Session {
    instant: Box<dyn Executor>,
    behind: Postgres,
    rest: Option<Box<dyn Executor>>,
    number: u32,
}

impl Session {
    fn of(&mut self, sql: &str) -> std::result::Result<&mut dyn Executor, OracleError> {
        if sql.starts_with(STATEMENT_BEGIN) || sql == TIME_ZONE {
            return Ok(&mut *self.instant);
        }
        let rest = match &mut self.rest {
            Some(rest) => rest,
            none => none.insert(self.behind.executor(self.number)?),
        };
        Ok(&mut **rest)
    }
}

impl Executor for Session {
    fn execute(&mut self, work: &Work<'_>) -> std::result::Result<Outcome, Failure> {
        self.of(work.sql)?.execute(work)
    }

    fn describe(&mut self, sql: &str) -> std::result::Result<Option<Arc<[Column]>>, OracleError> {
        self.of(sql)?.describe(sql)
    }

    fn commit(&mut self) -> std::result::Result<(), OracleError> {
        self.rest.as_mut().map_or(Ok(()), |rest| rest.commit())
    }

    fn roll_back(&mut self) -> std::result::Result<(), OracleError> {
        self.rest.as_mut().map_or(Ok(()), |rest| rest.roll_back())
    }

    fn in_transaction(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.in_transaction())
    }

    fn cancel(&self) -> Option<Cancel> {
        // Nothing takes long enough, and being ready for it costs a thread for each execution.
        None
    }
}

/// What the stand-in has been asked so far.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub logins: u64,
    pub parses: u64,
    pub executions: u64,
    pub round_trips: u64,
}

/// The process, seen from here.
pub struct StandIn {
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    port: u16,
}

impl StandIn {
    /// Starts it with a PostgreSQL behind it.
    pub fn start(server: &BenchServer, profile: &str) -> Result<Self> {
        let mut config = Config::new();
        config.host_path(server.host(false)).port(server.port());
        let mut client = config.user("postgres").dbname(BENCH).connect(NoTls)?;
        // So that dyno finds what it asks the dictionary about.
        client.batch_execute(&format!(
            "create schema if not exists bench; drop table if exists bench.tbl;
             create table bench.tbl (id int primary key, info varchar(64));
             insert into bench.tbl select id, '{ANSWER}' from generate_series(1, {ROWS}) as id;"
        ))?;
        let mut child = Command::new(std::env::current_exe()?)
            .args([WORD, "--sockets", &server.host(false), "--profile", profile])
            .args(["--port", &server.port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let asks = child.stdin.take();
        let says = child.stdout.take().ok_or("the stand-in cannot be heard")?;
        let mut started = Self {
            child,
            asks,
            says: BufReader::new(says),
            port: 0,
        };
        started.port = started.line()?.parse()?;
        Ok(started)
    }

    /// Where it listens, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What clients have asked it so far.
    pub fn asked(&mut self) -> Result<Asked> {
        let asks = self.asks.as_mut().ok_or("the stand-in cannot be asked")?;
        asks.write_all(b"\n")?;
        let line = self.line()?;
        let numbers = line
            .split(' ')
            .map(str::parse)
            .collect::<std::result::Result<Vec<u64>, _>>()?;
        let [logins, parses, executions, round_trips] = numbers[..] else {
            return Err(format!("the stand-in said \"{line}\"").into());
        };
        Ok(Asked {
            logins,
            parses,
            executions,
            round_trips,
        })
    }

    /// Ends it, once all clients are gone.
    ///
    /// # Errors
    /// A client sent what no client should.
    pub fn finish(mut self) -> Result<()> {
        self.asks = None;
        match self.child.wait()? {
            status if status.success() => Ok(()),
            status => Err(format!("the stand-in ended with {status}, for the reason above").into()),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.says.read_line(&mut line)?;
        match line.trim() {
            "" => Err("the stand-in has ended".into()),
            line => Ok(line.to_owned()),
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

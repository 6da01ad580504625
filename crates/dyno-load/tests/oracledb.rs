//! A load through Oracle's own crate beside the same load through dyno's sessions, on a stand-in: what the server is
//! asked to do, and what comes of it, is the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

#[path = "../../dyno-oracle-standin/tests/behind/mod.rs"]
mod behind;

use dyno_engine::{
    ClientEvent, Connected, DriveError, Ending, Load, Observer, Outcome, Phase, Preparing, Stop, Workload,
};
use dyno_load::{Access, Given, LoadError, LoadPlan, Ready, ScriptText, Scripts, Server, Work, no_log};
use dyno_oracle_standin::{Counts, Fault, Instant, Misbehaviour, Moment, Options, Profile, Standin};
use dyno_record::{Interval, Recording};
use dyno_script::Lexis;
use dyno_target::oracle::address::ConnectionInfo;
use dyno_wire::Protocol;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TRANSACTIONS: u64 = 20;

/// The code of a connection that is lost.
const LOST: &str = "08006";

/// Which of them drives a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Dyno,
    Oracledb,
}

const BOTH: [Driver; 2] = [Driver::Dyno, Driver::Oracledb];

#[derive(Default)]
struct Sum(Recording);

impl Observer for Sum {
    fn connected(&mut self, _: &Connected) {}

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        interval.recordings.iter().for_each(|part| self.0.add(part));
        ControlFlow::Continue(())
    }

    fn client_event(&mut self, _: &ClientEvent) {}
}

impl Sum {
    /// How often which error came.
    fn errors(&self) -> BTreeMap<String, u64> {
        let each = self.0.errors_by_code.iter();
        each.map(|error| (error.code.to_string(), error.count)).collect()
    }
}

fn server(driver: Driver, address: &str) -> Server {
    let info = Box::new(ConnectionInfo::resolve(address, &|_| None).unwrap());
    match driver {
        Driver::Dyno => Server::Oracle(info),
        Driver::Oracledb => Server::OracleByCrate(info),
    }
}

/// So many clients of a script, each with [`TRANSACTIONS`].
fn plan(driver: Driver, address: &str, script: &str, clients: usize, protocol: Protocol) -> LoadPlan {
    let scripts = Scripts {
        scripts: vec![ScriptText {
            name: "test".to_owned(),
            text: script.as_bytes().to_vec(),
            weight: 1,
        }],
        lexis: Lexis::Oracle,
        variables: vec![Given::new("driver", format!("{driver:?}").as_str())],
        seed: 1,
        protocol,
    };
    let access = Access {
        server: server(driver, address),
        preparing: Preparing::OnFirstUse,
    };
    let workload = Workload {
        transactions_per_client: Some(TRANSACTIONS),
        ..Workload::new("w", clients, access, scripts.into())
    };
    Load {
        interval: Duration::from_millis(100),
        record_finishing: true,
        ..Load::new(vec![workload], vec![Phase::new("run", Duration::MAX)])
    }
}

fn drive(plan: LoadPlan) -> (Result<Outcome, DriveError>, Sum) {
    let mut sum = Sum::default();
    let outcome = Ready::of(plan, &no_log).unwrap().drive(&mut sum, &Stop::new());
    (outcome, sum)
}

fn address(standin: &Standin) -> String {
    format!("oracle://bench:secret@{}/shop", standin.address())
}

/// A stand-in that answers at once.
fn instant(set: impl FnOnce(&mut Options)) -> Standin {
    let mut options = Options::new(Arc::new(Instant::new()));
    set(&mut options);
    Standin::start(options).unwrap()
}

/// What a script has the server do, without what the crate's connections ask of their own accord: one statement each,
/// of how values are represented.
fn asked(driver: Driver, profile: Profile, script: &str, clients: usize, protocol: Protocol) -> Counts {
    let standin = instant(|options| options.profile = profile);
    let (outcome, sum) = drive(plan(driver, &address(&standin), script, clients, protocol));
    assert!(outcome.unwrap().ended_early.is_none());
    assert_eq!(sum.0.transactions, TRANSACTIONS * clients as u64);
    assert_eq!(sum.errors(), BTreeMap::new());
    assert_eq!(standin.complaints(), [""; 0]);
    // The server hears of it when the load is over.
    while standin.counts().logoffs < clients as u64 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let counts = standin.counts();
    assert_eq!((counts.logins, counts.logoffs), (clients as u64, clients as u64));
    let own = if driver == Driver::Oracledb { clients as u64 } else { 0 };
    Counts {
        executions: counts.executions - own,
        parses: counts.parses - own,
        ..counts
    }
}

#[test]
fn both_have_the_server_execute_and_commit_the_same() {
    let transaction =
        "start transaction;\nupdate t set a = :client_id;\nselect 1 from dual;\nupdate t set a = 2;\ncommit;";
    let single = "select 1 from dual;\ninsert into t values (:client_id);";
    for (script, executions, commits) in [(transaction, 3, 1), (single, 2, 1)] {
        for (profile, clients) in [(Profile::V19, 1), (Profile::V23, 3)] {
            for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
                let all = TRANSACTIONS * clients as u64;
                for driver in BOTH {
                    let counts = asked(driver, profile, script, clients, protocol);
                    let what = (counts.executions, counts.commits, counts.rollbacks, counts.pings);
                    assert_eq!(
                        what,
                        (executions * all, commits * all, 0, 0),
                        "{driver:?} {protocol} {script}"
                    );
                    // What it costs: a commit apart from its execution.
                    if driver == Driver::Oracledb {
                        assert_eq!(counts.commits_with_execution, 0);
                    }
                    // A text that is kept is parsed less often than executed by either, changes once a connection.
                    match protocol {
                        Protocol::Prepared => assert!(counts.parses < counts.executions, "{driver:?} {counts:?}"),
                        _ => assert_eq!(counts.parses, counts.executions, "{driver:?} {protocol}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_query_that_locks_is_followed_by_a_commit() {
    let script = "select a from t where a = 1 for update;";
    let counts = asked(Driver::Oracledb, Profile::V23, script, 1, Protocol::Prepared);
    assert_eq!((counts.executions, counts.commits), (TRANSACTIONS, TRANSACTIONS));
}

/// A stand-in that executes.
fn executing(name: &str, set: impl FnOnce(&mut Options)) -> (Standin, behind::Database) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
    let database = behind::database(&home, name).unwrap();
    let mut options = Options::new(Arc::new(database.executors.clone()));
    set(&mut options);
    (Standin::start(options).unwrap(), database)
}

fn client(standin: &Standin) -> dyno_target::oracle::Client {
    let info = ConnectionInfo::resolve(&address(standin), &|_| None).unwrap();
    info.connect().unwrap()
}

#[test]
fn scripts_are_given_the_same_values() {
    // Values that repeat those of the row before are left out, which the crate's reader is confused by.
    let (standin, _database) = executing("load_values", |options| options.compress = true);
    let mut client = client(&standin);
    for sql in [
        "create table given (id number(10), n number, name varchar2(40), at date, ts timestamp, d binary_double)",
        "insert into given values (1, -12.5, 'é', to_date('2026-11-24 16:25:55', 'YYYY-MM-DD HH24:MI:SS'), \
         to_timestamp('2026-11-24 16:25:55.123', 'YYYY-MM-DD HH24:MI:SS.FF'), 1.5)",
        "insert into given values (2, 12345678901234567890123456789, null, null, null, null)",
        "insert into given values (3, 12345678901234567890123456789, 'x', null, null, null)",
        "insert into given values (4, 0, 'x', null, null, 0.1)",
        "create table taken (driver varchar2(10), client number, id number, n varchar2(40), name varchar2(40), \
         at varchar2(40), ts varchar2(40), d varchar2(40), number_of varchar2(40), most varchar2(40))",
    ] {
        client.execute(sql).unwrap();
    }
    // Names of columns are in capitals.
    let script = "\\set id 1 + :client_id % 4\n\
                  select n, name, at, ts, d from given where id = :id \\gset\n\
                  select count(*) as number_of, max(n) as most from given where id < 10 + :id \\gset\n\
                  select id, n, name, at from given order by id;\n\
                  insert into taken values (:driver, :client_id, :id, :N, :NAME, :AT, :TS, :D, :NUMBER_OF, :MOST);";
    let mut seen = Vec::new();
    for protocol in [Protocol::Prepared, Protocol::Extended] {
        for driver in BOTH {
            let (outcome, sum) = drive(plan(driver, &address(&standin), script, 4, protocol));
            assert!(outcome.unwrap().ended_early.is_none());
            assert_eq!(sum.errors(), BTreeMap::new(), "{driver:?} {protocol}");
            let query = format!(
                "select client, id, count(*), max(coalesce(n, '-') || '/' || coalesce(name, '-') || '/' || \
                 coalesce(at, '-') || '/' || coalesce(ts, '-') || '/' || coalesce(d, '-') || '/' || number_of || '/' \
                 || most) from taken where driver = '{driver:?}' group by client, id \
                 order by client"
            );
            let rows: Vec<(String, String, String, String)> = client.query(&query).unwrap();
            client.execute("delete from taken").unwrap();
            assert!(
                rows.len() == 4 && rows.iter().all(|row| row.2 == TRANSACTIONS.to_string()),
                "{rows:?}"
            );
            assert!(rows[0].3.starts_with("-12.5/é/2026-11-24 16:25:55/"), "{rows:?}");
            seen.push(rows);
        }
    }
    assert!(seen.iter().all(|rows| *rows == seen[0]), "{seen:#?}");
    assert_eq!(standin.complaints(), [""; 0]);
}

#[test]
fn errors_are_of_the_same_classes() {
    let (standin, _database) = executing("load_errors", |_| ());
    client(&standin)
        .execute("create table keys (id number primary key)")
        .unwrap();
    client(&standin)
        .execute("create table two (id number primary key, n number)")
        .unwrap();
    client(&standin).execute("insert into two values (1, 0)").unwrap();
    client(&standin).execute("insert into two values (2, 0)").unwrap();
    for script in [
        "insert into keys values (1);",
        "select * from nowhere;",
        "select 1 from dual where;",
        "start transaction;\ninsert into keys values (1);\ncommit;",
    ] {
        let [ours, theirs] = BOTH.map(|driver| {
            client(&standin).execute("delete from keys").unwrap();
            let (outcome, sum) = drive(plan(driver, &address(&standin), script, 1, Protocol::Prepared));
            let outcome = outcome.unwrap();
            let ending = outcome.ended_early.map(|ending| ending.to_string());
            (ending, outcome.aborted, sum.errors(), sum.0.failures)
        });
        assert!(!ours.2.is_empty(), "{script}");
        assert_eq!(ours, theirs, "{script}");
    }
    // A deadlock, as often as it comes to one.
    let script = "\\if :client_id = 0\n\\set a 1\n\\else\n\\set a 2\n\\endif\n\
                  start transaction;\nupdate two set n = n + 1 where id = :a;\n\\sleep 30 ms\n\
                  update two set n = n + 1 where id = 3 - :a;\ncommit;";
    for driver in BOTH {
        let mut plan = plan(driver, &address(&standin), script, 2, Protocol::Prepared);
        plan.workloads[0].transactions_per_client = Some(4);
        let (outcome, sum) = drive(plan);
        assert_eq!(outcome.unwrap().aborted, [0]);
        let errors = sum.errors();
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["ORA-00060"], "{driver:?}");
        assert_eq!(errors["ORA-00060"], sum.0.failures.deadlock, "{driver:?}");
    }
    // What failed outside of a transaction has left none open: everybody else gets at the rows.
    client(&standin).execute("update two set n = 0").unwrap();
    assert_eq!(standin.complaints(), [""; 0]);
}

/// A stand-in with a fault at the third statement that a script executes, whichever driver executes it.
fn faulty(driver: Driver, what: Misbehaviour) -> Standin {
    let own = if driver == Driver::Oracledb { 1 } else { 0 };
    instant(|options| {
        options.faults = vec![Fault {
            when: Moment::Execute(3 + own),
            what,
        }];
    })
}

#[test]
fn a_statement_that_hangs_does_not_hold_up_the_end() {
    for driver in BOTH {
        let standin = faulty(driver, Misbehaviour::Silence);
        let mut plan = plan(driver, &address(&standin), "update t set a = 1;", 2, Protocol::Prepared);
        plan.workloads[0].transactions_per_client = None;
        plan.phases = vec![Phase::new("run", Duration::from_millis(300))];
        plan.grace = Duration::from_millis(100);
        let (outcome, sum) = drive(plan);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.unfinished, sum.0.transactions), (vec![2], 4), "{driver:?}");
    }
}

#[test]
fn a_connection_that_ends_is_lost() {
    let [ours, theirs] = BOTH.map(|driver| {
        let standin = faulty(driver, Misbehaviour::Close);
        let script = "update t set a = 1;";
        let (outcome, sum) = drive(plan(driver, &address(&standin), script, 1, Protocol::Prepared));
        let is_lost = matches!(outcome.unwrap().ended_early, Some(Ending::ConnectionsLost(_)));
        (is_lost, sum.0.transactions, sum.errors())
    });
    assert_eq!(ours, (true, 2, BTreeMap::from([(LOST.to_owned(), 1)])));
    assert_eq!(ours, theirs);
}

#[test]
fn a_panic_of_the_crate_is_an_error_of_the_client() {
    let standin = faulty(Driver::Oracledb, Misbehaviour::UnaskedErrors);
    for script in ["update t set a = 1;", "select 1 from dual;"] {
        let (outcome, sum) = drive(plan(
            Driver::Oracledb,
            &address(&standin),
            script,
            1,
            Protocol::Prepared,
        ));
        assert_eq!(outcome.unwrap().aborted, [0]);
        let errors = sum.errors();
        assert_eq!(errors.keys().collect::<Vec<_>>(), [LOST]);
        assert!(sum.0.transactions > 0);
    }
    // So it is while connecting.
    let standin = instant(|options| {
        options.faults = vec![Fault {
            when: Moment::Execute(1),
            what: Misbehaviour::UnaskedErrors,
        }];
    });
    let plan = plan(
        Driver::Oracledb,
        &address(&standin),
        "select 1 from dual;",
        1,
        Protocol::Prepared,
    );
    let error = drive(plan).0.unwrap_err().to_string();
    assert!(error.contains("panicked"), "{error}");
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let standin = instant(|_| ());
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for driver in BOTH {
        let error = |address: &str| {
            let plan = plan(driver, address, "select 1 from dual;", 1, Protocol::Prepared);
            drive(plan).0.unwrap_err().to_string()
        };
        let wrong = error(&address(&standin).replace("secret", "wr0ng"));
        assert!(
            wrong.contains("refused the connection") && wrong.contains("ORA-01017"),
            "{driver:?} {wrong}"
        );
        assert!(
            wrong.contains("check user name and password") && !wrong.contains("wr0ng"),
            "{driver:?} {wrong}"
        );
        let nobody = error(&format!("oracle://bench:secret@{gone}/shop"));
        assert!(
            nobody.contains("could not connect to the server at"),
            "{driver:?} {nobody}"
        );
        // The next of several hosts may be there.
        let second = format!("oracle://bench:secret@{gone},{}/shop", standin.address());
        let (outcome, sum) = drive(plan(driver, &second, "select 1 from dual;", 1, Protocol::Prepared));
        assert_eq!((outcome.unwrap().aborted, sum.0.transactions), (vec![0], TRANSACTIONS));
    }
}

#[test]
fn what_the_crate_cannot_do_is_said_before_the_load() {
    let at = |address| plan(Driver::Oracledb, address, "select 1 from dual;", 1, Protocol::Prepared);
    let strange = "oracles://bench:secret@127.0.0.1:1/shop?ssl_server_dn_match=off";
    let error = Ready::of(at(strange), &no_log).err().unwrap();
    assert!(error.to_string().contains("leave out ssl_server_dn_match"), "{error}");
    // One load is driven by one of them.
    let mut mixed = at("oracle://bench:secret@127.0.0.1:1/shop");
    let other = plan(
        Driver::Dyno,
        "oracle://u:p@127.0.0.1:1/s",
        "select 1 from dual;",
        1,
        Protocol::Prepared,
    );
    mixed.workloads.extend(other.workloads);
    assert!(matches!(Ready::of(mixed, &no_log).err(), Some(LoadError::Mixed)));
    let standin = instant(|_| ());
    let mut latin = plan(Driver::Oracledb, &address(&standin), "", 1, Protocol::Prepared);
    if let Work::Scripts(scripts) = &mut latin.workloads[0].program {
        scripts.scripts[0].text = b"select '\xe9' from dual;".to_vec();
    }
    let (_, sum) = drive(latin);
    let errors = &sum.0.errors_by_code;
    assert!(errors[0].example.contains("is not UTF-8"), "{errors:?}");
}

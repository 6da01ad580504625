//! A session with an Oracle server, on a stand-in: what is parsed how often, what is committed, what comes back, and
//! what becomes of it when the server is not as it should be.

use crate::support::stand_in::{StandIn, start_as};
use dyno_connect::{Client, ClientError, ConnectError, Limit, Stop};
use dyno_oracle_standin::{
    Account, Column, Fault, Instant, Kind, Listener, Misbehaviour, Moment, Options, Pieces, Profile, Standin, Value,
    Verifier,
};
use dyno_target::oracle::address::ConnectionInfo;
use dyno_wire::{
    Cancel, ErrorClass, Event, OraConfig, OraRows, OraSession, OraStatement, Parameters, Preparation, Protocol, Reply,
    Session, TransactionStatus,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The values of an execution; `None`: NULL.
struct Values<'a>(&'a [Option<&'a str>]);

impl Parameters for Values<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(self.0[index].unwrap_or_default().as_bytes());
        self.0[index].is_some()
    }
}

/// Servers that differ: all of them are to look the same.
fn servers() -> [fn(&mut Options); 4] {
    const fn cut(packet: usize, write: Option<usize>) -> Pieces {
        Pieces {
            sdu: 8192,
            packet: Some(packet),
            write,
        }
    }
    [
        |_| {},
        |options| {
            options.profile = Profile::V19;
            options.verifier = Verifier::V11g;
        },
        |options| {
            options.compress = true;
            options.pieces = cut(1, None);
        },
        |options| {
            options.profile = Profile::V19;
            options.compress = true;
            options.pieces = cut(7, Some(1));
        },
    ]
}

fn limit(stop: &Stop) -> Limit<'_> {
    Limit { stop, until: None }
}

fn try_connect(info: &ConnectionInfo) -> Result<Client<OraSession>, ConnectError> {
    let endpoint = info.endpoints().unwrap().swap_remove(0);
    Client::connect(endpoint, info.sessions(), limit(&Stop::new()))
}

fn connect(info: &ConnectionInfo) -> Client<OraSession> {
    try_connect(info).unwrap()
}

fn statement(index: usize, text: &str, values: usize, protocol: Protocol) -> OraStatement {
    OraStatement::new(index, text, values, protocol).unwrap()
}

fn prepared(index: usize, text: &str, values: usize) -> OraStatement {
    statement(index, text, values, Protocol::Prepared)
}

/// Executes a statement, which is to succeed.
fn execute(client: &mut Client<OraSession>, statement: &OraStatement, values: &[Option<&str>]) -> Reply {
    client
        .ask(|session, out| session.execute(statement, &Values(values), out))
        .unwrap()
}

/// Executes a statement and gives its rows as one text.
fn rows(client: &mut Client<OraSession>, statement: &OraStatement, values: &[Option<&str>]) -> String {
    client
        .ask(|session, out| {
            session.capture();
            session.execute(statement, &Values(values), out);
        })
        .unwrap();
    let result = client.session().captured().last().unwrap();
    let row = |row: &Vec<Option<String>>| {
        let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
        values.collect::<Vec<_>>().join(" ")
    };
    result.kept.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn refused(result: Result<Reply, ClientError>) -> dyno_wire::ServerError {
    match result {
        Err(ClientError::Refused(error)) => *error,
        other => panic!("{other:?}"),
    }
}

/// A stand-in with a table of so many accounts.
fn shop(database: &str, accounts: u32, set: impl FnOnce(&mut Options)) -> (StandIn, Client<OraSession>) {
    let stand_in = start_as(database, false, set);
    let mut client = connect(&stand_in.info);
    client
        .execute("create table acc (id number(10) primary key, bal number(10), info varchar2(100))")
        .unwrap();
    let insert = prepared(900, "insert into acc (id, bal, info) values ($1, $2, $3)", 3);
    let mut all = OraRows::new(&[true, true, false]);
    for id in 1..=accounts {
        let (id, info) = (id.to_string(), format!("info {}", id % 2));
        let info = (id != "3").then_some(info.as_str());
        all.push(&Values(&[Some(&id), Some("0"), info]));
    }
    let loaded = client
        .ask(|session, out| session.load_rows(&insert, &all, out))
        .unwrap();
    assert_eq!(loaded.affected, u64::from(accounts));
    (stand_in, client)
}

#[test]
fn what_is_executed_a_thousand_times_is_parsed_once() {
    for (number, set) in servers().into_iter().enumerate() {
        let times = if number < 2 { 1000 } else { 50 };
        let (stand_in, mut client) = shop(&format!("session_parse_{number}"), 10, set);
        let select = prepared(0, "select id, info from acc where id = $1", 1);
        let update = prepared(1, "update acc set bal = bal + $2 where id = $1", 2);
        let before = stand_in.standin.counts();
        for time in 0..times {
            let id = (time % 11 + 1).to_string();
            let expected = u64::from(time % 11 < 10);
            let reply = execute(&mut client, &select, &[Some(&id)]);
            assert_eq!(
                (reply.rows, reply.affected, reply.result_sets),
                (expected, expected, 1),
                "{number}"
            );
            let reply = execute(&mut client, &update, &[Some(&id), Some("-1")]);
            assert_eq!((reply.rows, reply.affected), (0, expected));
            assert_eq!(client.session().in_transaction(), TransactionStatus::Idle);
        }
        let counts = stand_in.standin.counts().since(&before);
        assert_eq!((counts.parses, counts.executions), (2, 2 * times), "{number}");
        assert_eq!((counts.commits, counts.commits_with_execution), (times, times));
        assert_eq!((counts.pings, counts.fetches), (0, 0));
        assert_eq!(stand_in.standin.complaints(), [""; 0]);
    }
}

#[test]
fn results_are_fetched_to_their_end() {
    for (number, set) in servers().into_iter().enumerate() {
        let (stand_in, mut client) = shop(&format!("session_fetch_{number}"), 250, set);
        let all = prepared(0, "select info, bal, id from acc where id <= $1 order by id", 1);
        for (most, fetches) in [(0, 0), (1, 0), (99, 0), (100, 1), (101, 1), (250, 2)] {
            let before = stand_in.standin.counts();
            let most_text = most.to_string();
            let reply = execute(&mut client, &all, &[Some(&most_text)]);
            assert_eq!((reply.rows, reply.completed), (most, 1), "{number}");
            let counts = stand_in.standin.counts().since(&before);
            assert_eq!(counts.fetches, fetches, "{most}");
        }
        let text = rows(&mut client, &all, &[Some("4")]);
        assert_eq!(text, "info 1 0 1\ninfo 0 0 2\nNULL 0 3\ninfo 0 0 4", "{number}");
        let text = rows(&mut client, &all, &[Some("250")]);
        assert_eq!(text.lines().count(), 250);
        assert!(text.ends_with("info 1 0 249\ninfo 0 0 250"));
        assert_eq!(stand_in.standin.complaints(), [""; 0]);
    }
}

#[test]
fn each_protocol_sends_what_it_says() {
    let (stand_in, mut client) = shop("session_protocols", 5, |_| {});
    for (protocol, parses) in [
        (Protocol::Simple, 10),
        (Protocol::Extended, 10),
        (Protocol::Prepared, 1),
    ] {
        let select = statement(
            protocol as usize,
            "select id, 'it''s $1' from acc where id = $1",
            1,
            protocol,
        );
        let before = stand_in.standin.counts();
        for _ in 0..10 {
            assert_eq!(rows(&mut client, &select, &[Some("2")]), "2 it's $1");
        }
        let counts = stand_in.standin.counts().since(&before);
        assert_eq!((counts.parses, counts.executions), (parses, 10), "{protocol}");
        // The last one's is closed with the next request.
        assert!(counts.closed_cursors == 0 || counts.closed_cursors >= parses - 1);
    }
    assert_eq!(stand_in.standin.complaints(), [""; 0]);
}

#[test]
fn values_keep_their_types() {
    let (stand_in, mut client) = shop("session_types", 1, |_| {});
    client
        .execute("create table t (n number, v varchar2(200), c char(5), d date, b binary_double)")
        .unwrap();
    let insert = prepared(0, "insert into t (n, v, c) values ($1, $2, $3)", 3);
    for (n, v) in [
        (Some("-12.75"), Some("abc")),
        (Some("0"), None),
        (None, Some("7")),
        (Some("123456789012345678901234567890"), Some("it's \u{e9}")),
        (Some("0.001"), Some("")),
    ] {
        execute(&mut client, &insert, &[n, v, Some("x")]);
    }
    let select = prepared(1, "select n, v, c from t order by n", 0);
    assert_eq!(
        rows(&mut client, &select, &[]),
        "-12.75 abc x    \n0 NULL x    \n0.001 NULL x    \n123456789012345678901234567890 it's \u{e9} x    \nNULL 7 \
         x    "
    );
    client.execute("update t set d = date '2026-11-24', b = 1.5").unwrap();
    let select = prepared(2, "select d, b from t where n = $1", 1);
    assert_eq!(rows(&mut client, &select, &[Some("0")]), "2026-11-24 00:00:00 1.5");
    assert_eq!(stand_in.standin.complaints(), [""; 0]);
}

#[test]
fn transactions_are_those_of_the_script() {
    let (stand_in, mut client) = shop("session_transactions", 3, |_| {});
    let texts = [
        "begin",
        "update acc set bal = bal + 1 where id = $1",
        "end",
        "select bal from acc where id = $1",
    ];
    let [begin, update, end, select] = [0, 1, 2, 3].map(|at| prepared(at, texts[at], at % 2));
    let before = stand_in.standin.counts();
    let reply = execute(&mut client, &begin, &[]);
    assert_eq!(reply.completed, 1);
    assert_eq!(client.session().in_transaction(), TransactionStatus::Open);
    for _ in 0..2 {
        execute(&mut client, &update, &[Some("1")]);
    }
    execute(&mut client, &end, &[]);
    assert_eq!(client.session().in_transaction(), TransactionStatus::Idle);
    let counts = stand_in.standin.counts().since(&before);
    assert_eq!(
        (counts.executions, counts.commits, counts.commits_with_execution),
        (2, 1, 0)
    );
    assert_eq!(counts.pings, 0);
    // What is rolled back is gone.
    client.execute("begin transaction").unwrap();
    execute(&mut client, &update, &[Some("1")]);
    client.ask(|session, out| session.rollback(out)).unwrap();
    assert_eq!(rows(&mut client, &select, &[Some("1")]), "2");
    // What a query locks is let go.
    let before = stand_in.standin.counts();
    client.execute("select bal from acc where id = 1 for update").unwrap();
    let counts = stand_in.standin.counts().since(&before);
    assert_eq!(client.session().in_transaction(), TransactionStatus::Idle);
    assert_eq!((counts.commits, counts.commits_with_execution), (1, 0));
    // Another session sees what was committed with its execution.
    execute(&mut client, &update, &[Some("2")]);
    let mut other = connect(&stand_in.info);
    assert_eq!(rows(&mut other, &select, &[Some("2")]), "1");
    assert_eq!(stand_in.standin.complaints(), [""; 0]);
}

#[test]
fn a_pipeline_is_answered_once() {
    let (stand_in, mut client) = shop("session_pipeline", 3, |_| {});
    let update = prepared(0, "update acc set bal = bal + 1 where id = $1", 1);
    let wrong = prepared(1, "update nowhere set bal = 1", 0);
    let begin = prepared(2, "begin", 0);
    let commit = prepared(3, "commit", 0);
    let reply = client
        .ask(|session, out| {
            session.queue(&begin, &(), out);
            session.queue(&update, &Values(&[Some("1")]), out);
            session.queue(&update, &Values(&[Some("2")]), out);
            session.queue(&commit, &(), out);
            session.sync(out);
        })
        .unwrap();
    assert_eq!((reply.affected, reply.completed), (2, 4));
    let error = refused(client.ask(|session, out| {
        session.queue(&wrong, &(), out);
        session.queue(&update, &Values(&[Some("3")]), out);
        session.sync(out);
    }));
    assert_eq!(error.code.as_str(), "ORA-00942");
    // Nothing in it.
    assert_eq!(client.ask(|session, out| session.sync(out)).unwrap(), Reply::default());
    let sum = prepared(4, "select sum(bal) from acc", 0);
    assert_eq!(rows(&mut client, &sum, &[]), "3");
    assert_eq!(stand_in.standin.complaints(), [""; 0]);
}

#[test]
fn errors_say_what_they_are_and_cost_no_cursor() {
    let (stand_in, mut client) = shop("session_errors", 3, |_| {});
    let insert = prepared(0, "insert into acc (id, bal) values ($1, 0)", 1);
    let before = stand_in.standin.counts();
    for _ in 0..3 {
        let error = refused(client.ask(|session, out| session.execute(&insert, &Values(&[Some("1")]), out)));
        assert_eq!((error.code.as_str(), error.class), ("ORA-00001", ErrorClass::Other));
    }
    execute(&mut client, &insert, &[Some("100")]);
    assert_eq!(stand_in.standin.counts().since(&before).parses, 1);
    // A statement that is refused is not known, and refused again.
    let wrong = prepared(1, "select id from nowhere", 0);
    let mut replies = Vec::new();
    for _ in 0..2 {
        let asked = client.ask(|session, out| session.execute(&wrong, &(), out));
        let error = refused(asked);
        assert_eq!((error.code.as_str(), error.class), ("ORA-00942", ErrorClass::Statement));
        replies.push(client.session().knows(&wrong));
    }
    assert_eq!(replies, [true, true]);
    // Prepared alone, and then executed.
    let select = prepared(2, "select id from acc where id = $1", 1);
    let before = stand_in.standin.counts();
    let reply = client
        .ask(|session, out| assert!(session.prepare(&select, out)))
        .unwrap();
    assert_eq!((reply.accepted, reply.preparation), (1, Preparation::None));
    assert_eq!(rows(&mut client, &select, &[Some("2")]), "2");
    assert_eq!(stand_in.standin.counts().since(&before).parses, 1);
    assert_eq!(stand_in.standin.complaints(), [""; 0]);
}

/// The first words of why a connection cannot be made.
fn why(set: impl FnOnce(&mut Options), address: impl Fn(SocketAddr) -> String) -> String {
    let mut options = Options::new(Arc::new(Instant::new()));
    set(&mut options);
    let standin = Standin::start(options).unwrap();
    let info = ConnectionInfo::resolve(&address(standin.address()), &|_| None).unwrap();
    match try_connect(&info) {
        Ok(_) => panic!("it is let in"),
        Err(error) => error.to_string(),
    }
}

fn usual(address: SocketAddr) -> String {
    format!("oracle://bench:secret@{address}/shop")
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    for (number, part) in [
        (12_514, "asked for (SERVICE_NAME=shop)"),
        (12_505, "does not know the SID"),
        (12_516, "raise PROCESSES"),
        (12_520, "raise PROCESSES"),
        (12_528, "restricted mode"),
        (12_660, "native network encryption"),
    ] {
        let error = why(|options| options.listener = Listener::Refuses(number), usual);
        assert!(
            error.contains(&format!("ORA-{number}")) && error.contains(part),
            "{error}"
        );
    }
    for profile in [Profile::V19, Profile::V23] {
        for verifier in [Verifier::V11g, Verifier::V12c] {
            let set = |options: &mut Options| (options.profile, options.verifier) = (profile, verifier);
            let wrong = |address| format!("oracle://bench:wrong@{address}/shop");
            let error = why(set, wrong);
            assert!(
                error.contains("ORA-01017") && error.contains("case-sensitive"),
                "{error}"
            );
        }
        for (account, part) in [(Account::Locked, "ORA-28000"), (Account::Expired, "ORA-28001")] {
            let error = why(|options| options.account = account, usual);
            assert!(error.contains(part) && error.contains("HINT"), "{error}");
        }
    }
    let there = SocketAddr::from(([127, 0, 0, 1], 2484));
    let error = why(|options| options.listener = Listener::RedirectsToTls(there), usual);
    assert!(
        error.contains("(PORT=2484)") && error.contains("begins with oracles://"),
        "{error}"
    );
    let error = why(|options| options.listener = Listener::DemandsEncryption, usual);
    assert!(error.contains("demands Oracle's native network encryption"), "{error}");
}

#[test]
fn a_listener_asks_again() {
    let mut options = Options::new(Arc::new(Instant::new()));
    options.listener = Listener::AsksAgain;
    let standin = Standin::start(options).unwrap();
    let mut client = connect(&ConnectionInfo::resolve(&usual(standin.address()), &|_| None).unwrap());
    client.execute("select 1 from dual").unwrap();
    assert_eq!(standin.complaints(), [""; 0]);
}

#[test]
fn a_listener_sends_us_on() {
    let server = Standin::start(Options::new(Arc::new(Instant::new()))).unwrap();
    let mut options = Options::new(Arc::new(Instant::new()));
    options.listener = Listener::Redirects(server.address());
    let listener = Standin::start(options).unwrap();
    let info = ConnectionInfo::resolve(&usual(listener.address()), &|_| None).unwrap();
    let mut client = connect(&info);
    client.execute("select 1 from dual").unwrap();
    assert_eq!((listener.counts().logins, server.counts().logins), (0, 1));
    drop(client);
    // Where nobody is.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = why(|options| options.listener = Listener::Redirects(nobody), usual);
    assert!(error.contains(&nobody.to_string()), "{error}");
    // Round and round: the listener sends us to itself.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let itself = |options: &mut Options| {
        options.listener = Listener::Redirects(free);
        options.port = free.port();
    };
    let error = why(itself, usual);
    assert!(error.contains("sent us on more than 8 times"), "{error}");
}

#[test]
fn encryption_begins_with_the_first_byte() {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (own.cert.der().clone(), own.signing_key.serialize_der());
    let encrypted = rustls::ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate],
            rustls::pki_types::PrivatePkcs8KeyDer::from(key).into(),
        )
        .unwrap();
    let encrypted = Arc::new(encrypted);
    let start = |listener| {
        let mut options = Options::new(Arc::new(Instant::new()));
        options.tls = Some(Arc::clone(&encrypted));
        options.listener = listener;
        Standin::start(options).unwrap()
    };
    let standin = start(Listener::Accepts);
    let wallet = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("session-wallet");
    std::fs::create_dir_all(&wallet).unwrap();
    std::fs::write(wallet.join("ewallet.pem"), own.cert.pem()).unwrap();
    let address = |host: &str, wallet: &str| {
        let port = standin.address().port();
        let address = format!("oracles://bench:secret@{host}:{port}/shop?wallet_location={wallet}");
        ConnectionInfo::resolve(&address, &|_| None).unwrap()
    };
    let mut client = connect(&address("127.0.0.1", wallet.to_str().unwrap()));
    assert_eq!(
        client.query("select 1 from dual").unwrap().last_row(),
        [Some("1".to_owned())]
    );
    drop(client);
    // A listener that has us encrypt anew, and one that sends us on.
    for listener in [Listener::AsksAgain, Listener::Redirects(standin.address())] {
        let (before, asking) = (standin.counts().logins, start(listener));
        let there = format!(
            "oracles://bench:secret@{}/shop?wallet_location={}",
            asking.address(),
            wallet.display()
        );
        let mut client = connect(&ConnectionInfo::resolve(&there, &|_| None).unwrap());
        client.execute("select 1 from dual").unwrap();
        assert_eq!(
            asking.counts().logins + standin.counts().logins,
            before + 1,
            "{listener:?}"
        );
    }
    // Another host's certificate, and a server that does not encrypt.
    let error = try_connect(&address("localhost", wallet.to_str().unwrap()))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("certificate") && error.contains("WALLET_LOCATION"),
        "{error}"
    );
    assert_eq!(standin.counts().logins, 2);
    let plain = Standin::start(Options::new(Arc::new(Instant::new()))).unwrap();
    let there = format!(
        "oracles://bench:secret@{}/shop?wallet_location={}&transport_connect_timeout=1",
        plain.address(),
        wallet.display()
    );
    let error = try_connect(&ConnectionInfo::resolve(&there, &|_| None).unwrap())
        .err()
        .unwrap();
    assert!(error.to_string().contains("TLS"), "{error}");
}

#[test]
fn other_servers_are_told() {
    // A PostgreSQL server takes what we say for a length that is far too large, and hangs up.
    let postgres = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = postgres.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut first, _) = postgres.accept().unwrap();
        first.read_exact(&mut [0; 64]).unwrap();
        drop(first);
        let (mut second, _) = postgres.accept().unwrap();
        second.read_exact(&mut [0; 8]).unwrap();
        second.write_all(b"N").unwrap();
    });
    let info = ConnectionInfo::resolve(&usual(address), &|_| None).unwrap();
    let error = try_connect(&info).err().unwrap().to_string();
    assert!(
        error.contains("a PostgreSQL server answers there, not Oracle"),
        "{error}"
    );
    answering.join().unwrap();
    let mysql = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mysql.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut first, _) = mysql.accept().unwrap();
        first.write_all(b"\x4a\0\0\0\x0a8.0.36\0and so on").unwrap();
        let _ = first.read(&mut [0; 64]);
    });
    let info = ConnectionInfo::resolve(&usual(address), &|_| None).unwrap();
    let error = try_connect(&info).err().unwrap().to_string();
    assert!(error.contains("a MySQL or MariaDB server answers there"), "{error}");
    answering.join().unwrap();
}

#[test]
fn a_server_that_misbehaves_is_given_up() {
    let moments = [
        Moment::Connect,
        Moment::Negotiate,
        Moment::LogIn,
        Moment::Proof,
        Moment::Execute(2),
        Moment::Fetch(1),
    ];
    let faults = [
        Misbehaviour::Close,
        Misbehaviour::Half,
        Misbehaviour::HugePacket,
        Misbehaviour::HugePiece,
        Misbehaviour::Garbage,
        Misbehaviour::WrongProof,
        Misbehaviour::Silence,
        Misbehaviour::HalfThenSilence,
    ];
    std::thread::scope(|scope| {
        for profile in [Profile::V19, Profile::V23] {
            for when in moments {
                for what in faults {
                    let comes = match (when, what) {
                        (when, Misbehaviour::WrongProof) => when == Moment::Proof,
                        // The listener's answer has no pieces.
                        (Moment::Connect, what) => what != Misbehaviour::HugePiece,
                        // It goes with the first step of the log-in.
                        (Moment::Negotiate, _) => profile == Profile::V19,
                        _ => true,
                    };
                    if comes {
                        scope.spawn(move || misbehave(profile, Fault { when, what }));
                    }
                }
            }
        }
    });
}

/// Has a session meet this fault, after which nothing may be left of it but an error.
fn misbehave(profile: Profile, fault: Fault) {
    let number = |id| vec![Value::number(id)];
    let many = (1..=300).map(number).collect();
    let answers = Instant::new().answer("from many", vec![Column::new("ID", Kind::Number)], many);
    let mut options = Options::new(Arc::new(answers));
    options.profile = profile;
    options.faults = vec![fault];
    let standin = Standin::start(options).unwrap();
    let address = format!("{}?transport_connect_timeout=5", usual(standin.address()));
    let info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
    let failed = match try_connect(&info) {
        Err(error) => error.to_string(),
        Ok(mut client) => {
            client.set_patience(Some(Duration::from_secs(2)));
            let statements = ["select 1 from dual", "select id from many", "select id from many"];
            let failed = statements.iter().find_map(|statement| client.execute(statement).err());
            match failed {
                Some(error) => error.to_string(),
                None => format!("{profile:?} {fault:?} does no harm: {:?}", standin.counts()),
            }
        }
    };
    assert!(
        !failed.contains("does no harm") && failed.len() < 1000,
        "{fault:?}: {failed}"
    );
    if fault.what == Misbehaviour::WrongProof {
        assert!(
            failed.contains("failed to prove that it knows the password"),
            "{failed}"
        );
    }
}

/// A connection whose bytes are moved by hand.
struct ByHand {
    stream: TcpStream,
    session: OraSession,
    out: Vec<u8>,
}

impl ByHand {
    fn connect(address: SocketAddr) -> Self {
        let config = OraConfig {
            user: "bench".into(),
            password: Some("secret".into()),
            connect_data: OraConfig::service("shop"),
            ..OraConfig::default()
        };
        let mut client = Self {
            stream: TcpStream::connect(address).unwrap(),
            session: OraSession::new(Arc::new(config)),
            out: Vec::new(),
        };
        client.session.start(&mut client.out).unwrap();
        assert_eq!(client.next(), Event::Started);
        client
    }

    /// Sends what is to be sent, and hands over what comes byte by byte, until it amounts to something.
    fn next(&mut self) -> Event {
        loop {
            self.stream.write_all(&self.out).unwrap();
            self.out.clear();
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            let (used, event) = self.session.receive(&byte, &mut self.out).unwrap();
            assert_eq!(used, 1);
            if event != Event::NeedInput {
                return event;
            }
        }
    }
}

#[test]
fn a_break_is_followed_by_an_error_and_nothing_else() {
    for profile in [Profile::V19, Profile::V23] {
        let name = format!("session_break_{profile:?}");
        let stand_in = start_as(&name.to_lowercase(), false, |options| options.profile = profile);
        let mut client = ByHand::connect(stand_in.standin.address());
        let sleep = prepared(0, "begin dbms_session.sleep($1); end;", 1);
        let select = prepared(1, "select 1 from dual", 0);
        assert_eq!(client.session.cancel(), None);
        for _ in 0..2 {
            client.session.execute(&sleep, &Values(&[Some("30")]), &mut client.out);
            let Some(Cancel::Break(message)) = client.session.cancel() else {
                panic!("nothing breaks it");
            };
            client.stream.write_all(&client.out).unwrap();
            client.out.clear();
            std::thread::sleep(Duration::from_millis(100));
            client.out.extend_from_slice(&message);
            match client.next() {
                Event::Reply(reply) => assert!(reply.failed),
                other => panic!("{other:?}"),
            }
            assert_eq!(client.session.error().unwrap().code.as_str(), "ORA-01013");
            client.session.execute(&select, &(), &mut client.out);
            match client.next() {
                Event::Reply(reply) => assert_eq!((reply.rows, reply.failed), (1, false)),
                other => panic!("{other:?}"),
            }
        }
        client.session.terminate(&mut client.out);
        client.stream.write_all(&client.out).unwrap();
        // Its answer, which nobody waits for but here.
        client.stream.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(stand_in.standin.counts().breaks, 2);
        assert_eq!(stand_in.standin.complaints(), [""; 0]);
    }
}

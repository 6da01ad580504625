//! That the stand-in is a fair one is shown by Oracle's own driver: python-oracledb logs in to it, executes statements
//! with the results of a real server, and understands its errors.
//!
//! The driver is looked for where `.ci/run` puts it (`target/ci-tools`) and among Python's own packages. Where there is
//! none, nothing is shown and the tests pass, unless `DYNO_REQUIRE_ORACLEDB=1` says that there must be one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod behind;

use dyno_oracle_standin::{
    Account, Column, Fault, Instant, Kind, Listener, Misbehaviour, Moment, Options, Pieces, Profile, Standin, Value,
    Verifier,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// Python with the driver; `None` if there is none.
///
/// # Panics
/// There must be one.
fn python() -> Option<Command> {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("ci-tools");
    let python = || {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &tools).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let found = python().args(["-c", "import oracledb"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python());
    }
    assert!(
        std::env::var_os("DYNO_REQUIRE_ORACLEDB").is_none_or(|value| value != "1"),
        "there is no python-oracledb, and DYNO_REQUIRE_ORACLEDB=1"
    );
    eprintln!("nothing shown: there is no python-oracledb");
    None
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(name)
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs `driver.py` against a stand-in on a database of its own.
fn accept(database: &str, change: impl FnOnce(&mut Options), certificate: Option<&Path>) {
    let Some(mut python) = python() else { return };
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
    let database = behind::database(&home, database).unwrap();
    let mut options = Options::new(Arc::new(database.executors.clone()));
    change(&mut options);
    let standin = Standin::start(options).unwrap();
    python
        .arg(script("driver.py"))
        .arg(standin.address().port().to_string());
    let output = python.args(certificate).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(standin.complaints(), [""; 0]);
    let counts = standin.counts();
    assert_eq!((counts.logins, counts.logoffs, counts.breaks), (2, 2, 2));
    assert!(counts.parses < counts.executions, "{counts:?}");
}

#[test]
fn a_23ai_is_accepted() {
    accept("oracledb_23", |_| {}, None);
}

#[test]
fn a_23ai_is_accepted_in_small_pieces_without_repeated_values() {
    let change = |options: &mut Options| {
        options.verifier = Verifier::V11g;
        options.compress = true;
        options.pieces = Pieces {
            sdu: 2048,
            packet: Some(600),
            write: Some(1),
        };
    };
    accept("oracledb_pieces", change, None);
}

#[test]
fn a_19c_is_accepted() {
    let change = |options: &mut Options| {
        options.profile = Profile::V19;
        options.verifier = Verifier::V11gMd5;
        options.pieces.sdu = 512;
    };
    accept("oracledb_19", change, None);
}

#[test]
fn a_19c_that_speaks_tls_is_accepted() {
    let party = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.pem");
    std::fs::write(&certificate, party.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(party.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![party.cert.der().clone()], key)
        .unwrap();
    let change = |options: &mut Options| {
        options.profile = Profile::V19;
        options.tls = Some(Arc::new(config));
    };
    accept("oracledb_tls", change, Some(&certificate));
}

/// Runs `rare.py` against a stand-in with tables of rare types.
fn read_rare(change: impl FnOnce(&mut Options)) {
    let Some(mut python) = python() else { return };
    let mut options = Options::new(Arc::new(Instant::new().with_rare(120)));
    change(&mut options);
    let standin = Standin::start(options).unwrap();
    python.arg(script("rare.py")).arg(standin.address().port().to_string());
    let output = python.output().unwrap();
    let complaints = standin.complaints();
    assert!(output.status.success(), "{} {complaints:?}", said(&output));
    assert_eq!(complaints, [""; 0]);
    let counts = standin.counts();
    assert!(counts.parses < counts.executions && counts.defines > 0, "{counts:?}");
}

#[test]
fn rare_types_of_a_23ai_are_read() {
    read_rare(|_| {});
}

#[test]
fn rare_types_of_a_19c_are_read_in_small_pieces_without_repeated_values() {
    read_rare(|options| {
        options.profile = Profile::V19;
        options.compress = true;
        options.pieces.packet = Some(600);
    });
}

/// A friendly stand-in with a table of 25 rows in memory.
fn friendly() -> Options {
    let columns = vec![Column::new("ID", Kind::Number), Column::new("INFO", Kind::Varchar)];
    let rows = (1..=25).map(|id| vec![Value::number(id), Value::text("info")]);
    Options::new(Arc::new(Instant::new().answer("from tbl", columns, rows.collect())))
}

#[test]
fn what_is_unfriendly_is_understood() {
    let Some(mut python) = python() else { return };
    let there = Standin::start(friendly()).unwrap();
    let listener = |listener| {
        let mut options = friendly();
        options.listener = listener;
        options
    };
    let account = |account| {
        let mut options = friendly();
        options.account = account;
        options
    };
    let fault = |profile, when, what| {
        let mut options = friendly();
        options.profile = profile;
        options.faults = vec![Fault { when, what }];
        options
    };
    let mut old = friendly();
    old.profile = Profile::V19;
    let cases = [
        (friendly(), "25 rows"),
        (old, "25 rows"),
        (listener(Listener::Redirects(there.address())), "25 rows"),
        (listener(Listener::AsksAgain), "25 rows"),
        (listener(Listener::Refuses(12_514)), "DPY-6005 DPY-6001 ORA-12514"),
        (listener(Listener::Refuses(12_516)), "DPY-6005 DPY-6000 ORA-12516"),
        (listener(Listener::Refuses(12_520)), "DPY-6005 DPY-6000 ORA-12520"),
        (listener(Listener::DemandsEncryption), "DPY-6005 DPY-3001"),
        (account(Account::Locked), "ORA-28000"),
        (account(Account::Expired), "ORA-28001"),
        (
            fault(Profile::V23, Moment::Connect, Misbehaviour::Close),
            "DPY-6005 DPY-4011",
        ),
        (fault(Profile::V19, Moment::Negotiate, Misbehaviour::Half), "DPY-4011"),
        (fault(Profile::V23, Moment::LogIn, Misbehaviour::Half), "DPY-4011"),
        (fault(Profile::V23, Moment::Proof, Misbehaviour::WrongProof), "DPY-4035"),
        (fault(Profile::V23, Moment::Execute(1), Misbehaviour::Half), "DPY-4011"),
        (fault(Profile::V23, Moment::Fetch(2), Misbehaviour::Close), "DPY-4011"),
        (fault(Profile::V19, Moment::Fetch(2), Misbehaviour::Half), "DPY-4011"),
    ];
    let cases = cases.map(|(options, expected)| (Standin::start(options).unwrap(), expected));
    let ports = cases.iter().map(|(standin, _)| standin.address().port().to_string());
    let output = python.arg(script("login.py")).args(ports).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let expected: Vec<_> = cases.iter().map(|(_, expected)| *expected).collect();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(),
        expected
    );
}

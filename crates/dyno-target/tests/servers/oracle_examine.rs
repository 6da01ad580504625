//! What is said of an Oracle server before a load, on a stand-in: who is let in, what was agreed, what lacks.

use crate::support::stand_in::{StandIn, start, start_as};
use dyno_oracle_standin::{Account, Listener, Options, Profile, Verifier};
use dyno_record::{Finding, Mark, Topic};
use dyno_target::oracle::address::ConnectionInfo;
use dyno_target::target::{External, StopFlag};
use std::io::{Read, Write};
use std::net::TcpListener;

fn examined(info: &ConnectionInfo, clients: Option<usize>) -> Vec<Finding> {
    let findings = info.examine(clients, &StopFlag::default());
    for finding in &findings {
        let all = format!("{finding:?}");
        assert!(!all.contains("secret"), "{all}");
    }
    findings
}

fn of<'a>(findings: &'a [Finding], topic: Topic, subject: &str) -> &'a Finding {
    let found = findings
        .iter()
        .find(|finding| finding.topic == topic && finding.subject == subject);
    found.unwrap_or_else(|| panic!("no {subject} in {findings:#?}"))
}

/// The subjects that are not as they should be, with their marks.
fn lacking(findings: &[Finding]) -> Vec<(&str, Mark)> {
    let lacking = findings.iter().filter(|finding| finding.mark != Mark::Ok);
    lacking
        .map(|finding| (finding.subject.as_str(), finding.mark))
        .collect()
}

#[test]
fn what_was_agreed_is_told() {
    let StandIn { info, .. } = &start("examine_23", true);
    let findings = examined(info, Some(64));
    // The stand-in has no dbms_lock.
    assert_eq!(lacking(&findings), [("lock", Mark::Note)]);
    let said = |subject| of(&findings, Topic::Server, subject).found.clone();
    assert!(said("server").contains("19c Stand-in"), "{}", said("server"));
    assert_eq!(said("log-in"), "as BENCH, by a verifier of 12c, not encrypted");
    assert_eq!(
        said("protocol"),
        "version 319, fields of version 24, packets of 8192 bytes, strings of 32767 bytes; log-in in two exchanges \
         (fast authentication); the end of each response is marked"
    );
    assert_eq!(
        said("characters"),
        "the database has UTF-8 (AL32UTF8); its national characters are of set 2000"
    );
    let connections = &of(&findings, Topic::Settings, "connections").found;
    assert!(
        connections.starts_with("enough for a load of 230 clients"),
        "{connections}"
    );

    let StandIn { info, .. } = &start_as("examine_19", true, |options| options.profile = Profile::V19);
    let findings = examined(info, None);
    let spoken = &of(&findings, Topic::Server, "protocol").found;
    assert!(spoken.starts_with("version 318, fields of version 12"), "{spoken}");
    assert!(
        spoken.contains("in five exchanges; ends of responses are found"),
        "{spoken}"
    );
}

#[test]
fn an_ordinary_user_learns_what_to_grant_and_what_lacks_without() {
    let StandIn { info, .. } = &start("examine_ordinary", false);
    let findings = examined(info, None);
    let all = [
        "settings",
        "counters",
        "sessions",
        "statements",
        "log switches",
        "parameters",
        "lock",
        "checkpoint",
    ];
    assert_eq!(lacking(&findings), all.map(|subject| (subject, Mark::Note)));
    let counters = of(&findings, Topic::Rights, "counters");
    assert!(
        counters.found.contains("v$sysstat") && counters.found.contains("no redo"),
        "{counters:?}"
    );
    assert_eq!(counters.commands, ["grant select_catalog_role to BENCH;"]);
    let settings = of(&findings, Topic::Rights, "settings");
    assert_eq!(
        settings.commands,
        ["grant alter system to BENCH;", "grant select_catalog_role to BENCH;"]
    );
    let lock = of(&findings, Topic::Rights, "lock");
    assert_eq!(lock.commands, ["grant execute on dbms_lock to BENCH;"]);
}

#[test]
fn what_keeps_a_load_from_running_is_a_problem() {
    let StandIn { info, behind, .. } = &start("examine_room", true);
    let mut behind = behind.connect().unwrap();
    let findings = examined(info, Some(231));
    let connections = of(&findings, Topic::Settings, "connections");
    assert_eq!(connections.mark, Mark::Problem);
    assert!(
        connections.found.starts_with("processes is 300, of which 60"),
        "{connections:?}"
    );
    behind
        .batch_execute("update sys.user_resource_limits set \"limit\" = '40' where resource_name = 'SESSIONS_PER_USER'")
        .unwrap();
    let findings = examined(info, Some(31));
    let connections = of(&findings, Topic::Settings, "connections");
    assert!(
        connections.remedy.as_ref().unwrap().contains("user's profile"),
        "{connections:?}"
    );

    behind
        .batch_execute("update sys.user_ts_quotas set max_bytes = 500000000")
        .unwrap();
    let findings = examined(info, None);
    let room = of(&findings, Topic::Settings, "room");
    assert_eq!(room.mark, Mark::Note);
    assert_eq!(room.commands, ["alter user BENCH quota unlimited on \"USERS\";"]);
    behind.batch_execute("delete from sys.user_ts_quotas").unwrap();
    let findings = examined(info, None);
    let data = of(&findings, Topic::Rights, "data");
    assert_eq!(data.mark, Mark::Problem);
    assert!(
        data.found.starts_with("this user has no quota on the tablespace USERS"),
        "{data:?}"
    );
    behind
        .batch_execute("delete from sys.privileges where privilege in ('CREATE TABLE', 'CREATE SEQUENCE')")
        .unwrap();
    let findings = examined(info, None);
    let data = of(&findings, Topic::Rights, "data");
    assert_eq!(data.mark, Mark::Problem);
    assert_eq!(data.commands[0], "grant create table to BENCH;");
    let objects = of(&findings, Topic::Rights, "objects");
    assert_eq!(objects.commands, ["grant create sequence to BENCH;"]);
}

#[test]
fn parameters_that_make_results_questionable_are_told() {
    let StandIn { info, .. } = &start("examine_settings", true);
    let mut client = info.connect().unwrap();
    for setting in [
        "commit_wait = 'NOWAIT'",
        "open_cursors = 20",
        "statistics_level = all",
        "db_block_checking = 'FULL'",
    ] {
        client
            .execute(&format!("alter system set {setting} scope = memory"))
            .unwrap();
    }
    let findings = examined(info, None);
    let questionable = ["durability", "cursors", "overhead"].map(|subject| of(&findings, Topic::Settings, subject));
    assert_eq!(questionable.map(|finding| finding.mark), [Mark::Note; 3]);
    let overhead = &questionable[2].found;
    assert!(
        overhead.contains("(statistics_level)") && overhead.contains("(db_block_checking)"),
        "{overhead}"
    );
    // What it says to type sets them right.
    for command in questionable.iter().flat_map(|finding| &finding.commands) {
        client.execute(command.trim_end_matches(';')).unwrap();
    }
    let findings = examined(info, None);
    assert_eq!(lacking(&findings), [("lock", Mark::Note)]);
    client.execute("create table dyno_run (id number)").unwrap();
    let findings = examined(info, None);
    assert_eq!(of(&findings, Topic::Rights, "data").mark, Mark::Problem);
}

/// The only finding about a server like this.
fn refused(set: impl FnOnce(&mut Options)) -> Finding {
    let stand_in = start_as("examine_refused", true, set);
    let mut findings = examined(&stand_in.info, None);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    // Who fails again and again may be locked out.
    assert_eq!(stand_in.standin.counts().connections, 1);
    findings.remove(0)
}

#[test]
fn who_is_not_let_in_is_told_why_and_what_to_do() {
    type Set = Box<dyn FnOnce(&mut Options)>;
    let cases: [(Set, &str, &str); 6] = [
        (
            Box::new(|options| options.password = "other".to_owned()),
            "ORA-01017",
            "DYNO_ORACLE_PASSWORD",
        ),
        (
            Box::new(|options| options.account = Account::Locked),
            "ORA-28000",
            "unlock",
        ),
        (
            Box::new(|options| options.account = Account::Expired),
            "ORA-28001",
            "expired",
        ),
        (
            Box::new(|options| options.listener = Listener::Refuses(12514)),
            "ORA-12514",
            "lsnrctl services",
        ),
        (
            Box::new(|options| options.listener = Listener::Refuses(12520)),
            "ORA-12520",
            "raise PROCESSES",
        ),
        (
            Box::new(|options| options.listener = Listener::DemandsEncryption),
            "native network encryption",
            "",
        ),
    ];
    for (set, found, remedy) in cases {
        let finding = refused(set);
        assert_eq!((finding.topic, finding.mark), (Topic::Server, Mark::Problem));
        assert!(finding.found.contains(found), "{finding:?}");
        assert!(
            finding.remedy.clone().unwrap_or_default().contains(remedy),
            "{finding:?}"
        );
    }
}

#[test]
fn a_user_whom_only_the_load_can_use_is_told() {
    // Oracle's crate knows no verifier of 11g.
    let StandIn { info, .. } = &start_as("examine_11g", true, |options| {
        options.profile = Profile::V19;
        options.verifier = Verifier::V11g;
    });
    let findings = info.examine(None, &StopFlag::default());
    assert_eq!(
        of(&findings, Topic::Server, "log-in").found,
        "as BENCH, by a verifier of 11g, not encrypted"
    );
    let beside = of(&findings, Topic::Server, "log-in beside");
    assert_eq!(beside.mark, Mark::Problem);
    assert!(
        beside.remedy.as_ref().unwrap().contains("verifier of 11g only"),
        "{beside:?}"
    );
}

/// The only finding about whoever answers a connection like this.
fn answered_by(first: &'static [u8], scheme: &str) -> Finding {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            let _ = socket.write_all(first);
            let _ = socket.read(&mut [0; 512]);
        }
    });
    let address = format!("{scheme}://bench:secret@127.0.0.1:{port}/shop");
    let info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
    let mut findings = examined(&info, None);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

#[test]
fn others_at_the_port_are_told_by_their_names() {
    let mysql = b"\x4a\0\0\0\x0a8.4.0\0\x08\0\0\0salt.salt\0";
    for (first, scheme, part) in [
        (&mysql[..], "oracle", "MySQL"),
        (b"E\0\0\0\x10SFATAL\0", "oracle", "PostgreSQL"),
        (
            b"HTTP/1.1 400 Bad Request\r\n",
            "oracle",
            "no answer of an Oracle listener",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n", "oracles", "no TLS connection"),
        // A listener that takes TLS only says so.
        (b"\x15\x03\x03\0\x02\x02\x32", "oracle", "oracles://"),
    ] {
        let finding = answered_by(first, scheme);
        let all = format!("{} {}", finding.found, finding.remedy.unwrap_or_default());
        assert!(all.contains(part), "{part}: {all}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let info = ConnectionInfo::resolve(&format!("oracle://bench:secret@{closed}/shop"), &|_| None).unwrap();
    let findings = info.examine(None, &StopFlag::default());
    assert!(findings[0].found.contains("could not connect"), "{findings:?}");
}

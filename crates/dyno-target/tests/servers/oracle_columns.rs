//! A session with an Oracle server reads results whatever types their columns have: what is behind such a column is
//! where it belongs, in first rows and in later ones, at each execution, in packets of any size.

use dyno_connect::{Client, ClientError, Limit, Stop};
use dyno_oracle_standin::{Fault, Instant, Misbehaviour, Moment, Options, Pieces, Profile, Standin};
use dyno_target::oracle::address::ConnectionInfo;
use dyno_wire::{OraSession, OraStatement, Protocol, Reply, Session};
use std::sync::Arc;
use std::time::Duration;

/// Rows of a table: more than come at a time.
const ROWS: u64 = 120;

/// All tables of one rare type, and what is shown of it in the first row, if it can be.
const TABLES: [(&str, Option<&str>); 19] = [
    ("longs", Some("a long text")),
    ("long_raws", Some("00FEFF")),
    ("clobs", Some("grün 漢 grün")),
    ("nclobs", Some("grün 漢")),
    ("blobs", Some("000102030405")),
    ("bfiles", None),
    ("jsons", None),
    ("vectors", None),
    ("rowids", None),
    ("urowids", None),
    ("months", None),
    ("durations", None),
    ("locals", None),
    ("nchars", Some("漢   ")),
    ("nvarchars", Some("é€")),
    ("booleans", None),
    ("xmls", None),
    ("objects", None),
    ("cursors", None),
];

fn start(set: impl FnOnce(&mut Options)) -> Standin {
    let mut options = Options::new(Arc::new(Instant::new().with_rare(ROWS as i64)));
    set(&mut options);
    Standin::start(options).unwrap()
}

fn connect(standin: &Standin) -> Client<OraSession> {
    let address = format!("oracle://bench:secret@{}/shop", standin.address());
    let info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
    let endpoint = info.endpoints().unwrap().swap_remove(0);
    let stop = Stop::new();
    let limit = Limit {
        stop: &stop,
        until: None,
    };
    Client::connect(endpoint, info.sessions(), limit).unwrap()
}

fn prepared(index: usize, text: &str) -> OraStatement {
    OraStatement::new(index, text, 0, Protocol::Prepared).unwrap()
}

fn execute(client: &mut Client<OraSession>, statement: &OraStatement, looks: bool) -> Result<Reply, ClientError> {
    client.ask(|session, out| {
        if looks {
            session.capture();
        }
        session.execute(statement, &(), out);
    })
}

/// Both generations, with packets as small as can be.
fn servers() -> [fn(&mut Options); 4] {
    const fn cut(packet: usize) -> Pieces {
        Pieces {
            sdu: 8192,
            packet: Some(packet),
            write: None,
        }
    }
    [
        |_| {},
        |options| options.profile = Profile::V19,
        |options| {
            options.compress = true;
            options.pieces = cut(1);
        },
        |options| {
            options.profile = Profile::V19;
            options.compress = true;
            options.pieces = cut(1);
        },
    ]
}

#[test]
fn rows_are_read_behind_columns_of_any_type() {
    for (number, set) in servers().into_iter().enumerate() {
        let standin = start(set);
        let mut client = connect(&standin);
        for (index, (table, shown)) in TABLES.into_iter().chain([("rare", None)]).enumerate() {
            // A long value that is cut at every byte is read anew with each.
            if number >= 2 && matches!(table, "clobs" | "rare") {
                continue;
            }
            let select = prepared(index, &format!("select * from {table}"));
            let before = standin.counts();
            for _ in 0..3 {
                let reply = execute(&mut client, &select, false).unwrap();
                assert_eq!((reply.rows, reply.completed), (ROWS, 1), "{number} {table}");
            }
            let counts = standin.counts().since(&before);
            assert_eq!((counts.parses, counts.executions), (1, 3), "{table}");
            assert_eq!(counts.sent_rows, 3 * ROWS, "{table}");
            let told = matches!(table, "clobs" | "nclobs" | "blobs" | "jsons" | "vectors" | "rare");
            assert_eq!(counts.defines, u64::from(told), "{table}");
            let looked = execute(&mut client, &select, true);
            match (shown, looked) {
                (Some(shown), Ok(_)) => {
                    let kept = &client.session().captured()[0].kept;
                    assert_eq!(kept.len() as u64, ROWS);
                    for (at, row) in kept.iter().enumerate() {
                        let id = at + 1;
                        let tail = format!("tail {id}");
                        assert_eq!(
                            (row[0].as_deref(), row[2].as_deref()),
                            (Some(&*id.to_string()), Some(&*tail))
                        );
                        let value = row[1].as_deref();
                        assert_eq!(value.is_none(), id % 3 == 0, "{table} {id}");
                        assert!(value.is_none_or(|value| value.starts_with(shown)), "{table}: {value:?}");
                    }
                }
                (None, Err(ClientError::Refused(error))) => {
                    assert!(
                        error.message.contains("cannot be shown") && error.hint.is_some(),
                        "{error}"
                    );
                }
                (_, looked) => panic!("{table}: {looked:?}"),
            }
            // The connection is as good as before, and the statement too.
            assert_eq!(execute(&mut client, &select, false).unwrap().rows, ROWS, "{table}");
        }
        assert_eq!(standin.complaints(), [""; 0]);
    }
}

#[test]
fn each_protocol_reads_them() {
    let standin = start(|_| {});
    let mut client = connect(&standin);
    for (index, protocol) in [Protocol::Simple, Protocol::Extended].into_iter().enumerate() {
        let select = OraStatement::new(index, "select * from rare", 0, protocol).unwrap();
        for _ in 0..2 {
            assert_eq!(execute(&mut client, &select, false).unwrap().rows, ROWS, "{protocol}");
        }
    }
    // Parsed alone, and then executed.
    let select = prepared(5, "select * from clobs");
    client
        .ask(|session, out| assert!(session.prepare(&select, out)))
        .unwrap();
    assert_eq!(execute(&mut client, &select, false).unwrap().rows, ROWS);
    assert_eq!(standin.counts().defines, 5);
    assert_eq!(standin.complaints(), [""; 0]);
}

#[test]
fn what_is_not_known_is_refused() {
    let standin = start(|_| {});
    let mut client = connect(&standin);
    let Err(ClientError::Refused(error)) = execute(&mut client, &prepared(0, "select * from unknown"), false) else {
        panic!("it is read");
    };
    assert!(error.message.contains("\"OWNER\" is of type number 111"), "{error}");
    assert_eq!(
        execute(&mut client, &prepared(1, "select * from xmls"), false)
            .unwrap()
            .rows,
        ROWS
    );
}

#[test]
fn a_connection_may_end_anywhere_in_a_fetch() {
    for profile in [Profile::V19, Profile::V23] {
        // Rows that come with an execution, that are fetched, and that are fetched in a form that was told.
        for (table, when) in [
            ("durations", Moment::Execute(2)),
            ("bfiles", Moment::Fetch(1)),
            ("nclobs", Moment::Fetch(1)),
        ] {
            let harmed = (0..)
                .take_while(|length| ends_after(profile, table, when, *length))
                .count();
            // At each byte of a reply with four rows, and behind it no more.
            assert!((80..600).contains(&harmed), "{profile:?} {table}: {harmed}");
        }
    }
}

/// Whether a query fails whose reply is cut off behind so many bytes, which it has to do as a connection that is lost.
fn ends_after(profile: Profile, table: &str, when: Moment, length: usize) -> bool {
    let mut options = Options::new(Arc::new(Instant::new().with_rare(4)));
    options.profile = profile;
    options.faults = vec![Fault {
        when,
        what: Misbehaviour::After(length),
    }];
    let standin = Standin::start(options).unwrap();
    let mut client = connect(&standin);
    client.set_patience(Some(Duration::from_secs(60)));
    let select = prepared(0, &format!("select * from {table}"));
    if when == Moment::Execute(2) {
        assert_eq!(execute(&mut client, &select, false).unwrap().rows, 4);
    }
    match execute(&mut client, &select, false) {
        Ok(reply) => {
            assert_eq!(reply.rows, 4);
            false
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("closed the connection"), "{table} {length}: {error}");
            true
        }
    }
}

//! The measured connections' own session on a real MariaDB: what its scripted servers claim, seen from the other side.

use crate::support::{home, quiet};
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions};
use dyno_wire::tls::{self, ClientOptions, SslMode};
use dyno_wire::{
    Cancel, ErrorClass, Event, MyConfig, MySession, MyStatement, Parameters, Preparation, Protocol, Reply, Session,
    TransactionStatus,
};
use rustls::{ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

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

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A session and its connection.
struct Client {
    session: MySession,
    stream: Box<dyn Stream>,
    out: Vec<u8>,
}

impl Client {
    fn on_socket(info: &ConnectionInfo) -> Self {
        let stream = UnixStream::connect(info.host.to_string()).unwrap();
        Self::start(MySession::new(config(info, true)), Box::new(stream))
    }

    fn encrypted(info: &ConnectionInfo, port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let session = MySession::new(config(info, false)).asking_for_tls(SslMode::Require);
        Self::start(session, Box::new(stream))
    }

    fn start(session: MySession, stream: Box<dyn Stream>) -> Self {
        let mut client = Self {
            session,
            stream,
            out: Vec::new(),
        };
        client.session.start(&mut client.out).unwrap();
        if client.next() == Event::StartTls {
            client.stream.write_all(&client.out).unwrap();
            client.out.clear();
            let options = ClientOptions {
                mode: SslMode::Require,
                ..ClientOptions::default()
            };
            let name = tls::server_name(SslMode::Require, "localhost").unwrap();
            let mut connection = ClientConnection::new(tls::client_config(&options).unwrap(), name).unwrap();
            while connection.is_handshaking() {
                connection.complete_io(&mut client.stream).unwrap();
            }
            client.session.encrypted(&connection, &mut client.out).unwrap();
            client.stream = Box::new(StreamOwned::new(connection, client.stream));
            assert_eq!(client.next(), Event::Started);
        }
        client
    }

    /// Sends what is to be sent, and waits for the next event.
    fn next(&mut self) -> Event {
        let mut input = vec![0; 1 << 20];
        loop {
            self.stream.write_all(&self.out).unwrap();
            self.stream.flush().unwrap();
            self.out.clear();
            let length = self.stream.read(&mut input).unwrap();
            assert!(length > 0, "the server closed the connection");
            let mut at = 0;
            while at < length {
                let (used, event) = self.session.receive(&input[at..length], &mut self.out).unwrap();
                at += used;
                if event != Event::NeedInput {
                    assert_eq!(at, length, "more than was asked for");
                    return event;
                }
            }
        }
    }

    fn reply(&mut self) -> Reply {
        match self.next() {
            Event::Reply(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    fn query(&mut self, sql: &str) -> Reply {
        self.session
            .query(|out| out.extend_from_slice(sql.as_bytes()), &mut self.out);
        self.reply()
    }

    fn execute(&mut self, statement: &MyStatement, values: &[Option<&str>]) -> Reply {
        self.session.execute(statement, &Values(values), &mut self.out);
        self.reply()
    }

    /// The last row of the last result.
    fn row(&self) -> Vec<Option<String>> {
        self.session.captured().last().unwrap().last_row().to_vec()
    }
}

fn config(info: &ConnectionInfo, local: bool) -> Arc<MyConfig> {
    Arc::new(MyConfig {
        user: info.user.clone(),
        password: info.password.clone(),
        database: info.database.clone(),
        program_name: "dyno".into(),
        local,
    })
}

fn statement(index: usize, sql: &str, parameters: usize, protocol: Protocol) -> MyStatement {
    MyStatement::new(index, sql, parameters, protocol).unwrap()
}

/// All on one server: it takes longer to start than everything here.
#[test]
fn a_session_speaks_with_a_real_server() {
    let mut options = EmbeddedOptions::new(home());
    "tests-mysql-session".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let settings = [("ssl", "1"), ("max_allowed_packet", "64M")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let server = embedded.start(&settings, &mut quiet).unwrap();
    let info = server.connection("mysql");
    let mut client = Client::on_socket(&info);
    assert!(client.session.server_version().starts_with("11.4"));
    client.query("create or replace database session");
    client.query("use session");
    let create = "create table t (id int primary key, c varchar(40), d double, at datetime(3), u bigint unsigned)";
    assert!(!client.query(create).failed, "{:?}", client.session.error());

    values_arrive_whatever_the_protocol(&mut client);
    long_values_arrive(&mut client);
    errors_have_their_classes(&mut client);
    locks_end_in_their_classes(&mut client, &info);
    pipelines_are_one_reply(&mut client);
    procedures_give_several_results(&mut client);
    a_statement_is_cancelled(&mut client, &info);
    let mut encrypted = Client::encrypted(&server.connection_tcp("session"), server.port());
    encrypted.session.capture();
    encrypted.query("show session status like 'Ssl_version'");
    assert_eq!(encrypted.row()[1].as_deref(), Some("TLSv1.3"));
    client.query("drop database session");
}

fn values_arrive_whatever_the_protocol(client: &mut Client) {
    let row = [
        Some("-7"),
        Some(r"it's \ 100%"),
        Some("0.25"),
        Some("2024-01-31 10:11:12.345"),
        Some("18446744073709551615"),
    ];
    let expected = row.map(|value| value.map(String::from));
    for (index, protocol) in Protocol::ALL.into_iter().enumerate() {
        client.query("delete from t");
        let insert = statement(2 * index, "insert into t values ($1, $2, $3, $4, $5)", 5, protocol);
        let reply = client.execute(&insert, &row);
        assert_eq!(
            (reply.affected, reply.failed),
            (1, false),
            "{:?}",
            client.session.error()
        );
        let select = statement(2 * index + 1, "select * from t where id = ? and c = ?", 2, protocol);
        let preparations = match protocol {
            Protocol::Prepared => [Preparation::Accepted, Preparation::None],
            _ => [Preparation::None; 2],
        };
        for preparation in preparations {
            client.session.capture();
            let reply = client.execute(&select, &[row[0], row[1]]);
            assert_eq!((reply.rows, reply.preparation), (1, preparation), "{protocol}");
            assert_eq!(client.row(), expected, "{protocol}");
        }
        let update = statement(10 + index, "update t set c = ?", 1, protocol);
        assert_eq!(client.execute(&update, &[None]).affected, 1);
        // Found, though not changed.
        assert_eq!(client.execute(&update, &[None]).affected, 1);
        client.session.capture();
        client.query("select c from t");
        assert_eq!(client.row(), [None]);
    }
}

fn long_values_arrive(client: &mut Client) {
    // Around the length of a packet.
    for length in [(1 << 24) - 10, 17 << 20] {
        let value = "x".repeat(length);
        for (index, protocol) in Protocol::ALL.into_iter().enumerate() {
            let select = statement(20 + index, "select length(?), ?", 2, protocol);
            client.session.capture();
            let reply = client.execute(&select, &[Some(&value), Some(&value)]);
            assert!(!reply.failed, "{:?}", client.session.error());
            let row = client.row();
            assert_eq!(row[0], Some(length.to_string()));
            assert!(row[1].as_ref() == Some(&value), "{length} by {protocol}");
        }
    }
    // Rows that nobody looks into are passed, however long they are.
    let reply =
        client.query("select repeat('x', 17 << 20) union all select repeat('y', 40 << 20) union all select 'z'");
    assert_eq!((reply.rows, reply.failed), (3, false), "{:?}", client.session.error());
}

fn errors_have_their_classes(client: &mut Client) {
    for (number, (sql, code, class)) in [
        ("selec", "1064", ErrorClass::Statement),
        ("select * from nowhere", "1146", ErrorClass::Statement),
        ("select nothing from t", "1054", ErrorClass::Statement),
    ]
    .into_iter()
    .enumerate()
    {
        let wrong = statement(30 + number, sql, 0, Protocol::Prepared);
        for preparation in [Preparation::Refused, Preparation::None] {
            let reply = client.execute(&wrong, &[]);
            assert_eq!((reply.failed, reply.preparation), (true, preparation));
            let error = client.session.error().unwrap();
            assert_eq!((error.code.as_str(), error.class), (code, class), "{error}");
        }
    }
    client.query("replace into t (id) values (1)");
    assert!(client.query("insert into t (id) values (1)").failed);
    assert_eq!(client.session.error().unwrap().code.as_str(), "1062");
    client.query("begin");
    assert_eq!(client.session.in_transaction(), TransactionStatus::Open);
    client.query("rollback");
    assert_eq!(client.session.in_transaction(), TransactionStatus::Idle);
    assert!(client.query("load data local infile '/dev/null' into table t").failed);
    assert!(client.query("select 1 / 0").noticed);
    assert_eq!(client.session.take_notices().len(), 1);
}

fn locks_end_in_their_classes(client: &mut Client, info: &ConnectionInfo) {
    let class_of = |client: &Client| {
        let error = client.session.error().unwrap();
        (error.code.as_str().to_owned(), error.class)
    };
    let mut other = Client::on_socket(info);
    other.query("use session");
    client.query("replace into t (id) values (1), (2)");
    other.query("begin; update t set d = 1 where id = 1");
    client.query("set innodb_lock_wait_timeout = 1");
    assert!(client.query("update t set d = 2 where id = 1").failed);
    assert_eq!(class_of(client), ("1205".to_owned(), ErrorClass::LockTimeout));
    client.query("set innodb_lock_wait_timeout = 50");
    client.query("begin; update t set d = 2 where id = 2");
    // Each wants what the other has; which of them has to yield is the server's choice.
    other.session.query(
        |out| out.extend_from_slice(b"update t set d = 1 where id = 2"),
        &mut other.out,
    );
    other.stream.write_all(&other.out).unwrap();
    other.out.clear();
    let failed = client.query("update t set d = 2 where id = 1").failed;
    let ours = failed.then(|| class_of(client));
    client.query("rollback");
    let theirs = other.reply().failed.then(|| class_of(&other));
    let lost: Vec<_> = [ours, theirs].into_iter().flatten().collect();
    assert_eq!(lost, [("1213".to_owned(), ErrorClass::Deadlock)]);
    other.query("rollback");
}

fn pipelines_are_one_reply(client: &mut Client) {
    client.query("delete from t");
    let insert = statement(40, "insert into t (id) values (?)", 1, Protocol::Prepared);
    for (first, failed) in [(0, false), (99, true)] {
        for id in first..first + 100 {
            let id = id.to_string();
            client.session.queue(&insert, &Values(&[Some(&id)]), &mut client.out);
        }
        client.session.sync(&mut client.out);
        let reply = client.reply();
        let done = 100 - u64::from(failed);
        assert_eq!((reply.failed, reply.affected, reply.completed), (failed, done, done));
    }
    assert_eq!(client.session.error().unwrap().code.as_str(), "1062");
}

fn procedures_give_several_results(client: &mut Client) {
    client.query("create procedure p() begin select 1; select 2, 3; end");
    for (index, protocol) in Protocol::ALL.into_iter().enumerate() {
        let call = statement(50 + index, "call p()", 0, protocol);
        client.session.capture();
        assert_eq!(client.execute(&call, &[]).rows, 2);
        let rows: Vec<u64> = client.session.captured().iter().map(|result| result.rows).collect();
        assert_eq!(rows, [1, 1]);
    }
    assert_eq!(client.query("select 1; select 2; select 3").completed, 3);
}

fn a_statement_is_cancelled(client: &mut Client, info: &ConnectionInfo) {
    let Some(Cancel::Statement(kill)) = client.session.cancel() else {
        panic!("no statement cancels");
    };
    let other = std::thread::spawn({
        let info = info.clone();
        move || {
            let mut other = Client::on_socket(&info);
            let sleeping = "select 1 from information_schema.processlist where info like 'select sleep%'";
            while other.query(sleeping).rows == 0 {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            assert!(!other.query(&kill).failed);
        }
    });
    assert!(client.query("select sleep(600)").failed);
    assert_eq!(client.session.error().unwrap().code.as_str(), "1317");
    other.join().unwrap();
}

//! Talks to a PostgreSQL server over one blocking connection, to try a session by hand:
//!
//! ```text
//! cargo run -p dyno-wire --example by_hand -- HOST:PORT USER PASSWORD DATABASE SSLMODE ROOTS PROTOCOL SQL [VALUE…]
//! ```
//!
//! PASSWORD may be empty; ROOTS is a PEM file, `system` or empty.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use dyno_wire::tls::{self, ClientOptions, Encryption, Roots, SslMode, TlsError};
use dyno_wire::{Event, Parameters, PgConfig, PgSession, PgStatement, Protocol, Secret, Session};
use rustls::{ClientConnection, StreamOwned};

type Outcome<T> = Result<T, Box<dyn Error>>;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

struct Values<'a>(&'a [String]);

impl Parameters for Values<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(self.0[index].as_bytes());
        self.0[index] != "NULL"
    }
}

/// What the address and the files say.
struct Target<'a> {
    address: &'a str,
    mode: SslMode,
    roots: &'a str,
    config: Arc<PgConfig>,
}

impl Target<'_> {
    /// A connection with a session on it that has started.
    fn connect(&self, encryption: Encryption) -> Outcome<(Box<dyn Stream>, PgSession)> {
        let mut session = PgSession::new(Arc::clone(&self.config));
        if encryption == Encryption::Tls {
            session = session.asking_for_tls(self.mode);
        }
        let mut stream: Box<dyn Stream> = Box::new(TcpStream::connect(self.address)?);
        let mut out = Vec::new();
        session.start(&mut out)?;
        if next(&mut stream, &mut session, &mut out)? == Event::StartTls {
            let pem = match self.roots {
                "" | "system" => Vec::new(),
                file => std::fs::read(file)?,
            };
            let roots = match self.roots {
                "" => None,
                "system" => Some(Roots::System),
                _ => Some(Roots::Pem(&pem)),
            };
            let host = self.address.rsplit_once(':').map_or(self.address, |(host, _)| host);
            let config = tls::client_config(&ClientOptions {
                mode: self.mode,
                roots,
                ..ClientOptions::default()
            })?;
            let mut connection = ClientConnection::new(config, tls::server_name(self.mode, host)?)?;
            while connection.is_handshaking() {
                let failure = |error| TlsError::from_io(&error).map_or(error.into(), Box::<dyn Error>::from);
                connection.complete_io(&mut stream).map_err(failure)?;
            }
            session.encrypted(&connection, &mut out)?;
            stream = Box::new(StreamOwned::new(connection, stream));
            println!("encrypted");
            next(&mut stream, &mut session, &mut out)?;
        }
        Ok((stream, session))
    }
}

/// Sends `out` and waits for the next event. One reply is awaited at a time, so no input is left over after it.
fn next(stream: &mut dyn Stream, session: &mut PgSession, out: &mut Vec<u8>) -> Outcome<Event> {
    let mut input = vec![0; 8192];
    loop {
        stream.write_all(out)?;
        stream.flush()?;
        out.clear();
        let length = stream.read(&mut input)?;
        if length == 0 {
            return Err("the server closed the connection".into());
        }
        let mut at = 0;
        while at < length {
            let (used, event) = session.receive(&input[at..length], out)?;
            at += used;
            if event != Event::NeedInput {
                return Ok(event);
            }
        }
    }
}

fn report(what: &str, event: Event, session: &mut PgSession) {
    println!("{what}: {event:?}, {:?}", session.in_transaction());
    if let Some(error) = session.error() {
        println!("[{}] {error}", error.code);
    }
    for notice in session.take_notices() {
        println!("{notice}");
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [
        address,
        user,
        password,
        database,
        mode,
        roots,
        protocol,
        sql,
        values @ ..,
    ] = &arguments[..]
    else {
        return Err("arguments: HOST:PORT USER PASSWORD DATABASE SSLMODE ROOTS PROTOCOL SQL [VALUE…]".into());
    };
    let config = Arc::new(PgConfig {
        user: user.clone(),
        password: Some(Secret::from(password.as_str())),
        database: database.clone(),
        application_name: "by hand".into(),
        ..PgConfig::default()
    });
    let target = Target {
        address,
        mode: mode.parse()?,
        roots,
        config,
    };
    let mut refusal = None;
    let attempts = target.mode.attempts().iter();
    let connected = attempts
        .map(|&encryption| target.connect(encryption))
        .find_map(|attempt| match attempt {
            Ok(connected) => Some(connected),
            Err(error) => {
                println!("refused: {error}");
                refusal = Some(error);
                None
            }
        });
    let (mut stream, mut session) = match (connected, refusal) {
        (Some(connected), _) => connected,
        (None, Some(error)) => return Err(error),
        (None, None) => return Err("nothing to try".into()),
    };
    println!(
        "server {:?}, key {:?}",
        session.parameter("server_version"),
        session.backend_key()
    );

    let protocol: Protocol = protocol.parse()?;
    let statement = PgStatement::new(0, sql, values.len(), protocol)?;
    let mut out = Vec::new();
    if session.prepare(&statement, &mut out) {
        let event = next(&mut stream, &mut session, &mut out)?;
        report("prepare", event, &mut session);
    }
    if sql.contains("pg_sleep") {
        cancel_soon(address, &session)?;
    }
    session.execute(&statement, &Values(values), &mut out);
    let event = next(&mut stream, &mut session, &mut out)?;
    report("execute", event, &mut session);
    session.query(|sql| sql.extend_from_slice(b"select 'still alive'"), &mut out);
    let event = next(&mut stream, &mut session, &mut out)?;
    report("query", event, &mut session);
    session.terminate(&mut out);
    stream.write_all(&out)?;
    Ok(())
}

/// Cancels what the session does in half a second, to see that it can.
fn cancel_soon(address: &str, session: &PgSession) -> Outcome<()> {
    let key = session.backend_key().ok_or("no key to cancel with")?;
    let address = address.to_owned();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        TcpStream::connect(address)?.write_all(&dyno_wire::cancel_request(&key))
    });
    Ok(())
}

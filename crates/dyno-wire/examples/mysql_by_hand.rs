//! Talks to a MySQL or MariaDB server over one blocking connection, to try a session by hand:
//!
//! ```text
//! cargo run -p dyno-wire --example mysql_by_hand -- ADDRESS USER PASSWORD DATABASE SSLMODE ROOTS PROTOCOL SQL [VALUE…]
//! ```
//!
//! ADDRESS is HOST:PORT or the path of a socket; PASSWORD and DATABASE may be empty; ROOTS is a PEM file, `system` or
//! empty. The statement is executed twice, so that the second execution finds it prepared.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use dyno_wire::tls::{self, ClientOptions, Encryption, Roots, SslMode, TlsError};
use dyno_wire::{Event, MyConfig, MySession, MyStatement, Parameters, Protocol, Session};
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
    config: Arc<MyConfig>,
}

impl Target<'_> {
    /// A connection with a session on it that has started.
    fn connect(&self, encryption: Encryption) -> Outcome<(Box<dyn Stream>, MySession)> {
        let mut session = MySession::new(Arc::clone(&self.config));
        let mut stream: Box<dyn Stream> = match self.config.local {
            true => Box::new(UnixStream::connect(self.address)?),
            false => Box::new(TcpStream::connect(self.address)?),
        };
        if encryption == Encryption::Tls && !self.config.local {
            session = session.asking_for_tls(self.mode);
        }
        let mut out = Vec::new();
        session.start(&mut out)?;
        if next(&mut stream, &mut session, &mut out)? == Event::StartTls {
            stream.write_all(&out)?;
            out.clear();
            let connection = self.encrypt(&mut stream)?;
            session.encrypted(&connection, &mut out)?;
            stream = Box::new(StreamOwned::new(connection, stream));
            println!("encrypted");
            next(&mut stream, &mut session, &mut out)?;
        }
        Ok((stream, session))
    }

    fn encrypt(&self, stream: &mut dyn Stream) -> Outcome<ClientConnection> {
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
        let mut stream = stream;
        while connection.is_handshaking() {
            let failure = |error| TlsError::from_io(&error).map_or(error.into(), Box::<dyn Error>::from);
            connection.complete_io(&mut stream).map_err(failure)?;
        }
        Ok(connection)
    }
}

/// Sends `out` and waits for the next event. One reply is awaited at a time, so no input is left over after it.
fn next(stream: &mut dyn Stream, session: &mut MySession, out: &mut Vec<u8>) -> Outcome<Event> {
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

fn report(what: &str, event: Event, session: &mut MySession) {
    println!("{what}: {event:?}, {:?}", session.in_transaction());
    if let Some(error) = session.error() {
        println!("[{}] {error}", error.code);
    }
    for result in session.captured() {
        println!("{result:?}");
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
        return Err("arguments: ADDRESS USER PASSWORD DATABASE SSLMODE ROOTS PROTOCOL SQL [VALUE…]".into());
    };
    let target = Target {
        address,
        mode: mode.parse()?,
        roots,
        config: Arc::new(MyConfig {
            user: user.clone(),
            password: Some(password.as_str().into()),
            database: database.clone(),
            program_name: "by hand".into(),
            local: address.starts_with('/'),
        }),
    };
    let encryption = target.mode.attempts().first().copied().unwrap_or(Encryption::Plain);
    let (mut stream, mut session) = target.connect(encryption)?;
    println!(
        "server {}, connection {}",
        session.server_version(),
        session.connection_id()
    );

    let protocol: Protocol = protocol.parse()?;
    let statement = MyStatement::new(0, sql, values.len(), protocol)?;
    let mut out = Vec::new();
    for what in ["first", "second"] {
        session.capture();
        session.execute(&statement, &Values(values), &mut out);
        let event = next(&mut stream, &mut session, &mut out)?;
        report(what, event, &mut session);
    }
    session.query(|sql| sql.extend_from_slice(b"select 'still alive'"), &mut out);
    let event = next(&mut stream, &mut session, &mut out)?;
    report("query", event, &mut session);
    session.terminate(&mut out);
    stream.write_all(&out)?;
    Ok(())
}

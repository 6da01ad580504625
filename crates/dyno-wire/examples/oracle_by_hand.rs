//! Talks to an Oracle server over one blocking connection, to try a session by hand:
//!
//! ```text
//! cargo run -p dyno-wire --example oracle_by_hand -- HOST:PORT USER PASSWORD SERVICE TIMES PROTOCOL SQL [VALUE…]
//! ```
//!
//! The statement is executed so many TIMES; values are for `$1` and so on. Several statements are joined by `;;`; only
//! the last one gets values.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use dyno_wire::{Event, OraConfig, OraSession, OraStatement, Parameters, Secret, Session};

type Outcome<T> = Result<T, Box<dyn Error>>;

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

/// A connection with a session on it.
struct Client {
    stream: TcpStream,
    session: OraSession,
}

impl Client {
    /// Sends `out` and receives until the session has something to tell.
    fn next(&mut self, out: &mut Vec<u8>) -> Outcome<Event> {
        let mut buffer = vec![0; 65_536];
        loop {
            if let Some(reply) = self.session.answered() {
                return Ok(Event::Reply(reply));
            }
            self.stream.write_all(out)?;
            out.clear();
            let received = self.stream.read(&mut buffer)?;
            if received == 0 {
                return Err("the server closed the connection".into());
            }
            let mut input = &buffer[..received];
            while !input.is_empty() {
                let (used, event) = self.session.receive(input, out)?;
                input = &input[used..];
                if event != Event::NeedInput {
                    return Ok(event);
                }
            }
        }
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, user, password, service, times, protocol, sql, values @ ..] = arguments.as_slice() else {
        return Err("HOST:PORT USER PASSWORD SERVICE TIMES PROTOCOL SQL [VALUE…]".into());
    };
    let config = Arc::new(OraConfig {
        user: user.clone(),
        password: Some(Secret::from(password.clone())),
        host: address.clone(),
        connect_data: OraConfig::service(service),
        program_name: "by_hand".into(),
        ..OraConfig::default()
    });
    let mut client = Client {
        stream: TcpStream::connect(address)?,
        session: OraSession::new(config),
    };
    client.stream.set_nodelay(true)?;
    let mut out = Vec::new();
    client.session.start(&mut out)?;
    client.next(&mut out)?;
    println!(
        "session {} of a server of version {}",
        client.session.session_id(),
        client.session.server_version()
    );
    let texts: Vec<&str> = sql.split(";;").collect();
    for (index, text) in texts.iter().enumerate() {
        let values = if index + 1 == texts.len() { values } else { &[] };
        let statement = OraStatement::new(index, text, values.len(), protocol.parse()?)?;
        let begun = Instant::now();
        let mut reply = None;
        for time in 0..times.parse::<u32>()? {
            if time == 0 {
                client.session.capture();
            }
            client.session.execute(&statement, &Values(values), &mut out);
            reply = Some(client.next(&mut out)?);
            if let Some(error) = client.session.error() {
                println!("{error}");
            }
            for result in client.session.captured().iter().filter(|_| time == 0) {
                let rows = &result.kept[..result.kept.len().min(3)];
                println!("{:?}: {} rows, {rows:?}", result.columns, result.rows);
            }
        }
        println!(
            "{text}: {reply:?}, {:?}, {:?}",
            client.session.in_transaction(),
            begun.elapsed()
        );
    }
    client.session.terminate(&mut out);
    client.stream.write_all(&out)?;
    Ok(())
}

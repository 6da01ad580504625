//! The responder as clients see it: over both of its sockets, many at a time, and whatever they do.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use dyno_ceiling::responder::{Listening, serve};
use postgres::{Client, NoTls, SimpleQueryMessage};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use tempfile::TempDir;

fn start() -> (Listening, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (serve(folder.path(), 2).unwrap(), folder)
}

fn client(host: &str, port: u16) -> Client {
    Client::connect(&format!("host={host} port={port} user=somebody"), NoTls).unwrap()
}

#[test]
fn clients_of_postgresql_are_served_by_both_ways() {
    let (listening, folder) = start();
    for host in [folder.path().to_str().unwrap(), "127.0.0.1"] {
        let mut clients: Vec<Client> = (0..20).map(|_| client(host, listening.port)).collect();
        for client in &mut clients {
            let messages = client.simple_query("select 1").unwrap();
            let row = messages.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            });
            assert_eq!(row, Some("1"));
            let statement = client.prepare("select n from t").unwrap();
            assert_eq!(statement.columns()[0].name(), "n");
            assert_eq!(client.execute(&statement, &[]).unwrap(), 1);
        }
    }
}

#[test]
fn a_client_that_does_not_read_gets_everything_when_it_does() {
    let (listening, _folder) = start();
    let mut stream = UnixStream::connect(&listening.socket).unwrap();
    stream.write_all(b"\0\0\0\x09\0\x03\0\0\0").unwrap();
    const SYNCS: usize = 1_000_000;
    let sender = std::thread::spawn({
        let mut stream = stream.try_clone().unwrap();
        move || stream.write_all(&b"S\0\0\0\x04".repeat(SYNCS)).unwrap()
    });
    // More than the socket's buffers hold, so the responder has had to wait.
    std::thread::sleep(std::time::Duration::from_millis(100));
    // The welcome ends with the same message.
    let mut answers = BufReader::new(stream);
    for _ in 0..=SYNCS {
        let mut message = [0; 5];
        while message[0] != b'Z' {
            answers.read_exact(&mut message).unwrap();
            let [_, length @ ..] = message;
            let body = u64::from(u32::from_be_bytes(length)) - 4;
            std::io::copy(&mut answers.by_ref().take(body), &mut std::io::sink()).unwrap();
        }
    }
    sender.join().unwrap();
}

#[test]
fn one_that_talks_nonsense_harms_nobody() {
    let (listening, _folder) = start();
    let mut bystander = client("127.0.0.1", listening.port);
    for _ in 0..10 {
        let mut stream = TcpStream::connect(("127.0.0.1", listening.port)).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // Closed or reset: it is over either way.
        let _ = stream.read_to_end(&mut Vec::new());
        bystander.simple_query("select 1").unwrap();
    }
}

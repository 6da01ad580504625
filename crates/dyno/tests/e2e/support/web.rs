//! A visitor of `dyno serve`: plain HTTP, with nothing of a browser's kindness.

use super::{Desk, Ended, Running};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longer than anything takes that comes at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server under way, on a free port.
pub struct Server {
    running: Running,
    pub address: String,
}

/// What it answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// A stream of server-sent events.
pub struct Events {
    lines: BufReader<TcpStream>,
}

impl Server {
    /// On the archive of `desk`, with more arguments.
    pub fn start(desk: &Desk, arguments: &[&str]) -> Self {
        Self::of(desk, arguments, &[])
    }

    /// The same, with variables set.
    pub fn of(desk: &Desk, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = desk.command(["serve", "--listen", "127.0.0.1:0"]);
        command.args(arguments).envs(variables.iter().copied());
        Self::at(Running::start(command))
    }

    /// The one that `running` says it serves.
    pub fn at(mut running: Running) -> Self {
        running.until("http://");
        let said = running.said();
        let rest = said.split("http://").nth(1).unwrap();
        let end = rest.find(|character: char| !(character.is_ascii_digit() || ".:".contains(character)));
        let address = rest[..end.unwrap_or(rest.len())].to_owned();
        Self { running, address }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("Host", &self.address)])
    }

    /// With these headers and no others.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut text = String::new();
        self.send(method, path, headers).read_to_string(&mut text).unwrap();
        Answer::of(&text)
    }

    /// Follows a campaign.
    pub fn events(&self, campaign: &str) -> Events {
        let path = format!("/live/{campaign}/events");
        let mut lines = BufReader::new(self.send("GET", &path, &[("Host", &self.address)]));
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            lines.read_line(&mut line).unwrap();
        }
        Events { lines }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // In HTTP 1.0 an answer ends with its connection, and comes in one piece.
        let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let request = format!("{method} {path} HTTP/1.0\r\n{}\r\n", headers.collect::<String>());
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Ends it as a terminal does.
    pub fn end(self) -> Ended {
        self.running.signal(Signal::INT);
        self.running.end()
    }

    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Ends it with this signal.
    pub fn end_by(self, signal: Signal) -> Ended {
        self.running.signal(signal);
        self.running.end()
    }

    /// Waits for its own end.
    pub fn wait(self) -> Ended {
        self.running.end()
    }
}

impl Answer {
    fn of(text: &str) -> Self {
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Fails with everything unless this was the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "\n{}\n\n{}", self.head, self.body);
        self
    }

    /// Fails unless the page says this.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.body.contains(text), "not said: {text}\n{}", self.body);
        self
    }

    /// Fails if the page says this.
    #[track_caller]
    pub fn says_not(self, text: &str) -> Self {
        assert!(!self.body.contains(text), "said: {text}\n{}", self.body);
        self
    }
}

impl Events {
    /// The next event and its data; `None` at the end of the stream, or if there is none for long.
    pub fn next(&mut self) -> Option<(String, Value)> {
        let (mut event, mut data) = (String::new(), String::new());
        let begun = Instant::now();
        // Lines that only keep the connection alive come all the time.
        while begun.elapsed() < PATIENCE {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(name) = line.strip_prefix("event: ") {
                event = name.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = text.to_owned();
            } else if line.is_empty() && !event.is_empty() {
                return Some((event, serde_json::from_str(&data).unwrap()));
            }
        }
        None
    }

    /// The data of the next event, which has this name.
    #[track_caller]
    pub fn expect(&mut self, name: &str) -> Value {
        let (event, data) = self.next().unwrap_or_else(|| panic!("no {name} before the end"));
        assert_eq!(event, name, "{data}");
        data
    }

    /// The data of the first event of which this holds.
    #[track_caller]
    pub fn until(&mut self, holds: impl Fn(&str, &Value) -> bool) -> Value {
        let mut seen = Vec::new();
        while let Some((event, data)) = self.next() {
            if holds(&event, &data) {
                return data;
            }
            seen.push(format!("{event}: {data}"));
        }
        panic!("it never came; what came was\n{}", seen.join("\n"));
    }
}

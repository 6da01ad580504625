//! A connection that executes statements and brings rows in by COPY at the least cost to the client.
//!
//! The `postgres` crate would do, but for three things that matter here: it sends all rows even when the server
//! refused the first, it hands rows through two queues, and nothing can be noticed while it waits. Here one thread
//! sends from one buffer, looks for an objection between two sends, and hears a request to stop within
//! [`PATIENCE`].

mod error;
mod stream;

pub use error::LoaderError;

use crate::postgres::address::{ConnectionInfo, Endpoint};
use dyno_wire::{Event, PgSession, Reply, ServerError, Session, WireError, cancel_request};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::Stream;

/// Whether the work is to end, asked several times a second.
pub type StopRequested<'a> = &'a (dyn Fn() -> bool + Sync);

/// A blocking call waits this long at a time.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a server may take to give up a statement before its connection is left alone.
const CANCEL_PATIENCE: Duration = Duration::from_millis(700);

/// Rows are handed to the socket in messages of about this many bytes. Measured when loading two million of
/// pgbench's accounts over a unix socket: 25 ms of client CPU with 8 KiB, 20 ms with 64 KiB, 19 ms with 256 KiB;
/// the time it takes is the same.
const MESSAGE_BYTES: usize = 64 * 1024;

/// Type byte and length.
const HEADER_BYTES: usize = 5;

/// A logged-in connection.
pub struct Loader<'a> {
    stream: Stream,
    session: PgSession,
    /// Received and not yet understood.
    incoming: Vec<u8>,
    /// The message of which the header has been understood and more is to come.
    under_way: Option<UnderWay>,
    outgoing: Vec<u8>,
    stop: StopRequested<'a>,
    /// When the server is given up on after it was asked to cancel.
    cancelled: Option<Instant>,
}

/// A message that is being received.
#[derive(Clone, Copy)]
struct UnderWay {
    /// Whether it asks for rows: the session refuses COPY, as is right for scripts; here it is wanted.
    asks_for_rows: bool,
    /// Bytes to come.
    left: usize,
}

/// What the server said that somebody waits for.
enum Answer {
    Started,
    SendRows,
    Reply(Reply),
}

impl<'a> Loader<'a> {
    /// Connects to the first server of `info` that lets us in.
    ///
    /// # Errors
    /// No server does, or the work is to stop.
    pub fn connect(info: &ConnectionInfo, stop: StopRequested<'a>) -> Result<Self, LoaderError> {
        // A control connection knows best what to say when it fails, and which of several servers is wanted.
        let endpoint = info.first_reachable()?.endpoint()?;
        Self::open(&endpoint, stop)
    }

    fn open(endpoint: &Endpoint, stop: StopRequested<'a>) -> Result<Self, LoaderError> {
        let mut outcome = Err(LoaderError::Stopped);
        for encryption in endpoint.ssl_mode.attempts() {
            outcome = Self::open_once(endpoint, *encryption, stop);
            if !matches!(outcome, Err(LoaderError::Tls(_) | LoaderError::Ended(_))) {
                break;
            }
        }
        outcome
    }

    fn open_once(
        endpoint: &Endpoint,
        encryption: dyno_wire::tls::Encryption,
        stop: StopRequested<'a>,
    ) -> Result<Self, LoaderError> {
        let deadline = endpoint.connect_timeout.map(|limit| Instant::now() + limit);
        let stream = Stream::open(endpoint, encryption, deadline, PATIENCE)?;
        let mut session = PgSession::new(Arc::clone(&endpoint.config));
        session.travels_on(stream.channel());
        let mut loader = Self {
            stream,
            session,
            incoming: Vec::new(),
            under_way: None,
            outgoing: Vec::with_capacity(MESSAGE_BYTES + HEADER_BYTES),
            stop,
            cancelled: None,
        };
        loader.session.start(&mut loader.outgoing)?;
        loader.send()?;
        while !matches!(loader.answer_before(deadline)?, Answer::Started) {}
        Ok(loader)
    }

    /// Another connection to the same server, with its own rule for when to stop.
    ///
    /// # Errors
    /// It cannot be made, or the work is to stop.
    pub fn another<'b>(&self, stop: StopRequested<'b>) -> Result<Loader<'b>, LoaderError> {
        Loader::open(self.stream.endpoint(), stop)
    }

    /// The major version of the server; 0 if it did not say.
    #[must_use]
    pub fn server_major(&self) -> u32 {
        let version = self.session.parameter("server_version").unwrap_or_default();
        let digits = version.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// The server's version as it calls it, such as `15.18 (Debian 15.18-0+deb12u1)`.
    #[must_use]
    pub fn server_version(&self) -> &str {
        self.session.parameter("server_version").unwrap_or("unknown")
    }

    /// Notices and warnings since the last call; the first 16 of more.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        self.session.take_notices()
    }

    /// Executes SQL that returns no rows anybody looks at; the reply says how many there were.
    ///
    /// # Errors
    /// The server refuses it, the connection is lost, or the work is to stop: then the server has been asked to cancel.
    pub fn execute(&mut self, sql: &str) -> Result<Reply, LoaderError> {
        self.session
            .query(|out| out.extend_from_slice(sql.as_bytes()), &mut self.outgoing);
        self.send()?;
        loop {
            match self.answer()? {
                Answer::Reply(reply) => return self.verdict(reply),
                Answer::SendRows => self.refuse_to_copy("no rows are expected here")?,
                Answer::Started => {}
            }
        }
    }

    /// Executes `copy … from stdin` and brings in the rows that `fill` appends in COPY's text format. It is called
    /// until it returns false, each time after what it gave before has been sent, and should give about
    /// [`Loader::message_bytes`] each time. Gives the number of rows the server took.
    ///
    /// # Errors
    /// As for [`Loader::execute`].
    pub fn copy_in(&mut self, statement: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<u64, LoaderError> {
        self.session
            .query(|out| out.extend_from_slice(statement.as_bytes()), &mut self.outgoing);
        self.send()?;
        loop {
            match self.answer()? {
                Answer::Reply(reply) => return Ok(self.verdict(reply)?.affected),
                Answer::SendRows => break,
                Answer::Started => {}
            }
        }
        let mut more = true;
        while more {
            if (self.stop)() {
                self.refuse_to_copy("stopped on request")?;
                return Err(LoaderError::Stopped);
            }
            self.outgoing.extend_from_slice(b"d\0\0\0\0");
            more = fill(&mut self.outgoing);
            if self.outgoing.len() == HEADER_BYTES {
                self.outgoing.clear();
                continue;
            }
            let length = u32::try_from(self.outgoing.len() - 1).map_err(|_| {
                LoaderError::Lost(io::Error::new(
                    ErrorKind::InvalidData,
                    "one message holds too many rows",
                ))
            })?;
            self.outgoing[1..HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
            self.send()?;
            if self.stream.is_readable()?
                && let Some(Answer::Reply(reply)) = self.answer_at_hand()?
            {
                // Before the rows have ended a reply can only be a refusal; the server ignores what it still gets.
                return Ok(self.verdict(reply)?.affected);
            }
        }
        self.outgoing.extend_from_slice(b"c\0\0\0\x04");
        self.send()?;
        loop {
            if let Answer::Reply(reply) = self.answer()? {
                return Ok(self.verdict(reply)?.affected);
            }
        }
    }

    /// How many bytes a message with rows should have.
    #[must_use]
    pub fn message_bytes() -> usize {
        MESSAGE_BYTES
    }

    fn refuse_to_copy(&mut self, why: &str) -> Result<(), LoaderError> {
        let length = 4 + why.len() as u32 + 1;
        self.outgoing.push(b'f');
        self.outgoing.extend_from_slice(&length.to_be_bytes());
        self.outgoing.extend_from_slice(why.as_bytes());
        self.outgoing.push(0);
        self.send()
    }

    /// What a reply means to whoever asked.
    fn verdict(&self, reply: Reply) -> Result<Reply, LoaderError> {
        if !reply.failed {
            return Ok(reply);
        }
        if self.cancelled.is_some() {
            return Err(LoaderError::Stopped);
        }
        let error = self.session.error().cloned().unwrap_or_default();
        Err(LoaderError::Refused(Box::new(error)))
    }

    /// Sends `outgoing`. When the server does not take it, a request to stop ends the waiting.
    fn send(&mut self) -> Result<(), LoaderError> {
        let mut sent = 0;
        loop {
            let step = if sent < self.outgoing.len() {
                self.stream.send(&self.outgoing[sent..])
            } else {
                self.stream.flush().map(|()| 0)
            };
            match step {
                Ok(0) if sent == self.outgoing.len() => break,
                Ok(0) => return Err(LoaderError::Lost(ErrorKind::WriteZero.into())),
                Ok(more) => sent += more,
                Err(error) if is_pause(&error) => {
                    if (self.stop)() {
                        self.cancel();
                        return Err(LoaderError::Stopped);
                    }
                }
                Err(error) => return Err(self.last_words(error)),
            }
        }
        self.outgoing.clear();
        Ok(())
    }

    /// A connection that does not take bytes any more may still have a reason to be read.
    fn last_words(&mut self, error: io::Error) -> LoaderError {
        self.outgoing.clear();
        match self.answer() {
            Err(LoaderError::Ended(reason)) => LoaderError::Ended(reason),
            _ => LoaderError::Lost(error),
        }
    }

    /// Waits for something to be said that matters.
    fn answer(&mut self) -> Result<Answer, LoaderError> {
        self.answer_before(None)
    }

    /// The same, but no longer than this, however much is said that does not matter.
    fn answer_before(&mut self, deadline: Option<Instant>) -> Result<Answer, LoaderError> {
        loop {
            if let Some(answer) = self.understand()? {
                return Ok(answer);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(LoaderError::Lost(stream::late()));
            }
            match self.stream.receive(&mut self.incoming) {
                Ok(()) => {}
                Err(error) if is_pause(&error) => self.notice_stop()?,
                Err(error) => return Err(LoaderError::Lost(error)),
            }
        }
    }

    /// What was said, if it has arrived.
    fn answer_at_hand(&mut self) -> Result<Option<Answer>, LoaderError> {
        match self.stream.receive(&mut self.incoming) {
            Ok(()) => self.understand(),
            Err(error) if is_pause(&error) => Ok(None),
            Err(error) => Err(LoaderError::Lost(error)),
        }
    }

    /// Asks the server to cancel once the work is to stop, and gives it up if that does not help.
    fn notice_stop(&mut self) -> Result<(), LoaderError> {
        match self.cancelled {
            Some(asked) if asked.elapsed() > CANCEL_PATIENCE => Err(LoaderError::Stopped),
            None if (self.stop)() => {
                self.cancel();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn cancel(&mut self) {
        self.cancelled = Some(Instant::now());
        if let Some(key) = self.session.backend_key() {
            self.stream.cancel(&cancel_request(&key), PATIENCE);
        }
    }

    /// Goes through what has arrived. The session takes messages in parts: what a server announces is not waited
    /// for with room for it.
    fn understand(&mut self) -> Result<Option<Answer>, LoaderError> {
        loop {
            let under_way = match (self.under_way, &self.incoming[..]) {
                (Some(under_way), _) => under_way,
                (None, [tag, a, b, c, d, ..]) => {
                    let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize).saturating_add(1);
                    UnderWay {
                        asks_for_rows: *tag == b'G',
                        left: length.max(HEADER_BYTES),
                    }
                }
                (None, _) => return Ok(None),
            };
            let here = self.incoming.len().min(under_way.left);
            if here == 0 {
                self.under_way = Some(under_way);
                return Ok(None);
            }
            let (used, answer) = if under_way.asks_for_rows {
                (here, (here == under_way.left).then_some(Answer::SendRows))
            } else {
                let (used, event) = self.session.receive(&self.incoming[..here], &mut self.outgoing)?;
                let answer = match event {
                    Event::NeedInput | Event::StartTls | Event::Redirect => None,
                    Event::Started => Some(Answer::Started),
                    Event::Reply(reply) => Some(Answer::Reply(reply)),
                };
                (used.clamp(1, here), answer)
            };
            self.incoming.drain(..used);
            let left = under_way.left - used;
            self.under_way = (left > 0).then_some(UnderWay { left, ..under_way });
            if !self.outgoing.is_empty() {
                // Authentication goes on.
                self.send()?;
            }
            if answer.is_some() {
                return Ok(answer);
            }
        }
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        self.outgoing.clear();
        self.session.terminate(&mut self.outgoing);
        // Mere politeness: the server also understands a closed connection.
        let _ = self.stream.send(&self.outgoing);
        let _ = self.stream.flush();
    }
}

impl From<WireError> for LoaderError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Server(reason) => Self::Ended(reason),
            other => Self::Protocol(other),
        }
    }
}

/// Whether a call only took longer than [`PATIENCE`].
fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc;
    use std::thread;

    const SECRET: &str = "s3cr3t-Pa55word";

    /// Asks for a password in clear, and tells what it got.
    fn ask_in_clear(mut stream: impl Read + Write) -> Vec<u8> {
        let mut start = [0; 1024];
        let begun = stream.read(&mut start).unwrap_or(0);
        assert!(begun > 0);
        let _ = stream.write_all(b"R\0\0\0\x08\0\0\0\x03");
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        got
    }

    /// What two connections to a server that asks for a password in clear come to, and what it got from both: first
    /// a control connection, then a loading one.
    fn outcome(address: &str, got: &mpsc::Receiver<Vec<u8>>) -> (Vec<String>, Vec<u8>) {
        let info = ConnectionInfo::resolve(Some(address), &|_| None).unwrap();
        let control = info.connect().map(drop).unwrap_err().to_string();
        let mut all = got.recv().unwrap();
        let endpoint = info.endpoint().unwrap();
        let loading = Loader::open(&endpoint, &|| false).map(drop).unwrap_err().to_string();
        all.extend(got.recv().unwrap());
        (vec![control, loading], all)
    }

    #[test]
    fn a_password_is_kept_from_whom_it_is_not_for() {
        let folder = tempfile::tempdir().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let by_tcp = format!(
            "host=127.0.0.1 port={} sslmode=disable",
            tcp.local_addr().unwrap().port()
        );
        let by_unix = format!("host={}", folder.path().display());
        let (tell_tcp, got_tcp) = mpsc::channel();
        let (tell_unix, got_unix) = mpsc::channel();
        thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                let _ = tell_tcp.send(ask_in_clear(stream));
            }
        });
        thread::spawn(move || {
            for stream in unix.incoming().flatten() {
                let _ = tell_unix.send(ask_in_clear(stream));
            }
        });
        for (host, got) in [(&by_tcp, &got_tcp), (&by_unix, &got_unix)] {
            for (demand, said) in [
                ("require_auth=scram-sha-256", "server requested a cleartext password"),
                ("require_auth=!password", "server requested a cleartext password"),
                (
                    "channel_binding=require",
                    "not supported by server's authentication request",
                ),
            ] {
                let address = format!("{host} user=u password={SECRET} {demand}");
                let (errors, got) = outcome(&address, got);
                for error in errors {
                    assert!(error.contains(said), "{address}: {error}");
                }
                assert!(!String::from_utf8_lossy(&got).contains(SECRET), "{address}");
            }
        }
    }

    #[test]
    fn a_server_of_another_user_is_told_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let unix = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (tell, got) = mpsc::channel();
        thread::spawn(move || {
            for mut stream in unix.incoming().flatten() {
                let mut all = Vec::new();
                let _ = stream.read_to_end(&mut all);
                let _ = tell.send(all);
            }
        });
        let host = folder.path().display();
        let (errors, got) = outcome(
            &format!("host={host} user=u password={SECRET} requirepeer=nobody-here"),
            &got,
        );
        for error in errors {
            assert!(error.contains("requirepeer specifies \"nobody-here\", but"), "{error}");
        }
        assert!(got.is_empty());
    }
}

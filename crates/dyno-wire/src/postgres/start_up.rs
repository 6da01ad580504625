//! What comes before the first statement: encryption, log-in, and whether the session is of the kind that is wanted.

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::authentication::Authentication;
use super::malformed;
use super::stranger::{MYSQL, is_mysql};
use super::{NAME, PgSession};
use crate::tls::{self, Encryption, SslMode};
use crate::{BackendKey, Channel, Event, Reply, Session, SessionKind, WireError};

/// What is needed until the server is ready for the first time.
#[derive(Default)]
pub(super) struct StartUp {
    pub(super) authentication: Authentication,
    /// With what strictness TLS is asked for, until the server has answered that.
    asks_for_tls: Option<SslMode>,
    /// The server's first bytes, as long as they may be those of another database's.
    first: Vec<u8>,
    /// Whether they are not.
    is_recognised: bool,
}

/// So many of the first bytes tell whose they are.
const TELLING: usize = 7;

impl PgSession {
    /// The same session with TLS, as strictly as this. Asked for first of all; whether [`SslMode::attempts`] has it so
    /// is for the caller to say.
    #[must_use]
    pub fn asking_for_tls(mut self, mode: SslMode) -> Self {
        if let Some(start_up) = &mut self.start_up {
            start_up.asks_for_tls = Some(mode);
        }
        self
    }

    /// Says that the conversation travels on TLS that its owner has agreed on before, so that the authentication can be
    /// bound to it. Call it before the first [`receive`](Session::receive); later it has no effect.
    pub fn travels_on(&mut self, channel: Channel) {
        if let Some(start_up) = &mut self.start_up {
            start_up.authentication.vetting.channel = channel;
        }
    }

    /// Appends the first message: the request for TLS or the start-up message.
    pub(super) fn begin(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let start_up = self.start_up.as_ref();
        if start_up.is_some_and(|start_up| start_up.asks_for_tls.is_some()) {
            out.extend_from_slice(&tls::ssl_request());
            return Ok(());
        }
        self.append_start_up(out)
    }

    /// Takes note of the encryption and goes on to the start-up message.
    pub(super) fn begin_encrypted(
        &mut self,
        tls: &rustls::ClientConnection,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let certificate = tls.peer_certificates().and_then(|chain| chain.first());
        let hash = certificate.and_then(|der| tls::server_end_point(der));
        self.travels_on(Channel::Tls(hash));
        self.append_start_up(out)
    }

    /// Looks at the server's first bytes, which are no messages if they answer the request for TLS or come from another
    /// database's server. Gives what all of the input amounted to, or `None` if it is messages.
    #[cold]
    pub(super) fn open(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Option<(usize, Event)>, WireError> {
        let Some(start_up) = self.start_up.as_deref_mut().filter(|_| !input.is_empty()) else {
            return Ok(None);
        };
        if let Some(mode) = start_up.asks_for_tls.take() {
            start_up.is_recognised = true;
            // Sees all that came, so that nothing can hide behind the answer.
            return match tls::interpret_answer(mode, input)? {
                Encryption::Tls => Ok(Some((input.len(), Event::StartTls))),
                Encryption::Plain => {
                    self.append_start_up(out)?;
                    Ok(Some((input.len(), Event::NeedInput)))
                }
            };
        }
        if start_up.is_recognised {
            return Ok(None);
        }
        let held = start_up.first.len();
        let room = TELLING - held.min(TELLING);
        start_up.first.extend_from_slice(&input[..input.len().min(room)]);
        match is_mysql(&start_up.first) {
            None => return Ok(Some((input.len(), Event::NeedInput))),
            Some(true) => return Err(WireError::OtherDatabase(&MYSQL)),
            Some(false) => {}
        }
        start_up.is_recognised = true;
        let first = std::mem::take(&mut start_up.first);
        // So few bytes hold no whole message.
        self.framing.next(&first[..held])?;
        Ok(None)
    }

    /// Appends the start-up message.
    fn append_start_up(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let config = &self.config;
        if config.user.is_empty() {
            return Err(WireError::Unsendable(
                "no user name was given: put one into the address or PGUSER".into(),
            ));
        }
        let named = [
            ("user", &config.user),
            ("database", &config.database),
            ("application_name", &config.application_name),
        ];
        let fixed = named
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, value.as_str()));
        let others = config
            .runtime_parameters
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let encoding = config
            .client_encoding
            .iter()
            .map(|name| ("client_encoding", name.as_str()));
        let mut message = BytesMut::new();
        frontend::startup_message(fixed.chain(encoding).chain(others), &mut message).map_err(|error| {
            WireError::Unsendable(format!("the user, database or a setting cannot be sent: {error}"))
        })?;
        out.extend_from_slice(&message);
        Ok(())
    }

    /// The server is ready for the first time.
    #[cold]
    pub(super) fn started(&mut self, out: &mut Vec<u8>) -> Result<Event, WireError> {
        let let_in = |start_up: &mut Box<StartUp>| start_up.authentication.is_done();
        if self.start_up.take_if(let_in).is_none() {
            return Err(WireError::Unexpected {
                database: NAME,
                tag: b'Z',
                when: "before authentication",
            });
        }
        self.parameters.shrink();
        self.reply = Reply::default();
        let reported = |name| self.parameters.get(name).map(|value| value == "on");
        let standby = reported("in_hot_standby");
        let yes = match self.config.session_kind {
            SessionKind::Any => None,
            SessionKind::Primary | SessionKind::Standby => standby,
            SessionKind::ReadWrite | SessionKind::ReadOnly => standby
                .zip(reported("default_transaction_read_only"))
                .map(|(standby, read_only)| standby || read_only),
        };
        match (yes, self.config.session_kind.question()) {
            (Some(yes), _) => self.judge(yes),
            (None, None) => Ok(Event::Started),
            (None, Some(question)) => {
                self.asking = true;
                self.capture();
                self.query(|sql| sql.extend_from_slice(question.as_bytes()), out);
                Ok(Event::NeedInput)
            }
        }
    }

    /// The server has answered the session kind's question.
    #[cold]
    pub(super) fn answered(&mut self) -> Result<Event, WireError> {
        self.asking = false;
        if let Some(error) = self.error.take_if(|_| self.error_stands) {
            return Err(WireError::Server(error));
        }
        let capture = self.capture.take().unwrap_or_default();
        let value = capture.results.first().and_then(|result| result.last_row().first());
        let yes = value.is_some_and(|value| matches!(value.as_deref(), Some("on" | "t")));
        self.judge(yes)
    }

    fn judge(&self, yes: bool) -> Result<Event, WireError> {
        match self.config.session_kind.refusal(yes) {
            None => Ok(Event::Started),
            Some(why) => Err(WireError::SessionKind(why)),
        }
    }
}

/// Reads the body of a BackendKeyData message.
pub(super) fn backend_key(body: &[u8]) -> Result<BackendKey, WireError> {
    let fields = body.split_first_chunk::<4>().and_then(|(process_id, rest)| {
        Some((
            i32::from_be_bytes(*process_id),
            i32::from_be_bytes(rest.try_into().ok()?),
        ))
    });
    let (process_id, secret) = fields.ok_or(malformed("a backend key is not 8 bytes long"))?;
    Ok(BackendKey { process_id, secret })
}

/// Reads the body of a NegotiateProtocolVersion message, by which a server says that it knows less than was asked for.
/// Since 3.0 without protocol options is the least there is, any 3.x will do.
pub(super) fn check_version(body: &[u8]) -> Result<(), WireError> {
    match *body {
        [0, 3, _, _, ..] => Ok(()),
        // The documentation promises the minor version alone; servers send the whole.
        [0, 0, _, _, ..] => Ok(()),
        [m0, m1, n0, n1, ..] => Err(WireError::ProtocolVersion {
            major: u16::from_be_bytes([m0, m1]),
            minor: u16::from_be_bytes([n0, n1]),
        }),
        _ => Err(malformed("a protocol version is cut short")),
    }
}

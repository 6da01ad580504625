//! From the first byte to the moment the server lets us in.
//!
//! A listener accepts the connection, refuses it, asks for the request again, or sends us on. Then both sides agree on
//! what they speak and how they represent what, and we log in: in five exchanges, or, where the server can read several
//! messages at once, in two.

use super::authentication::{self, Authentication, Pairs};
use super::capabilities::{Abilities, FIELDS_OF_FIRST};
use super::connect::{self, Accepted};
use super::message::Message;
use super::packet::{Lengths, kind};
use super::reader::{Reader, Unread};
use super::request::Requests;
use super::{OraAgreed, OraConfig, OraError, POSTGRESQL, malformed};
use crate::postgres::is_mysql;
use crate::tls::SslMode;
use crate::{Event, OtherDatabase, Redirect, Secret, WireError};

/// How often listeners may send us on.
const MOST_REDIRECTS: usize = 8;

/// How often a listener may ask for the request again.
const MOST_RESENDS: usize = 4;

/// The longest descriptor, in bytes: more than a listener takes.
const LONGEST_DESCRIPTOR: usize = 32_000;

/// A MySQL or MariaDB server answers.
static MYSQL: OtherDatabase = OtherDatabase {
    found: "MySQL or MariaDB",
    expected: super::NAME,
    scheme: "mysql://",
};

/// What is needed until the server lets us in.
#[derive(Debug, Default)]
pub(super) struct StartUp {
    /// How strictly TLS is asked for, if it is.
    pub(super) asks_for_tls: Option<SslMode>,
    /// Where the listener sent us.
    pub(super) redirection: Option<Redirect>,
    /// What was agreed on so far.
    pub(super) agreed: OraAgreed,
    stage: Stage,
    descriptor: String,
    redirects: usize,
    resends: usize,
    challenge: Pairs,
    authentication: Option<Authentication>,
    /// What the server answered the second step with.
    answer: Pairs,
}

/// Where the start-up stands.
#[derive(Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent.
    #[default]
    New,
    /// A connection was asked for.
    Asked,
    /// The listener sends us on, and says where in the next packet: so many bytes.
    Redirected(usize),
    /// Both sides agree on what they speak.
    Protocol,
    /// Both sides agree on how they represent what.
    DataTypes,
    /// The first step of the log-in was sent, alone or with all before it.
    First,
    /// The second step was sent.
    Second,
}

impl StartUp {
    /// Begins on a new connection.
    pub(super) fn start(&mut self, config: &OraConfig, out: &mut Vec<u8>) -> Result<Event, WireError> {
        if config.user.is_empty() {
            return Err(WireError::Unsendable(
                "no user name was given: put one into the address".into(),
            ));
        }
        if self.asks_for_tls.is_some() {
            return Ok(Event::StartTls);
        }
        self.ask(config, out)?;
        Ok(Event::NeedInput)
    }

    /// Appends the request to be connected.
    pub(super) fn ask(&mut self, config: &OraConfig, out: &mut Vec<u8>) -> Result<(), WireError> {
        if self.descriptor.is_empty() {
            self.descriptor = connect::descriptor(config, self.asks_for_tls.is_some());
        }
        if self.descriptor.len() > LONGEST_DESCRIPTOR {
            return Err(WireError::Unsendable(
                "the connect descriptor is longer than any listener takes".into(),
            ));
        }
        connect::write_request(out, config.sdu, &self.descriptor, self.redirection.is_some());
        self.stage = Stage::Asked;
        Ok(())
    }

    /// Whether these may be the first bytes of a listener; another server's are told.
    pub(super) fn check_first(&self, input: &[u8]) -> Result<(), WireError> {
        if self.stage != Stage::Asked {
            return Ok(());
        }
        if is_mysql(input) == Some(true) {
            return Err(WireError::OtherDatabase(&MYSQL));
        }
        // A PostgreSQL server's error.
        if input.starts_with(b"E\0\0") {
            return Err(WireError::OtherDatabase(&POSTGRESQL));
        }
        let known = |kind| {
            matches!(
                kind,
                kind::ACCEPT | kind::REFUSE | kind::REDIRECT | kind::RESEND | kind::DATA
            )
        };
        match input.get(4) {
            Some(&kind) if !known(kind) => {
                let first = &input[..input.len().min(16)];
                Err(OraError::NoListener(first.escape_ascii().to_string()).into())
            }
            _ => Ok(()),
        }
    }

    /// Takes in a packet that holds no messages.
    pub(super) fn packet(
        &mut self,
        packet: (u8, u8),
        body: &[u8],
        config: &OraConfig,
        requests: &mut Requests,
        lengths: &mut Lengths,
        out: &mut Vec<u8>,
    ) -> Result<Event, WireError> {
        match (&self.stage, packet) {
            (Stage::Asked, (kind::ACCEPT, _)) => {
                let accepted = Accepted::read(&mut Reader::new(body)).map_err(whole)?;
                accepted.check()?;
                *lengths = Lengths::Long;
                self.accepted(accepted, config, requests, out);
            }
            (Stage::Asked, (kind::REFUSE, _)) => {
                return Err(WireError::Server(Box::new(connect::refusal(body, config))));
            }
            (Stage::Asked, (kind::RESEND, flags)) => {
                self.resends += 1;
                if self.resends > MOST_RESENDS {
                    return Err(malformed("it asks for the same again and again"));
                }
                if flags & connect::TLS_ANEW != 0 && self.asks_for_tls.is_some() {
                    return Ok(Event::StartTls);
                }
                self.ask(config, out)?;
            }
            (Stage::Asked, (kind::REDIRECT, _)) => {
                let mut reader = Reader::new(body);
                let length = reader.u16().map_err(whole)?.into();
                if reader.left() == 0 {
                    self.stage = Stage::Redirected(length);
                    return Ok(Event::NeedInput);
                }
                return self.redirected(reader.take(length).map_err(whole)?);
            }
            (&Stage::Redirected(length), (kind::DATA, _)) => {
                let mut reader = Reader::new(body.get(2..).unwrap_or_default());
                return self.redirected(reader.take(length).map_err(whole)?);
            }
            _ => return Err(malformed("a packet comes out of turn while we connect")),
        }
        Ok(Event::NeedInput)
    }

    /// Whether packets with data hold messages by now.
    pub(super) fn is_accepted(&self) -> bool {
        !matches!(self.stage, Stage::New | Stage::Asked | Stage::Redirected(_))
    }

    /// Whether the log-in is under way, so that the server's values are those of it.
    pub(super) fn logs_in(&self) -> bool {
        matches!(self.stage, Stage::First | Stage::Second)
    }

    fn redirected(&mut self, data: &[u8]) -> Result<Event, WireError> {
        self.redirects += 1;
        if self.redirects > MOST_REDIRECTS {
            return Err(OraError::Redirects(MOST_REDIRECTS).into());
        }
        let (redirection, descriptor) = connect::redirection(data, self.asks_for_tls.is_some())?;
        self.redirection = Some(redirection);
        if let Some(descriptor) = descriptor {
            self.descriptor = descriptor;
        }
        self.stage = Stage::New;
        Ok(Event::Redirect)
    }

    fn accepted(&mut self, accepted: Accepted, config: &OraConfig, requests: &mut Requests, out: &mut Vec<u8>) {
        requests.sdu = accepted.sdu as usize;
        self.agreed.protocol_version = accepted.version;
        self.agreed.packet_bytes = accepted.sdu;
        self.agreed.fast = accepted.fast;
        requests.abilities = Abilities {
            marks_end: accepted.marks_end,
            ..Abilities::default()
        };
        if !accepted.fast {
            requests.send(out, |_, out| Abilities::write_protocol(out));
            self.stage = Stage::Protocol;
            return;
        }
        requests.send(out, |requests, out| {
            requests.abilities.write_fast(out);
            requests.first_function(authentication::FIRST, FIELDS_OF_FIRST, out);
            authentication::write_first(config, out);
        });
        self.stage = Stage::First;
    }

    /// Takes in a message. Gives whether the response ends with it, whatever else is said of ends.
    pub(super) fn message(
        &mut self,
        message: Message,
        config: &OraConfig,
        requests: &mut Requests,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match (message, &self.stage) {
            (Message::Protocol(abilities), Stage::Protocol) => {
                requests.abilities = abilities;
                requests.send(out, |requests, out| requests.abilities.write_data_types(out));
                self.stage = Stage::DataTypes;
            }
            (Message::DataTypes, Stage::DataTypes) => {
                requests.send(out, |requests, out| {
                    let field_version = requests.abilities.field_version;
                    requests.first_function(authentication::FIRST, field_version, out);
                    authentication::write_first(config, out);
                });
                self.stage = Stage::First;
            }
            (Message::Protocol(abilities), Stage::First) => requests.abilities = abilities,
            (Message::Pairs(pairs), Stage::First) => self.challenge = pairs,
            (Message::Pairs(pairs), Stage::Second) => self.answer = pairs,
            (Message::DataTypes, Stage::First) | (Message::Nothing | Message::EndOfResponse, _) => {}
            _ => return Err(malformed("a message comes out of turn while we log in")),
        }
        Ok(())
    }

    /// The response to a step of the log-in is complete. Gives what the server said of the session once it has let us
    /// in.
    pub(super) fn ended(
        &mut self,
        config: &OraConfig,
        requests: &mut Requests,
        out: &mut Vec<u8>,
    ) -> Result<Option<Pairs>, WireError> {
        match self.stage {
            Stage::First => {
                let password = config.password.as_ref().map(Secret::reveal);
                let password = password.ok_or(WireError::PasswordMissing("the address or DYNO_ORACLE_PASSWORD"))?;
                let challenge = std::mem::take(&mut self.challenge);
                let mut body = Vec::new();
                let made = Authentication::write_second(config, password, &challenge, &mut body)?;
                self.agreed.verifier = Some(made.verifier);
                self.authentication = Some(made);
                requests.send(out, |requests, out| {
                    let field_version = requests.abilities.field_version;
                    requests.first_function(authentication::SECOND, field_version, out);
                    out.extend_from_slice(&body);
                });
                self.stage = Stage::Second;
                Ok(None)
            }
            Stage::Second => {
                let answer = std::mem::take(&mut self.answer);
                let checked = self.authentication.as_ref().map(|made| made.check(&answer));
                checked.unwrap_or(Err(OraError::Proof))?;
                let abilities = requests.abilities;
                self.agreed.field_version = abilities.field_version;
                self.agreed.marks_end = abilities.marks_end;
                self.agreed.longest_string = abilities.longest_string;
                [self.agreed.character_set, self.agreed.national_character_set] = abilities.character_sets;
                Ok(Some(answer))
            }
            _ => Ok(None),
        }
    }
}

/// Something is missing from a packet that has come whole.
fn whole(unread: Unread) -> WireError {
    match unread {
        Unread::Short => malformed("a packet of the listener is cut short"),
        Unread::Malformed(what) => malformed(what),
    }
}

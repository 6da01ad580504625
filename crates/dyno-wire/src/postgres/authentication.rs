//! Proving who we are, and letting the server prove who it is.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256_PLUS, ScramSha256};
use postgres_protocol::message::frontend;

use super::malformed;
use super::policy::{self, Vetting};
use crate::{Channel, PgConfig, Secret, WireError};

/// Where the authentication stands.
#[derive(Default)]
enum Step {
    /// The server has not said yet what it wants.
    #[default]
    Asked,
    /// A password, plain or hashed, is under way.
    PasswordSent,
    /// SCRAM: our first message is under way.
    ScramBegun(ScramSha256),
    /// SCRAM: our proof is under way.
    ScramProven(ScramSha256),
    /// SCRAM: the server proved that it knows the password too.
    ScramVerified,
    /// The server let us in.
    Done,
}

/// The client's side of the authentication of one connection.
#[derive(Default)]
pub(super) struct Authentication {
    step: Step,
    pub(super) vetting: Vetting,
}

/// Where a password is looked for.
const PASSWORD_MISSING: WireError = WireError::PasswordMissing("the address, PGPASSWORD or the password file");
const TRUNCATED: WireError = malformed("an authentication request is cut short");

impl Authentication {
    /// Whether the server let us in.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.step, Step::Done)
    }

    /// Takes in the body of an authentication message and appends our answer.
    pub(super) fn receive(&mut self, body: &[u8], config: &PgConfig, out: &mut Vec<u8>) -> Result<(), WireError> {
        let (code, data) = body.split_first_chunk::<4>().ok_or(TRUNCATED)?;
        let code = u32::from_be_bytes(*code);
        self.vetting.judge(&config.authentication, code, data)?;
        let (step, answer) = match (code, std::mem::take(&mut self.step)) {
            (0, Step::Asked | Step::PasswordSent | Step::ScramVerified) => (Step::Done, None),
            (3, Step::Asked) => {
                let password = password(config)?;
                (Step::PasswordSent, Some(password_message(password.reveal())?))
            }
            (5, Step::Asked) => {
                let salt = *data.first_chunk::<4>().ok_or(TRUNCATED)?;
                let hash = md5_hash(config.user.as_bytes(), password(config)?.reveal(), salt);
                (Step::PasswordSent, Some(password_message(hash.as_bytes())?))
            }
            (10, Step::Asked) => {
                let (scram, message) = self.begin_scram(data, config)?;
                (Step::ScramBegun(scram), Some(message))
            }
            (11, Step::ScramBegun(mut scram)) => {
                scram
                    .update(data)
                    .map_err(|error| WireError::Scram(error.to_string()))?;
                let mut message = BytesMut::new();
                frontend::sasl_response(scram.message(), &mut message).map_err(unsendable)?;
                (Step::ScramProven(scram), Some(message))
            }
            (12, Step::ScramProven(mut scram)) => {
                scram
                    .finish(data)
                    .map_err(|error| WireError::Scram(error.to_string()))?;
                (Step::ScramVerified, None)
            }
            // Without this a server that does not know the password could simply skip its own proof.
            (0, Step::ScramBegun(_) | Step::ScramProven(_)) => {
                return Err(WireError::Scram("it skipped its part of the exchange".into()));
            }
            (code @ (0 | 3 | 5 | 10 | 11 | 12), _) => {
                let method = format!("a further step (request {code}) that was not its turn");
                return Err(unsupported(method));
            }
            (code, _) => return Err(unsupported(method_name(code))),
        };
        self.step = step;
        if let Some(answer) = answer {
            out.extend_from_slice(&answer);
        }
        Ok(())
    }

    /// Chooses among the offered mechanisms and writes SCRAM's first message.
    fn begin_scram(&mut self, offer: &[u8], config: &PgConfig) -> Result<(ScramSha256, BytesMut), WireError> {
        let mechanism = policy::choose(&config.authentication, &self.vetting.channel, offer)?;
        let binding = match &self.vetting.channel {
            Channel::Tls(Some(hash)) if mechanism == SCRAM_SHA_256_PLUS => {
                ChannelBinding::tls_server_end_point(hash.clone())
            }
            // Says "I could have bound", so that the server notices if its offer to was removed on the way.
            Channel::Tls(Some(_)) if config.authentication.channel_binding != policy::ChannelBinding::Disable => {
                ChannelBinding::unrequested()
            }
            _ => ChannelBinding::unsupported(),
        };
        let scram = ScramSha256::new(password(config)?.reveal(), binding);
        let mut message = BytesMut::new();
        frontend::sasl_initial_response(mechanism, scram.message(), &mut message).map_err(unsendable)?;
        Ok((scram, message))
    }
}

/// The password, which an empty one does not count as: the server would refuse it anyway, less clearly.
fn password(config: &PgConfig) -> Result<&Secret, WireError> {
    config
        .password
        .as_ref()
        .filter(|secret| !secret.reveal().is_empty())
        .ok_or(PASSWORD_MISSING)
}

fn password_message(password: &[u8]) -> Result<BytesMut, WireError> {
    let mut message = BytesMut::new();
    frontend::password_message(password, &mut message).map_err(unsendable)?;
    Ok(message)
}

fn unsendable(error: std::io::Error) -> WireError {
    WireError::Unsendable(format!("the password cannot be sent: {error}"))
}

/// The server wants a way of authentication that we do not know.
pub(super) fn unsupported(method: String) -> WireError {
    WireError::UnsupportedAuthentication {
        method,
        advice: "allow scram-sha-256, md5, password or trust for this user in pg_hba.conf",
    }
}

/// The name of a way of authentication we do not know.
fn method_name(code: u32) -> String {
    match code {
        2 => "Kerberos V5".into(),
        6 => "SCM credentials".into(),
        7 | 8 => "GSSAPI".into(),
        9 => "SSPI".into(),
        other => format!("method {other}"),
    }
}

//! From the server's greeting to the moment it lets us in.

use mysql_common::constants::CapabilityFlags;

use super::authentication::{Authentication, Plugin, Privacy};
use super::framing::Framing;
use super::greeting::{Agreed, Greeting, write_answer, write_tls_request};
use super::packet::write;
use super::{MyConfig, malformed};
use crate::tls::{SslMode, TlsError, Words};
use crate::{Secret, WireError};

/// What is needed until the server lets us in.
#[derive(Debug, Default)]
pub(super) struct StartUp {
    stage: Stage,
    /// How strictly TLS is asked for, if it is.
    pub(super) asks_for_tls: Option<SslMode>,
    /// Whether it is for loading: the server may ask for content, as LOAD DATA LOCAL makes it, and is given many rows
    /// at a time if it takes them.
    pub(super) is_to_load: bool,
}

/// Where the start-up stands.
#[derive(Debug, Default)]
enum Stage {
    /// The server has not spoken yet.
    #[default]
    Silent,
    /// The handshake of TLS is under way.
    Encrypting(Greeting),
    /// The log-in is under way.
    LoggingIn(Authentication),
}

/// What comes after a greeting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The handshake of TLS.
    Encrypt,
    /// The log-in.
    LogIn,
}

impl StartUp {
    /// The server has greeted: appends our answer, or the request for TLS.
    pub(super) fn greeted(
        &mut self,
        greeting: &Greeting,
        config: &MyConfig,
        framing: &mut Framing,
        out: &mut Vec<u8>,
    ) -> Result<Next, WireError> {
        let offered = greeting.offered.contains(CapabilityFlags::CLIENT_SSL);
        match self.asks_for_tls {
            Some(_) if offered => {
                write_tls_request(self.agreed(greeting, config, true), framing.take_number(), out);
                self.stage = Stage::Encrypting(greeting.clone());
                Ok(Next::Encrypt)
            }
            Some(mode) if mode > SslMode::Prefer => Err(TlsError::Refused(Words::Mysql, mode).into()),
            _ => {
                self.log_in(greeting, config, false, framing, out)?;
                Ok(Next::LogIn)
            }
        }
    }

    /// The handshake of TLS is done: appends our answer to the greeting.
    pub(super) fn encrypted(
        &mut self,
        config: &MyConfig,
        framing: &mut Framing,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match std::mem::take(&mut self.stage) {
            Stage::Encrypting(greeting) => self.log_in(&greeting, config, true, framing, out),
            other => {
                self.stage = other;
                Ok(())
            }
        }
    }

    fn log_in(
        &mut self,
        greeting: &Greeting,
        config: &MyConfig,
        encrypted: bool,
        framing: &mut Framing,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let verifies = self.asks_for_tls.is_some_and(|mode| mode >= SslMode::VerifyCa);
        let privacy = match encrypted {
            _ if config.local => Privacy::Certain,
            true if verifies => Privacy::Certain,
            true => Privacy::Encrypted,
            false => Privacy::None,
        };
        let authentication = Authentication::begin(&greeting.plugin, &greeting.nonce, privacy)?;
        let step = authentication.first(password(config))?;
        let plugin = authentication.plugin().name().as_bytes();
        let agreed = self.agreed(greeting, config, encrypted);
        write_answer(config, agreed, plugin, &step, framing.take_number(), out)?;
        self.stage = Stage::LoggingIn(authentication);
        Ok(())
    }

    fn agreed(&self, greeting: &Greeting, config: &MyConfig, encrypted: bool) -> Agreed {
        let mut agreed = greeting.agreed(config, encrypted);
        if self.is_to_load {
            agreed.flags |= greeting.offered & CapabilityFlags::CLIENT_LOCAL_FILES;
            agreed.rows = greeting.offers_rows;
        }
        agreed
    }

    /// Whether the log-in is under way.
    pub(super) fn is_logging_in(&self) -> bool {
        matches!(self.stage, Stage::LoggingIn(_))
    }

    /// The plug-in of the log-in, if that is under way.
    pub(super) fn plugin(&self) -> Option<Plugin> {
        match &self.stage {
            Stage::LoggingIn(authentication) => Some(authentication.plugin()),
            _ => None,
        }
    }

    /// The server goes on with the log-in: appends our next step, if there is one.
    pub(super) fn step(
        &mut self,
        body: &[u8],
        config: &MyConfig,
        framing: &mut Framing,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let Stage::LoggingIn(authentication) = &mut self.stage else {
            return Err(malformed("it goes on before encryption has begun"));
        };
        let step = match body {
            [0xFE, request @ ..] => Some(authentication.switch(request, password(config))?),
            [1, data @ ..] => authentication.more(data, password(config))?,
            _ => return Err(malformed("the log-in has an unknown step")),
        };
        if let Some(step) = step {
            write(out, framing.take_number(), &[&step]);
        }
        Ok(())
    }
}

fn password(config: &MyConfig) -> &[u8] {
    config.password.as_ref().map_or(&[], Secret::reveal)
}

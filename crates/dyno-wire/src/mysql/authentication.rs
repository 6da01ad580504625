//! Proving who we are, by the plug-in the account uses.

use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;

use super::greeting::NONCE;
use super::packet::read_nul_text;
use super::{MyError, malformed, public_key};
use crate::WireError;

/// The log-in plug-ins that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    /// SHA-1: MySQL up to 5.7 and MariaDB.
    Native,
    /// SHA-256: MySQL from 8.0 on.
    CachingSha2,
    /// The password itself, for servers that hand it on (LDAP, PAM).
    Clear,
}

impl Plugin {
    const ALL: [Self; 3] = [Self::Native, Self::CachingSha2, Self::Clear];

    /// Its name in packets.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Clear => "mysql_clear_password",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// The server's answers in caching_sha2_password, and our request for its public key. MySQL source documentation,
/// "Caching_sha2_password information".
const FAST_SUCCEEDED: &[u8] = &[3];
const FULL_NEEDED: &[u8] = &[4];
const KEY_WANTED: u8 = 2;

/// The client's side of the authentication of one connection.
#[derive(Debug)]
pub(super) struct Authentication {
    plugin: Plugin,
    nonce: [u8; NONCE],
    /// Whether nobody can listen in: TLS, or a Unix-domain socket.
    private: bool,
    /// Whether the server's public key is under way.
    awaits_key: bool,
}

impl Authentication {
    /// Begins with the plug-in the server prefers, or, since accounts may use others, with one that gives nothing away.
    pub(super) fn begin(preferred: &[u8], nonce: &[u8], private: bool) -> Result<Self, WireError> {
        let plugin = Plugin::named(preferred).filter(|&plugin| plugin != Plugin::Clear);
        Ok(Self {
            plugin: plugin.unwrap_or(Plugin::Native),
            nonce: nonce
                .try_into()
                .map_err(|_| malformed("a nonce is not 20 bytes long"))?,
            private,
            awaits_key: false,
        })
    }

    /// The plug-in.
    pub(super) fn plugin(&self) -> Plugin {
        self.plugin
    }

    /// The plug-in's first step.
    pub(super) fn first(&self, password: &[u8]) -> Result<Vec<u8>, WireError> {
        match self.plugin {
            Plugin::Native => Ok(scramble_native(&self.nonce, password).map_or(Vec::new(), Vec::from)),
            Plugin::CachingSha2 => Ok(scramble_sha256(&self.nonce, password).map_or(Vec::new(), Vec::from)),
            Plugin::Clear if self.private => Ok(clear(password)),
            Plugin::Clear => Err(MyError::ClearPassword.into()),
        }
    }

    /// The server asks for another plug-in: the body of its request, behind the first byte. Returns our first step by
    /// that.
    pub(super) fn switch(&mut self, mut request: &[u8], password: &[u8]) -> Result<Vec<u8>, WireError> {
        // Servers before 4.1 said no name.
        let name = match request {
            [] => &b"mysql_old_password"[..],
            _ => read_nul_text(&mut request),
        };
        let unknown = || WireError::UnsupportedAuthentication {
            method: format!("the plug-in \"{}\"", dyno_text::decode(name).escape_debug()),
            advice: "let the account use caching_sha2_password, mysql_native_password or, over TLS, \
                     mysql_clear_password",
        };
        self.plugin = Plugin::named(name).ok_or_else(unknown)?;
        self.awaits_key = false;
        if self.plugin != Plugin::Clear {
            let nonce = request.strip_suffix(&[0]).unwrap_or(request);
            self.nonce = nonce
                .try_into()
                .map_err(|_| malformed("a nonce is not 20 bytes long"))?;
        }
        self.first(password)
    }

    /// The server goes on in the plug-in: the body, behind the first byte. Returns our next step, if there is one.
    pub(super) fn more(&mut self, data: &[u8], password: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        if self.plugin != Plugin::CachingSha2 {
            return Err(malformed(
                "the log-in has a further step that its plug-in does not have",
            ));
        }
        if std::mem::take(&mut self.awaits_key) {
            return Ok(Some(public_key::encrypt(password, &self.nonce, data)?));
        }
        match data {
            FAST_SUCCEEDED => Ok(None),
            FULL_NEEDED if self.private => Ok(Some(clear(password))),
            FULL_NEEDED => {
                self.awaits_key = true;
                Ok(Some(vec![KEY_WANTED]))
            }
            _ => Err(malformed("the log-in has an unknown further step")),
        }
    }
}

/// The password as it is, with a NUL behind it.
fn clear(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

//! Proving who we are, by the plug-in the account uses.

use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::client_ed25519::{self, ClientEd25519};
use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use mysql_common::auth::plugins::{ChallengeResponsePlugin, Context};

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
    /// A signature by a key that is made of the password: MariaDB.
    Ed25519,
    /// The password itself, for servers that hand it on (LDAP, PAM).
    Clear,
}

impl Plugin {
    const ALL: [Self; 4] = [Self::Native, Self::CachingSha2, Self::Ed25519, Self::Clear];

    /// Its name in packets.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }

    /// The length of its nonce, in bytes; 0: it has none.
    const fn nonce_length(self) -> usize {
        match self {
            Self::Native | Self::CachingSha2 => NONCE,
            Self::Ed25519 => client_ed25519::NONCE_BYTES,
            Self::Clear => 0,
        }
    }

    /// The nonce in the data of a request, with or without a NUL behind it.
    fn nonce(self, data: &[u8]) -> Result<Vec<u8>, WireError> {
        match data.split_at_checked(self.nonce_length()) {
            Some((nonce, [] | [0])) => Ok(nonce.to_vec()),
            _ if self == Self::Clear => Ok(Vec::new()),
            _ => Err(malformed("a nonce has not the length that its log-in plug-in asks for")),
        }
    }
}

/// The server's answers in caching_sha2_password, and our request for its public key. MySQL source documentation,
/// "Caching_sha2_password information".
const FAST_SUCCEEDED: &[u8] = &[3];
const FULL_NEEDED: &[u8] = &[4];
const KEY_WANTED: u8 = 2;

/// Who can listen in to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Privacy {
    /// Everybody on the way.
    None,
    /// Whoever pretends to be the server: nobody has verified that it is.
    Encrypted,
    /// Nobody: a server that TLS has verified, or a Unix-domain socket.
    Certain,
}

/// The client's side of the authentication of one connection.
#[derive(Debug)]
pub(super) struct Authentication {
    plugin: Plugin,
    /// As long as the plug-in wants it.
    nonce: Vec<u8>,
    /// Who can listen in.
    privacy: Privacy,
    /// Whether the server's public key is under way.
    awaits_key: bool,
}

impl Authentication {
    /// Begins with the plug-in the server prefers, or, since accounts may use others, with one that gives nothing away.
    pub(super) fn begin(preferred: &[u8], nonce: &[u8], privacy: Privacy) -> Result<Self, WireError> {
        let plugin = Plugin::named(preferred).filter(|plugin| plugin.nonce_length() == NONCE);
        let plugin = plugin.unwrap_or(Plugin::Native);
        Ok(Self {
            plugin,
            nonce: plugin.nonce(nonce)?,
            privacy,
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
            Plugin::CachingSha2 => {
                let scramble = self
                    .nonce
                    .first_chunk()
                    .and_then(|nonce| scramble_sha256(nonce, password));
                Ok(scramble.map_or(Vec::new(), Vec::from))
            }
            Plugin::Ed25519 => signature(&self.nonce, password),
            Plugin::Clear if self.privacy == Privacy::Certain => Ok(clear(password)),
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
            advice: "let the account use caching_sha2_password, mysql_native_password, ed25519 or, over \
                     verified TLS, mysql_clear_password",
        };
        self.plugin = Plugin::named(name).ok_or_else(unknown)?;
        self.awaits_key = false;
        self.nonce = self.plugin.nonce(request)?;
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
            FULL_NEEDED if self.privacy >= Privacy::Encrypted => Ok(Some(clear(password))),
            FULL_NEEDED => {
                self.awaits_key = true;
                Ok(Some(vec![KEY_WANTED]))
            }
            _ => Err(malformed("the log-in has an unknown further step")),
        }
    }
}

/// The nonce, signed by the key that is made of the password. MariaDB documentation, "Authentication Plugin - ed25519".
fn signature(nonce: &[u8], password: &[u8]) -> Result<Vec<u8>, WireError> {
    let signed = ClientEd25519::default().run(Password(password), nonce).ok();
    let signature = signed.and_then(|signed| signed.data().map(<[u8]>::to_vec));
    signature.ok_or(malformed("a nonce cannot be signed"))
}

/// A password, for the library; of the rest this plug-in asks for nothing.
struct Password<'a>(&'a [u8]);

impl Context for Password<'_> {
    fn pass(&self) -> &[u8] {
        self.0
    }

    fn is_ipc_transport(&self) -> bool {
        false
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        &[]
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

/// The password as it is, with a NUL behind it.
fn clear(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use ring::signature::{ED25519, UnparsedPublicKey};

    #[test]
    fn a_signature_is_of_the_key_that_mariadb_makes_of_the_password() {
        // What MariaDB's documentation says of password('secret').
        let key = STANDARD_NO_PAD
            .decode("ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY")
            .unwrap();
        let key = UnparsedPublicKey::new(&ED25519, key);
        for nonce in [[0; 32], [7; 32]] {
            let signature = signature(&nonce, b"secret").unwrap();
            assert_eq!(signature.len(), 64);
            assert_eq!(key.verify(&nonce, &signature), Ok(()));
            assert!(key.verify(&[1; 32], &signature).is_err());
        }
    }

    #[test]
    fn a_nonce_is_as_long_as_its_plugin_wants_it() {
        let length = |plugin: Plugin, data: &[u8]| plugin.nonce(data).map(|nonce| nonce.len()).ok();
        for (plugin, expected) in [(Plugin::Native, 20), (Plugin::CachingSha2, 20), (Plugin::Ed25519, 32)] {
            // A random nonce may end with a NUL itself.
            assert_eq!(length(plugin, &vec![0; expected]), Some(expected));
            assert_eq!(length(plugin, &vec![0; expected + 1]), Some(expected));
            assert_eq!(length(plugin, &vec![1; expected + 1]), None);
            assert_eq!(length(plugin, &vec![0; expected - 1]), None);
        }
        assert_eq!(length(Plugin::Clear, b""), Some(0));
        assert_eq!(length(Plugin::Clear, b"anything"), Some(0));
    }
}

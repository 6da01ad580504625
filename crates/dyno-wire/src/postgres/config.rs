//! Who connects to what, the same for all connections of a workload.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::fmt;

use super::AuthenticationPolicy;

/// What a start-up needs to know; shared by all sessions through an `Arc`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PgConfig {
    /// The role to log in as. Must not be empty.
    pub user: String,
    /// Its password, if there is one.
    pub password: Option<Secret>,
    /// The database; if empty the server takes the one named like the user.
    pub database: String,
    /// How the connection shows in `pg_stat_activity`; not sent if empty.
    pub application_name: String,
    /// Further settings for the connection, name and value, such as `("search_path", "bench")` or `("options", "-c
    /// jit=off")`.
    pub runtime_parameters: Vec<(String, String)>,
    /// The encoding of text in both directions, such as `UTF8`; `None`: the database's own.
    pub client_encoding: Option<String>,
    /// Which sessions are of use; with another one the start-up fails.
    pub session_kind: SessionKind,
    /// What the server may ask for when we log in.
    pub authentication: AuthenticationPolicy,
}

/// Which sessions are of use when several servers may be tried: libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionKind {
    /// All.
    #[default]
    Any,
    /// Those whose transactions may write unless they say otherwise.
    ReadWrite,
    /// Those whose transactions may not write unless they say otherwise, or at all.
    ReadOnly,
    /// Those of a server that is no standby.
    Primary,
    /// Those of a standby.
    Standby,
}

impl SessionKind {
    /// What to ask a server that does not report it (those before 14); it answers `on` or `t` for yes. `None` if
    /// nothing matters.
    pub fn question(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::ReadWrite | Self::ReadOnly => Some("show transaction_read_only"),
            Self::Primary | Self::Standby => Some("select pg_catalog.pg_is_in_recovery()"),
        }
    }

    /// Why a session is of no use for which the answer is `yes` (read-only, or a standby), in libpq's words; `None`
    /// if it is of use.
    pub fn refusal(self, yes: bool) -> Option<&'static str> {
        match (self, yes) {
            (Self::ReadWrite, true) => Some("session is read-only"),
            (Self::ReadOnly, false) => Some("session is not read-only"),
            (Self::Primary, true) => Some("server is in hot standby mode"),
            (Self::Standby, false) => Some("server is not in hot standby mode"),
            _ => None,
        }
    }
}

/// A password. Never shown: `Debug` prints nothing of it, and only a form that is not made for people to read can hold
/// it, so that it gets into no archive or log by way of what it is a part of.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Keeps these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into().into_boxed_slice())
    }

    /// The bytes themselves, for those who must know.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return Err(ser::Error::custom(
                "a password is not written in a form that people read",
            ));
        }
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Err(de::Error::custom(
                "a password is not read from a form that people write",
            ));
        }
        // Bytes are written like a list of numbers below 256.
        Vec::deserialize(deserializer).map(Self::new)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let config = PgConfig {
            user: "bench".into(),
            password: Some("hunter2".into()),
            ..PgConfig::default()
        };
        let shown = format!("{config:?} {config:#?}");
        assert!(shown.contains("bench") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_password_is_not_written_for_people() {
        let error = serde_json::to_string(&Secret::from("hunter2")).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(serde_json::from_str::<Secret>("[1]").is_err());
    }
}

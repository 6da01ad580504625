//! Who connects to what, the same for all connections of a workload.

use std::fmt;

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
    /// Further settings for the connection, name and value, such as `("search_path", "bench")` or `("options", "-c jit=off")`.
    pub runtime_parameters: Vec<(String, String)>,
}

/// A password. Never shown: `Debug` prints nothing of it.
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
}

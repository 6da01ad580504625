//! Addresses of databases, which may hold passwords.

use serde::{Deserialize, Serialize};

/// The address of a database as it was given, and as it may be shown. Only the latter is ever serialised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Shown", into = "Shown")]
pub struct Address {
    given: String,
    shown: String,
}

impl Address {
    /// The address `given`, which is `shown` without its passwords.
    #[must_use]
    pub fn new(given: String, shown: String) -> Self {
        Self { given, shown }
    }

    /// As it was given, with its passwords; without them if it comes from an archive.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }

    /// As it may be shown, without its passwords.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// What stands in an archive. Nothing else becomes an address without being told what of it may be shown.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Shown(String);

impl From<Shown> for Address {
    fn from(Shown(shown): Shown) -> Self {
        Self {
            given: shown.clone(),
            shown,
        }
    }
}

impl From<Address> for Shown {
    fn from(address: Address) -> Self {
        Self(address.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_serialised() {
        let address = Address::new("postgres://a:secret@b".to_owned(), "postgres://a:***@b".to_owned());
        let json = serde_json::to_string(&address).unwrap();
        assert_eq!(json, "\"postgres://a:***@b\"");
        let read: Address = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (address.given(), read.given()),
            ("postgres://a:secret@b", "postgres://a:***@b")
        );
    }
}

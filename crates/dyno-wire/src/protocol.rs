//! The ways of sending a statement, by pgbench's names.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How statements travel; `simple`, `extended` and `prepared` as in pgbench's `--protocol`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// SQL text with the values written into it, parsed and planned each time.
    #[default]
    Simple,
    /// SQL text and values apart, parsed and planned each time.
    Extended,
    /// Parsed once per connection under a name, then only the values travel.
    Prepared,
}

impl Protocol {
    /// All of them, in pgbench's order.
    pub const ALL: [Self; 3] = [Self::Simple, Self::Extended, Self::Prepared];

    /// The name as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no [`Protocol`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown protocol \"{0}\": use simple, extended or prepared")]
pub struct UnknownProtocol(pub String);

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<Self, UnknownProtocol> {
        Self::ALL
            .into_iter()
            .find(|protocol| protocol.name() == text)
            .ok_or_else(|| UnknownProtocol(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
    }

    #[test]
    fn unknown_name_says_what_to_use() {
        let error = "Prepared".parse::<Protocol>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown protocol \"Prepared\": use simple, extended or prepared"
        );
    }
}

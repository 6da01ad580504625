//! Values that are one of a few words.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Declares an enumeration whose values have the same names in files, on the command line and in the archive.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// The names used in files and on the command line.
            pub const NAMES: &[&str] = &[$($word),+];

            /// The name used in files and on the command line.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!("expected one of {}", Self::NAMES.join(", "))),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

choice! {
    /// How statements are sent to the server.
    #[derive(Default)]
    Protocol {
        /// As text, with values written into it.
        Simple = "simple",
        /// As text with separate values, analysed each time.
        Extended = "extended",
        /// Analysed once per connection, then executed by name.
        #[default]
        Prepared = "prepared",
    }
}

choice! {
    /// What speaks to the server for the clients.
    #[derive(Default)]
    Driver {
        /// Sessions of dyno's own.
        #[default]
        Dyno = "dyno",
        /// Oracle's own crate of this name.
        Oracledb = "oracledb",
    }
}

impl Driver {
    /// Whether it is the one that is used unless another is asked for.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

choice! {
    /// How much of an experiment is done.
    Size {
        /// The shape of the results in minutes, loading included.
        Small = "small",
        /// More data and longer runs.
        Medium = "medium",
        /// As published.
        Full = "full",
    }
}

choice! {
    /// How clients connect to the embedded server.
    Path {
        /// Over its unix socket.
        Unix = "unix",
        /// Over TCP on the loopback interface.
        Tcp = "tcp",
    }
}

choice! {
    /// What a run finds of what the run before it did to the data.
    #[derive(Default)]
    State {
        /// Nothing: it gets a copy of the data as loaded where copies can be made, else newly loaded data.
        #[default]
        Copy = "copy",
        /// Nothing: the data is loaded anew.
        Reload = "reload",
        /// Everything: it goes on with the data as it is.
        Keep = "keep",
    }
}

choice! {
    /// What of the data is in memory when the load begins.
    #[derive(Default)]
    Cache {
        /// What loading and settling left there.
        #[default]
        AsIs = "as-is",
        /// Nothing: the server is restarted, and the system's pages of its files are dropped.
        Cold = "cold",
        /// Everything that fits: it is read beforehand.
        Warm = "warm",
    }
}

choice! {
    /// In which order the runs of a campaign are made.
    #[derive(Default)]
    Order {
        /// Repetition by repetition, the cells of each shuffled.
        #[default]
        Interleaved = "interleaved",
        /// All runs shuffled.
        Random = "random",
        /// Repetition by repetition, the cells of each as listed.
        Listed = "listed",
        /// All cells beside each other, in turn, until it is known which does more.
        Paired = "paired",
    }
}

choice! {
    /// What a campaign does after a run that failed.
    #[derive(Default)]
    OnFailure {
        /// It goes on with the next run.
        #[default]
        Continue = "continue",
        /// It ends; it can be resumed.
        Stop = "stop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_everywhere() {
        for word in Cache::NAMES {
            let cache: Cache = word.parse().unwrap();
            assert_eq!(cache.to_string(), *word);
            assert_eq!(serde_json::to_value(cache).unwrap(), *word);
        }
        assert_eq!(
            "AsIs".parse::<Cache>(),
            Err("expected one of as-is, cold, warm".to_owned())
        );
    }
}

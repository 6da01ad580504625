//! The versions of sysbench that differ in options, defaults and texts.

use std::fmt;
use std::str::FromStr;

/// A line of sysbench's versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.5.
    V0_5,
    /// 1.0, as Debian has it: the default.
    #[default]
    V1_0,
    /// 1.1, which was never released but is what is built from its sources.
    V1_1,
}

impl Version {
    /// The number that sysbench of this line gives itself.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::V0_5 => "0.5",
            Self::V1_0 => "1.0.20",
            Self::V1_1 => "1.1.0",
        }
    }

    /// What `--version` prints.
    #[must_use]
    pub fn line(self) -> String {
        format!("sysbench {} (dyno {})\n", self.number(), env!("CARGO_PKG_VERSION"))
    }

    /// What everything else begins with.
    #[must_use]
    pub fn header(self) -> String {
        let dyno = env!("CARGO_PKG_VERSION");
        match self {
            Self::V0_5 => format!("sysbench 0.5:  multi-threaded system evaluation benchmark (dyno {dyno})\n\n"),
            _ => format!("sysbench {} (using dyno {dyno} with LuaJIT)\n\n", self.number()),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V0_5 => "0.5",
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        })
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::V0_5, Self::V1_0, Self::V1_1];
        all.into_iter()
            .find(|version| text == version.to_string() || text == version.number())
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_line_and_by_number() {
        assert_eq!("0.5".parse(), Ok(Version::V0_5));
        assert_eq!("1.0".parse(), Ok(Version::V1_0));
        assert_eq!("1.0.20".parse(), Ok(Version::V1_0));
        assert_eq!("1.1".parse(), Ok(Version::V1_1));
        assert_eq!("1.2".parse::<Version>(), Err(()));
    }
}

//! The versions of pgbench that differ in options and texts.

use std::fmt;
use std::str::FromStr;

/// A major version of PostgreSQL, 9.3 to 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u8);

impl Version {
    /// The first that is known here.
    pub const OLDEST: Self = Self::V9_3;
    /// The last that is known here; its texts are the default.
    pub const NEWEST: Self = Self(19);
    /// 9.3.
    pub const V9_3: Self = Self(3);
    /// 9.4.
    pub const V9_4: Self = Self(4);
    /// 9.5.
    pub const V9_5: Self = Self(5);
    /// 9.6.
    pub const V9_6: Self = Self(6);
    /// 10.
    pub const V10: Self = Self(10);
    /// 11.
    pub const V11: Self = Self(11);
    /// 13.
    pub const V13: Self = Self(13);
    /// 14.
    pub const V14: Self = Self(14);
    /// 15.
    pub const V15: Self = Self(15);
    /// 17.
    pub const V17: Self = Self(17);
    /// 18.
    pub const V18: Self = Self(18);
    /// 19.
    pub const V19: Self = Self(19);

    /// All versions, the newest first.
    pub fn newest_first() -> impl Iterator<Item = Self> {
        (Self::V10.0..=Self::NEWEST.0)
            .rev()
            .chain((Self::OLDEST.0..=Self::V9_6.0).rev())
            .map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self < Self::V10 {
            f.write_str("9.")?;
        }
        write!(f, "{}", self.0)
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::newest_first()
            .find(|version| version.to_string() == text)
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_people_do() {
        let all: Vec<String> = Version::newest_first().map(|version| version.to_string()).collect();
        assert_eq!(all.first().map(String::as_str), Some("19"));
        assert_eq!(all[all.len() - 5..], ["10", "9.6", "9.5", "9.4", "9.3"]);
        assert_eq!("9.6".parse(), Ok(Version::V9_6));
        assert_eq!("3".parse::<Version>(), Err(()));
        assert!(Version::V9_6 < Version::V10);
    }
}

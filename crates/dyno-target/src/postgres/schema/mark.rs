//! The comment by which dyno knows a schema as its own, and what it keeps there.

use jiff::{RoundMode, Timestamp, TimestampRound, ToSpan, Unit};
use std::fmt;

/// What begins the comment on a schema or database that dyno made.
pub const MARK: &str = "made by dyno";

/// What the comment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// In which state the data is.
    pub state: String,
    /// When it was brought into this state; unknown of schemas made by dyno 0.1.
    pub changed: Option<Timestamp>,
    /// Extensions that came into the database with this data.
    pub extensions: Vec<Extension>,
}

/// An extension that dyno created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its number, which tells it from one of this name that somebody else created later.
    pub oid: u32,
}

impl Mark {
    /// Data that is in `state` from now on.
    #[must_use]
    pub fn now(state: &str, extensions: Vec<Extension>) -> Self {
        let now = Timestamp::now();
        // Not to the nearest one, which may be to come.
        let whole = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc);
        Self {
            state: state.to_owned(),
            changed: Some(now.round(whole).unwrap_or(now)),
            extensions,
        }
    }

    /// Reads a comment; `None`: it is not dyno's.
    #[must_use]
    pub fn parse(comment: &str) -> Option<Self> {
        let mut parts = comment.strip_prefix(MARK)?.strip_prefix(": ")?.split("; ");
        let state = parts.next().filter(|state| is_state(state))?;
        let mut mark = Self {
            state: state.to_owned(),
            ..Self::default()
        };
        for part in parts {
            match part.split_once(' ') {
                Some(("since", when)) => mark.changed = when.parse().ok(),
                Some(("extensions", list)) => mark.extensions = list.split(' ').filter_map(Extension::parse).collect(),
                _ => return None,
            }
        }
        Some(mark)
    }

    /// Whether the data has been in its state for `days` at least; not known of schemas made by dyno 0.1.
    #[must_use]
    pub fn is_older_than_days(&self, days: u32) -> Option<bool> {
        let limit = Timestamp::now().checked_sub((i64::from(days) * 24).hours()).ok()?;
        self.changed.map(|changed| changed <= limit)
    }
}

/// Whether dyno writes such a state: other people write comments, too.
fn is_state(state: &str) -> bool {
    let is_fingerprint = |word: &str| word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match state.split_once(' ') {
        None => state == "loading" || is_fingerprint(state),
        Some(("loaded", fingerprint)) => is_fingerprint(fingerprint),
        Some((fingerprint, user)) => {
            is_fingerprint(fingerprint) && (user.starts_with("used by ") || user.starts_with("of "))
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}: {}", self.state)?;
        if let Some(changed) = self.changed {
            write!(f, "; since {changed}")?;
        }
        if !self.extensions.is_empty() {
            f.write_str("; extensions")?;
        }
        self.extensions
            .iter()
            .try_for_each(|Extension { name, oid }| write!(f, " {name}/{oid}"))
    }
}

impl Extension {
    /// An extension that can be noted; one with a name that would not be read back the same is left to the user.
    pub(super) fn new(name: &str, oid: u32) -> Option<Self> {
        let odd = |c: char| c == ';' || c.is_whitespace();
        (!name.contains(odd)).then(|| Self {
            name: name.to_owned(),
            oid,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let (name, oid) = text.rsplit_once('/')?;
        Self::new(name, oid.parse().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_read_as_it_was_written(
            state in "(loading|(loaded )?[0-9a-f]{12}|[0-9a-f]{12} (used by|of) [a-z0-9-]{1,20})",
            second in proptest::option::of(0_i64..4_000_000_000),
            extensions in proptest::collection::vec(("[a-z/_-]{1,12}", any::<u32>()), 0..4),
        ) {
            let mark = Mark {
                state,
                changed: second.map(|second| Timestamp::from_second(second).unwrap()),
                extensions: extensions.iter().filter_map(|(name, oid)| Extension::new(name, *oid)).collect(),
            };
            prop_assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
        }

        #[test]
        fn any_comment_is_read_or_refused(comment in "(made by dyno)?(: |; |since|extensions|[ -~]){0,8}") {
            prop_assert!(Mark::parse(&comment).is_none() || comment.starts_with(MARK));
        }
    }

    #[test]
    fn reads_what_earlier_versions_wrote() {
        let mark = Mark::parse("made by dyno: 0123456789ab used by 2026-01-01-pk-update").unwrap();
        assert_eq!(mark.state, "0123456789ab used by 2026-01-01-pk-update");
        assert_eq!((mark.changed, mark.is_older_than_days(0)), (None, None));
        for known in ["loading", "loaded 0123456789ab"] {
            assert!(Mark::parse(&format!("made by dyno: {known}")).is_some(), "{known}");
        }
        for foreign in [
            "the shop's data",
            "made by dyno",
            "made by dyno the dinosaur dept",
            "made by dyno: the dinosaur dept",
            "made by dyno: loaded by Ann",
            "made by dyno: loading; do not touch",
        ] {
            assert_eq!(Mark::parse(foreign), None, "{foreign}");
        }
        assert_eq!(Mark::now("loaded", Vec::new()).is_older_than_days(1), Some(false));
        assert_eq!(Mark::now("loaded", Vec::new()).is_older_than_days(0), Some(true));
    }
}

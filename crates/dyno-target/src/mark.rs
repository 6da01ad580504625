//! What the comment of dyno's database says: which data is in it, what was made with that, and who has worked on it.

use crate::embedded::hex;
use crate::target::{State, Wanted};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;

/// What the comments of dyno's databases begin with.
pub(crate) const MARK: &str = "dyno: ";

/// What is in the comment until all is loaded.
const LOADING: &str = "loading";

/// The most tables and views that are noted: a comment has room for 1,024 characters.
const MOST: usize = 70;

/// What stands for no name at all.
const NONE: &str = "none";

/// How many bytes of its hash stand for a name: any name can be noted so, whatever is in it.
const SHORT: usize = 4;

/// What is said of dyno's database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Tells its data from other data; `None` as long as it is not all loaded.
    pub fingerprint: Option<String>,
    /// The tables and views that were made; `None` if they were too many to be noted.
    pub made: Option<Made>,
    /// The campaign that has worked on it.
    pub used_by: Option<String>,
}

/// Names of tables and views, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made(BTreeSet<String>);

impl Mark {
    /// What this comment says; `None` if it is not one of dyno's.
    pub fn read(comment: &str) -> Option<Self> {
        let said = comment.strip_prefix(MARK)?;
        let (data, used_by) = match (said.strip_prefix("loaded "), said.split_once(" used by ")) {
            (Some(data), _) => (data, None),
            (None, Some((data, campaign))) => (data, Some(campaign.to_owned())),
            (None, None) => return Some(Self::default()),
        };
        let (fingerprint, made) = match data.split_once(" of ") {
            Some((fingerprint, made)) => (fingerprint, Some(Made::read(made))),
            None => (data, None),
        };
        Some(Self {
            fingerprint: Some(fingerprint.to_owned()),
            made,
            used_by,
        })
    }

    /// What is done with the data if it does for a run whose data has this `fingerprint`; `None` if it has to be loaded
    /// anew.
    pub fn stays(&self, fingerprint: &str, wanted: Wanted<'_>) -> Option<&'static str> {
        if self.fingerprint.as_deref() != Some(fingerprint) {
            return None;
        }
        let state = wanted.data.state;
        match &self.used_by {
            None => (state != State::Reload).then_some("Using the data that is loaded"),
            Some(campaign) if campaign == wanted.campaign && state == State::Keep => {
                Some("Continuing with the data as the last run left it")
            }
            Some(_) => None,
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(fingerprint) = &self.fingerprint else {
            return write!(f, "{MARK}{LOADING}");
        };
        let made = self
            .made
            .as_ref()
            .map_or_else(String::new, |made| format!(" of {made}"));
        match &self.used_by {
            None => write!(f, "{MARK}loaded {fingerprint}{made}"),
            Some(campaign) => write!(f, "{MARK}{fingerprint}{made} used by {campaign}"),
        }
    }
}

impl Made {
    fn read(text: &str) -> Self {
        Self(
            text.split(',')
                .filter(|name| *name != NONE)
                .map(str::to_owned)
                .collect(),
        )
    }

    /// Notes these names, unless they are too many.
    pub fn of(names: &[String]) -> Option<Self> {
        (names.len() <= MOST).then(|| Self(names.iter().map(|name| short(name)).collect()))
    }

    /// Those of these names that are not noted.
    pub fn lacks<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let others = names.iter().filter(|name| !self.0.contains(&short(name)));
        others.map(String::as_str).collect()
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        f.write_str(if names.is_empty() { NONE } else { "" })?;
        f.write_str(&names.join(","))
    }
}

fn short(name: &str) -> String {
    hex(&Sha256::digest(name)[..SHORT])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_said_is_read_again() {
        let fingerprint = Some("ab12".to_owned());
        let made = Made::of(&names(&["t", "it's, used by x"]));
        let used_by = Some("2026-11-23T09-27-53-pk-update".to_owned());
        for mark in [
            Mark::default(),
            Mark {
                fingerprint: fingerprint.clone(),
                ..Mark::default()
            },
            Mark {
                fingerprint: fingerprint.clone(),
                made: Made::of(&[]),
                used_by: None,
            },
            Mark {
                fingerprint: fingerprint.clone(),
                made: made.clone(),
                used_by: None,
            },
            Mark {
                fingerprint: fingerprint.clone(),
                made: None,
                used_by: used_by.clone(),
            },
            Mark {
                fingerprint,
                made,
                used_by,
            },
        ] {
            assert_eq!(Mark::read(&mark.to_string()).as_ref(), Some(&mark), "{mark}");
        }
        assert_eq!(Mark::read("my own"), None);
        assert_eq!(Mark::read("dyno: who knows"), Some(Mark::default()));
    }

    #[test]
    fn what_was_not_made_is_known_and_any_mark_fits() {
        let made = Made::of(&names(&["mine"])).unwrap();
        assert_eq!(made.lacks(&names(&["mine", "yours"])), ["yours"]);
        let many: Vec<_> = (0..MOST).map(|number| format!("table {number}")).collect();
        let mark = Mark {
            fingerprint: Some("f".repeat(64)),
            made: Made::of(&many),
            used_by: Some("c".repeat(255)),
        };
        assert!(mark.to_string().len() <= 1024, "{}", mark.to_string().len());
        let more = [many, names(&["one more"])].concat();
        assert_eq!(Made::of(&more), None);
    }
}

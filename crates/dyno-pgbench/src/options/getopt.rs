//! Splits the command line as GNU `getopt_long` does: bundled letters, abbreviated long names, options after
//! operands, `--`.
//!
//! Two things go beyond it, because all versions of pgbench are to be understood at once. An abbreviation means
//! what it meant in the newest version where it was unambiguous, so that options added later do not break it. And
//! `-d`, which meant "debug" up to 16 and takes the database's name from 17 on, has the meaning of the version
//! given with `--report-format`; without that it takes what is attached to it, or a next word that does not begin
//! with `-`, as the database's name, and else means "debug". (`-d NAME` is right either way: in the older meaning
//! NAME is the operand.)

use super::table::{Id, LONG, Long, SHORT, Takes};
use crate::version::Version;

/// What cannot be understood; the texts are the GNU C library's, which say the program's name as it was called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetoptError {
    /// No such letter.
    #[error("invalid option -- '{0}'")]
    UnknownLetter(char),
    /// No such name.
    #[error("unrecognized option '--{0}'")]
    UnknownName(String),
    /// Several names begin so.
    #[error("option '--{given}' is ambiguous; possibilities:{}", possibilities.iter().map(|name| format!(" \
        '--{name}'")).collect::<String>())]
    Ambiguous {
        /// As written.
        given: String,
        /// What it might be.
        possibilities: Vec<&'static str>,
    },
    /// The value is missing after a letter.
    #[error("option requires an argument -- '{0}'")]
    LetterNeedsValue(char),
    /// The value is missing after a name.
    #[error("option '--{0}' requires an argument")]
    NameNeedsValue(&'static str),
    /// A value where none belongs.
    #[error("option '--{0}' doesn't allow an argument")]
    NoValue(&'static str),
}

/// One element of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Option(Id, Option<String>),
    Operand(String),
}

/// Walks over the words from left to right.
pub(super) struct Getopt {
    words: std::vec::IntoIter<String>,
    /// Letters of a bundle that are still to be looked at.
    bundle: String,
    only_operands: bool,
    /// What `-d` is, if the user said so.
    version: Option<Version>,
}

impl Getopt {
    /// `words` without the program's name.
    pub(super) fn new(words: Vec<String>) -> Self {
        let version = requested_version(&words);
        Self {
            words: words.into_iter(),
            bundle: String::new(),
            only_operands: false,
            version,
        }
    }

    fn letter(&mut self) -> Result<Element, GetoptError> {
        let mut letters = self.bundle.chars();
        let Some(letter) = letters.next() else {
            return Err(GetoptError::UnknownLetter('-'));
        };
        let rest = letters.as_str().to_owned();
        if letter == 'd' {
            return self.letter_d(rest);
        }
        let Some(&(_, id, takes)) = SHORT.iter().find(|(known, _, _)| *known == letter) else {
            self.bundle = rest;
            return Err(GetoptError::UnknownLetter(letter));
        };
        if takes == Takes::Nothing {
            self.bundle = rest;
            return Ok(Element::Option(id, None));
        }
        self.bundle.clear();
        let value = if rest.is_empty() { self.words.next() } else { Some(rest) };
        match value {
            Some(value) => Ok(Element::Option(id, Some(value))),
            None => Err(GetoptError::LetterNeedsValue(letter)),
        }
    }

    fn letter_d(&mut self, rest: String) -> Result<Element, GetoptError> {
        let names_database = match self.version {
            Some(version) => version >= Version::V17,
            None if rest.is_empty() => self.words.as_slice().first().is_some_and(|next| !next.starts_with('-')),
            None => true,
        };
        if !names_database {
            self.bundle = rest;
            return Ok(Element::Option(Id::Debug, None));
        }
        self.bundle.clear();
        let value = if rest.is_empty() { self.words.next() } else { Some(rest) };
        let value = value.ok_or(GetoptError::LetterNeedsValue('d'))?;
        Ok(Element::Option(Id::Database, Some(value)))
    }

    fn name(&mut self, word: &str) -> Result<Element, GetoptError> {
        let (given, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let long = find(given, word)?;
        let value = match (long.takes, attached) {
            (Takes::Nothing, Some(_)) => return Err(GetoptError::NoValue(long.name)),
            (Takes::Nothing, None) | (Takes::ValueIfAttached, None) => None,
            (_, Some(value)) => Some(value),
            (Takes::Value, None) => match self.words.next() {
                Some(value) => Some(value),
                None => return Err(GetoptError::NameNeedsValue(long.name)),
            },
        };
        Ok(Element::Option(long.id, value))
    }
}

impl Iterator for Getopt {
    type Item = Result<Element, GetoptError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.bundle.is_empty() {
            return Some(self.letter());
        }
        let word = self.words.next()?;
        if self.only_operands || word == "-" || !word.starts_with('-') {
            return Some(Ok(Element::Operand(word)));
        }
        if word == "--" {
            self.only_operands = true;
            return self.next();
        }
        if let Some(name) = word.strip_prefix("--") {
            return Some(self.name(name));
        }
        self.bundle = word[1..].to_owned();
        Some(self.letter())
    }
}

/// The option that `given`, perhaps abbreviated, stands for; `word` is what complaints show.
fn find(given: &str, word: &str) -> Result<Long, GetoptError> {
    if let Some(exact) = LONG.iter().find(|long| long.name == given) {
        return Ok(*exact);
    }
    let candidates: Vec<&Long> = LONG.iter().filter(|long| long.name.starts_with(given)).collect();
    let in_pgbench = |version: Version| -> Vec<&Long> {
        let has = |long: &&Long| {
            long.versions
                .is_some_and(|(first, last)| (first..=last).contains(&version))
        };
        candidates.iter().copied().filter(has).collect()
    };
    let unambiguous = Version::newest_first().find_map(|version| match in_pgbench(version)[..] {
        [only] => Some(*only),
        _ => None,
    });
    if let Some(long) = unambiguous {
        return Ok(long);
    }
    let mut known = in_pgbench(Version::NEWEST);
    if known.is_empty() {
        known = candidates;
    }
    match known[..] {
        [] => Err(GetoptError::UnknownName(word.to_owned())),
        [only] => Ok(*only),
        _ => Err(GetoptError::Ambiguous {
            given: word.to_owned(),
            possibilities: known.iter().map(|long| long.name).collect(),
        }),
    }
}

/// The version given with `--report-format`, wherever it stands.
fn requested_version(words: &[String]) -> Option<Version> {
    let mut found = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--report-format") {
            Some("") => words.next().map(String::as_str),
            Some(attached) => attached.strip_prefix('='),
            None => None,
        };
        found = value.and_then(|value| value.parse().ok()).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(line: &str) -> Result<Vec<Element>, GetoptError> {
        Getopt::new(line.split_whitespace().map(str::to_owned).collect()).collect()
    }

    fn option(id: Id, value: &str) -> Element {
        Element::Option(id, (!value.is_empty()).then(|| value.to_owned()))
    }

    fn operand(word: &str) -> Element {
        Element::Operand(word.to_owned())
    }

    #[test]
    fn letters_bundle_and_take_what_is_attached_or_follows() {
        assert_eq!(
            split("-Snr -c10 -j 4 db -T5 -- -x"),
            Ok(vec![
                option(Id::SelectOnly, ""),
                option(Id::NoVacuum, ""),
                option(Id::ReportPerCommand, ""),
                option(Id::Clients, "10"),
                option(Id::Jobs, "4"),
                operand("db"),
                option(Id::Time, "5"),
                operand("-x"),
            ])
        );
        assert_eq!(
            split("-nc2"),
            Ok(vec![option(Id::NoVacuum, ""), option(Id::Clients, "2")])
        );
        assert_eq!(split("-f -"), Ok(vec![option(Id::File, "-")]));
    }

    #[test]
    fn an_abbreviation_means_what_it_meant_before_newer_options_came() {
        // 19 has --continue-on-error, 15 to 18 --connect alone.
        assert_eq!(split("--con"), Ok(vec![option(Id::Connect, "")]));
        assert_eq!(split("--v"), Ok(vec![option(Id::VacuumAll, "")]));
        // --reconnect is ours and takes nothing away.
        assert_eq!(split("--re"), Ok(vec![option(Id::ReportPerCommand, "")]));
        assert_eq!(split("--report-l"), Ok(vec![option(Id::ReportPerCommand, "")]));
        assert_eq!(split("--rec"), Ok(vec![option(Id::Reconnect, "")]));
        assert_eq!(split("--cli=3"), Ok(vec![option(Id::Clients, "3")]));
    }

    #[test]
    fn complaints_are_those_of_the_c_library() {
        let text = |line: &str| split(line).unwrap_err().to_string();
        assert_eq!(text("-x"), "invalid option -- 'x'");
        assert_eq!(text("-c"), "option requires an argument -- 'c'");
        assert_eq!(text("--foo"), "unrecognized option '--foo'");
        assert_eq!(text("--foo=1"), "unrecognized option '--foo=1'");
        assert_eq!(text("--cl"), "option '--client' requires an argument");
        assert_eq!(text("--connect=1"), "option '--connect' doesn't allow an argument");
        assert_eq!(
            text("--fi"),
            "option '--fi' is ambiguous; possibilities: '--file' '--fillfactor'"
        );
    }

    #[test]
    fn d_is_debug_or_database() {
        assert_eq!(split("-d mydb"), Ok(vec![option(Id::Database, "mydb")]));
        assert_eq!(
            split("-d -n"),
            Ok(vec![option(Id::Debug, ""), option(Id::NoVacuum, "")])
        );
        assert_eq!(split("mydb -d"), Ok(vec![operand("mydb"), option(Id::Debug, "")]));
        assert_eq!(split("-dmydb"), Ok(vec![option(Id::Database, "mydb")]));
        let old = split("-dn mydb --report-format=16").unwrap();
        assert_eq!(old[..2], [option(Id::Debug, ""), option(Id::NoVacuum, "")]);
        assert_eq!(
            split("--report-format 17 -d -n").unwrap()[1],
            option(Id::Database, "-n")
        );
        assert_eq!(split("--report-format=17 -d"), Err(GetoptError::LetterNeedsValue('d')));
    }

    proptest! {
        #[test]
        fn never_panics(words in proptest::collection::vec("-{0,2}[a-zA-Zü=]{0,9}", 0..6)) {
            for element in Getopt::new(words) {
                let _ = element;
            }
        }
    }
}

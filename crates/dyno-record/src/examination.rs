//! What an examination of a database and of a machine finds, before anything is measured.

use serde::Serialize;
use std::fmt;

/// What a finding means for a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It is as it should be.
    Ok,
    /// A load can run, but its results lack something or are questionable.
    Note,
    /// No load can run.
    Problem,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        })
    }
}

/// What a finding is about. A page has them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// How the server is reached and which it is.
    Server,
    /// What the role may do and see there.
    Rights,
    /// How the server is set, and its room for data.
    Settings,
    /// The servers that dyno makes itself.
    Private,
    /// The machine that dyno runs on.
    Machine,
    /// dyno's own folders and what it knows of this machine.
    Dyno,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub topic: Topic,
    /// What was looked at, in a word or two.
    pub subject: String,
    /// What it means for a load.
    pub mark: Mark,
    /// What was found, and what it costs if anything.
    pub found: String,
    /// What to do about it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What to type for that, in this order: statements for the server, or commands for a shell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl Finding {
    /// Something that is as it should be.
    #[must_use]
    pub fn ok(topic: Topic, subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::of(Mark::Ok, topic, subject.into(), found.into())
    }

    /// Something that results lack, or that makes them questionable.
    #[must_use]
    pub fn note(topic: Topic, subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::of(Mark::Note, topic, subject.into(), found.into())
    }

    /// Something that keeps a load from running.
    #[must_use]
    pub fn problem(topic: Topic, subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::of(Mark::Problem, topic, subject.into(), found.into())
    }

    fn of(mark: Mark, topic: Topic, subject: String, found: String) -> Self {
        Self {
            topic,
            subject,
            mark,
            found,
            remedy: None,
            commands: Vec::new(),
        }
    }

    /// The same with what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same with statements to execute on the server.
    #[must_use]
    pub fn executing(self, statements: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.typing(statements.into_iter().map(|statement| statement.into() + ";"))
    }

    /// The same with what to type.
    #[must_use]
    pub fn typing(mut self, commands: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.commands.extend(commands.into_iter().map(Into::into));
        self
    }

    /// The same where nothing depends on it.
    #[must_use]
    pub fn at_most(mut self, mark: Mark) -> Self {
        self.mark = self.mark.min(mark);
        self
    }
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// The dyno that looked.
    pub dyno_version: String,
    /// The database, without passwords; `None`: only this machine was looked at.
    pub target: Option<String>,
    /// Whether a load can run.
    pub can_run: bool,
    /// In the order of their topics.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// Of these findings, in any order.
    #[must_use]
    pub fn of(dyno_version: &str, target: Option<String>, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| finding.topic);
        Self {
            dyno_version: dyno_version.to_owned(),
            target,
            can_run: findings.iter().all(|finding| finding.mark < Mark::Problem),
            findings,
        }
    }

    /// How many findings have this mark.
    #[must_use]
    pub fn count(&self, mark: Mark) -> usize {
        self.findings.iter().filter(|finding| finding.mark == mark).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_can_run_unless_there_is_a_problem() {
        let fine = Finding::ok(Topic::Dyno, "archive", "writable");
        let less = Finding::note(Topic::Server, "server", "old");
        let none = Finding::problem(Topic::Machine, "memory", "none");
        let seen = Examination::of("1", None, vec![fine.clone(), less.clone()]);
        assert!(seen.can_run && seen.findings == [less.clone(), fine]);
        let seen = Examination::of("1", None, vec![none.clone(), less]);
        assert!(!seen.can_run);
        assert_eq!((seen.count(Mark::Problem), seen.count(Mark::Ok)), (1, 0));
        assert!(Examination::of("1", None, vec![none.at_most(Mark::Note)]).can_run);
    }
}

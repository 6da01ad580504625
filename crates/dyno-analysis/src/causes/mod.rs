//! Why a dip happened. Each cause has a file with the rule for it; a rule gives its evidence with a score, or nothing.
//!
//! Scores are from 0 to 1: how well the evidence alone explains a loss of throughput at just that time. What is
//! always there scores nothing, however large it is. On a machine that is shared most dips have no cause that dyno
//! could see, so a story must be better than half to be told.

mod checkpoint;
mod cold_cache;
mod contention;
mod dyno_stopped;
mod errors;
mod full_log;
mod full_page_images;
mod host_noise;
mod load_generator;
mod lock;
mod other_processes;
mod purge;
mod remote;
mod replication;
mod server_stopped;
mod slow_storage;
mod vacuum;

use crate::recording::Recording;
use crate::series::Window;
use crate::sides::chain;
use dyno_archive::analysis::Cause;

/// A lower score is worth a mention, and no more.
const CONVINCING: f64 = 0.5;

/// More sentences about one dip are not read.
const MOST_EVIDENCE: usize = 4;

/// What speaks for a cause.
#[derive(Clone, Debug, PartialEq)]
struct Evidence {
    cause: Cause,
    /// From 0 to 1.
    score: f64,
    /// What was seen, as a sentence without its end.
    words: String,
}

/// A rule for a cause.
type Rule = fn(&Recording, Window) -> Option<Evidence>;

/// What a rule is about. The machine is the same whichever server is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Load,
    Server,
}

/// All rules. Of equal scores the first wins.
const RULES: [(About, Rule); 17] = [
    (About::Load, dyno_stopped::look),
    (About::Server, server_stopped::look),
    (About::Server, lock::look),
    (About::Load, errors::look),
    (About::Server, replication::look),
    (About::Server, remote::look),
    (About::Load, other_processes::look),
    (About::Server, vacuum::look),
    (About::Server, full_log::look),
    (About::Server, checkpoint::look),
    (About::Server, full_page_images::look),
    (About::Server, cold_cache::look),
    (About::Server, purge::look),
    (About::Server, slow_storage::look),
    (About::Server, contention::look),
    (About::Load, host_noise::look),
    (About::Load, load_generator::look),
];

/// A server that may be why.
pub(super) struct Server<'a> {
    /// What it is called where there are several.
    pub name: Option<&'a str>,
    /// The server that it reaches through foreign tables, if it is a proxy.
    pub behind: Option<&'a str>,
    /// What was recorded of it.
    pub recording: &'a Recording,
}

/// The most likely cause of a dip, and what was seen at the time, the strongest evidence first. What concerns the load
/// and its machine is in `load`; the rest, in what was recorded of the `servers`.
pub(super) fn cause_of(load: &Recording, servers: &[Server<'_>], dip: Window) -> (Cause, Vec<String>) {
    let mut found: Vec<(Option<&str>, Evidence)> = Vec::new();
    for (about, rule) in RULES {
        match about {
            About::Load => found.extend(rule(load, dip).map(|evidence| (None, evidence))),
            About::Server => found.extend(servers.iter().filter_map(|server| {
                let evidence = rule(server.recording, dip)?;
                Some((server.name, evidence))
            })),
        }
    }
    found.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
    if let Some(place) = reason_behind(&found, servers) {
        found[..=place].rotate_right(1);
    }
    let cause = found
        .first()
        .filter(|(_, first)| first.score >= CONVINCING)
        .map_or(Cause::Unknown, |(_, first)| first.cause);
    let words = found.into_iter().take(MOST_EVIDENCE).map(|(server, evidence)| {
        let on = server.map_or_else(String::new, |server| format!("on {server}: "));
        on + &evidence.words
    });
    (cause, words.collect())
}

/// Where a proxy waits for the server behind it, and something explains why that was slow, the position of this: the
/// proxy only shows it.
fn reason_behind(found: &[(Option<&str>, Evidence)], servers: &[Server<'_>]) -> Option<usize> {
    let (proxy, _) = found.first().filter(|(_, first)| first.cause == Cause::Remote)?;
    let ways: Vec<_> = servers
        .iter()
        .filter_map(|server| Some((server.name?, server.behind)))
        .collect();
    let behind: Vec<_> = chain(&ways, (*proxy)?).skip(1).collect();
    found.iter().position(|(server, evidence)| {
        let is_why = evidence.cause != Cause::Remote && evidence.score >= CONVINCING;
        is_why && server.is_some_and(|server| behind.contains(&server))
    })
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;

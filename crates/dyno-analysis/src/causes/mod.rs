//! Why a dip happened. Each cause has a file with the rule for it; a rule gives its evidence with a score, or nothing.
//!
//! Scores are from 0 to 1: how well the evidence alone explains a loss of throughput at just that time. What is
//! always there scores nothing, however large it is. On a machine that is shared most dips have no cause that dyno
//! could see, so a story must be better than half to be told.

mod checkpoint;
mod cold_cache;
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

/// All rules. Of equal scores the first wins.
const RULES: [Rule; 16] = [
    dyno_stopped::look,
    server_stopped::look,
    lock::look,
    errors::look,
    replication::look,
    remote::look,
    other_processes::look,
    vacuum::look,
    full_log::look,
    checkpoint::look,
    full_page_images::look,
    cold_cache::look,
    purge::look,
    slow_storage::look,
    host_noise::look,
    load_generator::look,
];

/// The most likely cause of a dip, and what was seen at the time, the strongest evidence first.
pub(super) fn cause_of(recording: &Recording, dip: Window) -> (Cause, Vec<String>) {
    let mut found: Vec<Evidence> = RULES.iter().filter_map(|rule| rule(recording, dip)).collect();
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    let cause = found
        .first()
        .filter(|first| first.score >= CONVINCING)
        .map_or(Cause::Unknown, |first| first.cause);
    let words = found.into_iter().take(MOST_EVIDENCE).map(|evidence| evidence.words);
    (cause, words.collect())
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;

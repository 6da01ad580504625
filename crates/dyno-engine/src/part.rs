//! Which part of a load is driven here.
//!
//! A thread is what a load is divided into: which clients it has, what is random in it, and its part of the rate and of
//! the stages follow from the load and from its number. So whoever drives some of the threads does with them what
//! whoever drives all would do.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Some of the threads of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// For each workload the numbers of the threads; what is missing is all of them.
    threads: Vec<Range<usize>>,
}

impl Part {
    /// All threads of all workloads.
    #[must_use]
    pub fn whole() -> Self {
        Self { threads: Vec::new() }
    }

    /// The threads with these numbers, a range for each workload of the load.
    #[must_use]
    pub fn of(threads: Vec<Range<usize>>) -> Self {
        Self { threads }
    }

    /// Whether the thread of this number of a workload is among them.
    #[must_use]
    pub fn has(&self, workload: usize, thread: usize) -> bool {
        self.threads
            .get(workload)
            .is_none_or(|threads| threads.contains(&thread))
    }

    /// The numbers of the threads, workload by workload; empty: all.
    #[must_use]
    pub fn threads(&self) -> &[Range<usize>] {
        &self.threads
    }
}

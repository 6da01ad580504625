//! What clients asked of a stand-in: so a test can prove that a statement was parsed once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counters of a session.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// Counters at an instant.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl Counters {
            /// How they stand now.
            #[must_use]
            pub fn now(&self) -> Counts {
                Counts { $($name: self.$name.load(Ordering::Acquire),)* }
            }
        }

        impl Counts {
            /// What was counted since.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(earlier.$name),)* }
            }

            fn plus(&self, other: &Self) -> Self {
                Self { $($name: self.$name + other.$name,)* }
            }
        }
    };
}

counters! {
    /// Connections that were accepted, by the network.
    connections,
    /// Sessions that logged in.
    logins,
    /// Texts of statements that were parsed.
    parses,
    /// Messages that executed a statement, parsed before or with it.
    executions,
    /// Rows of binds that were executed.
    bound_rows,
    /// Messages that only fetched.
    fetches,
    /// Those of them that said in what form columns are wanted.
    defines,
    /// Rows that were sent.
    sent_rows,
    /// Commits, by messages of their own or with an execution.
    commits,
    /// Those of them that came with an execution.
    commits_with_execution,
    /// Rollbacks by messages of their own.
    rollbacks,
    /// Cursors that clients gave back.
    closed_cursors,
    /// Pings.
    pings,
    /// Sessions that logged off.
    logoffs,
    /// Statements or waits that were broken off.
    breaks,
    /// Messages that were answered.
    round_trips,
    /// Bytes that came.
    received_bytes,
    /// Bytes that went.
    sent_bytes,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::AcqRel);
    }

    pub(crate) fn one(counter: &AtomicU64) {
        Self::add(counter, 1);
    }
}

/// The counters of all sessions that there were, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Vec<(u32, Arc<Counters>)>>);

impl Registry {
    /// Those of a new session.
    pub(crate) fn begin(&self, session: u32) -> Arc<Counters> {
        let counters = Arc::<Counters>::default();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((session, Arc::clone(&counters)));
        counters
    }

    /// How each stands now.
    pub(crate) fn each(&self) -> Vec<(u32, Counts)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .map(|(session, counters)| (*session, counters.now()))
            .collect()
    }

    /// What all of them count together.
    pub(crate) fn sum(&self) -> Counts {
        let each = self.each();
        each.iter().fold(Counts::default(), |sum, (_, counts)| sum.plus(counts))
    }
}

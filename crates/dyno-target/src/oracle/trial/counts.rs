//! What the server itself counts of both clients' sessions.
//!
//! 12.1 has all columns that are read here.

use crate::oracle::{Client, ClientError};
use std::collections::HashMap;

/// The server's names of what is looked at, and how it is called here.
const NAMES: [(&str, &str); 9] = [
    (PARSES, "parses"),
    ("parse count (hard)", "hard parses"),
    ("execute count", "executions"),
    ("opened cursors cumulative", "cursors"),
    ("user commits", "commits"),
    ("user rollbacks", "rollbacks"),
    (ROUND_TRIPS, "round trips"),
    ("bytes received via SQL*Net from client", "bytes to the server"),
    ("bytes sent via SQL*Net to client", "bytes from it"),
];

const PARSES: &str = "parse count (total)";
const ROUND_TRIPS: &str = "SQL*Net roundtrips to/from client";

/// The counters of two sessions at an instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts([HashMap<String, u64>; 2]);

impl Counts {
    /// Asks for them on a third session, which costs these two nothing.
    pub(super) fn of(observer: &mut Client, sessions: [u32; 2]) -> Result<Self, ClientError> {
        let names = NAMES.map(|(name, _)| format!("'{name}'")).join(", ");
        let [one, other] = sessions;
        let query = format!(
            "select s.sid, n.name, s.value from v$sesstat s join v$statname n on n.statistic# = s.statistic# where \
             s.sid in ({one}, {other}) and n.name in ({names})"
        );
        let mut counts = Self::default();
        for (session, name, value) in observer.query::<(u32, String, u64)>(&query)? {
            let side = usize::from(session != one);
            counts.0[side].insert(name, value);
        }
        Ok(counts)
    }

    /// What was counted since.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let side = |side: usize| {
            let now = self.0[side].iter();
            let each = now.map(|(name, value)| {
                let before = earlier.0[side].get(name).copied().unwrap_or(0);
                (name.clone(), value.saturating_sub(before))
            });
            each.collect()
        };
        Self([side(0), side(1)])
    }

    /// Those of dyno's session beside those of the crate's.
    pub(super) fn line(&self) -> String {
        let each = NAMES.iter().filter_map(|(name, shown)| {
            let [own, beside] = self.0.each_ref().map(|side| side.get(*name));
            Some(format!("{shown} {}/{}", own?, beside?))
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// How often dyno's session had something parsed, and how often it waited for the server.
    pub(super) fn own_parses(&self) -> Option<u64> {
        self.0[0].get(PARSES).copied()
    }

    pub(super) fn own_round_trips(&self) -> Option<u64> {
        self.0[0].get(ROUND_TRIPS).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_stand_side_by_side() {
        let counts = |own: u64, beside: u64| {
            let side = |parses| HashMap::from([(PARSES.to_owned(), parses), ("user commits".to_owned(), 5)]);
            Counts([side(own), side(beside)])
        };
        let since = counts(12, 110).since(&counts(11, 10));
        assert_eq!(since.line(), "parses 1/100, commits 0/0");
        assert_eq!((since.own_parses(), since.own_round_trips()), (Some(1), None));
    }
}

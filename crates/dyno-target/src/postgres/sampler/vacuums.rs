//! Vacuums as sessions show them.

use crate::sampler::Sink;
use dyno_record::{Autovacuum, Event, Vacuum};
use std::collections::HashMap;

/// What begins the query of an autovacuum worker.
const AUTOVACUUM: &str = "autovacuum: ";

/// A vacuum seen at one instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeenVacuum {
    pub pid: String,
    pub query: String,
    /// The table it is at, where the server says so.
    pub table: Option<String>,
    /// How long its statement has been running.
    pub age_s: f64,
}

/// The vacuums under way, each by its session and table: one statement may go from table to table.
#[derive(Debug, Default)]
pub(super) struct Vacuums {
    open: HashMap<(String, String), Open>,
    /// Whether those of the autovacuum are told of by the server's log, which knows more.
    automatic_elsewhere: bool,
    last_s: f64,
}

#[derive(Debug)]
struct Open {
    start_s: f64,
    query: String,
}

impl Vacuums {
    pub(super) fn new(automatic_elsewhere: bool) -> Self {
        Self {
            automatic_elsewhere,
            ..Self::default()
        }
    }

    /// Takes all that are seen now; others have ended.
    pub(super) fn advance(&mut self, at_s: f64, seen: Vec<SeenVacuum>, sink: &mut dyn Sink) {
        let mut still = HashMap::with_capacity(seen.len());
        for vacuum in seen {
            let first_of_session = !self.open.keys().any(|(pid, _)| *pid == vacuum.pid);
            let named = vacuum.table.unwrap_or_else(|| table_of(&vacuum.query));
            // Between its first moment and its first table a statement has none.
            let unnamed = self.open.remove(&(vacuum.pid.clone(), String::new()));
            let key = (vacuum.pid, named);
            let open = self.open.remove(&key).or(unnamed).unwrap_or(Open {
                start_s: if first_of_session {
                    at_s - vacuum.age_s
                } else {
                    self.last_s
                },
                query: vacuum.query,
            });
            still.insert(key, open);
        }
        let ended = std::mem::replace(&mut self.open, still);
        self.tell(ended, at_s, false, sink);
        self.last_s = at_s;
    }

    /// Sampling ends.
    pub(super) fn finish(&mut self, at_s: f64, sink: &mut dyn Sink) {
        let ended = std::mem::take(&mut self.open);
        self.tell(ended, at_s, true, sink);
    }

    /// The log does not tell of what has not ended.
    fn tell(&self, ended: HashMap<(String, String), Open>, end_s: f64, unended: bool, sink: &mut dyn Sink) {
        for ((_, table), Open { start_s, query }) in ended {
            match query.strip_prefix(AUTOVACUUM) {
                None => sink.event(Event::Vacuum(Vacuum { table, start_s, end_s })),
                Some(_) if self.automatic_elsewhere && !unended => {}
                Some(work) => sink.event(Event::Autovacuum(Autovacuum {
                    table,
                    start_s,
                    end_s,
                    analyze: work.starts_with("ANALYZE"),
                })),
            }
        }
    }
}

/// The table that a vacuum's text names, the first one if there are several.
fn table_of(query: &str) -> String {
    let words = query.strip_prefix(AUTOVACUUM).unwrap_or(query);
    // Options in parentheses say nothing of tables.
    let words = match (words.find('('), words.find(')')) {
        (Some(begin), Some(end)) if begin < end && query.strip_prefix(AUTOVACUUM).is_none() => {
            format!("{} {}", &words[..begin], &words[end + 1..])
        }
        _ => words.to_owned(),
    };
    let option = |word: &&str| {
        ["vacuum", "analyze", "analyse", "full", "freeze", "verbose"].contains(&word.to_lowercase().as_str())
    };
    let mut words = words.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    let table = words.find(|word| !word.is_empty() && !option(word)).unwrap_or_default();
    table.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_table() {
        for (query, table) in [
            ("autovacuum: VACUUM ANALYZE public.t", "public.t"),
            ("autovacuum: ANALYZE public.t", "public.t"),
            (
                "autovacuum: VACUUM pg_toast.pg_toast_1 (to prevent wraparound)",
                "pg_toast.pg_toast_1",
            ),
            ("vacuum (verbose, freeze) a.t;", "a.t"),
            ("VACUUM FULL t", "t"),
            ("vacuum\n t, u", "t"),
            ("vacuum", ""),
            ("vacuum )(", ")("),
        ] {
            assert_eq!(table_of(query), table, "{query}");
        }
    }
}

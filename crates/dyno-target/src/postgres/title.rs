//! What a process of PostgreSQL does, by its title.

/// What works in the background, as titles begin in any version.
const BACKGROUND: [&str; 19] = [
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication",
    "parallel worker",
    "slotsync worker",
    "startup",
    "stats collector",
    "wal receiver",
    "wal writer",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
    "writer process",
];

/// What the process with this title does; `clients` if it executes what one asks; `None` if it is none of
/// PostgreSQL's.
pub(crate) fn work_of(title: &str) -> Option<&'static str> {
    let (_, rest) = title.split_once("postgres: ")?;
    // A cluster may have a name, which comes first.
    let kinds = [rest, rest.split_once(": ").map_or(rest, |(_, kind)| kind)];
    let is_kind = |work: &&&str| kinds.iter().any(|kind| kind.starts_with(**work));
    Some(BACKGROUND.iter().find(is_kind).copied().unwrap_or("clients"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_is_done() {
        assert_eq!(work_of("postgres: main: checkpointer "), Some("checkpointer"));
        assert_eq!(work_of("postgres: autovacuum worker dyno"), Some("autovacuum worker"));
        assert_eq!(work_of("postgres: wal writer process  "), Some("wal writer"));
        assert_eq!(
            work_of("postgres: walsender dyno 127.0.0.1(5) streaming"),
            Some("walsender")
        );
        assert_eq!(work_of("postgres: main: io worker 2"), Some("io worker"));
        assert_eq!(work_of("postgres: dyno dyno_run [local] SELECT"), Some("clients"));
        // The names of a user and a database.
        assert_eq!(work_of("postgres: me checkpointer [local] idle"), Some("clients"));
        assert_eq!(work_of("/usr/sbin/mariadbd"), None);
    }
}

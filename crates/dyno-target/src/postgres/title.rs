//! What a process of PostgreSQL does, by its title.

/// What works in the background, as titles have it in any version.
const BACKGROUND: [&str; 9] = [
    "checkpointer",
    "background writer",
    "walwriter",
    "wal writer",
    "writer process",
    "autovacuum worker",
    "autovacuum launcher",
    "io worker",
    "logical replication",
];

/// What the process with this title does; `clients` if it executes what one asks; `None` if it is none of
/// PostgreSQL's.
pub(crate) fn work_of(title: &str) -> Option<&'static str> {
    let (_, rest) = title.split_once("postgres: ")?;
    let background = BACKGROUND.iter().find(|work| rest.contains(**work));
    Some(background.copied().unwrap_or("clients"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_is_done() {
        assert_eq!(work_of("postgres: main: checkpointer "), Some("checkpointer"));
        assert_eq!(work_of("postgres: autovacuum worker dyno"), Some("autovacuum worker"));
        assert_eq!(work_of("postgres: wal writer process  "), Some("wal writer"));
        assert_eq!(work_of("postgres: dyno dyno_run [local] SELECT"), Some("clients"));
        assert_eq!(work_of("/usr/sbin/mariadbd"), None);
    }
}

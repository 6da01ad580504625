//! Who held the lock behind a dip, in few words: what samplers saw of them is a sentence, too long for a chart.

use crate::figures::one_line;
use dyno_archive::analysis::{Cause, Dip};

/// What precedes the holder of a lock in what was seen.
const HELD_BY: &str = " held by ";

/// What follows it where others are between it and the clients.
const BEHIND: &str = ", behind which waits ";

/// Second words of commands that are told from others by them.
const OF_COMMANDS: [&str; 9] = [
    "FULL",
    "TABLE",
    "TABLES",
    "INDEX",
    "UNIQUE",
    "MATERIALIZED",
    "VIEW",
    "DATABASE",
    "SCHEMA",
];

/// Such as `VACUUM FULL, psql 4711`; `None` if the dip has another cause, or no more is known than that there was one.
pub(super) fn culprit(dip: &Dip) -> Option<String> {
    let evidence = dip.evidence.first().filter(|_| dip.cause == Cause::Lock)?;
    let (_, holder) = evidence.split_once(HELD_BY)?;
    let holder = one_line(holder.split(BEHIND).next()?);
    // process 4711 (psql), active: vacuum full tbl
    let (who, rest) = holder.split_once(" (")?;
    let (program, does) = rest.split_once(')')?;
    let id = who.split(' ').nth(1)?;
    let does = does.trim_start_matches(", ");
    let does = match does.split_once(": ") {
        Some(("active" | "", statement)) => command(statement),
        Some((state, _)) => state.to_owned(),
        None => does.to_owned(),
    };
    let says_nothing = does.is_empty() || does == "active" || program.is_empty();
    (!says_nothing).then(|| format!("{does}, {program} {id}"))
}

/// The words that a statement begins with and that say what it does.
fn command(statement: &str) -> String {
    let mut words = statement.split(|character: char| !character.is_alphanumeric() && character != '_');
    let first = words.next().unwrap_or_default().to_uppercase();
    let second = words.next().unwrap_or_default().to_uppercase();
    match OF_COMMANDS.contains(&second.as_str()) {
        true => format!("{first} {second}"),
        false => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_held_a_lock_is_told_in_few_words() {
        let told = |cause, holder: &str| {
            culprit(&Dip {
                workload: None,
                start_s: 36.0,
                end_s: 40.0,
                depth_percent: 100.0,
                cause,
                evidence: vec![format!(
                    "8 sessions waited up to 4.7 s for a lock on tbl held by {holder}"
                )],
            })
        };
        let of = |holder: &str| told(Cause::Lock, holder).unwrap_or_default();
        assert_eq!(
            of("process 21037 (psql), active: vacuum full tbl"),
            "VACUUM FULL, psql 21037"
        );
        assert_eq!(
            of("process 7 (cron job), active: update tbl set a = 1"),
            "UPDATE, cron job 7"
        );
        assert_eq!(
            of("process 7 (psql), idle in transaction: lock table t"),
            "idle in transaction, psql 7"
        );
        assert_eq!(
            of("connection 13 (root@localhost): alter table tbl add x int"),
            "ALTER TABLE, root@localhost 13"
        );
        assert_eq!(
            of("connection 12 (a@b), asleep in a transaction for 9 s, behind which waits connection 13 (a@b): alter"),
            "asleep in a transaction for 9 s, a@b 12"
        );
        assert_eq!([of("a prepared transaction"), of("process 7 (psql), active")], ["", ""]);
        assert_eq!(told(Cause::Vacuum, "process 1 (psql), active: vacuum"), None);
    }
}

//! Entries of a log with the prefix `%m [%p] `: a line that begins with a time, and lines after it that do not.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// An entry of the log.
#[derive(Debug, PartialEq)]
pub(super) struct Entry<'a> {
    /// When it was written, in seconds since 1970.
    pub unix_s: f64,
    /// Its message, later lines included.
    message: &'a str,
}

/// What an entry says, if it is of use here.
#[derive(Debug, PartialEq)]
pub(super) enum Told<'a> {
    CheckpointBegins {
        reason: &'static str,
    },
    CheckpointEnds(Figures),
    Autovacuum {
        table: &'a str,
        analyze: bool,
        elapsed_s: Option<f64>,
    },
}

/// The figures of a checkpoint that is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub buffers: Option<u64>,
    pub wal_files: Option<u64>,
    pub write_s: Option<f64>,
    pub sync_s: Option<f64>,
    pub total_s: Option<f64>,
}

impl<'a> Entry<'a> {
    /// The entries of a piece of log. What comes before the first begin of an entry is passed over.
    pub(super) fn all(text: &'a str) -> Vec<Self> {
        let mut begins: Vec<(usize, f64, usize)> = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            if let Some((unix_s, message)) = begin(line) {
                begins.push((offset, unix_s, offset + message));
            }
            offset += line.len();
        }
        let ends = begins.iter().skip(1).map(|(begin, ..)| *begin).chain([text.len()]);
        let entries = begins.iter().zip(ends).map(|((_, unix_s, message), end)| Self {
            unix_s: *unix_s,
            message: text[*message..end].trim_end(),
        });
        entries.collect()
    }

    /// What it says. Texts differ a little from version to version; those of 9.3 to 18 are known.
    pub(super) fn told(&self) -> Option<Told<'a>> {
        let message = self.message;
        if let Some(flags) = after(message, &["checkpoint starting: ", "restartpoint starting: "]) {
            return Some(Told::CheckpointBegins { reason: reason(flags) });
        }
        if let Some(text) = after(message, &["checkpoint complete: ", "restartpoint complete: "]) {
            return Some(Told::CheckpointEnds(figures(text)));
        }
        let rest = message.strip_prefix("automatic ")?;
        let (kind, rest) = rest.split_once(" of table \"")?;
        let (table, rest) = rest.split_once('"')?;
        let analyze = match kind {
            "analyze" => true,
            _ if kind.ends_with("vacuum") || kind.starts_with("vacuum") || kind.contains(" vacuum ") => false,
            _ => return None,
        };
        Some(Told::Autovacuum {
            // The database comes first, and it is the measured one or none of ours.
            table: table.split_once('.').map_or(table, |(_, table)| table),
            analyze,
            elapsed_s: number_after(rest, "elapsed: ").or_else(|| number_after(rest, "elapsed ")),
        })
    }
}

/// The time with which a line begins, and where in it the message does. Only the level LOG is of use; entries of
/// others are kept as empty ones.
fn begin(line: &str) -> Option<(f64, usize)> {
    let (time, rest) = line.split_at_checked(23)?;
    let rest = rest.strip_prefix(" UTC [").or_else(|| rest.strip_prefix(" GMT ["))?;
    let (_, rest) = rest.split_once("] ")?;
    let time: DateTime = time.parse().ok()?;
    let unix_s = time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond() as f64 / 1e3;
    let message = rest.strip_prefix("LOG:  ").unwrap_or("");
    let at = if message.is_empty() {
        line.len()
    } else {
        line.len() - message.len()
    };
    Some((unix_s, at))
}

fn after<'a>(text: &'a str, begins: &[&str]) -> Option<&'a str> {
    begins.iter().find_map(|begin| text.strip_prefix(begin))
}

/// The first reason in the order of how much they say; "xlog" became "wal" in version 10.
fn reason(flags: &str) -> &'static str {
    let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
    if has("shutdown") {
        "shutdown"
    } else if has("end-of-recovery") {
        "end-of-recovery"
    } else if ["immediate", "fast", "force"].into_iter().any(has) {
        // Where the time had come as well, it is the command that makes it hurry.
        "requested"
    } else if has("wal") || has("xlog") {
        "wal"
    } else if has("time") {
        "time"
    } else {
        "requested"
    }
}

/// Source: `LogCheckpointEnd` of PostgreSQL's `xlog.c`, from 9.3 to 18.
fn figures(text: &str) -> Figures {
    let added =
        number_before(text, " WAL file(s) added").or_else(|| number_before(text, " transaction log file(s) added"));
    let wal_files = [
        added,
        number_before(text, " removed,"),
        number_before(text, " recycled;"),
    ];
    Figures {
        buffers: number_after(text, "wrote ").map(|buffers| buffers as u64),
        wal_files: wal_files.into_iter().flatten().reduce(|sum, files| sum + files),
        write_s: number_after(text, "write="),
        sync_s: number_after(text, "sync="),
        total_s: number_after(text, "total="),
    }
}

fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn number_before(text: &str, label: &str) -> Option<u64> {
    let (before, _) = text.split_once(label)?;
    let begin = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    // What is not a digit may be longer than a byte.
    before.get(begin..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(message: &str) -> Option<Told<'_>> {
        Entry { unix_s: 0.0, message }.told()
    }

    #[test]
    fn entries_begin_with_a_time_and_go_on_to_the_next() {
        let log = "  of an earlier one\n\
                   2026-11-21 19:40:12.250 UTC [7] LOG:  first\n\tmore\n\
                   2026-11-21 19:40:13.000 UTC [8] ERROR:  second\n\
                   2026-11-21 19:40:14.000 UTC [9] LOG:  third\n";
        let entries = Entry::all(log);
        let messages: Vec<_> = entries.iter().map(|entry| entry.message).collect();
        assert_eq!(messages, ["first\n\tmore", "", "third"]);
        assert!(
            (entries[0].unix_s - 1_795_290_012.25).abs() < 1e-6,
            "{}",
            entries[0].unix_s
        );
    }

    #[test]
    fn begins_of_checkpoints_of_all_versions() {
        for (message, reason) in [
            ("checkpoint starting: time", "time"),
            ("checkpoint starting: xlog", "wal"),
            ("checkpoint starting: wal", "wal"),
            ("checkpoint starting: immediate force wait", "requested"),
            ("checkpoint starting: fast force wait", "requested"),
            ("checkpoint starting: shutdown immediate", "shutdown"),
            ("checkpoint starting: end-of-recovery immediate wait", "end-of-recovery"),
            ("checkpoint starting: immediate force wait time", "requested"),
            ("restartpoint starting: time", "time"),
        ] {
            assert_eq!(told(message), Some(Told::CheckpointBegins { reason }), "{message}");
        }
    }

    #[test]
    fn ends_of_checkpoints_of_all_versions() {
        let old = "checkpoint complete: wrote 118 buffers (0.7%); 0 transaction log file(s) added, 1 removed, 2 \
                   recycled; \
                   write=0.500 s, sync=0.250 s, total=0.800 s; sync files=9, longest=0.001 s, average=0.000 s; \
                   distance=1 kB, estimate=1 kB";
        let new = "checkpoint complete: wrote 118 buffers (0.7%), wrote 3 SLRU buffers; 0 WAL file(s) added, 1 \
                   removed, 2 recycled; \
                   write=0.500 s, sync=0.250 s, total=0.800 s; sync files=9, longest=0.001 s, average=0.000 s; \
                   distance=1 kB, estimate=1 kB; \
                   lsn=0/1, redo lsn=0/1";
        let figures = Figures {
            buffers: Some(118),
            wal_files: Some(3),
            write_s: Some(0.5),
            sync_s: Some(0.25),
            total_s: Some(0.8),
        };
        for message in [old, new] {
            assert_eq!(told(message), Some(Told::CheckpointEnds(figures)), "{message}");
        }
        assert_eq!(
            told("checkpoint complete: nothing known"),
            Some(Told::CheckpointEnds(Figures::default()))
        );
    }

    #[test]
    fn autovacuums_of_all_versions() {
        let vacuum = |analyze, elapsed_s| {
            Some(Told::Autovacuum {
                table: "public.t",
                analyze,
                elapsed_s,
            })
        };
        for (message, expected) in [
            (
                "automatic vacuum of table \"db.public.t\": index scans: 1\n\tpages: 0 removed\n\tsystem usage: \
                 CPU 0.00s/0.00u sec elapsed 0.25 sec",
                vacuum(false, Some(0.25)),
            ),
            (
                "automatic vacuum of table \"db.public.t\": index scans: 1\n\tsystem usage: CPU: user: 0.01 s, \
                 system: 0.00 s, elapsed: 0.25 s",
                vacuum(false, Some(0.25)),
            ),
            (
                "automatic aggressive vacuum to prevent wraparound of table \"db.public.t\": index scans: 0",
                vacuum(false, None),
            ),
            (
                "automatic analyze of table \"db.public.t\" system usage: CPU: user: 0.01 s, system: 0.00 s, \
                 elapsed: 1.50 s",
                vacuum(true, Some(1.5)),
            ),
            (
                "automatic analyze of table \"db.public.t\"\n\tavg read rate: 1 MB/s\n\tsystem usage: CPU: user: \
                 0.01 s, system: 0.00 s, elapsed: 1.50 s",
                vacuum(true, Some(1.5)),
            ),
            ("automatic something of table \"db.public.t\"", None),
            ("connection received", None),
        ] {
            assert_eq!(told(message), expected, "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "(2026-11-21 19:40:12.250 UTC \\[7\\] LOG:  (checkpoint complete: \
            |automatic vacuum of table \")?\\PC*\n?)*") {
            for entry in Entry::all(&text) {
                let _ = entry.told();
            }
        }
    }
}

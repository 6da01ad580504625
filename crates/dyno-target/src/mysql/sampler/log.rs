//! The log of a server that dyno started: what it warns of and what goes wrong there become notes.
//!
//! Logs of other servers are not read: their format, language and clock may be anything.

use crate::sampler::tail::Tail;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use crate::target::statement_without_secrets;
use dyno_record::{Event, Said};
use dyno_text::one_line;
use std::path::Path;
use std::time::Duration;

/// More notes than this are not told: a server that complains of everything says nothing.
const MOST: usize = 50;

/// How much of a line is kept, in characters.
const LONGEST: usize = 300;

/// What servers write that names passwords and holds none: how somebody tried to log in, and plug-ins.
const HARMLESS: [&str; 8] = [
    "(using password: YES)",
    "(using password: NO)",
    "mysql_native_password",
    "mysql_clear_password",
    "caching_sha2_password",
    "sha256_password",
    "validate_password",
    "an empty password",
];

/// Follows a log.
pub(super) struct LogSampler {
    tail: Tail,
    told: usize,
}

impl LogSampler {
    /// Begins at the end that the log has now.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            tail: Tail::of(path),
            told: 0,
        }
    }
}

/// What a line says that is a warning or an error: `2026-11-23 13:00:00 5 [Warning] Aborted connection 5 …`.
fn told(line: &str) -> Option<String> {
    let level = ["Warning", "ERROR"].into_iter().find_map(|level| {
        let (before, rest) = line.split_once(&format!(" [{level}] "))?;
        // The time and the number of a session come before it, and nothing else.
        let begins = before.len() < 40 && before.starts_with(|c: char| c.is_ascii_digit());
        begins.then_some((level, rest))
    });
    let (level, text) = level?;
    let text = match text.trim() {
        text if is_harmless(text) => text,
        _ => "not shown, because it may hold a password",
    };
    Some(format!(
        "the server's log: {}: {}",
        level.to_lowercase(),
        one_line(text, LONGEST)
    ))
}

/// Whether a line holds no password, nor what may be one.
fn is_harmless(text: &str) -> bool {
    let mut rest = text.to_owned();
    HARMLESS.iter().for_each(|words| rest = rest.replace(words, ""));
    statement_without_secrets(&rest) == rest
}

impl Sampler for LogSampler {
    fn subject(&self) -> &'static str {
        "the server's log"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn asks_server(&self) -> bool {
        false
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let failed = |error: std::io::Error| SampleError(error.to_string());
        let written = self.tail.written().map_err(failed)?;
        while let Some(text) = self.tail.lines(written).map_err(failed)? {
            for text in text.lines().filter_map(told) {
                self.told += 1;
                if self.told <= MOST {
                    sink.event(Event::Said(Said {
                        at_s: moment.at_s(),
                        text,
                    }));
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let result = self.sample(moment, sink);
        if self.told > MOST {
            sink.warn(format!(
                "The server's log has {} warnings and errors of this time, of which the first {MOST} are among the \
                 events; the rest is in its log.",
                self.told
            ));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::heard::Heard;
    use std::io::Write;

    #[test]
    fn warnings_and_errors_of_both_servers_are_told() {
        let said = |line: &str| told(line).unwrap_or_default();
        assert_eq!(
            said("2026-11-23 13:00:00 5 [Warning] Aborted connection 5 to db: 'dyno_run'"),
            "the server's log: warning: Aborted connection 5 to db: 'dyno_run'"
        );
        assert_eq!(
            said("2026-11-23T13:00:00.123456Z 0 [ERROR] [MY-012345] [InnoDB] The log is full."),
            "the server's log: error: [MY-012345] [InnoDB] The log is full."
        );
        assert_eq!(
            told("2026-11-23 13:00:00 0 [Note] InnoDB: Buffer pool(s) load completed"),
            None
        );
        assert_eq!(told("statement with an [ERROR] in it"), None);
        let secret = "2026-11-23 13:00:00 5 [Warning] near 'identified by 's3cret''";
        assert!(!said(secret).contains("s3cret"), "{}", said(secret));
        let secret = "2026-11-23 13:00:00 5 [Warning] (using password: YES) set password = 's3cret'";
        assert!(!said(secret).contains("s3cret"), "{}", said(secret));
        for harmless in [
            "Access denied for user 'ann'@'localhost' (using password: YES)",
            "[MY-010926] [Server] Access denied for user 'ann'@'localhost' (using password: NO)",
            "'mysql_native_password' is deprecated and will be removed",
        ] {
            let line = format!("2026-11-23 13:00:00 5 [Warning] {harmless}");
            assert_eq!(said(&line), format!("the server's log: warning: {harmless}"));
        }
    }

    #[test]
    fn what_is_written_while_it_is_followed_is_told() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "2026-11-23 13:00:00 0 [Warning] before").unwrap();
        let mut sampler = LogSampler::new(file.path());
        writeln!(file, "2026-11-23 13:00:01 0 [Warning] after").unwrap();
        let moment = Moment {
            at: Duration::from_secs(1),
            late: Duration::ZERO,
        };
        let mut heard = Heard::default();
        sampler.finish(moment, &mut heard).unwrap();
        let [Event::Said(said)] = &heard.events[..] else {
            unreachable!("{:?}", heard.events)
        };
        assert_eq!(
            (said.at_s, said.text.as_str()),
            (1.0, "the server's log: warning: after")
        );
    }
}

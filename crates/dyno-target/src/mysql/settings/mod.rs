//! Settings of a server that is not ours: looked into first, changed then, put back afterwards.
//!
//! The server is changed with `set global`, which lasts until it is restarted and touches no file. What takes effect
//! when the server starts is given to a MySQL with `set persist_only`, if there is a command that restarts it. What
//! cannot be set, as the server is a MariaDB or this role may not, is left as it is and said.

mod change;
mod coupled;
mod memory;
mod permission;
mod restore;

pub(super) use change::GlobalChange;
pub(super) use permission::missing;
pub(super) use restore::restore;

use super::redo_log::{self, RedoLog};
use super::underway::Overdue;
use super::variables::{Variables, by_canonical_name};
use super::{Client, ClientError, persisted};
use crate::mysql::error::cannot;
use crate::nearest::hint;
use crate::target::{Mapped, Saved, SavedSetting, TargetError};
use crate::values::{in_bytes, same_value, size_bytes, with_unit};
use std::time::{Duration, Instant};

/// How long the server may take to resize its buffer pool or its log, which some versions do in the background.
const PATIENCE: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(100);

/// The size of which the server makes a multiple of its chunks.
const BUFFER_POOL: &str = "innodb_buffer_pool_size";

/// What the server says of another size as long as it is resizing its buffer pool.
const RESIZING: &str = "already in progress";

/// Whether a variable says what the server executes, or which files it writes or reads: it is never changed, whatever
/// an experiment or a record of what is to be put back says. By their names, as versions have ever more of them.
fn is_untouched(name: &str) -> bool {
    let begins = ["init_", "ssl_"];
    let ends = ["_file", "_filename", "_path", "dir", "_basename"];
    begins.iter().any(|begin| name.starts_with(begin)) || ends.iter().any(|end| name.ends_with(end))
}

/// Settings could not be changed or put back.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error("this server has no setting {name}{}", hint(nearest.as_deref(), "; its version may name it otherwise"))]
    Unknown { name: String, nearest: Option<String> },
    #[error("the server refuses {name} = {value}: {cause}")]
    Refused {
        name: String,
        value: String,
        cause: ClientError,
    },
    #[error("the server is still resizing its {what} after {} s; {name} cannot be {value} yet", PATIENCE.as_secs())]
    Slow {
        what: &'static str,
        name: String,
        value: String,
    },
    #[error("the server makes {found} of {name} = {value}")]
    Altered { name: String, value: String, found: String },
    #[error(
        "{name} = {value} is larger than the memory of this machine ({memory_mb}M), on which the server runs: the \
         kernel would end it. Give a smaller size"
    )]
    TooLarge {
        name: &'static str,
        value: String,
        memory_mb: u64,
    },
    #[error("cannot read the server's settings: {0}")]
    Ask(ClientError),
    #[error(transparent)]
    Underway(Overdue),
    #[error("the command \"{command}\" did not restart the server: {message}")]
    Restart { command: String, message: String },
    #[error("{0}. Nothing was changed")]
    Undone(Box<ChangeError>),
    #[error(
        "{cause}.\nThe changed settings could not be restored: {message}. Restore them manually: {}",
        by_hand(saved)
    )]
    NotUndone {
        cause: Box<ChangeError>,
        message: String,
        saved: Saved,
    },
    #[error("not all settings could be restored: {}", listed(.0))]
    NotRestored(Vec<ChangeError>),
}

impl ChangeError {
    /// That there is no setting of this name among `variables`.
    fn unknown(name: &str, variables: &Variables) -> Self {
        Self::Unknown {
            name: name.to_owned(),
            nearest: variables.nearest(name).map(str::to_owned),
        }
    }

    /// Whether nothing more can be done, as the connection is gone.
    fn is_lost(&self) -> bool {
        match self {
            Self::Ask(cause) | Self::Refused { cause, .. } => !matches!(cause, ClientError::Server(_)),
            _ => false,
        }
    }
}

fn listed(errors: &[ChangeError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<ChangeError> for TargetError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotUndone { .. } => Self::HalfChanged(Box::new(error)),
            error => Self::other(error),
        }
    }
}

fn by_hand(saved: &Saved) -> String {
    let each = saved.settings.iter().map(|setting| match setting.needs_restart {
        true => persisted::statement(&setting.name, setting.value.as_deref()),
        false => {
            let value = setting.value.as_deref().unwrap_or_default();
            format!("set global {} = {}", setting.name, literal(value))
        }
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A value as SQL takes it: a number as one, anything else as a string.
pub(super) fn literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => value.to_owned(),
        _ => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

/// Gives a setting, whose name is the server's own, a value, and waits until that is in effect. Gives what the server
/// made of it. SQL takes sizes in bytes alone.
fn give(client: &mut Client, name: &str, value: &str) -> Result<String, ChangeError> {
    let deadline = Instant::now() + PATIENCE;
    let refused = |cause| ChangeError::Refused {
        name: name.to_owned(),
        value: value.to_owned(),
        cause,
    };
    let wait = |what| {
        if Instant::now() > deadline {
            return Err(ChangeError::Slow {
                what,
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        std::thread::sleep(POLL);
        Ok(())
    };
    let set = |client: &mut Client, to: &str| loop {
        match client.execute_within(&format!("set global {name} = {to}"), Some(PATIENCE)) {
            Err(ClientError::Server(error)) if name == BUFFER_POOL && error.message.contains(RESIZING) => {
                wait("buffer pool")?;
            }
            done => return done.map_err(refused),
        }
    };
    set(client, &literal(&in_bytes(value)))?;
    if name == BUFFER_POOL {
        // This changes nothing, and is refused as long as the server is not done.
        set(client, &format!("@@global.{name}"))?;
    }
    while name == redo_log::CAPACITY && redo_log::is_resizing(client).map_err(ChangeError::Ask)? {
        wait("redo log")?;
    }
    let variables = Variables::read(client).map_err(refused)?;
    Ok(variables.get(name).unwrap_or_default().to_owned())
}

/// The settings with values as this server takes them.
///
/// # Errors
/// A setting that it does not have, or no connection.
pub(super) fn fit(client: &mut Client, settings: &[(String, String)]) -> Result<Mapped, TargetError> {
    let variables = Variables::read(client).map_err(cannot("read the server's settings"))?;
    let mut settings = by_canonical_name(settings);
    let mut fitted = Mapped {
        notes: RedoLog::of(&variables).fit(&mut settings),
        ..Mapped::default()
    };
    fitted.notes.extend(coupled::complete(&mut settings, &variables));
    for (name, value) in settings {
        if variables.get(&name).is_none() {
            return Err(ChangeError::unknown(&name, &variables).into());
        }
        let value = taken(&name, &value, &variables);
        fitted.settings.push((name, value));
    }
    Ok(fitted)
}

/// The value that a server with these variables makes of the one that a setting, by the server's own name, was given.
pub(super) fn taken(name: &str, value: &str, variables: &Variables) -> String {
    let taken = match in_bytes(value).parse() {
        Ok(wanted) if name == BUFFER_POOL => rounded(wanted, variables).to_string(),
        Ok(wanted) if name == redo_log::CAPACITY => redo_log::rounded(wanted).to_string(),
        _ => value.to_owned(),
    };
    match size_bytes(value) {
        Some(_) => with_unit(&taken),
        None => taken,
    }
}

/// A size of the buffer pool as the server makes it of this one: the next multiple of a chunk of each of its instances
/// (MySQL Reference Manual, "Configuring InnoDB Buffer Pool Size").
fn rounded(wanted: u64, variables: &Variables) -> u64 {
    let chunk = variables.number("innodb_buffer_pool_chunk_size").unwrap_or(0);
    let instances = variables.number("innodb_buffer_pool_instances").unwrap_or(1);
    let unit = chunk.saturating_mul(instances.max(1));
    wanted.checked_next_multiple_of(unit).unwrap_or(wanted)
}

/// What a setting was before and is set to.
fn values(setting: &SavedSetting) -> (&str, &str) {
    let [before, set_to] = [&setting.value, &setting.set_to].map(|value| value.as_deref().unwrap_or_default());
    (before, set_to)
}

/// Those of these settings of which the server has another value than they should have.
fn altered<'a>(
    client: &mut Client,
    settings: impl Iterator<Item = &'a SavedSetting>,
    should: impl Fn(&'a SavedSetting) -> &'a str,
) -> Result<Vec<&'a SavedSetting>, ChangeError> {
    let variables = Variables::read(client).map_err(ChangeError::Ask)?;
    let differs = |setting: &&'a SavedSetting| {
        let found = variables.get(&setting.name).unwrap_or_default();
        !same_value(found, should(setting))
    };
    Ok(settings.filter(differs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_sql_takes_them() {
        for (value, written) in [
            ("1", "1"),
            ("-1", "-1"),
            ("0.75", "0.75"),
            ("ON", "'ON'"),
            ("O_DIRECT", "'O_DIRECT'"),
            ("it's \\ this", "'it''s \\\\ this'"),
            ("inf", "'inf'"),
            ("", "''"),
        ] {
            assert_eq!(literal(value), written);
        }
    }

    #[test]
    fn a_buffer_pool_is_a_whole_number_of_chunks() {
        let variables = |chunk: &str, instances: &str| {
            Variables::from([
                ("innodb_buffer_pool_chunk_size", chunk),
                ("innodb_buffer_pool_instances", instances),
            ])
        };
        assert_eq!(rounded(100, &variables("128", "1")), 128);
        assert_eq!(rounded(256, &variables("128", "1")), 256);
        assert_eq!(rounded(257, &variables("128", "8")), 1024);
        assert_eq!(rounded(100, &variables("0", "1")), 100);
        assert_eq!(rounded(100, &[].into()), 100);
        assert_eq!(rounded(u64::MAX, &variables("128", "1")), u64::MAX);
    }

    #[test]
    fn what_is_executed_or_written_to_is_untouched() {
        for name in [
            "init_connect",
            "log_slow_query_file",
            "general_log_file",
            "innodb_tmpdir",
            "ssl_key",
        ] {
            assert!(is_untouched(name), "{name}");
        }
        for name in [
            "innodb_file_per_table",
            "innodb_open_files",
            "local_infile",
            "innodb_log_file_size",
        ] {
            assert!(!is_untouched(name), "{name}");
        }
    }
}

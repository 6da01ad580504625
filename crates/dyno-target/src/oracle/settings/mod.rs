//! Parameters of a server: looked into first, changed then, put back afterwards.
//!
//! What can be changed while the server runs is set in its memory alone (`scope = memory`), which lasts until it is
//! restarted and touches no file. What takes effect at a start is written to its parameter file (`scope = spfile`), if
//! there is a command that restarts it. What cannot be set, or not by this user, is left as it is and said.

mod change;
mod restore;

pub(super) use change::SystemChange;
pub(super) use restore::restore;

use super::error::cannot;
use super::parameters::Parameters;
use super::rights::is_denied;
use super::{Client, ClientError};
use crate::nearest::hint;
use crate::oracle::address::ConnectionInfo;
use crate::target::{Mapped, Saved, SavedSetting, TargetError};
use crate::values::{in_bytes, same_value};
use std::collections::HashMap;
use std::time::Duration;

/// The right that changes parameters.
const RIGHT: &str = "alter system";

/// Whether a parameter says where the server is, what it writes to or whom it lets in: it is never changed, whatever an
/// experiment or a record of what is to be put back says. Hidden ones are Oracle's support's.
fn is_untouched(name: &str) -> bool {
    let parts = [
        "_dest", "_file", "files", "spfile", "listener", "audit", "remote_", "wallet", "_dir", "password",
    ];
    name.starts_with('_') || !is_name(name) || parts.iter().any(|part| name.contains(part))
}

fn is_name(name: &str) -> bool {
    name.chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Parameters could not be changed or put back.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error("this server has no parameter {name}{}", hint(nearest.as_deref(), "; its version may name it otherwise"))]
    Unknown { name: String, nearest: Option<String> },
    #[error("the server refuses {name} = {value}: {cause}")]
    Refused {
        name: String,
        value: String,
        cause: ClientError,
    },
    #[error("the server makes {found} of {name} = {value}; give a value that it takes as it is")]
    Altered { name: String, value: String, found: String },
    #[error("cannot read the server's parameters: {0}")]
    Ask(ClientError),
    #[error("the command \"{command}\" did not restart the server: {message}")]
    Restart { command: String, message: String },
    #[error("{0}. Nothing was changed")]
    Undone(Box<ChangeError>),
    #[error(
        "{cause}.\nThe changed parameters could not be restored: {message}. Restore them manually: {}",
        by_hand(saved)
    )]
    NotUndone {
        cause: Box<ChangeError>,
        message: String,
        saved: Saved,
    },
    #[error("not all parameters could be restored: {0}")]
    NotRestored(String),
}

impl From<ChangeError> for TargetError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotUndone { .. } => Self::HalfChanged(Box::new(error)),
            error => Self::other(error),
        }
    }
}

impl ChangeError {
    fn refused(name: &str, value: &str, cause: ClientError) -> Self {
        Self::Refused {
            name: name.to_owned(),
            value: value.to_owned(),
            cause,
        }
    }
}

/// Where a value is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Memory,
    /// In the memory, for sessions that begin later.
    Deferred,
    File,
}

/// The statement that gives a parameter a value, or none.
fn statement(name: &str, value: Option<&str>, scope: Scope) -> String {
    let (deferred, scope) = match scope {
        Scope::Memory => ("", "memory"),
        Scope::Deferred => (" deferred", "memory"),
        Scope::File => ("", "spfile"),
    };
    match value.filter(|value| !value.is_empty()) {
        Some(value) => format!("alter system set {name} = {}{deferred} scope = {scope}", literal(value)),
        // None, or one that has no value of its own.
        None => format!("alter system reset {name} scope = {scope}"),
    }
}

fn by_hand(saved: &Saved) -> String {
    let each = saved.settings.iter().map(|setting| match setting.needs_restart {
        true => statement(&setting.name, setting.value.as_deref(), Scope::File),
        false => statement(&setting.name, setting.value.as_deref(), Scope::Memory),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A value as the statement takes it: a number or a word as it is, anything else as a string. Sizes are bytes.
fn literal(value: &str) -> String {
    let value = in_bytes(value);
    let is_word = !value.is_empty()
        && value
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match is_word {
        true => value,
        false => format!("'{}'", value.replace('\'', "''")),
    }
}

/// The parameters with values as this server takes them.
///
/// # Errors
/// A parameter that it does not have, or no connection.
pub(super) fn fit(client: &mut Client, settings: &[(String, String)]) -> Result<Mapped, TargetError> {
    // A user who may not look learns which are not set when the change is planned.
    let parameters = readable(client)?;
    let mut fitted = Mapped::default();
    for (name, value) in settings {
        let name = name.to_lowercase();
        if let Some(parameters) = parameters.as_ref().filter(|parameters| parameters.get(&name).is_none()) {
            return Err(unknown(&name, parameters).into());
        }
        fitted.settings.push((name, value.clone()));
    }
    Ok(fitted)
}

fn unknown(name: &str, parameters: &Parameters) -> ChangeError {
    ChangeError::Unknown {
        name: name.to_owned(),
        nearest: parameters.nearest(name).map(str::to_owned),
    }
}

/// Reads all parameters; `None` if this user may not.
fn readable(client: &mut Client) -> Result<Option<Parameters>, TargetError> {
    match Parameters::read(client) {
        Err(error) if is_denied(&error) => Ok(None),
        read => read.map(Some).map_err(cannot("read the server's parameters")),
    }
}

/// Reads all parameters; says what to do if this user may not.
fn read(client: &mut Client) -> Result<Parameters, TargetError> {
    let user = client.info().schema();
    Parameters::read(client).map_err(|error| match is_denied(&error) {
        true => cannot(format!(
            "read the server's parameters, which settings need ({})",
            super::database::rights_to_see(&user)
        ))(error),
        false => cannot("read the server's parameters")(error),
    })
}

/// The values of the parameter file, by name.
fn in_file(client: &mut Client) -> Result<HashMap<String, String>, ClientError> {
    // 12.1 has all columns that are read here and of `v$instance` below.
    let query = "select lower(name), value from v$spparameter where isspecified = 'TRUE' and value is not null";
    Ok(client.query::<(String, String)>(query)?.into_iter().collect())
}

/// Restarts the server by the command that its owner gave.
fn restarted(info: &ConnectionInfo, command: &str) -> Result<(), ChangeError> {
    use crate::target::{text_without_secrets, word_without_secrets};
    let age = "select round((sysdate - startup_time) * 86400) from v$instance";
    let done = crate::restart::restart(command, &mut |since: Duration| {
        let mut client = info.connect().map_err(|error| error.to_string())?;
        let up_s = client.query_first::<f64>(age).map_err(|error| error.to_string())?;
        Ok(up_s.unwrap_or_default() <= since.as_secs_f64() + 1.0)
    });
    done.map_err(|message| ChangeError::Restart {
        command: word_without_secrets(command),
        message: text_without_secrets(&message, &[command.to_owned()]),
    })
}

/// What a setting was before and is set to.
fn values(setting: &SavedSetting) -> (&str, &str) {
    let [before, set_to] = [&setting.value, &setting.set_to].map(|value| value.as_deref().unwrap_or_default());
    (before, set_to)
}

/// Gives a parameter a value in memory, and makes sure that the server runs with it.
fn give(client: &mut Client, name: &str, value: &str, is_deferred: bool) -> Result<(), ChangeError> {
    let scope = if is_deferred { Scope::Deferred } else { Scope::Memory };
    client
        .work(&statement(name, Some(value), scope))
        .map_err(|cause| ChangeError::refused(name, value, cause))?;
    if is_deferred {
        // The value is that of sessions to come.
        return Ok(());
    }
    let found = Parameters::read(client).map_err(ChangeError::Ask)?;
    let found = found.value(name).unwrap_or_default();
    match same_value(found, value) {
        true => Ok(()),
        false => Err(ChangeError::Altered {
            name: name.to_owned(),
            value: value.to_owned(),
            found: found.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_server_takes_them() {
        for (value, written) in [
            ("8GB", "8589934592"),
            ("true", "true"),
            ("NOWAIT", "NOWAIT"),
            ("BATCH,NOWAIT", "'BATCH,NOWAIT'"),
            ("it's", "'it''s'"),
            ("", "''"),
        ] {
            assert_eq!(literal(value), written);
        }
        assert_eq!(
            statement("processes", Some("300"), Scope::File),
            "alter system set processes = 300 scope = spfile"
        );
        assert_eq!(
            statement("processes", None, Scope::File),
            "alter system reset processes scope = spfile"
        );
        assert_eq!(
            statement("sort_area_size", Some("1M"), Scope::Deferred),
            "alter system set sort_area_size = 1048576 deferred scope = memory"
        );
    }

    #[test]
    fn what_says_where_the_server_writes_is_untouched() {
        for name in [
            "log_archive_dest_1",
            "control_files",
            "_disable_logging",
            "local_listener",
            "audit_trail",
            "a b",
        ] {
            assert!(is_untouched(name), "{name}");
        }
        for name in ["db_cache_size", "commit_wait", "fast_start_mttr_target", "processes"] {
            assert!(!is_untouched(name), "{name}");
        }
    }
}

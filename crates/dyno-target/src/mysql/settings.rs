//! Settings of a server that is not ours: looked into first, changed then, put back afterwards.
//!
//! The server is changed with `set global`, which lasts until it is restarted and touches no file. What cannot be set
//! so, as it takes effect when the server starts or this role may not, is left as it is and said.

use super::address::ConnectionInfo;
use super::facts::{ServerSetting, global_variables};
use super::values::{same_value, size_bytes};
use super::{Client, ClientError, ConnectError, connect_until};
use crate::target::{Applied, Change, Mapped, Restored, Saved, SavedSetting, StopFlag, TargetError, Unset};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the server may take to resize its buffer pool, which it does in the background.
const PATIENCE: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(100);

/// A variable that takes effect when the server starts (MariaDB, "MariaDB Error Codes").
const READ_ONLY: u16 = 1238;

/// A right that the role lacks.
const NOT_ALLOWED: [u16; 2] = [1227, 1142];

/// The size of which the server makes a multiple of its chunks.
const BUFFER_POOL: &str = "innodb_buffer_pool_size";

/// Settings could not be changed or put back.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error("this server has no setting {name}; its version may name it otherwise")]
    Unknown { name: String },
    #[error("the server refuses {name} = {value}: {cause}. Nothing was changed")]
    Refused {
        name: String,
        value: String,
        cause: ClientError,
    },
    #[error(
        "{cause}\nThe changed settings could not be restored: {message}. Restore them manually with set global: {}",
        remedy(saved)
    )]
    NotUndone {
        cause: Box<ChangeError>,
        message: String,
        saved: Saved,
    },
    #[error("the setting {name} cannot be restored: {cause}")]
    NotRestored { name: String, cause: ClientError },
}

impl From<ChangeError> for TargetError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotUndone { .. } => Self::HalfChanged(Box::new(error)),
            error => Self::other(error),
        }
    }
}

fn remedy(saved: &Saved) -> String {
    let each = saved.settings.iter().map(|setting| {
        let value = setting.value.as_deref().unwrap_or_default();
        format!("{} = {}", setting.name, literal(value))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A name as the server shows it.
fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// A value as SQL takes it: a number as one, anything else as a string.
fn literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => value.to_owned(),
        _ => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

fn set_global(client: &mut Client, name: &str, value: &str) -> Result<(), ClientError> {
    client.execute(&format!("set global {name} = {}", literal(value)))
}

fn find<'a>(variables: &'a [ServerSetting], name: &str) -> Option<&'a str> {
    let found = variables.iter().find(|variable| variable.name == name);
    found.map(|variable| variable.value.as_str())
}

/// The settings with values as this server takes them; sizes are in bytes.
///
/// # Errors
/// A setting that it does not have, or no connection.
pub(super) fn fit(client: &mut Client, settings: &[(String, String)]) -> Result<Mapped, TargetError> {
    let variables = global_variables(client)?;
    let mut fitted = Mapped::default();
    for (name, value) in settings {
        let canonical = canonical(name);
        if find(&variables, &canonical).is_none() {
            return Err(ChangeError::Unknown { name: name.clone() }.into());
        }
        let value = match (canonical.as_str(), size_bytes(value)) {
            (BUFFER_POOL, Some(wanted)) => rounded(wanted, &variables).to_string(),
            (_, Some(bytes)) => bytes.to_string(),
            (_, None) => value.clone(),
        };
        fitted.settings.push((canonical, value));
    }
    Ok(fitted)
}

/// A size of the buffer pool as the server makes it of this one: the next multiple of a chunk of each of its instances
/// (MySQL Reference Manual, "Configuring InnoDB Buffer Pool Size").
fn rounded(wanted: u64, variables: &[ServerSetting]) -> u64 {
    let number = |name| find(variables, name).and_then(|value| value.parse::<u64>().ok());
    let chunk = number("innodb_buffer_pool_chunk_size").unwrap_or(0);
    let unit = chunk.saturating_mul(number("innodb_buffer_pool_instances").unwrap_or(1).max(1));
    wanted.checked_next_multiple_of(unit).unwrap_or(wanted)
}

/// A change that was looked into and not yet made.
pub(super) struct GlobalChange {
    info: ConnectionInfo,
    stop: StopFlag,
    saved: Saved,
    unset: Vec<Unset>,
}

impl GlobalChange {
    /// Finds out which of the settings, which were fitted, can be set by this role. Changes nothing.
    ///
    /// # Errors
    /// A setting that the server does not have, or no connection.
    pub fn plan(info: &ConnectionInfo, settings: &[(String, String)], stop: &StopFlag) -> Result<Self, TargetError> {
        let mut client = connect_until(info, stop)?;
        let variables = global_variables(&mut client)?;
        let mut change = Self {
            info: info.clone(),
            stop: Arc::clone(stop),
            saved: Saved::default(),
            unset: Vec::new(),
        };
        for (name, wanted) in settings {
            let found = find(&variables, name).ok_or_else(|| ChangeError::Unknown { name: name.clone() })?;
            if same_value(found, wanted) {
                continue;
            }
            match reason_against(&mut client, name)? {
                None => change.saved.settings.push(SavedSetting {
                    name: name.clone(),
                    value: Some(found.to_owned()),
                    needs_restart: false,
                    set_to: Some(wanted.clone()),
                }),
                Some(reason) => change.unset.push(Unset {
                    name: name.clone(),
                    wanted: wanted.clone(),
                    found: found.to_owned(),
                    reason: reason.to_owned(),
                }),
            }
        }
        Ok(change)
    }

    /// Sets one after the other. What the server makes another value of is put back and said.
    fn set(&self, client: &mut Client, unset: &mut Vec<Unset>) -> Result<(), ChangeError> {
        for setting in &self.saved.settings {
            let (before, wanted) = values(setting);
            let refused = |cause| ChangeError::Refused {
                name: setting.name.clone(),
                value: wanted.to_owned(),
                cause,
            };
            set_global(client, &setting.name, wanted).map_err(refused)?;
            let found = await_value(client, &setting.name, before, wanted).map_err(refused)?;
            if !same_value(&found, wanted) {
                set_global(client, &setting.name, before).map_err(refused)?;
                unset.push(Unset {
                    name: setting.name.clone(),
                    wanted: wanted.to_owned(),
                    found: before.to_owned(),
                    reason: format!("the server makes {found} of it; give a value that it takes as it is"),
                });
            }
        }
        Ok(())
    }
}

impl Change for GlobalChange {
    fn unset(&self) -> &[Unset] {
        &self.unset
    }

    fn changes(&self) -> bool {
        !self.saved.settings.is_empty()
    }

    fn saved(&self) -> &Saved {
        &self.saved
    }

    fn apply(self: Box<Self>) -> Result<Applied, TargetError> {
        let mut client = connect_until(&self.info, &self.stop)?;
        let mut unset = self.unset.clone();
        if let Err(cause) = self.set(&mut client, &mut unset) {
            return Err(match restore(&self.info, &self.saved) {
                Ok(_) => cause.into(),
                Err(error) => ChangeError::NotUndone {
                    cause: Box::new(cause),
                    message: error.to_string(),
                    saved: self.saved.clone(),
                }
                .into(),
            });
        }
        Ok(Applied {
            server: Arc::new(self.info.clone()),
            unset,
        })
    }
}

/// What a setting was before and is set to.
fn values(setting: &SavedSetting) -> (&str, &str) {
    let [before, set_to] = [&setting.value, &setting.set_to].map(|value| value.as_deref().unwrap_or_default());
    (before, set_to)
}

/// Why a setting cannot be set by this role; `None` if it can be. It is set to what it is, which changes nothing.
fn reason_against(client: &mut Client, name: &str) -> Result<Option<&'static str>, TargetError> {
    match client.execute(&format!("set global {name} = @@global.{name}")) {
        Ok(()) => Ok(None),
        Err(ClientError::Server(error)) => Ok(Some(match error.code {
            READ_ONLY => "it takes effect when the server starts; set it in the server's option file and restart it",
            code if NOT_ALLOWED.contains(&code) => {
                "this role may not set it; grant it SYSTEM_VARIABLES_ADMIN (MySQL) or SUPER (MariaDB)"
            }
            _ => "it can be set for sessions only, or not at all, on this server",
        })),
        Err(lost) => Err(lost.into()),
    }
}

/// The value of a setting that was set: of the buffer pool's size once it is no longer what it was `before`, or when
/// that has taken too long.
fn await_value(client: &mut Client, name: &str, before: &str, wanted: &str) -> Result<String, ClientError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let variables = global_variables(client)?;
        let found = find(&variables, name).unwrap_or_default();
        let waits = name == BUFFER_POOL && !same_value(found, wanted) && same_value(found, before);
        if !waits || Instant::now() > deadline {
            return Ok(found.to_owned());
        }
        std::thread::sleep(POLL);
    }
}

/// Puts back what a change found. What has another value than the change gave it is somebody else's by now, and stays;
/// a server that was restarted has what it was before anyway.
///
/// # Errors
/// The server refuses a value, or no connection.
pub(super) fn restore(info: &ConnectionInfo, saved: &Saved) -> Result<Restored, TargetError> {
    let mut restored = Restored::default();
    if saved.settings.is_empty() {
        return Ok(restored);
    }
    let mut client = info.connect().map_err(ConnectError)?;
    let variables = global_variables(&mut client)?;
    for setting in &saved.settings {
        let (before, set_to) = values(setting);
        let found = find(&variables, &setting.name).unwrap_or_default();
        if same_value(found, before) {
            continue;
        }
        if !same_value(found, set_to) {
            restored.others.push(setting.name.clone());
            continue;
        }
        set_global(&mut client, &setting.name, before).map_err(|cause| ChangeError::NotRestored {
            name: setting.name.clone(),
            cause,
        })?;
    }
    Ok(restored)
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
            [
                ("innodb_buffer_pool_chunk_size", chunk),
                ("innodb_buffer_pool_instances", instances),
            ]
            .map(|(name, value)| ServerSetting {
                name: name.to_owned(),
                value: value.to_owned(),
            })
        };
        assert_eq!(rounded(100, &variables("128", "1")), 128);
        assert_eq!(rounded(256, &variables("128", "1")), 256);
        assert_eq!(rounded(257, &variables("128", "8")), 1024);
        assert_eq!(rounded(100, &variables("0", "1")), 100);
        assert_eq!(rounded(100, &[]), 100);
        assert_eq!(rounded(u64::MAX, &variables("128", "1")), u64::MAX);
    }
}

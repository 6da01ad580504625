//! Parameters are put back as a change found them: all that can be, whatever becomes of the others.

use super::{Scope, give, in_file, is_untouched, read, restarted, statement, values};
use crate::oracle::Client;
use crate::oracle::address::ConnectionInfo;
use crate::target::{Restored, Saved, SavedSetting, TargetError};
use crate::values::same_value;
use std::time::Duration;

/// How long the server may take to let in who puts its parameters back: whoever has asked to stop waits for that.
const RETURN: Duration = Duration::from_secs(10);

/// What is to be done about a parameter.
#[derive(Debug, PartialEq, Eq)]
enum PutBack {
    /// It is as it was.
    Done,
    /// It has another value than the change gave it, or no change can have left it: it is somebody else's.
    Others,
    /// It is the change's.
    Own,
}

/// Puts back what a change found. What has another value than the change gave it is somebody else's by now, and stays.
/// Without a `restart_command`, what needs a restart is put back for the next one only.
///
/// # Errors
/// The server refuses a value, or no connection.
pub(in crate::oracle) fn restore(
    info: &ConnectionInfo,
    saved: &Saved,
    restart_command: Option<&str>,
) -> Result<Restored, TargetError> {
    let mut restored = Restored::default();
    if saved.settings.is_empty() {
        return Ok(restored);
    }
    let info = ConnectionInfo {
        connect_timeout: info.connect_timeout.min(RETURN),
        ..info.clone()
    };
    let mut failures = Vec::new();
    let mut client = info.connect().map_err(TargetError::connect)?;
    let (file, memory): (Vec<_>, Vec<_>) = saved.settings.iter().partition(|setting| setting.needs_restart);
    let back = file_put_back(&mut client, &file, &mut restored.others, &mut failures)?;
    match restart_command.filter(|_| !back.is_empty()) {
        Some(command) => {
            restarted(&info, command)?;
            restored.restarted = true;
            client = info.connect().map_err(TargetError::connect)?;
        }
        None => restored.pending_restart = back,
    }
    let parameters = read(&mut client)?;
    for setting in memory.into_iter().rev() {
        match to_put_back(setting, parameters.value(&setting.name)) {
            PutBack::Done => {}
            PutBack::Others => restored.others.push(setting.name.clone()),
            PutBack::Own => {
                let given = give(&mut client, &setting.name, values(setting).0, false);
                failures.extend(given.err().map(|error| error.to_string()));
            }
        }
    }
    match failures.is_empty() {
        true => Ok(restored),
        false => Err(super::ChangeError::NotRestored(failures.join("; ")).into()),
    }
}

/// Writes to the parameter file what it had before a change. Gives what that was done with.
fn file_put_back(
    client: &mut Client,
    settings: &[&SavedSetting],
    others: &mut Vec<String>,
    failures: &mut Vec<String>,
) -> Result<Vec<String>, TargetError> {
    let mut back = Vec::new();
    if settings.is_empty() {
        return Ok(back);
    }
    let kept = in_file(client)?;
    for setting in settings {
        match to_put_back(setting, kept.get(&setting.name).map(String::as_str)) {
            PutBack::Done => {}
            PutBack::Others => others.push(setting.name.clone()),
            PutBack::Own => {
                let reset = statement(&setting.name, setting.value.as_deref(), Scope::File);
                match client.work(&reset) {
                    Ok(()) => back.push(setting.name.clone()),
                    Err(error) => failures.push(format!("{}: {error}", setting.name)),
                }
            }
        }
    }
    Ok(back)
}

/// What is to be done about a setting of which the server, or its file, now has this.
fn to_put_back(setting: &SavedSetting, found: Option<&str>) -> PutBack {
    let is = |value: &Option<String>| match (found, value) {
        (Some(found), Some(value)) => same_value(found, value),
        (None, None) => true,
        _ => false,
    };
    if is_untouched(&setting.name) || setting.set_to.is_none() {
        PutBack::Others
    } else if is(&setting.value) {
        PutBack::Done
    } else if is(&setting.set_to) {
        PutBack::Own
    } else {
        PutBack::Others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_change_can_have_left_is_put_back() {
        let saved = |name: &str, before: Option<&str>| SavedSetting {
            name: name.to_owned(),
            value: before.map(str::to_owned),
            needs_restart: false,
            set_to: Some("64M".to_owned()),
        };
        let setting = saved("db_cache_size", Some("32M"));
        assert_eq!(to_put_back(&setting, Some("67108864")), PutBack::Own);
        assert_eq!(to_put_back(&setting, Some("33554432")), PutBack::Done);
        assert_eq!(to_put_back(&setting, Some("1")), PutBack::Others);
        let in_file = saved("processes", None);
        assert_eq!(to_put_back(&in_file, None), PutBack::Done);
        assert_eq!(to_put_back(&in_file, Some("64M")), PutBack::Own);
        for name in ["control_files", "x = 1 scope = both; drop"] {
            assert_eq!(to_put_back(&saved(name, Some("32M")), Some("64M")), PutBack::Others);
        }
    }
}

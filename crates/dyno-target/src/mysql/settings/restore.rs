//! Settings are put back as a change found them: all that can be, whatever becomes of the others.

use super::change::restarted;
use super::{BUFFER_POOL, ChangeError, PATIENCE, altered, give, is_untouched, values};
use crate::mysql::address::ConnectionInfo;
use crate::mysql::error::cannot;
use crate::mysql::variables::Variables;
use crate::mysql::{Client, ClientError, persisted, underway};
use crate::target::{Restored, Saved, SavedSetting, TargetError};
use crate::values::same_value;
use std::collections::HashMap;
use std::time::Duration;

/// How long the server may take to let in who puts its settings back: whoever has asked to stop waits for that.
const RETURN: Duration = Duration::from_secs(10);

/// Puts back what a change found. What has another value than the change gave it is somebody else's by now, and stays;
/// of what needs no restart, a server that was restarted has what it was before anyway. A record may come from anybody:
/// what no change can have left stays, too. Without a `restart_command`, what needs a restart is put back for the next
/// one only.
///
/// # Errors
/// The server refuses a value, or no connection.
pub(in crate::mysql) fn restore(
    info: &ConnectionInfo,
    saved: &Saved,
    restart_command: Option<&str>,
) -> Result<Restored, TargetError> {
    restore_from(info, saved, restart_command, Since::Any)
}

/// When the change was made that is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// Some time ago: others may have changed something since.
    Any,
    /// Just now: whatever the server has made of a setting, it has made of this change.
    Now,
}

/// The same, of a change that was made then.
///
/// # Errors
/// As for [`restore`].
pub(super) fn restore_from(
    info: &ConnectionInfo,
    saved: &Saved,
    restart_command: Option<&str>,
    since: Since,
) -> Result<Restored, TargetError> {
    let mut restored = Restored::default();
    if saved.settings.is_empty() {
        return Ok(restored);
    }
    let info = ConnectionInfo {
        connect_timeout: info.connect_timeout.min(RETURN),
        ..info.clone()
    };
    let connected = || -> Result<(Client, Variables), TargetError> {
        let mut client = info.connect().map_err(TargetError::connect)?;
        underway::wait(&mut client, &saved.settings, PATIENCE).map_err(ChangeError::Underway)?;
        let variables = Variables::read(&mut client).map_err(cannot("read the server's settings"))?;
        Ok((client, variables))
    };
    let (mut client, mut variables) = connected()?;
    let (kept, global): (Vec<_>, Vec<_>) = saved.settings.iter().partition(|setting| setting.needs_restart);
    let mut failures = Vec::new();
    let back = kept_back(&mut client, &kept, &variables, &mut restored.others, &mut failures)?;
    match restart_command.filter(|_| !back.is_empty()) {
        Some(command) => {
            restarted(&info, command)?;
            restored.restarted = true;
            (client, variables) = connected()?;
        }
        None => restored.pending_restart = back,
    }
    let mut own = Vec::new();
    // What was set last may depend on what was set before.
    for setting in global.into_iter().rev() {
        match to_put_back(setting, &variables, since) {
            PutBack::Done => {}
            PutBack::Others => restored.others.push(setting.name.clone()),
            PutBack::Value(_) => own.push(setting),
        }
    }
    put_back(&mut client, &own, &mut failures)?;
    match failures.is_empty() {
        true => Ok(restored),
        false => Err(ChangeError::NotRestored(failures).into()),
    }
}

/// Has the server keep again what it did before a change. Gives what that was done with; what is not the change's is
/// added to `others`, what the server refuses to `failures`.
fn kept_back(
    client: &mut Client,
    settings: &[&SavedSetting],
    variables: &Variables,
    others: &mut Vec<String>,
    failures: &mut Vec<ChangeError>,
) -> Result<Vec<String>, TargetError> {
    let mut back = Vec::new();
    if settings.is_empty() {
        return Ok(back);
    }
    let kept = match persisted::keeps(variables) {
        true => persisted::read(client).map_err(cannot("read the settings that the server keeps"))?,
        false => HashMap::new(),
    };
    for setting in settings {
        let name = &setting.name;
        match to_keep_back(setting, variables, kept.get(name).map(String::as_str)) {
            PutBack::Done => {}
            PutBack::Others => others.push(name.clone()),
            PutBack::Value(before) => match client.execute(&persisted::statement(name, before)) {
                Ok(()) => back.push(name.clone()),
                Err(cause @ ClientError::Server(_)) => failures.push(ChangeError::Refused {
                    name: name.clone(),
                    value: before.unwrap_or("default").to_owned(),
                    cause,
                }),
                Err(lost) => return Err(lost.into()),
            },
        }
    }
    Ok(back)
}

/// What is to be done about a setting that a change may have left.
#[derive(Debug, PartialEq)]
enum PutBack<V> {
    /// Nothing: it is as it was.
    Done,
    /// Nothing: it is not the change's.
    Others,
    /// It gets this value.
    Value(V),
}

/// What is to be done about a setting of which the server keeps this value, if any, for its next start.
fn to_keep_back<'a>(setting: &'a SavedSetting, variables: &Variables, kept: Option<&str>) -> PutBack<Option<&'a str>> {
    let (Some(found), Some(set_to)) = (changeable(setting, variables), setting.set_to.as_deref()) else {
        return PutBack::Others;
    };
    let before = setting.value.as_deref();
    let as_before = match (kept, before) {
        (Some(kept), Some(before)) => same_value(kept, before),
        (kept, before) => kept.is_none() && before.is_none(),
    };
    match kept {
        // It may still run with what the change gave it.
        _ if as_before && !same_value(found, set_to) => PutBack::Done,
        _ if as_before => PutBack::Value(before),
        Some(kept) if same_value(kept, set_to) => PutBack::Value(before),
        _ => PutBack::Others,
    }
}

/// What the server has for a setting that a change may have changed. The name becomes part of a statement, so it has to
/// be one of the server's own.
fn changeable<'a>(setting: &SavedSetting, variables: &'a Variables) -> Option<&'a str> {
    let found = variables.get(&setting.name);
    found.filter(|_| !is_untouched(&setting.name))
}

/// What is to be done about a setting that the running server has.
fn to_put_back<'a>(setting: &'a SavedSetting, variables: &Variables, since: Since) -> PutBack<&'a str> {
    let found = changeable(setting, variables);
    let (Some(found), Some(before), Some(set_to)) = (found, &setting.value, &setting.set_to) else {
        return PutBack::Others;
    };
    match same_value(found, before) {
        // The buffer pool has its old size until it has another one.
        true if setting.name == BUFFER_POOL => PutBack::Value(before),
        true => PutBack::Done,
        false if since == Since::Now || same_value(found, set_to) => PutBack::Value(before),
        false => PutBack::Others,
    }
}

/// Gives these settings the values that they had. A failure with one keeps none of the others from it: it is added to
/// `failures`. What the server makes another value of is set once more, as it may depend on the others.
///
/// # Errors
/// The connection is lost.
fn put_back(
    client: &mut Client,
    settings: &[&SavedSetting],
    failures: &mut Vec<ChangeError>,
) -> Result<(), ChangeError> {
    let before = |setting: &SavedSetting| values(setting).0.to_owned();
    let mut refused = Vec::new();
    for setting in settings {
        match give(client, &setting.name, &before(setting)) {
            Ok(_) => {}
            Err(error) if error.is_lost() => return Err(error),
            Err(error) => {
                refused.push(setting.name.as_str());
                failures.push(error);
            }
        }
    }
    let given = settings
        .iter()
        .copied()
        .filter(|setting| !refused.contains(&setting.name.as_str()));
    for setting in altered(client, given, |setting| values(setting).0)? {
        let value = before(setting);
        match give(client, &setting.name, &value) {
            Ok(found) if same_value(&found, &value) => {}
            Ok(found) => failures.push(ChangeError::Altered {
                name: setting.name.clone(),
                value,
                found,
            }),
            Err(error) if error.is_lost() => return Err(error),
            Err(error) => failures.push(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_change_can_have_left_is_put_back() {
        let variables = [
            (BUFFER_POOL, "100"),
            ("init_connect", ""),
            ("max_connections", "77"),
            ("sync_binlog", "1"),
        ]
        .into();
        let saved = |name: &str, before: Option<&str>, set_to: Option<&str>| SavedSetting {
            name: name.to_owned(),
            value: before.map(str::to_owned),
            needs_restart: false,
            set_to: set_to.map(str::to_owned),
        };
        let what = |name, before, set_to| match to_put_back(&saved(name, before, set_to), &variables, Since::Any) {
            PutBack::Done => "done".to_owned(),
            PutBack::Others => "others".to_owned(),
            PutBack::Value(value) => value.to_owned(),
        };
        assert_eq!(what("max_connections", Some("151"), Some("77")), "151");
        assert_eq!(what("max_connections", Some("77"), Some("151")), "done");
        assert_eq!(what("max_connections", Some("151"), Some("78")), "others");
        // It may be on its way to another size.
        assert_eq!(what(BUFFER_POOL, Some("100"), Some("200")), "100");
        let altered = saved("max_connections", Some("151"), Some("78"));
        assert_eq!(to_put_back(&altered, &variables, Since::Now), PutBack::Value("151"));
        // Records that no change has written.
        assert_eq!(what("max_connections", Some("151"), None), "others");
        assert_eq!(what("max_connections", None, Some("77")), "others");
        assert_eq!(
            what("sync_binlog = 0, global max_connections", Some("1"), Some("")),
            "others"
        );
        assert_eq!(what("init_connect", Some("drop database x"), Some("")), "others");
    }

    #[test]
    fn what_the_server_keeps_is_as_it_was_or_somebody_elses() {
        let running = |value: &str| Variables::from([("innodb_log_buffer_size", value), ("init_connect", "")]);
        let saved = |before: Option<&str>| SavedSetting {
            name: "innodb_log_buffer_size".to_owned(),
            value: before.map(str::to_owned),
            needs_restart: true,
            set_to: Some("64M".to_owned()),
        };
        let (was, is) = (running("16777216"), running("67108864"));
        let what = |before, variables: &Variables, kept| match to_keep_back(&saved(before), variables, kept) {
            PutBack::Done => "done".to_owned(),
            PutBack::Others => "others".to_owned(),
            PutBack::Value(value) => value.unwrap_or("none").to_owned(),
        };
        assert_eq!(what(None, &is, Some("67108864")), "none");
        assert_eq!(what(Some("8M"), &is, Some("67108864")), "8M");
        assert_eq!(what(None, &was, None), "done");
        assert_eq!(what(Some("8M"), &was, Some("8388608")), "done");
        // It was put back, and the server not restarted.
        assert_eq!(what(None, &is, None), "none");
        assert_eq!(what(None, &is, Some("33554432")), "others");
        assert_eq!(what(Some("8M"), &is, None), "others");
        let foreign = SavedSetting {
            name: "x = 1, global y".to_owned(),
            ..saved(None)
        };
        assert_eq!(to_keep_back(&foreign, &is, None), PutBack::Others);
    }
}

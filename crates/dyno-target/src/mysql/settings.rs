//! Settings of a server that is not ours: looked into first, changed then, put back afterwards.
//!
//! The server is changed with `set global`, which lasts until it is restarted and touches no file. What takes effect
//! when the server starts is given to a MySQL with `set persist_only`, if there is a command that restarts it. What
//! cannot be set, as the server is a MariaDB or this role may not, is left as it is and said.

use super::address::ConnectionInfo;
use super::error::cannot;
use super::redo_log::{self, RedoLog};
use super::rights::remedy;
use super::underway::{self, Overdue};
use super::values::{as_wanted, in_bytes, same_value, size_bytes, with_unit};
use super::variables::{Variables, by_canonical_name};
use super::{Client, ClientError, ConnectError, connect_until, persisted};
use crate::nearest::hint;
use crate::target::{
    Applied, Change, Mapped, Restored, Saved, SavedSetting, StopFlag, TargetError, Unset, text_without_secrets,
    word_without_secrets,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the server may take to resize its buffer pool or its log, which some versions do in the background.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the server may take to let in who puts its settings back: whoever has asked to stop waits for that.
const RETURN: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(100);

/// A variable that takes effect when the server starts (MariaDB, "MariaDB Error Codes"), or that MySQL does not keep.
const READ_ONLY: u16 = 1238;

/// The size of which the server makes a multiple of its chunks.
const BUFFER_POOL: &str = "innodb_buffer_pool_size";

/// What mends torn pages.
const DOUBLEWRITE: &str = "innodb_doublewrite";

/// What the server says of another size as long as it is resizing its buffer pool.
const RESIZING: &str = "already in progress";

/// What the server executes, and files that it writes to: never changed, whatever an experiment or a record of what is
/// to be put back says.
const UNTOUCHED: [&str; 5] = [
    "general_log_file",
    "init_connect",
    "init_replica",
    "init_slave",
    "slow_query_log_file",
];

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
    #[error("the server makes {found} of {value}")]
    Altered { value: String, found: String },
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
    #[error("the setting {name} cannot be restored: {cause}")]
    NotRestored { name: String, cause: Box<ChangeError> },
}

impl ChangeError {
    /// That there is no setting of this name among `variables`.
    fn unknown(name: &str, variables: &Variables) -> Self {
        Self::Unknown {
            name: name.to_owned(),
            nearest: variables.nearest(name).map(str::to_owned),
        }
    }
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

/// A change that was looked into and not yet made.
pub(super) struct GlobalChange {
    info: ConnectionInfo,
    restart_command: Option<String>,
    stop: StopFlag,
    saved: Saved,
    unset: Vec<Unset>,
}

/// How one setting is to be set.
enum Way {
    /// While the server runs.
    Global,
    /// When it starts; it keeps this value for that, if any.
    Persisted(Option<String>),
    /// Not at all, for this reason.
    None(String),
}

impl GlobalChange {
    /// Finds out how each of the settings, which were fitted, can be set by this role. Changes nothing.
    ///
    /// # Errors
    /// A setting that the server does not have, or no connection.
    pub fn plan(
        info: &ConnectionInfo,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        let mut client = connect_until(info, stop)?;
        let variables = Variables::read(&mut client).map_err(cannot("read the server's settings"))?;
        let mut change = Self {
            info: info.clone(),
            restart_command: restart_command.map(str::to_owned),
            stop: Arc::clone(stop),
            saved: Saved::default(),
            unset: Vec::new(),
        };
        for (name, wanted) in settings {
            let found = variables
                .get(name)
                .ok_or_else(|| ChangeError::unknown(name, &variables))?;
            if same_value(found, wanted) {
                continue;
            }
            let at_start = is_for_a_start(name, found, wanted, &variables);
            let can_restart = restart_command.is_some();
            let (value, needs_restart) = match way(&mut client, name, at_start, &variables, can_restart)? {
                Way::Global => (Some(found.to_owned()), false),
                Way::Persisted(kept) => (kept, true),
                Way::None(reason) => {
                    change.unset.push(Unset {
                        name: name.clone(),
                        wanted: wanted.clone(),
                        found: as_wanted(found, wanted),
                        reason,
                    });
                    continue;
                }
            };
            change.saved.settings.push(SavedSetting {
                name: name.clone(),
                value,
                needs_restart,
                set_to: Some(wanted.clone()),
            });
        }
        Ok(change)
    }

    /// Has the server keep what takes effect when it starts, and starts it anew. Gives what it was started with; what
    /// it does not keep, or this role may not have it keep, is said.
    fn restart(&self, client: &mut Client, unset: &mut Vec<Unset>) -> Result<Vec<&SavedSetting>, ChangeError> {
        let mut kept = Vec::new();
        for setting in self.saved.settings.iter().filter(|setting| setting.needs_restart) {
            let (_, wanted) = values(setting);
            let Err(cause) = client.execute(&persisted::statement(&setting.name, Some(wanted))) else {
                kept.push(setting);
                continue;
            };
            let reason = match (remedy(client, &cause, persisted::RIGHTS), &cause) {
                (Some(remedy), _) => format!("this role may not have the server keep it; {remedy}"),
                (None, ClientError::Server(error)) if error.code == READ_ONLY => persisted::NOT_KEPT.to_owned(),
                _ => {
                    return Err(ChangeError::Refused {
                        name: setting.name.clone(),
                        value: wanted.to_owned(),
                        cause,
                    });
                }
            };
            let variables = Variables::read(client).map_err(ChangeError::Ask)?;
            unset.push(Unset {
                name: setting.name.clone(),
                wanted: wanted.to_owned(),
                found: as_wanted(variables.get(&setting.name).unwrap_or_default(), wanted),
                reason,
            });
        }
        if let Some(command) = self.restart_command.as_deref().filter(|_| !kept.is_empty()) {
            restarted(&self.info, command)?;
        }
        Ok(kept)
    }

    /// Sets one after the other what can be while the server runs. What the server makes another value of is put back
    /// and said.
    fn set(&self, client: &mut Client, unset: &mut Vec<Unset>) -> Result<(), ChangeError> {
        for setting in self.saved.settings.iter().filter(|setting| !setting.needs_restart) {
            let (before, wanted) = values(setting);
            let found = give(client, &setting.name, wanted)?;
            if !same_value(&found, wanted) {
                give(client, &setting.name, before)?;
                unset.push(Unset {
                    name: setting.name.clone(),
                    wanted: wanted.to_owned(),
                    found: as_wanted(before, wanted),
                    reason: format!(
                        "the server makes {} of it; give a value that it takes as it is",
                        as_wanted(&found, wanted)
                    ),
                });
            }
        }
        Ok(())
    }

    /// Sets what is left once the server was started with what it `kept`. What it does not run with is said.
    fn complete(&self, mut client: Client, kept: &[&SavedSetting], unset: &mut Vec<Unset>) -> Result<(), ChangeError> {
        if !kept.is_empty() {
            client = self.info.connect().map_err(ChangeError::Ask)?;
            let variables = Variables::read(&mut client).map_err(ChangeError::Ask)?;
            for setting in kept {
                let (_, wanted) = values(setting);
                let found = variables.get(&setting.name).unwrap_or_default();
                if !same_value(found, wanted) {
                    unset.push(Unset {
                        name: setting.name.clone(),
                        wanted: wanted.to_owned(),
                        found: as_wanted(found, wanted),
                        reason: "the server was restarted with it and makes something else of it, or its command line \
                                 says otherwise; give a value that it takes as it is"
                            .to_owned(),
                    });
                }
            }
        }
        self.set(&mut client, unset)
    }

    /// Puts back what was changed so far and gives the error that says why. With a command, the server is restarted
    /// once more.
    fn undo(&self, cause: ChangeError, restart_command: Option<&str>) -> TargetError {
        match restore(&self.info, &self.saved, restart_command) {
            Ok(_) => ChangeError::Undone(Box::new(cause)).into(),
            Err(error) => ChangeError::NotUndone {
                cause: Box::new(cause),
                message: error.to_string(),
                saved: self.saved.clone(),
            }
            .into(),
        }
    }
}

/// Restarts the server by this command.
fn restarted(info: &ConnectionInfo, command: &str) -> Result<(), ChangeError> {
    persisted::restart(info, command).map_err(|message| ChangeError::Restart {
        command: word_without_secrets(command),
        message: text_without_secrets(&message, &[command.to_owned()]),
    })
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
        let kept = self.restart(&mut client, &mut unset);
        let kept = kept.map_err(|cause| self.undo(cause, None))?;
        let command = self.restart_command.as_deref().filter(|_| !kept.is_empty());
        let done = self.complete(client, &kept, &mut unset);
        done.map_err(|cause| self.undo(cause, command))?;
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

/// Whether this change of a setting, which the server takes others of while it runs, takes effect at a start alone:
/// MySQL lets its doublewrite buffer be switched on and off only then.
fn is_for_a_start(name: &str, found: &str, wanted: &str, variables: &Variables) -> bool {
    let is_off = |value: &str| same_value(value, "off");
    name == DOUBLEWRITE && persisted::keeps(variables) && is_off(found) != is_off(wanted)
}

/// How a setting that is not as wanted can be set by this role. It is set to what it is, which changes nothing.
fn way(
    client: &mut Client,
    name: &str,
    at_start: bool,
    variables: &Variables,
    can_restart: bool,
) -> Result<Way, TargetError> {
    let none = |reason: &str| Ok(Way::None(reason.to_owned()));
    if UNTOUCHED.contains(&name) {
        return none("dyno changes neither what the server executes nor where it writes");
    }
    let error = match client.execute(&format!("set global {name} = @@global.{name}")) {
        Ok(()) if at_start => None,
        Ok(()) => return Ok(Way::Global),
        Err(error @ ClientError::Server(_)) => Some(error),
        Err(lost) => return Err(lost.into()),
    };
    if let Some(remedy) = error.as_ref().and_then(|error| remedy(client, error, "super on *.*")) {
        return none(&format!("this role may not set it; {remedy}"));
    }
    match error {
        Some(ClientError::Server(error)) if error.code != READ_ONLY => {
            return none("it can be set for sessions only, or not at all, on this server");
        }
        _ => {}
    }
    match (persisted::keeps(variables), can_restart) {
        (false, _) => none(persisted::NOT_KEPT),
        (true, false) => none(persisted::NEEDS_RESTART),
        (true, true) => match persisted::read(client) {
            Ok(kept) => Ok(Way::Persisted(kept.get(name).cloned())),
            Err(ClientError::Server(error)) => none(&format!(
                "this role may not read what the server keeps of it ({error}), so dyno could not restore it; grant \
                 select on performance_schema.persisted_variables to the role"
            )),
            Err(lost) => Err(lost.into()),
        },
    }
}

/// Puts back what a change found. What has another value than the change gave it is somebody else's by now, and stays;
/// of what needs no restart, a server that was restarted has what it was before anyway. A record may come from anybody:
/// what no change can have left stays, too. Without a `restart_command`, what needs a restart is put back for the next
/// one only.
///
/// # Errors
/// The server refuses a value, or no connection.
pub(super) fn restore(
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
    let connected = || -> Result<(Client, Variables), TargetError> {
        let mut client = info.connect().map_err(ConnectError)?;
        underway::wait(&mut client, &saved.settings, PATIENCE).map_err(ChangeError::Underway)?;
        let variables = Variables::read(&mut client).map_err(cannot("read the server's settings"))?;
        Ok((client, variables))
    };
    let (mut client, mut variables) = connected()?;
    let (kept, global): (Vec<_>, Vec<_>) = saved.settings.iter().partition(|setting| setting.needs_restart);
    let back = kept_back(&mut client, &kept, &variables, &mut restored.others)?;
    match restart_command.filter(|_| !back.is_empty()) {
        Some(command) => {
            restarted(&info, command)?;
            restored.restarted = true;
            (client, variables) = connected()?;
        }
        None => restored.pending_restart = back,
    }
    for setting in global {
        match to_put_back(setting, &variables) {
            PutBack::Done => {}
            PutBack::Others => restored.others.push(setting.name.clone()),
            PutBack::Value(before) => put_back(&mut client, &setting.name, before)?,
        }
    }
    Ok(restored)
}

/// Has the server keep again what it did before a change. Gives what that was done with; what is not the change's is
/// added to `others`.
fn kept_back(
    client: &mut Client,
    settings: &[&SavedSetting],
    variables: &Variables,
    others: &mut Vec<String>,
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
            PutBack::Value(before) => {
                let done = client.execute(&persisted::statement(name, before));
                done.map_err(|cause| ChangeError::NotRestored {
                    name: name.clone(),
                    cause: Box::new(ChangeError::Refused {
                        name: name.clone(),
                        value: before.unwrap_or("default").to_owned(),
                        cause,
                    }),
                })?;
                back.push(name.clone());
            }
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
    found.filter(|_| !UNTOUCHED.contains(&setting.name.as_str()))
}

/// What is to be done about a setting that the running server has.
fn to_put_back<'a>(setting: &'a SavedSetting, variables: &Variables) -> PutBack<&'a str> {
    let found = changeable(setting, variables);
    let (Some(found), Some(before), Some(set_to)) = (found, &setting.value, &setting.set_to) else {
        return PutBack::Others;
    };
    match same_value(found, before) {
        // The buffer pool has its old size until it has another one.
        true if setting.name == BUFFER_POOL => PutBack::Value(before),
        true => PutBack::Done,
        false if same_value(found, set_to) => PutBack::Value(before),
        false => PutBack::Others,
    }
}

fn put_back(client: &mut Client, name: &str, before: &str) -> Result<(), ChangeError> {
    let given = give(client, name, before).and_then(|found| match same_value(&found, before) {
        true => Ok(()),
        false => Err(ChangeError::Altered {
            value: before.to_owned(),
            found,
        }),
    });
    given.map_err(|cause| ChangeError::NotRestored {
        name: name.to_owned(),
        cause: Box::new(cause),
    })
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
        let what = |name, before, set_to| match to_put_back(&saved(name, before, set_to), &variables) {
            PutBack::Done => "done".to_owned(),
            PutBack::Others => "others".to_owned(),
            PutBack::Value(value) => value.to_owned(),
        };
        assert_eq!(what("max_connections", Some("151"), Some("77")), "151");
        assert_eq!(what("max_connections", Some("77"), Some("151")), "done");
        assert_eq!(what("max_connections", Some("151"), Some("78")), "others");
        // It may be on its way to another size.
        assert_eq!(what(BUFFER_POOL, Some("100"), Some("200")), "100");
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

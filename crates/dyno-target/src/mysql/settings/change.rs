//! A change of settings: how each can be set by this role is found out first, then they are set.

use super::restore::{Since, restore_from};
use super::{ChangeError, altered, give, is_untouched, memory, values};
use crate::mysql::address::ConnectionInfo;
use crate::mysql::error::cannot;
use crate::mysql::rights::remedy;
use crate::mysql::variables::Variables;
use crate::mysql::{Client, ClientError, connect_until, persisted};
use crate::target::{
    Applied, Change, Saved, SavedSetting, StopFlag, TargetError, Unset, text_without_secrets, word_without_secrets,
};
use crate::values::{as_wanted, same_value};
use std::sync::Arc;

/// A variable that takes effect when the server starts (MariaDB, "MariaDB Error Codes"), or that MySQL does not keep.
const READ_ONLY: u16 = 1238;

/// What mends torn pages.
const DOUBLEWRITE: &str = "innodb_doublewrite";

/// A change that was looked into and not yet made.
pub(in crate::mysql) struct GlobalChange {
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
    /// A setting that the server does not have, a size that its machine has not, or no connection.
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
            memory::check(info, &variables, name, wanted)?;
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

    /// Sets one after the other what can be while the server runs. What the server makes another value of is set once
    /// more, as it may have depended on what was set behind it, then put back and said.
    fn set(&self, client: &mut Client, unset: &mut Vec<Unset>) -> Result<(), ChangeError> {
        let global = || self.saved.settings.iter().filter(|setting| !setting.needs_restart);
        for setting in global() {
            give(client, &setting.name, values(setting).1)?;
        }
        for setting in altered(client, global(), |setting| values(setting).1)? {
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

    fn not_undone(&self, cause: ChangeError, message: String) -> TargetError {
        let half = ChangeError::NotUndone {
            cause: Box::new(cause),
            message,
            saved: self.saved.clone(),
        };
        half.into()
    }

    /// Puts back what was changed so far and gives the error that says why. With a command, the server is restarted
    /// once more.
    fn undo(&self, cause: ChangeError, restart_command: Option<&str>) -> TargetError {
        match restore_from(&self.info, &self.saved, restart_command, Since::Now) {
            Ok(restored) if restored.others.is_empty() => ChangeError::Undone(Box::new(cause)).into(),
            Ok(restored) => self.not_undone(
                cause,
                format!("the server has other values of {}", restored.others.join(", ")),
            ),
            Err(error) => self.not_undone(cause, error.to_string()),
        }
    }
}

/// Restarts the server by this command.
pub(super) fn restarted(info: &ConnectionInfo, command: &str) -> Result<(), ChangeError> {
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
    if is_untouched(name) {
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

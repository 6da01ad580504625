//! A change of parameters: how each can be set by this user is found out first, then they are set.

use super::restore::restore;
use super::{ChangeError, RIGHT, Scope, give, in_file, is_untouched, readable, restarted, statement, unknown, values};
use crate::oracle::address::ConnectionInfo;
use crate::oracle::database::rights_to_see;
use crate::oracle::parameters::{Change as When, Parameter, Parameters};
use crate::oracle::rights::{is_denied, refusable, remedy};
use crate::oracle::{Client, ClientError, connect_until};
use crate::target::{Applied, Change, Saved, SavedSetting, StopFlag, TargetError, Unset};
use crate::values::{as_wanted, same_value};
use std::collections::HashMap;
use std::sync::Arc;

/// Why a parameter that takes effect at a start is left.
const NEEDS_RESTART: &str = "it takes effect when the server starts; give the command that restarts it \
                             (--restart-command), or set it yourself";

/// Why one is left that belongs to the whole container database.
const OF_CONTAINER: &str = "a pluggable database cannot have its own; set it in the root";

/// A change that was looked into and not yet made.
pub(in crate::oracle) struct SystemChange {
    info: ConnectionInfo,
    restart_command: Option<String>,
    stop: StopFlag,
    saved: Saved,
    /// Those of them that sessions to come will have.
    deferred: Vec<String>,
    unset: Vec<Unset>,
}

/// How one parameter is to be set.
enum Way {
    Memory { is_deferred: bool },
    File,
    None(String),
}

impl SystemChange {
    /// Finds out how each of the settings, which were fitted, can be set by this user. Changes nothing.
    ///
    /// # Errors
    /// A parameter that the server does not have, or no connection.
    pub fn plan(
        info: &ConnectionInfo,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        let mut change = Self {
            info: info.clone(),
            restart_command: restart_command.map(str::to_owned),
            stop: Arc::clone(stop),
            saved: Saved::default(),
            deferred: Vec::new(),
            unset: Vec::new(),
        };
        if settings.is_empty() {
            return Ok(change);
        }
        let mut client = connect_until(info, stop)?;
        let Some(parameters) = readable(&mut client)? else {
            let reason = format!("this user may read no parameters; {}", rights_to_see(&info.schema()));
            change.unset = settings
                .iter()
                .map(|(name, wanted)| Unset {
                    name: name.clone(),
                    wanted: wanted.clone(),
                    found: "not known".to_owned(),
                    reason: reason.clone(),
                })
                .collect();
            return Ok(change);
        };
        let kept = refusable(in_file(&mut client))?.unwrap_or_default();
        for (name, wanted) in settings {
            let found = parameters.get(name).ok_or_else(|| unknown(name, &parameters))?;
            if !same_value(&found.value, wanted) {
                change.add(&mut client, name, wanted, found, &kept)?;
            }
        }
        Ok(change)
    }

    fn add(
        &mut self,
        client: &mut Client,
        name: &str,
        wanted: &str,
        found: &Parameter,
        kept: &HashMap<String, String>,
    ) -> Result<(), TargetError> {
        let (value, needs_restart) = match way(client, name, found, self.restart_command.is_some())? {
            Way::Memory { is_deferred } => {
                if is_deferred {
                    self.deferred.push(name.to_owned());
                }
                (Some(found.value.clone()), false)
            }
            Way::File => (kept.get(name).cloned(), true),
            Way::None(reason) => {
                self.unset.push(Unset {
                    name: name.to_owned(),
                    wanted: wanted.to_owned(),
                    found: as_wanted(&found.value, wanted),
                    reason,
                });
                return Ok(());
            }
        };
        self.saved.settings.push(SavedSetting {
            name: name.to_owned(),
            value,
            needs_restart,
            set_to: Some(wanted.to_owned()),
        });
        Ok(())
    }

    fn make(&self, mut client: Client) -> Result<(), ChangeError> {
        let (file, memory): (Vec<_>, Vec<_>) = self.saved.settings.iter().partition(|setting| setting.needs_restart);
        for setting in &file {
            let (_, wanted) = values(setting);
            client
                .work(&statement(&setting.name, Some(wanted), Scope::File))
                .map_err(|cause| ChangeError::refused(&setting.name, wanted, cause))?;
        }
        if let Some(command) = self.restart_command.as_deref().filter(|_| !file.is_empty()) {
            restarted(&self.info, command)?;
            client = self.info.connect().map_err(ChangeError::Ask)?;
            let parameters = Parameters::read(&mut client).map_err(ChangeError::Ask)?;
            for setting in &file {
                let (_, wanted) = values(setting);
                let found = parameters.value(&setting.name).unwrap_or_default();
                if !same_value(found, wanted) {
                    return Err(ChangeError::Altered {
                        name: setting.name.clone(),
                        value: wanted.to_owned(),
                        found: found.to_owned(),
                    });
                }
            }
        }
        for setting in memory {
            let is_deferred = self.deferred.contains(&setting.name);
            give(&mut client, &setting.name, values(setting).1, is_deferred)?;
        }
        Ok(())
    }

    /// Puts back what was changed so far and gives the error that says why.
    fn undo(&self, cause: ChangeError) -> TargetError {
        let message = match restore(&self.info, &self.saved, self.restart_command.as_deref()) {
            Ok(restored) if restored.others.is_empty() => return ChangeError::Undone(Box::new(cause)).into(),
            Ok(restored) => format!("the server has other values of {}", restored.others.join(", ")),
            Err(error) => error.to_string(),
        };
        let half = ChangeError::NotUndone {
            cause: Box::new(cause),
            message,
            saved: self.saved.clone(),
        };
        half.into()
    }
}

/// How a parameter that is not as wanted can be set by this user. It is set to what it is, which changes nothing.
fn way(client: &mut Client, name: &str, found: &Parameter, can_restart: bool) -> Result<Way, TargetError> {
    let none = |reason: &str| Ok(Way::None(reason.to_owned()));
    if is_untouched(name) {
        return none("dyno changes neither where the server is nor what it writes to, nor whom it lets in");
    }
    if !found.is_ours {
        return none(OF_CONTAINER);
    }
    let is_deferred = match found.change {
        When::Start if can_restart => return Ok(Way::File),
        When::Start => return none(NEEDS_RESTART),
        When::Deferred => true,
        When::Immediate => false,
    };
    let scope = if is_deferred { Scope::Deferred } else { Scope::Memory };
    let user = client.info().schema();
    match refusable(client.work(&statement(name, Some(&found.value), scope)))? {
        Ok(()) => Ok(Way::Memory { is_deferred }),
        Err(error) if is_denied(&error) => {
            let remedy = remedy(&error, RIGHT, &user).unwrap_or_default();
            none(&format!("this user may not set it; {remedy}"))
        }
        // What it is now it may not take, such as an empty list.
        Err(ClientError::Server(_)) => Ok(Way::Memory { is_deferred }),
        Err(error) => Err(error.into()),
    }
}

impl Change for SystemChange {
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
        let client = connect_until(&self.info, &self.stop)?;
        self.make(client).map_err(|cause| self.undo(cause))?;
        Ok(Applied {
            server: Arc::new(self.info.clone()),
            unset: self.unset.clone(),
        })
    }
}

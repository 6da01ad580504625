//! Settings of a server that is not ours: looked into first, changed then, put back afterwards.
//!
//! The server is changed with `alter system`, whose file `postgresql.auto.conf` has one line for each setting: what
//! it had is saved first, so that exactly that can be put back. What a role may not change on the server, but may
//! in its own sessions, goes into the connections' options and never touches the server; the rest is said.

use super::mapping::{MappingError, plan_with};
use super::restart;
use super::survey::{Kept, Survey, alter_system};
use crate::postgres::Client;
use crate::postgres::address::{ConnectError, ConnectionInfo};
use crate::postgres::server_message;
use crate::target::{Mapped, Restored, Saved, SavedSetting, Unset, text_without_secrets, word_without_secrets};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long the server's processes may take to follow a reload.
const RELOAD_LIMIT: Duration = Duration::from_secs(20);

/// How long a server may take for anything that it is asked while it is changed or put back. One that stands still
/// must not keep dyno from its end.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(50);

/// Settings by which dyno reaches the server: never changed.
const UNTOUCHED: [&str; 4] = ["data_directory", "listen_addresses", "port", "unix_socket_directories"];

/// What a change did.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Where to connect from now on: with the settings that hold for sessions only.
    pub info: ConnectionInfo,
    /// Whether the server was restarted.
    pub restarted: bool,
    /// What the server does not run with.
    pub unset: Vec<Unset>,
}

/// Settings could not be changed or put back.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ChangeError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
    #[error("the server's settings cannot be read: {message}")]
    Read { message: String },
    #[error("the server refuses {name} = {value}: {}. Nothing was changed", message.trim_end_matches('.'))]
    Refused {
        name: String,
        value: String,
        message: String,
    },
    #[error("the server does not run with {}, though it was told to; its log says why. Nothing was changed",
        names.join(", "))]
    NotInEffect { names: Vec<String> },
    #[error(
        "the command \"{command}\" did not restart the server: {message}. The settings are as before in \
         postgresql.auto.conf"
    )]
    Restart { command: String, message: String },
    #[error(
        "{cause}\nThe changed settings could not be restored: {message}. Restore them manually in \
         postgresql.auto.conf: {}",
        remedy(saved)
    )]
    NotUndone {
        cause: Box<ChangeError>,
        message: String,
        saved: Saved,
    },
    #[error("the setting {name} cannot be restored: {message}")]
    NotRestored { name: String, message: String },
}

impl ChangeError {
    /// Whether the server is as it was before the change that failed.
    #[must_use]
    pub fn is_undone(&self) -> bool {
        !matches!(self, Self::NotUndone { .. })
    }
}

fn remedy(saved: &Saved) -> String {
    let each = saved.settings.iter().map(|setting| match &setting.value {
        Some(value) => format!("{} = '{value}'", setting.name),
        None => format!("no {}", setting.name),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn unreadable(error: &postgres::Error) -> ChangeError {
    ChangeError::Read {
        message: server_message(error),
    }
}

/// As [`plan_for`](super::plan_for), for a server that is there: settings that only this one has, as relatives of
/// PostgreSQL do, stay as they are.
///
/// # Errors
/// The settings cannot be read, or as for [`plan_for`](super::plan_for).
pub fn plan_for_server(client: &mut Client, settings: &[(String, String)]) -> Result<Mapped, ChangeError> {
    let survey = Survey::read(client).map_err(|error| unreadable(&error))?;
    Ok(plan_with(settings, survey.version, &|name| survey.row(name).is_some())?)
}

/// A change that was looked into and not yet made.
#[derive(Clone, Debug)]
pub struct Change {
    info: ConnectionInfo,
    restart_command: Option<String>,
    /// For the server, in the order of `saved`.
    server: Vec<Wanted>,
    saved: Saved,
    /// For connections.
    session: Vec<(String, String)>,
    unset: Vec<Unset>,
    notes: Vec<String>,
}

/// A setting for the server.
#[derive(Clone, Debug)]
struct Wanted {
    name: String,
    value: String,
    /// What `pg_settings` had before.
    before: String,
}

/// How one setting is to be set.
enum Way {
    Server { kept: Option<String>, needs_restart: bool },
    Session,
    None(String),
}

impl Change {
    /// Finds out how each setting can be set by this role on this server, and what is there now. Changes nothing.
    /// Names are those of any version: they are mapped as by [`plan_for`](super::plan_for), and names that only
    /// this server has are accepted. `restart_command` is a shell command that restarts the server; without it
    /// nothing is touched that would need one. `stop` gives it up.
    ///
    /// # Errors
    /// No connection, a setting that this version does not have, or a value that the server refuses.
    pub fn plan(
        info: &ConnectionInfo,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, ChangeError> {
        let mut client = info.connect_to_ask(stop)?;
        let survey = Survey::read(&mut client).map_err(|error| unreadable(&error))?;
        let mapped = plan_with(settings, survey.version, &|name| survey.row(name).is_some())?;
        let mut change = Self {
            info: info.clone(),
            restart_command: restart_command.map(str::to_owned),
            server: Vec::new(),
            saved: Saved::default(),
            session: Vec::new(),
            unset: Vec::new(),
            notes: mapped.notes,
        };
        for (name, value) in mapped.settings {
            let Some(row) = survey.row(&name) else {
                change.cannot(
                    &name,
                    value,
                    "not visible",
                    "this role may not see it, or the server does not have it".to_owned(),
                );
                continue;
            };
            if row.is(&value) {
                continue;
            }
            match way(&survey, &mut client, &name, restart_command.is_some()) {
                Way::Server { kept, needs_restart } => {
                    change.saved.settings.push(SavedSetting {
                        name: name.clone(),
                        value: kept,
                        needs_restart,
                        set_to: Some(value.clone()),
                    });
                    change.server.push(Wanted {
                        name,
                        value,
                        before: row.setting.clone(),
                    });
                }
                Way::Session => {
                    try_in_session(&mut client, &name, &value, &row.context)?;
                    change.session.push((name, value));
                }
                Way::None(reason) => {
                    let found = shown(&mut client, &name).unwrap_or_else(|| row.setting.clone());
                    change.cannot(&name, value, &found, reason);
                }
            }
        }
        Ok(change)
    }

    fn cannot(&mut self, name: &str, wanted: String, found: &str, reason: String) {
        self.unset.push(Unset {
            name: name.to_owned(),
            wanted,
            found: found.to_owned(),
            reason,
        });
    }

    /// What the server will not run with, and why.
    #[must_use]
    pub fn unset(&self) -> &[Unset] {
        &self.unset
    }

    /// Whether anything is to be changed, on the server or for the connection alone.
    #[must_use]
    pub fn changes(&self) -> bool {
        !(self.server.is_empty() && self.session.is_empty())
    }

    /// What to put back later. Keep it in a file before [`apply`](Self::apply): then it can be put back even after
    /// a crash.
    #[must_use]
    pub fn saved(&self) -> &Saved {
        &self.saved
    }

    /// What was mapped to names or values of this version, as sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Makes the change, and waits until the server runs with it.
    ///
    /// # Errors
    /// The server refuses a value, does not follow, or does not restart. Nothing stays changed then, unless the
    /// error says so.
    pub fn apply(self) -> Result<Applied, ChangeError> {
        let restarted = match self.change_server() {
            Ok(restarted) => restarted,
            Err(cause) => return Err(self.undo(cause)),
        };
        let info = self.info.with_settings(&self.session);
        if !self.session.is_empty()
            && let Err(error) = info.connect_with_patience(PATIENCE)
        {
            return Err(self.undo(error.into()));
        }
        Ok(Applied {
            info,
            restarted,
            unset: self.unset,
        })
    }

    fn change_server(&self) -> Result<bool, ChangeError> {
        if self.server.is_empty() {
            return Ok(false);
        }
        let mut client = self.info.connect_with_patience(PATIENCE)?;
        for Wanted { name, value, .. } in &self.server {
            let refused = |message: String| ChangeError::Refused {
                name: name.clone(),
                value: value.clone(),
                message,
            };
            let command = alter_system(name, Some(value)).ok_or_else(|| refused("it cannot be empty".to_owned()))?;
            client
                .batch_execute(&command)
                .map_err(|error| refused(server_message(&error)))?;
        }
        let restarted = take_over(&self.info, &mut client, &self.saved, self.restart_command.as_deref())?;
        let missing = await_settings(&self.info, &|survey| {
            // A value that is spelt otherwise by the server (DateStyle) has at least changed.
            let follows = |wanted: &Wanted| {
                let row = survey.row(&wanted.name);
                row.is_some_and(|row| row.is(&wanted.value) || row.setting != wanted.before)
            };
            let missing = self.server.iter().filter(|wanted| !follows(wanted));
            missing.map(|wanted| wanted.name.clone()).collect()
        })?;
        if missing.is_empty() {
            Ok(restarted)
        } else {
            Err(ChangeError::NotInEffect { names: missing })
        }
    }

    /// Puts back what was changed so far and gives the error that says why.
    fn undo(&self, cause: ChangeError) -> ChangeError {
        if self.saved.settings.is_empty() {
            return cause;
        }
        // Where the server was not restarted with the new values it need not be with the old ones.
        let restart_command = match &cause {
            ChangeError::Refused { .. } | ChangeError::Restart { .. } => None,
            _ => self.restart_command.as_deref(),
        };
        match restore(&self.info, &self.saved, restart_command) {
            Ok(_) => cause,
            Err(error) => ChangeError::NotUndone {
                cause: Box::new(cause),
                message: error.to_string(),
                saved: self.saved.clone(),
            },
        }
    }
}

/// How a setting that is not as wanted can be set.
fn way(survey: &Survey, client: &mut Client, name: &str, can_restart: bool) -> Way {
    let Some(row) = survey.row(name) else {
        return Way::None("the server does not have it".to_owned());
    };
    if UNTOUCHED.contains(&name.to_ascii_lowercase().as_str()) {
        return Way::None("dyno does not change where a server is located or where it listens".to_owned());
    }
    if row.context == "internal" {
        return Way::None("it was fixed when the server was built or its cluster created".to_owned());
    }
    // What is given on the command line, or to a role or database, goes before the file.
    let overridden = !matches!(row.source.as_str(), "default" | "configuration file");
    let by_file = match survey.may_alter_system(client, name) {
        Ok(()) if overridden => Err(format!(
            "its value comes from elsewhere ({}) and takes precedence over the \
             configuration",
            row.source
        )),
        Ok(()) => match survey.kept(name) {
            Kept::Nothing => Ok(None),
            Kept::Value(value) if alter_system(name, Some(&value)).is_some() => Ok(Some(value)),
            Kept::Value(_) => Err("its value in postgresql.auto.conf could not be restored".to_owned()),
            Kept::Unknown => Err(
                "this role cannot see its value in postgresql.auto.conf, so dyno could not restore it; grant \
                 pg_read_all_settings to the role"
                    .to_owned(),
            ),
        },
        Err(reason) => Err(reason),
    };
    let needs_restart = row.context == "postmaster";
    match by_file {
        Ok(_) if needs_restart && !can_restart => Way::None(
            "it needs a restart of the server; give the command that restarts it (--restart-command), or set it \
             yourself"
                .to_owned(),
        ),
        Ok(kept) => Way::Server { kept, needs_restart },
        Err(_) if survey.may_set(client, name, &row.context) => Way::Session,
        Err(reason) => Way::None(format!("{reason}; set it yourself, or leave it out")),
    }
}

/// Has the server look at a value that is going to be given to connections.
fn try_in_session(client: &mut Client, name: &str, value: &str, context: &str) -> Result<(), ChangeError> {
    if context.contains("backend") {
        // Only a new connection can have it: the first one after the change will tell.
        return Ok(());
    }
    client
        .query_one("select set_config($1, $2, false)", &[&name, &value])
        .map(|_| ())
        .map_err(|error| ChangeError::Refused {
            name: name.to_owned(),
            value: value.to_owned(),
            message: server_message(&error),
        })
}

fn shown(client: &mut Client, name: &str) -> Option<String> {
    let row = client.query_one("select current_setting($1)", &[&name]).ok()?;
    row.get(0)
}

/// Has the server take over its files: by a reload, and by a restart if that is needed and there is a command.
/// Gives whether it was restarted.
fn take_over(
    info: &ConnectionInfo,
    client: &mut Client,
    saved: &Saved,
    restart_command: Option<&str>,
) -> Result<bool, ChangeError> {
    client
        .query_one("select pg_reload_conf()", &[])
        .map_err(|error| unreadable(&error))?;
    match restart_command {
        Some(command) if saved.settings.iter().any(|setting| setting.needs_restart) => {
            restart::restart(info, command).map_err(|message| ChangeError::Restart {
                command: word_without_secrets(command),
                message: text_without_secrets(&message, &[command.to_owned()]),
            })?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Asks new connections until nothing is `missing`: a reload is done by the server's main process when it comes to
/// it. Gives what still is after a while.
fn await_settings(info: &ConnectionInfo, missing: &dyn Fn(&Survey) -> Vec<String>) -> Result<Vec<String>, ChangeError> {
    let began = Instant::now();
    loop {
        let names =
            missing(&Survey::read(&mut info.connect_with_patience(PATIENCE)?).map_err(|error| unreadable(&error))?);
        if names.is_empty() || began.elapsed() > RELOAD_LIMIT {
            return Ok(names);
        }
        std::thread::sleep(POLL);
    }
}

/// Puts back what was saved, and has the server take it over. May be called again, and by another process than the
/// change's. Without a `restart_command` what needs a restart is put back in the file only.
///
/// # Errors
/// No connection, or the server refuses.
pub fn restore(info: &ConnectionInfo, saved: &Saved, restart_command: Option<&str>) -> Result<Restored, ChangeError> {
    if saved.settings.is_empty() {
        return Ok(Restored::default());
    }
    let mut client = info.connect_with_patience(PATIENCE)?;
    let survey = Survey::read(&mut client).map_err(|error| unreadable(&error))?;
    let (own, others): (Vec<_>, Vec<_>) = saved
        .settings
        .iter()
        .cloned()
        .partition(|setting| is_own(setting, &survey));
    let others = others.into_iter().map(|setting| setting.name).collect();
    if own.is_empty() {
        return Ok(Restored {
            others,
            ..Restored::default()
        });
    }
    let saved = &Saved { settings: own };
    for setting in &saved.settings {
        let failed = |message: String| ChangeError::NotRestored {
            name: setting.name.clone(),
            message,
        };
        let command = alter_system(&setting.name, setting.value.as_deref())
            .ok_or_else(|| failed("alter system cannot write an empty list".to_owned()))?;
        client
            .batch_execute(&command)
            .map_err(|error| failed(server_message(&error)))?;
    }
    let restarted = take_over(info, &mut client, saved, restart_command)?;
    let (pending, followed): (Vec<_>, Vec<_>) = saved
        .settings
        .iter()
        .partition(|setting| setting.needs_restart && !restarted);
    let missing = await_settings(info, &|survey| {
        let missing = followed
            .iter()
            .filter(|setting| !survey.follows(&setting.name, setting.value.as_deref()));
        missing.map(|setting| setting.name.clone()).collect()
    })?;
    if let Some(name) = missing.into_iter().next() {
        return Err(ChangeError::NotRestored {
            name,
            message: "it has its old value in postgresql.auto.conf, but the server does not apply it; the server's \
                      log says why"
                .to_owned(),
        });
    }
    Ok(Restored {
        restarted,
        pending_restart: pending.into_iter().map(|setting| setting.name.clone()).collect(),
        others,
    })
}

/// Whether what the file has now may be replaced by what was there before the change: it is the change's, or is
/// there already. A record may come from anybody, and the name becomes part of a command: it has to be one that the
/// server knows, and what no change can have left stays as it is.
fn is_own(setting: &SavedSetting, survey: &Survey) -> bool {
    if survey.row(&setting.name).is_none() {
        return false;
    }
    let before = &setting.value;
    match (survey.kept(&setting.name), &setting.set_to) {
        (Kept::Nothing, _) => before.is_none(),
        (Kept::Unknown, set_to) => set_to.is_some(),
        (Kept::Value(value), Some(set_to)) => survey.has(&setting.name, set_to) || Some(&value) == before.as_ref(),
        // A change of dyno 0.1, most likely.
        (Kept::Value(_), None) => !brings_code(&setting.name),
    }
}

/// Whether the server executes what this setting says, or loads it.
fn brings_code(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("_command") || name.contains("librar") || name == "jit_provider"
}

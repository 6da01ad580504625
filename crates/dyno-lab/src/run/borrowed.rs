//! Servers that are not ours: set as an experiment wants them, and put back as they were.
//!
//! What is to be put back stands in the campaign's folder before anything is changed. So it can be done by whoever comes next, should dyno be killed:
//! `dyno run --resume`, or any `dyno run` on the same server with the same archive.

use super::{Progress, RunError, settings};
use crate::archive::{Archive, ArchiveError, Restore};
use crate::experiment::Resolved;
use dyno_target::address::ConnectionInfo;
use dyno_target::facts::host_facts;
use dyno_target::settings::{Change, SizeError, plan_for_server, resolve_size, restore};
use std::path::{Path, PathBuf};

/// The server that is changed for this campaign, one at a time.
pub(super) struct Borrowed {
    /// The campaign's folder.
    campaign: PathBuf,
    /// A shell command that restarts the server.
    restart_command: Option<String>,
    /// Whether servers stay as they are.
    leave: bool,
    lent: Option<Lent>,
}

/// A server as it is now.
struct Lent {
    /// As it was asked for.
    server: ConnectionInfo,
    /// What the experiment wanted of it.
    settings: Vec<(String, String)>,
    /// What of it could be had.
    held: Vec<(String, String)>,
    /// How to connect so that the settings hold.
    info: ConnectionInfo,
    notes: Vec<String>,
    /// What is to be put back; `None`: nothing was changed.
    restore: Option<Restore>,
}

/// A server ready for a run.
pub(super) struct Set {
    /// How to connect.
    pub info: ConnectionInfo,
    /// What it is to run with now, as it knows it.
    pub settings: Vec<(String, String)>,
}

impl Borrowed {
    pub(super) fn new(campaign: &Path, restart_command: Option<&str>, leave: bool) -> Self {
        Self {
            campaign: campaign.to_owned(),
            restart_command: restart_command.map(str::to_owned),
            leave,
            lent: None,
        }
    }

    /// Sets the server as the experiment wants it, as far as this role may. What could not be done is said in `notes`.
    pub(super) fn set(
        &mut self,
        server: &ConnectionInfo,
        experiment: &Resolved,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<Set, RunError> {
        progress.step(&format!("Connecting to {server}"));
        let reachable = server.first_reachable()?;
        let wanted = wanted(&reachable, experiment)?;
        notes.extend(wanted.notes);
        let settings = wanted.settings;
        let same = |lent: &&Lent| lent.server.to_string() == reachable.to_string() && lent.settings == settings;
        if let Some(lent) = self.lent.as_ref().filter(same) {
            notes.extend_from_slice(&lent.notes);
            return Ok(Set {
                info: lent.info.clone(),
                settings: lent.held.clone(),
            });
        }
        self.put_back(progress);
        if settings.is_empty() || self.leave {
            let info = reachable;
            return Ok(Set { info, settings });
        }
        progress.step("Setting the server");
        let change = Change::plan(&reachable, &settings, self.restart_command.as_deref())?;
        let restore = (!change.saved().settings.is_empty())
            .then(|| Restore::new(&self.campaign, reachable.to_string(), change.saved().clone()));
        if let Some(restore) = &restore {
            restore.write()?;
        }
        let applied = match change.apply() {
            Ok(applied) => applied,
            Err(error) => {
                // Nothing stayed changed.
                if let Some(restore) = restore {
                    restore.remove()?;
                }
                return Err(error.into());
            }
        };
        let said: Vec<String> = applied.unset.iter().map(ToString::to_string).collect();
        notes.extend_from_slice(&said);
        // What is said already need not be found out once more.
        let held = |(name, _): &&(String, String)| applied.unset.iter().all(|unset| unset.name != *name);
        let held: Vec<_> = settings.iter().filter(held).cloned().collect();
        let info = applied.info.clone();
        self.lent = Some(Lent {
            server: reachable,
            settings,
            held: held.clone(),
            info: applied.info,
            notes: said,
            restore,
        });
        Ok(Set { info, settings: held })
    }

    /// Puts back what was changed. What cannot be put back now stays noted in the campaign's folder.
    pub(super) fn put_back(&mut self, progress: &mut dyn Progress) {
        let Some(lent) = self.lent.take() else { return };
        if let Some(saved) = lent.restore {
            progress.step("Putting the server's settings back");
            back(&lent.server, saved, self.restart_command.as_deref(), progress);
        }
    }
}

/// Puts back what campaigns that were killed left on `server`, as far as this archive knows of it.
pub(super) fn put_back_earlier(
    archive: &Path,
    server: &ConnectionInfo,
    restart_command: Option<&str>,
    progress: &mut dyn Progress,
) -> Result<(), ArchiveError> {
    for campaign in Archive::new(archive).campaigns()? {
        // A dyno that is alive does it itself.
        if campaign.is_under_way() {
            continue;
        }
        put_back_of(&campaign.path, server, restart_command, progress);
    }
    Ok(())
}

/// Puts back what the campaign in the folder `campaign` left on `server`.
pub(super) fn put_back_of(
    campaign: &Path,
    server: &ConnectionInfo,
    restart_command: Option<&str>,
    progress: &mut dyn Progress,
) {
    let Some(saved) = Restore::read(campaign) else { return };
    let Ok(reachable) = server.first_reachable() else {
        return;
    };
    if saved.target != reachable.to_string() {
        return;
    }
    progress.note(&format!(
        "The campaign in {} was killed before it could put the server's settings back; that is done now.",
        campaign.display()
    ));
    back(&reachable, saved, restart_command, progress);
}

fn back(server: &ConnectionInfo, saved: Restore, restart_command: Option<&str>, progress: &mut dyn Progress) {
    match restore(server, &saved.saved, restart_command) {
        Ok(restored) => {
            if !restored.pending_restart.is_empty() {
                progress.note(&format!(
                    "Back in the server's configuration, but in effect only after a restart: {}.",
                    restored.pending_restart.join(", ")
                ));
            }
            if let Err(error) = saved.remove() {
                progress.note(&error.to_string());
            }
        }
        Err(error) => progress.note(&format!(
            "The server's settings could not be put back: {error}. What they were is in {}; the next dyno run on this server tries again.",
            saved.path().display()
        )),
    }
}

/// What an experiment wants of a server.
struct Settings {
    settings: Vec<(String, String)>,
    notes: Vec<String>,
}

/// The experiment's settings as this server knows them.
fn wanted(server: &ConnectionInfo, experiment: &Resolved) -> Result<Settings, RunError> {
    let mut notes = Vec::new();
    let here = server.is_local().then(|| host_facts(None).capacity());
    let mut absolute = Vec::new();
    for (name, value) in &experiment.settings {
        match resolve_size(value, here.unwrap_or_default()) {
            Ok(value) => absolute.push((name.clone(), value)),
            Err(unknown @ SizeError::Unknown { .. }) => {
                notes.push(format!("{name} was not set: {unknown} with --set settings.{name}=…"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if absolute.is_empty() {
        return Ok(Settings {
            settings: absolute,
            notes,
        });
    }
    let mut client = server.connect()?;
    let mapped = plan_for_server(&mut client, &absolute)?;
    notes.extend(mapped.notes);
    Ok(Settings {
        settings: mapped.settings,
        notes,
    })
}

/// Makes sure that a server has room and place for an experiment, before anything is changed or made.
pub(super) fn check(server: &ConnectionInfo, experiment: &Resolved, leave: bool) -> Result<(), RunError> {
    let wanted = wanted(server, experiment)?;
    let mut client = server.connect()?;
    let raises = |(name, _): &(String, String)| name == settings::MAX_CONNECTIONS;
    if leave || !wanted.settings.iter().any(raises) {
        settings::check_connections(&mut client, experiment)?;
    }
    super::data::remote::check(&mut client, &experiment.name, &experiment.data)
}

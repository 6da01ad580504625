//! External servers, which are not ours: set as an experiment wants them, and put back as they were.
//!
//! What is to be put back stands in the campaign's folder before anything is changed. So it can be done by whoever
//! comes next, should dyno be killed: `dyno run --resume`, or any `dyno run` on the same server, by whatever
//! address, that has the same home folder or the same archive.

use super::servers::CellServers;
use super::{Emergency, Progress, RunError, data, target};
use crate::run::restore::Restore;
use dyno_archive::plan::Resolved;
use dyno_archive::{Archive, ArchiveError};
use dyno_engine::Stop;
use dyno_target::host::{SizeError, host_facts, resolve_size};
use dyno_target::target::{External, SavedSetting, StopFlag, Unset};
use indexmap::IndexMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The servers that are changed for this campaign: as many at a time as a run has.
pub(super) struct ExternalServers {
    /// The campaign's folder.
    campaign: PathBuf,
    /// A shell command that restarts the server.
    restart_command: Option<String>,
    /// The folder that knows what is to be put back on each server.
    kept: Option<PathBuf>,
    /// Whether servers stay as they are.
    leave: bool,
    /// Who is asked what is still changed, should dyno end at once.
    emergency: Emergency,
    changed: Vec<Changed>,
    /// The addresses of servers that could not be put back, each once. Two that say the same of who they are may be one
    /// server, or copies of one data folder: only both addresses are true of both.
    failed: Vec<String>,
    /// What is still on servers although it should have been put back.
    leftovers: Vec<Leftover>,
    /// Proxies that know their remote, each with the name of the experiment.
    linked: Vec<(Arc<dyn External>, String)>,
}

/// A server as it is now.
struct Changed {
    /// Its address, which may have several hosts.
    asked: String,
    /// The host that was set.
    server: Arc<dyn External>,
    /// What the experiment wanted of it.
    settings: Vec<(String, String)>,
    /// What of it could be had.
    held: Vec<(String, String)>,
    /// How to connect so that the settings hold.
    set: Arc<dyn External>,
    notes: Vec<String>,
    /// What is to be put back; `None`: nothing was changed.
    restore: Option<Restore>,
}

/// A server ready for a run.
pub(super) struct Set {
    /// How to connect.
    pub server: Arc<dyn External>,
    /// What it is to run with now, as it knows it.
    pub settings: Vec<(String, String)>,
}

impl ExternalServers {
    pub(super) fn new(
        campaign: &Path,
        restart_command: Option<&str>,
        kept: Option<&Path>,
        leave: bool,
        leftovers: Vec<Leftover>,
        emergency: &Emergency,
    ) -> Self {
        Self {
            campaign: campaign.to_owned(),
            kept: kept.map(Path::to_owned),
            restart_command: restart_command.map(str::to_owned),
            leave,
            emergency: emergency.clone(),
            changed: Vec::new(),
            failed: Vec::new(),
            leftovers,
            linked: Vec::new(),
        }
    }

    /// Remembers a proxy that is to forget its remote at the end.
    pub(super) fn add_linked(&mut self, proxy: &Arc<dyn External>, experiment: &str) {
        let same =
            |(linked, of): &(Arc<dyn External>, String)| linked.to_string() == proxy.to_string() && of == experiment;
        if !self.linked.iter().any(same) {
            self.linked.push((Arc::clone(proxy), experiment.to_owned()));
        }
    }

    /// Has proxies forget their remotes, with the passwords for these.
    fn unlink(&mut self, progress: &mut dyn Progress) {
        for (proxy, experiment) in std::mem::take(&mut self.linked) {
            if let Err(error) = proxy.unlink(&experiment, &StopFlag::default()) {
                progress.note(&format!(
                    "{proxy} may still know its remote, with the password: {error}. dyno clean removes it when that is \
                     mended."
                ));
            }
        }
    }

    /// The servers whose settings could not be put back.
    pub(super) fn unrestored(&self) -> Vec<String> {
        self.failed.clone()
    }

    /// Remembers what could not be put back.
    fn add_failed(&mut self, leftover: Leftover) {
        if !self.failed.contains(&leftover.server) {
            self.failed.push(leftover.server.clone());
        }
        self.leftovers.push(leftover);
    }

    /// Sets the server as the experiment wants it, as far as this role may. What could not be done is said at once, and
    /// in `notes`.
    pub(super) fn set(
        &mut self,
        server: &dyn External,
        experiment: &Resolved,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &Stop,
    ) -> Result<Set, RunError> {
        progress.asks(&format!("Connecting to {server}"));
        let reachable = server.first_reachable(&stop.flag())?;
        let wanted = wanted(&*reachable, &experiment.settings, stop)?;
        notes.extend(wanted.notes);
        let settings = wanted.settings;
        let here = reachable.to_string();
        let identity = match self.leftovers.is_empty() {
            true => None,
            false => reachable.identity(&stop.flag()),
        };
        let its = |left: &&Leftover| left.is_of(&here, identity.as_deref());
        let leftovers = self.leftovers.iter().filter(its);
        notes.extend(leftovers.filter_map(|left| left.note(&settings)));
        let asked = server.to_string();
        let same = |changed: &&Changed| {
            changed.asked == asked && changed.server.to_string() == here && changed.settings == settings
        };
        if let Some(changed) = self.changed.iter().find(same) {
            notes.extend_from_slice(&changed.notes);
            return Ok(Set {
                server: Arc::clone(&changed.set),
                settings: changed.held.clone(),
            });
        }
        self.put_back_if(|changed| changed.asked == asked, progress);
        if settings.is_empty() || self.leave {
            let server = reachable;
            return Ok(Set { server, settings });
        }
        progress.asks("Configuring the server");
        let change = reachable.plan_change(&settings, self.restart_command.as_deref(), &stop.flag())?;
        let restore = match change.saved().settings.as_slice() {
            [] => None,
            _ => {
                let identity = reachable.identity(&stop.flag());
                let (target, saved) = (reachable.to_string(), change.saved().clone());
                let restore = Restore::new(&self.campaign, target, identity, saved, self.kept.as_deref());
                restore.write()?;
                self.emergency.add_changed(restore.path());
                Some(restore)
            }
        };
        let applied = match change.apply() {
            Ok(applied) => applied,
            Err(error) => {
                match restore {
                    Some(restore) if error.is_undone() => {
                        self.emergency.remove_changed(restore.path());
                        restore.withdraw()?;
                    }
                    Some(restore) => progress.note(&still_kept(&restore)),
                    None => {}
                }
                return Err(error.into());
            }
        };
        let said = told(&applied.unset);
        // Whoever waits for a long run may rather grant a right first.
        said.iter().for_each(|unset| progress.note(unset));
        notes.extend_from_slice(&said);
        // What is said already need not be found out once more.
        let held = |(name, _): &&(String, String)| applied.unset.iter().all(|unset| unset.name != *name);
        let held: Vec<_> = settings.iter().filter(held).cloned().collect();
        let set = Arc::clone(&applied.server);
        self.changed.push(Changed {
            asked,
            server: reachable,
            settings,
            held: held.clone(),
            set: applied.server,
            notes: said,
            restore,
        });
        Ok(Set {
            server: set,
            settings: held,
        })
    }

    /// Puts back what was changed. What cannot be put back now stays noted in the campaign's folder.
    pub(super) fn put_back(&mut self, progress: &mut dyn Progress) {
        self.unlink(progress);
        self.put_back_if(|_| true, progress);
    }

    /// Puts back what was changed on servers other than those of these addresses.
    pub(super) fn keep(&mut self, addresses: &[String], progress: &mut dyn Progress) {
        self.put_back_if(|changed| !addresses.contains(&changed.asked), progress);
    }

    fn put_back_if(&mut self, is_meant: impl Fn(&Changed) -> bool, progress: &mut dyn Progress) {
        let (meant, others) = std::mem::take(&mut self.changed).into_iter().partition(is_meant);
        self.changed = others;
        let meant: Vec<Changed> = meant;
        for changed in meant {
            let Some(saved) = changed.restore else { continue };
            progress.asks("Restoring the server's settings");
            let (leftover, path) = (
                Leftover::of(changed.server.to_string(), &saved),
                saved.path().to_owned(),
            );
            match back(&*changed.server, saved, self.restart_command.as_deref(), progress) {
                Some(_) => self.emergency.remove_changed(&path),
                None => self.add_failed(leftover),
            }
        }
    }
}

/// What is said of settings that could not be had: those with the same reason in one sentence.
fn told(unset: &[Unset]) -> Vec<String> {
    let mut by_reason: IndexMap<&str, Vec<&Unset>> = IndexMap::new();
    for setting in unset {
        by_reason.entry(&setting.reason).or_default().push(setting);
    }
    let sentence = |(reason, settings): (&str, Vec<&Unset>)| match settings.as_slice() {
        [setting] => setting.to_string(),
        _ => {
            let each = settings
                .iter()
                .map(|setting| format!("{} ({}, not {})", setting.name, setting.found, setting.wanted));
            let each: Vec<_> = each.collect();
            format!(
                "{} settings are not as the experiment says: {}. For all of them: {reason}.",
                settings.len(),
                each.join(", ")
            )
        }
    };
    by_reason.into_iter().map(sentence).collect()
}

/// What a campaign has changed on a server and nobody could put back yet: whatever is measured there is measured so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leftover {
    /// The server's address.
    server: String,
    /// What it says who it is.
    identity: Option<String>,
    campaign: PathBuf,
    settings: Vec<SavedSetting>,
}

impl Leftover {
    fn of(server: String, restore: &Restore) -> Self {
        Self {
            server,
            identity: restore.server.clone(),
            campaign: restore.campaign.clone(),
            settings: restore.saved.settings.clone(),
        }
    }

    /// Whether it is on the server of this address, or of this identity, whatever its address.
    fn is_of(&self, address: &str, identity: Option<&str>) -> bool {
        self.server == address || identity.is_some() && self.identity.as_deref() == identity
    }

    /// What a run has to say of it that sets these `settings` itself; `None`: nothing.
    fn note(&self, settings: &[(String, String)]) -> Option<String> {
        let is_set = |name: &str| settings.iter().any(|(set, _)| set == name);
        let left = self.settings.iter().filter(|setting| !is_set(&setting.name));
        let left: Vec<_> = left
            .map(|setting| {
                let before = setting.value.as_deref().unwrap_or("its default");
                format!("{} (before: {before})", setting.name)
            })
            .collect();
        (!left.is_empty()).then(|| {
            format!(
                "The server ran with settings that the campaign in {} changed and that are not restored yet: {}. \
                 Restore them and rerun, unless these are the settings you want to measure.",
                self.campaign.display(),
                left.join(", ")
            )
        })
    }
}

/// Where it is known what campaigns that were killed left on servers.
pub(super) struct Left<'a> {
    /// The folder of the campaign that is gone on with.
    pub resumed: Option<&'a Path>,
    /// The folder of campaigns.
    pub archive: &'a Path,
    /// The folder that knows what is to be put back on each server.
    pub kept: Option<&'a Path>,
}

/// A server with what is to be put back on it.
type Records = (Arc<dyn External>, Vec<Restore>);

impl Left<'_> {
    /// Puts it back on the servers among `servers`, which are reserved for us. Gives what is there still.
    pub(super) fn put_back(
        &self,
        servers: &[CellServers<'_>],
        restart_command: Option<&str>,
        progress: &mut dyn Progress,
        stop: &Stop,
    ) -> Result<Vec<Leftover>, ArchiveError> {
        let mut leftovers = Vec::new();
        // One server may be measured by two addresses: it says by both that the same records are its. What was done by
        // one is done, and what fails by one is not tried by the other, too.
        let mut tried: Vec<PathBuf> = Vec::new();
        for (server, records) in self.records(servers, stop)? {
            for saved in records {
                if tried.iter().any(|path| saved.is_in(path)) {
                    continue;
                }
                tried.push(saved.path().to_owned());
                let leftover = Leftover::of(server.to_string(), &saved);
                if !again(&*server, saved, restart_command, progress) {
                    leftovers.push(leftover);
                }
            }
        }
        Ok(leftovers)
    }

    /// What is there, on servers that are to stay as they are.
    pub(super) fn look(&self, servers: &[CellServers<'_>], stop: &Stop) -> Result<Vec<Leftover>, ArchiveError> {
        let mut seen: Vec<PathBuf> = Vec::new();
        let mut leftovers = Vec::new();
        for (server, records) in self.records(servers, stop)? {
            for saved in records {
                if !seen.iter().any(|path| saved.is_in(path)) {
                    leftovers.push(Leftover::of(server.to_string(), &saved));
                    seen.push(saved.path().to_owned());
                }
            }
        }
        Ok(leftovers)
    }

    /// What campaigns left to be put back on each of the servers among `servers` that answer; of a server with two
    /// addresses by each of them.
    fn records(&self, servers: &[CellServers<'_>], stop: &Stop) -> Result<Vec<Records>, ArchiveError> {
        let mut all: Vec<Records> = Vec::new();
        for (_, server) in servers.iter().flat_map(CellServers::external) {
            let Ok(reachable) = server.first_reachable(&stop.flag()) else {
                continue;
            };
            let target = reachable.to_string();
            if all.iter().any(|(server, _)| server.to_string() == target) {
                continue;
            }
            let identity = reachable.identity(&stop.flag());
            let former = identity.as_deref().and_then(|name| reachable.former_identity(name));
            // The home folder's record first: it knows of the one in its campaign's folder, and goes with it.
            let kept = |name: &str| Restore::kept(self.kept?, name);
            let of_now = identity.as_deref().and_then(kept);
            let of_earlier = former.as_deref().and_then(kept).filter(|saved| saved.target == target);
            let mut records: Vec<Restore> = of_now.into_iter().chain(of_earlier).collect();
            // A dyno that is alive does it itself.
            let others = Archive::new(self.archive).campaigns()?.into_iter();
            let others = others.filter(|campaign| !campaign.is_under_way());
            let campaigns = self.resumed.map(Path::to_owned).into_iter();
            let is_its = |left: &Restore| {
                left.is_of(&target, identity.as_deref())
                    || left.target == target && left.is_of(&target, former.as_deref())
            };
            for campaign in campaigns.chain(others.map(|campaign| campaign.path)) {
                for saved in Restore::left_by(&campaign).into_iter().filter(is_its) {
                    if !records.iter().any(|known| known.is_in(saved.path())) {
                        records.push(saved);
                    }
                }
            }
            all.push((reachable, records));
        }
        Ok(all)
    }
}

/// Does what a campaign could not do any more. Gives back whether that is done with.
fn again(server: &dyn External, saved: Restore, restart_command: Option<&str>, progress: &mut dyn Progress) -> bool {
    let (campaign, changed) = (saved.campaign.clone(), saved.saved.settings.len());
    let left = back(server, saved, restart_command, progress);
    progress.note(&ended_before(&campaign, changed, left));
    left.is_some()
}

/// Says of a campaign that it ended before it could put back the settings it had `changed`, and what came of it now:
/// so many of them were `left` as they are, if it could be done at all.
fn ended_before(campaign: &Path, changed: usize, left: Option<usize>) -> String {
    // Where it fails again, or leaves some as they are, that has been said.
    let end = match left {
        Some(0) => "; they have been restored now.",
        Some(left) if left < changed => "; the others have been restored now.",
        _ => ".",
    };
    format!(
        "The campaign in {} ended before it could restore the server's settings{end}",
        campaign.display()
    )
}

/// Puts settings back. Gives the number of those that are left as they are; `None` if it could not be done.
fn back(
    server: &dyn External,
    saved: Restore,
    restart_command: Option<&str>,
    progress: &mut dyn Progress,
) -> Option<usize> {
    match server.restore(&saved.saved, restart_command) {
        Ok(restored) => {
            if !restored.pending_restart.is_empty() {
                progress.note(&format!(
                    "Restored in the server's configuration, but effective only after a restart: {}.",
                    restored.pending_restart.join(", ")
                ));
            }
            if !restored.others.is_empty() {
                progress.note(&format!(
                    "Left as they are, because their values are no longer those that the campaign gave them: {}.",
                    restored.others.join(", ")
                ));
            }
            if let Err(error) = saved.remove() {
                progress.note(&error.to_string());
            }
            Some(restored.others.len())
        }
        Err(error) => {
            progress.note(&format!(
                "The server's settings could not be restored: {error}. {}",
                still_kept(&saved)
            ));
            None
        }
    }
}

/// That a later dyno can put back what could not be put back now.
fn still_kept(restore: &Restore) -> String {
    format!(
        "The original settings are in {}; the next dyno run on this server tries again.",
        restore.path().display()
    )
}

/// What an experiment wants of a server.
struct Settings {
    settings: Vec<(String, String)>,
    notes: Vec<String>,
}

/// Settings of an experiment as this server knows them.
fn wanted(server: &dyn External, settings: &IndexMap<String, String>, stop: &Stop) -> Result<Settings, RunError> {
    let mut notes = Vec::new();
    let here = server.is_local().then(|| host_facts(None).capacity());
    let mut absolute = Vec::new();
    for (name, value) in settings {
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
    let mapped = server.fit(&absolute, &stop.flag())?;
    notes.extend(mapped.notes);
    Ok(Settings {
        settings: mapped.settings,
        notes,
    })
}

/// What [`check`] is to know beside the experiment.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// Whether the server stays as it is.
    pub leave: bool,
    /// A shell command that restarts the server.
    pub restart_command: Option<&'a str>,
    /// Settings that differ between the cells of the campaign.
    pub varied: &'a [&'a str],
}

/// Makes sure that a server has room and place for an experiment, and can have the settings that the campaign
/// varies, before anything is changed or made.
pub(super) fn check(
    server: &dyn External,
    experiment: &Resolved,
    terms: Terms<'_>,
    stop: &Stop,
) -> Result<(), RunError> {
    let wanted = wanted(server, &experiment.settings, stop)?;
    let settings = if terms.leave { &[][..] } else { &wanted.settings };
    server.check_connections(target::clients(experiment), settings, &stop.flag())?;
    check_varied(server, experiment, terms, stop)?;
    Ok(server.check_data(&data::of(experiment), &stop.flag())?)
}

/// A cell whose level the server does not take would be measured like another one: that is no comparison.
fn check_varied(server: &dyn External, experiment: &Resolved, terms: Terms<'_>, stop: &Stop) -> Result<(), RunError> {
    let varied = experiment
        .settings
        .iter()
        .filter(|(name, _)| terms.varied.contains(&name.as_str()));
    let varied = varied.map(|(name, value)| (name.clone(), value.clone())).collect();
    // The server may know them by other names.
    let varied = wanted(server, &varied, stop)?.settings;
    if varied.is_empty() {
        return Ok(());
    }
    let change = server.plan_change(&varied, terms.restart_command, &stop.flag())?;
    if let Some(unset) = change.unset().first() {
        return Err(RunError::Unsettable {
            what: unset.to_string(),
        });
    }
    if terms.leave && change.changes() {
        let names: Vec<_> = varied.into_iter().map(|(name, _)| name).collect();
        return Err(RunError::LeftAndVaried { names });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_stay_as_they_are_are_not_called_restored() {
        let said = |left| ended_before(Path::new("archive/x"), 3, left);
        let before = "The campaign in archive/x ended before it could restore the server's settings";
        assert_eq!(said(Some(0)), format!("{before}; they have been restored now."));
        assert_eq!(said(Some(1)), format!("{before}; the others have been restored now."));
        for none in [Some(3), None] {
            assert_eq!(said(none), format!("{before}."));
        }
    }

    #[test]
    fn copies_of_a_data_folder_that_are_not_restored_are_each_named() {
        let mut servers = ExternalServers::new(Path::new("x"), None, None, false, Vec::new(), &Emergency::default());
        for server in ["mysql://a/x", "mysql://b/x", "mysql://a/x"] {
            servers.add_failed(Leftover {
                server: server.to_owned(),
                identity: Some("me".to_owned()),
                campaign: "archive/x".into(),
                settings: Vec::new(),
            });
        }
        assert_eq!(servers.unrestored(), ["mysql://a/x", "mysql://b/x"]);
    }

    #[test]
    fn a_run_on_settings_that_others_left_says_so() {
        let setting = |name: &str, before: Option<&str>| SavedSetting {
            name: name.to_owned(),
            value: before.map(str::to_owned),
            needs_restart: false,
            set_to: Some("7".to_owned()),
        };
        let left = Leftover {
            server: "mysql://db/x".to_owned(),
            identity: Some("me".to_owned()),
            campaign: "archive/x".into(),
            settings: vec![setting("sync_binlog", Some("1")), setting("work_mem", None)],
        };
        let said = left.note(&[]).unwrap();
        assert!(
            said.contains("archive/x") && said.contains("sync_binlog (before: 1), work_mem (before: its default)"),
            "{said}"
        );
        // What this run sets itself is not left over.
        let set =
            |names: &[&str]| -> Vec<_> { names.iter().map(|name| ((*name).to_owned(), "3".to_owned())).collect() };
        assert!(!left.note(&set(&["sync_binlog"])).unwrap().contains("sync_binlog"));
        assert_eq!(left.note(&set(&["sync_binlog", "work_mem"])), None);
    }
}

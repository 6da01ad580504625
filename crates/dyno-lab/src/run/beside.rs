//! The keeping of what happens to a server beside the main one: what it is before the load, what is sampled of it
//! meanwhile, and what became of its tables.

use super::plans::Plans;
use super::recording::{Entry, Tables, growth};
use super::sampling::{Running, Sampling};
use super::{RunError, settings};
use dyno_archive::plan::Workload;
use dyno_archive::{ArchiveError, Preparation, ServerRecord, ServerWriter};
use dyno_engine::Found;
use dyno_script::Example;
use dyno_target::target::{Control, Database, DatabaseSizes, TargetError};
use jiff::Timestamp;
use std::path::Path;

/// A server beside the main one, as far as it is to be kept.
pub struct Beside<'a> {
    /// What the experiment calls it.
    pub name: &'a str,
    /// The settings that it is to run with, sizes absolute.
    pub settings: &'a [(String, String)],
    /// Its database.
    pub database: &'a dyn Database,
    /// What is to be kept in mind already, as sentences.
    pub notes: Vec<String>,
    /// How its data was made ready, if it has data of its own.
    pub preparation: Option<Preparation>,
}

/// One such server around the load.
pub(super) struct Around {
    name: String,
    /// The server that it reaches through foreign tables, if it is a proxy.
    behind: Option<String>,
    control: Box<dyn Control>,
    sizes_before: Result<DatabaseSizes, TargetError>,
    pub plans: Option<Plans>,
}

/// One such server while the load runs.
pub(super) struct Watched {
    name: String,
    writer: ServerWriter,
    sampling: Option<Sampling>,
    running: Option<Running>,
}

/// What is known of a server before the folder of its run is there.
pub(super) struct Described {
    pub around: Around,
    record: ServerRecord,
    pub sampling: Sampling,
    /// What is to be kept in mind, as sentences.
    pub notes: Vec<String>,
}

/// A sentence about the server `name`.
fn about(name: &str, sentence: &str) -> String {
    format!("Server {name}: {sentence}")
}

/// Describes a server and makes its samplers ready.
///
/// # Errors
/// It does not answer, or was not waited for any more.
pub(super) fn describe(
    beside: &Beside<'_>,
    entry: &Entry<'_>,
    examples: Option<&[Vec<Example>]>,
) -> Result<Described, RunError> {
    let Beside { name, database, .. } = *beside;
    let mut control = database.control(&entry.stop.flag())?;
    let server = control.describe()?;
    let mut warnings: Vec<_> = settings::durability(&server).into_iter().collect();
    warnings.append(&mut settings::differing(control.differences(beside.settings)?));
    let sizes_before = control.sizes();
    let is_its = |workload: &Workload| workload.server.as_deref() == Some(name);
    let plans = examples.map(|examples| Plans::before(&mut *control, entry, examples, is_its));
    let plans = plans.transpose()?;
    let sampling = match entry.sampling {
        true => Sampling::prepare(database, entry.stop).ok_or(RunError::Stopped)?,
        false => Sampling::default(),
    };
    let said = warnings.iter().map(ToString::to_string);
    let said = said
        .chain(database.warnings().iter().cloned())
        .chain(beside.notes.iter().cloned());
    let notes = said.chain(sampling.warnings().iter().cloned());
    let further = entry.experiment.further(name);
    Ok(Described {
        notes: notes.map(|note| about(name, &note)).collect(),
        record: ServerRecord {
            target: database.to_string(),
            behind: further.and_then(|further| further.behind.clone()),
            replica_of: further.and_then(|further| further.replica_of.clone()),
            server: server.facts,
            preparation: beside.preparation.clone(),
            ..ServerRecord::default()
        },
        around: Around {
            name: name.to_owned(),
            behind: further.and_then(|further| further.behind.clone()),
            control,
            sizes_before,
            plans,
        },
        sampling,
    })
}

/// Asks the servers behind proxies for the plans of what these send them, before the load or `again` after it. `main`
/// is the main server's connection.
///
/// # Errors
/// A connection is broken.
pub(super) fn ask_remotes(all: &mut [&mut Around], main: &mut dyn Control, again: bool) -> Result<(), TargetError> {
    for place in 0..all.len() {
        let Some(behind) = all[place].behind.clone() else {
            continue;
        };
        let Some(mut plans) = all[place].plans.take() else {
            continue;
        };
        let remote = all.iter_mut().find(|one| one.name == behind);
        let control = remote.map_or(&mut *main, |remote| &mut *remote.control);
        let asked = plans.ask_remote(&behind, control, again);
        all[place].plans = Some(plans);
        asked?;
    }
    Ok(())
}

impl Described {
    /// Makes the server's folder in the folder of its run.
    pub fn open(self, run: &Path) -> Result<(Around, Watched), ArchiveError> {
        let name = self.around.name.clone();
        let watched = Watched {
            writer: ServerWriter::create(run, &name, self.record)?,
            sampling: Some(self.sampling),
            running: None,
            name,
        };
        Ok((self.around, watched))
    }
}

impl Watched {
    /// Begins to sample: times count from now, which is `load_started` by the time of day.
    pub fn start(&mut self, load_started: Option<Timestamp>) {
        let sampling = self.sampling.take();
        self.running = sampling.map(|sampling| sampling.start(self.writer.path(), load_started));
    }

    /// Keeps what has happened since the last time.
    pub fn keep_events(&mut self) -> Result<(), ArchiveError> {
        let events = self.running.as_ref().map(Running::events).unwrap_or_default();
        self.writer.events(&events)
    }

    /// Ends the sampling. Gives back what writes the folder, and what went wrong as sentences.
    pub fn finish(mut self) -> (ServerWriter, Vec<String>) {
        let sampled = self.running.take().map(Running::finish).unwrap_or_default();
        let mut warnings = sampled.warnings;
        let kept = self.writer.events(&sampled.events);
        warnings.extend(kept.err().map(|error| error.to_string()));
        let warnings = warnings.iter().map(|warning| about(&self.name, warning));
        (self.writer, warnings.collect())
    }
}

impl Around {
    /// Looks at the server once more after a load that took its time. What went wrong is said in `notes`. Gives back
    /// the plans of its statements.
    pub fn look_again(
        mut self,
        writer: &mut ServerWriter,
        names: &[String],
        come_upon: &[(usize, Found)],
        notes: &mut Vec<String>,
    ) -> Option<Plans> {
        let after = self.control.await_sessions_end();
        let after = after.and_then(|()| self.control.sizes());
        match self.sizes_before.and_then(|before| Ok((before, after?))) {
            Ok((before, after)) => {
                let record = writer.record_mut();
                record.growth = growth(&before, &after, &*self.control);
                record.tables = serde_json::to_value(Tables { before, after }).unwrap_or_default();
            }
            // It comes first, for it may have been gone for long.
            Err(error) => notes.insert(
                0,
                about(
                    &self.name,
                    &format!(
                        "it did not answer after the load, so what is said of it may end before the load did: {error}."
                    ),
                ),
            ),
        }
        if let Some(plans) = &mut self.plans
            && let Err(error) = plans.after(&mut *self.control, names, come_upon)
        {
            notes.push(about(&self.name, &format!("{error}.")));
        }
        self.plans
    }
}

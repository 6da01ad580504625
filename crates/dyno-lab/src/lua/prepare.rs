//! Data that a script's command `prepare` makes.

use super::script::loadable;
use dyno_archive::plan::Prepare;
use dyno_engine::Stop;
use dyno_load::{LoadError, Server};
use dyno_lua::Heard;
use dyno_target::target::{MakeError, Maker, Progress, Reach, StopFlag};
use std::fmt;
use std::sync::Arc;

/// The command that makes the data.
pub(super) const PREPARE: &str = "prepare";

/// What all random numbers of the data follow from, so that it is the same each time.
const SEED: u64 = 1;

/// Makes data by the command `prepare` of a script.
pub(crate) struct Prepares(pub Prepare);

impl fmt::Debug for Prepares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prepares")
            .field(&self.0.script.script.script_name)
            .finish()
    }
}

impl Maker for Prepares {
    fn make(&self, reach: Reach<'_>, stop: &StopFlag, progress: &mut dyn Progress) -> Result<(), MakeError> {
        let name = &self.0.script.script.script_name;
        progress.step(&format!("Preparing the data ({name})"));
        let heard = Arc::new(Heard::default());
        let stop = Stop::from(Arc::clone(stop));
        match self.execute(&Server::from(reach), &stop, &heard) {
            Ok(()) => {
                heard.said().iter().for_each(|said| progress.note(said));
                Ok(())
            }
            Err(_) if stop.requested() => Err(MakeError::Stopped),
            Err(error) => {
                // What was said before says why.
                let said = heard.said().into_iter().chain([error.to_string()]);
                Err(MakeError::Failed(said.collect::<Vec<_>>().join("\n")))
            }
        }
    }
}

impl Prepares {
    fn execute(&self, server: &Server, stop: &Stop, heard: &Arc<Heard>) -> Result<(), LoadError> {
        let Prepare { script, threads } = &self.0;
        let script = loadable(script, server.dialect().ok_or(LoadError::NoLua)?, SEED, true, stop)?;
        script.command(PREPARE, server, *threads, &heard.voice(), stop)
    }
}

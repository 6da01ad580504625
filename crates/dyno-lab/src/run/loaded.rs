//! Which run of a campaign has loaded the data that later ones use.

use super::steps::Steps;
use dyno_archive::Preparation;
use dyno_archive::plan::PlannedRun;
use dyno_target::target::Data;
use indexmap::IndexMap;
use std::fmt;

/// The runs that have loaded data, by server and definition. Of runs before an interruption nothing is known.
#[derive(Default)]
pub(super) struct Loaded(IndexMap<(String, String), String>);

impl Loaded {
    /// How the data of the run `planned` on `server` was made ready, in these steps.
    pub fn preparation(
        &mut self,
        steps: Steps,
        server: &(impl fmt::Display + ?Sized),
        data: &Data,
        planned: &PlannedRun,
    ) -> Preparation {
        let key = (server.to_string(), data.definition.clone());
        if steps.has_loaded() {
            self.0.insert(key.clone(), planned.folder());
        }
        steps.preparation(data, self.0.get(&key).cloned())
    }
}

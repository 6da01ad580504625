//! How long each step before the load takes: told by what a person is told of it, each step lasts until the next
//! begins.

use super::Progress;
use dyno_archive::figures::figure;
use dyno_archive::{Preparation, PreparationStep};
use dyno_target::target::{Data, Part};
use std::time::Instant;

/// The steps of a run so far.
#[derive(Default)]
pub(super) struct Steps {
    done: Vec<PreparationStep>,
    current: Option<(PreparationStep, Instant)>,
    has_loaded: bool,
}

impl Steps {
    /// Tells `progress` what a target tells, and takes the time of what is part of the preparation.
    pub fn told<'a>(&'a mut self, progress: &'a mut dyn Progress) -> Timed<'a> {
        Timed { steps: self, progress }
    }

    /// A part of the preparation begins.
    pub fn begin(&mut self, part: Part<'_>, progress: &mut dyn Progress) {
        self.end();
        let step = PreparationStep {
            step: part.to_string(),
            seconds: 0.0,
            table: part.table().map(str::to_owned),
            rows: None,
            bytes: None,
        };
        self.has_loaded |= part.is_loading();
        progress.step(&step.step);
        self.current = Some((step, Instant::now()));
    }

    /// What was under way is over.
    pub fn end(&mut self) {
        if let Some((mut step, begun)) = self.current.take() {
            step.seconds = begun.elapsed().as_secs_f64();
            self.done.push(step);
        }
    }

    /// Whether this run has loaded its data.
    pub fn has_loaded(&self) -> bool {
        self.has_loaded
    }

    /// All steps so far.
    pub fn done(mut self) -> Vec<PreparationStep> {
        self.end();
        self.done
    }

    /// All steps of a run on this data, which another run may have loaded.
    pub fn preparation(self, data: &Data, loaded_by: Option<String>) -> Preparation {
        let foreign = data.is_some() && !self.has_loaded;
        Preparation {
            found: foreign && loaded_by.is_none(),
            loaded_by: loaded_by.filter(|_| foreign),
            steps: self.done(),
        }
    }
}

/// Tells a person what a target tells, and takes the time.
pub(super) struct Timed<'a> {
    steps: &'a mut Steps,
    progress: &'a mut dyn Progress,
}

impl dyno_target::target::Progress for Timed<'_> {
    fn part(&mut self, part: Part<'_>) {
        self.steps.begin(part, self.progress);
    }

    fn step(&mut self, text: &str) {
        self.steps.end();
        self.progress.step(text);
    }

    fn asks(&mut self, text: &str) {
        self.steps.end();
        self.progress.asks(text);
    }

    fn amount(&mut self, done: u64, total: u64, unit: &str) {
        if let Some((step, _)) = &mut self.steps.current
            && step.table.is_some()
        {
            step.rows = Some(done);
        }
        self.progress.amount(done, total, unit);
    }

    fn filled(&mut self, elapsed_s: f64, rows_per_s: f64) {
        self.progress
            .done(&format!("{elapsed_s:.1} s, {} rows/s", figure(rows_per_s)));
    }

    fn note(&mut self, text: &str) {
        self.progress.note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_target::target::Progress as _;

    struct Silent;

    impl Progress for Silent {
        fn note(&mut self, _: &str) {}
    }

    #[test]
    fn a_part_lasts_until_something_else_begins() {
        let mut steps = Steps::default();
        let mut silent = Silent;
        let mut told = steps.told(&mut silent);
        told.step("Starting PostgreSQL");
        told.part(Part::Schema);
        told.part(Part::Fill("tbl"));
        told.amount(5, 10, "rows");
        told.amount(10, 10, "rows");
        told.part(Part::Finish);
        told.asks("Starting PostgreSQL");
        assert!(steps.has_loaded());
        let done: Vec<_> = steps.done.iter().map(|step| (step.step.as_str(), step.rows)).collect();
        assert_eq!(
            done,
            [
                ("Creating the schema", None),
                ("Loading tbl", Some(10)),
                ("Finishing the schema", None)
            ]
        );
        assert!(steps.current.is_none() && steps.done.iter().all(|step| step.seconds >= 0.0));
    }
}

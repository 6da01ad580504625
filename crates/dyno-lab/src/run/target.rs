//! The database to measure, as experiments name it.

use crate::command::without_hidden;
use dyno_archive::plan::{Address, Resolved};
use dyno_script::Lexis;
use dyno_target::target::{EMBEDDED, Environment, StopFlag, Target, TargetError, product, without_secrets};

/// The factor that varies the database.
pub(super) const FACTOR: &str = "target";

/// Understands the name of a database.
pub(super) fn named(text: &str, environment: Environment<'_>, stop: &StopFlag) -> Result<Target, TargetError> {
    // What comes from an archive may have a hidden password in place of one.
    Target::named(&without_hidden(text), environment, stop)
}

/// What `experiment` calls its database; it may hold a password.
pub(super) fn name_of(experiment: &Resolved) -> &str {
    experiment.target.as_ref().map_or(EMBEDDED, Address::given)
}

/// By which rules the SQL of `experiment` is read: those of its database.
pub(super) fn lexis(experiment: &Resolved) -> Lexis {
    // What is not built in is refused when the target is looked at.
    product(name_of(experiment)).map_or_else(|_| Lexis::default(), |product| product.lexis())
}

/// The main databases of some experiments as they may be archived, each once.
pub(super) fn names<'a>(experiments: impl Iterator<Item = &'a Resolved>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in experiments.map(name_of).map(without_secrets) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// How many clients the experiment has.
pub(super) fn clients(experiment: &Resolved) -> usize {
    experiment.workloads.iter().map(|workload| workload.clients).sum()
}

/// The experiment's settings as it writes them.
pub(super) fn settings(experiment: &Resolved) -> Vec<(String, String)> {
    let settings = experiment.settings.iter();
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

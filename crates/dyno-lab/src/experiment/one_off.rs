//! An experiment without a file: one script, typed on a command line.

use super::{Experiment, ExperimentError, WorkPlan};
use dyno_archive::plan::{Script, Scripts};
use std::path::Path;

/// What messages call the script, and archives the experiment.
const NAME: &str = "script";

/// The longest title, in characters.
const TITLE: usize = 60;

/// The experiment whose only workload executes this script.
///
/// # Errors
///
/// The script is empty.
pub fn one_off(script: &str) -> Result<Experiment, ExperimentError> {
    if script.trim().is_empty() {
        return Err(ExperimentError::EmptyScript);
    }
    let text = "title = \"script\"\n[[workload]]\nscript = \"select 1;\"\n";
    let mut experiment = Experiment::parse(Path::new(NAME), text)?;
    experiment.title = title(script);
    for workload in &mut experiment.workloads {
        workload.scripts = WorkPlan::Scripts(Scripts::One(Script {
            script_name: format!("--{NAME}"),
            script_offset: (0, 0),
            script: script.to_owned(),
        }));
    }
    Ok(experiment)
}

/// The script in a line that is not too long.
fn title(script: &str) -> String {
    let line = script.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Size;

    #[test]
    fn a_script_is_an_experiment() {
        let experiment =
            one_off("\\set id random(1, 9)\nselect :id,\n  'a text that makes of this a long statement indeed';")
                .unwrap();
        assert_eq!(
            experiment.title(),
            "\\set id random(1, 9) select :id, 'a text that makes of this …"
        );
        let set = [("clients".to_owned(), "3".to_owned())];
        let plan = experiment.plan(Size::Small, &set, None, 1, 2).unwrap();
        assert_eq!(plan.cells[0].experiment.workloads[0].clients, 3);
        assert!(one_off(" \n").is_err());
    }
}

//! The beginning of an experiment file: a text to be changed, which runs as it stands, and what editors know of such
//! files.

/// What editors know of experiment files, as a JSON schema.
pub const SCHEMA: &str = include_str!("schema.json");

/// What a new file names it.
pub const SCHEMA_FILE: &str = "experiment.schema.json";

const NEW: &str = include_str!("new.toml");

/// The text of a new experiment with this title, in a file of that name.
#[must_use]
pub fn begin(title: &str, file: &str) -> String {
    NEW.replace("{title}", &title.replace('"', "\\\""))
        .replace("{file}", file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    #[test]
    fn a_new_experiment_runs_as_it_stands() {
        let text = begin("shop", "shop.toml");
        let experiment = Experiment::parse(Path::new("shop.toml"), &text).unwrap();
        assert_eq!(experiment.title(), "shop");
        let plan = experiment.plan(Size::Small, &[], None, 1, 2).unwrap();
        assert_eq!(plan.cells[0].experiment.data.fill[1].rows, 500_000);
        assert!(text.contains("dyno run shop.toml") && !text.contains("{file}"));
    }
}

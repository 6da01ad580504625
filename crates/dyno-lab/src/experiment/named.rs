//! Factors whose levels are names, each for a set of values: `32 GB` for all that a server with so much memory is
//! set to.

use super::{Experiment, SetError, did_you_mean};
use crate::experiment::plan::rank;
use crate::nearest::nearest;
use dyno_archive::plan::Value;
use indexmap::IndexMap;

/// What the name of a level stands for: values by the names that a factor of each alone would have.
pub(crate) type Meaning = IndexMap<String, Value>;

/// The levels of a factor by their names.
pub(crate) type NamedLevels = IndexMap<String, Meaning>;

impl Experiment {
    /// Gives a factor, new or not, levels that are names.
    pub(super) fn vary_named(&mut self, factor: &str, levels: &NamedLevels) {
        self.named.insert(factor.to_owned(), levels.clone());
        self.design.vary(factor, levels.keys().cloned().collect());
    }

    /// Whether the levels of `factor` are names.
    pub(super) fn is_named(&self, factor: &str) -> bool {
        self.named.contains_key(factor)
    }

    /// What a level of a factor stands for; `None` if the factor's levels are no names.
    pub(crate) fn meaning(&self, factor: &str, level: &str) -> Option<&Meaning> {
        self.named.get(factor)?.get(level)
    }

    /// The names of everything that some level of `factor` says.
    pub(crate) fn said_by<'a>(&'a self, factor: &'a str) -> Vec<&'a str> {
        match self.named.get(factor) {
            Some(levels) => levels.values().flat_map(IndexMap::keys).map(String::as_str).collect(),
            None => vec![factor],
        }
    }

    /// Sets all values that the level called `level` stands for, or none. A setting that the file has for other kinds
    /// of databases alone stays theirs.
    pub(super) fn set_meaning(&mut self, levels: &NamedLevels, level: &str) -> Result<(), String> {
        let Some(meaning) = levels.get(level) else {
            let known = || levels.keys().map(String::as_str);
            return Err(format!(
                "there is no such level{}\nexpected one of {}",
                did_you_mean(nearest(level, known())),
                known().collect::<Vec<_>>().join(", ")
            ));
        };
        let mut trial = self.clone();
        let mut values: Vec<_> = meaning.iter().filter(|(name, _)| !self.is_of_others(name)).collect();
        values.sort_by_key(|(name, _)| rank(name));
        for (name, value) in values {
            trial.put(name, value).map_err(|error: SetError| error.to_string())?;
        }
        *self = trial;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::PlanError;
    use dyno_archive::plan::{Plan, Size};
    use insta::assert_snapshot;
    use std::path::Path;

    const FILE: &str = r#"
title = "t"
[parameters]
rows = 10
[[workload]]
name = "reader"
clients = 4
threads = 2
script = "select 1"
[[workload]]
name = "writer"
script = "select 2"
[factors]
full_page_writes = ["on", "off"]
[factors.profile]
"32 GB" = { shared_buffers = "8GB", rows = 20, settings.work_mem = "104MB" }
"200 GB" = { threads = 8, clients = 16, shared_buffers = "48GB", target = "postgres://me:secret@host/db" }
[plan]
baseline = { profile = "32 GB" }
exclude = [{ profile = "200 GB", full_page_writes = "off" }]
[size.small]
factors.profile = { tiny = { shared_buffers = "1MB", writer.clients = 3 }, "32 GB" = {} }
[size.medium]
profile = "200 GB"
plan.exclude = []
"#;

    fn plan(size: Size, set: &[(&str, &str)]) -> Result<Plan, PlanError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let set: Vec<_> = set.iter().map(owned).collect();
        let experiment = Experiment::parse(Path::new("mine.toml"), FILE).unwrap_or_else(|error| panic!("{error}"));
        experiment.plan(size, &set, None, 1, 2)
    }

    /// What distinguishes the cells.
    fn shown(plan: &Plan) -> String {
        let line = |cell: &dyno_archive::plan::Cell| {
            let experiment = &cell.experiment;
            let workload =
                |workload: &dyno_archive::plan::Workload| format!("{}/{}", workload.clients, workload.threads);
            let workloads: Vec<_> = experiment.workloads.iter().map(workload).collect();
            let settings = experiment
                .settings
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let mut settings: Vec<_> = settings.collect();
            settings.sort();
            let levels: Vec<_> = cell.levels.values().map(String::as_str).collect();
            let rows = &experiment.parameters["rows"];
            format!(
                "{}: {} rows={rows} {}\n",
                levels.join(", "),
                workloads.join(" "),
                settings.join(" ")
            )
        };
        plan.cells.iter().map(line).collect()
    }

    #[test]
    fn a_name_stands_for_its_values() {
        let full = plan(Size::Full, &[]).unwrap();
        assert_snapshot!(shown(&full), @r"
        on, 32 GB: 4/2 1/1 rows=20 full_page_writes=on shared_buffers=8GB work_mem=104MB
        on, 200 GB: 16/8 16/8 rows=10 full_page_writes=on shared_buffers=48GB
        off, 32 GB: 4/2 1/1 rows=20 full_page_writes=off shared_buffers=8GB work_mem=104MB
        ");
        assert_eq!(full.baseline["profile"], "32 GB");
        let factor = serde_json::to_value(&full.factors[1]).unwrap();
        assert_eq!(factor["levels"], serde_json::json!(["32 GB", "200 GB"]));
        assert_eq!(factor["meanings"]["32 GB"]["rows"], "20");
        assert!(!factor.to_string().contains("secret"), "{factor}");
        let plain = serde_json::to_value(&full.factors[0]).unwrap();
        assert!(plain.get("meanings").is_none(), "{plain}");
        assert_eq!(
            serde_json::from_value::<dyno_archive::plan::Factor>(plain).unwrap(),
            full.factors[0]
        );
    }

    #[test]
    fn sizes_and_the_command_line_replace_pin_and_outdo_them() {
        let of = |size, set: &[(&str, &str)]| shown(&plan(size, set).unwrap());
        assert_snapshot!(of(Size::Small, &[("full_page_writes", "on")]), @r"
        on, tiny: 4/2 3/2 rows=10 full_page_writes=on shared_buffers=1MB
        on, 32 GB: 4/2 1/1 rows=10 full_page_writes=on
        ");
        assert_snapshot!(of(Size::Medium, &[]), @r"
        on, 200 GB: 16/8 16/8 rows=10 full_page_writes=on shared_buffers=48GB
        off, 200 GB: 16/8 16/8 rows=10 full_page_writes=off shared_buffers=48GB
        ");
        let settings = [
            ("profile", "32 GB"),
            ("shared_buffers", "2GB"),
            ("full_page_writes", "on"),
        ];
        assert_snapshot!(of(Size::Full, &settings),
            @"on, 32 GB: 4/2 1/1 rows=20 full_page_writes=on shared_buffers=2GB work_mem=104MB");
        let both = [
            ("profile", "200 GB,32 GB"),
            ("threads", "3"),
            ("clients", "6"),
            ("full_page_writes", "on"),
        ];
        assert_snapshot!(of(Size::Full, &both), @r"
        on, 200 GB: 6/3 6/3 rows=10 full_page_writes=on shared_buffers=48GB
        on, 32 GB: 6/3 6/3 rows=20 full_page_writes=on shared_buffers=8GB work_mem=104MB
        ");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        let said = |set: &[(&str, &str)]| plan(Size::Full, set).map(|plan| shown(&plan)).unwrap_err().to_string();
        let mut complaints = vec![
            said(&[("profile", "32GB")]),
            said(&[("profile", "small")]),
            said(&[("shared_buffers", "1GB,2GB")]),
            said(&[("writer.clients", "1,2")]),
        ];
        let sections = [
            "[factors.clients]\na = { rows = 1 }",
            "[factors.plan]\na = { rows = 1 }",
            "[factors.profile]\na = { rwos = 1 }",
            "[factors.profile]\na = { rows = \"many\" }",
            "[factors.profile]\na = { clients = 4, threads = 5 }",
            "[factors.profile]\na = { plan.repetitions = 5 }",
            "[factors.profile]\na = { work_mem = \"1MB\", settings.work_mem = \"2MB\" }",
            "[factors.profile]\na = { rows = [1, 2] }",
            "[factors.profile]\n\" a\" = { rows = 1 }",
            "[factors.\"my profile\"]\na = { rows = 1 }",
            "[factors.profile]\na = { rows = 1 }\nb = 2",
            "[factors.one]\na = { rows = 1 }\n[factors.two]\nb = { one = \"a\" }",
            "[factors.one]\na = { rows = 1 }\n[factors.two]\nb = { rows = 2 }",
            "[factors]\nprofile = [\"a\"]",
            "[factors.profile]\na = { rows = 1 }\n[plan]\nbaseline = { profile = \"b\" }",
        ];
        for section in sections {
            let start = FILE.find("[factors]").unwrap_or_default();
            let text = format!("{}{section}\n", &FILE[..start]);
            let error = Experiment::parse(Path::new("mine.toml"), &text)
                .map(|_| section)
                .unwrap_err();
            complaints.push(error.to_string());
        }
        assert_snapshot!(complaints.join("\n\n"));
    }
}

//! What to keep in mind of a difference between two variants, as can be seen before anything is measured: that nothing
//! of what is executed differs, that the data does, or that the machine is too small for both.

use super::super::target::lexis;
use super::super::workload;
use super::only_varied;
use dyno_archive::Way;
use dyno_archive::plan::{Cell, Data, Plan, Resolved};
use dyno_engine::Stop;
use dyno_load::Work;
use dyno_target::target::product;

/// A sentence for each; the machine has so many `cores`.
pub(in crate::run) fn notes(plan: &Plan, cores: usize, stop: &Stop) -> Vec<String> {
    let [first, others @ ..] = plan.cells.as_slice() else {
        return Vec::new();
    };
    let Some(name) = only_varied(&plan.cells) else {
        return Vec::new();
    };
    let level = |cell: &Cell| cell.levels.get(name).map_or("", String::as_str).to_owned();
    let alike = others
        .iter()
        .filter(|other| is_alike(&first.experiment, &other.experiment, stop));
    let alike = alike.map(|other| {
        let unused = match others.len() {
            1 => name.to_owned(),
            _ => format!(
                "what {name} = {} has other than {name} = {}",
                level(other),
                level(first)
            ),
        };
        format!(
            "Nothing uses {unused}, so both execute the same: a difference that is found is chance, or one between \
             two equal servers. If that is not meant, have a script use :{name}."
        )
    });
    let other_data = others
        .iter()
        .any(|other| has_other_data(&first.experiment, &other.experiment));
    let other_data =
        other_data.then(|| format!("{name} changes the data as well: a difference may come from that alone."));
    alike.chain(other_data).chain(few_cores(plan, cores)).collect()
}

/// That variants which all work at once have too few of these cores for it: a client and a server of each work at the
/// same time.
fn few_cores(plan: &Plan, cores: usize) -> Option<String> {
    let at_once = plan.turns.as_ref().is_some_and(|turns| turns.way == Way::AtOnce);
    let variants = plan.cells.len();
    (at_once && cores < 2 * variants).then(|| {
        format!(
            "{variants} variants and their clients work at the same time on {cores} cores: what one of them uses it \
             takes from the others, so differences are not those of each alone."
        )
    })
}

/// Whether they differ in nothing but parameters that no script uses, and what is not measured in turn.
pub(in crate::run) fn is_alike(one: &Resolved, other: &Resolved, stop: &Stop) -> bool {
    let without = |experiment: &Resolved| Resolved {
        parameters: Default::default(),
        metrics: Default::default(),
        checks: Default::default(),
        outputs: Default::default(),
        ..experiment.clone()
    };
    let changed = one
        .parameters
        .iter()
        .filter(|(name, value)| other.parameters.get(*name) != Some(value));
    let changed: Vec<&str> = changed.map(|(name, _)| name.as_str()).collect();
    without(one) == without(other) && !uses_any(one, &changed, stop)
}

/// Whether a script uses one of these variables. What cannot be read may, and is refused elsewhere.
fn uses_any(experiment: &Resolved, names: &[&str], stop: &Stop) -> bool {
    let Ok(works) = workload::scripts(experiment, 1, |_| lexis(experiment), stop) else {
        return true;
    };
    works.iter().any(|work| match work {
        Work::Scripts(scripts) => scripts.parse().map_or(true, |parsed| {
            let mut all = parsed.scripts.iter();
            all.any(|(script, _)| names.iter().any(|name| script.uses(name, &parsed.symbols)))
        }),
        // It has options, which are values of their own.
        Work::Lua(_) => false,
    })
}

/// Whether their data differs. That of different databases is made by different words.
fn has_other_data(one: &Resolved, other: &Resolved) -> bool {
    fn made(data: &Data) -> impl PartialEq + '_ {
        (&data.setup, &data.fill, &data.prepare, &data.finish)
    }
    is_one_product(one, other) && made(&one.data) != made(&other.data)
}

/// Whether both are for databases of one kind.
fn is_one_product(one: &Resolved, other: &Resolved) -> bool {
    let key = |experiment: &Resolved| {
        let name = super::super::target::name_of(experiment);
        product(name).ok().map(|product| product.key())
    };
    key(one) == key(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    const FILE: &str = r#"
title = "t"
[parameters]
rows = 10
used = 1
side = 1
[data]
setup = "create table t (id int)"
fill.t = { rows = "{rows}", columns = { id = "row" } }
[[workload]]
name = "w"
script = "select :used, ':rows';"
"#;

    fn noted(name: &str, values: &str) -> Vec<String> {
        let experiment = Experiment::parse(Path::new("mine.toml"), FILE).unwrap();
        let set = [(name.to_owned(), values.to_owned())];
        notes(
            &experiment.plan(Size::Small, &set, None, 7, 2).unwrap(),
            4,
            &Stop::new(),
        )
    }

    #[test]
    fn what_nothing_uses_is_told() {
        let [note] = &noted("side", "1,2")[..] else { panic!() };
        assert!(
            note.starts_with("Nothing uses side, so both execute the same"),
            "{note}"
        );
        assert!(noted("used", "1,2").is_empty());
        assert!(noted("clients", "1,2").is_empty());
        assert!(noted("work_mem", "4MB,8MB").is_empty());
    }

    #[test]
    fn which_of_several_executes_the_same_is_told() {
        let notes = noted("side", "1,2,3");
        assert_eq!(notes.len(), 2, "{notes:?}");
        let begin = "Nothing uses what side = 3 has other than side = 1, so both execute the same";
        assert!(notes[1].starts_with(begin), "{notes:?}");
    }

    #[test]
    fn other_data_is_told() {
        let [note] = &noted("rows", "10,20")[..] else { panic!() };
        assert!(note.starts_with("rows changes the data as well"), "{note}");
        assert!(noted("target", "embedded:18,embedded:mariadb").is_empty());
    }
}

//! The experiments that come with dyno.

use super::{Experiment, ExperimentError, text_file};
use crate::nearest::nearest;
use std::path::Path;

/// The name of the file that has what the experiments beside it share.
pub const SHARED: &str = "dyno.toml";

/// An experiment file compiled into the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name it is called by.
    pub name: &'static str,
    /// The series that it belongs to: the folder of its file, with whose name its own begins.
    pub series: Option<&'static str>,
    /// The file's text.
    pub text: &'static str,
}

/// One line per file of the repository's `experiments` folder, in the order in which they are listed.
macro_rules! builtins {
    ($($name:literal),* ; $($series:literal: $($member:literal),*);* $(;)?) => {
        &[
            $(Builtin {
                name: $name,
                series: None,
                text: include_str!(concat!("../../../../experiments/", $name, ".toml")),
            },)*
            $($(Builtin {
                name: concat!($series, "-", $member),
                series: Some($series),
                text: include_str!(concat!("../../../../experiments/", $series, "/", $member, ".toml")),
            },)*)*
        ]
    };
}

/// All experiments that come with dyno.
#[must_use]
pub fn builtin() -> &'static [Builtin] {
    builtins![
        "pk-select",
        "pk-update",
        "pk-insert",
        "pk-update-checkpoints",
        "pk-unprepared",
        "direct-pg",
        "os-comparison",
        "polar-hot-data",
        "polar-mysql",
        "burn-after-reading",
        "fdw-proxy",
        "replicas",
        "ycsb",
        "tpcc";
        "htap":
        "point",
        "in-list",
        "join",
        "latest",
        "window",
        "tree",
        "aggregate",
        "rollup",
        "covering",
        "pages",
        "no-case",
        "prefix",
        "fulltext",
        "trigram",
        "similar",
        "array",
        "json",
        "bloom",
        "brin",
        "ranges",
        "box",
        "nearest",
        "bulk-insert",
        "upsert",
        "foreign-key",
        "partition",
        "many-tables",
        "counter",
        "queue",
        "notify",
        "sequence",
        "mixed"
    ]
}

/// The experiments of a series that comes with dyno; `None` if there is none of this name.
pub(crate) fn series_of(word: &str) -> Option<Vec<&'static str>> {
    let members = builtin().iter().filter(|builtin| builtin.series == Some(word));
    let members: Vec<_> = members.map(|builtin| builtin.name).collect();
    (!members.is_empty()).then_some(members)
}

/// The experiment called `name_or_path`: one that comes with dyno, or else a file.
///
/// # Errors
///
/// If there is neither, or the file cannot be read or says something wrong.
pub fn find(name_or_path: &str) -> Result<Experiment, ExperimentError> {
    if let Some(builtin) = builtin().iter().find(|builtin| builtin.name == name_or_path) {
        let file = format!("{}.toml", builtin.name);
        return Ok(Experiment::parse(Path::new(&file), builtin.text)?);
    }
    if let Some(members) = series_of(name_or_path) {
        return Err(ExperimentError::Series {
            name: name_or_path.to_owned(),
            experiments: members.len(),
        });
    }
    let path = Path::new(name_or_path);
    if path.is_dir() {
        return Err(ExperimentError::Folder { path: path.to_owned() });
    }
    let looks_like_path = path.components().count() > 1 || path.extension().is_some();
    if !looks_like_path && !path.is_file() {
        return Err(ExperimentError::Unknown {
            name: name_or_path.to_owned(),
            nearest: nearest(name_or_path, builtin().iter().map(|builtin| builtin.name)).map(str::to_owned),
        });
    }
    if path.file_name().is_some_and(|name| name == SHARED) {
        return Err(ExperimentError::Shared { path: path.to_owned() });
    }
    let text = read(path)?;
    let shared = path.with_file_name(SHARED);
    // One that is there and cannot be read is not passed over.
    let shared_text = shared.exists().then(|| read(&shared)).transpose()?;
    let shared = shared_text.as_ref().map(|text| (shared.as_path(), text.as_str()));
    Ok(Experiment::parse_beside(path, &text, shared)?)
}

fn read(path: &Path) -> Result<String, ExperimentError> {
    text_file::read(path).map_err(|cause| ExperimentError::Read {
        path: path.to_owned(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::{Scripts, Size};
    use dyno_script::{Cursor, Random, Script, Step, Symbols, Value, Variables};

    /// How often each of the first ranks is drawn by workload C of ycsb, in so many executions.
    fn ranks(executions: usize) -> [usize; 5] {
        let plan = find("ycsb").unwrap().plan(Size::Small, &[], None, 1, 2).unwrap();
        let mut workloads = plan.cells.iter().flat_map(|cell| &cell.experiment.workloads);
        let workload = workloads.find(|workload| workload.name == "C").unwrap();
        let Scripts::Several { scripts } = &workload.scripts else {
            panic!("{:?}", workload.scripts)
        };
        let mut symbols = Symbols::new();
        let script = Script::parse("read", &scripts[0].script.script, &mut symbols).unwrap();
        let (records, rank) = (symbols.intern("records"), symbols.intern("rank"));
        let mut variables = Variables::new(&symbols);
        variables.set(records, Value::Int(100_000));
        let (mut random, mut drawn) = (Random::new(1), [0; 5]);
        for _ in 0..executions {
            let mut cursor = Cursor::default();
            while script.next(&mut cursor, &mut variables, &mut random, false).unwrap() != Step::End {}
            let Some(Value::Int(rank)) = variables.get(rank) else {
                panic!("no rank")
            };
            if let Some(count) = usize::try_from(*rank).ok().and_then(|rank| drawn.get_mut(rank)) {
                *count += 1;
            }
        }
        drawn
    }

    #[test]
    fn ycsb_asks_for_ranks_as_its_generator_does() {
        // From its definition: ranks 0 and 1 have their shares of zeta, and rank k from 2 on is drawn by the u for
        // which 10^10 (eta u - eta + 1)^100 lies between k and k + 1.
        let (zeta, eta) = (26.469, 0.2122_f64);
        let below = |rank: f64| ((rank / 1e10).powf(0.01) - 1.0 + eta) / eta;
        let from_two = 1.5035 / zeta;
        let expected = [
            1.0 / zeta,
            0.5035 / zeta,
            below(3.0) - from_two,
            below(4.0) - below(3.0),
            below(5.0) - below(4.0),
        ];
        let executions = 400_000;
        for (drawn, share) in ranks(executions).into_iter().zip(expected) {
            let expected = share * executions as f64;
            // Five standard deviations.
            assert!(
                (drawn as f64 - expected).abs() < 5.0 * expected.sqrt(),
                "{drawn}, not {expected:.0}"
            );
        }
    }
}

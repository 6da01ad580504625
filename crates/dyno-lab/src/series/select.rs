//! Which experiments are meant: names, files, folders and the series that come with dyno.

use super::SeriesError;
use crate::experiment::{Experiment, ExperimentError, SHARED, builtin, find, series_of};
use indexmap::{IndexMap, IndexSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the words of a command line name.
#[derive(Debug)]
pub enum Selected {
    /// One experiment by itself.
    One(Box<Experiment>),
    /// Several, or a folder.
    Several {
        /// What the series is called, unless the user says so.
        name: String,
        /// In the order in which they are measured.
        experiments: Vec<Experiment>,
    },
}

/// The series of which nothing else is known.
const UNNAMED: &str = "series";

/// Reads the experiments that `words` name. A name that comes with dyno comes before a file or folder of that name;
/// the experiments of a folder are its files that end with `.toml`, in the order of their names.
///
/// # Errors
///
/// Something that is named is not there or cannot be read, or two experiments have the same name.
pub fn select(words: &[String]) -> Result<Selected, SeriesError> {
    if let [word] = words
        && series_of(word).is_none()
        && !is_folder(word)
    {
        return Ok(Selected::One(Box::new(find(word)?)));
    }
    let name = match words {
        [word] if series_of(word).is_none() => folder_name(Path::new(word)),
        [word] => word.clone(),
        _ => UNNAMED.to_owned(),
    };
    let mut names = Vec::new();
    for word in words {
        match series_of(word) {
            Some(members) => names.extend(members.into_iter().map(str::to_owned)),
            None if is_folder(word) => names.extend(files(Path::new(word))?),
            None => names.push(word.clone()),
        }
    }
    let (mut experiments, mut wrong) = (Vec::new(), Vec::new());
    for name in names {
        match find(&name) {
            Ok(experiment) => experiments.push(experiment),
            Err(error) => wrong.push(error),
        }
    }
    if let Some(first) = wrong.pop() {
        return Err(match wrong.is_empty() {
            true => first.into(),
            false => several(wrong.into_iter().chain([first])),
        });
    }
    let mut seen = IndexSet::new();
    if let Some(twice) = experiments.iter().find(|experiment| !seen.insert(experiment.name())) {
        return Err(SeriesError::Twice {
            name: twice.name().to_owned(),
        });
    }
    Ok(Selected::Several { name, experiments })
}

fn several(wrong: impl Iterator<Item = ExperimentError>) -> SeriesError {
    let mut said: IndexMap<String, usize> = IndexMap::new();
    wrong.for_each(|error| *said.entry(error.to_string()).or_default() += 1);
    SeriesError::Several {
        number: said.values().sum(),
        // What is wrong in the file that they share is wrong with each.
        wrong: said
            .into_iter()
            .map(|(error, times)| match times {
                1 => error,
                times => format!("{error}\n(this concerns {times} experiments)"),
            })
            .collect(),
    }
}

/// Whether this names a folder, and no experiment that comes with dyno.
fn is_folder(word: &str) -> bool {
    Path::new(word).is_dir() && !builtin().iter().any(|builtin| builtin.name == word)
}

/// What a folder is called, also one that is given as `.`.
fn folder_name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| UNNAMED.to_owned())
}

/// The experiment files in a folder by name.
fn files(folder: &Path) -> Result<Vec<String>, SeriesError> {
    let failed = |cause| SeriesError::Folder {
        path: folder.to_owned(),
        cause,
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_experiment = path.extension().is_some_and(|ending| ending == "toml");
        if is_experiment && path.is_file() && path.file_name().is_none_or(|name| name != SHARED) {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(SeriesError::Empty {
            path: folder.to_owned(),
        });
    }
    files.sort();
    Ok(files.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// The name of the series and of its experiments.
    fn selected(names: &[&str]) -> Result<(String, Vec<String>), String> {
        match select(&words(names)).map_err(|error| error.to_string())? {
            Selected::One(experiment) => Ok((String::new(), vec![experiment.name().to_owned()])),
            Selected::Several { name, experiments } => {
                let names = experiments.iter().map(|experiment| experiment.name().to_owned());
                Ok((name, names.collect()))
            }
        }
    }

    #[test]
    fn what_comes_with_dyno_is_called_by_its_name_or_that_of_its_series() {
        assert_eq!(selected(&["tpcc"]), Ok((String::new(), vec!["tpcc".to_owned()])));
        let (name, experiments) = selected(&["htap"]).unwrap();
        assert_eq!((name.as_str(), experiments.len()), ("htap", 32));
        let (name, experiments) = selected(&["tpcc", "htap-join"]).unwrap();
        assert_eq!((name.as_str(), experiments), ("series", words(&["tpcc", "htap-join"])));
        assert!(selected(&["tpcc", "tpcc"]).unwrap_err().contains("are called `tpcc`"));
        assert!(
            selected(&["hatp-join", "tpcc"])
                .unwrap_err()
                .contains("did you mean `htap-join`")
        );
    }

    #[test]
    fn a_folder_has_its_files_by_name_and_what_they_share() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shelf");
        fs::create_dir(&path).unwrap();
        let shelf = path.to_str().unwrap();
        assert!(selected(&[shelf]).unwrap_err().contains("there is no experiment in"));
        for name in ["b.toml", "a.toml", "notes.txt"] {
            fs::write(path.join(name), "title = \"t\"\n[[workload]]\nscript = \"select 1\"\n").unwrap();
        }
        fs::write(path.join(SHARED), "[defaults]\ngroup = \"small\"\n").unwrap();
        let Ok(Selected::Several { name, experiments }) = select(&words(&[shelf])) else {
            panic!("it is a series");
        };
        assert_eq!(name, "shelf");
        let each = experiments
            .iter()
            .map(|experiment| (experiment.name(), experiment.group()));
        assert_eq!(each.collect::<Vec<_>>(), [("a", "small"), ("b", "small")]);
        let shared = path.join(SHARED);
        assert!(
            selected(&[shared.to_str().unwrap()])
                .unwrap_err()
                .contains("is none itself")
        );
        for name in ["a.toml", "b.toml"] {
            fs::write(path.join(name), "titel = 1\n").unwrap();
        }
        let wrong = selected(&[shelf]).unwrap_err();
        assert!(wrong.starts_with("2 of the experiments cannot be measured:"), "{wrong}");
    }
}

//! The experiments that come with dyno.

use super::{Experiment, ExperimentError, text_file};
use crate::nearest::nearest;
use std::path::Path;

/// An experiment file compiled into the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name it is called by.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

/// One line per file of the repository's `experiments` folder, in the order in which they are listed.
macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../../../experiments/", $name, ".toml")) }),*]
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
    ]
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
    let path = Path::new(name_or_path);
    let looks_like_path = path.components().count() > 1 || path.extension().is_some();
    if !looks_like_path && !path.is_file() {
        return Err(ExperimentError::Unknown {
            name: name_or_path.to_owned(),
            nearest: nearest(name_or_path, builtin().iter().map(|builtin| builtin.name)).map(str::to_owned),
        });
    }
    let text = text_file::read(path).map_err(|cause| ExperimentError::Read {
        path: path.to_owned(),
        cause,
    })?;
    Ok(Experiment::parse(path, &text)?)
}

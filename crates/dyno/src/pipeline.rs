//! Files that a pipeline reads about a comparison.

use crate::cli::PipelineArguments;
use crate::failure::Failure;
use crate::{say, written};
use dyno_report::Checks;

/// Finds out before anything is measured that there is no folder for a file, or a folder in its place.
pub fn check(arguments: &PipelineArguments) -> Result<(), Failure> {
    let files = || arguments.junit.iter().chain(&arguments.markdown);
    if let Some(folder) = files().find(|file| file.is_dir()) {
        return Err(Failure::SetUp(format!(
            "cannot write {}: it is a folder; name a file in it",
            folder.display()
        )));
    }
    let folders = files().filter_map(|file| file.parent());
    let mut missing = folders.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    match missing.next() {
        Some(folder) => Err(Failure::SetUp(format!(
            "there is no folder {} to write to",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// Writes the files that were asked for.
pub fn tell(arguments: &PipelineArguments, checks: &Checks) -> Result<(), Failure> {
    if let Some(file) = &arguments.junit {
        written::write(file, checks.junit()?)?;
    }
    if let Some(file) = &arguments.markdown {
        written::write(file, checks.markdown())?;
    }
    Ok(())
}

/// How a command ends whose files could perhaps not be written: what it found out counts more.
pub fn both(found: Result<(), Failure>, told: Result<(), Failure>) -> Result<(), Failure> {
    if let (Err(_), Err(failure)) = (&found, &told) {
        say::aside(&format!("note: {}", failure.message().unwrap_or_default()));
    }
    found.and(told)
}

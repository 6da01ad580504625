//! `dyno new`: an experiment file to begin with.

use crate::cli::NewArguments;
use crate::failure::Failure;
use crate::say;
use dyno_lab::command::redacted;
use dyno_lab::experiment::{SCHEMA, SCHEMA_FILE, SHARED, begin};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes the file, and beside it what editors know of such files.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let title = arguments.name.strip_suffix(".toml").unwrap_or(&arguments.name);
    let file = format!("{title}.toml");
    if Path::new(&file).file_name().is_some_and(|name| name == SHARED) {
        return Err(format!(
            "{SHARED} is what the experiments of a folder share, and would hold for all in it; choose another name"
        )
        .into());
    }
    if !create(Path::new(&file), &begin(title, &file))? {
        return Err(format!("{file} is there already; choose another name, or remove it").into());
    }
    let beside = schema_beside(Path::new(&file))?;
    let word = redacted([&file]);
    say::result(&format!(
        "Wrote {file}{beside}.\n\n  dyno check {word}   shows what would be done, and has a server prepare every \
         statement\n  dyno run {word}     measures it, and writes a report"
    ))
}

/// Writes what editors know of experiment files beside one, and says so as the end of a list.
pub fn schema_beside(file: &Path) -> Result<String, Failure> {
    // One that is there may be of the same dyno or of another; editors are content with either.
    match create(&file.with_file_name(SCHEMA_FILE), SCHEMA)? {
        true => Ok(format!(", and {SCHEMA_FILE} for editors")),
        false => Ok(String::new()),
    }
}

/// Writes a new file; `false`: there is one.
fn create(path: &Path, text: &str) -> Result<bool, Failure> {
    let failed = |error| Failure::SetUp(format!("cannot write {}: {error}", path.display()));
    match File::create_new(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

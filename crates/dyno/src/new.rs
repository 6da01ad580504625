//! `dyno new`: an experiment file to begin with.

use crate::cli::NewArguments;
use crate::failure::Failure;
use crate::say;
use dyno_lab::experiment::{SCHEMA, SCHEMA_FILE, begin};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes the file, and beside it what editors know of such files.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let title = arguments.name.strip_suffix(".toml").unwrap_or(&arguments.name);
    let file = format!("{title}.toml");
    if !create(Path::new(&file), &begin(title, &file))? {
        return Err(format!("{file} is there already; choose another name, or remove it").into());
    }
    // One that is there may be of the same dyno or of another; editors are content with either.
    let schema = create(Path::new(SCHEMA_FILE), SCHEMA)?;
    let beside = if schema {
        format!(", and {SCHEMA_FILE} for editors")
    } else {
        String::new()
    };
    say::result(&format!(
        "Wrote {file}{beside}.\n\n  dyno check {file}   shows what would be done, and has a server prepare every \
         statement\n  dyno run {file}     measures it, and writes a report"
    ))
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

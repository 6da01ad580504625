//! `--config-file`: options from a file, a line each, without the `--`.

use super::error::OptionError;
use super::settings::Settings;
use super::value::Kind;
use super::{Other, table};
use std::fs;
use std::path::PathBuf;

/// Reads a file's options where the option stands: what comes later on the command line holds. A file that cannot be
/// read is complained of and no more, as in sysbench.
///
/// Blank lines, headings in brackets and what follows `#` at the begin of a line are skipped, and blanks around names
/// and values, which sysbench takes for parts of them.
///
/// # Errors
/// An option cannot have its value.
pub(super) fn read(
    path: &str,
    settings: &mut Settings,
    others: &mut Vec<Other>,
    complaints: &mut Vec<String>,
) -> Result<(), OptionError> {
    let text = match fs::read(PathBuf::from(path)) {
        Ok(bytes) => dyno_text::decode(&bytes).into_owned(),
        Err(error) => {
            complaints.push(format!("{path}: {}\n", crate::system_text(&error)));
            return Ok(());
        }
    };
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') || line.starts_with('[') {
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
            None => (line, None),
        };
        let name = name.strip_prefix("--").unwrap_or(name);
        // A file that names itself would be read without end.
        if name == "config-file" || name == "config_file" {
            continue;
        }
        // A name alone is taken no notice of, as in sysbench, unless it can be all there is to say.
        if value.is_none() && table::find(name).is_some_and(|option| option.kind != Kind::Bool) {
            continue;
        }
        if !settings.take(name, value)? {
            others.push(Other {
                name: name.to_owned(),
                value: value.map(str::to_owned),
                is_of_file: true,
            });
        }
    }
    Ok(())
}

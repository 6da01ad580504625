//! Service files (`~/.pg_service.conf`): named sets of connection parameters in an INI form.

use super::AddressError;
use super::keyword::{Pairs, find};
use std::path::PathBuf;

/// What libpq says of a line that it does not understand.
const SYNTAX: &str = "syntax error";

const NESTED: &str = "a service cannot name another service";

/// Finds a service in the user's file, then in the system's, and gives its parameters.
pub(super) fn parameters(name: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Pairs, AddressError> {
    let user_file = env("PGSERVICEFILE")
        .map(PathBuf::from)
        .or_else(|| env("HOME").map(|home| PathBuf::from(home).join(".pg_service.conf")));
    let system_folder = env("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".to_owned());
    let system_file = PathBuf::from(system_folder).join("pg_service.conf");
    let files: Vec<PathBuf> = user_file.into_iter().chain([system_file]).collect();
    for file in &files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(AddressError::ServiceFile {
                    file: file.clone(),
                    line: 0,
                    what: error.to_string(),
                    libpq: SYNTAX,
                });
            }
        };
        match section(&text, name) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err((line, what)) => {
                return Err(AddressError::ServiceFile {
                    file: file.clone(),
                    line,
                    libpq: match what == NESTED {
                        true => "nested service specifications not supported",
                        false => SYNTAX,
                    },
                    what,
                });
            }
        }
    }
    Err(AddressError::UnknownService {
        name: name.to_owned(),
        files: files.iter().map(|file| file.display().to_string()).collect(),
    })
}

/// The parameters of the section `[name]`; an error has its line and what is wrong there.
fn section(text: &str, name: &str) -> Result<Option<Pairs>, (usize, String)> {
    let mut pairs: Option<Pairs> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            if pairs.is_some() {
                break;
            }
            if header.strip_suffix(']') == Some(name) {
                pairs = Some(Vec::new());
            }
            continue;
        }
        let Some(pairs) = pairs.as_mut() else {
            continue;
        };
        let Some((keyword, value)) = line.split_once('=') else {
            return Err((index + 1, "keyword=value is expected".to_owned()));
        };
        let keyword = keyword.trim();
        if keyword == "service" {
            return Err((index + 1, NESTED.to_owned()));
        }
        let known = find(keyword).ok_or_else(|| (index + 1, format!("the keyword \"{keyword}\" is unknown")))?;
        pairs.push((known.name, value.trim().to_owned()));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_section() {
        let text = "# c\n[a]\nhost=x\n\n[b]\nhost = y\nport=1\n[c]\nnonsense\n";
        let pair = |keyword: &'static str, value: &str| (keyword, value.to_owned());
        assert_eq!(
            section(text, "b").unwrap(),
            Some(vec![pair("host", "y"), pair("port", "1")])
        );
        assert_eq!(section(text, "d").unwrap(), None);
        assert_eq!(section(text, "c").unwrap_err().0, 9);
        assert_eq!(section("[a]\nhosst=x\n", "a").unwrap_err().0, 2);
    }
}

//! The password file (`~/.pgpass`): lines of `host:port:database:user:password`, the first that fits wins.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A password file as read, with a reason when it was not used.
pub(super) struct PassFile {
    text: String,
    /// Why the file was ignored, as a sentence for the user.
    pub(super) warning: Option<String>,
}

impl PassFile {
    /// Reads the file. A missing one is empty; one that others can read is ignored with a warning, as libpq does.
    pub(super) fn read(path: &Path) -> Self {
        let ignored = |why: String| Self {
            text: String::new(),
            warning: Some(format!("the password file {} is ignored: {why}", path.display())),
        };
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(_) => {
                return Self {
                    text: String::new(),
                    warning: None,
                };
            }
        };
        if !metadata.is_file() {
            return ignored("it is not a plain file".to_owned());
        }
        if metadata.mode() & 0o077 != 0 {
            return ignored("others may read it; make it private with chmod 0600".to_owned());
        }
        match std::fs::read_to_string(path) {
            Ok(text) => Self { text, warning: None },
            Err(error) => ignored(error.to_string()),
        }
    }

    /// The password for a connection. A unix socket in the default folder goes by the host name `localhost`.
    pub(super) fn password(&self, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        let port = port.to_string();
        let wanted = [host, &port, database, user];
        self.text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| password_if_fitting(line, &wanted))
    }
}

/// The line's password when its first four fields fit.
fn password_if_fitting(line: &str, wanted: &[&str; 4]) -> Option<String> {
    let mut rest = line.trim_end_matches('\r');
    for wanted in wanted {
        let (field, literal_star, after) = field(rest)?;
        let any = field == "*" && literal_star;
        if !any && field != *wanted {
            return None;
        }
        rest = after;
    }
    // The password runs to an unescaped ":" (reserved for later fields) or the end of the line.
    let closed = format!("{rest}:");
    let (password, ..) = field(&closed)?;
    (!password.is_empty()).then_some(password)
}

/// A field's value, whether it is free of escapes, and what follows it.
type Field<'a> = (String, bool, &'a str);

/// Reads a field up to its `:`.
fn field(text: &str) -> Option<Field<'_>> {
    let mut value = String::new();
    let mut plain = true;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                plain = false;
                if let Some((_, next)) = characters.next() {
                    value.push(next);
                }
            }
            ':' => return Some((value, plain, &text[at + 1..])),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    fn lookup(text: &str, host: &str, database: &str) -> Option<String> {
        let file = PassFile {
            text: text.to_owned(),
            warning: None,
        };
        file.password(host, 5432, database, "me")
    }

    #[test]
    fn takes_the_first_line_that_fits() {
        let text = "# h:5432:d:me:no\nh:1:d:me:port\nh:*:d:me:one\n*:*:*:*:two\n";
        assert_eq!(lookup(text, "h", "d").as_deref(), Some("one"));
        assert_eq!(lookup(text, "other", "d").as_deref(), Some("two"));
        assert_eq!(lookup("h:*:d:you:x", "h", "d"), None);
        assert_eq!(lookup("h:*:d", "h", "d"), None);
    }

    #[test]
    fn understands_escapes() {
        assert_eq!(lookup(r"\:\:1:*:*:*:a\:b\\c", "::1", "d").as_deref(), Some(r"a:b\c"));
        assert_eq!(lookup(r"\*:*:*:*:x", "h", "d"), None);
        assert_eq!(lookup(r"\*:*:*:*:x", "*", "d").as_deref(), Some("x"));
    }

    #[test]
    fn ignores_a_file_that_others_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        std::fs::write(&path, "*:*:*:*:x").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let file = PassFile::read(&path);
        assert!(file.warning.as_deref().unwrap().contains("chmod 0600"));
        assert_eq!(file.password("h", 1, "d", "u"), None);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let file = PassFile::read(&path);
        assert_eq!(file.warning, None);
        assert_eq!(file.password("h", 1, "d", "u").as_deref(), Some("x"));
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = lookup(&text, "h", "d");
        }
    }
}

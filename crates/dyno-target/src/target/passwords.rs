//! Passwords of servers, hidden in what servers say: one that reaches another knows how to log in there, and whoever
//! asks it is told.

use dyno_text::HIDDEN;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;

/// What stands at the end of a value that was cut off.
pub(super) const CUT: char = '…';

/// Passwords that are known, in the ways in which they are written in texts. They are shown by nothing.
#[derive(Clone, Default)]
pub struct Passwords {
    /// The longest first: others may be parts of it.
    written: Vec<String>,
}

impl Passwords {
    /// These passwords. Those that are not longer than what stands in their place are left alone, as in addresses:
    /// they are in many texts.
    #[must_use]
    pub fn new(passwords: impl IntoIterator<Item = String>) -> Self {
        let long = passwords.into_iter().filter(|password| password.len() > HIDDEN.len());
        let mut written: Vec<String> = long.flat_map(|password| ways(&password)).collect();
        written.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        written.dedup();
        Self { written }
    }

    /// `text` without them; where it was cut off, also without the begin of one.
    #[must_use]
    pub fn hidden_in(&self, text: &str) -> String {
        let whole = self.written.iter();
        let mut text = whole.fold(text.to_owned(), |text, password| text.replace(password, HIDDEN));
        if let Some(kept) = text.strip_suffix(CUT)
            && let Some(begin) = self.written.iter().filter_map(|password| begun(kept, password)).max()
        {
            text = format!("{}{HIDDEN}{CUT}", &kept[..kept.len() - begin]);
        }
        text
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passwords")
    }
}

/// A password as it is, as a literal of SQL has it, as arrays, JSON and MySQL's literals have it, and as a URI has it.
fn ways(password: &str) -> [String; 5] {
    let escaped = password.replace('\\', "\\\\");
    [
        password.to_owned(),
        password.replace('\'', "''"),
        escaped.replace('"', "\\\""),
        escaped.replace('\'', "\\'"),
        utf8_percent_encode(password, NON_ALPHANUMERIC).to_string(),
    ]
}

/// How much of `text`, at its end, is the begin of a password, if that is enough to tell.
fn begun(text: &str, password: &str) -> Option<usize> {
    let ends = password.char_indices().map(|(end, _)| end).rev();
    ends.take_while(|end| *end > HIDDEN.len())
        .find(|end| text.ends_with(&password[..*end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::address::ConnectionInfo;
    use crate::target::Reach;

    fn hidden(password: &str, text: &str) -> String {
        Passwords::new([password.to_owned()]).hidden_in(text)
    }

    #[test]
    fn a_password_is_hidden_however_it_is_written() {
        let password = "a'b\"c\\d e";
        for text in [
            "a'b\"c\\d e",
            "password 'a''b\"c\\d e'",
            "{user=x,\"password=a'b\\\"c\\\\d e\"}",
            "identified by 'a\\'b\"c\\\\d e'",
            "postgres://x:a%27b%22c%5Cd%20e@h",
        ] {
            let shown = hidden(password, text);
            assert!(shown.contains(HIDDEN) && !shown.contains('c'), "{shown}");
        }
        assert_eq!(hidden("s3cret", "s3cret, s3cret"), "***, ***");
        assert_eq!(hidden("s3cret", "secret"), "secret");
        // It would be in many texts.
        assert_eq!(hidden("sec", "second"), "second");
    }

    #[test]
    fn the_begin_of_a_password_is_hidden_where_a_value_was_cut_off() {
        assert_eq!(hidden("s3cretly", "it is s3cret…"), "it is ***…");
        assert_eq!(hidden("s3cretly", "it is s3c…"), "it is s3c…");
        assert_eq!(hidden("s3cretly", "it is s3cret"), "it is s3cret");
        assert_eq!(hidden("ääää", "it is äää…"), "it is ***…");
    }

    #[test]
    fn a_password_within_another_leaves_nothing_of_it() {
        let both = Passwords::new(["cret".to_owned(), "s3cret".to_owned()]);
        assert_eq!(both.hidden_in("s3cret cret"), "*** ***");
        assert_eq!(format!("{both:?}"), "Passwords");
    }

    #[test]
    fn each_host_of_an_address_may_have_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pass");
        std::fs::write(&file, "h1:*:*:*:s3cret1\nh2:*:*:*:s3cret2\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let env = |name: &str| (name == "PGPASSFILE").then(|| file.display().to_string());
        let info = ConnectionInfo::resolve(Some("postgres://ann@h1,h2/x"), &env).unwrap();
        let all = Passwords::new(Reach::Postgres(&info).passwords());
        assert_eq!(all.hidden_in("s3cret1, s3cret2"), "***, ***");
    }
}

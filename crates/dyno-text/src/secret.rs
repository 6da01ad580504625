//! Values that nobody is to see, by the names that they go by: options of scripts, parameters, words of a command line.

/// What stands in the place of a secret.
pub const HIDDEN: &str = "***";

/// What is in names of passwords, those of other programs included.
pub const PASSWORDS: [&str; 3] = ["passw", "pwd", "secret"];

/// What the names of other secrets end with: keys and tokens are secrets, their lengths and numbers are not.
const ENDS: [&str; 4] = ["token", "apikey", "credential", "credentials"];

/// Whether the value that goes by this name is probably a secret: a password, a token or a key. Of a name with points
/// in it the last part counts; upper and lower case are the same, and so are `-` and `_`. The name of a file with a
/// key for TLS is none.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let last = name.rsplit(['-', '_']).next().unwrap_or_default();
    PASSWORDS.iter().any(|part| name.contains(part))
        || ENDS.iter().any(|end| last.ends_with(end))
        || last == "key" && !name.contains("ssl")
}

/// Whether the value that goes by this name is probably a secret, by the name or because it is an address with a
/// password in it.
#[must_use]
pub fn is_secret(name: &str, value: &str) -> bool {
    let in_address = value.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    let lower = || value.to_ascii_lowercase();
    !value.is_empty()
        && (names_secret(name)
            || in_address.is_some_and(|(user, _)| user.contains(':'))
            || value.contains('=') && PASSWORDS.iter().any(|part| lower().contains(part)))
}

/// A line of a file as it may be shown: what is assigned to names of secrets is hidden.
#[must_use]
pub fn line_without_secrets(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(equals) = rest.find('=') {
        let (before, value) = rest.split_at(equals + 1);
        shown.push_str(before);
        rest = value;
        let name = before[..equals].trim_end().trim_end_matches(['"', '\'']);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begin = name.rfind(|c: char| !is_of_name(c));
        let begin = begin.map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
        if names_secret(&name[begin..]) {
            let blank = value.len() - value.trim_start().len();
            let length = value_length(&value[blank..]);
            shown.push_str(&value[..blank]);
            if length > 0 {
                shown.push_str(HIDDEN);
            }
            rest = &value[blank + length..];
        }
    }
    shown.push_str(rest);
    shown
}

/// How long the value is that a text begins with. One in quotes that do not end goes to the end.
fn value_length(text: &str) -> usize {
    let end = match text.chars().next() {
        Some('[') => return text.find(']').map_or(text.len(), |at| at + 1),
        Some(quote @ ('"' | '\'')) => {
            let mut escaped = false;
            let closing = text.char_indices().skip(1).find(|(_, c)| {
                let closes = *c == quote && !escaped;
                escaped = *c == '\\' && !escaped && quote == '"';
                closes
            });
            closing.map(|(at, _)| at + 1)
        }
        _ => text.find([',', '}', ' ', '\t', '#']),
    };
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "password",
            "mysql-password",
            "my_passwd",
            "pwd",
            "client_secret_id",
            "token",
            "auth-token",
            "options.api_token",
            "mixed.options.accesstoken",
            "API_KEY",
            "apikey",
            "key",
        ] {
            assert!(names_secret(name), "{name}");
        }
        for name in [
            "tables",
            "keys",
            "key_len",
            "tokens",
            "token_count",
            "mysql-ssl-key",
            "monkey",
            "options.tables",
            "",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_a_secret() {
        for value in [
            "mysql://ann:s3cret@db/x",
            "host=db password=s3cret",
            "postgres://db/x?password=s3cret",
        ] {
            assert!(is_secret("dsn", value), "{value}");
        }
        for value in ["mysql://ann@db/x", "ann@db", "a = b", "passwords", ""] {
            assert!(!is_secret("dsn", value), "{value}");
        }
        assert!(is_secret("token", "x") && !is_secret("token", ""));
    }

    #[test]
    fn a_line_is_shown_without_what_secrets_are() {
        for (line, shown) in [
            (
                "options = { token = \"a, b\\\" c\", tables = -3 }",
                "options = { token = ***, tables = -3 }",
            ),
            ("\"options.api-key\"='x y', n = 1", "\"options.api-key\"=***, n = 1"),
            ("token = [\"a\", \"b\"] # two", "token = *** # two"),
            ("password = 12, x = 3", "password = ***, x = 3"),
            ("secret = \"never ended", "secret = ***"),
            ("größe = 3", "größe = 3"),
            ("ä=token=1", "ä=token=***"),
            ("token =", "token ="),
        ] {
            assert_eq!(line_without_secrets(line), shown);
        }
    }
}

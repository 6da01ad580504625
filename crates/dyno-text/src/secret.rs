//! Values that nobody is to see, by the names that they go by: options of scripts, parameters, words of a command line.

use std::ops::Range;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "***";

/// What is in names of passwords, those of other programs included.
pub const PASSWORDS: [&str; 3] = ["passw", "pwd", "secret"];

/// What the names of other secrets end with: tokens are secrets, their lengths and numbers are not.
const ENDS: [&str; 4] = ["token", "apikey", "credential", "credentials"];

/// What stands before `key` in the name of one that opens something. Others divide tables or sort them.
const KEYS: [&str; 9] = [
    "access",
    "account",
    "api",
    "auth",
    "encryption",
    "master",
    "private",
    "signing",
    "ssh",
];

/// What may be the name of a secret, and of a number or a switch as well.
const PERHAPS: [&str; 2] = ["auth", "tokens"];

/// Whether the value that goes by this name is probably a secret: a password, a token or a key. Of a name with points
/// in it the last part counts; upper and lower case are the same, and so are `-` and `_`. The name of a file with a
/// key for TLS is none.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    let name = plain(name);
    let last = last_word(&name);
    let key = name
        .strip_suffix("key")
        .map(|before| before.trim_end_matches(['-', '_']));
    PASSWORDS.iter().any(|part| name.contains(part))
        || name.contains("passphrase")
        || last.ends_with("pass") && last != "bypass"
        || ENDS.iter().any(|end| last.ends_with(end))
        || key.is_some_and(|before| KEYS.iter().any(|end| before.ends_with(end))) && !name.contains("ssl")
}

/// Whether this value is probably a secret by its name. Names that may also be those of numbers and switches, such as
/// `key` and `tokens`, are those of secrets if the value is neither.
#[must_use]
pub fn is_named_secret(name: &str, value: &str) -> bool {
    let lower = plain(name);
    let may_be = lower == "key" || PERHAPS.contains(&last_word(&lower));
    !value.is_empty() && (names_secret(name) || may_be && !is_number_or_switch(value))
}

/// The last part of a name with points in it, in lower case.
fn plain(name: &str) -> String {
    name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

fn last_word(name: &str) -> &str {
    name.rsplit(['-', '_']).next().unwrap_or_default()
}

fn is_number_or_switch(value: &str) -> bool {
    value.parse::<f64>().is_ok() || ["true", "false", "on", "off", "yes", "no"].contains(&value)
}

/// Whether this value is probably a secret, by its name or because it is an address with a password in it, as in
/// `mysql://ann:password@db` and `ann:password@tcp(db)/x`.
#[must_use]
pub fn is_secret(name: &str, value: &str) -> bool {
    let is_address =
        |password: Range<usize>| value.contains("://") || !value[..password.end].contains(char::is_whitespace);
    let lower = || value.to_ascii_lowercase();
    is_named_secret(name, value)
        || user_password(value).is_some_and(is_address)
        || value.contains('=') && PASSWORDS.iter().any(|part| lower().contains(part))
}

/// Where the password is in a text that is an address with a user: between the first colon after `://`, or after the
/// beginning, and the last `@`. `None`: it has none.
#[must_use]
pub fn user_password(text: &str) -> Option<Range<usize>> {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let end = start + text[start..].rfind('@')?;
    let colon = start + text[start..end].find(':')?;
    Some(colon + 1..end)
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
            "db_pass",
            "mysql-pass",
            "pass",
            "sshpass",
            "key_passphrase",
            "accesskey",
            "aws-access-key",
            "options.private_key",
            "secret_key",
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
            "partition_key",
            "shard_key",
            "ssl_private_key",
            "passes",
            "bypass",
            "author",
            "options.tables",
            "",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_none_if_it_is_a_number_or_a_switch() {
        for name in ["key", "options.KEY", "tokens", "api-tokens", "auth", "proxy_auth"] {
            assert!(is_named_secret(name, "s3cret"), "{name}");
            for value in ["5", "-2.5", "true", "off", ""] {
                assert!(!is_named_secret(name, value), "{name}={value}");
            }
        }
        assert!(is_named_secret("password", "5"));
        assert!(!is_named_secret("shard_key", "id"));
    }

    #[test]
    fn an_address_with_a_password_is_a_secret() {
        for value in [
            "mysql://ann:s3cret@db/x",
            "host=db password=s3cret",
            "postgres://db/x?password=s3cret",
            "ann:s3cret@tcp(db)/x",
            "ann:s3cret@db",
        ] {
            assert!(is_secret("dsn", value), "{value}");
        }
        for value in [
            "mysql://ann@db/x",
            "ann@db",
            "a = b",
            "passwords",
            "ann@tcp(db:3306)/x",
            "set @a := 1, @b := 2",
            "",
        ] {
            assert!(!is_secret("dsn", value), "{value}");
        }
        assert!(is_secret("token", "x") && !is_secret("token", ""));
    }
}

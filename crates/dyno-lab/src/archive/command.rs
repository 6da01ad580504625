//! The command line of a run, fit to be archived.

/// The words of a command as one line that a shell would read the same, with passwords replaced by `***`.
///
/// Passwords are found where PostgreSQL's tools take them: in URIs (`postgres://user:password@host`, `?password=…`) and in conninfo strings
/// (`password=…`).
#[must_use]
pub fn redacted<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words = words.into_iter().map(|word| quoted(&without_password(word.as_ref())));
    words.collect::<Vec<_>>().join(" ")
}

const HIDDEN: &str = "***";

/// A word of a command with the passwords in it replaced by `***`.
#[must_use]
pub fn without_password(word: &str) -> String {
    without_password_key(&without_user_password(word))
}

/// A word whose passwords were hidden, as it is without any: passwords are then found as if none had been given.
#[must_use]
pub fn without_hidden(word: &str) -> String {
    let no_key = ["sslpassword=", "password="]
        .into_iter()
        .fold(word.to_owned(), |word, key| {
            let hidden = format!("{key}{HIDDEN}");
            ["&", " ", ""]
                .into_iter()
                .fold(word, |word, end| word.replace(&format!("{hidden}{end}"), ""))
        });
    no_key.replace(&format!(":{HIDDEN}@"), "@")
}

/// Hides what stands between the first colon after `://` and the last `@` before the path.
fn without_user_password(word: &str) -> String {
    let Some(authority) = word.find("://").map(|at| at + 3) else {
        return word.to_owned();
    };
    // A password may itself contain `/` or `?` if someone forgot to escape it; then the last `@` of all is the safe guess.
    let Some(at) = word[authority..].rfind('@').map(|at| authority + at) else {
        return word.to_owned();
    };
    match word[authority..at].find(':').map(|colon| authority + colon + 1) {
        Some(password) => format!("{}{HIDDEN}{}", &word[..password], &word[at..]),
        None => word.to_owned(),
    }
}

/// Hides the value after every `password=` (or `sslpassword=`), quoted as in a conninfo string or not.
fn without_password_key(word: &str) -> String {
    const KEY: &str = "password";
    let mut result = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(key) = rest.to_ascii_lowercase().find(KEY) {
        let after_key = &rest[key + KEY.len()..];
        let value = after_key.trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            result.push_str(&rest[..key + KEY.len()]);
            rest = after_key;
            continue;
        };
        result.push_str(&rest[..rest.len() - value.len()]);
        result.push_str(HIDDEN);
        rest = &value[value_length(value)..];
    }
    result.push_str(rest);
    result
}

/// The length of a conninfo value or of a URI parameter at the start of `text`.
fn value_length(text: &str) -> usize {
    let in_quotes = text.starts_with('\'');
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(usize::from(in_quotes)) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if in_quotes => return at + 1,
            '&' if !in_quotes => return at,
            _ if !in_quotes && character.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

/// `word` as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_=+./:,@%".contains(character);
    let harmless = !word.is_empty() && word.chars().all(plain);
    if harmless {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hides_passwords_and_nothing_else() {
        let cases = [
            ("postgres://ann:s3cret@db:5432/x", "'postgres://ann:***@db:5432/x'"),
            (
                "--target=postgres://ann:a/b@c?d@db/x",
                "'--target=postgres://ann:***@db/x'",
            ),
            ("postgres://ann@db/x", "postgres://ann@db/x"),
            (
                "postgres://db/x?user=ann&password=s3cret&sslmode=require",
                "'postgres://db/x?user=ann&password=***&sslmode=require'",
            ),
            ("host=db password=s3cret user=ann", "'host=db password=*** user=ann'"),
            (
                "host=db PassWord = 's3 \\' cret' user=ann",
                "'host=db PassWord = *** user=ann'",
            ),
            ("password='unfinished s3cret", "'password=***'"),
            ("--set", "--set"),
            ("shared_buffers=25% of memory", "'shared_buffers=25% of memory'"),
            ("", "''"),
        ];
        for (word, expected) in cases {
            assert_eq!(redacted([word]), expected);
        }
        assert_eq!(redacted(["dyno", "run", "pk-update"]), "dyno run pk-update");
    }

    #[test]
    fn what_was_hidden_is_as_if_it_had_not_been_given() {
        for (hidden, without) in [
            ("postgres://ann:***@db:5432/x", "postgres://ann@db:5432/x"),
            (
                "postgres://db/x?user=ann&password=***&sslmode=require",
                "postgres://db/x?user=ann&sslmode=require",
            ),
            ("postgres://db/x?password=***", "postgres://db/x?"),
            ("host=db password=*** user=ann", "host=db user=ann"),
            ("host=db password=***", "host=db "),
            ("postgres://ann@db/x", "postgres://ann@db/x"),
        ] {
            assert_eq!(without_hidden(hidden), without);
        }
    }

    proptest! {
        #[test]
        fn a_password_never_comes_through(secret in "[A-Za-z0-9/?:&=#%]{0,8}S3CRET[A-Za-z0-9/?#%]{0,8}", user in "[a-z]{1,5}") {
            let shown = redacted([format!("postgres://{user}:{secret}@host/db")]);
            prop_assert!(!shown.contains("S3CRET"));
        }

        #[test]
        fn any_word_can_be_shown(word in "\\PC{0,40}", key in "(password ?= ?)?'?") {
            let _ = redacted([format!("{key}{word}")]);
        }
    }
}

//! The command line of a run, fit to be archived.

use dyno_target::target::words_without_secrets;

/// The words of a command as one line that a shell would read the same, with passwords replaced by `***`.
#[must_use]
pub fn redacted<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
    let words: Vec<String> = words_without_secrets(&words).iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

const HIDDEN: &str = "***";

/// Whether something was hidden in `word`, so that it is not what was given.
#[must_use]
pub fn is_redacted(word: &str) -> bool {
    word.contains(HIDDEN)
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

    #[test]
    fn a_line_is_read_back_by_a_shell_and_has_no_password() {
        for (words, line) in [
            (&["dyno", "run", "pk-update"][..], "dyno run pk-update"),
            (&["postgres://ann:s3cret@db:5432/x"], "'postgres://ann:***@db:5432/x'"),
            (&["host=db password=s3cret user=ann"], "'host=db password=*** user=ann'"),
            (&["--target", "wort=s3cret"], "--target '***'"),
            (
                &["shared_buffers=25% of memory", ""],
                "'shared_buffers=25% of memory' ''",
            ),
        ] {
            assert_eq!(redacted(words), line);
        }
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
}

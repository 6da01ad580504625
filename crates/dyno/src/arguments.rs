//! The words of the command line, with passwords kept out of the process list.
//!
//! Whoever may list processes sees their command lines. If one of our words holds a password, the program starts itself again in its own place under a
//! command line that hides it, and gets the true words in its environment, which only its own user can read.

use dyno_lab::archive::without_password;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Holds the true words as a JSON array while the command line hides some.
const VARIABLE: &str = "DYNO_ARGUMENTS";

/// The words as they were typed, the program's name first.
pub fn arguments() -> Vec<OsString> {
    let shown: Vec<OsString> = std::env::args_os().collect();
    if let Some(typed) = concealed(&shown) {
        return typed;
    }
    let words: Option<Vec<String>> = shown.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    // Words that are not text hold no password that we could find.
    let Some(words) = words else { return shown };
    let hidden: Vec<String> = words.iter().map(|word| without_password(word)).collect();
    if hidden != words
        && let (Ok(program), Ok(true_words), [name, rest @ ..]) = (
            std::env::current_exe(),
            serde_json::to_string(&words),
            hidden.as_slice(),
        )
    {
        // Comes back only if it fails; then the run is worth more than the concealment.
        let _ = Command::new(program)
            .arg0(name)
            .args(rest)
            .env(VARIABLE, true_words)
            .exec();
    }
    shown
}

/// The true words behind `shown`, if the environment has them.
fn concealed(shown: &[OsString]) -> Option<Vec<OsString>> {
    let words: Vec<String> = serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()?;
    // Words left in the environment by something else do not fit.
    let fits = words.len() == shown.len()
        && words
            .iter()
            .zip(shown)
            .all(|(word, shown)| without_password(word).as_str() == shown);
    fits.then(|| words.into_iter().map(OsString::from).collect())
}

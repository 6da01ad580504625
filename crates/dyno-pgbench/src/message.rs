//! What is said on stderr, in the form of PostgreSQL's programs: `pgbench: error: …`.
//!
//! Every line goes out in one write, so that lines of several threads do not mix. A stderr that is closed is no
//! reason to fail.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// The name in front of every line, whatever name the program was called by: wrappers look for it.
const NAME: &str = "pgbench";

/// Says that something failed.
pub fn error(text: &str) {
    say("error: ", text);
}

/// Says more about the failure just told.
pub fn detail(text: &str) {
    say("detail: ", text);
}

/// Says what to do about the failure just told.
pub fn hint(text: &str) {
    say("hint: ", text);
}

/// Says that something may not be as wanted.
pub fn warning(text: &str) {
    say("warning: ", text);
}

/// Says what is being done.
pub fn info(text: &str) {
    say("", text);
}

/// Writes text as it is; what is not UTF-8 goes out as the bytes that came in.
pub fn raw(text: &str) {
    let _ = write(&mut std::io::stderr().lock(), text);
}

/// Writes text that holds what others said. A terminal shows what it would obey; anything else gets the bytes that
/// pgbench would write.
pub fn write(out: &mut (impl Write + IsTerminal), text: &str) -> std::io::Result<()> {
    let text = match out.is_terminal() {
        true => dyno_text::visible(text),
        false => Cow::Borrowed(text),
    };
    out.write_all(&dyno_text::encode(&text))?;
    out.flush()
}

fn say(kind: &str, text: &str) {
    // PostgreSQL's messages end with a line end of their own, which is not doubled.
    raw(&format!("{NAME}: {kind}{}\n", text.strip_suffix('\n').unwrap_or(text)));
}

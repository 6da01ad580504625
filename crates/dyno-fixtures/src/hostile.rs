//! Names and messages that attack whoever shows them.

use crate::{Error, Fixture, Pace};
use std::path::{Path, PathBuf};

/// A text that a page must show as it stands: as HTML it would run a script, and its last word has no place to
/// break at.
pub const HOSTILE: &str = concat!(
    "<img src=x onerror=alert(1)> </script><script>alert(2)</script> \"quoted\" 'apart' &amp; & {{ braces }} ",
    "\u{202e}backwards\u{202c} {{b|red}} javascript:alert(3) ",
    concat!(
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong",
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong"
    ),
    concat!(
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong",
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong"
    ),
    concat!(
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong",
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong"
    ),
    concat!(
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong",
        "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong"
    ),
);

/// Makes a campaign in which whatever may be named is named like that: title, question, settings, levels of
/// factors, script, error, table, lock holder.
///
/// # Errors
///
/// See [`Error`].
pub fn hostile(archive: &Path) -> Result<PathBuf, Error> {
    let text = serde_json::to_string(HOSTILE)?;
    let experiment = format!(
        r#"
        title    = {text}
        question = {text}
        source   = {text}
        [parameters]
        rows = 1000
        [server]
        settings.application_name = {text}
        [data]
        setup    = "create table tbl (id int)"
        fill."t <b>" = {{ rows = 10, columns = {{ id = "row" }} }}
        [[workload]]
        name    = "reader"
        clients = 4
        script  = {text}
        [phases]
        warmup  = "5s"
        measure = "90s"
        [factors.variant]
        {text} = {{ rows = 1000 }}
        "<b>other</b>" = {{ rows = 2000 }}
        [plan]
        repetitions = 2
        "#
    );
    let fixture = Fixture::begin(archive, "<b>hostile", &experiment, "2026-11-21T12:00:00[UTC]")?;
    fixture.complete(|_, _| Pace {
        tps: 400.0,
        spread: 0.03,
        error: HOSTILE.to_owned(),
    })
}

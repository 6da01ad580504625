//! An experiment file made of what a server executes: a beginning, to be edited.
//!
//! Servers count statements, but keep few values or none. Where a value is missing, the file draws one of its type, and
//! says so; the range is for the user to correct.

use crate::run::{Environment, RunError};
use dyno_engine::Stop;
use dyno_target::target::{Executed, Target, TargetError, without_secrets};
use std::fmt::Write;
use std::time::Duration;

/// The largest weight of a script.
const MOST_WEIGHT: u64 = i32::MAX as u64;

/// Statements that are nobody's work, by their first words.
const NO_WORK: [&str; 16] = [
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "savepoint",
    "release",
    "set",
    "show",
    "reset",
    "discard",
    "deallocate",
    "prepare",
    "execute",
    "close",
    "fetch",
];

/// What was captured.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The text of an experiment file.
    pub text: String,
    /// How many statements are in it.
    pub statements: usize,
    /// How many were seen that are left out.
    pub left_out: usize,
    /// How often those in it were executed per second.
    pub per_s: f64,
}

/// Why nothing was captured.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CaptureError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("{target} is dyno's own server, on which nobody works: give the address of a server with --target")]
    Private { target: String },
    #[error("{target} executed nothing in {} s that could be a workload; capture while it works", lasts.as_secs())]
    Nothing { target: String, lasts: Duration },
}

/// Watches what `target` executes for so long, and makes an experiment of the `most` statements that took the most
/// time.
///
/// # Errors
/// The server cannot be asked, or executed nothing.
pub fn capture(
    target: &str,
    lasts: Duration,
    most: usize,
    environment: Environment<'_>,
    stop: &Stop,
) -> Result<Capture, CaptureError> {
    let flag = stop.flag();
    let external = match Target::named(target, environment, &flag)? {
        Target::External(external) => external.first_reachable(&flag)?,
        Target::Embedded(embedded) => {
            return Err(CaptureError::Private {
                target: embedded.to_string(),
            });
        }
    };
    let mut executed = external.executed(lasts, &flag)?;
    let seen = executed.len();
    executed.retain(is_work);
    executed.truncate(most);
    if executed.is_empty() {
        return Err(CaptureError::Nothing {
            target: external.to_string(),
            lasts,
        });
    }
    let calls: u64 = executed.iter().map(|statement| statement.calls).sum();
    let per_s = calls as f64 / lasts.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(Capture {
        text: text(&executed, &without_secrets(target), per_s, lasts),
        statements: executed.len(),
        left_out: seen - executed.len(),
        per_s,
    })
}

/// Whether a statement is a part of what is to be measured.
fn is_work(statement: &Executed) -> bool {
    let word = statement
        .text
        .split(|letter: char| !letter.is_ascii_alphabetic())
        .find(|word| !word.is_empty());
    // Three quotes end the text of a script.
    word.is_some_and(|word| !NO_WORK.contains(&word.to_ascii_lowercase().as_str())) && !statement.text.contains("'''")
}

fn text(executed: &[Executed], target: &str, per_s: f64, lasts: Duration) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let mut line = |line: &str| {
        let _ = writeln!(text, "{line}");
    };
    let quoted = toml::Value::String(target.to_owned()).to_string();
    line("#:schema ./experiment.schema.json");
    line(&format!(
        "# What a server executed in {} s, as a beginning. Values are drawn where it does not tell them: correct\n\
         # their ranges. Statements that belong together in a transaction are apart here.\n",
        lasts.as_secs()
    ));
    line(&format!(
        "title = {}",
        toml::Value::String(format!("Captured from {target}"))
    ));
    line(&format!("\n[server]\ntarget = {quoted}\n"));
    line("[[workload]]\nname    = \"captured\"\nclients = 8");
    line(&format!(
        "# rate  = {per_s:.1}   # as often as it was seen (open loop)\nscripts = ["
    ));
    let ms = |statement: &Executed| statement.total_s * 1_000.0 / statement.calls.max(1) as f64;
    for (number, statement) in (1..).zip(executed) {
        let weight = statement.calls.clamp(1, MOST_WEIGHT);
        line(&format!(
            "  # {} times, {:.3} ms each\n  {{ name = \"s{number}\", weight = {weight}, script = '''\n{};\n''' }},",
            statement.calls,
            ms(statement),
            script(statement)
        ));
    }
    line("]\n\n[phases]\nwarmup  = \"10s\"\nmeasure = \"60s\"");
    text
}

/// A statement in pgbench's language, with what draws its values before it.
fn script(statement: &Executed) -> String {
    let text = statement.text.trim().trim_end_matches(';');
    let mut drawn = String::new();
    let mut script = String::new();
    let mut rest = text;
    let mut known: Vec<(usize, String)> = Vec::new();
    while let Some(at) = rest.find(['$', '?']) {
        script.push_str(&rest[..at]);
        let digits: String = rest[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        let is_numbered = rest[at..].starts_with('$') && !digits.is_empty();
        let is_place = rest[at..].starts_with('?') && statement.types.is_none();
        if !is_numbered && !is_place {
            script.push_str(&rest[at..=at]);
            rest = &rest[at + 1..];
            continue;
        }
        let number = digits.parse().unwrap_or(known.len() + 1);
        let place = match known.iter().find(|(other, _)| *other == number) {
            Some((_, place)) => place.clone(),
            None => {
                let kind = statement
                    .types
                    .as_ref()
                    .and_then(|types| types.get(number.wrapping_sub(1)));
                let place = value(number, kind.map(String::as_str), &mut drawn);
                known.push((number, place.clone()));
                place
            }
        };
        script.push_str(&place);
        rest = &rest[at + 1 + digits.len()..];
    }
    script.push_str(rest);
    drawn + &script
}

/// What stands in the place of a value of a type; what draws it is added to `drawn`.
fn value(number: usize, kind: Option<&str>, drawn: &mut String) -> String {
    let constant = match kind {
        Some("text" | "varchar" | "bpchar" | "char" | "name" | "unknown") => "'text'",
        Some("bool") => "true",
        Some("timestamp" | "timestamptz") => "now()",
        Some("date") => "current_date",
        Some("uuid") => "gen_random_uuid()",
        Some("json" | "jsonb") => "'{}'",
        Some("bytea") => "'\\x00'",
        Some(kind) if kind.starts_with('_') => "'{}'",
        _ => "",
    };
    if !constant.is_empty() {
        return constant.to_owned();
    }
    let expression = match kind {
        Some("int2") => "random(1, 10000)",
        Some("float4" | "float8" | "numeric") => "random(1, 100000) / 100.0",
        _ => "random(1, 100000)",
    };
    let _ = writeln!(drawn, "\\set v{number} {expression}");
    format!(":v{number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    fn executed(text: &str, types: Option<&[&str]>) -> Executed {
        Executed {
            text: text.to_owned(),
            types: types.map(|types| types.iter().map(|kind| (*kind).to_owned()).collect()),
            calls: 3,
            total_s: 0.5,
        }
    }

    #[test]
    fn what_was_executed_becomes_an_experiment_that_runs() {
        let all = [
            executed(
                "select a from t where id = $1 and b = $2 or c = $1",
                Some(&["int8", "text"]),
            ),
            executed("UPDATE `t` SET `a` = ? WHERE `id` = ?", None),
            executed("select '{}'::jsonb ? 'a'", Some(&[])),
        ];
        let made = text(&all, "postgres://ann@db/shop", 12.3, Duration::from_secs(5));
        insta::assert_snapshot!(made);
        let experiment = Experiment::parse(Path::new("captured.toml"), &made).unwrap();
        assert_eq!(experiment.plan(Size::Small, &[], None, 1, 2).unwrap().runs.len(), 1);
    }

    #[test]
    fn what_is_nobodys_work_is_left_out() {
        for (text, is) in [
            ("BEGIN", false),
            ("/* app */ select 1", true),
            ("set x = 1", false),
            ("", false),
        ] {
            assert_eq!(is_work(&executed(text, None)), is, "{text}");
        }
    }
}

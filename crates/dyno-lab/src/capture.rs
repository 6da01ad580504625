//! An experiment file made of what a server executes: a beginning, to be edited.
//!
//! Servers count statements, but keep few values or none. Where a value is missing, the file draws one of its type, and
//! says so; the range is for the user to correct.

use crate::run::{Environment, RunError};
use dyno_engine::Stop;
use dyno_script::{Command, Lexis, Script, Symbols};
use dyno_target::target::{Statement, Target, TargetError, Values, first_word, product};
use dyno_wire::MyStatement;
use std::fmt::Write;
use std::time::Duration;

/// The largest weight of a script.
const MOST_WEIGHT: u64 = i32::MAX as u64;

/// Statements that a workload is made of, by their first words. Others are around transactions, of sessions, or of
/// whoever looks after the database, whose passwords may be in them.
const WORK: [&str; 10] = [
    "call", "delete", "insert", "merge", "replace", "select", "table", "update", "values", "with",
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
    /// How many of those in it change data.
    pub changes: usize,
    /// How many executions there were besides of which the server does not say what they were.
    pub uncounted: u64,
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
    #[error(
        "nothing was executed in {} s in the database of {target} that could be a workload: capture while it works, \
         and name the database in which", lasts.as_secs()
    )]
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
    let lexis = product(target)?.lexis();
    let executed = external.executed(lasts, &flag)?;
    let (mut statements, lasts) = (executed.statements, executed.lasts);
    let seen = statements.len();
    if lexis == Lexis::Psql {
        for statement in &mut statements {
            statement.text = without_names(&statement.text);
        }
    }
    statements.retain(|statement| is_work(statement) && can_be_written(statement, lexis));
    statements.truncate(most);
    if statements.is_empty() {
        return Err(CaptureError::Nothing {
            target: external.to_string(),
            lasts,
        });
    }
    let calls: u64 = statements.iter().map(|statement| statement.calls).sum();
    let per_s = calls as f64 / lasts.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(Capture {
        text: text(&statements, &external.to_string(), per_s, lasts),
        statements: statements.len(),
        left_out: seen - statements.len(),
        per_s,
        changes: statements.iter().filter(|statement| changes_data(statement)).count(),
        uncounted: executed.uncounted,
    })
}

/// Whether a statement is a part of what is to be measured.
fn is_work(statement: &Statement) -> bool {
    let word = first_word(&statement.text, &["--", "#"]);
    // Servers cut long texts so.
    let is_cut = statement.text.trim_end().ends_with("...");
    WORK.contains(&word.as_str()) && !is_cut
}

/// Whether executing a statement changes data, as far as its words tell.
fn changes_data(statement: &Statement) -> bool {
    const CHANGES: [&str; 6] = ["insert", "update", "delete", "replace", "merge", "call"];
    match first_word(&statement.text, &["--", "#"]).as_str() {
        "with" => {
            let text = statement.text.to_lowercase();
            let mut words = text.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
            words.any(|word| CHANGES[..5].contains(&word))
        }
        word => CHANGES.contains(&word),
    }
}

/// Whether an experiment can hold the statement, and its script is read as what it is meant to be: values that are
/// drawn, and one statement that has no others. The texts are those of whoever uses the server: behind a backslash one
/// could have a command of scripts, such as `\shell`.
fn can_be_written(statement: &Statement, lexis: Lexis) -> bool {
    let Some(script) = script(statement) else {
        return false;
    };
    // Three quotes end the text of a script, and TOML takes no other control characters.
    let is_toml = !script.contains("'''") && !script.contains(|one: char| one.is_control() && !"\n\t".contains(one));
    let is_read_as_meant = |lexis| {
        let mut symbols = Symbols::new();
        let Ok(script) = Script::parse_by(lexis, "captured", &script, &mut symbols) else {
            return false;
        };
        let [drawn @ .., Command::Statement(statement)] = script.commands() else {
            return false;
        };
        let is_drawn = |value| {
            let is = |command: &Command| matches!(command, Command::Set(set) if set.variable() == value);
            drawn.iter().any(is)
        };
        let only_draws = drawn.iter().all(|command| matches!(command, Command::Set(_)));
        only_draws && statement.capture().is_none() && statement.parameters().iter().all(|value| is_drawn(*value))
    };
    let readings = [Some(lexis), lexis.alternative()];
    is_toml && readings.into_iter().flatten().all(is_read_as_meant)
}

fn text(statements: &[Statement], target: &str, per_s: f64, lasts: Duration) -> String {
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
    if statements.iter().any(|statement| statement.values == Values::Given) {
        line("# Some have the values of one execution, which may be confidential.\n");
    }
    line(&format!(
        "title = {}",
        toml::Value::String(format!("Captured from {target}"))
    ));
    line(&format!(
        "\n[server]\n# target = {quoted}   # where it was seen; what changes data would change it there\n"
    ));
    line("[[workload]]\nname    = \"captured\"\nclients = 8");
    line(&format!(
        "# rate  = {per_s:.1}   # as often as it was seen (open loop)\nscripts = ["
    ));
    let ms = |statement: &Statement| statement.total_s * 1_000.0 / statement.calls.max(1) as f64;
    for (number, statement) in (1..).zip(statements) {
        let weight = statement.calls.clamp(1, MOST_WEIGHT);
        let cut = match statement.values == Values::LeftOut && statement.text.contains("...") {
            true => "; the server cut lists of values short, of which each has one value here",
            false => "",
        };
        let changes = match changes_data(statement) {
            true => "; changes data",
            false => "",
        };
        line(&format!(
            "  # {} times, {:.3} ms each{changes}{cut}\n  {{ name = \"s{number}\", weight = {weight}, script = '''\n\
             {};\n''' }},",
            statement.calls,
            ms(statement),
            script(statement).unwrap_or_default()
        ));
    }
    line("]\n\n[phases]\nwarmup  = \"10s\"\nmeasure = \"60s\"");
    text
}

/// A statement in pgbench's language, with what draws its values before it; nothing if the type of one is not known.
fn script(statement: &Statement) -> Option<String> {
    let text = statement.text.trim().trim_end_matches(';');
    let mut drawn = String::new();
    let script = match &statement.values {
        Values::Given => text.to_owned(),
        Values::Marked => marked(text, &mut drawn),
        Values::LeftOut => marked(&in_order(text), &mut drawn),
        Values::Numbered(types) => numbered(text, types, &mut drawn)?,
    };
    Some(drawn + &script)
}

/// A text of PostgreSQL's with a space behind each colon that a script would take for the begin of a variable's name:
/// that of a slice, or one in a comment, as in `/*action:show*/`. Names in quotes stay as they are; texts have been
/// replaced by their numbers.
fn without_names(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let (mut is_quoted, mut before) = (false, ' ');
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        written.push(one);
        is_quoted ^= one == '"';
        let begins_name = |next: &char| next.is_alphanumeric() || "_$".contains(*next);
        if one == ':' && before != ':' && !is_quoted && rest.peek().is_some_and(begins_name) {
            written.push(' ');
        }
        before = one;
    }
    written
}

/// A digest's text as a statement that can be executed: without spaces before parentheses, which functions cannot
/// have, and with one value for a list.
fn in_order(digest: &str) -> String {
    let text = digest.replace(" (", "(").replace("/* , ... */", "");
    // Where a literal of a type stood, there is a number now.
    let text = ["DATE", "TIME", "TIMESTAMP"]
        .iter()
        .fold(text, |text, kind| text.replace(&format!(" {kind} ?"), " ?"));
    text.replace("?, ...", "?").replace("(...)", "(?)").trim().to_owned()
}

/// A text with a value for each `?` that is not quoted.
fn marked(text: &str, drawn: &mut String) -> String {
    let mut pieces = MyStatement::around_placeholders(text).into_iter();
    let mut script = pieces.next().unwrap_or_default();
    for (number, piece) in (1..).zip(pieces) {
        script.push_str(&value(number, None, drawn));
        script.push_str(&piece);
    }
    script
}

/// A text with a value for each `$1`, `$2`, …; nothing if there is one without a type.
fn numbered(text: &str, types: &[String], drawn: &mut String) -> Option<String> {
    let mut script = String::new();
    let mut known: Vec<(usize, String)> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        script.push_str(before);
        let digits = after.len() - after.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let (digits, after) = after.split_at(digits);
        rest = after;
        let in_name = script.ends_with(|one: char| one.is_alphanumeric() || one == '_')
            || !script.matches('"').count().is_multiple_of(2);
        let number = digits.parse::<usize>().ok().filter(|_| !in_name);
        let Some(number) = number else {
            script.push('$');
            script.push_str(digits);
            continue;
        };
        let place = match known.iter().find(|(other, _)| *other == number) {
            Some((_, place)) => place.clone(),
            None => {
                let kind = types.get(number.wrapping_sub(1))?;
                let place = value(number, Some(kind), drawn);
                known.push((number, place.clone()));
                place
            }
        };
        script.push_str(&place);
    }
    Some(script + rest)
}

/// What stands in the place of a value of a type; what draws it is added to `drawn`.
fn value(number: usize, kind: Option<&str>, drawn: &mut String) -> String {
    let constant = match kind {
        Some("text" | "varchar" | "bpchar" | "char" | "name" | "unknown") => "'text'",
        Some("bool") => "true",
        Some("timestamp" | "timestamptz") => "now()",
        Some("date") => "current_date",
        Some("time" | "timetz") => "'12:00'",
        Some("interval") => "'1 day'",
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

    fn executed(text: &str, values: Values) -> Statement {
        Statement {
            text: text.to_owned(),
            values,
            calls: 3,
            total_s: 0.5,
        }
    }

    #[test]
    fn what_was_executed_becomes_an_experiment_that_runs() {
        let types = ["int8", "text"].map(str::to_owned).to_vec();
        let all = [
            executed(
                "select a from t where id = $1 and b = $2 or c = $1",
                Values::Numbered(types),
            ),
            executed("update t set a = ? where id = ? and b <> 'why?'", Values::Marked),
            executed(
                "select '{}'::jsonb ? 'a', \"a$1b\", a$1 -- $x",
                Values::Numbered(Vec::new()),
            ),
            executed(
                "select a[$1: $2] from t where b = $3::date",
                Values::Numbered(["int4", "int4", "date"].map(str::to_owned).to_vec()),
            ),
            executed("select 1 from t where a = '?'", Values::Given),
            executed(
                "SELECT MAX ( `a` ) , SUBSTRING ( `b` , ?, ... ) FROM `t` WHERE `id` IN (...)",
                Values::LeftOut,
            ),
            executed("INSERT INTO `t` VALUES (...) /* , ... */ ", Values::LeftOut),
        ];
        let made = text(&all, "postgres://ann@db/shop", 12.3, Duration::from_secs(5));
        insta::assert_snapshot!(made);
        let experiment = Experiment::parse(Path::new("captured.toml"), &made).unwrap();
        assert_eq!(experiment.plan(Size::Small, &[], None, 1, 2).unwrap().runs.len(), 1);
    }

    #[test]
    fn a_colon_begins_no_name() {
        for (text, written) in [
            (
                "/*app:shop,at:1*/ select 1 -- b:c",
                "/*app: shop,at: 1*/ select 1 -- b: c",
            ),
            ("select a::int -- x\n, b::int", "select a::int -- x\n, b::int"),
            (
                "select a[$1:$2], b[i:j], f(x := $3)",
                "select a[$1: $2], b[i: j], f(x := $3)",
            ),
            ("select \"a:b\" /* :x */", "select \"a:b\" /* : x */"),
        ] {
            assert_eq!(without_names(text), written);
        }
    }

    #[test]
    fn a_text_that_would_be_more_than_a_statement_is_left_out() {
        for (text, psql, mysql) in [
            ("select 1", true, true),
            ("select a::text from t", true, true),
            ("select 1\n\\shell touch /tmp/x", false, false),
            ("select 1 \\gset", false, false),
            ("select 1; select 2", false, false),
            ("select '\n\\shell x'", true, true),
            ("select 'a\\' \\shell x -- '", false, false),
            ("select 'at 12:30 :x'", false, true),
            ("select :x", false, false),
            ("select \"'''\"", false, false),
            ("select '\u{1b}[31m'", false, false),
        ] {
            let statement = executed(text, Values::Given);
            assert_eq!(can_be_written(&statement, Lexis::Psql), psql, "{text}");
            assert_eq!(can_be_written(&statement, Lexis::Mysql), mysql, "{text}");
        }
    }

    #[test]
    fn what_is_nobodys_work_is_left_out() {
        for (text, is) in [
            ("BEGIN", false),
            ("/* app */ select 1", true),
            ("/* select */ -- one\n commit", false),
            ("/* never ends", false),
            ("set x = 1", false),
            ("change master to master_password = 'x'", false),
            ("do $$ begin end $$", false),
            ("", false),
            ("select a from t where b in (...)", true),
            ("select a from t where b = ...", false),
        ] {
            assert_eq!(is_work(&executed(text, Values::Given)), is, "{text}");
        }
    }
}

//! What kind of statement a text is, and what there is to do about it.

use super::define::define;
use super::tokens::{Kind, Token, joined, solid, split, tokens};
use super::translate::{Text, number_by_name, number_by_place, translate};
use crate::executor::OracleError;

/// A statement, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// It has rows.
    Query {
        text: Text,
        /// Whether it locks them, so that a transaction begins with it.
        locks: bool,
        /// How many seconds it waits for locks; none: as long as it takes.
        wait: Option<u32>,
    },
    /// It changes rows.
    Change(Text),
    /// It defines something, and commits.
    Define(Vec<String>),
    /// Parts of a block, and whether what fails in it is swallowed.
    Block {
        parts: Vec<Statement>,
        swallows: bool,
    },
    /// It is to be accepted, and to have no effect.
    Nothing,
    /// The same, of those who may alter the system.
    NothingBySystem,
    /// Something is to be put out of the server's memory.
    Flush(String),
    /// How another one would be executed is to be written down.
    Explain {
        id: Option<String>,
        text: Text,
        /// What is done first, and to which table.
        operation: String,
        table: Option<String>,
    },
    /// What the session is doing.
    Module(String),
    Commit,
    RollBack,
    /// Something within a transaction, as it stands.
    Within(String),
    /// How the next transaction is isolated.
    Isolate(String),
    /// How all further transactions are.
    IsolateAll(String),
    /// A parameter of the session.
    SetSession {
        name: String,
        value: String,
    },
    /// A parameter of the server, now, in what it starts with, or both.
    SetSystem {
        name: String,
        /// None: back to what it was.
        value: Option<String>,
        now: bool,
        later: bool,
    },
}

/// Understands a text.
///
/// # Errors
/// As Oracle would say, or that the stand-in knows nothing like it.
pub(super) fn read(sql: &str) -> Result<Statement, OracleError> {
    let mut all = tokens(sql);
    while all
        .last()
        .is_some_and(|last| last.kind == Kind::Space || last.is_sign(";") || last.is_sign("/"))
    {
        all.pop();
    }
    let first = solid(&all, 0).map(|at| all[at].clone());
    let is_block = first
        .as_ref()
        .is_some_and(|first| first.is_word("begin") || first.is_word("declare"));
    if is_block {
        number_by_name(&mut all);
    } else {
        number_by_place(&mut all);
    }
    understand(all)
}

fn understand(mut all: Vec<Token>) -> Result<Statement, OracleError> {
    let Some(first) = solid(&all, 0) else {
        return Err(OracleError::new(900, "invalid SQL statement"));
    };
    all.drain(..first);
    let word = all[0].text.clone();
    let second = solid(&all, 1).map(|at| all[at].text.clone()).unwrap_or_default();
    Ok(match (word.as_str(), second.as_str()) {
        ("select", "from") => return Err(OracleError::new(936, "missing expression")),
        ("select" | "with" | "(", _) => query(all),
        ("insert" | "update" | "merge", _) => change(all)?,
        ("delete", _) => {
            if second != "from" {
                all.insert(1, Token::verbatim(" from"));
            }
            change(all)?
        }
        ("alter", "session") => alter_session(&all),
        ("alter", "system") => alter_system(&all)?,
        ("create" | "alter" | "drop" | "truncate" | "comment" | "grant" | "revoke" | "analyze", _) => {
            Statement::Define(define(all)?)
        }
        ("begin", _) => block(&all)?,
        ("commit", _) => Statement::Commit,
        ("rollback", "" | "work") => Statement::RollBack,
        ("rollback" | "savepoint" | "lock", _) => Statement::Within(translate(all).sql),
        ("set", "transaction") => Statement::Isolate(isolation(&joined(&all))),
        ("explain", _) => explain(&all)?,
        ("declare", _) => {
            let begin = all.iter().position(|token| token.is_word("begin"));
            block(begin.map_or(&[], |begin| &all[begin..]))?
        }
        _ => return Err(OracleError::new(900, "invalid SQL statement")),
    })
}

fn query(mut all: Vec<Token>) -> Statement {
    let locks = (0..all.len())
        .rev()
        .find(|at| all[*at].is_word("for") && solid(&all, at + 1).is_some_and(|next| all[next].is_word("update")));
    let mut wait = None;
    if let Some(at) = locks {
        let words: Vec<_> = all[at..].iter().filter(|token| token.kind != Kind::Space).collect();
        let seconds = words.iter().position(|token| token.is_word("wait"));
        let seconds = seconds
            .and_then(|at| words.get(at + 1))
            .and_then(|token| token.text.parse().ok());
        let nowait = seconds == Some(0) || words.iter().any(|token| token.is_word("nowait"));
        let behind = if nowait {
            "for update nowait"
        } else if words.iter().any(|token| token.is_word("skip")) {
            "for update skip locked"
        } else {
            "for update"
        };
        wait = seconds.filter(|seconds| *seconds > 0);
        all.truncate(at);
        all.push(Token::verbatim(behind));
    }
    Statement::Query {
        text: translate(all),
        locks: locks.is_some(),
        wait,
    }
}

fn change(all: Vec<Token>) -> Result<Statement, OracleError> {
    let returns = all.iter().any(|token| token.is_word("returning"));
    if returns {
        return Err(OracleError::new(
            3001,
            "unimplemented feature (the stand-in returns nothing into binds)",
        ));
    }
    Ok(Statement::Change(translate(all)))
}

/// What `serializable` is in Oracle, PostgreSQL calls repeatable read.
fn isolation(text: &str) -> String {
    let text = text.to_lowercase();
    if text.contains("serializable") {
        "isolation level repeatable read".to_owned()
    } else if text.contains("read only") {
        "isolation level repeatable read read only".to_owned()
    } else {
        "isolation level read committed".to_owned()
    }
}

/// `name = value` behind `set`.
fn setting(all: &[Token]) -> Option<(String, String, &[Token])> {
    let set = all.iter().position(|token| token.is_word("set"))?;
    let name = solid(all, set + 1)?;
    let sign = solid(all, name + 1).filter(|at| all[*at].is_sign("="))?;
    let first = solid(all, sign + 1)?;
    // A value is one token, or a number with its unit, or a list.
    let mut last = first;
    while all.get(last + 1).is_some_and(|next| next.kind != Kind::Space) {
        last += 1;
    }
    let value = match all[first].kind {
        // As the parameters' view shows words.
        Kind::Word | Kind::Number => joined(&all[first..=last]).to_uppercase(),
        _ => joined(&all[first..=last]),
    };
    let value = value.trim_matches(['\'', '"']).to_owned();
    Some((all[name].text.clone(), value, &all[last + 1..]))
}

fn alter_session(all: &[Token]) -> Statement {
    match setting(all) {
        Some((name, value, _)) if name == "isolation_level" => Statement::IsolateAll(isolation(&value)),
        Some((name, value, _)) => Statement::SetSession { name, value },
        None => Statement::Nothing,
    }
}

fn alter_system(all: &[Token]) -> Result<Statement, OracleError> {
    let words: Vec<_> = all.iter().filter(|token| token.kind != Kind::Space).collect();
    if words.get(2).is_some_and(|word| word.is_word("flush")) {
        let what = words.get(3).map_or("", |word| word.text.as_str());
        return Ok(Statement::Flush(what.to_owned()));
    }
    let is_reset = words.get(2).is_some_and(|word| word.is_word("reset"));
    let (name, value, rest) = match setting(all) {
        Some((name, value, rest)) => (name, Some(value), rest),
        None if is_reset => {
            let name = words
                .get(3)
                .ok_or_else(|| OracleError::new(2065, "illegal option for ALTER SYSTEM"))?;
            (name.text.clone(), None, all)
        }
        None => return Ok(Statement::NothingBySystem),
    };
    let scope = rest.iter().position(|token| token.is_word("scope"));
    let scope = scope.map(|at| joined(&rest[at..])).unwrap_or_default();
    let said = |word: &str| scope.contains(word);
    Ok(Statement::SetSystem {
        name,
        value,
        now: !said("spfile"),
        later: !said("memory"),
    })
}

fn explain(all: &[Token]) -> Result<Statement, OracleError> {
    let no_plan = || OracleError::new(905, "missing keyword");
    let at = all.iter().position(|token| token.is_word("for")).ok_or_else(no_plan)?;
    let id = all[..at].iter().find(|token| token.kind == Kind::Text);
    let inner = &all[at + 1..];
    let first = solid(inner, 0).ok_or_else(no_plan)?;
    let source = ["from", "update", "into"]
        .iter()
        .find_map(|word| inner.iter().position(|token| token.is_word(word)));
    let table = source
        .and_then(|source| solid(inner, source + 1))
        .filter(|table| inner[*table].names());
    let text = match understand(inner.to_vec())? {
        Statement::Query { text, .. } | Statement::Change(text) => text,
        _ => return Err(no_plan()),
    };
    Ok(Statement::Explain {
        id: id.map(|id| id.text.trim_matches('\'').to_owned()),
        text,
        operation: format!("{} STATEMENT", inner[first].text.to_uppercase()),
        table: table.map(|table| inner[table].text.trim_matches('"').to_uppercase()),
    })
}

fn block(all: &[Token]) -> Result<Statement, OracleError> {
    let inner = match all {
        [first, inner @ .., last] if first.is_word("begin") && last.is_word("end") => inner,
        _ => return Err(unknown_block(all)),
    };
    let exception = inner.iter().position(|token| token.is_word("exception"));
    let inner = &inner[..exception.unwrap_or(inner.len())];
    let mut parts = Vec::new();
    for part in split(inner, ";") {
        let Some(first) = solid(part, 0) else { continue };
        // What is no statement either may be PL/SQL, of which hardly anything is known here.
        parts.push(block_part(&part[first..]).map_err(|error| match error.code {
            900 => unknown_block(part),
            _ => error,
        })?);
    }
    Ok(Statement::Block {
        parts,
        swallows: exception.is_some(),
    })
}

fn unknown_block(all: &[Token]) -> OracleError {
    let text: String = joined(all).chars().take(60).collect();
    OracleError::new(6550, &format!("the stand-in does not understand this block: {text}"))
}

fn block_part(part: &[Token]) -> Result<Statement, OracleError> {
    let words: Vec<_> = part.iter().filter(|token| token.kind != Kind::Space).collect();
    let names: Vec<_> = words.iter().take(3).map(|token| token.text.as_str()).collect();
    let call = |text: &str| -> Option<Text> {
        let open = part.iter().position(|token| token.is_sign("("))?;
        let mut tokens = vec![Token::verbatim(text)];
        tokens.extend_from_slice(&part[open..]);
        Some(translate(tokens))
    };
    match names[..] {
        ["null", ..] => Ok(Statement::Nothing),
        ["dbms_session" | "dbms_lock", ".", "sleep"] => {
            let text = call("select 1 from pg_sleep").ok_or_else(|| unknown_block(part))?;
            Ok(Statement::Query {
                text,
                locks: false,
                wait: None,
            })
        }
        ["dbms_stats", ".", "gather_table_stats"] => {
            // Behind the owner's name.
            let table = part.iter().rfind(|token| token.kind == Kind::Text);
            let table = table.map_or("", |name| name.text.trim_matches('\''));
            Ok(Statement::Define(vec![format!("analyze {}", table.to_lowercase())]))
        }
        ["dbms_stats", ".", "gather_schema_stats"] => Ok(Statement::Define(vec!["analyze".to_owned()])),
        ["dbms_application_info", ".", "set_module"] => {
            let module = part.iter().find(|token| token.kind == Kind::Text);
            let module = module.map_or("", |module| module.text.trim_matches('\''));
            Ok(Statement::Module(module.to_owned()))
        }
        [
            "dbms_stats" | "dbms_session" | "dbms_application_info" | "dbms_shared_pool",
            ".",
            _,
        ] => Ok(Statement::Nothing),
        ["execute", "immediate", text] if text.starts_with('\'') => {
            let text = joined(part);
            let text = text
                .split_once('\'')
                .map_or("", |(_, text)| text.trim_end().trim_end_matches('\''));
            read(&text.replace("''", "'"))
        }
        ["select", ..] => {
            // Into variables, of which nobody hears.
            let into = part.iter().position(|token| token.is_word("into"));
            let from = part.iter().position(|token| token.is_word("from"));
            let (Some(into), Some(from)) = (into, from.filter(|from| Some(*from) > into)) else {
                return Err(unknown_block(part));
            };
            Ok(query([&part[..into], &part[from..]].concat()))
        }
        _ => match understand(part.to_vec())? {
            Statement::Define(_) | Statement::Query { .. } => Err(unknown_block(part)),
            statement => Ok(statement),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_may_lock() {
        let lock = |sql: &str| match read(sql) {
            Ok(Statement::Query { text, locks, wait }) => (text.sql, locks, wait),
            other => panic!("{other:?}"),
        };
        assert_eq!(lock("select 1 from t;"), ("select 1 from t".to_owned(), false, None));
        let sql = "select 1 from t for update of a wait 5";
        assert_eq!(lock(sql), ("select 1 from t for update".to_owned(), true, Some(5)));
        let sql = "select 1 from t for update nowait";
        assert_eq!(lock(sql), (sql.to_owned(), true, None));
    }

    #[test]
    fn parameters_are_set() {
        let system = |name: &str, value: Option<&str>, now, later| Statement::SetSystem {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            now,
            later,
        };
        for (sql, expected) in [
            (
                "alter system set a = 1G scope=both",
                system("a", Some("1G"), true, true),
            ),
            (
                "alter system set a = 'x y' scope = spfile sid='*'",
                system("a", Some("x y"), false, true),
            ),
            (
                "alter system set a = true deferred scope=memory",
                system("a", Some("TRUE"), true, false),
            ),
            ("alter system reset a scope = spfile", system("a", None, false, true)),
            (
                "alter system flush buffer_cache",
                Statement::Flush("buffer_cache".to_owned()),
            ),
            ("alter system checkpoint", Statement::NothingBySystem),
        ] {
            assert_eq!(read(sql), Ok(expected), "{sql}");
        }
    }

    #[test]
    fn blocks_are_a_few_calls_and_statements() {
        let Ok(Statement::Block { parts, swallows }) = read(
            "declare n number; begin update t set a = :x where b = :x; select count(*) into n from t; null; \
             dbms_session.sleep(:y); execute immediate 'drop table it''s'; commit; exception when others then null; \
             end;",
        ) else {
            panic!("not understood");
        };
        assert!(swallows);
        assert_eq!(parts.len(), 6);
        let Statement::Change(text) = &parts[0] else {
            panic!("{:?}", parts[0])
        };
        assert_eq!(text.binds, [0, 0]);
        let Statement::Query { text, .. } = &parts[3] else {
            panic!("{:?}", parts[3])
        };
        assert_eq!(
            (text.sql.as_str(), &text.binds[..]),
            ("select 1 from pg_sleep($1)", &[1][..])
        );
        assert_eq!(parts[5], Statement::Commit);
    }

    #[test]
    fn what_is_none_is_refused() {
        for (sql, code) in [
            ("", 900),
            ("foo bar", 900),
            ("select from dual", 936),
            ("begin loop null; end loop; end;", 6550),
            ("insert into t values (1) returning a into :1", 3001),
        ] {
            assert_eq!(read(sql).map_err(|error| error.code), Err(code), "{sql}");
        }
    }
}

//! Definitions: tables, indexes, sequences, without what says how they are stored.

use super::tokens::{Kind, Token, closing, solid, split, tokens};
use super::translate::{map_words, written};
use super::types::map_columns;
use crate::executor::OracleError;

/// The texts that carry a definition out: none, if there is nothing to do about it here.
///
/// # Errors
/// The stand-in has nothing like it.
pub(super) fn define(mut all: Vec<Token>) -> Result<Vec<String>, OracleError> {
    let words: Vec<String> = all
        .iter()
        .filter(|token| token.kind != Kind::Space)
        .take(4)
        .map(|token| token.text.clone())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let pool = pool(&all);
    match words[..] {
        ["create", "table", ..] | ["create", "global", "temporary", "table"] => create_table(&mut all)?,
        ["create", "index", ..] | ["create", "unique" | "bitmap", "index", ..] => create_index(&mut all),
        ["create" | "alter", "sequence", ..] => sequence(&mut all),
        ["create", "view", ..] | ["create", "or", "replace", "view"] => {}
        ["alter", "table", ..] => {
            if !alter_table(&mut all)? {
                return Ok(pool.into_iter().collect());
            }
        }
        ["drop", "table", ..] => drop_table(&mut all),
        ["drop", "index" | "sequence" | "view", ..] | ["comment", ..] => {}
        ["truncate", "table", ..] => {
            let end = all
                .iter()
                .position(|token| token.is_word("drop") || token.is_word("reuse"));
            all.truncate(end.unwrap_or(all.len()));
        }
        ["alter", "index", ..] => return Ok(pool.into_iter().collect()),
        // What has no counterpart, and does not change what statements say.
        [
            "create" | "alter" | "drop",
            "user" | "tablespace" | "role" | "profile",
            ..,
        ]
        | ["grant" | "revoke", ..] => return Ok(Vec::new()),
        ["analyze", "table", ..] => all = tokens("analyze"),
        _ => {
            let what = words.join(" ").to_uppercase();
            return Err(OracleError::new(
                3001,
                &format!("unimplemented feature (the stand-in knows no {what})"),
            ));
        }
    }
    Ok(std::iter::once(written(&map_words(all)).sql).chain(pool).collect())
}

/// What notes the buffer pool that a definition of a table or an index names: `storage (buffer_pool keep)`. One that
/// stands behind `using` is of the index of a constraint, of which nothing is noted.
fn pool(all: &[Token]) -> Option<String> {
    let named = all.iter().position(|token| token.is_word("buffer_pool"))?;
    if all[..named].iter().any(|token| token.is_word("using")) {
        return None;
    }
    let pool = &all[solid(all, named + 1)?].text;
    let kind = all
        .iter()
        .position(|token| token.is_word("table") || token.is_word("index"))?;
    let first = solid(all, kind + 1)?;
    let end = (first..all.len()).find(|at| !all[*at].names() && !all[*at].is_sign("."))?;
    let name = super::tokens::joined(&map_words(all[first..end].to_vec())).replace('\'', "''");
    Some(format!("select sys.put_into_pool('{name}', '{pool}')"))
}

/// The place of a word that is not within parentheses.
fn outer(all: &[Token], from: usize, word: &str) -> Option<usize> {
    let mut depth = 0_usize;
    (from..all.len()).find(|at| {
        let token = &all[*at];
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && token.is_word(word)
    })
}

fn create_table(all: &mut Vec<Token>) -> Result<(), OracleError> {
    all.retain(|token| !token.is_word("global"));
    let query = outer(all, 0, "as").map(|at| all.split_off(at));
    let first = all.iter().position(|token| token.is_word("table")).unwrap_or_default();
    let open = all.iter().position(|token| token.is_sign("("));
    let end = match open.and_then(|open| closing(all, open)) {
        Some(close) => close + 1,
        // Only the name stands behind `table`.
        None => solid(all, first + 1).map_or(all.len(), |name| {
            let dot = all.get(name + 1).is_some_and(|token| token.is_sign("."));
            name + if dot { 3 } else { 1 }
        }),
    };
    all.truncate(end);
    if let Some(open) = open.filter(|open| *open < all.len()) {
        let inner = all[open + 1..all.len() - 1].to_vec();
        let columns: Vec<String> = split(&inner, ",")
            .into_iter()
            .map(|column| {
                let mut column = column.to_vec();
                strip_storage(&mut column);
                map_columns(&mut column)?;
                Ok(super::tokens::joined(&map_words(column)))
            })
            .collect::<Result<_, OracleError>>()?;
        all.truncate(open);
        all.push(Token::verbatim(&format!("({})", columns.join(","))));
    }
    if let Some(query) = query {
        let mut query = query;
        super::types::map_cast(&mut query);
        all.push(Token::verbatim(" "));
        all.extend(query);
    }
    Ok(())
}

/// Takes away how a constraint is kept.
fn strip_storage(column: &mut Vec<Token>) {
    if let Some(at) = outer(column, 0, "using") {
        column.truncate(at);
    }
    let words = ["enable", "disable", "validate", "novalidate", "rely", "norely"];
    column.retain(|token| !words.iter().any(|word| token.is_word(word)));
}

fn create_index(all: &mut Vec<Token>) {
    all.retain(|token| !token.is_word("bitmap"));
    let open = all.iter().position(|token| token.is_sign("("));
    if let Some(close) = open.and_then(|open| closing(all, open)) {
        all.truncate(close + 1);
    }
}

fn sequence(all: &mut Vec<Token>) {
    all.retain(|token| {
        !["order", "noorder", "nocache", "keep", "nokeep", "session"]
            .iter()
            .any(|word| token.is_word(word))
    });
    for token in all {
        token.text = match token.text.as_str() {
            "nocycle" => "no cycle".to_owned(),
            "nomaxvalue" => "no maxvalue".to_owned(),
            "nominvalue" => "no minvalue".to_owned(),
            _ => continue,
        };
    }
}

fn drop_table(all: &mut Vec<Token>) {
    all.retain(|token| !token.is_word("purge") && !token.is_word("constraints"));
}

/// Whether something is left to do.
fn alter_table(all: &mut Vec<Token>) -> Result<bool, OracleError> {
    let Some(action) = ["add", "drop", "rename"].iter().find_map(|word| outer(all, 0, word)) else {
        return Ok(false);
    };
    if all[action].is_word("add")
        && let Some(open) = solid(all, action + 1).filter(|open| all[*open].is_sign("("))
        && let Some(close) = closing(all, open)
    {
        let inner = all[open + 1..close].to_vec();
        all.truncate(action);
        let parts = split(&inner, ",").into_iter().map(|part| {
            let mut part = part.to_vec();
            strip_storage(&mut part);
            map_columns(&mut part)?;
            Ok(format!("add {}", super::tokens::joined(&map_words(part))))
        });
        let parts: Vec<String> = parts.collect::<Result<_, OracleError>>()?;
        all.push(Token::verbatim(&parts.join(", ")));
        return Ok(true);
    }
    let mut rest = all.split_off(action + 1);
    strip_storage(&mut rest);
    map_columns(&mut rest)?;
    all.append(&mut rest);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(oracle: &str, postgres: &[&str]) {
        let defined = define(tokens(oracle)).map_err(|error| error.message);
        assert_eq!(
            defined.as_deref(),
            Ok(&*postgres.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        );
    }

    #[test]
    fn tables_lose_how_they_are_stored() {
        becomes(
            "create table t (id number(10) primary key using index tablespace x, v varchar2(20 char) default 'a, b' \
             not null, n number(*, 0), d date default sysdate, r raw(16), f binary_double, constraint u unique (v) \
             enable) tablespace users pctfree 10 storage (initial 1m)",
            &[
                "create table t (id numeric(10) primary key , v varchar(20) default 'a, b' not null, n numeric(38, 0), \
               d timestamp(0) default cast(date_trunc('second', clock_timestamp()) as timestamp(0)), r bytea, f double \
               precision, constraint u unique (v) )",
            ],
        );
        becomes(
            "create table t nologging as select cast(1 as number) a from dual",
            &["create table t as select cast(1 as numeric) a from dual"],
        );
        becomes(
            "create table t (id number generated always as identity)",
            &["create table t (id bigint generated always as identity)"],
        );
    }

    #[test]
    fn other_definitions_lose_what_has_no_counterpart() {
        becomes(
            "create index i on t (a, b) tablespace x online",
            &["create index i on t (a, b)"],
        );
        becomes(
            "create sequence s cache 20 noorder nocycle",
            &["create sequence s cache 20  no cycle"],
        );
        becomes("drop table t cascade constraints purge", &["drop table t cascade"]);
        becomes("truncate table t drop storage", &["truncate table t"]);
        becomes(
            "alter table t add (a number, b date)",
            &["alter table t add a numeric, add  b timestamp(0)"],
        );
        becomes("alter table t nologging", &[]);
        becomes("grant select on t to public", &[]);
        becomes(
            "alter table t storage (buffer_pool keep)",
            &["select sys.put_into_pool('t', 'keep')"],
        );
        becomes(
            "create index \"I\" on t (a) storage (initial 1m buffer_pool keep)",
            &[
                "create index \"i\" on t (a)",
                "select sys.put_into_pool('\"i\"', 'keep')",
            ],
        );
        becomes(
            "alter table t add primary key (a) using index storage (buffer_pool keep)",
            &["alter table t add primary key (a)"],
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for sql in [
            "create table t (c clob)",
            "create or replace procedure p is begin null; end;",
            "create type t",
        ] {
            assert_eq!(define(tokens(sql)).map_err(|error| error.code), Err(3001), "{sql}");
        }
    }
}

//! The few things that statements for Oracle say in its own way, as PostgreSQL says them.

use super::limit::limit_rows;
use super::tokens::{Kind, Token, closing, joined, solid, solid_before};
use super::types::map_cast;

/// A statement for PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) sql: String,
    /// For `$1` and so on: which of the binds it is, counted from 0.
    pub(super) binds: Vec<usize>,
}

/// Numbers binds as they come: in SQL each place is a bind of its own.
pub(super) fn number_by_place(tokens: &mut [Token]) {
    let binds = tokens.iter_mut().filter(|token| token.kind == Kind::Bind);
    for (number, bind) in binds.enumerate() {
        bind.text = number.to_string();
    }
}

/// Numbers binds by their names: in a block a name is one bind, however often it is there.
pub(super) fn number_by_name(tokens: &mut [Token]) {
    let mut names: Vec<String> = Vec::new();
    for bind in tokens.iter_mut().filter(|token| token.kind == Kind::Bind) {
        let name = bind.text.to_lowercase();
        let known = names.iter().position(|known| *known == name);
        bind.text = known.unwrap_or(names.len()).to_string();
        if known.is_none() {
            names.push(name);
        }
    }
}

/// Translates a query or a change whose binds are numbered.
pub(super) fn translate(mut tokens: Vec<Token>) -> Text {
    generate_rows(&mut tokens);
    limit_rows(&mut tokens);
    map_cast(&mut tokens);
    written(&map_words(tokens))
}

/// Tokens as text, with binds as PostgreSQL counts them.
pub(super) fn written(tokens: &[Token]) -> Text {
    let mut text = Text {
        sql: String::new(),
        binds: Vec::new(),
    };
    for token in tokens {
        if token.kind == Kind::Bind {
            text.binds.push(token.text.parse().unwrap_or_default());
            text.sql.push_str(&format!("${}", text.binds.len()));
        } else {
            text.sql.push_str(&token.text);
        }
    }
    text.sql = text.sql.trim().to_owned();
    text
}

/// `from dual connect by level <= n`: as many rows.
fn generate_rows(tokens: &mut Vec<Token>) {
    let Some(at) = (0..tokens.len()).find(|at| tokens[*at].is_word("connect")) else {
        return;
    };
    let mut places = vec![at];
    while places.len() < 4 {
        let Some(next) = places.last().and_then(|last| solid(tokens, last + 1)) else {
            return;
        };
        places.push(next);
    }
    let [_, by, level, sign] = places[..] else { return };
    if !(tokens[by].is_word("by") && tokens[level].is_word("level") && tokens[sign].is_sign("<=")) {
        return;
    }
    let Some(dual) = (0..at).rev().find(|at| tokens[*at].is_word("dual")) else {
        return;
    };
    let Some(first) = solid(tokens, sign + 1) else { return };
    let last = if tokens[first].is_sign("(") {
        closing(tokens, first).unwrap_or(first)
    } else {
        first
    };
    let mut source = vec![Token::verbatim("generate_series(1, cast(")];
    source.extend_from_slice(&tokens[first..=last]);
    source.push(Token::verbatim(" as bigint)) as dual(level)"));
    tokens.splice(dual..=last, source);
}

/// Maps what stands for itself.
pub(super) fn map_words(tokens: Vec<Token>) -> Vec<Token> {
    let mut mapped = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let behind_dot = solid_before(&tokens, at).is_some_and(|before| tokens[before].is_sign("."));
        let next = solid(&tokens, at + 1).map(|next| &tokens[next]);
        let is_call = next.is_some_and(|next| next.is_sign("("));
        let before_dot = next.is_some_and(|next| next.is_sign("."));
        match token.kind {
            Kind::Name => mapped.push(Token::new(Kind::Name, &name(&token.text))),
            Kind::Word => {
                if let Some((sequence, length)) = sequence(&tokens[at..]) {
                    mapped.push(Token::verbatim(&sequence));
                    at += length;
                    continue;
                }
                if token.text == "table" && is_call {
                    // A function's rows are a table without being called one.
                    let open = solid(&tokens, at + 1).unwrap_or(at);
                    if let Some(close) = closing(&tokens, open) {
                        mapped.extend(map_words(tokens[open + 1..close].to_vec()));
                        at = close + 1;
                        continue;
                    }
                }
                let replaced = if behind_dot || before_dot {
                    None
                } else {
                    word(&token.text, is_call)
                };
                mapped.push(match replaced {
                    Some(replaced) => Token::verbatim(replaced),
                    None if token.text.contains('#') => Token::new(Kind::Name, &format!("\"{}\"", token.text)),
                    None => token.clone(),
                });
            }
            _ => mapped.push(token.clone()),
        }
        at += 1;
    }
    mapped
}

/// A word that PostgreSQL has another one for.
fn word(word: &str, is_call: bool) -> Option<&'static str> {
    Some(match (word, is_call) {
        ("sysdate", _) => "cast(date_trunc('second', clock_timestamp()) as timestamp(0))",
        ("systimestamp", _) => "clock_timestamp()",
        ("user", false) => "sys.session_user_name()",
        ("dbtimezone" | "sessiontimezone", _) => "cast('+00:00' as varchar(6))",
        ("rownum", _) => "row_number() over ()",
        ("minus", false) => "except",
        ("nvl", true) => "coalesce",
        _ => return None,
    })
}

/// A name in quotes. Names in capitals are those without quotes, which PostgreSQL keeps in small letters.
fn name(quoted: &str) -> String {
    if quoted.chars().any(char::is_lowercase) {
        quoted.to_owned()
    } else {
        quoted.to_lowercase()
    }
}

/// `name.nextval` or `name.currval` at the beginning, and how many tokens that is.
fn sequence(tokens: &[Token]) -> Option<(String, usize)> {
    let mut at = 1;
    while tokens.get(at)?.is_sign(".") {
        let last = tokens.get(at + 1)?;
        if last.is_word("nextval") || last.is_word("currval") {
            let name = joined(&tokens[..at]);
            return Some((format!("{}('{}')", last.text, name.replace('\'', "''")), at + 2));
        }
        last.names().then_some(())?;
        at += 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::tokens::tokens;

    fn translated(sql: &str) -> Text {
        let mut tokens = tokens(sql);
        number_by_place(&mut tokens);
        translate(tokens)
    }

    #[track_caller]
    fn becomes(oracle: &str, postgres: &str) {
        assert_eq!(translated(oracle).sql, postgres);
    }

    #[test]
    fn what_both_say_alike_stays() {
        let sql = "select a, 'It''s :x' from t where b >= 1.5 and \"Mixed\" is null";
        becomes(sql, sql);
    }

    #[test]
    fn binds_are_numbered_by_place() {
        let text = translated("update t set a = :v, b = :v where id = :1");
        assert_eq!(text.sql, "update t set a = $1, b = $2 where id = $3");
        assert_eq!(text.binds, [0, 1, 2]);
    }

    #[test]
    fn binds_of_blocks_are_numbered_by_name() {
        let mut tokens = tokens("p(:A, :b, :a)");
        number_by_name(&mut tokens);
        let text = written(&tokens);
        assert_eq!((text.sql.as_str(), &text.binds[..]), ("p($1, $2, $3)", &[0, 1, 0][..]));
    }

    #[test]
    fn limits_stand_where_their_query_ends() {
        becomes(
            "select * from (select * from t where rownum <= :1 and a = :2 order by b) where rownum < 5 for update",
            "select * from (select * from t where true and a = $1 order by b limit ($2) ) where true  limit (5) - 1 \
             for update",
        );
        assert_eq!(
            translated("select * from t where rownum <= :1 and a = :2").binds,
            [1, 0]
        );
        becomes("select rownum, a from t", "select row_number() over (), a from t");
    }

    #[test]
    fn limited_changes_change_what_a_query_finds() {
        becomes(
            "delete from t where a > 1 and rownum <= 10",
            "delete from t where ctid in (select ctid from   t  where  a > 1 and true limit (10) )",
        );
        becomes(
            "update t x set a = 1 where rownum = 1",
            "update t x set a = 1 where ctid in (select ctid from  t x  where  true limit (1) )",
        );
    }

    #[test]
    fn names_and_words_are_mapped() {
        becomes(
            "select \"ABC\", \"Abc\", v.serial# from v$session v",
            "select \"abc\", \"Abc\", v.\"serial#\" from v$session v",
        );
        becomes(
            "select s.nextval, x.s.currval from dual",
            "select nextval('s'), currval('x.s') from dual",
        );
        becomes(
            "select nvl(a, 0) from t minus select t.user from t",
            "select coalesce(a, 0) from t except select t.user from t",
        );
        becomes(
            "select * from table(dbms_xplan.display(null))",
            "select * from dbms_xplan.display(null)",
        );
        becomes(
            "select cast(:1 as number(10)), cast(a as date) x",
            "select cast($1 as numeric(10)), cast(a as timestamp(0)) x",
        );
        becomes(
            "select level from dual connect by level <= 10",
            "select level from generate_series(1, cast(10 as bigint)) as dual(level)",
        );
    }
}

//! `rownum <= n`, which limits the rows of the query that it stands in.

use super::tokens::{Token, closing, solid};

/// Turns conditions on `rownum` into limits.
pub(super) fn limit_rows(tokens: &mut Vec<Token>) {
    let mut from = 0;
    while let Some(at) = (from..tokens.len()).find(|at| tokens[*at].is_word("rownum")) {
        from = at + 1;
        let Some(limit) = Limit::at(tokens, at) else { continue };
        let mut clause = vec![Token::verbatim(" limit "), Token::verbatim("(")];
        clause.extend_from_slice(&tokens[limit.first..=limit.last]);
        clause.push(Token::verbatim(if limit.is_less { ") - 1 " } else { ") " }));
        let end = end_of_query(tokens, limit.last + 1);
        tokens.splice(end..end, clause);
        // The condition was met: what is left of it always is.
        tokens.splice(at..=limit.last, [Token::verbatim("true")]);
        limit_change(tokens, at);
    }
}

/// A condition on `rownum`.
struct Limit {
    first: usize,
    last: usize,
    is_less: bool,
}

impl Limit {
    fn at(tokens: &[Token], at: usize) -> Option<Self> {
        let sign = solid(tokens, at + 1)?;
        let is_less = tokens[sign].is_sign("<");
        if !is_less && !tokens[sign].is_sign("<=") && !tokens[sign].is_sign("=") {
            return None;
        }
        let first = solid(tokens, sign + 1)?;
        let last = if tokens[first].is_sign("(") {
            closing(tokens, first)?
        } else {
            first
        };
        Some(Self { first, last, is_less })
    }
}

/// Where the query that goes on at `from` ends.
fn end_of_query(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return at,
            }
        } else if depth == 0
            && ["for", "union", "minus", "intersect"]
                .iter()
                .any(|word| token.is_word(word))
        {
            return at;
        }
    }
    tokens.len()
}

/// A change has no limit in PostgreSQL: it changes the rows that a query with the limit finds.
fn limit_change(tokens: &mut Vec<Token>, condition: usize) {
    let Some(first) = solid(tokens, 0) else { return };
    let begins = match tokens[first].text.as_str() {
        "delete" => "delete",
        "update" => "update",
        _ => return,
    };
    let depth = |to: usize| -> usize {
        let opened = tokens[..to].iter().filter(|token| token.is_sign("(")).count();
        opened.saturating_sub(tokens[..to].iter().filter(|token| token.is_sign(")")).count())
    };
    if depth(condition) > 0 {
        return;
    }
    let Some(place) = (0..condition)
        .rev()
        .find(|at| tokens[*at].is_word("where") && depth(*at) == 0)
    else {
        return;
    };
    let to = (first..place)
        .find(|at| begins == "update" && tokens[*at].is_word("set"))
        .unwrap_or(place);
    let table: Vec<_> = tokens[first + 1..to]
        .iter()
        .filter(|token| !token.is_word("from"))
        .cloned()
        .collect();
    let mut inner = vec![Token::verbatim(" ctid in (select ctid from ")];
    inner.extend(table);
    inner.push(Token::verbatim(" where "));
    tokens.splice(place + 1..=place, inner);
    tokens.push(Token::verbatim(")"));
}

//! Oracle's types, in definitions and casts.

use super::tokens::{Kind, Token, closing, joined, solid, solid_before};
use crate::executor::OracleError;

/// Replaces the type that begins at `at`, with what stands in parentheses behind it; where it goes on. None: that is
/// no type.
fn replace(tokens: &mut Vec<Token>, at: usize) -> Option<usize> {
    let word = tokens[at].text.clone();
    let open = solid(tokens, at + 1).filter(|open| tokens[*open].is_sign("("));
    let close = open.and_then(|open| closing(tokens, open));
    let last = close.unwrap_or(at);
    let inner = match (open, close) {
        (Some(open), Some(close)) => {
            // Lengths in bytes are lengths in characters here.
            let inner = tokens[open + 1..close].iter();
            joined(
                &inner
                    .filter(|token| token.kind != Kind::Word)
                    .cloned()
                    .collect::<Vec<_>>(),
            )
        }
        _ => String::new(),
    };
    let inner = inner.trim();
    let with = |name: &str| match inner {
        "" => name.to_owned(),
        _ => format!("{name}({inner})"),
    };
    let replaced = match word.as_str() {
        "number" | "numeric" | "decimal" => match inner.strip_prefix('*') {
            Some("") => "numeric".to_owned(),
            Some(scale) => format!("numeric(38{scale})"),
            None => with("numeric"),
        },
        "integer" | "int" | "smallint" => "numeric(38)".to_owned(),
        "float" | "real" => "numeric".to_owned(),
        "varchar2" | "nvarchar2" | "varchar" => with("varchar"),
        "char" | "nchar" => with("char"),
        "date" => "timestamp(0)".to_owned(),
        "timestamp" => with("timestamp"),
        "raw" => "bytea".to_owned(),
        "binary_double" | "binary_float" => "double precision".to_owned(),
        _ => return None,
    };
    // PostgreSQL counts up in its own types only.
    let identity = solid(tokens, last + 1).is_some_and(|next| tokens[next].is_word("generated"));
    let replaced = if identity { "bigint" } else { &replaced };
    tokens.splice(at..=last, [Token::verbatim(replaced)]);
    Some(at + 1)
}

/// Types in `cast(… as …)`.
pub(super) fn map_cast(tokens: &mut Vec<Token>) {
    let mut at = 0;
    while at < tokens.len() {
        let behind_as = solid_before(tokens, at).is_some_and(|before| tokens[before].is_word("as"));
        let is_end = solid(tokens, at + 1).is_some_and(|next| tokens[next].is_sign(")") || tokens[next].is_sign("("));
        if tokens[at].kind == Kind::Word && behind_as && is_end {
            replace(tokens, at);
        }
        at += 1;
    }
}

/// Types of columns in a definition.
///
/// # Errors
/// There is a type that the stand-in does not have.
pub(super) fn map_columns(tokens: &mut Vec<Token>) -> Result<(), OracleError> {
    let mut at = 0;
    while at < tokens.len() {
        let names = solid_before(tokens, at).is_some_and(|before| tokens[before].names());
        if tokens[at].kind == Kind::Word && names {
            if ["clob", "nclob", "blob", "long", "bfile", "xmltype", "json"].contains(&&*tokens[at].text) {
                let what = tokens[at].text.to_uppercase();
                return Err(OracleError::new(
                    3001,
                    &format!("unimplemented feature (the stand-in has no {what})"),
                ));
            }
            replace(tokens, at);
        }
        at += 1;
    }
    Ok(())
}

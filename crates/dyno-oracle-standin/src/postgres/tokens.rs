//! The words of a statement, as Oracle sees them.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Space and comments.
    Space,
    /// A word without quotes, in lower case.
    Word,
    /// A name in double quotes.
    Name,
    /// A literal in single quotes.
    Text,
    /// A number.
    Number,
    /// A bind; its text is the name behind the colon.
    Bind,
    /// Anything else.
    Sign,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
}

impl Token {
    pub(super) fn new(kind: Kind, text: &str) -> Self {
        Self {
            kind,
            text: text.to_owned(),
        }
    }

    /// What is to be sent as it stands.
    pub(super) fn verbatim(text: &str) -> Self {
        Self::new(Kind::Sign, text)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    /// Whether it names something.
    pub(super) fn names(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Name)
    }
}

/// Takes a text apart. Spaces and comments become one space; hints are comments, too.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next(rest, first);
        let (taken, behind) = rest.split_at(length);
        rest = behind;
        let token = match kind {
            Kind::Space if tokens.last().is_some_and(|token| token.kind == Kind::Space) => continue,
            Kind::Space => Token::new(kind, " "),
            Kind::Word => Token::new(kind, &taken.to_lowercase()),
            Kind::Bind => Token::new(kind, taken[1..].trim_start()),
            _ => Token::new(kind, taken),
        };
        tokens.push(token);
    }
    tokens
}

/// What comes first, and how many bytes it has.
fn next(rest: &str, first: char) -> (Kind, usize) {
    let is_inner = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#');
    let while_inner = |from: usize| {
        let end = rest[from..].find(|letter| !is_inner(letter));
        end.map_or(rest.len(), |end| from + end)
    };
    let up_to = |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    match first {
        _ if first.is_whitespace() => {
            let end = rest.find(|letter: char| !letter.is_whitespace());
            (Kind::Space, end.unwrap_or(rest.len()))
        }
        '-' if rest.starts_with("--") => (Kind::Space, up_to(2, "\n")),
        '/' if rest.starts_with("/*") => (Kind::Space, up_to(2, "*/")),
        '\'' => (Kind::Text, up_to(1, "'")),
        '"' => (Kind::Name, up_to(1, "\"")),
        ':' if rest[1..].starts_with(is_inner) => (Kind::Bind, while_inner(1)),
        _ if first.is_ascii_digit() => {
            let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
            let end = rest.find(|letter| !is_part(letter));
            (Kind::Number, end.unwrap_or(rest.len()))
        }
        _ if first.is_alphabetic() || first == '_' => (Kind::Word, while_inner(0)),
        _ => {
            let pair = ["||", "<=", ">=", "<>", "!=", ":=", "=>"]
                .iter()
                .find(|pair| rest.starts_with(**pair));
            (Kind::Sign, pair.map_or(first.len_utf8(), |pair| pair.len()))
        }
    }
}

/// The tokens as text again.
pub(super) fn joined(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect()
}

/// The place of the next token that is no space, from `from` on.
pub(super) fn solid(tokens: &[Token], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| tokens[*at].kind != Kind::Space)
}

/// The place of the last token that is no space, before `before`.
pub(super) fn solid_before(tokens: &[Token], before: usize) -> Option<usize> {
    (0..before).rev().find(|at| tokens[*at].kind != Kind::Space)
}

/// The place of the parenthesis that closes the one at `open`.
pub(super) fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Pieces between these signs, not counting those within parentheses.
pub(super) fn split<'a>(tokens: &'a [Token], sign: &str) -> Vec<&'a [Token]> {
    let mut depth = 0_usize;
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is_sign(sign) {
            pieces.push(&tokens[from..at]);
            from = at + 1;
        }
    }
    pieces.push(&tokens[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_a_statement_apart() {
        let text =
            "SELECT /*+ full(t) */ a.Serial#, 'it''s :no', \"X\" FROM v$session a -- all\nWHERE x<=:1 and y=: name";
        let tokens = tokens(text);
        let words: Vec<_> = tokens
            .iter()
            .filter(|token| token.kind != Kind::Space)
            .map(|token| &*token.text)
            .collect();
        assert_eq!(
            words,
            [
                "select",
                "a",
                ".",
                "serial#",
                ",",
                "'it'",
                "'s :no'",
                ",",
                "\"X\"",
                "from",
                "v$session",
                "a",
                "where",
                "x",
                "<=",
                "1",
                "and",
                "y",
                "=",
                ":",
                "name"
            ]
        );
    }

    #[test]
    fn does_not_fall_over_what_is_not_closed() {
        for text in ["'", "\"", "/*", "--", ":", "select (", "é'é"] {
            tokens(text);
        }
    }
}

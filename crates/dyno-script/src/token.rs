//! The words of an expression, and of meta commands whose arguments are separated by white space.

use crate::mistake::{Mistake, Shown};
use crate::value::read_double;

/// A token of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// An operator or a mark of punctuation.
    Sign(&'static str),
    /// A keyword in lower case.
    Keyword(&'static str),
    Null,
    Bool(bool),
    Int(i64),
    /// 2^63, an integer only behind a minus sign.
    IntMinMagnitude,
    Double(f64),
    /// A variable's name, without the colon.
    Variable(&'a str),
    /// A function's name.
    Name(&'a str),
    /// What stands between quotation marks; in columns only.
    Text(&'a str),
    /// The end of the command, or of the column's expression.
    End,
}

impl Token<'_> {
    /// The token as messages show it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Token::End => "end of command".to_owned(),
            Token::Sign(text) | Token::Keyword(text) | Token::Name(text) => format!("\"{text}\""),
            Token::Variable(name) => format!("\":{name}\""),
            Token::IntMinMagnitude => "\"9223372036854775808\"".to_owned(),
            Token::Null => "\"null\"".to_owned(),
            Token::Bool(value) => format!("\"{value}\""),
            Token::Int(value) => format!("\"{value}\""),
            Token::Double(value) => format!("\"{value}\""),
            Token::Text(text) => format!("'{text}'"),
        }
    }
}

/// Longer signs come first, so that the longest match is found.
const SIGNS: &[&str] = &[
    "<=", ">=", "<>", "!=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "|", "&", "#", "~", "(", ")", ",",
];

const KEYWORDS: &[&str] = &[
    "and", "or", "not", "is", "isnull", "notnull", "case", "when", "then", "else", "end",
];

/// How an expression of a column calls the row's number.
pub(crate) const ROW: &str = "row";

/// A reading place inside one meta command, where a backslash at the end of a line continues the command on the next
/// line; or inside the expression of a column, which may have several lines, texts, and the variable [`ROW`] without a
/// colon.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    is_column: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str, at: usize) -> Reader<'a> {
        Reader {
            text,
            at,
            is_column: false,
        }
    }

    /// At the begin of a column's expression.
    pub(crate) fn of_column(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            is_column: true,
        }
    }

    /// Whether this is the expression of a column.
    pub(crate) fn is_column(&self) -> bool {
        self.is_column
    }

    /// Goes back to a token that was read ahead.
    pub(crate) fn return_to(&mut self, offset: usize) {
        self.at = offset;
    }

    /// The byte offset of the next unread byte.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The text from `start` to the reading place; empty when that is no whole number of characters.
    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        self.at += self.rest().iter().take_while(|&&byte| accept(byte)).count();
    }

    fn skip_space(&mut self) {
        let is_column = self.is_column;
        loop {
            self.skip_while(|byte| is_space(byte) || (is_column && byte == b'\n'));
            match continuation(self.rest()) {
                Some(length) if !is_column => self.at += length,
                _ => return,
            }
        }
    }

    /// The next word of the command and its offset, or `None` at its end.
    pub(crate) fn word(&mut self) -> Option<(usize, &'a str)> {
        self.skip_space();
        let start = self.at;
        self.skip_while(|byte| !is_space(byte) && byte != b'\n');
        let word = self.since(start);
        if let Some(shorter) = word.strip_suffix('\\')
            && let Some(length) = continuation(&self.text.as_bytes()[self.at - 1..])
        {
            self.at += length - 1;
            return Some((start, shorter));
        }
        (!word.is_empty()).then_some((start, word))
    }

    /// Moves past the line break that ends the command.
    pub(crate) fn finish(&mut self) {
        if self.rest().first() == Some(&b'\n') {
            self.at += 1;
        }
    }

    /// The next token and its offset; [`Token::End`] at the end of the command.
    pub(crate) fn token(&mut self) -> Result<(usize, Token<'a>), Box<Mistake>> {
        self.skip_space();
        let start = self.at;
        let rest = self.rest();
        let token = match rest.first() {
            None | Some(b'\n') => Token::End,
            Some(b'\'') if self.is_column => self.quoted()?,
            Some(b':') if rest.get(1).is_some_and(|&byte| is_name(byte)) => {
                self.at += 1;
                self.skip_while(is_name);
                Token::Variable(self.since(start + 1))
            }
            Some(b'.') if rest.get(1).is_some_and(u8::is_ascii_digit) => self.number()?,
            Some(byte) if byte.is_ascii_digit() => self.number()?,
            Some(&byte) if is_name(byte) => {
                self.skip_while(is_name);
                match self.since(start) {
                    word if self.is_column && word.eq_ignore_ascii_case(ROW) => Token::Variable(ROW),
                    word => word_token(word),
                }
            }
            Some(_) => match SIGNS.iter().find(|sign| rest.starts_with(sign.as_bytes())) {
                Some(sign) => {
                    self.at += sign.len();
                    Token::Sign(sign)
                }
                None => {
                    let character = self.text[start..].chars().next().unwrap_or(' ');
                    self.at += character.len_utf8();
                    let mistake = Mistake::new(start, format!("unexpected character ({})", character.escape_debug()));
                    return Err(mistake
                        .pgbench(format!("unexpected character ({character})"))
                        .shown(Shown::Caret(start)));
                }
            },
        };
        Ok((start, token))
    }

    /// A text between quotation marks, in which a doubled one is part of it.
    fn quoted(&mut self) -> Result<Token<'a>, Box<Mistake>> {
        let start = self.at;
        loop {
            self.at += 1;
            self.skip_while(|byte| byte != b'\'');
            if self.rest().is_empty() {
                return Err(Mistake::new(start, "a text lacks the quotation mark (') at its end"));
            }
            self.at += 1;
            if self.rest().first() != Some(&b'\'') {
                return Ok(Token::Text(self.text.get(start + 1..self.at - 1).unwrap_or_default()));
            }
        }
    }

    /// Digits, perhaps a fraction, perhaps an exponent.
    fn number(&mut self) -> Result<Token<'a>, Box<Mistake>> {
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_digit());
        let mut whole = true;
        if self.rest().first() == Some(&b'.') {
            whole = false;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if let [b'e' | b'E', exponent @ ..] = self.rest() {
            let sign = usize::from(matches!(exponent.first(), Some(b'+' | b'-')));
            if exponent.get(sign).is_some_and(u8::is_ascii_digit) {
                whole = false;
                self.at += 1 + sign;
                self.skip_while(|byte| byte.is_ascii_digit());
            }
        }
        let text = self.since(start);
        if !whole {
            return match read_double(text) {
                Some(value) => Ok(Token::Double(value)),
                None => Err(self.overflow("double", start)),
            };
        }
        if text == "9223372036854775808" {
            return Ok(Token::IntMinMagnitude);
        }
        text.parse().map(Token::Int).map_err(|_| self.overflow("bigint", start))
    }

    fn overflow(&self, kind: &str, start: usize) -> Box<Mistake> {
        let text = self.since(start);
        Mistake::new(start, format!("{kind} constant overflow ({text})")).shown(Shown::Caret(self.at - 1))
    }

    /// Where pgbench sees the mistake when the token just read cannot be here: at the token's last byte, and the
    /// line break that ends the command counts as one.
    pub(crate) fn caret(&self, token: Token<'_>) -> usize {
        if token == Token::End && self.rest().first() == Some(&b'\n') {
            self.at
        } else {
            self.at.saturating_sub(1)
        }
    }

    /// The last mistake in the words from `start` to the end of the command.
    pub(crate) fn last_mistake(&self, start: usize) -> Option<Box<Mistake>> {
        let mut reader = self.clone();
        reader.return_to(start);
        let mut last = None;
        loop {
            match reader.token() {
                Ok((_, Token::End)) => return last,
                Ok(_) => {}
                Err(mistake) => last = Some(mistake),
            }
        }
    }
}

fn word_token(word: &str) -> Token<'_> {
    if word.eq_ignore_ascii_case("null") {
        Token::Null
    } else if word.eq_ignore_ascii_case("true") {
        Token::Bool(true)
    } else if word.eq_ignore_ascii_case("false") {
        Token::Bool(false)
    } else if let Some(keyword) = KEYWORDS.iter().find(|keyword| word.eq_ignore_ascii_case(keyword)) {
        Token::Keyword(keyword)
    } else {
        Token::Name(word)
    }
}

/// White space inside a line.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

/// A character of a name: a letter, digit, underscore, or any non-ASCII character.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// A character that a name may begin with.
pub(crate) fn is_name_start(byte: u8) -> bool {
    is_name(byte) && !byte.is_ascii_digit()
}

/// Whether a variable may be called so: letters, digits, underscores and non-ASCII characters, no digit first.
pub fn is_variable_name(name: &str) -> bool {
    name.as_bytes().first().is_some_and(|&first| is_name_start(first)) && name.bytes().all(is_name)
}

/// The length of a line continuation at the beginning of `rest`: a backslash directly before the line's end.
fn continuation(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut reader = Reader::new(text, 0);
        let mut tokens = Vec::new();
        loop {
            match reader.token().unwrap().1 {
                Token::End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn tokens_are_the_longest_possible() {
        use Token::*;
        assert_eq!(
            tokens("1.e1 .5 1e 2"),
            [Double(10.0), Double(0.5), Int(1), Name("e"), Int(2)]
        );
        assert_eq!(
            tokens("<=<>!=<<>>=<"),
            ["<=", "<>", "!=", "<<", ">>", "=", "<"].map(Sign)
        );
        assert_eq!(
            tokens(":a1:1 NotNull nOt null x"),
            [
                Variable("a1"),
                Variable("1"),
                Keyword("notnull"),
                Keyword("not"),
                Null,
                Name("x")
            ]
        );
        assert_eq!(tokens("1 \\\n 2 \\\r\n 3\n4"), [Int(1), Int(2), Int(3)]);
        assert_eq!(tokens("9223372036854775808"), [IntMinMagnitude]);
    }

    #[test]
    fn words_may_be_followed_by_a_continuation() {
        let mut reader = Reader::new(" a\\\n b\\c \\\r\nd\\\n\\x\n e", 0);
        let mut words = Vec::new();
        while let Some((_, word)) = reader.word() {
            words.push(word);
        }
        assert_eq!(words, ["a", "b\\c", "d", "\\x"]);
        reader.finish();
        assert_eq!(reader.word(), Some((19, "e")));
    }

    #[test]
    fn numbers_too_large_are_refused() {
        for text in ["9223372036854775809", "1e400", "1e-400"] {
            assert!(
                Reader::new(text, 0)
                    .token()
                    .unwrap_err()
                    .message
                    .contains("constant overflow"),
                "{text}"
            );
        }
    }
}

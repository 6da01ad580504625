//! Splitting a script into SQL statements and meta commands as psql does.
//!
//! A statement ends at a semicolon, and a meta command begins at a backslash, unless they are in quotes, a comment,
//! or (the semicolon only) in parentheses or between the BEGIN and the END of a routine's body. What quotes and
//! comments are, a [`Lexis`] says. pgbench assumes standard-conforming strings, and so does this.

use crate::lexis::{Lexis, mysql_quoted, oracle_quoted};
use crate::token::{is_name, is_name_start};

/// A reading place in a script and what surrounds it.
pub(crate) struct Splitter<'a> {
    text: &'a str,
    lexis: Lexis,
    at: usize,
    parentheses: usize,
    /// Open BEGINs (and CASEs in them) of function bodies.
    blocks: usize,
    /// What the statement's first words are, as far as they can begin CREATE [OR REPLACE] {FUNCTION | PROCEDURE}.
    words: [Word; 4],
    word_count: usize,
    /// Whether the word before was END; MySQL only.
    after_end: bool,
    /// Whether the statement makes what may have a body; MySQL only.
    makes_routine: bool,
    /// Whether it is a block of PL/SQL or makes what has one; Oracle only.
    is_block: bool,
    /// Where the statement's first word ends; Oracle only.
    begun: usize,
    /// Whether its first words say so, or are still to be read; Oracle only.
    in_head: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Word {
    Create,
    Or,
    Replace,
    Function,
    Procedure,
    #[default]
    Other,
}

/// A part of a script.
pub(crate) struct Part {
    /// SQL, perhaps nothing. `\;` and `\:` have lost their backslash, white space and line comments before the SQL
    /// are gone.
    pub(crate) sql: String,
    /// Where the SQL begins.
    pub(crate) start: usize,
    pub(crate) ending: Ending,
}

/// What ends a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    Semicolon,
    /// A meta command, whose text begins behind the backslash at this offset.
    Backslash(usize),
    EndOfText,
}

impl<'a> Splitter<'a> {
    pub(crate) fn new(text: &'a str, lexis: Lexis) -> Splitter<'a> {
        Splitter {
            text,
            lexis,
            at: 0,
            parentheses: 0,
            blocks: 0,
            words: Default::default(),
            word_count: 0,
            after_end: false,
            makes_routine: false,
            is_block: false,
            begun: 0,
            in_head: true,
        }
    }

    /// Goes on at an offset, behind a meta command.
    pub(crate) fn resume(&mut self, at: usize) {
        self.at = at;
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next part of the script.
    pub(crate) fn part(&mut self) -> Part {
        let mut sql = String::new();
        let mut start = self.at;
        // Text is copied in runs: `copied` is where the current one began.
        let mut copied = self.at;
        let ending = loop {
            if sql.is_empty() && copied == self.at {
                self.skip_blank();
                start = self.at;
                copied = self.at;
            }
            match self.rest() {
                [] => break Ending::EndOfText,
                [b'\\', b';' | b':', ..] => {
                    sql.push_str(&self.text[copied..self.at]);
                    if self.rest()[1] == b';' {
                        self.word_count = 0;
                    }
                    copied = self.at + 1;
                    self.at += 2;
                }
                [b'\\', ..] => break Ending::Backslash(self.at),
                [b';', ..] => {
                    self.at += 1;
                    self.after_end = false;
                    // A block has something in it; BEGIN alone begins a transaction, as on other databases.
                    let is_alone = |splitter: &Self| splitter.text[splitter.begun..splitter.at - 1].trim().is_empty();
                    if self.is_block && self.word_count == 1 && is_alone(self) {
                        self.is_block = false;
                    }
                    if self.parentheses == 0 && self.blocks == 0 && !self.is_block {
                        self.word_count = 0;
                        break Ending::Semicolon;
                    }
                }
                [b'/', ..] if self.is_block && self.is_alone() => {
                    sql.push_str(self.text[copied..self.at].trim_end());
                    self.at += 1;
                    (self.word_count, self.parentheses, self.is_block) = (0, 0, false);
                    return Part {
                        sql,
                        start,
                        ending: Ending::Semicolon,
                    };
                }
                _ => self.skip_token(),
            }
        };
        sql.push_str(&self.text[copied..self.at]);
        Part { sql, start, ending }
    }

    /// Whether the line has nothing but the character that is next.
    fn is_alone(&self) -> bool {
        let blank = |text: &[u8]| text.iter().all(u8::is_ascii_whitespace);
        let text = self.text.as_bytes();
        let before = text[..self.at].rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let after = text[self.at + 1..]
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        blank(before) && blank(after)
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        self.at += self.rest().iter().take_while(|&&byte| accept(byte)).count();
    }

    /// Skips white space and line comments.
    fn skip_blank(&mut self) {
        loop {
            self.skip_while(is_blank);
            if !self.lexis.is_line_comment(self.rest()) {
                return;
            }
            self.skip_while(|byte| byte != b'\n');
        }
    }

    /// Skips one token that begins with neither a backslash nor a semicolon.
    fn skip_token(&mut self) {
        let is_quoted = match self.lexis {
            Lexis::Psql => self.skip_psql_quoted(),
            Lexis::Mysql | Lexis::MysqlNoEscapes => {
                let length = mysql_quoted(self.rest(), self.lexis == Lexis::Mysql);
                self.at += length;
                length > 0
            }
            Lexis::Oracle => {
                let length = oracle_quoted(self.rest());
                self.at += length;
                length > 0
            }
        };
        if !is_quoted {
            self.skip_plain();
        }
    }

    /// Skips a string, a quoted name or a comment by psql's rules; `false` if none is here.
    fn skip_psql_quoted(&mut self) -> bool {
        match self.rest() {
            [b'-', b'-', ..] => self.skip_while(|byte| byte != b'\n'),
            [b'/', b'*', ..] => self.skip_comment(),
            [b'\'', ..] => self.skip_quoted(1, b'\'', false),
            [b'"', ..] => self.skip_quoted(1, b'"', false),
            [b'e' | b'E', b'\'', ..] => self.skip_quoted(2, b'\'', true),
            [b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'', ..] => self.skip_quoted(2, b'\'', false),
            [b'u' | b'U', b'&', quote @ (b'\'' | b'"'), ..] => self.skip_quoted(3, *quote, false),
            [b'$', ..] => self.skip_dollar(),
            _ => return false,
        }
        true
    }

    /// Skips a token that is not quoted.
    fn skip_plain(&mut self) {
        match self.rest() {
            [b':', next, ..] if is_name(*next) => {
                self.at += 1;
                self.skip_while(is_name);
            }
            [b':', b':', ..] => self.at += 2,
            [b'(', ..] => {
                self.parentheses += 1;
                self.at += 1;
            }
            [b')', ..] => {
                self.parentheses = self.parentheses.saturating_sub(1);
                self.at += 1;
            }
            [b'.', digit, ..] if digit.is_ascii_digit() => self.skip_number(),
            [digit, ..] if digit.is_ascii_digit() => self.skip_number(),
            // psql takes a dollar sign at the beginning for that of a quote.
            [first, ..] if is_name_start(*first) || *first == b'$' => {
                let start = self.at;
                self.skip_while(|byte| is_name(byte) || byte == b'$');
                self.note_word(start);
            }
            _ => self.at += 1,
        }
    }

    /// A comment between `/*` and `*/`; comments nest.
    fn skip_comment(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.rest() {
                [] => return,
                [b'/', b'*', ..] => {
                    depth += 1;
                    self.at += 2;
                }
                [b'*', b'/', ..] => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// A string or a quoted name, whose text begins `prefix` bytes on. A doubled quote is a part of it; with
    /// `escapes`, so is a quote behind a backslash.
    fn skip_quoted(&mut self, prefix: usize, quote: u8, escapes: bool) {
        self.at += prefix;
        loop {
            match self.rest() {
                [] => return,
                [b'\\', _, ..] if escapes => self.at += 2,
                [first, second, ..] if *first == quote && *second == quote => self.at += 2,
                [first, ..] if *first == quote => {
                    self.at += 1;
                    // Only with escapes it matters whether what follows is the same string or a new one.
                    if !(escapes && self.continues()) {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Whether a string goes on on another line, and if so moves behind the quote there.
    fn continues(&mut self) -> bool {
        let start = self.at;
        self.skip_blank();
        if self.rest().first() == Some(&b'\'') && self.text.as_bytes()[start..self.at].contains(&b'\n') {
            self.at += 1;
            return true;
        }
        self.at = start;
        false
    }

    /// A dollar-quoted string, a parameter such as `$1`, or a mere dollar sign.
    fn skip_dollar(&mut self) {
        let rest = &self.text[self.at..];
        let tag = rest[1..].bytes().take_while(|&byte| is_name(byte)).count();
        let bytes = rest.as_bytes();
        let quotes = bytes.get(1 + tag) == Some(&b'$') && (tag == 0 || is_name_start(bytes[1]));
        if quotes {
            let (delimiter, body) = rest.split_at(tag + 2);
            let length = body.find(delimiter).map_or(body.len(), |end| end + delimiter.len());
            self.at += delimiter.len() + length;
        } else if bytes.get(1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
            self.skip_junk();
        } else {
            self.at += 1;
        }
    }

    /// A number, and what is stuck to it: psql's lexer takes letters and dollar signs behind a number along, so
    /// that neither `1e'` nor `1a$$` opens a quote.
    fn skip_number(&mut self) {
        self.skip_while(|byte| byte.is_ascii_digit());
        if let [b'.', next, ..] = self.rest()
            && *next != b'.'
        {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if let [b'e' | b'E', b'+' | b'-', ..] = self.rest() {
            self.at += 2;
            if !self.rest().first().is_some_and(u8::is_ascii_digit) {
                return;
            }
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        self.skip_junk();
    }

    fn skip_junk(&mut self) {
        if self.rest().first().is_some_and(|&byte| is_name_start(byte)) {
            self.skip_while(|byte| is_name(byte) || byte == b'$');
        }
    }

    /// Follows the bodies of routines by words alone, as psql does: a parser would be needed to be exact.
    fn note_word(&mut self, start: usize) {
        let text = &self.text[start..self.at];
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        if self.word_count == 0 {
            self.words = Default::default();
            self.makes_routine = false;
            (self.is_block, self.in_head) = (false, true);
        }
        if let Some(slot) = self.words.get_mut(self.word_count) {
            *slot = if is("create") {
                Word::Create
            } else if is("or") {
                Word::Or
            } else if is("replace") {
                Word::Replace
            } else if is("function") {
                Word::Function
            } else if is("procedure") {
                Word::Procedure
            } else {
                Word::Other
            };
        }
        self.word_count += 1;
        match self.lexis {
            Lexis::Psql => self.follow_psql(&is),
            Lexis::Mysql | Lexis::MysqlNoEscapes => self.follow_mysql(&is),
            Lexis::Oracle => self.follow_oracle(&is),
        }
    }

    /// Follows CREATE FUNCTION … BEGIN ATOMIC … END.
    fn follow_psql(&mut self, is: &dyn Fn(&str) -> bool) {
        let makes_routine = matches!(
            self.words,
            [Word::Create, Word::Function | Word::Procedure, ..]
                | [Word::Create, Word::Or, Word::Replace, Word::Function | Word::Procedure]
        );
        if !makes_routine || self.parentheses > 0 {
            return;
        }
        if is("begin") || (is("case") && self.blocks > 0) {
            self.blocks += 1;
        } else if is("end") {
            self.blocks = self.blocks.saturating_sub(1);
        }
    }

    /// Follows CREATE … {FUNCTION | PROCEDURE | TRIGGER | EVENT} … BEGIN … END. The END of an IF or a loop has their
    /// name behind it, and the beginnings of these are not counted.
    fn follow_mysql(&mut self, is: &dyn Fn(&str) -> bool) {
        let any = |words: &[&str]| words.iter().any(|word| is(word));
        self.makes_routine |= self.words[0] == Word::Create && any(&["function", "procedure", "trigger", "event"]);
        if !self.makes_routine || self.parentheses > 0 {
            return;
        }
        let after_end = std::mem::replace(&mut self.after_end, is("end"));
        let ended_another = after_end && any(&["if", "loop", "while", "repeat", "for"]);
        if ended_another || is("begin") || (is("case") && self.blocks > 0 && !after_end) {
            self.blocks += 1;
        } else if is("end") {
            self.blocks = self.blocks.saturating_sub(1);
        }
    }

    /// Looks whether BEGIN, DECLARE or CREATE … {FUNCTION | PROCEDURE | PACKAGE | TRIGGER | TYPE} begins the statement.
    fn follow_oracle(&mut self, is: &dyn Fn(&str) -> bool) {
        if !self.in_head {
            return;
        }
        let any = |words: &[&str]| words.iter().any(|word| is(word));
        let creates = self.words[0] == Word::Create;
        self.in_head = match creates {
            true => any(&["create", "or", "replace", "editionable", "noneditionable"]),
            false => self.word_count == 1 && is("begin"),
        };
        self.begun = if self.word_count == 1 { self.at } else { self.begun };
        self.is_block = match creates {
            true => any(&["function", "procedure", "package", "trigger", "type"]),
            false if self.word_count == 1 => any(&["begin", "declare"]),
            // What stands behind the BEGIN of a transaction.
            false => !any(&["transaction", "work", "isolation", "read"]),
        };
    }
}

/// White space, line breaks included.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SQL parts of a text; a meta command is shown as a backslash and taken to end with its line.
    fn split(text: &str) -> Vec<String> {
        split_by(Lexis::Psql, text)
    }

    fn split_by(lexis: Lexis, text: &str) -> Vec<String> {
        let mut splitter = Splitter::new(text, lexis);
        let mut parts = Vec::new();
        loop {
            let part = splitter.part();
            if !part.sql.is_empty() {
                let begins = text[part.start..].trim_start_matches('\\').chars().next();
                assert_eq!(begins, part.sql.chars().next());
                parts.push(part.sql);
            }
            match part.ending {
                Ending::Semicolon => {}
                Ending::EndOfText => return parts,
                Ending::Backslash(at) => {
                    parts.push("\\".to_owned());
                    splitter.resume(text[at..].find('\n').map_or(text.len(), |length| at + length + 1));
                }
            }
        }
    }

    #[test]
    fn semicolons_end_statements() {
        assert_eq!(
            split("select 1; select 2 ;;\n select\n3"),
            ["select 1;", "select 2 ;", ";", "select\n3"]
        );
        assert_eq!(split(" -- a;b\n\tselect 1 -- c;d\n;"), ["select 1 -- c;d\n;"]);
        assert_eq!(
            split("/* a;b /* c; */ ; */ select 1;"),
            ["/* a;b /* c; */ ; */ select 1;"]
        );
        assert_eq!(split("--only\n\n"), [] as [&str; 0]);
    }

    #[test]
    fn quotes_hide_semicolons_and_backslashes() {
        for one in [
            "select 'a;''\\';",
            "select E'a;\\'b;';",
            "select E'a'\n -- x\n '\\';b';",
            "select \"a;\\\"\"\";",
            "select $$a;\\$$;",
            "select $t$a;$$;$u$;$t$;",
            "select U&'a;\\', u&\";\", N';', B';', x';';",
            "select $\u{e9}1$;$\u{e9}1$;",
        ] {
            assert_eq!(split(&format!("{one}select 2;")), [one, "select 2;"]);
        }
    }

    #[test]
    fn dollars_in_names_and_numbers_are_no_quotes() {
        assert_eq!(split("select a$b$;c$b$;"), ["select a$b$;", "c$b$;"]);
        assert_eq!(split("select $1;$2a;"), ["select $1;", "$2a;"]);
        assert_eq!(split("select 1$a$;$a$;"), ["select 1$a$;$a$;"]);
        assert_eq!(split("select 1e';\\';"), ["select 1e';\\';"]);
        assert_eq!(
            split("select 1e5$$;1a$a$;$1b$$;"),
            ["select 1e5$$;", "1a$a$;", "$1b$$;"]
        );
        assert_eq!(split("select 1e-e'\\';';"), ["select 1e-e'\\';';"]);
    }

    #[test]
    fn a_backslash_joins_or_begins_a_command() {
        assert_eq!(
            split("select 1\\; select 2;select 3\\:x;"),
            ["select 1; select 2;", "select 3:x;"]
        );
        assert_eq!(split("select 1 \\set a 1\nselect 2;"), ["select 1 ", "\\", "select 2;"]);
        assert_eq!(split("\\; select 1;"), ["; select 1;"]);
    }

    #[test]
    fn parentheses_hide_semicolons() {
        assert_eq!(
            split("create rule r as do (a; b);c);d;"),
            ["create rule r as do (a; b);", "c);", "d;"]
        );
    }

    #[test]
    fn function_bodies_hide_semicolons() {
        for one in [
            "create function f() returns int begin atomic select 1; select case when true then 2 end; end;",
            "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC a; END;",
        ] {
            assert_eq!(split(&format!("{one}select 2;")), [one, "select 2;"]);
        }
        assert_eq!(split("begin; select 1; end;").len(), 3);
        assert_eq!(
            split("create table t(begin int); create function f(begin int) as x; y;").len(),
            3
        );
        assert_eq!(split("create function :begin; end;").len(), 2);
    }

    #[test]
    fn what_is_left_open_extends_to_the_end() {
        for open in [
            "select 'a;",
            "select $$a;",
            "select (a;",
            "/* a;",
            "select \"a;",
            "select E'\\",
            "$x",
        ] {
            assert_eq!(split(open), [open]);
        }
    }

    #[test]
    fn mysql_quotes_and_comments_hide_semicolons_and_backslashes() {
        let split = |text: &str| split_by(Lexis::Mysql, text);
        for one in [
            r"select 'a\\';",
            r"select 'a\'b;', 'it''s;';",
            r#"select "a\";", "b"";";"#,
            r"select `a;b\`, `c``;`;",
            "select 1 # a;\\\n;",
            "select 1 -- a;\\\n;",
            "select /* a; \\ /* b; */ 1;",
            "select e'\\';', b'0', $a$;",
            "select 杭'\\'€;';",
        ] {
            assert_eq!(split(&format!("{one}select 2;")), [one, "select 2;"]);
        }
        assert_eq!(split("# a;\n-- b;\n --\nselect 1;"), ["select 1;"]);
        assert_eq!(split("select 1--1;--;select 2;"), ["select 1--1;", "--;", "select 2;"]);
        assert_eq!(split("select $$;$$;"), ["select $$;", "$$;"]);
        assert_eq!(split("select 1 \\set a 1\nselect 2;"), ["select 1 ", "\\", "select 2;"]);
        for open in ["select 'a;", "select `a;", "/* a;", "select \"a\\"] {
            assert_eq!(split(open), [open]);
        }
    }

    #[test]
    fn oracle_quotes_hide_semicolons_and_blocks_end_at_a_slash() {
        let split = |text: &str| split_by(Lexis::Oracle, text);
        for one in [
            "select 'a;''\\', \"b;\" from dual;",
            "select q'[it's; ]', nq'!a;!' from dual;",
            "select /* ; */ n / 2 from t -- ;\n;",
            "create table type (function number);",
            "select begin from v$session where serial# = 1;",
            "begin;",
            "begin\n;",
            "begin work;",
            "begin isolation level serializable;",
        ] {
            assert_eq!(
                split(&format!("{one}select 2 from dual;")),
                [one, "select 2 from dual;"]
            );
        }
        for block in ["begin :a := 1; end;", "begin work_on(1); end;", "begin null; end;"] {
            assert_eq!(split(&format!("{block}\n/\nbegin;")), [block, "begin;"]);
        }
        let block = "declare\n  n number;\nbegin\n  n := 4 / 2;\nend;";
        assert_eq!(
            split(&format!("{block}\n / \nselect 1 from dual;")),
            [block, "select 1 from dual;"]
        );
        let made = "create or replace editionable procedure p is begin null; end;";
        assert_eq!(split(&format!("{made}\n/\n{block}")), [made, block]);
    }

    #[test]
    fn mysql_bodies_hide_semicolons() {
        let split = |text: &str| split_by(Lexis::Mysql, text);
        for one in [
            "create function f(a int) returns int begin declare x int; set x = a; return x + 1; end;",
            "create or replace trigger t before insert on u for each row begin set new.a = 1; set new.b = 2; end;",
            "CREATE DEFINER = `a`@`b` PROCEDURE p(begin int) BEGIN IF a THEN SELECT 1; END IF; END;",
            "create procedure p() begin select case a when 1 then 2 end; case a when 1 then select 1; end case; end;",
            "create procedure p() begin begin select 1; end; if a then select 2; end if; end;",
            "create event e on schedule every 1 day do begin while a do select 1; end while; end;",
        ] {
            assert_eq!(split(&format!("{one}select 2;")), [one, "select 2;"]);
        }
        assert_eq!(split("begin; select 1; end;").len(), 3);
        assert_eq!(split("create table function_calls (begin int); select 1;").len(), 2);
    }
}

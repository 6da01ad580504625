//! An experiment's SQL on a server that is not dyno's: what it makes without saying where goes into dyno's schema,
//! and what it creates for the whole database is noted there.

use super::Mark;
use super::mark::Extension;
use crate::postgres::Client;
use postgres::error::SqlState;
use postgres_protocol::escape::{escape_identifier, escape_literal};

/// Runs the statements that bring the data of one schema.
pub struct SetUp<'a> {
    /// The schema.
    pub schema: &'a str,
    /// The search path that the role has in the database of itself.
    pub path: &'a str,
    /// What the schema is marked with, kept up to date.
    pub mark: Mark,
    /// What was done otherwise than the statements say, as sentences.
    pub notes: Vec<String>,
}

impl SetUp<'_> {
    /// Runs a statement on a connection that looks into the schema first.
    ///
    /// # Errors
    /// What the server says.
    pub fn run(&mut self, client: &mut Client, statement: &str) -> Result<(), postgres::Error> {
        let mut words = Words(statement);
        match (words.next(), words.next()) {
            (Some(create), Some(extension)) if is(create, "create") && is(extension, "extension") => {
                self.create_extension(client, statement)
            }
            // A name without a schema means what is dyno's. Were it looked for elsewhere, "drop table if exists"
            // would drop somebody's table.
            (Some(word), _) if is(word, "drop") || is(word, "truncate") => {
                let schema = escape_literal(&escape_identifier(self.schema));
                client.batch_execute(&format!("select set_config('search_path', {schema}, false)"))?;
                let done = client.batch_execute(statement);
                // To what the connection began with.
                done.and(client.batch_execute("reset search_path"))
            }
            _ => client.batch_execute(statement),
        }
    }

    /// Creates an extension where the database would without dyno, and notes it in the same transaction. One that
    /// exists already does.
    fn create_extension(&mut self, client: &mut Client, statement: &str) -> Result<(), postgres::Error> {
        let before: Vec<u32> = extensions(client)?.iter().map(|(_, oid)| *oid).collect();
        let known: Vec<String> = before.iter().map(u32::to_string).collect();
        let introduction = if self.mark.extensions.is_empty() {
            "; extensions"
        } else {
            ""
        };
        // One statement, so that this is done as a whole even between the user's own "begin" and "commit".
        let block = format!(
            "declare path text := current_setting('search_path'); new text;
             begin
               perform set_config('search_path', {path}, true);
               execute {statement};
               perform set_config('search_path', path, true);
               select string_agg(' ' || extname || '/' || oid, '' order by oid) into new
                 from pg_catalog.pg_extension where not (oid = any('{{{known}}}'::oid[])) and extname !~ '[;[:space:]]';
               if new is not null then
                 execute format('comment on schema %I is %L', {schema}, {mark} || new);
               end if;
             end",
            path = escape_literal(self.path),
            statement = escape_literal(statement),
            known = known.join(","),
            schema = escape_literal(self.schema),
            mark = escape_literal(&format!("{}{introduction}", self.mark)),
        );
        match client.batch_execute(&format!("do {}", escape_literal(&block))) {
            Err(error) if error.code() == Some(&SqlState::DUPLICATE_OBJECT) => {
                self.notes
                    .push(format!("\"{statement}\" was skipped: the extension already exists."));
            }
            done => done?,
        }
        let new = extensions(client)?.into_iter().filter(|(_, oid)| !before.contains(oid));
        let new = new.filter_map(|(name, oid)| Extension::new(&name, oid));
        self.mark.extensions.extend(new);
        Ok(())
    }
}

/// What to do about a statement that failed because what it makes is there; empty: that is not why. dyno's schema is
/// new, so what is there is elsewhere.
pub fn advice(error: &postgres::Error, statement: &str) -> &'static str {
    let exists = [
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::DUPLICATE_FUNCTION,
        SqlState::DUPLICATE_SCHEMA,
    ];
    // A qualified name stands before any parenthesis.
    let head = statement.split('(').next().unwrap_or_default();
    if !error.code().is_some_and(|code| exists.contains(code)) || !head.contains('.') {
        return "";
    }
    "\n  a name with a schema leads outside of dyno's own schema, which alone is dropped before each load: make tables \
     without naming a schema (of what pg_dump writes, remove \"public.\" and the line that sets search_path), and drop \
     what an earlier run has left there"
}

/// The database's extensions with their numbers, in the order of these.
fn extensions(client: &mut Client) -> Result<Vec<(String, u32)>, postgres::Error> {
    let rows = client.query("select extname::text, oid from pg_extension order by oid", &[])?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

/// The words that a statement begins with, without comments.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let mut rest = self.0.trim_start();
        loop {
            let behind = if rest.starts_with("--") {
                rest.split_once('\n').map_or("", |(_, behind)| behind)
            } else if rest.starts_with("/*") {
                behind_comment(rest)
            } else {
                break;
            };
            rest = behind.trim_start();
        }
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        self.0 = behind;
        (!word.is_empty()).then_some(word)
    }
}

/// What follows a comment that may hold others, as SQL allows it.
fn behind_comment(text: &str) -> &str {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        let here = &text[at + found..];
        let (step, length) = match here.as_bytes() {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        depth = depth.saturating_add_signed(step);
        at += found + length;
        if depth == 0 {
            return &text[at..];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_over_comments() {
        let words = |text| Words(text).take(2).collect::<Vec<_>>();
        assert_eq!(
            words("Create\n-- the \n/* a /* b */ */ EXTENSION citext"),
            ["Create", "EXTENSION"]
        );
        assert_eq!(words("/* a"), [""; 0]);
        assert_eq!(words("-- a"), [""; 0]);
        assert_eq!(words("select(1)"), ["select"]);
        assert_eq!(words("/*/**/ a */drop table t"), ["drop", "table"]);
    }

    proptest! {
        #[test]
        fn any_text_has_words_or_none(text in "([/*a -]|\n|ä){0,20}") {
            Words(&text).for_each(drop);
        }
    }
}

//! `[[check]]` and `[[output]]`: what the server is asked before or after the load.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::dialect::AskedOtherwise;
use crate::experiment::did_you_mean;
use crate::experiment::section::{Section, scalar, wrong_type};
use crate::nearest::nearest;
use dyno_archive::plan::{Check, Expect, Limit, Question, Value, When};
use indexmap::IndexMap;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const CHECK_KEYS: [&str; 5] = ["name", "when", "server", "sql", "expect"];
pub(super) const OUTPUT_KEYS: [&str; 4] = ["name", "when", "server", "sql"];
const LIMIT_KEYS: [&str; 2] = ["at_least", "at_most"];

/// What differs by database of a check.
const CHECK_DIALECT_KEYS: [&str; 2] = ["sql", "expect"];
/// The same of an output.
const OUTPUT_DIALECT_KEYS: [&str; 1] = ["sql"];

impl Reader<'_> {
    pub(super) fn checks(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for value in self.tables("check", value)? {
            let section = Section::of(self.source, "[[check]]", value, &CHECK_KEYS)?;
            let known = self.experiment.checks.iter().map(|check| check.question.name.as_str());
            let question = self.question(&section, "check", known)?;
            let expect = section.get("expect").ok_or_else(|| {
                let help = "say what the statement has to give, for example: expect = 0";
                section.missing("expect", help)
            })?;
            let expect = self.expect(expect)?;
            self.experiment.checks.push(Check { question, expect });
        }
        Ok(())
    }

    pub(super) fn outputs(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for value in self.tables("output", value)? {
            let section = Section::of(self.source, "[[output]]", value, &OUTPUT_KEYS)?;
            let known = self.experiment.outputs.iter().map(|output| output.name.as_str());
            let question = self.question(&section, "output", known)?;
            self.experiment.outputs.push(question);
        }
        Ok(())
    }

    /// The tables of a list.
    fn tables<'v>(
        &self,
        key: &str,
        value: &'v Spanned<DeValue<'v>>,
    ) -> Result<impl Iterator<Item = &'v Spanned<DeValue<'v>>> + use<'v>, Diagnostic> {
        match value.get_ref().as_array().filter(|list| !list.is_empty()) {
            Some(list) => Ok(list.iter()),
            None => {
                let help = format!("write [[{key}]], with two brackets");
                Err(self.source.complain(value.span(), format!("`{key}` is a list"), help))
            }
        }
    }

    fn question<'k>(
        &self,
        section: &Section<'_>,
        what: &str,
        mut known: impl Iterator<Item = &'k str>,
    ) -> Result<Question, Diagnostic> {
        let (name, span) = section
            .text("name")?
            .ok_or_else(|| section.missing("name", "results are kept by it"))?;
        let article = if what == "check" { "a" } else { "an" };
        self.check_name(&format!("{article} {what}"), &name, span.clone())?;
        if known.any(|known| known == name) {
            let message = format!("two {what}s are called `{name}`");
            let help = "results are kept by name; choose another";
            return Err(self.source.complain(span, message, help));
        }
        let when = match section.text("when")? {
            None => When::default(),
            Some((text, span)) => match text.as_str() {
                "before" => When::Before,
                "after" => When::After,
                _ => {
                    let message = format!("`when` cannot be `{text}`");
                    let help = "write \"before\" or \"after\": of the load";
                    return Err(self.source.complain(span, message, help));
                }
            },
        };
        let server = section.text("server")?;
        if let Some((server, span)) = &server {
            self.check_server(server, span.clone())?;
        }
        let server = server
            .map(|(server, _)| server)
            .filter(|server| server != self.main_server());
        let sql = self.statement(section)?;
        let sql = sql.ok_or_else(|| section.missing("sql", "give a single statement that has rows"))?;
        Ok(Question {
            name,
            when,
            server,
            sql,
        })
    }

    /// The statement in a section, if it is there.
    fn statement(&self, section: &Section<'_>) -> Result<Option<String>, Diagnostic> {
        let Some((sql, span)) = section.text("sql")? else {
            return Ok(None);
        };
        let sql = sql.trim().trim_end_matches(';').trim_end().to_owned();
        if sql.is_empty() {
            let help = "give a single statement that has rows";
            return Err(self.source.complain(span, "`sql` is empty", help));
        }
        self.check_no_mentions(&sql, &span)?;
        self.check_placeholders(&sql, span)?;
        Ok(Some(sql))
    }

    fn expect(&self, value: &Spanned<DeValue<'_>>) -> Result<Expect, Diagnostic> {
        match value.get_ref() {
            DeValue::Table(_) => {
                let section = Section::of(self.source, "expect", value, &LIMIT_KEYS)?;
                self.limits(&section)?.ok_or_else(|| {
                    let help = "write at_least or at_most between the braces";
                    self.source.complain(value.span(), "`expect` has no limit", help)
                })
            }
            DeValue::Array(rows) => {
                let rows = rows.iter().map(|row| match row.get_ref() {
                    DeValue::Array(values) => values.iter().map(|value| self.expected(value)).collect(),
                    _ => Ok(vec![self.expected(row)?]),
                });
                Ok(Expect::Rows(rows.collect::<Result<_, _>>()?))
            }
            _ => Ok(Expect::Rows(vec![vec![self.expected(value)?]])),
        }
    }

    /// The limits of a number in a section, if it has any.
    pub(super) fn limits(&self, section: &Section<'_>) -> Result<Option<Expect>, Diagnostic> {
        let limit = |key: &str| {
            let Some(value) = section.get(key) else { return Ok(None) };
            let number = match scalar(self.source, key, value)? {
                Value::Integer(number) => Some(Limit::Whole(number)),
                other => other.to_float().map(Limit::Number),
            };
            number
                .map(Some)
                .ok_or_else(|| wrong_type(self.source, value, key, "a finite number"))
        };
        let (at_least, at_most) = (limit("at_least")?, limit("at_most")?);
        let has_any = at_least.is_some() || at_most.is_some();
        Ok(has_any.then_some(Expect::Number { at_least, at_most }))
    }

    /// A value as a server writes it.
    fn expected(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Diagnostic> {
        match value.get_ref() {
            DeValue::Boolean(_) => {
                let help = "write it in quotes as the server does, such as \"t\" or \"1\"";
                Err(self
                    .source
                    .complain(value.span(), "servers write true and false in their own ways", help))
            }
            _ => {
                let text = scalar(self.source, "expect", value)?.to_string();
                self.check_placeholders(&text, value.span())?;
                Ok(text)
            }
        }
    }

    /// Reads what is asked otherwise of one kind of database: by the name of a check, or of an output.
    pub(super) fn asked_otherwise(
        &self,
        key: &str,
        what: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<IndexMap<String, AskedOtherwise>, Diagnostic> {
        let is_check = what == "check";
        let known: Vec<&str> = match is_check {
            true => self
                .experiment
                .checks
                .iter()
                .map(|check| check.question.name.as_str())
                .collect(),
            false => self
                .experiment
                .outputs
                .iter()
                .map(|output| output.name.as_str())
                .collect(),
        };
        let keys = if is_check {
            &CHECK_DIALECT_KEYS[..]
        } else {
            &OUTPUT_DIALECT_KEYS
        };
        let mut asked = IndexMap::new();
        for (name, span, value) in Section::open(self.source, format!("[{key}.{what}]"), value)?.entries() {
            if !known.contains(&name) {
                let hint = did_you_mean(nearest(name, known.iter().copied()));
                let message = format!("there is no {what} `{name}`{hint}");
                let help = format!("there are: {}", known.join(", "));
                return Err(self.source.complain(span, message, help));
            }
            let section = Section::of(self.source, format!("[{key}.{what}.{name}]"), value, keys)?;
            let expect = section.get("expect").map(|expect| self.expect(expect));
            let otherwise = AskedOtherwise {
                sql: self.statement(&section)?,
                expect: expect.transpose()?,
            };
            asked.insert(name.to_owned(), otherwise);
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use dyno_archive::plan::{Resolved, Size};
    use insta::assert_snapshot;
    use std::path::Path;

    const FILE: &str = "title = \"t\"\n[parameters]\nrows = 5\n[[workload]]\nscript = \"select 1\"\n";

    fn resolved(text: &str, target: &str) -> Result<Resolved, String> {
        let file = format!("{FILE}{text}");
        let experiment = parse(Path::new("mine.toml"), &file).map_err(|error| error.to_string())?;
        let set = [("target".to_owned(), target.to_owned())];
        let plan = experiment.plan(Size::Full, &set, None, 1, 1).unwrap();
        Ok(plan.cells.into_iter().next().unwrap().experiment)
    }

    #[test]
    fn questions_have_their_parameters_and_their_dialect() {
        let text = "[[check]]\nname = \"all\"\nwhen = \"before\"\nsql = \"select count(*), 'x' from t;\"\nexpect = \
                    [[\"{rows}\", \"x\"]]\n[[check]]\nname = \"some\"\nsql = \"select 1 where {rows} > 1\"\nexpect = { \
                    at_least = 1 }\n[[output]]\nname = \"list\"\nsql = \"select * from t limit {rows}\"\n[postgres]\n\
                    [mysql.check.some]\nsql = \"select 2\"\nexpect = [2]\n[mysql.output.list]\nsql = \"show tables\"\n";
        let shown = ["embedded", "embedded:mariadb"].map(|target| {
            let resolved = resolved(text, target).unwrap();
            let checks = resolved.checks.iter().map(|check| {
                let question = &check.question;
                format!(
                    "{} {}: {} = {}",
                    question.when, question.name, question.sql, check.expect
                )
            });
            let outputs = resolved.outputs.iter();
            let outputs = outputs.map(|output| format!("{} {}: {}", output.when, output.name, output.sql));
            checks.chain(outputs).collect::<Vec<_>>().join("\n")
        });
        assert_snapshot!(shown.join("\n\n"), @r"
        before all: select count(*), 'x' from t = (5, x)
        after some: select 1 where 5 > 1 = at least 1
        after list: select * from t limit 5

        before all: select count(*), 'x' from t = (5, x)
        after some: select 2 = 2
        after list: show tables
        ");
    }

    #[test]
    fn what_is_wrong_with_a_question_is_told_with_its_place() {
        let check = "[[check]]\nname = \"a\"\nsql = \"select 1\"\n";
        let mistakes = [
            "[check]".to_owned(),
            "[[check]]\nsql = \"select 1\"".to_owned(),
            "[[output]]\nname = \"a b\"\nsql = \"select 1\"".to_owned(),
            check.to_owned(),
            format!("{check}expect = 1\n{check}expect = 2"),
            format!("{check}expect = true"),
            format!("{check}expect = {{}}"),
            format!("{check}expect = {{ at_least = \"many\" }}"),
            format!("{check}expect = \"{{rwos}}\""),
            format!("{check}expect = 1\nwhen = \"during\""),
            "[[output]]\nname = \"a\"\nsql = \" ; \"".to_owned(),
            "[[output]]\nname = \"a\"\nsql = \"select {rwos}\"".to_owned(),
            "[[output]]\nname = \"a\"\nsql = \"select 1\"\n[mysql.output.b]\nsql = \"select 1\"".to_owned(),
        ];
        let complaints = mistakes.map(|mistake| {
            let complaint = resolved(&format!("{mistake}\n"), "embedded").unwrap_err();
            format!("# {}\n{complaint}\n", mistake.replace('\n', " | "))
        });
        assert_snapshot!(complaints.join("\n"));
    }
}

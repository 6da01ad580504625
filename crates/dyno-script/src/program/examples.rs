//! What statements of scripts look like when a client sends them, for who wants to know before any does.

use super::ScriptProgram;
use crate::{Command, Random};
use dyno_engine::Program;
use dyno_wire::Protocol;

/// What examples are drawn from.
const SEED: u64 = 1;

/// A statement as servers get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// With `$1`, `$2`, … in the places of its variables; absent if it has none.
    pub parameterized: Option<String>,
    /// With values in these places, as a client could send it; absent if one of them comes from the results of
    /// other statements, or is not to be had for another reason.
    pub filled: Option<String>,
}

impl ScriptProgram {
    /// An example of each statement, in the order of [`Program::statements`]. Values are such as a client draws that
    /// executes each script from begin to end, whatever its conditions say. They are the same whatever the seed is, so
    /// that what is found for them can be compared between runs.
    #[must_use]
    pub fn examples(&self) -> Vec<Example> {
        let mut examples = Vec::new();
        for part in &self.parts {
            let mut state = self.state(0);
            state.random = Random::new(SEED);
            for command in part.script.commands() {
                match command {
                    Command::Set(set) | Command::SetRandom(set) => {
                        // What has no value is missing where it is used.
                        let _ = set.assign(&mut state.variables, &mut state.random);
                    }
                    Command::Statement(statement) => {
                        let has = |id: &crate::VariableId| state.variables.get(*id).is_some();
                        let filled = statement.parameters().iter().all(has).then(|| {
                            let mut text = Vec::new();
                            match self.protocol {
                                Protocol::Simple => statement.write_simple(&state.variables, &mut text),
                                Protocol::Extended | Protocol::Prepared => {
                                    statement.write_literals(&state.variables, &mut text);
                                }
                            }
                            dyno_text::decode(&text).into_owned()
                        });
                        let parameterized =
                            (!statement.parameters().is_empty()).then(|| statement.parameterized().to_owned());
                        examples.push(Example { parameterized, filled });
                    }
                    _ => {}
                }
            }
        }
        examples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lexis, Script, ScriptSet, Seeds, Symbols, Value, Variables};
    use std::sync::Arc;

    fn program(texts: &[&str], lexis: Lexis, protocol: Protocol, word: &str) -> ScriptProgram {
        seeded(7, texts, lexis, protocol, word)
    }

    fn seeded(seed: u64, texts: &[&str], lexis: Lexis, protocol: Protocol, word: &str) -> ScriptProgram {
        let mut symbols = Symbols::new();
        let scripts: Vec<_> = texts
            .iter()
            .map(|text| {
                (
                    Arc::new(Script::parse_by(lexis, "test", *text, &mut symbols).unwrap()),
                    1,
                )
            })
            .collect();
        let mut variables = Variables::new(&symbols);
        if let Some(id) = symbols.lookup("word") {
            variables.set(id, Value::from(word));
        }
        ScriptProgram::new(ScriptSet {
            scripts,
            variables,
            client_id: None,
            seeds: Seeds::draw(seed, 2, 1, false),
            protocol,
        })
    }

    fn examples(texts: &[&str]) -> (Vec<String>, Vec<Example>) {
        let program = program(texts, Lexis::Psql, Protocol::Simple, "");
        (program.statements(), program.examples())
    }

    #[test]
    fn parameters_become_literals_as_the_database_has_them() {
        let filled = |lexis, protocol| {
            let program = program(&["\\set n 5\nselect :n, :word;"], lexis, protocol, "it's \\");
            program.examples().remove(0).filled.unwrap()
        };
        assert_eq!(filled(Lexis::Psql, Protocol::Prepared), "select '5', 'it''s \\';");
        assert_eq!(filled(Lexis::Mysql, Protocol::Extended), "select 5, 'it''s \\\\';");
        assert_eq!(
            filled(Lexis::MysqlNoEscapes, Protocol::Extended),
            "select 5, 'it''s \\';"
        );
        assert_eq!(filled(Lexis::Psql, Protocol::Simple), "select 5, it's \\;");
    }

    #[test]
    fn each_statement_of_each_script_has_an_example_with_values() {
        let (statements, found) = examples(&[
            "\\set id random(1, 9)\n\\if :id > 100\n\\set far 1000\nselect :far;\n\\endif\nbegin;",
            "select 2;",
        ]);
        let example = |parameterized: Option<&str>, filled: &str| Example {
            parameterized: parameterized.map(str::to_owned),
            filled: Some(filled.to_owned()),
        };
        let expected = [
            example(Some("select $1;"), "select 1000;"),
            example(None, "begin;"),
            example(None, "select 2;"),
        ];
        assert_eq!(found, expected);
        assert_eq!(statements.len(), found.len());
    }

    #[test]
    fn what_is_drawn_is_drawn_alike_whatever_the_seed() {
        let text = "\\set id random(1, 1000000)\nselect * from t where id = :id;";
        let of = |seed| seeded(seed, &[text], Lexis::Psql, Protocol::Simple, "").examples();
        let (one, other) = (of(7), of(8));
        assert_eq!(one, other);
        let filled = one[0].filled.as_deref().unwrap();
        assert!(
            filled.starts_with("select * from t where id = ") && !filled.contains(':'),
            "{filled}"
        );
    }

    #[test]
    fn values_that_only_the_server_knows_are_not_made_up() {
        let (_, found) = examples(&["select 1 as x \\gset\nselect :x;\n\\set y 1 / 0\nselect :y;"]);
        let filled: Vec<_> = found.iter().map(|example| example.filled.is_some()).collect();
        assert_eq!(filled, [true, false, false]);
        assert_eq!(found[1].parameterized.as_deref(), Some("select $1;"));
    }
}

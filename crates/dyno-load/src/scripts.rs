//! Scripts in pgbench's language as plain data, and the program that they become.

use dyno_script::{Lexis, Script, ScriptError, ScriptProgram, ScriptSet, Seeds, Symbols, Value, Variables};
use dyno_wire::Protocol;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The variable that decides the values of hash functions. Unless it is given, it is drawn.
const DEFAULT_SEED: &str = "default_seed";
/// The variable that holds the number of a client, unless it is given.
const CLIENT_ID: &str = "client_id";
/// The variable that holds the seed, unless it is given.
const RANDOM_SEED: &str = "random_seed";

/// What the clients of a workload execute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scripts {
    /// The scripts, of which each transaction executes one. At least 1.
    pub scripts: Vec<ScriptText>,
    /// By which rules their SQL is read.
    pub lexis: Lexis,
    /// The variables that are set before the first transaction, the last of a name counting.
    pub variables: Vec<Given>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How statements are sent.
    pub protocol: Protocol,
}

/// A script as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptText {
    /// Its file, or whatever tells a person which script it is.
    pub name: String,
    /// Its text, which need not be UTF-8. Where it is a part of a file, line breaks and spaces precede it, so that
    /// places in it are those in the file.
    pub text: Vec<u8>,
    /// How often it is chosen, in proportion to the sum of all weights.
    pub weight: u64,
}

/// Scripts that are parsed.
#[derive(Clone, Debug)]
pub struct ParsedScripts {
    /// The scripts with their weights.
    pub scripts: Vec<(Arc<Script>, u64)>,
    /// The names of their variables.
    pub symbols: Symbols,
}

/// A variable that is set before the first transaction. Its value may be a secret: `Debug` prints the name alone.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

impl Given {
    /// The variable of this name.
    pub fn new(name: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Scripts {
    /// The random states of so many clients on so many threads.
    #[must_use]
    pub fn seeds(&self, clients: usize, threads: usize) -> Seeds {
        Seeds::draw(self.seed, clients, threads, self.gives(DEFAULT_SEED))
    }

    /// Parses the scripts.
    ///
    /// # Errors
    /// A script does not follow the language.
    pub fn parse(&self) -> Result<ParsedScripts, ScriptError> {
        let mut symbols = Symbols::new();
        let each = self.scripts.iter().map(|script| {
            let parsed = Script::parse_by(self.lexis, &script.name, &script.text, &mut symbols)?;
            Ok((Arc::new(parsed), script.weight))
        });
        let scripts = each.collect::<Result<_, _>>()?;
        Ok(ParsedScripts { scripts, symbols })
    }

    /// The program for so many clients on so many threads.
    ///
    /// # Errors
    /// A script does not follow the language.
    pub fn program(&self, clients: usize, threads: usize) -> Result<ScriptProgram, ScriptError> {
        let ParsedScripts { scripts, symbols } = self.parse()?;
        let seeds = self.seeds(clients, threads);
        let mut variables = Variables::new(&symbols);
        let automatic = [
            (RANDOM_SEED, Some(self.seed.cast_signed())),
            (DEFAULT_SEED, seeds.default_seed),
        ];
        let automatic = automatic
            .into_iter()
            .filter_map(|(name, value)| Some((name, Value::Int(value?))));
        let given = self.variables.iter();
        let given = given.map(|given| (given.name.as_str(), given.value.clone()));
        for (name, value) in automatic.chain(given) {
            if let Some(id) = symbols.lookup(name) {
                variables.set(id, value);
            }
        }
        Ok(ScriptProgram::new(ScriptSet {
            scripts,
            variables,
            client_id: symbols.lookup(CLIENT_ID).filter(|_| !self.gives(CLIENT_ID)),
            seeds,
            protocol: self.protocol,
        }))
    }

    fn gives(&self, name: &str) -> bool {
        self.variables.iter().any(|given| given.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_engine::{Program, Scripted};
    use dyno_wire::Parameters;

    fn scripts(variables: Vec<Given>) -> Scripts {
        Scripts {
            scripts: vec![ScriptText {
                name: "test".to_owned(),
                text: b"select :client_id, :default_seed, :random_seed, :x;".to_vec(),
                weight: 1,
            }],
            lexis: Lexis::Psql,
            variables,
            seed: 7,
            protocol: Protocol::Prepared,
        }
    }

    /// The values of the statement's parameters for client 3 of 5.
    fn values(scripts: &Scripts) -> Vec<Option<String>> {
        let program = scripts.program(5, 2).unwrap();
        let state = program.state(3);
        let parameters = program.parameters(&state, 0);
        let value = |index| {
            let mut out = Vec::new();
            parameters
                .write(index, &mut out)
                .then(|| String::from_utf8(out).unwrap())
        };
        (0..parameters.len()).map(value).collect()
    }

    #[test]
    fn variables_are_those_given_and_else_automatic() {
        let drawn = Seeds::draw(7, 5, 2, false).default_seed.unwrap().to_string();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            values(&scripts(vec![Given::new("x", 1), Given::new("x", 2)])),
            [some("3"), Some(drawn), some("7"), some("2")]
        );
        let given = ["client_id", "default_seed", "random_seed"].map(|name| Given::new(name, 9));
        assert_eq!(
            values(&scripts(given.to_vec())),
            [some("9"), some("9"), some("9"), None]
        );
    }

    #[test]
    fn random_states_are_a_function_of_the_plan_and_a_number() {
        let scripts = scripts(Vec::new());
        let (one, other) = (scripts.program(5, 2).unwrap(), scripts.program(5, 2).unwrap());
        let draws = |program: &ScriptProgram, thread| {
            let mut schedule = program.schedule(thread);
            [schedule(), schedule()]
        };
        // Whoever does the part of the second thread need not have done that of the first.
        assert_eq!(draws(&one, 1), draws(&other, 1));
        assert_ne!(draws(&one, 0), draws(&one, 1));
        let mut throttle = Seeds::draw(7, 5, 2, false).threads.remove(1).throttle;
        assert_eq!(draws(&one, 1), [throttle.unit(), throttle.unit()]);
        // As in pgbench, none is drawn for a variable that is given, and threads draw after it.
        let given = Scripts {
            variables: vec![Given::new("default_seed", 1)],
            ..scripts
        };
        let mut throttle = Seeds::draw(7, 5, 2, true).threads.remove(1).throttle;
        assert_eq!(
            draws(&given.program(5, 2).unwrap(), 1),
            [throttle.unit(), throttle.unit()]
        );
    }

    #[test]
    fn the_value_of_a_variable_is_not_shown() {
        let shown = format!("{:?}", scripts(vec![Given::new("x", "hunter2")]));
        assert!(shown.contains("\"x\"") && !shown.contains("hunter2"), "{shown}");
    }
}

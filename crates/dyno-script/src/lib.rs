//! pgbench's script language: parse, compile, evaluate, random functions; no I/O.
//!
//! A script is compiled once, before the clients start, so that a mistake in it is told before a benchmark
//! begins and a running client only walks a small tree. Values and random numbers are those of pgbench 15:
//! the same script with the same seed does the same work, which is what makes two measurements comparable.
//!
//! ```
//! use dyno_script::{Command, Script, Seeds, Step, Symbols, Value, Variables};
//!
//! let mut symbols = Symbols::new();
//! let script = Script::parse("demo.sql", "\\set id random(1, :rows)\nselect :id;\n", &mut symbols)?;
//! let rows = symbols.intern("rows");
//!
//! let mut seeds = Seeds::draw(42, 1, 1, false);
//! let mut variables = Variables::new(&symbols);
//! variables.set(rows, Value::Int(1000));
//! let mut bytes = Vec::new();
//! for command in script.commands() {
//!     match command {
//!         Command::Statement(statement) => statement.write_simple(&variables, &mut bytes),
//!         meta => assert_eq!(meta.execute(&mut variables, &mut seeds.clients[0])?, Step::Done),
//!     }
//! }
//! assert!(bytes.starts_with(b"select "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod diagnostic;
mod evaluate;
mod expression;
mod fault;
mod format;
mod grammar;
mod hash;
mod meta;
mod random;
mod script;
mod seeds;
mod split;
mod statement;
mod symbols;
mod token;
mod value;
mod variables;

pub use command::{Command, Set, SetRandom, Sleep, Step};
pub use diagnostic::{EvaluationError, Position, ScriptError};
pub use random::Random;
pub use script::Script;
pub use seeds::{Seeds, ThreadSeeds};
pub use statement::{MAX_PARAMETERS, Statement};
pub use symbols::{Symbols, VariableId};
pub use value::Value;
pub use variables::Variables;

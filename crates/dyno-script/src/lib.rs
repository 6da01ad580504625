//! pgbench's script language: parse, compile, evaluate, random functions; its program, which clients of the engine
//! execute; and rows of tables whose columns are written in it ([`Rows`]).
//!
//! A script is compiled once, before the clients start, so that a mistake in it is told before a benchmark
//! begins and a running client only walks a small tree. Values and random numbers are those of pgbench 15:
//! the same script with the same seed does the same work, which is what makes two measurements comparable.
//!
//! ```
//! use dyno_script::{Cursor, Script, Seeds, Step, Symbols, Value, Variables};
//!
//! let mut symbols = Symbols::new();
//! let script = Script::parse("demo.sql", "\\set id random(1, :rows)\nselect :id;\n", &mut symbols)?;
//! let rows = symbols.intern("rows");
//!
//! let mut seeds = Seeds::draw(42, 1, 1, false);
//! let mut variables = Variables::new(&symbols);
//! variables.set(rows, Value::Int(1000));
//! let mut bytes = Vec::new();
//! let mut cursor = Cursor::default();
//! loop {
//!     match script.next(&mut cursor, &mut variables, &mut seeds.clients[0], false)? {
//!         Step::Statement(index) => {
//!             let statement = script.statement(index).expect("the script said so");
//!             statement.write_simple(&variables, &mut bytes);
//!         }
//!         Step::End => break,
//!         other => unreachable!("{other:?} is not in this script"),
//!     }
//! }
//! assert!(bytes.starts_with(b"select "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod conditions;
mod cursor;
mod defined;
mod diagnostic;
mod evaluate;
mod expression;
mod fault;
mod format;
mod grammar;
mod hash;
mod lexis;
mod meta;
mod mistake;
#[cfg(feature = "program")]
mod program;
mod random;
mod rows;
mod script;
mod seeds;
mod shell;
mod sleep;
mod split;
mod statement;
mod symbols;
mod token;
mod value;
mod variables;

pub use command::{Command, Condition, Else, Place, Set};
pub use cursor::{Cursor, Step};
pub use defined::Defined;
pub use diagnostic::{EvaluationError, Position, ScriptError};
pub use lexis::Lexis;
#[cfg(feature = "program")]
pub use program::{CaptureFault, Example, ScriptFault, ScriptProgram, ScriptSet, ScriptState, ScriptThread};
pub use random::Random;
pub use rows::{ColumnError, Draw, GivenReader, GivenRows, Making, RowError, RowFormat, RowWriter, Rows};
pub use script::Script;
pub use seeds::{Seeds, ThreadSeeds};
pub use shell::{Shell, ShellLine};
pub use sleep::Sleep;
pub use statement::{Capture, CaptureKind, MAX_PARAMETERS, Statement};
pub use symbols::{Symbols, VariableId};
pub use token::is_variable_name;
pub use value::Value;
pub use variables::{Debugged, Variables};

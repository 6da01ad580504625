//! The options that a script declares, and what was given for them.

use super::error::OptionError;
use super::table::is_same;
use super::value::{Kind, Value};
use super::{Options, Other};

/// An option of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name as the script writes it.
    pub name: String,
    /// What its value is.
    pub kind: Kind,
    /// Its value unless it is given.
    pub default: Option<Value>,
    /// What it is for.
    pub about: String,
}

/// What a script is to know of its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The name as the script writes it; of options that it does not declare, as globals can be named.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Whether it was given, and is not what holds anyway.
    pub is_given: bool,
}

/// The script's options with their values. A script that declares none gets whatever was given, as text.
///
/// # Errors
/// There is no such option, or it cannot have such a value.
pub fn resolve(declared: Option<&[Declared]>, options: &Options) -> Result<Vec<Resolved>, OptionError> {
    options.settings.check()?;
    let Some(declared) = declared else {
        let given = options.others.iter().map(|other| Resolved {
            name: other.name.replace('-', "_"),
            value: Value::Text(other.value.clone().unwrap_or_default()),
            is_given: true,
        });
        return Ok(given.collect());
    };
    let mut resolved: Vec<Resolved> = declared
        .iter()
        .map(|option| Resolved {
            name: option.name.clone(),
            value: option.usual(),
            is_given: false,
        })
        .collect();
    for other in &options.others {
        let place = declared.iter().position(|option| is_same(&option.name, &other.name));
        let Some(place) = place else {
            // A file may be for several tests.
            if other.is_of_file {
                continue;
            }
            return Err(invalid(other));
        };
        let value = declared[place].kind.value(other.value.as_deref());
        resolved[place].value = value.map_err(|_| invalid(other))?;
        resolved[place].is_given = true;
    }
    Ok(resolved)
}

fn invalid(other: &Other) -> OptionError {
    OptionError::Invalid(match &other.value {
        Some(value) => format!("--{}={value}", other.name),
        None => format!("--{}", other.name),
    })
}

impl Declared {
    /// Its value unless another is given.
    fn usual(&self) -> Value {
        match (&self.default, self.kind) {
            (None, kind) => kind.nothing(),
            // As it would be written on the command line.
            (Some(Value::Text(text)), kind) if kind != Kind::Text => {
                kind.value(Some(text)).unwrap_or_else(|_| kind.nothing())
            }
            (Some(value), _) => value.clone(),
        }
    }
}

impl Kind {
    /// The value of an option that has no default and was not given: empty text in a script, whatever its kind.
    fn nothing(self) -> Value {
        match self {
            Self::Bool => Value::Bool(false),
            Self::List => Value::List(Vec::new()),
            _ => Value::Text(String::new()),
        }
    }
}

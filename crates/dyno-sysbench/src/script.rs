//! A test: its script, what it declares, and what it is run with.

use crate::connection::{ConnectionError, Driver};
use crate::message::{Level, Log, print_bytes};
use crate::options::declared::{Declared, Resolved};
use crate::options::{Kind, Options, Value};
use dyno_lua::{
    DeclaredOption, Dialect, Distribution, Environment, IgnoredErrors, LuaError, OptionKind, OptionValue, Parts,
    PreparedStatements, RandomSettings, Settings, Source, Voice, workloads,
};
use std::io::Read;
use std::sync::Arc;

/// A script that is loaded.
pub struct Script {
    /// Where it comes from.
    pub source: Source,
    /// What is said of it.
    pub name: String,
    /// What it says of itself.
    pub declared: dyno_lua::Declared,
    /// The options that it declares.
    pub options: Option<Vec<Declared>>,
    /// What else it consists of, for the archive.
    pub parts: Parts,
}

/// Passes on what scripts print, and says what is to be said.
pub struct Speaker {
    /// Who says it.
    pub log: Arc<Log>,
    /// Whether nothing is to be heard of what the script prints: it is loaded to be looked at.
    pub is_silent: bool,
}

impl Voice for Speaker {
    fn print(&self, bytes: &[u8]) {
        if !self.is_silent {
            print_bytes(bytes);
        }
    }

    fn say(&self, level: dyno_lua::Level, message: &str) {
        let level = match level {
            dyno_lua::Level::Fatal => Level::Fatal,
            dyno_lua::Level::Warning => Level::Warning,
            dyno_lua::Level::Debug => Level::Debug,
        };
        self.log.say(level, message);
    }
}

/// Why there is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Nobody knows the name.
    #[error("Cannot find benchmark '{0}': no such built-in test, file or module")]
    Unknown(String),
    /// It cannot be loaded.
    #[error(transparent)]
    Lua(#[from] LuaError),
    /// Standard input cannot be read.
    #[error("cannot read the script from standard input: {0}")]
    Input(String),
    /// The options lead to no database.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

impl Script {
    /// Finds the script that the command line names, loads it, and asks what it declares.
    ///
    /// # Errors
    /// [`ScriptError`]
    pub fn load(options: &Options, log: &Arc<Log>) -> Result<Self, ScriptError> {
        let (name, source) = source(options)?;
        // With a command it is loaded once more, with values.
        let look = settings(options, &[], &[], log, options.command.is_some());
        let environment = Environment::load(&source, &look, 0, None)?;
        let declared = environment.declared().clone();
        let own = declared.options.as_ref();
        Ok(Self {
            options: own.map(|own| own.iter().map(option).collect()),
            parts: match options.archive {
                Some(_) => environment.parts(),
                None => Parts::default(),
            },
            source,
            name,
            declared,
        })
    }

    /// Has the script look at the values that were given for options which it validates.
    ///
    /// # Errors
    /// It does not like one.
    pub fn validate(&self, resolved: &[Resolved], options: &Options, log: &Arc<Log>) -> Result<(), LuaError> {
        let own = self.declared.options.iter().flatten();
        let validated: Vec<_> = own.filter(|option| option.validated).collect();
        if validated.is_empty() {
            return Ok(());
        }
        let look = settings(options, resolved, &[], log, true);
        let environment = Environment::load(&self.source, &look, 0, None)?;
        for given in resolved.iter().filter(|given| given.is_given) {
            if validated.iter().any(|option| option.name == given.name) {
                environment.validate(&given.name, &shown(&given.value))?;
            }
        }
        Ok(())
    }

    /// What the script is run with once its options have values.
    #[must_use]
    pub fn settings(&self, options: &Options, resolved: &[Resolved], log: &Arc<Log>) -> Settings {
        let undeclared: &[Resolved] = if self.options.is_none() { resolved } else { &[] };
        settings(options, resolved, undeclared, log, false)
    }
}

/// The text of the script, and what it is called. What a person has goes before what comes with dyno.
fn source(options: &Options) -> Result<(String, Source), ScriptError> {
    let name = match options.test.as_deref() {
        None | Some("-") => {
            let mut text = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut text);
            read.map_err(|error| ScriptError::Input(crate::system_text(&error)))?;
            let name = options.test.clone().unwrap_or_else(|| "-".to_owned());
            return Ok((name.clone(), Source::text(&name, &dyno_text::decode(&text))));
        }
        Some(name) => name,
    };
    if let Some(source) = Source::find(name, &[])? {
        // What lies beside the script, or where it looks, goes before what comes with dyno.
        return Ok((name.to_owned(), source.with_own_modules()));
    }
    let own = workloads::find(name).ok_or_else(|| ScriptError::Unknown(name.to_owned()))?;
    let source = Source::text(&format!("{}.lua", own.name), own.text);
    Ok((name.to_owned(), source.with_own_modules()))
}

fn option(own: &DeclaredOption) -> Declared {
    let kind = match own.kind {
        OptionKind::Bool => Kind::Bool,
        // A size is written with a unit; any other number need not be whole.
        OptionKind::Int if matches!(own.default, Some(OptionValue::Text(_))) => Kind::Size,
        OptionKind::Int | OptionKind::Double => Kind::Double,
        OptionKind::String => Kind::Text,
        OptionKind::List => Kind::List,
    };
    Declared {
        name: own.name.clone(),
        kind,
        default: own.default.as_ref().map(|value| match value {
            OptionValue::Bool(on) => Value::Bool(*on),
            OptionValue::Number(number) => Value::Double(*number),
            OptionValue::Text(text) => Value::Text(text.clone()),
            OptionValue::List(parts) => Value::List(parts.clone()),
        }),
        about: own.description.clone(),
    }
}

/// A value as a script sees it.
pub fn shown(value: &Value) -> OptionValue {
    match value {
        Value::Bool(on) => OptionValue::Bool(*on),
        Value::Int(number) => OptionValue::Number(*number as f64),
        Value::Double(number) => OptionValue::Number(*number),
        Value::Text(text) => OptionValue::Text(text.clone()),
        Value::List(parts) => OptionValue::List(parts.clone()),
    }
}

/// Options that scripts of 0.5 find as globals.
const GLOBALS: [&str; 2] = ["mysql-table-engine", "myisam-max-rows"];

fn settings(options: &Options, own: &[Resolved], undeclared: &[Resolved], log: &Arc<Log>, is_silent: bool) -> Settings {
    let general = &options.settings;
    let resolved = |resolved: &Resolved| (resolved.name.clone(), shown(&resolved.value));
    let named = |(name, value): (&str, &Value)| (name.replace('-', "_"), shown(value));
    let globals = GLOBALS.iter().filter_map(|name| Some((*name, general.value(name)?)));
    let number = |name: &str| u32::try_from(general.int(name)).unwrap_or(0);
    let speaker = Speaker {
        log: Arc::clone(log),
        is_silent,
    };
    let dialect = match Driver::of(general.text("db-driver")) {
        Some(Driver::Pgsql) => Dialect::Postgres,
        _ => Dialect::Mysql,
    };
    Settings {
        options: general.all().map(named).chain(own.iter().map(resolved)).collect(),
        globals: globals
            .map(named)
            .chain([(
                "num_threads".to_owned(),
                OptionValue::Number(options.limits.threads as f64),
            )])
            .chain(undeclared.iter().map(resolved))
            .collect(),
        argv: std::iter::once("sysbench".to_owned())
            .chain(options.words.iter().cloned())
            .collect(),
        command: options.command.clone(),
        threads: options.limits.threads,
        random: RandomSettings {
            distribution: match general.text("rand-type") {
                "uniform" => Distribution::Uniform,
                "gaussian" => Distribution::Gaussian,
                "pareto" => Distribution::Pareto,
                "zipfian" => Distribution::Zipfian,
                _ => Distribution::Special,
            },
            iterations: number("rand-spec-iter"),
            percent: number("rand-spec-pct"),
            reserved: number("rand-spec-res"),
            pareto_h: general.double("rand-pareto-h"),
            zipfian_exponent: general.double("rand-zipfian-exp"),
            seed: options.telling.seed.unwrap_or(0),
        },
        version: options.format,
        safe: options.safe_lua,
        prepared: match general.text("db-ps-mode") {
            "disable" => PreparedStatements::Disable,
            _ => PreparedStatements::Auto,
        },
        ignored: ignored(general.list("mysql-ignore-errors")),
        events: options.limits.events.unwrap_or(0),
        // What a look at each statement costs is for those who want to see them apart.
        tells_statements: options.archive.is_some(),
        ..Settings::new(dialect, Arc::new(speaker))
    }
}

fn ignored(list: &[String]) -> IgnoredErrors {
    match list.iter().any(|error| error == "all") {
        true => IgnoredErrors::All,
        // sysbench takes what is no number for none.
        false => IgnoredErrors::Numbers(list.iter().filter_map(|error| error.parse().ok()).collect()),
    }
}

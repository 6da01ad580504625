//! From an archived script to what is loaded, and the looking at it.

use super::option::{DISTRIBUTIONS, GENERAL, IGNORE_ERRORS, Kind, RAND_TYPE, kind_of, parts};
use dyno_archive::plan::{LuaScript, Value, shown_option};
use dyno_engine::Stop;
use dyno_lua::{
    Dialect, Environment, Heard, IgnoredErrors, LuaError, OptionValue, PreparedStatements, RandomSettings, Settings,
    Source,
};
use indexmap::IndexMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What scripts make globals of in sysbench 0.5, with the values that they have there.
const GLOBALS: [(&str, OptionDefault); 2] = [
    ("mysql_table_engine", OptionDefault::Text("innodb")),
    ("myisam_max_rows", OptionDefault::Number(1_000_000.0)),
];

#[derive(Clone, Copy)]
enum OptionDefault {
    Text(&'static str),
    Number(f64),
}

/// The script as dyno finds it.
pub(super) fn source_of(script: &LuaScript) -> Source {
    let name = &script.script.script_name;
    let source = match folder(name) {
        Some(folder) => Source::text(name, &script.script.script).in_folder(&folder),
        None => Source::text(&format!("{name}.lua"), &script.script.script),
    };
    let modules = script.lua.modules.iter();
    let modules = modules.map(|(name, text)| (name.as_str(), text.as_str()));
    source.with_own_modules().with_modules(modules)
}

/// The folder of a script that is a file; `None`: it came with dyno.
fn folder(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|ending| ending == "lua");
    is_file.then(|| path.parent().unwrap_or(Path::new("")).to_owned())
}

/// Loads a script to look at it; nobody hears what it prints. One that computes without end is ended by `stop`.
///
/// # Errors
/// It cannot be loaded.
pub(super) fn look(source: &Source, safe: bool, dialect: Dialect, stop: &Stop) -> Result<Environment, LuaError> {
    let settings = Settings {
        safe,
        // Scripts that are built on sysbench's own want one.
        command: Some("run".to_owned()),
        options: general(|_| None).collect(),
        globals: globals().collect(),
        stop: stop.clone(),
        ..Settings::new(dialect, Arc::new(Heard::default()))
    };
    Environment::load(source, &settings, 0, None)
}

/// What is to be loaded for a script, whose random numbers follow from `seed`; `prepares` says whether what it prepares
/// is prepared, and `stop` ends the looking at it.
///
/// # Errors
/// It cannot be loaded, or an option cannot have its value.
pub(crate) fn loadable(
    script: &LuaScript,
    dialect: Dialect,
    seed: u64,
    prepares: bool,
    stop: &Stop,
) -> Result<dyno_load::LuaScript, LuaError> {
    let files = script.lua.files.iter();
    let source = source_of(script).with_files(files.map(|(name, text)| (name.as_str(), text.as_str())));
    let looked = look(&source, script.lua.safe, dialect, stop)?;
    let given = |name: &str| script.lua.options.get(name);
    let mut options: Vec<_> = general(given).collect();
    let mut undeclared = Vec::new();
    match &looked.declared().options {
        None => {
            let is_general = |name: &str| GENERAL.iter().any(|(known, ..)| *known == name);
            let given = script.lua.options.iter().filter(|(name, _)| !is_general(name));
            // As on a command line: nothing says what they are but text.
            undeclared.extend(given.map(|(name, value)| (name.clone(), OptionValue::Text(value.to_string()))));
            options.extend(undeclared.clone());
        }
        Some(declared) => {
            for option in declared {
                let kind = kind_of(option);
                let value = match (given(&option.name), &option.default) {
                    (Some(value), _) => kind
                        .read(value)
                        .map_err(|expected| refused(&option.name, value, expected))?,
                    (None, None) => kind.nothing(),
                    // As it would be written.
                    (None, Some(OptionValue::Text(text))) => kind
                        .read(&Value::from(text.as_str()))
                        .unwrap_or_else(|_| kind.nothing()),
                    (None, Some(value)) => value.clone(),
                };
                if given(&option.name).is_some() {
                    looked.validate(&option.name, &value)?;
                }
                options.push((option.name.clone(), value));
            }
        }
    }
    let text = |name: &str| option_text(&options, name);
    let number = |name: &str| option_number(&options, name);
    let ignored = match text(IGNORE_ERRORS) {
        all if parts(&all).iter().any(|part| part == "all") => IgnoredErrors::All,
        list => IgnoredErrors::Numbers(parts(&list).iter().filter_map(|part| part.parse().ok()).collect()),
    };
    let distribution = DISTRIBUTIONS.iter().find(|(name, _)| *name == text(RAND_TYPE));
    Ok(dyno_load::LuaScript {
        name: source.name().to_owned(),
        text: script.script.script.clone().into_bytes(),
        folder: folder(&script.script.script_name),
        modules: texts(&script.lua.modules),
        files: texts(&script.lua.files),
        is_safe: script.lua.safe,
        prepared: match prepares {
            true => PreparedStatements::Auto,
            false => PreparedStatements::Disable,
        },
        ignored,
        random: RandomSettings {
            distribution: distribution.map(|(_, distribution)| *distribution).unwrap_or_default(),
            iterations: number("rand_spec_iter") as u32,
            percent: number("rand_spec_pct") as u32,
            reserved: number("rand_spec_res") as u32,
            pareto_h: number("rand_pareto_h"),
            zipfian_exponent: number("rand_zipfian_exp"),
            // 0 would mean the clock.
            seed: seed.max(1),
        },
        globals: globals().chain(undeclared).collect(),
        options,
    })
}

/// Texts by their names, as bytes.
fn texts(texts: &IndexMap<String, String>) -> Vec<(String, Vec<u8>)> {
    let texts = texts.iter();
    texts
        .map(|(name, text)| (name.clone(), text.clone().into_bytes()))
        .collect()
}

fn refused(name: &str, value: &Value, expected: &str) -> LuaError {
    LuaError::Load {
        message: format!(
            "the option `{name}` cannot be `{}`: {expected}",
            shown_option(name, value)
        ),
        traceback: String::new(),
    }
}

/// The options of all scripts with their values.
fn general<'a>(given: impl Fn(&str) -> Option<&'a Value>) -> impl Iterator<Item = (String, OptionValue)> {
    GENERAL.into_iter().map(move |(name, kind, usual)| {
        let kind = Kind::Plain(kind);
        let value = given(name).and_then(|value| kind.read(value).ok());
        let usual = || kind.read(&Value::from(usual)).unwrap_or_else(|_| kind.nothing());
        (name.to_owned(), value.unwrap_or_else(usual))
    })
}

fn globals() -> impl Iterator<Item = (String, OptionValue)> {
    GLOBALS.into_iter().map(|(name, value)| {
        let value = match value {
            OptionDefault::Text(text) => OptionValue::Text(text.to_owned()),
            OptionDefault::Number(number) => OptionValue::Number(number),
        };
        (name.to_owned(), value)
    })
}

fn option_text(options: &[(String, OptionValue)], name: &str) -> String {
    match options.iter().find(|(known, _)| known == name) {
        Some((_, OptionValue::Text(text))) => text.clone(),
        Some((_, OptionValue::List(parts))) => parts.join(","),
        _ => String::new(),
    }
}

fn option_number(options: &[(String, OptionValue)], name: &str) -> f64 {
    match options.iter().find(|(known, _)| known == name) {
        Some((_, OptionValue::Number(number))) => *number,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn looking_at_a_script_that_never_ends_can_be_stopped() {
        let stop = Stop::new();
        let source = Source::text("endless.lua", "while true do end");
        let (told, heard) = mpsc::channel();
        let looking = stop.clone();
        thread::spawn(move || told.send(look(&source, true, Dialect::Mysql, &looking).err()));
        assert!(heard.recv_timeout(Duration::from_millis(300)).is_err());
        stop.request();
        let error = heard.recv_timeout(Duration::from_secs(60)).expect("it goes on");
        assert!(error.is_some_and(|error| error.to_string().contains("endless.lua")));
    }
}

//! A script as an experiment has it: found, looked at, and with what its options are set to.

use super::option::{
    DISTRIBUTIONS, GENERAL, IGNORE_ERRORS, Kind, OPTIONS, RAND_TYPE, check_bounds, check_general, kind_of, parts, spelt,
};
use super::prepare::PREPARE;
use super::script::{look, source_of};
use crate::experiment::{did_you_mean, substitute, text_file, unknown_placeholder};
use crate::nearest::nearest;
use dyno_archive::plan::{LuaScript, LuaSettings, Prepare, Script, Value};
use dyno_engine::Stop;
use dyno_lua::{DeclaredOption, Dialect, Function, Parts, workloads};
use indexmap::IndexMap;
use std::path::Path;

/// The one of dyno's workloads that is none: sysbench 0.5 has it make tables in events.
const PARALLEL_PREPARE: &str = "parallel_prepare";

/// A script with what its options are set to, as written: a text may refer to parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LuaPlan {
    script: LuaScript,
    /// What it declares; `None`: nothing, so that any option may be given.
    declared: Option<Vec<DeclaredOption>>,
}

/// A script that makes data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreparePlan {
    pub script: LuaPlan,
    /// See [`Prepare::threads`].
    pub threads: usize,
}

/// What a script is to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Events.
    Workload,
    /// The command `prepare`.
    Data,
}

impl LuaPlan {
    /// The script called `name`: a file beside the experiment's, in `folder`, whose name ends in `.lua`, or a workload
    /// that comes with dyno.
    ///
    /// # Errors
    /// There is none, it cannot be loaded, or it does not do what it is for. The remedy is behind a line break.
    pub fn find(folder: &Path, name: &str, safe: bool, purpose: Purpose) -> Result<Self, String> {
        let (script_name, script) = if name.ends_with(".lua") {
            let path = folder.join(name);
            let text = text_file::read(&path).map_err(|cause| {
                format!(
                    "cannot read {}: {cause}\nthe path is relative to the experiment file",
                    path.display()
                )
            })?;
            (path.display().to_string(), text)
        } else {
            let own = workloads::all().find(|own| own.name == name).ok_or_else(|| {
                let known = || workloads::all().map(|own| own.name);
                format!(
                    "dyno has no workload `{name}`{}\nit has {}; the name of a file ends in .lua",
                    did_you_mean(nearest(name, known())),
                    known().collect::<Vec<_>>().join(", ")
                )
            })?;
            (own.name.to_owned(), own.text.to_owned())
        };
        if purpose == Purpose::Workload && script_name == PARALLEL_PREPARE {
            return Err(format!(
                "{script_name} is no workload: all that its event does is to make tables\nto make data with it, name \
                 it under [data]; what sysbench 0.5 measures on its tables is lua = \"oltp\""
            ));
        }
        let mut script = LuaScript {
            script: Script {
                script_name,
                script_offset: (0, 0),
                script,
            },
            lua: LuaSettings {
                safe,
                ..LuaSettings::default()
            },
        };
        // Which database it will be is not known yet; and while files are read, a signal ends dyno at once.
        let looked =
            look(&source_of(&script), safe, Dialect::Mysql, &Stop::new()).map_err(|error| format!("{error}\n"))?;
        let declared = looked.declared();
        let does = match purpose {
            Purpose::Workload => declared.has(Function::Event) || declared.has(Function::ThreadRun),
            Purpose::Data => declared.command(PREPARE).is_some(),
        };
        if !does {
            let name = &script.script.script_name;
            return Err(match purpose {
                Purpose::Workload => format!("{name} has no function event()\na workload calls it again and again"),
                Purpose::Data => format!("{name} has no command prepare\nit is what makes the data"),
            });
        }
        let Parts { modules, files } = looked.parts();
        for (name, text) in modules {
            let text = String::from_utf8(text).map_err(|_| format!("the module {name} is not UTF-8\n"))?;
            script.lua.modules.insert(name, text);
        }
        for (name, text) in files {
            let text = String::from_utf8(text).map_err(|_| format!("{name}, which it loads, is not UTF-8\n"))?;
            script.lua.files.insert(name, text);
        }
        let declared = declared.options.clone();
        Ok(Self { script, declared })
    }

    /// The names of all options that can be set; of a script that declares none, those of all scripts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.declared.iter().flatten().map(|option| option.name.as_str());
        declared.chain(GENERAL.iter().map(|(name, ..)| *name))
    }

    /// Whether it has an option of this name.
    pub fn knows(&self, name: &str) -> bool {
        let name = spelt(name);
        self.declared.is_none() || self.names().any(|known| known == name)
    }

    /// Sets an option. A text may refer to `parameters`.
    ///
    /// # Errors
    /// There is no such option, or it cannot have the value. The remedy is behind a line break.
    pub fn set(&mut self, name: &str, value: &Value, parameters: &IndexMap<String, Value>) -> Result<(), String> {
        if !self.knows(name) {
            let script = &self.script.script.script_name;
            let known: Vec<_> = self.names().collect();
            return Err(format!(
                "{script} has no option `{name}`{}\noptions: {}",
                did_you_mean(nearest(&spelt(name), known.iter().copied())),
                known.join(", ")
            ));
        }
        if let Value::Text(text) = value
            && let Some((unknown, _)) = unknown_placeholder(text, parameters)
        {
            let known = parameters.keys().map(String::as_str);
            return Err(format!(
                "there is no parameter `{{{unknown}}}`{}",
                did_you_mean(nearest(unknown, known))
            ));
        }
        self.check(name, &substituted(value, parameters))?;
        self.script.lua.options.insert(spelt(name), value.clone());
        Ok(())
    }

    /// Makes sure that an option can have a value.
    fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        let name = spelt(name);
        if let Some(kind) = self.kind(&name) {
            kind.read(value)?;
        }
        check_general(&name, value)?;
        if self.is_own() {
            check_bounds(&name, value)?;
        }
        let text = value.to_string();
        let is_number = |part: &String| part == "all" || part.parse::<u32>().is_ok();
        match name.as_str() {
            RAND_TYPE if !DISTRIBUTIONS.iter().any(|(known, _)| *known == text) => {
                Err(format!("expected {}", DISTRIBUTIONS.map(|(known, _)| known).join(", ")))
            }
            IGNORE_ERRORS if !parts(&text).iter().all(is_number) => {
                Err("expected numbers with commas between them, or all".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Whether it came with dyno, or is built on what did.
    fn is_own(&self) -> bool {
        let name = &self.script.script.script_name;
        !name.ends_with(".lua") || self.script.lua.modules.contains_key(workloads::COMMON.0)
    }

    /// What the option takes; `None`: the script declares nothing, so it is text.
    fn kind(&self, name: &str) -> Option<Kind> {
        let declared = self.declared.iter().flatten();
        let declared = declared.filter(|option| option.name == name).map(kind_of).next();
        let general = || GENERAL.iter().find(|(known, ..)| *known == name);
        declared.or_else(|| general().map(|(_, kind, _)| Kind::Plain(*kind)))
    }

    /// The script with the values of parameters in its options.
    ///
    /// # Errors
    /// The option that cannot have its value then, with the value and the reason.
    pub fn resolved(mut self, parameters: &IndexMap<String, Value>) -> Result<LuaScript, (String, Value, String)> {
        let options = std::mem::take(&mut self.script.lua.options);
        for (name, value) in options {
            let value = substituted(&value, parameters);
            if let Err(reason) = self.check(&name, &value) {
                return Err((format!("{OPTIONS}.{name}"), value, reason));
            }
            self.script.lua.options.insert(name, value);
        }
        Ok(self.script)
    }
}

impl PreparePlan {
    /// The same with the values of parameters in its options.
    ///
    /// # Errors
    /// As for [`LuaPlan::resolved`].
    pub fn resolved(self, parameters: &IndexMap<String, Value>) -> Result<Prepare, (String, Value, String)> {
        Ok(Prepare {
            script: self.script.resolved(parameters)?,
            threads: self.threads,
        })
    }
}

fn substituted(value: &Value, parameters: &IndexMap<String, Value>) -> Value {
    match value {
        Value::Text(text) => Value::Text(substitute(text, parameters)),
        number => number.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str) -> LuaPlan {
        LuaPlan::find(Path::new(""), name, false, Purpose::Workload).unwrap()
    }

    fn parameters() -> IndexMap<String, Value> {
        [("rows", Value::Integer(7)), ("word", Value::from("many"))]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    #[test]
    fn options_refer_to_parameters() {
        let mut plan = plan("oltp_read_only");
        let parameters = parameters();
        plan.set("table-size", &Value::from("{rows}"), &parameters).unwrap();
        let error = plan.set("tables", &Value::from("{word}"), &parameters).unwrap_err();
        assert_eq!(error, "expected a number");
        let error = plan.set("tables", &Value::from("{row}"), &parameters).unwrap_err();
        assert!(error.contains("did you mean `rows`?"), "{error}");
        let script = plan.clone().resolved(&parameters).unwrap();
        assert_eq!(script.lua.options["table_size"], Value::from("7"));
        assert!(script.lua.modules.contains_key("oltp_common"));
        // What a parameter is set to later may not fit.
        let later = IndexMap::from([("rows".to_owned(), Value::from("few"))]);
        let (name, value, _) = plan.resolved(&later).unwrap_err();
        assert_eq!((name.as_str(), value), ("options.table_size", Value::from("few")));
    }

    #[test]
    fn a_script_that_declares_nothing_takes_any_option() {
        let mut plan = plan("oltp");
        assert!(plan.knows("oltp_tables_count"));
        plan.set("oltp-tables-count", &Value::Integer(3), &parameters())
            .unwrap();
        let error = plan.set("rand_type", &Value::from("even"), &parameters()).unwrap_err();
        assert!(error.starts_with("expected uniform"), "{error}");
        let script = plan.resolved(&parameters()).unwrap();
        assert_eq!(script.lua.options["oltp_tables_count"], Value::Integer(3));
    }

    #[test]
    fn counts_are_whole_numbers() {
        let set =
            |workload: &str, name: &str, value: &str| plan(workload).set(name, &Value::from(value), &IndexMap::new());
        for (workload, name, value) in [
            ("oltp_read_write", "tables", "-3"),
            ("oltp_read_write", "tables", "0"),
            ("oltp_point_select", "table-size", "1.5"),
            ("oltp_point_select", "table_size", "1e12"),
            ("oltp", "oltp-tables-count", "1.5"),
            ("select_random_points", "random_points", "0"),
            ("oltp", "rand-spec-pct", "-5"),
            ("oltp", "rand_spec_res", "100"),
        ] {
            let error = set(workload, name, value).unwrap_err();
            assert!(
                error.starts_with("expected a whole number"),
                "{workload} {name}: {error}"
            );
        }
        assert_eq!(set("oltp_read_write", "table_size", "1e6"), Ok(()));
        assert_eq!(set("oltp_read_write", "sum_ranges", "0"), Ok(()));
        assert_eq!(set("oltp_read_write", "rand_pareto_h", "0.3"), Ok(()));
        assert!(set("oltp_read_write", "rand_pareto_h", "1.5").is_err());
        // All that has bounds is an option of some workload.
        for (name, _) in crate::lua::option::BOUNDS {
            assert!(
                workloads::all().any(
                    |own| own.text.contains(name.trim_start_matches("oltp_")) || workloads::COMMON.1.contains(name)
                ),
                "{name}"
            );
        }
    }

    #[test]
    fn data_is_made_by_scripts_that_prepare() {
        let find = |name| LuaPlan::find(Path::new(""), name, false, Purpose::Data);
        assert!(find("oltp_read_write").is_ok());
        let error = find("parallel_prepare").map(drop);
        // It has that of the script that it is built on.
        assert_eq!(error, Ok(()));
    }
}

//! What the clients of a workload execute: mostly one script, but a mix of several is a workload too, and so is a
//! script in Lua.

use super::{Value, secret, shown_option};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The scripts of a workload. In files a single one is the keys `script` and `script_name` of the workload itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scripts {
    // The first, because it has all that a single script has.
    /// A script in sysbench's Lua.
    Lua(Box<LuaScript>),
    /// Always the same.
    One(Script),
    /// Each transaction executes one of them, drawn by weight.
    Several {
        /// The scripts, in the order in which results tell of them.
        scripts: Vec<WeightedScript>,
    },
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// What messages and results call it.
    pub script_name: String,
    /// Lines, and characters in the line it begins in, that stand before the script in the file of that name.
    /// Needed for messages only.
    #[serde(default)]
    pub script_offset: (usize, usize),
    /// Its text.
    pub script: String,
}

/// A script in sysbench's Lua, with all that it was run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LuaScript {
    /// The script. Its name is the path of its file, or that of a workload that comes with dyno.
    #[serde(flatten)]
    pub script: Script,
    /// What there is beside its text.
    pub lua: LuaSettings,
}

/// What a script in Lua is run with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LuaSettings {
    /// The values of options, with underscores in their names; what is not in here has the script's own defaults. What
    /// is a secret by its name is never serialised.
    #[serde(serialize_with = "secret::options")]
    pub options: IndexMap<String, Value>,
    /// Whether it has no FFI, files and commands.
    #[serde(default)]
    pub safe: bool,
    /// The texts of the modules that it loads by `require`, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub modules: IndexMap<String, String>,
    /// The texts of the files that it loads by `dofile` and `loadfile`, by the names under which it does.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub files: IndexMap<String, String>,
}

/// A script of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedScript {
    /// Its share of all weights is its share of the transactions.
    pub weight: u64,
    /// The script.
    #[serde(flatten)]
    pub script: Script,
}

impl LuaScript {
    /// The values of its options in one line, secrets hidden; empty if none was given.
    #[must_use]
    pub fn options(&self) -> String {
        let options = self.shown_options();
        let options = options.map(|(name, value)| format!("{name} = {value}"));
        options.collect::<Vec<_>>().join(", ")
    }

    /// Its options as they may be shown.
    pub fn shown_options(&self) -> impl Iterator<Item = (&str, Value)> {
        let options = self.lua.options.iter();
        options.map(|(name, value)| (name.as_str(), shown_option(name, value)))
    }
}

impl Scripts {
    /// The scripts with these names, texts and weights.
    #[must_use]
    pub fn new(scripts: impl IntoIterator<Item = (String, String, u64)>) -> Self {
        let mut scripts: Vec<_> = scripts
            .into_iter()
            .map(|(script_name, script, weight)| WeightedScript {
                weight,
                script: Script {
                    script_name,
                    script_offset: (0, 0),
                    script,
                },
            })
            .collect();
        match scripts.pop() {
            Some(only) if scripts.is_empty() => Self::One(only.script),
            last => {
                scripts.extend(last);
                Self::Several { scripts }
            }
        }
    }

    /// The script in Lua, if it is one.
    #[must_use]
    pub fn lua(&self) -> Option<&LuaScript> {
        match self {
            Self::Lua(script) => Some(script),
            Self::One(_) | Self::Several { .. } => None,
        }
    }

    /// The scripts with their weights, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Script, u64)> {
        let (one, several) = match self {
            Self::One(script) => (Some(script), [].as_slice()),
            Self::Lua(lua) => (Some(&lua.script), [].as_slice()),
            Self::Several { scripts } => (None, scripts.as_slice()),
        };
        let several = several.iter().map(|weighted| (&weighted.script, weighted.weight));
        one.map(|script| (script, 1)).into_iter().chain(several)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn script(name: &str) -> (String, String, u64) {
        (name.to_owned(), format!("select '{name}';"), 3)
    }

    #[test]
    fn one_script_is_kept_as_keys_of_its_workload() {
        let one = Scripts::new([script("a")]);
        let json = json!({ "script_name": "a", "script_offset": [0, 0], "script": "select 'a';" });
        assert_eq!(serde_json::to_value(&one).unwrap(), json);
        let older = json!({ "script_name": "a", "script": "select 'a';" });
        assert_eq!(serde_json::from_value::<Scripts>(older).unwrap(), one);
        assert_eq!(
            one.iter()
                .map(|(script, weight)| (script.script_name.as_str(), weight))
                .collect::<Vec<_>>(),
            [("a", 1)]
        );
    }

    #[test]
    fn a_script_in_lua_is_kept_with_all_that_it_was_run_with() {
        let Scripts::One(script) = Scripts::new([script("a.lua")]) else {
            panic!("one script");
        };
        let options = [("tables", Value::Integer(4)), ("rand_type", Value::from("uniform"))];
        let lua = Scripts::Lua(Box::new(LuaScript {
            script,
            lua: LuaSettings {
                options: options.map(|(name, value)| (name.to_owned(), value)).into(),
                safe: true,
                modules: IndexMap::from([("common".to_owned(), "return 1".to_owned())]),
                files: IndexMap::from([("tables.lua".to_owned(), "return 2".to_owned())]),
            },
        }));
        let json = serde_json::to_value(&lua).unwrap();
        assert_eq!(json["lua"]["options"], json!({ "tables": 4, "rand_type": "uniform" }));
        assert_eq!(json["lua"]["files"], json!({ "tables.lua": "return 2" }));
        assert_eq!(json["script_name"], "a.lua");
        assert_eq!(serde_json::from_value::<Scripts>(json).unwrap(), lua);
        assert_eq!(lua.iter().count(), 1);
    }

    #[test]
    fn a_secret_is_never_serialised_or_shown() {
        let Scripts::One(script) = Scripts::new([script("a.lua")]) else {
            panic!("one script");
        };
        let options = [("api_token", Value::from("s3cret")), ("tables", Value::Integer(4))];
        let lua = LuaScript {
            script,
            lua: LuaSettings {
                options: options.map(|(name, value)| (name.to_owned(), value)).into(),
                ..LuaSettings::default()
            },
        };
        assert_eq!(lua.options(), "api_token = ***, tables = 4");
        let json = serde_json::to_value(&lua).unwrap();
        assert_eq!(json["lua"]["options"], json!({ "api_token": "***", "tables": 4 }));
    }

    #[test]
    fn several_scripts_keep_their_weights() {
        let several = Scripts::new([script("a"), script("b")]);
        let json = serde_json::to_value(&several).unwrap();
        assert_eq!(json["scripts"][1]["script"], "select 'b';");
        assert_eq!(serde_json::from_value::<Scripts>(json).unwrap(), several);
        assert_eq!(several.iter().map(|(_, weight)| weight).sum::<u64>(), 6);
    }
}

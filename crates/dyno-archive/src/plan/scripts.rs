//! What the clients of a workload execute: mostly one script, but a mix of several is a workload too.

use serde::{Deserialize, Serialize};

/// The scripts of a workload. In files a single one is the keys `script` and `script_name` of the workload itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scripts {
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

/// A script of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedScript {
    /// Its share of all weights is its share of the transactions.
    pub weight: u64,
    /// The script.
    #[serde(flatten)]
    pub script: Script,
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

    /// The scripts with their weights, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Script, u64)> {
        let (one, several) = match self {
            Self::One(script) => (Some(script), [].as_slice()),
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
    fn several_scripts_keep_their_weights() {
        let several = Scripts::new([script("a"), script("b")]);
        let json = serde_json::to_value(&several).unwrap();
        assert_eq!(json["scripts"][1]["script"], "select 'b';");
        assert_eq!(serde_json::from_value::<Scripts>(json).unwrap(), several);
        assert_eq!(several.iter().map(|(_, weight)| weight).sum::<u64>(), 6);
    }
}

//! The servers of an experiment with several of them, as its set-up names them: what each is, what it is set to, and
//! which workloads run where.

use super::model::{Table, Value};
use super::table::{text, without_empty_columns, words};
use crate::figures::one_line;
use dyno_archive::plan::{Address, Resolved};
use indexmap::{IndexMap, IndexSet};

/// What the cells say of a server: each thing once, as factors may vary it.
#[derive(Default)]
struct Said {
    is: IndexSet<String>,
    targets: IndexSet<String>,
    settings: IndexSet<String>,
    workloads: IndexSet<String>,
}

/// What a server is to another one of the experiment.
pub(super) fn relation(behind: Option<&String>, replica_of: Option<&String>) -> String {
    match (behind, replica_of) {
        (Some(other), _) => format!("proxy of {other}"),
        (None, Some(other)) => format!("replica of {other}"),
        (None, None) => String::new(),
    }
}

/// The servers in any of these cells' experiments; without rows if none has several.
pub(super) fn table<'a>(experiments: impl IntoIterator<Item = &'a Resolved>) -> Table {
    let mut servers: IndexMap<&str, Said> = IndexMap::new();
    for experiment in experiments
        .into_iter()
        .filter(|experiment| !experiment.servers.is_empty())
    {
        for name in experiment.server_names() {
            let said = servers.entry(name).or_default();
            let seen = experiment.seen_by(name);
            let further = experiment.further(name);
            let is = further.map(|further| relation(further.behind.as_ref(), further.replica_of.as_ref()));
            said.is.extend(is.filter(|is| !is.is_empty()));
            said.targets
                .extend(seen.target.as_ref().map(Address::shown).map(str::to_owned));
            let settings = seen.settings.iter().map(|(name, value)| format!("{name} = {value}"));
            said.settings.insert(settings.collect::<Vec<_>>().join(", "));
            let its = seen.workloads.iter().map(|workload| workload.name.clone());
            said.workloads.extend(its);
        }
    }
    let joined = |all: &IndexSet<String>, between: &str| {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        words(one_line(&all.join(between)))
    };
    let settings = |settings: &IndexSet<String>| {
        let several = settings.len() > 1;
        let named = settings.iter().map(|settings| match settings.as_str() {
            "" if several => "none".to_owned(),
            settings => settings.to_owned(),
        });
        joined(&named.collect(), "; or ")
    };
    let rows = servers.iter().map(|(name, said)| -> Vec<Value> {
        vec![
            words(*name),
            joined(&said.is, " or "),
            joined(&said.targets, " or "),
            settings(&said.settings),
            joined(&said.workloads, ", "),
        ]
    });
    let table = Table {
        caption: String::new(),
        columns: ["server", "is", "target", "settings asked for", "workloads"]
            .map(text)
            .into(),
        rows: rows.collect(),
    };
    without_empty_columns(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::FurtherServer;

    #[test]
    fn each_server_is_named_with_what_any_cell_says_of_it() {
        let load = Resolved::of_load("t".to_owned(), "t".to_owned(), Vec::new());
        assert!(table([&load]).rows.is_empty());
        let cell = |memory: &str| {
            let mut experiment = load.clone();
            experiment.server_name = Some("primary".to_owned());
            let mut copy = FurtherServer {
                replica_of: Some("primary".to_owned()),
                ..FurtherServer::default()
            };
            copy.settings.insert("memory".to_owned(), memory.to_owned());
            experiment.servers.insert("copy".to_owned(), copy);
            experiment
        };
        let shown = table([&cell("1GB"), &cell("2GB"), &cell("1GB")]);
        assert_eq!(shown.columns.len(), 3);
        let copy = ["copy", "replica of primary", "memory = 1GB; or memory = 2GB"].map(words);
        assert_eq!(shown.rows[1], copy);
    }
}

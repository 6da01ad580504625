//! What to keep in mind when the runs of a campaign are compared with each other.

use crate::archive::{Campaign, EventKind, Run, RunRecord, RunState};
use crate::summary::Warning;
use indexmap::IndexMap;
use serde_json::Value;

/// With fewer runs on either side, no rank test can tell two cells apart at 5 % (4 against 4 reach 0.029).
const ENOUGH_REPETITIONS: usize = 4;

/// The warnings that need more than one run to be seen.
#[must_use]
pub fn campaign_warnings(campaign: &Campaign) -> Vec<Warning> {
    let mut cells: IndexMap<Vec<(String, String)>, Vec<(&Run, &RunRecord)>> = IndexMap::new();
    for run in campaign.runs.iter().filter(|run| run.state == RunState::Complete) {
        if let Ok(record) = &run.record {
            let levels = record
                .cell
                .iter()
                .map(|(factor, level)| (factor.clone(), level.clone()));
            cells.entry(levels.collect()).or_default().push((run, record));
        }
    }
    if cells.len() < 2 {
        return Vec::new();
    }
    let fewest = cells.values().map(Vec::len).min().unwrap_or(0);
    let mut warnings = Vec::new();
    if fewest < ENOUGH_REPETITIONS {
        warnings.push(Warning::FewRepetitions {
            repetitions: fewest as u64,
            enough: ENOUGH_REPETITIONS as u64,
        });
    }
    warnings.extend(one_sided(&cells));
    warnings.extend(environments(&cells));
    warnings
}

type Cells<'a> = IndexMap<Vec<(String, String)>, Vec<(&'a Run, &'a RunRecord)>>;

/// What the server did by itself in all runs of some cells and in none of others.
fn one_sided(cells: &Cells<'_>) -> Vec<Warning> {
    type Kind = (&'static str, fn(&EventKind) -> bool);
    let kinds: [Kind; 2] = [
        (
            "autovacuum",
            |kind| matches!(kind, EventKind::Autovacuum(work) if !work.analyze),
        ),
        ("checkpoint", |kind| matches!(kind, EventKind::Checkpoint(_))),
    ];
    // Events are read once, and of each run only whether there were any of a kind.
    let seen: Vec<Vec<[bool; 2]>> = cells
        .values()
        .map(|runs| {
            let of_run = |(run, record): &(&Run, &RunRecord)| {
                let measured = record
                    .phases
                    .iter()
                    .filter(|phase| phase.name != crate::experiment::WARMUP);
                let begin_s = measured.filter_map(|phase| phase.start_s).fold(f64::INFINITY, f64::min);
                let mut seen = [false; 2];
                for event in run.events().into_iter().flatten().filter(|event| event.at_s >= begin_s) {
                    for (seen, (_, is)) in seen.iter_mut().zip(&kinds) {
                        *seen |= is(&event.kind);
                    }
                }
                seen
            };
            runs.iter().map(of_run).collect()
        })
        .collect();
    let one_sided = kinds.iter().enumerate().filter_map(|(kind, (what, _))| {
        let with: Vec<bool> = seen.iter().map(|runs| runs.iter().all(|seen| seen[kind])).collect();
        let without = seen.iter().any(|runs| runs.iter().all(|seen| !seen[kind]));
        let index = with.iter().position(|all| *all).filter(|_| without)?;
        let (levels, _) = cells.get_index(index)?;
        let cell: Vec<_> = levels
            .iter()
            .map(|(factor, level)| format!("{factor} = {level}"))
            .collect();
        Some(Warning::OneSided {
            what: (*what).to_owned(),
            cell: cell.join(", "),
        })
    });
    one_sided.collect()
}

/// What differs between the runs although it is no factor: versions, machine, settings.
fn environments(cells: &Cells<'_>) -> Vec<Warning> {
    let records: Vec<&RunRecord> = cells.values().flatten().map(|(_, record)| *record).collect();
    let factors: Vec<&String> = cells.keys().flatten().map(|(factor, _)| factor).collect();
    let varied = |name: &str| {
        factors
            .iter()
            .any(|factor| *factor == name || factor.strip_prefix("settings.") == Some(name))
    };
    let mut warnings = Vec::new();
    let mut compare = |what: &str, values: Vec<String>| {
        if let Some(other) = values.iter().find(|value| **value != values[0]) {
            warnings.push(Warning::EnvironmentDiffers {
                what: what.to_owned(),
                one: values[0].clone(),
                other: other.clone(),
            });
        }
    };
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "unknown".to_owned(),
        Some(other) => other.to_string(),
    };
    let of_target = varied("target");
    if !of_target {
        compare(
            "the server's version",
            records
                .iter()
                .map(|record| text(record.server.get("version")))
                .collect(),
        );
    }
    for (key, what) in [
        ("hostname", "the load's machine"),
        ("kernel", "its kernel"),
        ("cpu_model", "its processor"),
        ("governor", "its CPU governor"),
    ] {
        compare(what, records.iter().map(|record| text(record.host.get(key))).collect());
    }
    // Another target, or another of the embedded versions, has its own settings.
    if !of_target {
        let settings: Vec<IndexMap<&str, &str>> = records.iter().map(|record| settings(record)).collect();
        let names: indexmap::IndexSet<&str> = settings.iter().flat_map(|settings| settings.keys().copied()).collect();
        for name in names
            .into_iter()
            .filter(|name| !varied(name) && !IRRELEVANT.contains(name))
        {
            let value = |settings: &IndexMap<&str, &str>| {
                settings
                    .get(name)
                    .map_or("its default".to_owned(), |value| (*value).to_owned())
            };
            compare(&format!("the server's {name}"), settings.iter().map(value).collect());
        }
    }
    warnings
}

/// Settings that say where the server is and which data it has, or that dyno sets by the number of clients: they change nothing that is measured.
const IRRELEVANT: [&str; 9] = [
    "port",
    "max_connections",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "unix_socket_directories",
    "listen_addresses",
    "external_pid_file",
];

/// The server's settings that are not at their defaults.
fn settings(record: &RunRecord) -> IndexMap<&str, &str> {
    let settings = record.server.get("settings").and_then(Value::as_array);
    let settings = settings.into_iter().flatten();
    settings
        .filter_map(|setting| Some((setting.get("name")?.as_str()?, setting.get("value")?.as_str()?)))
        .collect()
}

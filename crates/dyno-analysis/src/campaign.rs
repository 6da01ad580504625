//! What to keep in mind when the runs of a campaign are compared with each other.

use crate::plans;
use dyno_archive::summary::Warning;
use dyno_archive::{Campaign, EventKind, Run, RunRecord, RunState};
use dyno_record::Meaning;
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

/// In less time it is chance whether there was a checkpoint or an autovacuum.
const LONG_ENOUGH_S: f64 = 60.0;

/// With fewer runs on either side, no rank test can tell two cells apart at 5 % (4 against 4 reach 0.029).
const ENOUGH_REPETITIONS: usize = 4;

/// The complete runs of each cell, by its levels.
type Cells<'a> = IndexMap<Levels, Vec<(&'a Run, &'a RunRecord)>>;

/// Factor and level.
type Levels = Vec<(String, String)>;

/// The warnings that need more than one run to be seen.
#[must_use]
pub fn campaign_warnings(campaign: &Campaign) -> Vec<Warning> {
    let mut cells = Cells::new();
    for run in campaign.runs.iter().filter(|run| run.state == RunState::Complete) {
        if let Ok(record) = &run.record {
            let levels = record
                .cell
                .iter()
                .map(|(factor, level)| (factor.clone(), level.clone()));
            cells.entry(levels.collect()).or_default().push((run, record));
        }
    }
    let mut warnings = plans_differ(&cells);
    if cells.len() < 2 {
        return warnings;
    }
    let fewest = cells.values().map(Vec::len).min().unwrap_or(0);
    let in_turns = campaign.record.as_ref().is_ok_and(|record| record.turns.is_some());
    // What differs between such runs is judged by their slices.
    if fewest < ENOUGH_REPETITIONS && !in_turns {
        warnings.push(Warning::FewRepetitions {
            repetitions: fewest as u64,
            enough: ENOUGH_REPETITIONS as u64,
        });
    }
    warnings.extend(one_sided(campaign, &cells));
    warnings.extend(environments(campaign, &cells));
    warnings
}

/// Statements that the server executed in different ways in runs of a cell, each once.
fn plans_differ(cells: &Cells<'_>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut told = IndexSet::new();
    for runs in cells.values() {
        let runs: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
        for found in plans::differing(&runs) {
            let [run, other] = found.runs;
            if told.insert(found.statement.clone()) {
                warnings.push(Warning::PlansDiffer {
                    statement: found.statement,
                    run,
                    other,
                    change: found.change.to_string(),
                });
            }
        }
    }
    warnings
}

/// What the server did by itself in all runs of some cells and in none of others.
fn one_sided(campaign: &Campaign, cells: &Cells<'_>) -> Vec<Warning> {
    let measured_s =
        |(_, record): &(&Run, &RunRecord)| record.summary.as_ref().map_or(0.0, |summary| summary.measured_s);
    if cells.values().flatten().any(|run| measured_s(run) < LONG_ENOUGH_S) {
        return Vec::new();
    }
    let mut traits = cells.values().flatten().map(|(_, record)| record.traits());
    let first = traits.next().unwrap_or_default();
    // Not every kind of database tells what it does by itself.
    if traits.any(|other| other.product != first.product) {
        return Vec::new();
    }
    let settings = first.settings;
    // What it is, whether an event is one, and parts of the names of settings that bring it about.
    type Kind<'a> = (&'static str, fn(&EventKind) -> bool, &'a [String]);
    let kinds: [Kind<'_>; 2] = [
        (
            "an autovacuum",
            |kind| matches!(kind, EventKind::Autovacuum(work) if !work.analyze),
            &settings.of_cleaning,
        ),
        (
            "a checkpoint",
            |kind| matches!(kind, EventKind::Checkpoint(_)),
            &settings.of_checkpoints,
        ),
    ];
    let varied = varied(campaign, cells);
    // Events are read once, and of each run only whether there were any of a kind.
    let seen: Vec<Vec<[bool; 2]>> = cells
        .values()
        .map(|runs| {
            let of_run = |(run, record): &(&Run, &RunRecord)| {
                let measured = record
                    .phases
                    .iter()
                    .filter(|phase| phase.name != dyno_archive::plan::WARMUP);
                let begin_s = measured.filter_map(|phase| phase.start_s).fold(f64::INFINITY, f64::min);
                let mut seen = [false; 2];
                for event in run.events().into_iter().flatten().filter(|event| event.at_s >= begin_s) {
                    for (seen, (_, is, _)) in seen.iter_mut().zip(&kinds) {
                        *seen |= is(&event.kind);
                    }
                }
                seen
            };
            runs.iter().map(of_run).collect()
        })
        .collect();
    // Who only reads has neither, however long.
    let writes: Vec<bool> = cells
        .values()
        .map(|runs| runs.iter().any(|(run, _)| writes(run)))
        .collect();
    let cell_where = |applies: &dyn Fn(usize, &Vec<[bool; 2]>) -> bool| {
        let mut cell_of = seen.iter().enumerate();
        let (levels, _) = cells.get_index(cell_of.position(|(index, runs)| applies(index, runs))?)?;
        let levels = levels.iter().map(|(factor, level)| format!("{factor} = {level}"));
        Some(levels.collect::<Vec<_>>().join(", "))
    };
    let one_sided = kinds.iter().enumerate().filter_map(|(kind, (what, _, settings))| {
        // Where that is what is varied, it is no accident.
        let meant = |name: &&str| settings.iter().any(|setting| name.contains(setting.as_str()));
        if varied.iter().any(meant) {
            return None;
        }
        Some(Warning::OneSided {
            what: (*what).to_owned(),
            with: cell_where(&|_, runs| runs.iter().all(|seen| seen[kind]))?,
            without: cell_where(&|index, runs| writes[index] && runs.iter().all(|seen| !seen[kind]))?,
        })
    });
    one_sided.collect()
}

/// The names of all that is varied, also of what the names of levels stand for.
fn varied<'a>(campaign: &'a Campaign, cells: &'a Cells<'_>) -> Vec<&'a str> {
    let named = campaign.record.iter().flat_map(|record| &record.factors);
    let named = named
        .flat_map(|factor| factor.meanings.values())
        .flat_map(IndexMap::keys);
    let factors = cells.keys().flatten().map(|(factor, _)| factor);
    factors.chain(named).map(String::as_str).collect()
}

/// Whether a run wrote more log than the server does by itself; where that was not sampled, it may have.
fn writes(run: &Run) -> bool {
    const IDLE_BYTES: f64 = 1_048_576.0;
    let samples = run.server_samples(|meaning| meaning == Meaning::LogBytes);
    let written = samples.column(Meaning::LogBytes).unwrap_or_default();
    let mut known = written.iter().filter(|bytes| bytes.is_finite());
    match (known.next(), known.next_back()) {
        (Some(first), Some(last)) => last - first > IDLE_BYTES,
        _ => true,
    }
}

/// What differs between the runs although it is no factor: versions, machine, settings.
fn environments(campaign: &Campaign, cells: &Cells<'_>) -> Vec<Warning> {
    let records: Vec<&RunRecord> = cells.values().flatten().map(|(_, record)| *record).collect();
    let factors = varied(campaign, cells);
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
        let incidental = records.first().map(|record| record.traits().settings.incidental);
        let incidental = incidental.unwrap_or_default();
        let settings: Vec<IndexMap<&str, &str>> = records.iter().map(|record| settings(record)).collect();
        let names: indexmap::IndexSet<&str> = settings.iter().flat_map(|settings| settings.keys().copied()).collect();
        for name in names
            .into_iter()
            .filter(|name| !varied(name) && !incidental.iter().any(|own| own == name))
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

/// The server's settings that are not at their defaults.
pub(crate) fn settings(record: &RunRecord) -> IndexMap<&str, &str> {
    let settings = record.server.get("settings").and_then(Value::as_array);
    let settings = settings.into_iter().flatten();
    settings
        .filter_map(|setting| Some((setting.get("name")?.as_str()?, setting.get("value")?.as_str()?)))
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use dyno_archive::ArchiveError;
    use dyno_archive::summary::Summary;
    use std::path::Path;
    use std::time::Duration;

    /// A complete run of the cell `clients`, measured for so long, with these `events`.
    pub(crate) fn run(folder: &Path, number: usize, clients: &str, measured_s: f64, events: &str) -> Run {
        let path = folder.join(number.to_string());
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("events.jsonl"), events).unwrap();
        let mut record = RunRecord::new(String::new(), String::new(), Vec::new(), &[], Duration::from_secs(1));
        record.cell = [("clients".to_owned(), clients.to_owned())].into();
        record.phases = serde_json::from_value(serde_json::json!([
            { "name": "measure", "planned_s": null, "start_s": 10.0, "end_s": null }
        ]))
        .unwrap();
        record.summary = Some(Summary {
            measured_s,
            ..Summary::default()
        });
        Run {
            path,
            record: Ok(record),
            state: RunState::Complete,
        }
    }

    /// What a campaign of these runs is warned of.
    pub(crate) fn found(runs: Vec<Run>) -> Vec<Warning> {
        let campaign = Campaign {
            path: "campaign".into(),
            record: Err(ArchiveError::Damaged {
                path: "campaign.json".into(),
                reason: String::new(),
            }),
            runs,
        };
        campaign_warnings(&campaign)
    }

    fn warnings(runs: Vec<Run>) -> Vec<String> {
        found(runs).iter().map(Warning::to_string).collect()
    }

    pub(crate) const CHECKPOINT: &str = "{\"at_s\":20.0,\"event\":\"checkpoint\",\"reason\":\"time\",\"start_s\":15.0,\
        \"end_s\":20.0,\"write_s\":null,\"sync_s\":null,\"buffers\":null,\"wal_files\":null}\n";

    #[test]
    fn too_few_repetitions_of_any_cell() {
        let folder = tempfile::tempdir().unwrap();
        let cells = ["1", "1", "1", "1", "8"];
        let runs = |take: usize| {
            let each = cells.iter().take(take).enumerate();
            each.map(|(number, clients)| run(folder.path(), 10 * take + number, clients, 20.0, ""))
                .collect()
        };
        assert_eq!(warnings(runs(4)), Vec::<String>::new());
        let [only] = warnings(runs(5)).try_into().unwrap();
        assert!(only.starts_with("Some cells have only 1 complete run, so "), "{only}");
    }

    #[test]
    fn what_one_cell_had_and_another_had_not() {
        let folder = tempfile::tempdir().unwrap();
        let runs = |first: usize, measured_s: f64, begun: &str| {
            let mut runs: Vec<Run> = (0..4)
                .map(|number| run(folder.path(), first + number, "1", measured_s, begun))
                .collect();
            runs.extend((4..8).map(|number| run(folder.path(), first + number, "8", measured_s, "")));
            runs
        };
        let [only] = warnings(runs(0, 60.0, CHECKPOINT)).try_into().unwrap();
        let expected = "There was a checkpoint in every run with clients = 1, and in none with clients = 8.";
        assert!(only.starts_with(expected), "{only}");
        // In a short run it is chance; before the measurement it does not matter.
        assert_eq!(warnings(runs(10, 59.0, CHECKPOINT)), Vec::<String>::new());
        let before = CHECKPOINT.replace("20.0", "9.0").replace("15.0", "5.0");
        assert_eq!(warnings(runs(20, 60.0, &before)), Vec::<String>::new());
        // A cell that only reads has none, however long.
        let reading = runs(30, 60.0, CHECKPOINT);
        for run in &reading[4..] {
            let samples = "at_s,wal_position_bytes\n1.0,5000000\n60.0,5000200\n";
            std::fs::write(run.path.join("server.csv"), samples).unwrap();
        }
        assert_eq!(warnings(reading), Vec::<String>::new());
        // Another kind of database tells of none.
        let mut two_kinds = runs(50, 60.0, CHECKPOINT);
        for run in &mut two_kinds[4..] {
            let record = run.record.as_mut().unwrap();
            record.server = serde_json::json!({ "traits": { "product": "MariaDB" } });
        }
        assert_eq!(warnings(two_kinds), Vec::<String>::new());
        // Where checkpoints are what is varied, that is no accident.
        let mut varied = runs(40, 60.0, CHECKPOINT);
        for run in &mut varied {
            let record = run.record.as_mut().unwrap();
            let level = record.cell.swap_remove("clients").unwrap();
            record.cell.insert("settings.checkpoint_timeout".to_owned(), level);
        }
        assert_eq!(warnings(varied), Vec::<String>::new());
    }

    #[test]
    fn another_setting_that_is_no_factor() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs: Vec<Run> = (0..8)
            .map(|number| run(folder.path(), number, ["1", "8"][number % 2], 20.0, ""))
            .collect();
        if let Ok(record) = &mut runs[3].record {
            record.server = serde_json::json!({ "settings": [
                { "name": "work_mem", "value": "64MB" }, { "name": "port", "value": "5433" },
            ] });
        }
        let [only] = warnings(runs).try_into().unwrap();
        let expected = "The runs differ in the server's work_mem, which is not a factor: \"its default\" and \"64MB\".";
        assert!(only.starts_with(expected), "{only}");
    }
}

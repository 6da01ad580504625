//! What was run on what: everything that somebody needs who wants to repeat a run, or to know whether another may be
//! compared with it.

use super::lineup;
use super::model::{Block, Section, Table, Value};
use super::parts::{code, in_full, in_setup, paragraph, section, table};
use super::results::pacing;
use super::table::{FACTS, exactly, facts, number, text, without_empty_columns, words};
use crate::figures::{bytes, count, counted, duration, duration_of, one_line};
use dyno_archive::plan::{Address, Fill, Levels, LuaScript, Prepare, Resolved, Workload, shown_parameter};
use dyno_archive::summary::Pacing;
use dyno_archive::{Campaign, CampaignRecord, Run, RunRecord};
use indexmap::{IndexMap, IndexSet};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::time::Duration;

/// The section about these runs of these campaigns.
pub(super) fn environment(parts: &[(&Campaign, Vec<&Run>)]) -> Section {
    let runs: Vec<&RunRecord> = parts
        .iter()
        .flat_map(|(_, runs)| runs)
        .filter_map(|run| run.record.as_ref().ok())
        .collect();
    let mut result = in_setup(section("environment", "Set-up and environment", Vec::new()));
    for (number, (campaign, _)) in parts.iter().enumerate() {
        let name = if parts.len() > 1 {
            format!("Campaign {}", campaign.name())
        } else {
            "The campaign".to_owned()
        };
        let blocks = match &campaign.record {
            Ok(record) => about(record, parts.len() > 1),
            Err(error) => vec![paragraph(format!(
                "The campaign's plan cannot be read: {}",
                one_line(&error.to_string())
            ))],
        };
        result
            .sections
            .push(section(format!("environment-campaign-{}", number + 1), name, blocks));
    }
    if let [run] = runs.as_slice() {
        let about = table(about_run(run)).into_iter().collect();
        result.sections.push(section("environment-run", "The run", about));
    }
    // Of many runs each has its own address.
    let of_runs = |section: Section| if runs.len() > 1 { in_full(section) } else { section };
    let server = table(server(&runs)).into_iter().collect();
    result
        .sections
        .push(of_runs(section("environment-server", "The server", server)));
    let servers = table(lineup::table(all_cells(parts))).into_iter().collect();
    let servers = section("environment-servers", "All servers", servers);
    result.sections.push(in_full(servers));
    let kinds = by_kind(&runs);
    for (number, (kind, of_kind)) in kinds.iter().enumerate() {
        let (id, title) = match kinds.len() {
            1 => ("environment-settings".to_owned(), "Settings of the server".to_owned()),
            _ => (
                format!("environment-settings-{}", number + 1),
                format!("Settings of {}", one_line(kind)),
            ),
        };
        let settings = table(settings(of_kind)).into_iter().collect();
        result.sections.push(in_full(section(id, title, settings)));
    }
    let host = table(host(&runs)).into_iter().collect();
    result
        .sections
        .push(of_runs(section("environment-host", "The load's machine", host)));
    let experiments = experiments(parts);
    let targets: IndexSet<Option<&str>> = experiments.iter().map(|experiment| target(experiment)).collect();
    for (number, resolved) in experiments.into_iter().enumerate() {
        let id = |part: &str| format!("environment-{part}-{}", number + 1);
        let of_experiment = [
            ("workloads", "Workloads", workloads(resolved)),
            ("data", "Data", data(resolved)),
        ];
        // One experiment may say something else to each database.
        let on = target(resolved).filter(|_| targets.len() > 1);
        let on = on.map_or_else(String::new, |target| format!(" on {}", one_line(target)));
        let sections = of_experiment.map(|(part, title, blocks)| {
            let title = format!("{title} of {}{on}", resolved.name);
            in_full(section(id(part), title, blocks))
        });
        result.sections.extend(sections);
    }
    result.sections.retain(|section| !section.blocks.is_empty());
    result
}

/// The experiments of all cells of these campaigns.
fn all_cells<'a>(parts: &[(&'a Campaign, Vec<&Run>)]) -> impl Iterator<Item = &'a Resolved> {
    let records = parts.iter().filter_map(|(campaign, _)| campaign.record.as_ref().ok());
    records.flat_map(|record| {
        let cells = record.cells.iter().map(|cell| &cell.experiment);
        std::iter::once(&record.experiment)
            .filter(|_| record.cells.is_empty())
            .chain(cells)
    })
}

/// The experiment of each campaign as it was put to each database, but the same one only once.
fn experiments<'a>(parts: &[(&'a Campaign, Vec<&Run>)]) -> Vec<&'a Resolved> {
    let mut experiments: Vec<&Resolved> = Vec::new();
    for (campaign, runs) in parts {
        let Ok(record) = &campaign.record else { continue };
        for experiment in by_database(record, runs) {
            if !experiments.iter().any(|known| shown_of(known) == shown_of(experiment)) {
                experiments.push(experiment);
            }
        }
    }
    experiments
}

/// The experiment of the first of these runs on each database.
fn by_database<'a>(record: &'a CampaignRecord, runs: &[&Run]) -> Vec<&'a Resolved> {
    let key = |levels: &Levels| -> Vec<(String, String)> {
        let levels = levels.iter();
        levels.map(|(factor, level)| (factor.clone(), level.clone())).collect()
    };
    let made: HashSet<_> = runs
        .iter()
        .filter_map(|run| run.record.as_ref().ok())
        .map(|run| key(&run.cell))
        .collect();
    let mut databases = IndexMap::new();
    for cell in record.cells.iter().filter(|cell| made.contains(&key(&cell.levels))) {
        databases.entry(target(&cell.experiment)).or_insert(&cell.experiment);
    }
    match databases.is_empty() {
        true => vec![&record.experiment],
        false => databases.into_values().collect(),
    }
}

/// The database that an experiment is for, as it may be shown.
fn target(experiment: &Resolved) -> Option<&str> {
    experiment.target.as_ref().map(Address::shown)
}

/// The runs on each kind of database, whose settings have nothing to do with those of another.
fn by_kind<'a>(runs: &[&'a RunRecord]) -> IndexMap<String, Vec<&'a RunRecord>> {
    let mut kinds: IndexMap<String, Vec<&RunRecord>> = IndexMap::new();
    for run in runs {
        kinds.entry(run.traits().product).or_default().push(run);
    }
    kinds
}

/// What is shown of an experiment: where its SQL stands in a file is not.
fn shown_of(experiment: &Resolved) -> (&str, &[Fill], Option<&Prepare>, &str, &[Workload]) {
    let data = &experiment.data;
    let prepare = data.prepare.as_ref();
    (&data.setup, &data.fill, prepare, &data.finish, &experiment.workloads)
}

/// What a campaign set out to do, and the command that does it again. The title of a single one is the document's.
fn about(record: &CampaignRecord, several: bool) -> Vec<Block> {
    let experiment = &record.experiment;
    let size = experiment.size.map_or_else(String::new, |size| size.to_string());
    let levels = record
        .factors
        .iter()
        .map(|factor| format!("{}: {}", factor.name, factor.levels.join(", ")));
    let repetitions = record.runs.iter().map(|run| run.repetition).max().unwrap_or(1);
    let plan = match record.runs.len() {
        0 | 1 => String::new(),
        runs => format!(
            "{} of {}, {} each, in {} order",
            counted(runs as u64, "run"),
            counted(record.cells.len().max(1) as u64, "cell"),
            count(repetitions as u64),
            record.order,
        ),
    };
    let lasts = |length: Duration| {
        if length.is_zero() {
            "none".to_owned()
        } else {
            duration(length)
        }
    };
    let measure = experiment
        .measure
        .map_or_else(|| "until all transactions were done".to_owned(), lasts);
    let of_several = |words: &str| if several { words.to_owned() } else { String::new() };
    let about = [
        ("experiment", experiment.name.clone()),
        ("title", of_several(&experiment.title)),
        ("question", of_several(&experiment.question)),
        ("source", experiment.source.clone()),
        ("size", size),
        ("varied", levels.collect::<Vec<_>>().join("; ")),
        ("plan", plan),
        ("warm-up", lasts(experiment.warmup)),
        ("measured", measure),
        ("interval", lasts(experiment.interval)),
        ("target", record.target.clone()),
        ("began", record.started.strftime("%Y-%m-%d %H:%M:%S %:z").to_string()),
        ("seed", record.seed.to_string()),
        ("dyno", record.dyno_version.clone()),
    ];
    vec![
        Block::Table(facts("", about)),
        code("To repeat this", repeat_command(record)),
    ]
}

/// Which cell a run measured, and how long each of its phases took.
fn about_run(run: &RunRecord) -> Table {
    let cell = run.cell.iter().map(|(factor, level)| format!("{factor} = {level}"));
    let phases = run.phases.iter().map(|phase| {
        let lasted = phase
            .start_s
            .zip(phase.end_s)
            .map(|(start_s, end_s)| duration_of(end_s - start_s));
        let planned = phase
            .planned_s
            .map(|planned_s| format!("of {}", duration_of(planned_s)));
        let parts = [Some(phase.name.clone()), lasted, planned];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    facts(
        "",
        [
            ("cell", cell.collect::<Vec<_>>().join(", ")),
            ("phases", phases.collect::<Vec<_>>().join(", ")),
        ],
    )
}

/// The command line with the seed, if it has none: then orders and random numbers are the same.
fn repeat_command(record: &CampaignRecord) -> String {
    let command = &record.command;
    // sysbench's has a seed of another name, which is the user's.
    let run = !command.starts_with("sysbench") && command.split_whitespace().any(|word| word == "run");
    if run && !command.contains("--seed") && !command.contains("--resume") {
        format!("{command} --seed {}", record.seed)
    } else {
        command.clone()
    }
}

/// Facts of several runs: for each name its values, each with the places in which it was found.
#[derive(Default)]
struct Facts {
    values: IndexMap<(String, String), IndexMap<String, usize>>,
    runs: usize,
}

impl Facts {
    fn of<'a>(runs: &[&'a RunRecord], facts: impl Fn(&'a RunRecord) -> Vec<(String, String, String)>) -> Self {
        let mut all = Self {
            runs: runs.len(),
            ..Self::default()
        };
        for run in runs {
            for (name, value, source) in facts(run) {
                *all.values.entry((name, source)).or_default().entry(value).or_default() += 1;
            }
        }
        all
    }

    /// A row for each value; where runs differ it says in how many of them.
    fn table(self, caption: &str, name: &str, source: Option<&str>) -> Table {
        let runs = self.runs;
        let several = self
            .values
            .values()
            .any(|values| values.values().any(|number| *number < runs));
        let mut columns = vec![text(name), text(FACTS[1])];
        columns.extend(source.map(text));
        columns.extend(several.then(|| number("in", "runs")));
        let rows = self.values.into_iter().flat_map(|((name, from), values)| {
            values.into_iter().map(move |(value, number)| -> Vec<Value> {
                let mut row = vec![words(one_line(&name)), words(one_line(&value))];
                row.extend(source.map(|_| words(one_line(&from))));
                row.extend(several.then(|| exactly(number as u64)));
                row
            })
        });
        Table {
            caption: caption.to_owned(),
            columns,
            rows: rows.collect(),
        }
    }
}

fn plain(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn server(runs: &[&RunRecord]) -> Table {
    let facts = |run: &RunRecord| {
        let version = run.server.get("version").and_then(plain);
        let locale = locale(&run.server);
        let facts = [
            ("target", Some(run.target.clone())),
            ("version", version),
            ("locale", locale),
        ];
        named(facts)
    };
    Facts::of(runs, facts).table("", FACTS[0], None)
}

/// How the measured database orders text and knows letters; earlier dynos did not record it.
fn locale(server: &serde_json::Value) -> Option<String> {
    let locale = server.get("locale")?;
    let of = |key: &str| locale.get(key)?.as_str();
    let mut text = format!(
        "{}, collate {}, ctype {}",
        of("encoding")?,
        of("collate")?,
        of("ctype")?
    );
    if let Some(name) = of("locale") {
        text.push_str(&format!(", {} {name}", of("provider")?));
    }
    if let Some(version) = of("version") {
        text.push_str(&format!(", version {version}"));
    }
    Some(text)
}

fn named<const N: usize>(facts: [(&str, Option<String>); N]) -> Vec<(String, String, String)> {
    let facts = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name.to_owned(), fact?, String::new())));
    facts.collect()
}

pub(super) fn settings(runs: &[&RunRecord]) -> Table {
    let facts = |run: &RunRecord| {
        let settings = run
            .server
            .get("settings")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        let settings = settings.filter_map(|setting| {
            let text = |key: &str| Some(setting.get(key)?.as_str()?.to_owned());
            Some((text("name")?, text("value")?, text("source").unwrap_or_default()))
        });
        settings.collect()
    };
    let all = Facts::of(runs, facts);
    // A server that does not tell where settings come from gave all of them.
    if all.values.keys().all(|(_, source)| source.is_empty()) {
        return all.table("Settings of the server", "setting", None);
    }
    all.table(
        "Settings of the server that differ from its defaults",
        "setting",
        Some("from"),
    )
}

fn host(runs: &[&RunRecord]) -> Table {
    let facts = |run: &RunRecord| {
        let of = |key: &str| run.host.get(key).and_then(plain);
        let memory = run
            .host
            .get("memory_bytes")
            .and_then(Json::as_u64)
            .filter(|memory| *memory > 0);
        let filesystem = run.host.get("data_filesystem").and_then(|filesystem| {
            let of = |key: &str| filesystem.get(key)?.as_str();
            let source = of("source").map_or_else(String::new, |source| format!(" ({source})"));
            Some(format!("{} on {}{source}", of("kind")?, of("mount_point")?))
        });
        named([
            ("host", of("hostname")),
            ("kernel", of("kernel")),
            ("processor", of("cpu_model")),
            ("cores", of("cores")),
            ("transport", run.transport.clone()),
            ("memory", memory.map(bytes)),
            ("frequency governor", of("governor")),
            ("clock source", of("clock_source")),
            (
                "time to read the clock",
                of("clock_read_ns").map(|ns| format!("{ns} ns")),
            ),
            ("transparent huge pages", of("transparent_huge_pages")),
            ("huge pages", of("huge_pages")),
            ("data stored on", filesystem),
        ])
    };
    Facts::of(runs, facts).table("", FACTS[0], None)
}

fn workloads(experiment: &Resolved) -> Vec<Block> {
    let several = !experiment.servers.is_empty();
    let has_driver = experiment
        .workloads
        .iter()
        .any(|workload| !workload.driver.is_default());
    let row = |workload: &Workload| {
        vec![
            words(workload.name.as_str()),
            words(if several { experiment.server_of(workload) } else { "" }),
            exactly(workload.clients as u64),
            exactly(workload.threads as u64),
            words(workload.protocol.to_string()),
            words(if has_driver { workload.driver.as_str() } else { "" }),
            words(pacing(Pacing::of(workload, &experiment.stages))),
        ]
    };
    let load = Table {
        caption: String::new(),
        columns: vec![
            text("workload"),
            text("server"),
            number("clients", ""),
            number("threads", ""),
            text("protocol"),
            text("driver"),
            text("loop"),
        ],
        rows: experiment.workloads.iter().map(row).collect(),
    };
    let load = without_empty_columns(load);
    let parameters = Table {
        caption: "Parameters of the scripts; factors may set others".to_owned(),
        columns: vec![text("parameter"), text("value")],
        rows: experiment
            .parameters
            .iter()
            .map(|(name, value)| vec![words(name.as_str()), words(shown_parameter(name, value).to_string())])
            .collect(),
    };
    let mut blocks: Vec<Block> = [load, parameters].into_iter().filter_map(table).collect();
    for workload in &experiment.workloads {
        for (script, weight) in workload.scripts.iter() {
            let share = if workload.scripts.iter().count() > 1 {
                format!(", weight {weight}")
            } else {
                String::new()
            };
            let modules = workload.scripts.lua().map(modules_of).unwrap_or_default();
            let caption = format!("{}: {}{share}{modules}", workload.name, one_line(&script.script_name));
            blocks.push(code(caption, script.script.trim_end()));
        }
        if let Some(lua) = workload.scripts.lua() {
            blocks.extend(options_of(&workload.name, lua));
        }
    }
    blocks
}

/// What the options of a script in Lua were set to.
fn options_of(whose: &str, script: &LuaScript) -> Option<Block> {
    let options = script.shown_options();
    table(Table {
        caption: format!("{whose}: options"),
        columns: vec![text("option"), text("value")],
        rows: options
            .map(|(name, value)| vec![words(name), words(value.to_string())])
            .collect(),
    })
}

/// Says of a script in Lua which modules and files it loads; their texts are in the archive.
fn modules_of(script: &LuaScript) -> String {
    let names = script.lua.modules.keys().chain(script.lua.files.keys());
    let names: Vec<_> = names.map(|name| one_line(name)).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", with {}", names.join(", ")),
    }
}

fn data(experiment: &Resolved) -> Vec<Block> {
    let data = &experiment.data;
    let fill = data.fill.iter().map(|fill| {
        let columns = fill
            .columns
            .iter()
            .map(|(column, expression)| format!("{column} = {expression}"));
        let columns = match (&fill.file, fill.seed) {
            (Some(file), _) => format!(
                "{} of {} (SHA-256 {})",
                fill.columns.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
                file.path.display(),
                file.sha256
            ),
            (None, Some(seed)) => {
                format!(
                    "{} (made by dyno from seed {seed})",
                    columns.collect::<Vec<_>>().join(", ")
                )
            }
            (None, None) => columns.collect::<Vec<_>>().join(", "),
        };
        vec![words(fill.table.as_str()), exactly(fill.rows), words(columns)]
    });
    let fill = Table {
        caption: "Rows that were loaded; in an expression, row is the number of one".to_owned(),
        columns: vec![text("table"), number("rows", ""), text("columns")],
        rows: fill.collect(),
    };
    let sql = |caption: &str, sql: &str| (!sql.trim().is_empty()).then(|| code(caption, sql.trim()));
    let mut blocks: Vec<Block> = sql("Set-up", &data.setup).into_iter().collect();
    blocks.extend(table(fill));
    if let Some(prepare) = &data.prepare {
        let script = &prepare.script.script;
        let caption = format!(
            "Made by the command prepare of {}, told of {}{}",
            one_line(&script.script_name),
            counted(prepare.threads as u64, "thread"),
            modules_of(&prepare.script)
        );
        let is_shown = |workload: &Workload| workload.scripts.iter().any(|(shown, _)| shown.script == script.script);
        blocks.push(match experiment.workloads.iter().any(is_shown) {
            true => paragraph(caption + "."),
            false => code(caption, script.script.trim_end()),
        });
        blocks.extend(options_of("prepare", &prepare.script));
    }
    blocks.extend(sql("After loading", &data.finish));
    blocks
}

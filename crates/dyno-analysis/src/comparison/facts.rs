//! What runs were made with, as facts with names.
//!
//! An experiment and the records of host and server are walked as they are archived, so that whatever is added to
//! them is compared, too.

use crate::settings;
use dyno_archive::plan::{LoadHosts, OnLostHost, Resolved};
use dyno_archive::{CampaignRecord, RunRecord};
use indexmap::IndexMap;
use serde_json::Value;

/// Values by name: the path in the archived record, with dots.
pub(super) type Facts = IndexMap<String, String>;

/// What says what an experiment is for, not what it does, the names that stand in the path already, and load hosts,
/// which have words of their own.
const WORDS: [&str; 10] = [
    "load_hosts",
    "title",
    "question",
    "source",
    "script_name",
    "script_offset",
    "setup_place",
    "finish_place",
    "name",
    "table",
];

/// What is to be done in a cell.
pub(super) fn of_experiment(experiment: &Resolved) -> Facts {
    let mut facts = Facts::from([("experiment".to_owned(), experiment.name.clone())]);
    if let Ok(value) = serde_json::to_value(experiment) {
        walk("", &value, &mut facts);
    }
    facts.extend(load_hosts(experiment));
    facts
}

/// The hosts that drive the load, where they are not the usual ones.
fn load_hosts(experiment: &Resolved) -> Facts {
    let LoadHosts {
        hosts,
        names,
        ray,
        listen,
        shares,
        on_lost_host,
    } = &experiment.load_hosts;
    let mut facts = Facts::new();
    let mut add = |name: String, values: Vec<String>| {
        if !values.is_empty() {
            facts.insert(name, values.join(" + "));
        }
    };
    add("load hosts".to_owned(), hosts.clone());
    add(
        "shares of the load hosts".to_owned(),
        shares.iter().map(ToString::to_string).collect(),
    );
    if *on_lost_host == OnLostHost::End {
        add("when a load host is lost".to_owned(), vec!["the run ends".to_owned()]);
    }
    add("Ray cluster".to_owned(), ray.iter().cloned().collect());
    let listen = listen.iter().map(ToString::to_string);
    add("where Ray's nodes connect to".to_owned(), listen.collect());
    for workload in &experiment.workloads {
        let own = workload.load_hosts.iter().filter_map(|place| names.get(*place));
        add(format!("load hosts of {}", workload.name), own.cloned().collect());
    }
    facts
}

/// What is the same for all runs of a campaign.
pub(super) fn of_campaign(record: &CampaignRecord) -> Facts {
    let sampling = if record.sampling { "on" } else { "off" };
    [
        ("dyno", record.dyno_version.clone()),
        (super::SEED, record.seed.to_string()),
        ("sampling", sampling.to_owned()),
        ("cpus", record.cpus.clone()),
        // As it was asked for: the port of a server of dyno's own is another one each time.
        ("target", record.target.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The server and the machine of a run as they were found.
pub(super) fn of_run(record: &RunRecord) -> Facts {
    let mut facts = Facts::new();
    if let Some(transport) = &record.transport {
        facts.insert("transport".to_owned(), transport.clone());
    }
    let traits = record.traits();
    if !traits.product.is_empty() {
        facts.insert(super::PRODUCT.to_owned(), traits.product);
    }
    if let Some(version) = record.server.get("version").and_then(Value::as_str) {
        facts.insert("server.version".to_owned(), version.to_owned());
    }
    if let Some(locale) = record.server.get("locale") {
        walk("server.locale", locale, &mut facts);
    }
    let incidental = traits.settings.incidental;
    let settings = settings(record)
        .into_iter()
        .filter(|(name, _)| !incidental.iter().any(|own| own == name));
    facts.extend(settings.map(|(name, value)| (format!("settings.{name}"), value.to_owned())));
    walk("host", &record.host, &mut facts);
    // Measured anew each time, and never quite the same.
    facts.shift_remove("host.clock_read_ns");
    facts
}

/// Adds all values within `value`. What is in a list is known by its name, else by its position.
fn walk(path: &str, value: &Value, facts: &mut Facts) {
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !WORDS.contains(&name.as_str())) {
                // In files and factors it is `rate`.
                let name = if name == "rate_per_s" { "rate" } else { name };
                walk(&below(name), value, facts);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                let name = ["name", "table", "script_name"]
                    .iter()
                    .find_map(|key| item.get(*key)?.as_str());
                let position = (position + 1).to_string();
                walk(&below(name.unwrap_or(&position)), item, facts);
            }
        }
        Value::String(text) => {
            facts.insert(path.to_owned(), text.clone());
        }
        Value::Bool(_) | Value::Number(_) => {
            facts.insert(path.to_owned(), value.to_string());
        }
    }
}

/// Whether the fact `name` is what the factor sets: the parameter or setting of that name, or `clients` of a
/// workload or of all.
pub(super) fn is_of_factor(name: &str, factor: &str) -> bool {
    name == factor || name.strip_suffix(factor).is_some_and(|rest| rest.ends_with('.'))
}

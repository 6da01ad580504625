//! Where it did not happen: the server, the machine, the workloads.

use dyno_archive::plan::Workload;
use dyno_archive::summary::WorkloadFacts;
use indexmap::IndexMap;
use serde_json::{Value, json};

/// The database, as a run names it.
pub const TARGET: &str = "PostgreSQL 18.6 of dyno, unix socket";

/// What is known of the server, which has these settings.
pub fn server(settings: &IndexMap<String, String>) -> Value {
    let own = [("max_connections", "100"), ("lc_messages", "C.UTF-8")];
    let own = own.map(|(name, value)| json!({ "name": name, "value": value, "source": "configuration file" }));
    let given = settings
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value, "source": "command line" }));
    json!({
        "version": "PostgreSQL 18.6 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit",
        "version_number": 180_006,
        "settings": own.into_iter().chain(given).collect::<Vec<_>>(),
        "data_folder": "/var/cache/dyno/clusters/18/main/data",
    })
}

/// What is known of the machine.
pub fn host() -> Value {
    json!({
        "hostname": "fixture",
        "kernel": "Linux 6.12.0",
        "cpu_model": "Made-up CPU",
        "cores": 2,
        "memory_bytes": 25_276_510_208_u64,
        "governor": null,
        "clock_source": "tsc",
        "clock_read_ns": 24,
        "transparent_huge_pages": "madvise",
        "huge_pages": 0,
        "data_filesystem": "ext4",
    })
}

/// A workload, whose statements are the lines of its scripts that are no commands of the script language.
pub fn workload(workload: &Workload) -> WorkloadFacts {
    let lines = workload.scripts.iter().flat_map(|(script, _)| script.script.lines());
    let lines = lines
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('\\'));
    WorkloadFacts::new(workload, lines.map(str::to_owned).collect())
}

//! The server's settings: what the experiment asks for, what the server runs with, and what to say when the two differ.

use super::RunError;
use crate::experiment::Resolved;
use crate::summary::{Summary, Warning};
use dyno_target::facts::ServerFacts;
use dyno_target::server_message;
use dyno_target::settings::{Capacity, resolve_size, verify};
use postgres::Client;

/// Connections beside the clients: control, sampling, and a spare one for a person who looks in with psql.
const OTHER_CONNECTIONS: usize = 5;

/// PostgreSQL's default for `max_connections`.
const USUAL_CONNECTIONS: usize = 100;

/// The experiment's settings with sizes that are relative to the machine made absolute.
pub(super) fn of(experiment: &Resolved, capacity: Capacity) -> Result<Vec<(String, String)>, RunError> {
    let settings = experiment.settings.iter();
    settings
        .map(|(name, value)| Ok((name.clone(), resolve_size(value, capacity)?)))
        .collect()
}

fn clients(experiment: &Resolved) -> usize {
    experiment.workloads.iter().map(|workload| workload.clients).sum()
}

/// Raises `max_connections` for experiments with many clients that do not set it themselves.
pub(super) fn with_connections(mut settings: Vec<(String, String)>, experiment: &Resolved) -> Vec<(String, String)> {
    let needed = clients(experiment) + OTHER_CONNECTIONS;
    if needed > USUAL_CONNECTIONS && !settings.iter().any(|(name, _)| name == "max_connections") {
        settings.push(("max_connections".to_owned(), needed.to_string()));
    }
    settings
}

/// Makes sure that a server which is not ours has room for all clients.
pub(super) fn check_connections(client: &mut Client, experiment: &Resolved) -> Result<(), RunError> {
    let query =
        "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                        - coalesce(current_setting('reserved_connections', true)::int, 0)";
    // Before 9.6 current_setting takes one argument; the settings differ only from 16 on.
    let old = "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int";
    let row = client.query_one(query, &[]).or_else(|_| client.query_one(old, &[]));
    let row = row.map_err(|error| RunError::Server {
        what: "read max_connections".to_owned(),
        message: server_message(&error),
    })?;
    let available = usize::try_from(row.get::<_, i32>(0)).unwrap_or(0);
    let needed = clients(experiment) + OTHER_CONNECTIONS;
    if needed > available {
        return Err(RunError::TooFewConnections {
            needed,
            available,
            advice: needed + USUAL_CONNECTIONS / 10,
        });
    }
    Ok(())
}

/// Settings that allow the server to lose what it reported as done.
pub(super) fn durability(server: &ServerFacts) -> Vec<Warning> {
    let off = |name: &&str| {
        let setting = server.settings.iter().find(|setting| setting.name == **name);
        setting.is_some_and(|setting| setting.value == "off")
    };
    let settings: Vec<_> = ["fsync", "full_page_writes", "synchronous_commit"]
        .iter()
        .filter(|name| off(name))
        .map(|name| format!("{name} = off"))
        .collect();
    if settings.is_empty() {
        Vec::new()
    } else {
        vec![Warning::NotDurable { settings }]
    }
}

/// Settings with which the server does not run as the experiment says.
pub(super) fn differences(
    client: &mut Client,
    experiment: &Resolved,
    capacity: Capacity,
) -> Result<Vec<Warning>, RunError> {
    let differences = verify(client, &of(experiment, capacity)?).map_err(|error| RunError::Server {
        what: "compare the settings".to_owned(),
        message: error.to_string(),
    })?;
    let each = differences.into_iter().map(|difference| Warning::SettingDiffers {
        name: difference.name,
        wanted: difference.wanted,
        actual: difference.found.unwrap_or_else(|| "unknown to this server".to_owned()),
    });
    Ok(each.collect())
}

/// Less idle CPU time than this on the load host, in percent, and it may be the limit itself.
const BUSY_PERCENT: f64 = 10.0;

/// More CPU time than this taken by other virtual machines, in percent, disturbs.
const STEAL_PERCENT: f64 = 2.0;

/// Warns when the machine that makes the load may have distorted the figures.
pub(super) fn host_warnings(summary: &mut Summary, server_too: bool) {
    let Some(cpu) = summary.load_host else { return };
    if cpu.idle_percent < BUSY_PERCENT {
        summary.warnings.push(Warning::LoadHostBusy {
            idle_percent: cpu.idle_percent,
            server_too,
        });
    }
    if cpu.steal_percent > STEAL_PERCENT {
        summary.warnings.push(Warning::Steal {
            percent: cpu.steal_percent,
        });
    }
}

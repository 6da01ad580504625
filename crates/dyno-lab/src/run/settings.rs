//! The server's settings: what the experiment asks for, what the server runs with, and what to say when the two differ.

use super::RunError;
use crate::experiment::Resolved;
use crate::summary::{Summary, Warning};
use dyno_target::host::host_facts;
use dyno_target::host::{Capacity, resolve_size};
use dyno_target::postgres::Client;
use dyno_target::postgres::facts::ServerFacts;
use dyno_target::postgres::settings::{plan_for, verify};
use dyno_target::target::{Difference, Mapped};

/// Connections beside the clients: control, the lock's, four of samplers, and a spare one for a person who looks in with psql.
const OTHER_CONNECTIONS: usize = 7;

pub(super) const MAX_CONNECTIONS: &str = "max_connections";

/// PostgreSQL's default for it.
const USUAL_CONNECTIONS: usize = 100;

/// The experiment's settings for an embedded server of `release`, and what had to be translated for it.
pub(super) fn embedded(experiment: &Resolved, release: &str) -> Result<Mapped, RunError> {
    let settings = absolute(experiment, host_facts(None).capacity())?;
    let mut mapped = plan_for(&settings, version_number(release))?;
    with_connections(&mut mapped.settings, experiment)?;
    Ok(mapped)
}

/// The experiment's settings with sizes that are relative to the machine made absolute.
pub(super) fn absolute(experiment: &Resolved, capacity: Capacity) -> Result<Vec<(String, String)>, RunError> {
    let settings = experiment.settings.iter();
    settings
        .map(|(name, value)| Ok((name.clone(), resolve_size(value, capacity)?)))
        .collect()
}

/// A release as the server numbers it: 18.6.0 is 180006, 9.6.24 is 90624. What is left out counts as 0.
pub(super) fn version_number(release: &str) -> u32 {
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0_u32).min(9_999);
    match (next(), next(), next()) {
        (major @ 10.., minor, _) => major * 10_000 + minor,
        (major, minor, patch) => major * 10_000 + minor * 100 + patch,
    }
}

/// Connections that the experiment takes, dyno's own included.
fn needed(experiment: &Resolved) -> usize {
    let clients: usize = experiment.workloads.iter().map(|workload| workload.clients).sum();
    clients.saturating_add(OTHER_CONNECTIONS)
}

/// Raises `max_connections` for experiments with many clients that do not set it themselves.
fn with_connections(settings: &mut Vec<(String, String)>, experiment: &Resolved) -> Result<(), RunError> {
    let needed = needed(experiment);
    match settings.iter().find(|(name, _)| name == MAX_CONNECTIONS) {
        None if needed > USUAL_CONNECTIONS => {
            settings.push((MAX_CONNECTIONS.to_owned(), needed.to_string()));
            Ok(())
        }
        // What is no number is for the server to complain of.
        Some((_, given)) => match given.parse() {
            Ok(available) => enough(needed, available),
            Err(_) => Ok(()),
        },
        None => Ok(()),
    }
}

fn enough(needed: usize, available: usize) -> Result<(), RunError> {
    if needed <= available {
        return Ok(());
    }
    Err(RunError::TooFewConnections {
        needed,
        available,
        advice: needed + USUAL_CONNECTIONS / 10,
    })
}

/// Makes sure that a server which is not ours has room for all clients.
pub(super) fn check_connections(client: &mut Client, experiment: &Resolved) -> Result<(), RunError> {
    let query =
        "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                        - coalesce(current_setting('reserved_connections', true)::int, 0)";
    // Before 9.6 current_setting takes one argument; the settings differ only from 16 on.
    let old = "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int";
    let row = client.query_one(query, &[]).or_else(|_| client.query_one(old, &[]));
    let row = row.map_err(|error| RunError::server("read max_connections", &error))?;
    let available = usize::try_from(row.get::<_, i32>(0)).unwrap_or(0);
    enough(needed(experiment), available)
}

/// Settings that allow the server to lose what it reported as done.
pub(crate) fn durability(server: &ServerFacts) -> Vec<Warning> {
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

/// Settings with which the server does not run although they were `wanted`.
pub(super) fn differences(client: &mut Client, wanted: &[(String, String)]) -> Result<Vec<Warning>, RunError> {
    let differences = verify(client, wanted).map_err(|error| RunError::Server {
        what: "compare the settings".to_owned(),
        message: error.to_string(),
    })?;
    Ok(differing(differences))
}

pub(crate) fn differing(differences: Vec<Difference>) -> Vec<Warning> {
    let each = differences.into_iter().map(|difference| Warning::SettingDiffers {
        name: difference.name,
        wanted: difference.wanted,
        actual: difference.found.unwrap_or_else(|| "unknown to this server".to_owned()),
    });
    each.collect()
}

/// Less idle CPU time than this on the load host, in percent, and it may be the limit itself.
const BUSY_PERCENT: f64 = 10.0;

/// More CPU time than this taken by other virtual machines, in percent, disturbs.
const STEAL_PERCENT: f64 = 2.0;

/// Warns when the machine that makes the load may have distorted the figures.
pub(crate) fn host_warnings(summary: &mut Summary, server_too: bool) {
    let Some(cpu) = summary.load_host else { return };
    // A CPU is free while what would use it waits for storage.
    let idle_percent = cpu.idle_percent + cpu.iowait_percent;
    if idle_percent < BUSY_PERCENT {
        summary.warnings.push(Warning::LoadHostBusy {
            idle_percent,
            server_too,
        });
    }
    if cpu.steal_percent > STEAL_PERCENT {
        summary.warnings.push(Warning::Steal {
            percent: cpu.steal_percent,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_releases_as_the_server_does() {
        for (release, number) in [
            ("18.6.0", 180_006),
            ("9.6.24", 90_624),
            ("16", 160_000),
            ("9.6", 90_600),
            ("", 0),
        ] {
            assert_eq!(version_number(release), number, "{release}");
        }
    }
}

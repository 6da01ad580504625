//! What to say of a server that does not run as the experiment asks, and of a load host that distorts the figures.

use dyno_archive::summary::{Summary, Warning};
use dyno_target::target::{Description, Difference};

/// That the server may lose what it reported as done.
pub(crate) fn durability(server: &Description) -> Option<Warning> {
    (!server.not_durable.is_empty()).then(|| Warning::NotDurable {
        settings: server.not_durable.clone(),
    })
}

/// That settings are not as they are wanted.
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
            others: None,
        });
    }
    if cpu.steal_percent > STEAL_PERCENT {
        summary.warnings.push(Warning::Steal {
            percent: cpu.steal_percent,
        });
    }
}

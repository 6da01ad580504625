//! What a ceiling holds for.

use dyno_record::Machine;
use dyno_target::host::host_facts;

/// This machine, as this dyno sees it.
#[must_use]
pub fn this_machine() -> Machine {
    let host = host_facts(None);
    Machine {
        hostname: host.hostname,
        kernel: host.kernel,
        cpu_model: host.cpu_model,
        cores: host.cores,
        dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

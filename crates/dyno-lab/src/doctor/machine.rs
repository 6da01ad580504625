//! What this machine does with a load.

use crate::run::OTHER_DESCRIPTORS;
use dyno_engine::{TransportChoice, allow_descriptors, most_clients};
use dyno_record::{Finding, Topic};
use dyno_target::host::{HostFacts, HostLimits, host_facts, host_limits};

/// Where the server is, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// None was named.
    Unknown,
    /// On this machine.
    Here {
        /// Whether it is reached by TCP.
        by_tcp: bool,
    },
    /// On another one.
    Elsewhere,
}

/// What was looked at.
#[derive(Clone, Debug)]
struct Seen {
    host: HostFacts,
    limits: HostLimits,
    server: Server,
    /// How many clients the load is to have.
    clients: Option<usize>,
    /// The most clients that the process may have connections for; `None`: as many as it likes.
    most_clients: Option<u64>,
    /// Why there may not be as many as the load is to have.
    too_many: Option<String>,
    /// Why io_uring cannot be used, if it cannot.
    no_uring: Option<String>,
}

/// Loads of more clients than this are rare.
const MANY_CLIENTS: u64 = 1_000;

/// A clock that takes longer to be read is not read by the processor alone.
const SLOW_CLOCK_NS: u64 = 200;

/// Less in swap is what the system has put away long ago.
const MUCH_SWAP: u64 = 100_000_000;

/// Looks at this machine.
pub(super) fn look(server: Server, clients: Option<usize>) -> Vec<Finding> {
    let host = host_facts(None);
    let threads = host.cores as usize;
    let too_many = clients.and_then(|clients| allow_descriptors(clients, threads, OTHER_DESCRIPTORS).err());
    judge(&Seen {
        limits: host_limits(),
        server,
        clients,
        most_clients: most_clients(threads, OTHER_DESCRIPTORS),
        too_many: too_many.map(|error| error.to_string()),
        no_uring: TransportChoice::IoUring.check().err().map(|error| error.to_string()),
        host,
    })
}

fn judge(seen: &Seen) -> Vec<Finding> {
    let each: [fn(&Seen) -> Option<Finding>; 11] = [
        cores, shared, busy, memory, swap, files, ports, io_uring, governor, clock, huge_pages,
    ];
    each.iter().filter_map(|look| look(seen)).collect()
}

fn ok(subject: &str, found: impl Into<String>) -> Option<Finding> {
    Some(Finding::ok(Topic::Machine, subject, found))
}

fn note(subject: &str, found: impl Into<String>, remedy: impl Into<String>) -> Option<Finding> {
    Some(Finding::note(Topic::Machine, subject, found).remedy(remedy))
}

fn cores(seen: &Seen) -> Option<Finding> {
    let cores = seen.host.cores;
    let model = seen.host.cpu_model.as_deref().unwrap_or("unknown processor");
    match seen.limits.cpu_quota {
        Some(quota) if quota < cores as f64 => note(
            "cores",
            format!("a container's limit allows {quota:.1} of {cores} ({model}): a load that takes more is held back"),
            "raise the limit (cpu.max of the control group, --cpus of the container)",
        ),
        _ => ok("cores", format!("{cores} ({model})")),
    }
}

fn shared(seen: &Seen) -> Option<Finding> {
    matches!(seen.server, Server::Here { .. }).then(|| {
        let found = "the load and the server share this machine: latencies include waiting for a CPU, and throughput \
                     is less than with either alone";
        let remedy = "measure from another machine, or keep the load's threads to CPUs of their own (--cpus)";
        Finding::note(Topic::Machine, "shared", found).remedy(remedy)
    })
}

fn busy(seen: &Seen) -> Option<Finding> {
    let (load, cores) = (seen.limits.load_average?, seen.host.cores);
    match load > cores as f64 / 2.0 {
        true => note(
            "busy",
            format!("other processes wanted {load:.1} of {cores} cores in the last minute: they disturb a measurement"),
            "end them, or wait until they are done",
        ),
        false => ok(
            "busy",
            format!("hardly: other processes wanted {load:.1} of {cores} cores"),
        ),
    }
}

fn memory(seen: &Seen) -> Option<Finding> {
    let (total, limit) = (seen.host.memory_bytes, seen.limits.memory_limit_bytes);
    match limit {
        Some(limit) if limit < total => note(
            "memory",
            format!(
                "a container's limit allows {} of {}: what goes beyond it is killed",
                gb(limit),
                gb(total)
            ),
            "raise the limit (memory.max of the control group, --memory of the container), or choose a smaller --size",
        ),
        _ if total == 0 => None,
        _ => ok("memory", gb(total)),
    }
}

fn gb(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

fn swap(seen: &Seen) -> Option<Finding> {
    let used = seen.limits.swap_used_bytes?;
    match used {
        MUCH_SWAP.. => note(
            "swap",
            format!(
                "{} is in use: what is read back from there while a load runs delays it",
                gb(used)
            ),
            "free some memory, then empty it",
        )
        .map(|finding| finding.typing(["swapoff -a && swapon -a"])),
        _ => ok("swap", "not in use"),
    }
}

fn files(seen: &Seen) -> Option<Finding> {
    const SUBJECT: &str = "open files";
    if let Some(too_many) = &seen.too_many {
        return Some(Finding::problem(Topic::Machine, SUBJECT, too_many));
    }
    match seen.most_clients {
        Some(most) if most < MANY_CLIENTS => note(
            SUBJECT,
            format!("the limit allows a load of {most} clients"),
            "raise it for more (ulimit -Hn, LimitNOFILE= of a service)",
        ),
        Some(most) => ok(SUBJECT, format!("the limit allows a load of {most} clients")),
        None => ok(SUBJECT, "no limit"),
    }
}

fn ports(seen: &Seen) -> Option<Finding> {
    const SUBJECT: &str = "ports";
    const WIDEN: &str = "sysctl -w net.ipv4.ip_local_port_range='1024 65535'";
    if seen.server == (Server::Here { by_tcp: false }) {
        return None;
    }
    let ports = seen.limits.ports?;
    let found = format!("there are {ports} for connections by TCP to one server");
    let as_root = "widen their range, as root";
    match seen.clients.map(|clients| clients as u64) {
        Some(clients) if clients > ports => {
            let problem = Finding::problem(
                Topic::Machine,
                SUBJECT,
                format!("{found}, too few for {clients} clients"),
            );
            Some(problem.remedy(as_root).typing([WIDEN]))
        }
        _ if ports < MANY_CLIENTS => {
            note(SUBJECT, format!("{found}, which is few"), as_root).map(|finding| finding.typing([WIDEN]))
        }
        _ => ok(SUBJECT, found),
    }
}

fn io_uring(seen: &Seen) -> Option<Finding> {
    const SUBJECT: &str = "io_uring";
    let Some(why) = &seen.no_uring else {
        return ok(SUBJECT, "the load's threads use it");
    };
    let found = format!("{why}: the load's threads use epoll, which costs more CPU time");
    let allow = ["sysctl -w kernel.io_uring_disabled=0"];
    match (seen.limits.io_uring_disabled, seen.limits.has_seccomp) {
        (Some(1 | 2), _) => note(SUBJECT, found, "as root, allow it").map(|finding| finding.typing(allow)),
        (_, true) => note(
            SUBJECT,
            found,
            "start the container with a seccomp profile that allows io_uring_setup, io_uring_enter and \
             io_uring_register",
        ),
        _ => note(SUBJECT, found, "take a kernel from Linux 6.1 on that has it"),
    }
}

fn governor(seen: &Seen) -> Option<Finding> {
    const SUBJECT: &str = "CPU governor";
    match seen.host.governor.as_deref() {
        None => ok(SUBJECT, "not this system's to choose, as in a virtual machine"),
        Some("performance") => ok(SUBJECT, "performance"),
        Some(other) => note(
            SUBJECT,
            format!("{other}: processors are slower while there is little to do, so runs differ more"),
            "as root, have them run at full speed",
        )
        .map(|finding| finding.typing(["cpupower frequency-set -g performance"])),
    }
}

fn clock(seen: &Seen) -> Option<Finding> {
    let source = seen.host.clock_source.as_deref().unwrap_or("unknown source");
    let ns = seen.host.clock_read_ns;
    match ns > SLOW_CLOCK_NS {
        true => note(
            "clock",
            format!("{source}, read in {ns} ns: that takes a part of each transaction's time"),
            "choose tsc or kvm-clock if /sys/devices/system/clocksource/clocksource0/available_clocksource has it",
        ),
        false => ok("clock", format!("{source}, read in {ns} ns")),
    }
}

/// They matter to the server alone.
fn huge_pages(seen: &Seen) -> Option<Finding> {
    let chosen = seen.host.transparent_huge_pages.as_deref()?;
    if seen.server == Server::Elsewhere {
        return None;
    }
    match chosen {
        "always" => note(
            "huge pages",
            "always transparent: a server may stand still for moments while the kernel makes them",
            "as root, leave it to programs",
        )
        .map(|finding| finding.typing(["echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"])),
        other => ok("huge pages", format!("transparent ones: {other}")),
    }
}

#[cfg(test)]
mod tests;

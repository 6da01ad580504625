//! Whether the servers of all variants fit into memory together: their buffers take it as they fill, and the kernel
//! would end one of them.

use dyno_archive::plan::{Plan, Resolved};
use dyno_target::host::{Capacity, resolve_size};
use dyno_target::target::{EMBEDDED, size_bytes};

/// The settings with the greatest part of what a server takes; both are as large if nothing is said.
const BUFFERS: [&str; 2] = ["shared_buffers", "innodb_buffer_pool_size"];
const USUAL_BYTES: u64 = 128 << 20;

/// What else is to find room.
const REST: f64 = 0.1;

/// Why they do not fit into what is available of this machine's memory; `None` if they do, or one does not even
/// alone.
pub(super) fn is_short(plan: &Plan, machine: Capacity, available_bytes: u64) -> Option<String> {
    let room = available_bytes as f64 * (1.0 - REST);
    let each: Vec<u64> = plan
        .cells
        .iter()
        .filter_map(|cell| buffers(&cell.experiment, machine))
        .collect();
    let all: u64 = each.iter().fold(0, |all, bytes| all.saturating_add(*bytes));
    let largest = each.iter().max().copied()?;
    let megabytes = |bytes: u64| bytes >> 20;
    (all as f64 > room && largest as f64 <= room).then(|| {
        format!(
            "their servers have buffers of {} MB together, and {} MB of memory are available",
            megabytes(all),
            megabytes(available_bytes)
        )
    })
}

/// The buffers of a server of dyno's own; `None` if it is none, or what they are cannot be seen.
fn buffers(experiment: &Resolved, machine: Capacity) -> Option<u64> {
    let target = experiment.target.as_ref().map_or(EMBEDDED, |target| target.given());
    if !target.starts_with(EMBEDDED) {
        return None;
    }
    let Some(said) = BUFFERS.iter().find_map(|name| experiment.settings.get(*name)) else {
        return Some(USUAL_BYTES);
    };
    size_bytes(&resolve_size(said, machine).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    #[test]
    fn all_have_to_fit_into_memory() {
        let file = "title = \"t\"\n[[workload]]\nname = \"w\"\nscript = \"select 1\"\n";
        let experiment = Experiment::parse(Path::new("mine.toml"), file).unwrap();
        let short = |name: &str, levels: &str, gigabytes: u64| {
            let set = [(name.to_owned(), levels.to_owned())];
            let plan = experiment.plan(Size::Small, &set, None, 7, 2).unwrap();
            let machine = Capacity {
                memory_bytes: Some(16 << 30),
                cores: None,
            };
            is_short(&plan, machine, gigabytes << 30)
        };
        assert_eq!(short("shared_buffers", "4GB,5GB", 11), None);
        let said = short("shared_buffers", "4GB,25% of memory,5GB", 11).unwrap();
        assert_eq!(
            said,
            "their servers have buffers of 13312 MB together, and 11264 MB of memory are available"
        );
        // That is nothing that measuring one after the other would help.
        assert_eq!(short("shared_buffers", "4GB,12GB", 11), None);
        assert_eq!(short("work_mem", "4MB,8MB", 1), None);
        assert!(short("target", "embedded:14,embedded:16,embedded:17,embedded:18", 0).is_none());
        assert_eq!(short("target", "postgres://a/x,postgres://b/x", 0), None);
    }
}

//! The machine dyno runs on, whatever database is measured: what it is, its room, and what it does meanwhile.

mod control_groups;
mod counters;
mod cpu;
mod disk;
mod facts;
pub(crate) mod kernel;
mod limits;
mod page_cache;
mod process;
mod processes;
mod sampler;
mod scheduling;
mod size;
mod stall;
mod working_in;

pub use self::counters::available_memory_bytes;
pub use self::cpu::{CpuMeter, CpuShares};
pub use self::disk::{DiskError, check_room, free_bytes};
pub use self::facts::{Filesystem, HostFacts, boot_id, host_facts};
pub use self::limits::{HostLimits, host_limits};
pub use self::page_cache::{Dropped, PageCacheError, drop_pages};
pub(crate) use self::process::{ProcessStat, ServerProcesses};
pub use self::processes::be_called_agent;
pub(crate) use self::sampler::HostSampler;
pub use self::sampler::{HOST_FILE, load_host_sampler, load_host_series};
pub use self::size::{Capacity, SizeError, resolve_size};
pub(crate) use self::stall::{Heartbeat, StallWatch};
pub use self::working_in::{Worked, WorkingIn};

//! What dyno can do at most on this machine, as far as it was measured here.

use dyno_archive::RunRecord;
use dyno_ceiling::{Store, StoreError, this_machine};
use dyno_record::{Point, Route, Shape};
use dyno_target::embedded::home_folder;
use dyno_target::target;

/// The point of this machine's ceiling that is most like a run by this route; `None` if there is none yet.
pub(super) fn known(route: target::Route, record: &RunRecord) -> Result<Option<Point>, StoreError> {
    // Without a home folder none can have been kept.
    let Ok(home) = home_folder(&|name| std::env::var(name).ok()) else {
        return Ok(None);
    };
    let ceiling = Store::in_home(&home).read(&this_machine())?;
    let workloads = &record.workloads;
    let shape = Shape {
        route: match route {
            target::Route::Unix => Route::Unix,
            target::Route::Tcp => Route::Tcp,
        },
        clients: workloads.iter().map(|workload| workload.clients).sum(),
        threads: workloads.iter().map(|workload| workload.threads).sum(),
    };
    let transport = record.transport.as_deref().unwrap_or_default();
    Ok(ceiling.and_then(|ceiling| ceiling.nearest(shape, transport).cloned()))
}

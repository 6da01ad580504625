//! What dyno can do at most on this machine, as far as it was measured here.

use dyno_archive::RunRecord;
use dyno_ceiling::{StoreError, nearest_here};
use dyno_record::{Point, Route, Shape};
use dyno_target::target;

/// The point of this machine's ceiling that is most like a run by this route; `None` if there is none yet.
pub(super) fn known(route: target::Route, record: &RunRecord) -> Result<Option<Point>, StoreError> {
    let workloads = &record.workloads;
    let shape = Shape {
        route: of(route),
        clients: workloads.iter().map(|workload| workload.clients).sum(),
        threads: workloads.iter().map(|workload| workload.threads).sum(),
    };
    nearest_here(shape, record.transport.as_deref().unwrap_or_default())
}

/// The route as ceilings have it.
pub(super) fn of(route: target::Route) -> Route {
    match route {
        target::Route::Unix => Route::Unix,
        target::Route::Tcp => Route::Tcp,
    }
}

//! The figures of a cell: what its runs say together.
//!
//! The unit is the run. Each run has its own figure of each of its workloads, a percentile from all transactions of
//! that workload, and the figure of the cell is the mean of these: of throughput, of latencies, of metrics alike.
//! So what a table shows is what a verdict compares, and a ratio is that of the two figures beside it. Within a run
//! percentiles come from added histograms and are never averaged; workloads are never put together, but for their
//! throughput and errors.

use dyno_archive::summary::Latency;

/// The figure of a cell whose runs have these figures: their mean; `None` of nothing.
#[must_use]
pub fn over_runs(figures: &[f64]) -> Option<f64> {
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// The latencies of a workload in a cell, of those in its runs: each figure is that [over the runs](over_runs), but
/// the minimum is the least of all, and the maximum the greatest.
#[must_use]
pub fn latency_over_runs(runs: &[Latency]) -> Option<Latency> {
    let figure = |of: fn(&Latency) -> f64| over_runs(&runs.iter().map(of).collect::<Vec<_>>());
    Some(Latency {
        mean_us: figure(|latency| latency.mean_us)?,
        stddev_us: figure(|latency| latency.stddev_us)?,
        min_us: runs.iter().map(|latency| latency.min_us).min_by(f64::total_cmp)?,
        p50_us: figure(|latency| latency.p50_us)?,
        p95_us: figure(|latency| latency.p95_us)?,
        p99_us: figure(|latency| latency.p99_us)?,
        p99_9_us: figure(|latency| latency.p99_9_us)?,
        max_us: runs.iter().map(|latency| latency.max_us).max_by(f64::total_cmp)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_means_and_ends_are_ends() {
        let run = |factor: f64| Latency {
            mean_us: factor,
            stddev_us: factor,
            min_us: factor,
            p50_us: factor,
            p95_us: 2.0 * factor,
            p99_us: 3.0 * factor,
            p99_9_us: 4.0 * factor,
            max_us: 5.0 * factor,
        };
        let cell = latency_over_runs(&[run(1.0), run(2.0), run(6.0)]).unwrap();
        assert_eq!((cell.mean_us, cell.p50_us, cell.p95_us), (3.0, 3.0, 6.0));
        assert_eq!((cell.p99_us, cell.p99_9_us), (9.0, 12.0));
        assert_eq!((cell.min_us, cell.max_us), (1.0, 30.0));
        assert_eq!(latency_over_runs(&[run(2.0)]), Some(run(2.0)));
        assert_eq!((latency_over_runs(&[]), over_runs(&[])), (None, None));
    }
}

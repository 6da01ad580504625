//! What can be said of a workload in a stretch of time with one load: a stage, or the whole time measured.

use dyno_archive::summary::{ENOUGH_INTERVALS, Warning, WorkloadFacts};
use dyno_stats::Running;

/// A higher coefficient of variation is worth a look at the cause.
const STEADY_SHARE: f64 = 0.1;

/// The variation that chance alone may bring about: so many times that of events that come independently of each other.
const CHANCE: f64 = 1.5;

/// A rate that is missed by less than this share of it hurts nobody.
const KEPT_SHARE: f64 = 0.01;

/// A count that is this many of its standard deviations too small is no chance.
const SURE: f64 = 3.0;

/// What a workload did in a stretch of time.
pub(super) struct Stretch<'a> {
    pub facts: &'a WorkloadFacts,
    /// The stage, if there are several.
    pub stage: Option<&'a str>,
    /// Whether the load changes meanwhile.
    pub ramp: bool,
    /// Transactions asked for per second, on average; `None`: a closed loop, or not known.
    pub rate_per_s: Option<f64>,
    /// Transactions that completed or failed.
    pub begun: u64,
    /// Transactions that were not begun, because they would have missed the latency limit.
    pub skipped: u64,
    /// How long its clients were to work.
    pub lasted_s: f64,
    /// How long a complete interval lasts.
    pub interval_s: f64,
    /// Transactions per second of the complete intervals.
    pub tps: &'a Running,
}

impl Stretch<'_> {
    /// What it gives reason to warn of.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + use<> {
        self.rate_missed().into_iter().chain(self.unsteady())
    }

    /// Transactions came at a lower rate than was asked for.
    fn rate_missed(&self) -> Option<Warning> {
        let asked_per_s = self.rate_per_s.filter(|_| self.lasted_s > 0.0)?;
        // With a number of transactions each thread ends by itself, and the last one says how long it took.
        let schedules = self.facts.transactions_per_client.map_or(1, |_| self.facts.threads);
        let due = asked_per_s * self.lasted_s;
        (!is_kept(due, self.begun, self.facts.clients, schedules)).then(|| Warning::RateMissed {
            workload: self.facts.name.clone(),
            stage: self.stage.map(str::to_owned),
            asked_per_s,
            reached_per_s: self.begun as f64 / self.lasted_s,
            skipped: self.skipped,
        })
    }

    /// The throughput differed between intervals by more than chance explains.
    fn unsteady(&self) -> Option<Warning> {
        let variation = self.tps.variation().filter(|_| !self.ramp)?;
        let per_interval = self.tps.mean()? * self.interval_s;
        let limit = STEADY_SHARE.hypot(CHANCE / per_interval.sqrt());
        (self.tps.count() >= ENOUGH_INTERVALS && variation > limit).then(|| Warning::Unsteady {
            workload: self.facts.name.clone(),
            stage: self.stage.map(str::to_owned),
            variation_percent: variation * 100.0,
        })
    }
}

/// Whether a schedule was kept: as many transactions were `begun` as were `due`, but for what chance explains. The
/// schedule is random, and at the end each client may have one under way. Whatever else was due and not begun was
/// skipped, or is a backlog, which grows as long as the load lasts.
fn is_kept(due: f64, begun: u64, clients: usize, schedules: usize) -> bool {
    let chance = SURE * (due * schedules as f64).sqrt() + clients as f64;
    due - begun as f64 <= chance.max(KEPT_SHARE * due)
}

/// The coefficient of variation within stretches, each against its own mean; none where the load changed all the time.
pub(super) fn variation(stretches: &[Stretch<'_>]) -> Option<f64> {
    let steady = stretches.iter().filter(|stretch| !stretch.ramp);
    let (mut squares, mut intervals) = (0.0, 0.0);
    for tps in steady.map(|stretch| stretch.tps) {
        if let Some(variation) = tps.variation() {
            squares += variation.powi(2) * tps.count() as f64;
            intervals += tps.count() as f64;
        }
    }
    (intervals > 0.0).then(|| (squares / intervals).sqrt())
}

//! Campaigns under way in the text format of Prometheus, for whoever has Grafana.
//!
//! Nothing is counted between two scrapes: each reads what was appended to `intervals.csv` since the one before.

use crate::live::{Table, Totals};
use dyno_archive::{
    CampaignOutline, IntervalRow, Run, campaign_folders, folder_name, is_running, is_under_way, run_folders,
};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

/// The type of what [`Metrics::text`] gives: Prometheus asks for it, and its older versions read it as well.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the scrapes so far have read.
#[derive(Default)]
pub(crate) struct Metrics {
    runs: Mutex<Vec<Running>>,
}

/// A run under way.
struct Running {
    path: PathBuf,
    campaign: String,
    name: String,
    number: i64,
    planned: i64,
    clients: Vec<(String, i64)>,
    intervals: Table,
    totals: Totals,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRun {
    campaign: String,
    run: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfWorkload {
    campaign: String,
    run: String,
    workload: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQuantile {
    campaign: String,
    run: String,
    workload: String,
    quantile: &'static str,
}

type Number = Gauge<f64, AtomicU64>;

impl Metrics {
    /// What is to be known of all runs under way in `archive`.
    pub(crate) fn text(&self, archive: &Path) -> String {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let found = running(archive);
        runs.retain(|run| found.contains(&run.path));
        for path in found {
            if !runs.iter().any(|run| run.path == path) {
                runs.extend(Running::new(path));
            }
        }
        runs.iter_mut().for_each(Running::look);
        let mut text = String::new();
        // Written into memory: there is nothing that could fail.
        let _ = encode(&mut text, &registry(&runs));
        text
    }
}

/// The folders of all runs under way.
fn running(archive: &Path) -> Vec<PathBuf> {
    let campaigns = campaign_folders(archive).unwrap_or_default().into_iter();
    let runs = campaigns
        .filter(|path| is_under_way(path))
        .flat_map(|path| run_folders(&path));
    runs.filter(|path| is_running(path)).collect()
}

impl Running {
    fn new(path: PathBuf) -> Option<Self> {
        let record = Run::read(path.clone())?.record.ok()?;
        let campaign = path.parent()?;
        let planned = CampaignOutline::read(campaign).map_or(1, |outline| outline.planned);
        let clients = record.workloads.iter();
        Some(Self {
            campaign: folder_name(campaign),
            name: folder_name(&path),
            number: record.number as i64,
            planned: planned as i64,
            clients: clients
                .map(|workload| (workload.name.clone(), workload.clients as i64))
                .collect(),
            intervals: Table::new(path.join("intervals.csv")),
            totals: Totals::default(),
            path,
        })
    }

    fn look(&mut self) {
        for row in self.intervals.rows::<IntervalRow>() {
            self.totals.push(&row);
        }
    }
}

fn registry(runs: &[Running]) -> Registry {
    let transactions = Family::<OfWorkload, Counter>::default();
    let errors = Family::<OfWorkload, Counter>::default();
    let throughput = Family::<OfWorkload, Number>::default();
    let latency = Family::<OfQuantile, Number>::default();
    let clients = Family::<OfWorkload, Gauge>::default();
    let elapsed = Family::<OfRun, Number>::default();
    let number = Family::<OfRun, Gauge>::default();
    let planned = Family::<OfRun, Gauge>::default();
    for run in runs {
        let of_run = OfRun {
            campaign: run.campaign.clone(),
            run: run.name.clone(),
        };
        let of_workload = |workload: &str| OfWorkload {
            campaign: run.campaign.clone(),
            run: run.name.clone(),
            workload: workload.to_owned(),
        };
        elapsed.get_or_create(&of_run).set(run.totals.end_s());
        number.get_or_create(&of_run).set(run.number);
        planned.get_or_create(&of_run).set(run.planned);
        for (workload, count) in &run.clients {
            clients.get_or_create(&of_workload(workload)).set(*count);
        }
        for (workload, counted) in run.totals.present() {
            let row = &counted.last;
            transactions
                .get_or_create(&of_workload(workload))
                .inc_by(counted.transactions);
            errors.get_or_create(&of_workload(workload)).inc_by(counted.errors);
            throughput.get_or_create(&of_workload(workload)).set(row.tps);
            let quantiles = [
                ("0.5", row.latency_p50_us),
                ("0.95", row.latency_p95_us),
                ("0.99", row.latency_p99_us),
                ("0.999", row.latency_p99_9_us),
                ("1", row.latency_max_us),
            ];
            for (quantile, time_us) in quantiles {
                let Some(time_us) = time_us else { continue };
                let of = OfQuantile {
                    campaign: run.campaign.clone(),
                    run: run.name.clone(),
                    workload: workload.to_owned(),
                    quantile,
                };
                latency.get_or_create(&of).set(time_us / 1e6);
            }
        }
    }
    let mut registry = Registry::with_prefix("dyno");
    registry.register(
        "transactions",
        "Transactions that completed without error since the load began",
        transactions,
    );
    registry.register(
        "errors",
        "Transactions that ended with an error since the load began",
        errors,
    );
    registry.register_with_unit(
        "throughput",
        "Transactions in the last interval",
        Unit::Other("transactions_per_second".to_owned()),
        throughput,
    );
    registry.register_with_unit(
        "latency",
        "Latency of transactions in the last interval",
        Unit::Seconds,
        latency,
    );
    registry.register("clients", "Connections of the workload", clients);
    registry.register_with_unit("elapsed", "Time since the load began", Unit::Seconds, elapsed);
    registry.register("run_number", "Position of the run in its campaign, from 1", number);
    registry.register("runs_planned", "Runs of the campaign", planned);
    registry
}

//! From an experiment to the exact work of a run.

use super::placeholder::substitute;
use super::{Experiment, MEASURE, Protocol, Script, Scripts, SetError, Size, Value, WARMUP};
use indexmap::IndexMap;
use jiff::fmt::serde::unsigned_duration::friendly::compact::{optional, required};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An experiment at one size, with nothing left open. This is what the archive keeps of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// The experiment's name.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it finds out.
    pub question: String,
    /// Where it was published.
    pub source: String,
    /// How much of it is done; `None` for a load that knows no sizes.
    pub size: Option<Size>,
    /// Variables of all scripts, in the file's order.
    pub parameters: IndexMap<String, Value>,
    /// Server settings by name. A value may still be relative to the server's machine ("25% of memory").
    pub settings: IndexMap<String, String>,
    /// What is in the database before the run.
    pub data: Data,
    /// What runs, all at the same time.
    pub workloads: Vec<Workload>,
    /// How long the workloads run before results count; may be zero.
    #[serde(with = "required")]
    pub warmup: Duration,
    /// How long results count; `None`: until all clients have had their [`Workload::transactions_per_client`].
    #[serde(with = "optional")]
    pub measure: Option<Duration>,
    /// How often results are recorded, at least 10 ms.
    #[serde(with = "required")]
    pub interval: Duration,
}

/// How the data is made: first `setup`, then the tables of `fill`, then `finish`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// SQL statements that make the schema; may be empty.
    pub setup: String,
    /// Tables filled with generated rows.
    pub fill: Vec<Fill>,
    /// SQL statements that complete it, such as indexes; may be empty.
    pub finish: String,
    /// Whether the workloads leave the data as they found it, so that another run may use it as it is.
    pub read_only: bool,
}

/// A table filled with generated rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// The table.
    pub table: String,
    /// Number of rows.
    pub rows: u64,
    /// For each column an SQL expression, in which `row` is the number of the row from 1.
    pub columns: IndexMap<String, String>,
}

/// One or several scripts run by a number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique name of letters, digits, `-` and `_`.
    pub name: String,
    /// Number of connections, at least 1.
    pub clients: usize,
    /// Number of threads that share them, 1 to `clients`.
    pub threads: usize,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Transactions asked for per second over all clients (open loop); `None`: as many as complete (closed loop).
    pub rate_per_s: Option<f64>,
    /// How many transactions each client is to have; `None`: as many as fit into the phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_client: Option<u64>,
    /// What the clients execute.
    #[serde(flatten)]
    pub scripts: Scripts,
}

/// A stretch of the run with its own results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// [`WARMUP`] or [`MEASURE`].
    pub name: &'static str,
    /// How long it lasts; `None`: until all clients have had their transactions.
    pub duration: Option<Duration>,
}

impl Resolved {
    /// The phases in order; a warm-up of no length is left out.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        let phases = [(WARMUP, Some(self.warmup)), (MEASURE, self.measure)];
        phases
            .into_iter()
            .filter(|(_, duration)| *duration != Some(Duration::ZERO))
            .map(|(name, duration)| Phase { name, duration })
            .collect()
    }

    /// How long the phases take together; `None` if that is for the transactions to say. Preparing the server and loading the data come on top.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        Some(self.warmup.saturating_add(self.measure?))
    }

    /// The load of a program that plans for itself, such as `dyno pgbench`, as the archive keeps it: on data that is there, on a server that stays as it
    /// is. `name` becomes part of the campaign's folder, `title` says what it is; what else there is to know is for the caller to fill in.
    #[must_use]
    pub fn of_load(name: String, title: String, workloads: Vec<Workload>) -> Self {
        Self {
            name,
            title,
            question: String::new(),
            source: String::new(),
            size: None,
            parameters: IndexMap::new(),
            settings: IndexMap::new(),
            data: Data::default(),
            workloads,
            warmup: Duration::ZERO,
            measure: None,
            interval: Duration::from_secs(1),
        }
    }
}

impl Experiment {
    /// The exact work of a run: the file's values, those of `size`, then `overrides` in order. `cores` is what the load's machine has, for workloads
    /// that do not say how many threads they want. A size the file does not mention changes nothing.
    ///
    /// # Errors
    ///
    /// If an override names nothing or does not fit; see [`Self::set`].
    pub fn resolve(&self, size: Size, overrides: &[(String, String)], cores: usize) -> Result<Resolved, SetError> {
        let mut experiment = self.clone();
        for (_, values) in self.sizes.iter().filter(|(known, _)| *known == size) {
            for (name, value) in values {
                experiment.set(name, value)?;
            }
        }
        for (name, value) in overrides {
            experiment.set(name, &Value::from(value.as_str()))?;
        }
        experiment.resolved(size, cores)
    }

    fn resolved(self, size: Size, cores: usize) -> Result<Resolved, SetError> {
        let parameters = self.parameters;
        let fill = self.fill.into_iter().map(|plan| {
            let rows = substitute(&plan.rows, &parameters);
            let number = Value::from(rows.as_str())
                .to_integer()
                .and_then(|rows| u64::try_from(rows).ok());
            let columns = plan.columns.into_iter();
            Ok(Fill {
                rows: number.ok_or_else(|| SetError::Invalid {
                    name: format!("fill.{}.rows", plan.table),
                    value: rows,
                    reason: "expected a whole number from 0 on".to_owned(),
                })?,
                table: plan.table,
                columns: columns
                    .map(|(name, expression)| (name, substitute(&expression, &parameters)))
                    .collect(),
            })
        });
        Ok(Resolved {
            data: Data {
                setup: substitute(&self.setup, &parameters),
                fill: fill.collect::<Result<_, _>>()?,
                finish: substitute(&self.finish, &parameters),
                read_only: self.read_only,
            },
            settings: self
                .settings
                .into_iter()
                .map(|(name, value)| (name, substitute(&value, &parameters)))
                .collect(),
            name: self.name,
            title: self.title,
            question: self.question,
            source: self.source,
            size: Some(size),
            parameters,
            workloads: self
                .workloads
                .into_iter()
                .map(|plan| Workload {
                    threads: plan.threads.unwrap_or(cores).clamp(1, plan.clients),
                    name: plan.name,
                    clients: plan.clients,
                    protocol: plan.protocol,
                    rate_per_s: plan.rate_per_s,
                    transactions_per_client: None,
                    scripts: Scripts::One(Script {
                        script_name: plan.script_name,
                        script_offset: plan.script_offset,
                        script: plan.script,
                    }),
                })
                .collect(),
            warmup: self.warmup,
            measure: Some(self.measure),
            interval: self.interval,
        })
    }
}

//! Sizes of dyno's own tables over time: `tables.csv`.

use super::link::Link;
use crate::oracle::address::ConnectionInfo;
use crate::oracle::sizes::database_sizes;
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Series, Value};
use std::time::Duration;

/// How many tables are named in each sample.
const LARGEST: usize = 50;

/// Samples tables.
pub(super) struct TablesSampler {
    link: Link,
    series: Series,
}

impl TablesSampler {
    pub(super) fn new(info: &ConnectionInfo) -> Self {
        Self {
            link: Link::new(info),
            series: Series::new("tables.csv", ["table", "table_bytes", "index_bytes"]),
        }
    }
}

impl Sampler for TablesSampler {
    fn subject(&self) -> &'static str {
        "the sizes of tables"
    }

    fn period(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn asks_server(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: Moment, sink: &mut dyn Sink) -> Result<(), SampleError> {
        let sizes = self.link.allowed(database_sizes)?;
        let mut tables = sizes.map(|sizes| sizes.tables).unwrap_or_default();
        tables.sort_by_key(|table| std::cmp::Reverse(table.table_bytes.saturating_add(table.index_bytes)));
        for table in tables.into_iter().take(LARGEST) {
            let values = [
                Value::Text(table.name),
                Value::Number(table.table_bytes as f64),
                Value::Number(table.index_bytes as f64),
            ];
            sink.row(moment, &self.series, &values);
        }
        Ok(())
    }
}

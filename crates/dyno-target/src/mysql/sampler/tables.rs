//! Sizes of the largest tables over time, and what is done to them where the server counts it: `tables.csv`.

use super::link::{Link, OwnSessions};
use super::survey::Survey;
use crate::mysql::address::ConnectionInfo;
use crate::mysql::sizes::files_of;
use crate::mysql::{Client, ClientError};
use crate::sampler::{Moment, SampleError, Sampler, Sink};
use dyno_record::{Series, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many tables are named in each sample.
const LARGEST: usize = 50;

/// What the performance schema counts of each table, apart from its name.
const COUNTERS: [&str; 4] = ["count_fetch", "count_insert", "count_update", "count_delete"];

/// Samples tables.
pub(super) struct TablesSampler {
    link: Link,
    survey: Survey,
    database: String,
    series: Series,
}

/// What is known of a table.
#[derive(Clone, Debug, Default)]
struct Seen {
    file_bytes: Option<i64>,
    counts: Option<[f64; COUNTERS.len()]>,
}

impl TablesSampler {
    pub(super) fn new(info: &ConnectionInfo, own: &OwnSessions, survey: Survey) -> Self {
        let columns = ["table", "file_bytes"].into_iter().chain(COUNTERS);
        Self {
            link: Link::new(info, own),
            survey,
            database: info.database.clone(),
            series: Series::new("tables.csv", columns),
        }
    }

    fn read(client: &mut Client, database: &str, survey: Survey) -> Result<BTreeMap<String, Seen>, ClientError> {
        let mut tables: BTreeMap<String, Seen> = BTreeMap::new();
        let prefix = format!("{database}/");
        if survey.sees_all {
            for (file, bytes) in files_of(client, database)? {
                // How a file is named differs from the table's name only where that has unusual characters.
                let name = file.strip_prefix(&prefix).unwrap_or(&file);
                tables.entry(name.to_owned()).or_default().file_bytes = Some(bytes);
            }
        }
        if survey.counts {
            let query = format!(
                "select object_name, {} from performance_schema.table_io_waits_summary_by_table
                  where object_type = 'TABLE' and object_schema = '{}'",
                COUNTERS.join(", "),
                database.replace('\'', "''")
            );
            for (name, fetch, insert, update, delete) in client.query::<(String, f64, f64, f64, f64)>(&query)? {
                tables.entry(name).or_default().counts = Some([fetch, insert, update, delete]);
            }
        }
        Ok(tables)
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
        let (database, survey) = (&self.database, self.survey);
        let read = self.link.allowed(|client| Self::read(client, database, survey))?;
        let mut tables: Vec<(String, Seen)> = read.unwrap_or_default().into_iter().collect();
        tables.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.file_bytes));
        for (name, seen) in tables.into_iter().take(LARGEST) {
            let counts = (0..COUNTERS.len()).map(|index| seen.counts.map(|counts| counts[index]));
            let values: Vec<Value> = [
                Value::Text(format!("{database}.{name}")),
                Value::from(seen.file_bytes.map(|bytes| bytes as f64)),
            ]
            .into_iter()
            .chain(counts.map(Value::from))
            .collect();
            sink.row(moment, &self.series, &values);
        }
        Ok(())
    }
}

//! Reading the sampled tables of a run: `host.csv` and `server.csv`, which have a column per counter, and
//! `waits.csv` and `processes.csv`, which have a row per thing seen.
//!
//! Runs may last for days, so only the columns asked for are kept. A file that is missing or damaged reads as far
//! as it goes.

use crate::intervals::WholeLines;
use crate::reader::{Run, open};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// Columns of `host.csv` or `server.csv`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// When each sample was taken, in seconds since the first phase began.
    pub at_s: Vec<f64>,
    /// The values by column, as many as there are times; what is not known is not a number.
    pub columns: HashMap<String, Vec<f64>>,
}

/// Rows of `waits.csv` that are further apart have a time between them in which nobody looked, in seconds.
const LONGEST_WAITS_S: f64 = 2.0;

/// A row of `waits.csv`: how many sessions did the same, on average over the time that [`WaitRow::start_s`] tells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct WaitRow {
    /// When the time ended that it is of, in seconds since the first phase began.
    pub at_s: f64,
    /// Whose sessions: `client` are the measured ones.
    pub backend: String,
    /// The class of what they waited for; `CPU` if for nothing.
    pub wait_event_type: String,
    /// What they waited for.
    pub wait_event: String,
    /// How many they were.
    pub sessions: f64,
}

/// A row of `processes.csv`: one of the busiest processes of the machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProcessRow {
    /// When the time ended that it is of, in seconds since the first phase began.
    pub at_s: f64,
    /// What it is called.
    pub process: String,
    /// `dyno`, `server` or `other`.
    pub role: String,
    /// Its time in user space as a share of one core.
    pub cpu_user_share: f64,
    /// Its time in the kernel as a share of one core.
    pub cpu_system_share: f64,
}

/// A row of `statements.csv`: what a statement cost over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementRow {
    /// The statement as `pg_stat_statements` has it.
    pub query: String,
    /// The numbers of `pg_stat_statements` that are known, by column.
    pub numbers: HashMap<String, f64>,
}

impl WaitRow {
    /// When the time begins that rows of `at_s` are of, if those before them were of `before_s`: there and then,
    /// or, if nobody looked for longer, a second before they were written.
    #[must_use]
    pub fn start_s(at_s: f64, before_s: Option<f64>) -> f64 {
        let lately = before_s.filter(|before_s| at_s - before_s <= LONGEST_WAITS_S);
        lately.unwrap_or_else(|| (at_s - 1.0).max(0.0))
    }
}

impl Samples {
    /// The values of a column; `None` if there is no such column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        self.columns.get(name).map(Vec::as_slice)
    }
}

impl Run {
    /// The columns of `host.csv` that are `wanted`.
    #[must_use]
    pub fn host_samples(&self, wanted: impl Fn(&str) -> bool) -> Samples {
        self.samples("host.csv", wanted)
    }

    /// The columns of `server.csv` that are `wanted`.
    #[must_use]
    pub fn server_samples(&self, wanted: impl Fn(&str) -> bool) -> Samples {
        self.samples("server.csv", wanted)
    }

    /// The rows of `waits.csv`.
    pub fn waits(&self) -> impl Iterator<Item = WaitRow> + use<> {
        self.rows("waits.csv")
    }

    /// The rows of `processes.csv`.
    pub fn processes(&self) -> impl Iterator<Item = ProcessRow> + use<> {
        self.rows("processes.csv")
    }

    /// The rows of `statements.csv`, those that took the most time first.
    pub fn statements(&self) -> impl Iterator<Item = StatementRow> + use<> {
        self.rows("statements.csv").map(|mut row: HashMap<String, String>| {
            let query = row.remove("query").unwrap_or_default();
            let numbers = row
                .into_iter()
                .filter_map(|(name, text)| Some((name, text.parse().ok()?)));
            StatementRow {
                query,
                numbers: numbers.collect(),
            }
        })
    }

    fn rows<T: DeserializeOwned>(&self, name: &str) -> impl Iterator<Item = T> + use<T> {
        let file = open(&self.path.join(name)).ok().into_iter();
        file.flat_map(|file| {
            csv::Reader::from_reader(WholeLines::new(file))
                .into_deserialize()
                .map_while(Result::ok)
        })
    }

    fn samples(&self, name: &str, wanted: impl Fn(&str) -> bool) -> Samples {
        let mut samples = Samples::default();
        let Ok(file) = open(&self.path.join(name)) else {
            return samples;
        };
        let mut reader = csv::Reader::from_reader(WholeLines::new(file));
        let Ok(header) = reader.headers().cloned() else {
            return samples;
        };
        let mut columns: Vec<(usize, &str, Vec<f64>)> = Vec::new();
        // The first column is the time.
        for (index, name) in header.iter().enumerate().skip(1).filter(|(_, name)| wanted(name)) {
            columns.push((index, name, Vec::new()));
        }
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
        for row in reader.records().map_while(Result::ok) {
            let at_s = number(row.get(0));
            // Times ascend; what does not is no sample.
            if at_s.is_nan() || samples.at_s.last().is_some_and(|last| at_s <= *last) {
                continue;
            }
            samples.at_s.push(at_s);
            for (index, _, values) in &mut columns {
                values.push(number(row.get(*index)));
            }
        }
        samples.columns = columns
            .into_iter()
            .map(|(_, name, values)| (name.to_owned(), values))
            .collect();
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunState;

    fn run(files: &[(&str, &str)]) -> (tempfile::TempDir, Run) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let record = crate::read_json(&folder.path().join("run.json"));
        let run = Run {
            path: folder.path().to_owned(),
            record,
            state: RunState::Incomplete,
        };
        (folder, run)
    }

    #[test]
    fn wanted_columns_are_read_up_to_a_torn_row() {
        let (_folder, run) = run(&[("host.csv", "at_s,a,b,c\n1,10,,x\n2,20,5,7\n2,99,9,9\n3,30,6,8\n4,4")]);
        let samples = run.host_samples(|name| name != "b");
        assert_eq!(samples.at_s, [1.0, 2.0, 3.0]);
        assert_eq!(samples.column("a"), Some([10.0, 20.0, 30.0].as_slice()));
        assert_eq!(samples.column("b"), None);
        let c = samples.column("c").unwrap();
        assert!(c[0].is_nan() && c[1..] == [7.0, 8.0]);
    }

    #[test]
    fn waits_are_of_the_time_that_was_looked_at() {
        assert_eq!(WaitRow::start_s(0.5, None), 0.0);
        assert_eq!(WaitRow::start_s(3.0, Some(1.9)), 1.9);
        assert_eq!(WaitRow::start_s(30.0, Some(10.0)), 29.0);
    }

    #[test]
    fn files_that_are_missing_read_as_empty() {
        let (_folder, run) = run(&[("host.csv", "")]);
        assert_eq!(run.host_samples(|_| true), Samples::default());
        assert_eq!(run.server_samples(|_| true), Samples::default());
        assert_eq!((run.waits().count(), run.processes().count()), (0, 0));
    }

    #[test]
    fn rows_of_what_was_seen() {
        let waits =
            "at_s,backend,wait_event_type,wait_event,sessions\n1.0,client,Lock,relation,7.5\n2.0,client,CPU,CPU,";
        let processes =
            "at_s,pid,process,role,cpu_user_share,cpu_system_share,state\n1.0,7,\"cc, 1\",other,0.9,0.05,R\n";
        let statements = "at_s,query,calls,total_exec_time\n9.0,\"select 1, 2\",7,3.5\n9.0,end,7,\n";
        let files = [
            ("waits.csv", waits),
            ("processes.csv", processes),
            ("statements.csv", statements),
        ];
        let (_folder, run) = run(&files);
        let waits: Vec<_> = run.waits().collect();
        assert_eq!(waits.len(), 1);
        assert_eq!((waits[0].wait_event_type.as_str(), waits[0].sessions), ("Lock", 7.5));
        let processes: Vec<_> = run.processes().collect();
        assert_eq!(
            (processes[0].process.as_str(), processes[0].role.as_str()),
            ("cc, 1", "other")
        );
        let statements: Vec<_> = run.statements().collect();
        assert_eq!((statements.len(), statements[0].query.as_str()), (2, "select 1, 2"));
        assert_eq!(statements[0].numbers["total_exec_time"], 3.5);
        assert!(!statements[1].numbers.contains_key("total_exec_time"));
    }
}

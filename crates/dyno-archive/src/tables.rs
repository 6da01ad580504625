//! Reading the sampled tables of a run: `host.csv` and `server.csv`, which have a column per counter, and
//! `waits.csv` and `processes.csv`, which have a row per thing seen.
//!
//! Columns are asked for by what they mean. Runs may last for days, so only those asked for are kept. A file that is
//! missing or damaged reads as far as it goes.

use crate::earlier;
use crate::intervals::WholeLines;
use crate::meanings::columns_by_meaning;
use crate::reader::{Run, open};
use dyno_record::{Meaning, WaitKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// Columns of `host.csv` or `server.csv`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// When each sample was taken, in seconds since the first phase began.
    pub at_s: Vec<f64>,
    /// The values by what they mean, as many as there are times; what is not known is not a number.
    pub columns: HashMap<Meaning, Vec<f64>>,
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
    /// The class of what they waited for, as the server calls it.
    #[serde(rename = "wait_event_type")]
    pub class: String,
    /// What they waited for, as the server calls it.
    #[serde(rename = "wait_event")]
    pub event: String,
    /// How many they were.
    pub sessions: f64,
    /// What that is; absent in archives of earlier dynos, and if only a later one knows it.
    #[serde(default, deserialize_with = "known")]
    kind: Option<WaitKind>,
}

/// A row of `processes.csv`: one of the busiest processes of the machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProcessRow {
    /// When the time ended that it is of, in seconds since the first phase began.
    pub at_s: f64,
    /// What it is called.
    pub process: String,
    /// `dyno`, `server`, `beside` (another server of the run) or `other`.
    pub role: String,
    /// Its time in user space as a share of one core.
    pub cpu_user_share: f64,
    /// Its time in the kernel as a share of one core.
    pub cpu_system_share: f64,
}

/// A row of `statements.csv`: what a statement cost over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementRow {
    /// The statement as the server's statistics have it.
    pub query: String,
    /// The numbers that are known, by what they mean.
    pub numbers: HashMap<Meaning, f64>,
}

/// The kind of a wait, if it is one that is known.
fn known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<WaitKind>, D::Error> {
    let name = String::deserialize(deserializer)?;
    Ok(WaitKind::named(&name))
}

impl WaitRow {
    /// How many `sessions` waited for what; the class and the event as the server calls them.
    #[must_use]
    pub fn new(at_s: f64, backend: &str, kind: WaitKind, [class, event]: [&str; 2], sessions: f64) -> Self {
        Self {
            at_s,
            backend: backend.to_owned(),
            class: class.to_owned(),
            event: event.to_owned(),
            sessions,
            kind: Some(kind),
        }
    }

    /// What they waited for, as far as it matters.
    #[must_use]
    pub fn kind(&self) -> WaitKind {
        self.kind
            .unwrap_or_else(|| earlier::wait_kind(&self.class, &self.event))
    }

    /// When the time begins that rows of `at_s` are of, if those before them were of `before_s`: there and then,
    /// or, if nobody looked for longer, a second before they were written.
    #[must_use]
    pub fn start_s(at_s: f64, before_s: Option<f64>) -> f64 {
        let lately = before_s.filter(|before_s| at_s - before_s <= LONGEST_WAITS_S);
        lately.unwrap_or_else(|| (at_s - 1.0).max(0.0))
    }
}

impl Samples {
    /// The values that mean this; `None` if no column does.
    #[must_use]
    pub fn column(&self, meaning: Meaning) -> Option<&[f64]> {
        self.columns.get(&meaning).map(Vec::as_slice)
    }
}

impl Run {
    /// The columns of `host.csv` that are `wanted`.
    #[must_use]
    pub fn host_samples(&self, wanted: impl Fn(Meaning) -> bool) -> Samples {
        self.samples("host.csv", wanted)
    }

    /// The columns of `server.csv` that are `wanted`.
    #[must_use]
    pub fn server_samples(&self, wanted: impl Fn(Meaning) -> bool) -> Samples {
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
        let path = self.path.join("statements.csv");
        open(&path).ok().into_iter().flat_map(move |file| {
            let mut reader = csv::Reader::from_reader(WholeLines::new(file));
            let header = reader.headers().cloned().unwrap_or_default();
            let query = header.iter().position(|name| name == "query");
            let columns = columns_by_meaning(&path, &header);
            reader.into_records().map_while(Result::ok).map(move |row| {
                let numbers = columns
                    .iter()
                    .filter_map(|(meaning, place)| Some((*meaning, row.get(*place)?.parse().ok()?)));
                StatementRow {
                    query: query.and_then(|place| row.get(place)).unwrap_or_default().to_owned(),
                    numbers: numbers.collect(),
                }
            })
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

    fn samples(&self, name: &str, wanted: impl Fn(Meaning) -> bool) -> Samples {
        let mut samples = Samples::default();
        let path = self.path.join(name);
        let Ok(file) = open(&path) else {
            return samples;
        };
        let mut reader = csv::Reader::from_reader(WholeLines::new(file));
        let Ok(header) = reader.headers().cloned() else {
            return samples;
        };
        let columns = columns_by_meaning(&path, &header).into_iter();
        let mut columns: Vec<(Meaning, usize, Vec<f64>)> = columns
            .filter(|(meaning, _)| wanted(*meaning))
            .map(|(meaning, place)| (meaning, place, Vec::new()))
            .collect();
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
        for row in reader.records().map_while(Result::ok) {
            // The first column is the time.
            let at_s = number(row.get(0));
            // Times ascend; what does not is no sample.
            if at_s.is_nan() || samples.at_s.last().is_some_and(|last| at_s <= *last) {
                continue;
            }
            samples.at_s.push(at_s);
            for (_, place, values) in &mut columns {
                values.push(number(row.get(*place)));
            }
        }
        let columns = columns.into_iter().map(|(meaning, _, values)| (meaning, values));
        samples.columns = columns.collect();
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
        let meanings = "{\"format\":1,\"columns\":{\"dyno_cpu_s\":\"a\",\"server_cpu_s\":\"b\",\"other_cpu_s\":\"c\"}}";
        let host = "at_s,a,b,c\n1,10,,x\n2,20,5,7\n2,99,9,9\n3,30,6,8\n4,4";
        let (_folder, run) = run(&[("host.csv", host), ("host.meanings.json", meanings)]);
        let samples = run.host_samples(|meaning| meaning != Meaning::ServerCpuS);
        assert_eq!(samples.at_s, [1.0, 2.0, 3.0]);
        assert_eq!(samples.column(Meaning::DynoCpuS), Some([10.0, 20.0, 30.0].as_slice()));
        assert_eq!(samples.column(Meaning::ServerCpuS), None);
        let c = samples.column(Meaning::OtherCpuS).unwrap();
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
        let declared = "at_s,backend,wait_event_type,wait_event,sessions,kind\n\
                        1.0,client,Lock,relation,7.5,log\n2.0,client,Lock,tuple,1,eclipse\n";
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
        assert_eq!((waits[0].class.as_str(), waits[0].sessions), ("Lock", 7.5));
        assert_eq!(waits[0].kind(), WaitKind::Lock);
        let processes: Vec<_> = run.processes().collect();
        assert_eq!(
            (processes[0].process.as_str(), processes[0].role.as_str()),
            ("cc, 1", "other")
        );
        let statements: Vec<_> = run.statements().collect();
        assert_eq!((statements.len(), statements[0].query.as_str()), (2, "select 1, 2"));
        assert_eq!(statements[0].numbers[&Meaning::ExecutionMs], 3.5);
        assert!(!statements[1].numbers.contains_key(&Meaning::ExecutionMs));
        std::fs::write(run.path.join("waits.csv"), declared).unwrap();
        let kinds: Vec<_> = run.waits().map(|row| row.kind()).collect();
        assert_eq!(kinds, [WaitKind::Log, WaitKind::Row]);
    }
}

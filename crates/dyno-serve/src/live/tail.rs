//! Files that grow: what was appended since the last look, line by line.
//!
//! Only whole lines are taken, and where the last of them ended is all that is remembered. So a line that was torn
//! when somebody looked is read whole the next time, and one that a full disk took back is never seen.

use csv::StringRecord;
use dyno_archive::{EventRecord, columns_by_meaning, open_regular};
use dyno_record::Meaning;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Bytes that are read at a time; longer than any line.
const MOST_BYTES: u64 = 16 << 20;

/// A file of lines that grows.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    /// Where the next line begins.
    offset: u64,
}

impl Tail {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// Visits the whole lines that were appended, many at a time; none if the file is not there yet or cannot be read.
    pub(crate) fn for_each(&mut self, mut visit: impl FnMut(&[u8])) {
        let Ok(mut file) = open_regular(&self.path) else {
            return;
        };
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let sought = file.seek(SeekFrom::Start(self.offset));
            let read = sought.and_then(|_| (&mut file).take(MOST_BYTES).read_to_end(&mut bytes));
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            if read.is_err() || whole == 0 {
                return;
            }
            self.offset += whole as u64;
            visit(&bytes[..whole]);
        }
    }
}

/// A CSV file that grows, with a line of names first.
#[derive(Debug)]
pub(crate) struct Table {
    tail: Tail,
    names: Option<StringRecord>,
    /// The places of the columns by what they mean.
    columns: HashMap<Meaning, usize>,
}

impl Table {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            tail: Tail::new(path),
            names: None,
            columns: HashMap::new(),
        }
    }

    /// Visits the rows that were appended, with the names of the columns and the places of those that are known to
    /// mean something.
    fn for_each(&mut self, mut visit: impl FnMut(&StringRecord, &HashMap<Meaning, usize>, &StringRecord)) {
        let path = self.tail.path.clone();
        self.tail.for_each(|lines| {
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(lines);
            for record in reader.records().filter_map(Result::ok) {
                match &self.names {
                    Some(names) => visit(names, &self.columns, &record),
                    None => {
                        self.columns = columns_by_meaning(&path, &record);
                        self.names = Some(record);
                    }
                }
            }
        });
    }

    /// The rows that were appended; those that are damaged are passed over.
    pub(crate) fn rows<T: DeserializeOwned>(&mut self) -> Vec<T> {
        let mut rows = Vec::new();
        self.for_each(|names, _, record| rows.extend(record.deserialize::<T>(Some(names)).ok()));
        rows
    }

    /// Visits the samples that were appended: when each was taken, and the value of each meaning if it is a number.
    pub(crate) fn samples(&mut self, mut visit: impl FnMut(f64, &dyn Fn(Meaning) -> Option<f64>)) {
        self.for_each(|_, columns, record| {
            let number = |place: usize| -> Option<f64> { record.get(place)?.parse().ok() };
            // The first column is the time.
            if let Some(at_s) = number(0) {
                visit(at_s, &|meaning| number(*columns.get(&meaning)?));
            }
        });
    }
}

/// The events in `lines` of JSON; those that are damaged or of an unknown kind are passed over.
pub(super) fn events(lines: &[u8]) -> Vec<EventRecord> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    fn append(path: &PathBuf, text: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn lines(tail: &mut Tail) -> Vec<u8> {
        let mut all = Vec::new();
        tail.for_each(|lines| all.extend_from_slice(lines));
        all
    }

    #[test]
    fn a_torn_line_is_read_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut tail = Tail::new(path.clone());
        assert_eq!(lines(&mut tail), b"");
        append(&path, "one\ntw");
        assert_eq!(lines(&mut tail), b"one\n");
        assert_eq!(lines(&mut tail), b"");
        append(&path, "o\nthree\n");
        assert_eq!(lines(&mut tail), b"two\nthree\n");
        assert_eq!(lines(&mut tail), b"");
    }

    #[test]
    fn a_torn_line_that_was_taken_back_is_never_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("intervals.csv");
        let mut tail = Tail::new(path.clone());
        append(&path, "one\ntorn");
        assert_eq!(lines(&mut tail), b"one\n");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4).unwrap();
        append(&path, "two\n");
        assert_eq!(lines(&mut tail), b"two\n");
    }

    #[test]
    fn rows_have_the_names_of_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("waits.csv");
        let mut table = Table::new(path.clone());
        assert_eq!(table.rows::<(f64, String)>(), []);
        append(&path, "at_s,wait\n1.0,\"a, b\"\n2.0,");
        assert_eq!(table.rows::<(f64, String)>(), [(1.0, "a, b".to_owned())]);
        append(&path, "c\nx,damaged\n3.0,d\n");
        let rows = [(2.0, "c".to_owned()), (3.0, "d".to_owned())];
        assert_eq!(table.rows::<(f64, String)>(), rows);
    }

    #[test]
    fn samples_are_found_by_what_they_mean() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.csv");
        let meanings = "{\"format\":1,\"columns\":{\"dyno_cpu_s\":\"a\",\"other_cpu_s\":\"b\"}}";
        append(&folder.path().join("host.meanings.json"), meanings);
        append(&path, "at_s,a,b\n1.0,,7\n2.0,x,8\nx,1,2\n");
        let mut seen = Vec::new();
        let asked = [Meaning::DynoCpuS, Meaning::OtherCpuS, Meaning::ServerCpuS];
        Table::new(path).samples(|at_s, value| {
            let [a, b, c] = asked.map(value);
            seen.push((at_s, a, b, c));
        });
        assert_eq!(seen, [(1.0, None, Some(7.0), None), (2.0, None, Some(8.0), None)]);
    }

    #[test]
    fn unknown_events_are_passed_over() {
        let lines =
            b"{\"at_s\":1.0,\"event\":\"note\",\"text\":\"x\"}\n{\"at_s\":2.0,\"event\":\"eclipse\"}\nnothing\n";
        assert_eq!(events(lines).len(), 1);
    }

    #[test]
    fn a_file_that_is_gone_has_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        append(&path, "one\n");
        let mut tail = Tail::new(path.clone());
        assert_eq!(lines(&mut tail), b"one\n");
        fs::remove_file(&path).unwrap();
        assert_eq!(lines(&mut tail), b"");
    }
}

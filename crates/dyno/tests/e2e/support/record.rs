//! Run folders, read with nothing of dyno's: the files are promised to be readable without it.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The run folders of an archive in order; none if there is no archive.
pub fn run_folders(archive: &Path) -> Vec<RunFolder> {
    folders(archive)
        .iter()
        .flat_map(|campaign| folders(campaign))
        // What earlier attempts left counts for nothing.
        .filter(|path| !path.ends_with("earlier"))
        .map(RunFolder)
        .collect()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let Ok(items) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = items
        .map(|item| item.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// A run's folder.
pub struct RunFolder(pub PathBuf);

impl RunFolder {
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|error| panic!("{}/{file}: {error}", self.0.display()))
    }

    /// `run.json`.
    pub fn record(&self) -> Value {
        serde_json::from_str(&self.read("run.json")).unwrap()
    }

    /// Rows of `intervals.csv` while it is being written.
    pub fn intervals_so_far(&self) -> usize {
        let text = fs::read_to_string(self.0.join("intervals.csv")).unwrap_or_default();
        text.lines().skip(1).count()
    }

    pub fn state(&self) -> String {
        self.record()["state"].as_str().unwrap().to_owned()
    }

    /// `campaign.json` of its campaign.
    pub fn campaign(&self) -> Value {
        self.of_campaign("campaign.json")
    }

    /// A file of its campaign, in JSON.
    pub fn of_campaign(&self, file: &str) -> Value {
        let path = self.0.parent().unwrap().join(file);
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The rows of a CSV file by column.
    pub fn rows(&self, file: &str) -> Vec<HashMap<String, String>> {
        csv::Reader::from_reader(self.read(file).as_bytes())
            .deserialize()
            .map(|row| row.unwrap())
            .collect()
    }

    /// Transactions in the measured phase's intervals.
    pub fn measured(&self) -> u64 {
        let rows = self.rows("intervals.csv");
        let measured = rows.iter().filter(|row| row["phase"] == "measure");
        measured.map(|row| row["transactions"].parse::<u64>().unwrap()).sum()
    }

    /// Transactions of the summary's first workload.
    pub fn summed_up(&self) -> u64 {
        self.record()["summary"]["workloads"][0]["transactions"]
            .as_u64()
            .unwrap()
    }

    /// The events.
    pub fn events(&self) -> Vec<Value> {
        let text = self.read("events.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The histograms of the latency log with this tag, added up.
    pub fn latency(&self, tag: &str) -> Histogram<u64> {
        let text = self.read("latency.hlog");
        let mut total = Histogram::new(3).unwrap();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            if let LogEntry::Interval(interval) = entry.unwrap()
                && interval.tag().unwrap().as_str() == tag
            {
                let bytes = base64(interval.encoded_histogram());
                let one: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                total.add(one).unwrap();
            }
        }
        total
    }
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

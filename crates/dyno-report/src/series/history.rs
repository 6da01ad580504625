//! The throughput of a series at earlier times: that of all series of the same name.

use super::points::points;
use super::rows::Key;
use super::when;
use dyno_archive::{ArchiveError, Series, SeriesParts};
use indexmap::{IndexMap, IndexSet};
use jiff::{Timestamp, Zoned};
use std::collections::HashMap;
use std::path::Path;

/// Only so many times are shown, the newest.
const MOST_TIMES: usize = 20;

/// What a line is of: the series' name, the row and the database.
type Line = (String, Key, String);

/// How each row was over time.
#[derive(Default)]
pub(super) struct History(HashMap<Line, Vec<(Zoned, f64)>>);

impl History {
    /// Of all series in these archives that are called like one of `serieses`.
    pub(super) fn read(serieses: &[Series], archives: &IndexMap<&Path, SeriesParts>) -> Result<Self, ArchiveError> {
        let mut history = Self::default();
        let names: IndexSet<&str> = serieses.iter().map(|series| series.record.name.as_str()).collect();
        for (archive, parts) in archives {
            let all = Series::all(archive)?;
            for name in &names {
                let same: Vec<&Series> = all.iter().filter(|series| series.record.name == *name).collect();
                let newest = same.len().saturating_sub(MOST_TIMES);
                // That of one time is no history.
                let same = same.iter().skip(newest).filter(|_| same.len() > 1);
                same.for_each(|series| history.add(series, parts));
            }
        }
        Ok(history)
    }

    fn add(&mut self, series: &Series, parts: &SeriesParts) {
        let campaigns = series.campaigns(parts);
        for (member, campaign) in series.record.members.iter().zip(&campaigns) {
            for point in campaign.iter().flat_map(points) {
                let line = (
                    series.record.name.clone(),
                    Key::of(&member.experiment, &point),
                    point.target.clone(),
                );
                if let Some(tps) = point.figures.tps {
                    self.0
                        .entry(line)
                        .or_default()
                        .push((series.record.started.clone(), tps));
                }
            }
        }
    }

    /// The times up to `until` and the throughput then, the oldest first.
    pub(super) fn line(&self, name: &str, key: &Key, target: &str, until: Timestamp) -> Vec<(String, f64)> {
        let line = self.0.get(&(name.to_owned(), key.clone(), target.to_owned()));
        let times = line.into_iter().flatten();
        let times = times.filter(|(begun, _)| begun.timestamp() <= until);
        times.map(|(begun, tps)| (when(begun), *tps)).collect()
    }
}

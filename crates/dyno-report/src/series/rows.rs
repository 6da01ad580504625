//! From the figures of campaigns to rows and columns.

use super::history::History;
use super::points::{Figures, Point, points};
use super::{Column, when};
use crate::campaign::server_name;
use dyno_analysis::published::{Beside, published_beside};
use dyno_archive::{Campaign, Series, SeriesMember};
use indexmap::{IndexMap, IndexSet};
use jiff::{Timestamp, Zoned};
use serde::Serialize;

/// What was measured of an experiment: of one of its cells and workloads, on each database.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The heading that it stands under; empty: none.
    pub group: String,
    /// The experiment's name.
    pub experiment: String,
    /// What it is, in a few words.
    pub title: String,
    /// Which cell and workload, if there are several, and the size; may be empty.
    pub of: String,
    /// Rows in all tables before the load.
    pub rows: Option<u64>,
    /// Clients of the workload.
    pub clients: Option<u64>,
    /// The folder of the campaign in each column; `None` where there is none.
    pub campaigns: Vec<Option<String>>,
    /// What was measured in each column; `None` where nothing was to be.
    pub figures: Vec<Option<Figures>>,
    /// What the source published.
    pub published: Option<Published>,
    /// The throughput of each column at several times, the oldest first: when, and transactions per second.
    pub history: Vec<Vec<(String, f64)>>,
}

/// A published figure beside what was measured in the first column that has its like.
#[derive(Debug, Serialize)]
pub struct Published {
    /// What it is: `tps` or another measure.
    pub measure: String,
    /// How much.
    pub value: f64,
    /// In which unit.
    pub unit: String,
    /// What was measured, if not what the experiment measures.
    pub of: String,
    /// What was measured here by what was published.
    pub ratio: Option<f64>,
    /// Where it was published, and on what.
    pub source: String,
}

/// What tells rows apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub experiment: String,
    pub size: String,
    pub levels: Vec<(String, String)>,
    pub workload: String,
}

impl Key {
    pub(super) fn of(experiment: &str, point: &Point) -> Self {
        let levels = point.levels.iter();
        Self {
            experiment: experiment.to_owned(),
            size: point.size.clone(),
            levels: levels.map(|(name, level)| (name.clone(), level.clone())).collect(),
            workload: point.workload.clone(),
        }
    }

    fn words(&self, sizes: bool) -> String {
        let levels = self.levels.iter().map(|(name, level)| format!("{name}={level}"));
        let workload = Some(self.workload.clone()).filter(|workload| !workload.is_empty());
        let size = Some(self.size.clone()).filter(|size| sizes && !size.is_empty());
        levels.chain(workload).chain(size).collect::<Vec<_>>().join(", ")
    }
}

/// A database at one time: the place of its series among those of the report, and what it was asked for as.
type Place = (usize, String);

/// A row in the making.
struct Made {
    group: String,
    title: String,
    rows: Option<u64>,
    clients: Option<u64>,
    figures: IndexMap<Place, (String, Figures)>,
    published: Option<Published>,
    history: IndexMap<Place, Vec<(String, f64)>>,
}

/// Rows in the making, in the order in which they were met.
pub(super) struct Rows {
    rows: IndexMap<Key, Made>,
    /// The columns, with what their servers call themselves.
    columns: IndexMap<Place, String>,
    /// When each series began.
    begun: Vec<Zoned>,
    names: Vec<String>,
    /// The experiments in order.
    order: IndexSet<String>,
}

impl Rows {
    /// Those of some series.
    pub(super) fn of(serieses: &[(&Series, Vec<Option<Campaign>>)]) -> Self {
        let mut rows = Self {
            rows: IndexMap::new(),
            columns: IndexMap::new(),
            begun: serieses
                .iter()
                .map(|(series, _)| series.record.started.clone())
                .collect(),
            names: serieses.iter().map(|(series, _)| series.record.name.clone()).collect(),
            order: IndexSet::new(),
        };
        let members = || {
            serieses.iter().enumerate().flat_map(|(place, (series, campaigns))| {
                let members = series.record.members.iter().zip(campaigns);
                members.map(move |(member, campaign)| (place, member, campaign))
            })
        };
        for (place, member, campaign) in members() {
            rows.order.insert(member.experiment.clone());
            if let Some(campaign) = campaign {
                rows.add(place, member, campaign);
            }
        }
        // When all columns are known.
        for (place, member, campaign) in members() {
            if campaign.is_none() {
                rows.add_unmeasured(place, member);
            }
        }
        rows
    }

    fn add(&mut self, series: usize, member: &SeriesMember, campaign: &Campaign) {
        let beside = published_beside(campaign, None);
        for mut point in points(campaign) {
            if campaign.runs.is_empty() && member.failure.is_some() {
                "failed".clone_into(&mut point.figures.state);
            }
            let place = (series, point.target.clone());
            let server = self.columns.entry(place.clone()).or_default();
            if server.is_empty() {
                *server = server_of(campaign, &point).unwrap_or_default();
            }
            let made = self.row(Key::of(&member.experiment, &point), member);
            made.rows = made.rows.or(point.rows);
            made.clients = made.clients.or(point.clients);
            if made.published.is_none() {
                made.published = published(campaign, &beside, &point);
            }
            made.figures.insert(place, (campaign.name(), point.figures));
        }
    }

    /// An experiment without a campaign says so in its rows, or has one that does.
    fn add_unmeasured(&mut self, series: usize, member: &SeriesMember) {
        let planned = member.planned.as_ref();
        let state = match (&member.left_out, &member.failure) {
            (Some(_), _) => "left out",
            (None, Some(_)) => "failed",
            (None, None) => "not measured",
        };
        if !self.columns.keys().any(|(other, _)| *other == series) {
            let target = planned.map_or_else(|| "not known".to_owned(), |record| record.target.clone());
            self.columns.insert((series, target), String::new());
        }
        if !self.rows.keys().any(|key| key.experiment == member.experiment) {
            let size = planned.and_then(|record| record.experiment.size);
            let key = Key {
                experiment: member.experiment.clone(),
                size: size.map_or_else(String::new, |size| size.to_string()),
                levels: Vec::new(),
                workload: String::new(),
            };
            self.row(key, member);
        }
        let figures = Figures {
            state: state.to_owned(),
            ..Figures::default()
        };
        let its = self
            .rows
            .iter_mut()
            .filter(|(key, _)| key.experiment == member.experiment);
        for (_, made) in its {
            for place in self.columns.keys().filter(|(other, _)| *other == series) {
                made.figures.insert(place.clone(), (String::new(), figures.clone()));
            }
        }
    }

    fn row(&mut self, key: Key, member: &SeriesMember) -> &mut Made {
        self.rows.entry(key).or_insert_with(|| Made {
            group: member.group.clone(),
            title: member.title.clone(),
            rows: None,
            clients: None,
            figures: IndexMap::new(),
            published: None,
            history: IndexMap::new(),
        })
    }

    /// Takes over how each row was at earlier times.
    pub(super) fn tell_history(&mut self, history: &History) {
        for (key, made) in &mut self.rows {
            for (series, target) in self.columns.keys() {
                let name = self.names.get(*series).map_or("", String::as_str);
                let until = self.begun.get(*series).map_or(Timestamp::MIN, Zoned::timestamp);
                let line = history.line(name, key, target, until);
                if line.len() > 1 {
                    made.history.insert((*series, target.clone()), line);
                }
            }
        }
    }

    /// The columns, and the rows, those of a group together.
    pub(super) fn finish(self) -> (Vec<Column>, Vec<Row>) {
        let Self {
            rows,
            columns,
            begun,
            order,
            ..
        } = self;
        let sizes: IndexSet<&String> = rows
            .keys()
            .map(|key| &key.size)
            .filter(|size| !size.is_empty())
            .collect();
        let several_sizes = sizes.len() > 1;
        let groups: IndexSet<String> = rows.values().map(|made| made.group.clone()).collect();
        let places: Vec<&Place> = columns.keys().collect();
        let twice = |target: &str| places.iter().filter(|(_, other)| other == target).count() > 1;
        let named = |((series, target), server): (&Place, &String)| Column {
            name: match begun.get(*series) {
                Some(begun) if twice(target) => format!("{target}, {}", when(begun)),
                _ => target.clone(),
            },
            server: server.clone(),
        };
        let heads = columns.iter().map(named).collect();
        let mut finished: Vec<Row> = rows
            .into_iter()
            .map(|(key, made)| finished(key, made, &places, several_sizes))
            .collect();
        let place = |row: &Row| {
            (
                row.group.is_empty(),
                groups.get_index_of(&row.group),
                order.get_index_of(&row.experiment),
            )
        };
        finished.sort_by_key(place);
        (heads, finished)
    }
}

fn finished(key: Key, mut made: Made, places: &[&Place], sizes: bool) -> Row {
    let of = key.words(sizes);
    let figures: Vec<Option<(String, Figures)>> =
        places.iter().map(|place| made.figures.shift_remove(*place)).collect();
    let campaigns = figures
        .iter()
        .map(|figures| figures.as_ref().map(|(campaign, _)| campaign.clone()));
    let campaigns = campaigns
        .map(|campaign| campaign.filter(|campaign| !campaign.is_empty()))
        .collect();
    Row {
        of,
        campaigns,
        group: made.group,
        experiment: key.experiment,
        title: made.title,
        rows: made.rows,
        clients: made.clients,
        figures: figures.into_iter().map(|figures| Some(figures?.1)).collect(),
        published: made.published,
        history: places
            .iter()
            .map(|place| made.history.shift_remove(*place).unwrap_or_default())
            .collect(),
    }
}

/// What the server calls itself on which a point was measured.
fn server_of(campaign: &Campaign, point: &Point) -> Option<String> {
    let records = campaign.runs.iter().filter_map(|run| run.record.as_ref().ok());
    let mut records = records.filter(|record| record.cell == point.cell && !record.server.is_null());
    server_name(records.next()?)
}

/// The figure that was published of a point: its throughput if there is one, measured on the same thing if it can be.
fn published(campaign: &Campaign, beside: &[Beside<'_>], point: &Point) -> Option<Published> {
    let is_its = |beside: &&Beside<'_>| {
        let workload = beside.published.workload.as_ref();
        beside.cell.as_ref() == Some(&point.cell)
            && (point.workload.is_empty() || workload.is_none_or(|workload| *workload == point.workload))
    };
    let rank = |beside: &&Beside<'_>| {
        let published = beside.published;
        (
            !published.of.is_empty(),
            !["tps", "qps"].contains(&published.measure.as_str()),
        )
    };
    let best = beside.iter().filter(is_its).min_by_key(rank)?;
    let record = campaign.record.as_ref().ok()?;
    let source = [&record.experiment.source, &record.published.host];
    let source: Vec<&str> = source
        .into_iter()
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    Some(Published {
        measure: best.published.measure.clone(),
        value: best.published.value,
        unit: best.published.unit.clone(),
        of: best.published.of.clone(),
        ratio: best.ratio(),
        source: source.join("; "),
    })
}

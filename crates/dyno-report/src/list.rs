//! The list of what is in an archive: campaigns, a line each, or their runs.

use crate::answer::answer;
use crate::campaign::cells::tps_words;
use crate::campaign::latencies::p99_words;
use crate::completion::figures_in_short;
use crate::figures::{folder_name, one_line};
use crate::table::{Page, listed};
use dyno_analysis::summary::summary_of;
use dyno_archive::plan::Size;
use dyno_archive::{Campaign, CampaignRecord, Run};
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of a longer target the middle is left out, because its kind and its port tell it from others: lines are to fit on a
/// screen.
const LONGEST_TARGET: usize = 20;

/// Which campaigns are listed: those that all of it is true of.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The name of the experiment.
    pub experiment: Option<String>,
    /// A part of the address of the database as it was asked for.
    pub target: Option<String>,
    /// When it began at the earliest.
    pub since: Option<Timestamp>,
}

impl Filter {
    /// Whether this one is listed.
    #[must_use]
    pub fn keeps(&self, campaign: &Campaign) -> bool {
        let record = campaign.record.as_ref().ok();
        let is = |wanted: Option<&String>, is: &dyn Fn(&CampaignRecord, &str) -> bool| {
            wanted.is_none_or(|wanted| record.is_some_and(|record| is(record, wanted)))
        };
        let since = self
            .since
            .is_none_or(|since| record.is_some_and(|record| record.started.timestamp() >= since));
        since
            && is(self.experiment.as_ref(), &|record, name| record.experiment.name == name)
            && is(self.target.as_ref(), &|record, part| record.target.contains(part))
    }
}

/// What is listed of a campaign.
#[derive(Debug, Serialize)]
pub struct ListedCampaign {
    /// Its folder's name.
    folder: String,
    /// What the user calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// When it began; absent, as all that follows, if `campaign.json` cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<Zoned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    experiment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    /// The database as it was asked for, without its password.
    target: String,
    /// How many runs were planned.
    planned: usize,
    /// How many runs are in which state.
    runs: BTreeMap<String, usize>,
    /// What it answers, if it compares.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

impl ListedCampaign {
    /// What there is to list of it.
    #[must_use]
    pub fn of(campaign: &Campaign) -> Self {
        let record = campaign.record.as_ref().ok();
        let mut runs = BTreeMap::new();
        for run in &campaign.runs {
            *runs.entry(run.state.to_string()).or_default() += 1;
        }
        Self {
            folder: folder_name(&campaign.name()),
            label: campaign.label().map(str::to_owned),
            started: record.map(|record| record.started.clone()),
            experiment: record.map(|record| record.experiment.name.clone()),
            size: record.and_then(|record| record.experiment.size),
            target: target(campaign, None),
            planned: record.map_or(campaign.runs.len(), |record| record.runs.len()),
            runs,
            answer: answer(campaign),
        }
    }

    /// What there is of its runs.
    fn states(&self) -> String {
        let mut words: Vec<String> = self
            .runs
            .iter()
            .map(|(state, runs)| format!("{runs} {state}"))
            .collect();
        let there: usize = self.runs.values().sum();
        if there == 0 {
            words.push("no run".to_owned());
        }
        if there < self.planned {
            words.push(format!("of {}", self.planned));
        }
        words.join(" ")
    }
}

/// The campaigns of an archive, one line each, the newest last; on a `page` that is not so wide more.
#[must_use]
pub fn campaigns(campaigns: &[Campaign], page: Option<Page>) -> String {
    let dash = || "-".to_owned();
    let rows = campaigns.iter().map(|campaign| {
        let listed = ListedCampaign::of(campaign);
        let size = listed.size.map_or_else(String::new, |size| format!(" {size}"));
        let states = listed.states();
        let result = listed.answer.unwrap_or_else(|| match campaign.runs.as_slice() {
            [run] => {
                let [tps, p99] = figures(run);
                format!("{tps} TPS, p99 {p99}")
            }
            _ => dash(),
        });
        vec![
            listed.folder,
            listed
                .experiment
                .map_or_else(dash, |experiment| format!("{experiment}{size}")),
            listed.target,
            states,
            result,
        ]
    });
    listed(
        &["campaign", "experiment", "target", "runs", "result"],
        &[0, 1, 2, 3, 4],
        rows,
        page,
    )
}

/// The runs of campaigns, one line each, the newest last; on a `page` that is not so wide more.
#[must_use]
pub fn runs(campaigns: &[Campaign], page: Option<Page>) -> String {
    let rows = campaigns.iter().flat_map(|campaign| {
        let (when, experiment) = match &campaign.record {
            Ok(record) => {
                let experiment = &record.experiment;
                let when = record.started.strftime("%Y-%m-%d %H:%M").to_string();
                let size = experiment.size.map_or_else(String::new, |size| format!(" {size}"));
                (when, format!("{}{size}", experiment.name))
            }
            Err(_) => ("-".to_owned(), "-".to_owned()),
        };
        let none = campaign.runs.is_empty().then(|| {
            let nothing = || "-".to_owned();
            vec![
                when.clone(),
                experiment.clone(),
                target(campaign, None),
                "no run".to_owned(),
                nothing(),
                nothing(),
                folder_name(&campaign.name()),
            ]
        });
        let runs = campaign.runs.iter().map(move |run| {
            let [tps, p99] = figures(run);
            // The only run of a campaign is shown with it, so the shorter name does.
            let folder = match campaign.runs.as_slice() {
                [_] => folder_name(&campaign.name()),
                _ => folder_name(&format!("{}/{}", campaign.name(), run.name())),
            };
            vec![
                when.clone(),
                experiment.clone(),
                target(campaign, Some(run)),
                run.state.to_string(),
                tps,
                p99,
                folder,
            ]
        });
        none.into_iter().chain(runs)
    });
    listed(
        &["when", "experiment", "target", "state", "TPS", "p99", "folder"],
        &[0, 1, 2, 3, 6],
        rows,
        page,
    )
}

/// The database of a run, or of a campaign without one, as it was asked for; of an address the server alone.
fn target(campaign: &Campaign, run: Option<&Run>) -> String {
    let of_run = run.or(campaign.runs.first()).and_then(|run| run.record.as_ref().ok());
    let of_campaign = campaign.record.as_ref().ok().map(|record| record.target.as_str());
    let of_cell = run
        .and(of_run)
        .and_then(|record| record.cell.get("target"))
        .map(String::as_str);
    let is_asked = |target: &&str| !target.is_empty();
    match (of_cell.filter(is_asked), of_campaign.filter(is_asked)) {
        (Some(target), _) => server(target),
        // It may have several.
        (None, Some(targets)) => targets.split(", ").map(server).collect::<Vec<_>>().join(", "),
        // Archives of the first dynos know the address alone.
        (None, None) => of_run.map_or_else(|| "-".to_owned(), |record| server(&record.target)),
    }
}

/// The server of an address, shortened.
fn server(target: &str) -> String {
    let server = match target.split_once("://") {
        Some((kind, address)) => {
            let address = address.split(['/', '?']).next().unwrap_or_default();
            let host = address.rsplit('@').next().unwrap_or_default();
            format!("{kind}://{host}")
        }
        None => target.to_owned(),
    };
    let server = one_line(&server);
    let length = server.chars().count();
    if length <= LONGEST_TARGET {
        return server;
    }
    let end = LONGEST_TARGET / 2;
    let begin = server.chars().take(LONGEST_TARGET - end - 1);
    begin.chain(['…']).chain(server.chars().skip(length - end)).collect()
}

/// TPS and the 99th percentile of each workload; `-` where there is none.
fn figures(run: &Run) -> [String; 2] {
    let Ok(summary) = summary_of(run) else {
        return ["-".to_owned(), "-".to_owned()];
    };
    let p99 = p99_words(&summary).unwrap_or_else(|| "-".to_owned());
    // That nothing was finished in a time is no 0.
    let known = summary
        .workloads
        .iter()
        .any(|workload| workload.longer_than_s().is_none());
    let figure = figures_in_short(&summary.workloads).filter(|_| !known);
    [figure.unwrap_or_else(|| tps_words(&summary)), p99]
}

#[cfg(test)]
mod tests {
    use crate::fixture::{staged, two_workloads, write_archive};
    use crate::terminal::campaign_tests::{Fate, campaign};
    use dyno_archive::Archive;
    use dyno_archive::summary::Summary;
    use insta::assert_snapshot;

    #[test]
    fn every_run_has_its_line() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let without_runs = folder.path().join("2026-11-21T20-07-00-pk-update");
        std::fs::create_dir(&without_runs).unwrap();
        std::fs::copy(
            folder.path().join("2026-11-21T20-05-30-pk-update/campaign.json"),
            without_runs.join("campaign.json"),
        )
        .unwrap();
        assert_snapshot!(super::runs(&Archive::new(folder.path()).campaigns().unwrap(), None));
    }

    #[test]
    fn every_campaign_has_its_line() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let mut campaigns = Archive::new(folder.path()).campaigns().unwrap();
        campaigns[0].record.as_mut().unwrap().label = Some("nightly".to_owned());
        assert_snapshot!(super::campaigns(&campaigns, None));
        let listed: Vec<_> = campaigns.iter().map(super::ListedCampaign::of).collect();
        assert_snapshot!(serde_json::to_string_pretty(&listed).unwrap());
    }

    #[test]
    fn a_campaign_with_several_targets_has_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let mut campaign = Archive::new(folder.path()).campaigns().unwrap().remove(0);
        "embedded:18, postgres://ann:***@db:5433/shop".clone_into(&mut campaign.record.as_mut().unwrap().target);
        let target = super::ListedCampaign::of(&campaign).target;
        assert_eq!(target, "embedded:18, postgres://db:5433");
    }

    #[test]
    fn folders_of_others_do_not_break_the_table() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let mut campaign = Archive::new(folder.path()).campaigns().unwrap().remove(0);
        campaign.path = folder.path().join("red\x1b[31m\nline");
        let campaigns = [campaign];
        for list in [super::campaigns(&campaigns, None), super::runs(&campaigns, None)] {
            assert!(list.contains("red\\x1b[31m\\nline"), "{list}");
        }
        let exported = String::from_utf8(crate::Export::of_runs(&campaigns).to_csv().unwrap()).unwrap();
        assert!(exported.contains("red\\x1b[31m\\nline"), "{exported}");
    }

    #[test]
    fn campaigns_are_listed_by_what_they_measured() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let campaigns = Archive::new(folder.path()).campaigns().unwrap();
        let kept = |filter: super::Filter| campaigns.iter().filter(|campaign| filter.keeps(campaign)).count();
        let all = campaigns.len();
        let started = campaigns
            .iter()
            .map(|campaign| campaign.record.as_ref().unwrap().started.timestamp());
        let last = started.max();
        let filter = super::Filter::default;
        let experiment = campaigns[0].record.as_ref().unwrap().experiment.name.clone();
        assert_eq!(kept(filter()), all);
        assert!(
            kept(super::Filter {
                experiment: Some(experiment),
                ..filter()
            }) > 0
        );
        assert_eq!(
            kept(super::Filter {
                experiment: Some("no".to_owned()),
                ..filter()
            }),
            0
        );
        assert_eq!(
            kept(super::Filter {
                target: Some("no".to_owned()),
                ..filter()
            }),
            0
        );
        assert_eq!(
            kept(super::Filter {
                since: last,
                ..filter()
            }),
            1
        );
    }

    #[test]
    fn a_p99_is_of_one_load_and_tps_of_one_kind_of_loop() {
        let archive = tempfile::tempdir().unwrap();
        let line = |summary: fn() -> Summary| {
            let campaign = campaign(archive.path(), "", |_| Fate::Found(Box::new(summary())));
            super::runs(&[campaign], None)
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned()
        };
        let staged = line(staged);
        assert!(staged.contains(" 0.900 to 40.0 ms by stage "), "{staged}");
        let mixed = line(two_workloads);
        assert!(mixed.contains(" update 12,346, ingest 993.8 "), "{mixed}");
    }

    #[test]
    fn a_target_is_named_as_it_was_asked_for() {
        let archive = tempfile::tempdir().unwrap();
        let mut campaign = campaign(archive.path(), "", |_| Fate::Found(Box::new(staged())));
        let mut named = |target: &str| {
            campaign.record.as_mut().unwrap().target = target.to_owned();
            super::target(&campaign, campaign.runs.first())
        };
        assert_eq!(named("embedded:mariadb"), "embedded:mariadb");
        assert_eq!(
            named("mysql://me@db:3306/dyno_run?ssl-mode=required"),
            "mysql://db:3306"
        );
        assert_eq!(named("postgres://db.example.com:5432/x"), "postgres:…e.com:5432");
    }

    #[test]
    fn a_damaged_campaign_is_listed_too() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        for campaign in Archive::new(folder.path()).campaigns().unwrap() {
            std::fs::write(campaign.path.join("campaign.json"), "{").unwrap();
            std::fs::write(campaign.runs[0].path.join("run.json"), "{").unwrap();
        }
        assert_snapshot!(super::runs(&Archive::new(folder.path()).campaigns().unwrap(), None));
    }
}

//! The list of what is in an archive.

use crate::campaign::cells::tps_words;
use crate::campaign::latencies::p99_words;
use crate::table::unbroken;
use dyno_analysis::summary::summary_of;
use dyno_archive::{Campaign, Run};

/// The campaigns of an archive, one line per run, the newest last.
#[must_use]
pub fn campaigns(campaigns: &[Campaign]) -> String {
    if campaigns.is_empty() {
        return "There are no runs yet. Start with `dyno run pk-update`; `dyno list experiments` shows all \
                experiments.\n"
            .to_owned();
    }
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
                "no run".to_owned(),
                nothing(),
                nothing(),
                campaign.name(),
            ]
        });
        let runs = campaign.runs.iter().map(move |run| {
            let [tps, p99] = figures(run);
            // The only run of a campaign is shown with it, so the shorter name does.
            let folder = match campaign.runs.as_slice() {
                [_] => campaign.name(),
                _ => format!("{}/{}", campaign.name(), run.name()),
            };
            vec![
                when.clone(),
                experiment.clone(),
                run.state.to_string(),
                tps,
                p99,
                folder,
            ]
        });
        none.into_iter().chain(runs)
    });
    unbroken(
        &["when", "experiment", "state", "TPS", "p99", "folder"],
        &[0, 1, 2, 5],
        rows,
    )
}

/// TPS and the 99th percentile of each workload; `-` where there is none.
fn figures(run: &Run) -> [String; 2] {
    let Ok(summary) = summary_of(run) else {
        return ["-".to_owned(), "-".to_owned()];
    };
    let p99 = p99_words(&summary).unwrap_or_else(|| "-".to_owned());
    [tps_words(&summary), p99]
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
        assert_snapshot!(super::campaigns(&Archive::new(folder.path()).campaigns().unwrap()));
    }

    #[test]
    fn a_p99_is_of_one_load_and_tps_of_one_kind_of_loop() {
        let archive = tempfile::tempdir().unwrap();
        let line = |summary: fn() -> Summary| {
            let campaign = campaign(archive.path(), "", |_| Fate::Found(Box::new(summary())));
            super::campaigns(&[campaign])
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned()
        };
        let staged = line(staged);
        assert!(staged.contains(" 0.9 to 40 ms by stage "), "{staged}");
        let mixed = line(two_workloads);
        assert!(mixed.contains(" update 12,346, ingest 993.8 "), "{mixed}");
    }

    #[test]
    fn a_damaged_campaign_is_listed_too() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        for campaign in Archive::new(folder.path()).campaigns().unwrap() {
            std::fs::write(campaign.path.join("campaign.json"), "{").unwrap();
            std::fs::write(campaign.runs[0].path.join("run.json"), "{").unwrap();
        }
        assert_snapshot!(super::campaigns(&Archive::new(folder.path()).campaigns().unwrap()));
    }

    #[test]
    fn an_empty_archive_says_how_to_begin() {
        assert_snapshot!(super::campaigns(&[]), @"There are no runs yet. Start with `dyno run pk-update`; `dyno \
            list experiments` shows all experiments.");
    }
}

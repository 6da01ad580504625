//! The page of series that are made up.

use super::*;
use dyno_archive::plan::{PlannedRun, Size};
use dyno_archive::{CampaignRecord, CampaignWriter, RunState, SeriesMember, SeriesRecord, SeriesWriter};
use dyno_lab::experiment::Experiment;
use insta::assert_snapshot;

/// An experiment that is called `name`, on two databases.
fn experiment(name: &str, extra: &str) -> CampaignRecord {
    let text = format!(
        "title = \"Of <{name}>\"\nsource = \"a paper\"\n{extra}\n[parameters]\nrows = 1000\n[data]\nsetup = \"create \
         table t (id int)\"\nfill.t = {{ rows = \"{{rows}}\", columns = {{ id = \"row\" }} }}\n[[workload]]\nname = \
         \"update\"\nclients = 8\nscript = \"select 1\"\n[factors]\ntarget = [\"embedded:18\", \"embedded:mariadb\"]\n\
         [[published]]\nmeasure = \"tps\"\nvalue = 24691.2\n"
    );
    let path = std::path::PathBuf::from(format!("{name}.toml"));
    let experiment = Experiment::parse(&path, &text).unwrap();
    let plan = experiment.plan(Size::Full, &[], None, 1, 2).unwrap();
    CampaignRecord::of(
        &plan,
        "dyno run".to_owned(),
        "2026-11-21T19:40:12[UTC]".parse().unwrap(),
    )
    .unwrap()
}

fn member(record: &CampaignRecord) -> SeriesMember {
    SeriesMember {
        experiment: record.experiment.name.clone(),
        title: record.experiment.title.clone(),
        group: record.experiment.group.clone(),
        left_out: None,
        failure: None,
        planned: Some(Box::new(record.clone())),
    }
}

/// A series of two experiments: the first measured on two databases, on the second twice as slow, the other one not.
fn made(archive: &Path, started: &str, tps: f64) -> Series {
    let records = [experiment("first", "group = \"Reads\""), experiment("second", "")];
    let members = records.iter().map(member).collect();
    let record = SeriesRecord::new(
        "shelf".to_owned(),
        "dyno run shelf".to_owned(),
        started.parse().unwrap(),
        members,
    );
    let mut writer = SeriesWriter::create(archive, record).unwrap();
    writer
        .update(1, |member| member.failure = Some("the server is gone".to_owned()))
        .unwrap();
    let series = writer.series().clone();
    let mut campaign = records[0].clone();
    campaign.series = Some(series.record.id.clone());
    let folder = CampaignWriter::create(archive, &campaign).unwrap();
    for run in &campaign.runs {
        let share = if run.cell["target"] == "embedded:18" { 1.0 } else { 0.5 };
        measured(&folder, run, tps * share);
    }
    series
}

fn measured(campaign: &CampaignWriter, run: &PlannedRun, tps: f64) {
    let mut summary = crate::fixture::update();
    summary.workloads[0].tps = tps;
    let mut record = dyno_archive::RunRecord::new(
        String::new(),
        String::new(),
        vec![dyno_archive::summary::WorkloadFacts::closed("update", 8, 2)],
        &[],
        std::time::Duration::from_secs(1),
    );
    record.number = run.number;
    record.cell.clone_from(&run.cell);
    record.repetition = run.repetition;
    let writer = campaign.run(run, record).unwrap();
    writer.finish(RunState::Complete, summary).unwrap();
}

#[test]
fn rows_have_a_cell_for_each_database_and_say_what_is_missing() {
    let archive = tempfile::tempdir().unwrap();
    let series = made(archive.path(), "2026-11-21T19:40:12[UTC]", 12_345.6);
    let report = SeriesReport::of(&[series]).unwrap();
    assert_snapshot!(markdown(&report));
}

#[test]
fn the_page_escapes_and_fetches_nothing() {
    let archive = tempfile::tempdir().unwrap();
    let series = made(archive.path(), "2026-11-21T19:40:12[UTC]", 12_345.6);
    let report = SeriesReport::of(&[series]).unwrap();
    let page = page(&report, &|campaign| Some(format!("../{campaign}/report.html"))).unwrap();
    assert!(page.contains("Of &lt;first&gt;") && !page.contains("<first>"));
    assert!(page.contains("×0.50") && page.contains("data-value=\"6172.8\""));
    assert!(page.contains("the server is gone"));
    assert!(page.contains("href=\"..&#x2f;2026-11-21T19-40-12-first&#x2f;report.html\""));
    for fetching in ["<link", " src=\"", "href=\"http", "url(", "@import"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
    assert!(!page.contains("<polyline"));
}

#[test]
fn what_was_before_is_told_by_instants_not_by_clocks_on_walls() {
    let archive = tempfile::tempdir().unwrap();
    // The second began an hour later, where clocks show less; the third in the same minute.
    made(archive.path(), "2026-11-21T19:40:12[Asia/Tokyo]", 10_000.0);
    let second = made(archive.path(), "2026-11-21T11:40:12[UTC]", 11_000.0);
    let third = made(archive.path(), "2026-11-21T11:40:52[UTC]", 12_000.0);
    let history = |series: &Series| {
        let report = SeriesReport::of(std::slice::from_ref(series)).unwrap();
        let row = report.rows.iter().find(|row| row.experiment == "first").unwrap();
        row.history[0].iter().map(|(_, tps)| *tps).collect::<Vec<_>>()
    };
    assert_eq!(history(&second), [10_000.0, 11_000.0]);
    assert_eq!(history(&third), [10_000.0, 11_000.0, 12_000.0]);
}

#[test]
fn a_series_that_was_made_before_gives_each_row_a_line() {
    let archive = tempfile::tempdir().unwrap();
    made(archive.path(), "2026-11-21T19:40:12[UTC]", 10_000.0);
    let series = made(archive.path(), "2026-11-22T19:40:12[UTC]", 12_345.6);
    let report = SeriesReport::of(std::slice::from_ref(&series)).unwrap();
    let times = |tps: [f64; 2]| {
        let when = ["2026-11-21 19:40", "2026-11-22 19:40"];
        when.iter().map(|when| (*when).to_owned()).zip(tps).collect::<Vec<_>>()
    };
    assert_eq!(report.rows.len(), 2);
    let row = report.rows.iter().find(|row| row.experiment == "first").unwrap();
    assert_eq!(row.history, [times([10_000.0, 12_345.6]), times([5_000.0, 6_172.8])]);
    let shown = page(&report, &|_| None).unwrap();
    assert_eq!(shown.matches("<polyline").count(), 2);
    // Both beside each other: four columns, which are told apart by their time.
    let earlier = Series::all(archive.path()).unwrap().remove(0);
    let both = SeriesReport::of(&[earlier, series]).unwrap();
    let names: Vec<&str> = both.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!((names.len(), names[0]), (4, "embedded:18, 2026-11-21 19:40"));
}

#[test]
fn an_experiment_has_a_line_on_the_terminal() {
    let archive = tempfile::tempdir().unwrap();
    let series = made(archive.path(), "2026-11-21T19:40:12[UTC]", 12_345.6);
    let campaigns = series.campaigns(&SeriesParts::read(archive.path()).unwrap());
    let lines = [
        line(1, 12, "Of first", campaigns[0].as_ref()),
        line(2, 12, "One whose title goes on and on and on", campaigns[1].as_ref()),
    ];
    assert_snapshot!(lines.join("\n"));
}

//! Several experiments, one after the other: a folder with what it shares, what fails and is gone on with, the page of
//! all, and how it was before.

use crate::support::web::Server;
use crate::support::{Desk, Ended, Home, RunFolder, Running, not_held, run_folders, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// An experiment that takes the time which the folder says.
fn experiment(title: &str, extra: &str, script: &str) -> String {
    format!("title = \"{title}\"\n{extra}\n[[workload]]\nscript = '''\n{script}\n'''\n")
}

/// A desk with a folder of two experiments and what they share.
fn desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("shelf")).unwrap();
    desk.file(
        "shelf/dyno.toml",
        "[defaults.phases]\nwarmup = \"0s\"\nmeasure = \"1s\"\ninterval = \"100ms\"\n\
         [defaults.parameters]\nrows = 100\n",
    );
    desk.file(
        "shelf/add.toml",
        &experiment("Add to <numbers>", "group = \"Sums\"", "select 1 + :rows;"),
    );
    let data =
        "[data]\nsetup = \"create table t (id int)\"\nfill.t = { rows = \"{rows}\", columns = { id = \"row\" } }\n";
    desk.file(
        "shelf/look.toml",
        &experiment("Look up", data, "select count(*) from t;"),
    );
    desk
}

/// The folder of the series that began last.
fn series(desk: &Desk) -> PathBuf {
    let folders = fs::read_dir(desk.archive()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("series.json").is_file()).collect();
    folders.sort();
    folders.pop().unwrap()
}

fn json(desk: &Desk, words: &str) -> Value {
    let ended = desk.dyno(&format!("report {words} --format json --output -")).expect(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The lines of the experiments, without their figures.
fn lines(ended: &Ended) -> Vec<String> {
    let lines = ended
        .stdout
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    lines
        .map(|line| {
            line.split_whitespace()
                .filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()) || word.contains('/'))
        })
        .map(|words| words.collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn a_folder_is_measured_and_published_as_one() {
    let (desk, home) = (desk(), Home::new());
    let ended = desk.embedded(&home, "shelf --name nightly --set rows=50").expect(0);
    home.assert_no_server();
    assert_eq!(
        lines(&ended),
        ["1/2 Add to <numbers> complete TPS", "2/2 Look up complete TPS"]
    );
    assert!(ended.stdout.lines().count() <= 5, "{}", ended.stdout);
    let file = ended.ends_with_report();
    assert_eq!(
        file,
        PathBuf::from("archive")
            .join(series(&desk).file_name().unwrap())
            .join("report.html")
    );
    let page = not_held(&fs::read_to_string(desk.path().join(file)).unwrap());
    assert!(page.contains("Add to &lt;numbers&gt;") && page.contains("dyno run shelf --name nightly"));
    // Each is a campaign of its own, which knows where it is from, and has a report that the page leads to.
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.iter().map(RunFolder::state).collect::<Vec<_>>(), ["complete"; 2]);
    for run in &runs {
        let folder = run.0.parent().unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(folder.join("report.html").is_file());
        assert!(
            page.contains(&format!("href=\"..&#x2f;{name}&#x2f;report.html\"")),
            "{name}"
        );
        let record = run.of_campaign("campaign.json");
        assert_eq!(record["series"], series(&desk).file_name().unwrap().to_str().unwrap());
        assert_eq!(record["experiment"]["measure"], "1s");
        assert_eq!(record["defaults"]["file"], "shelf/dyno.toml");
        assert_eq!(record["defaults"]["values"]["phases.measure"], "\"1s\"");
        assert_eq!(record["experiment"]["parameters"]["rows"], 50);
    }
    let report = json(&desk, "nightly");
    assert_eq!(report["rows"][0]["group"], "Sums");
    assert_eq!(report["rows"][1]["rows"], 50);
    assert!(report["rows"][1]["figures"][0]["tps"].as_f64().unwrap() > 0.0);
    assert!(report["rows"][1]["figures"][0]["size_bytes"].as_f64().unwrap() > 0.0);
    desk.dyno("list series").expect(0).shows("nightly 2");
    desk.dyno("report nightly --format md --output -")
        .expect(0)
        .shows("| Look up | 1 | 50 |");
    // Again: each row has a line over time.
    desk.embedded(&home, "shelf --name nightly").expect(0);
    let report = json(&desk, "nightly");
    assert_eq!(report["rows"][1]["history"][0].as_array().unwrap().len(), 2);
    assert_eq!(
        desk.dyno("list --json").expect(0).stdout.matches("\"folder\"").count(),
        4
    );
}

#[test]
fn one_that_fails_keeps_no_other_and_is_gone_on_with() {
    let (desk, home) = (desk(), Home::new());
    desk.file(
        "shelf/broken.toml",
        &experiment("Broken", "[data]\nsetup = \"create table x (id nothing)\"", "select 1;"),
    );
    let ended = desk
        .embedded(&home, "shelf")
        .expect(2)
        .says("1 of 3 experiments are not measured as planned");
    assert_eq!(
        lines(&ended),
        [
            "1/3 Add to <numbers> complete TPS",
            "2/3 Broken failed",
            "3/3 Look up complete TPS"
        ]
    );
    let folder = series(&desk);
    let name = folder.file_name().unwrap().to_str().unwrap();
    let ended = ended.says("broken: ").says(&format!("dyno run --resume {name}"));
    let page = fs::read_to_string(desk.path().join(ended.ends_with_report())).unwrap();
    assert!(page.contains("type &quot;nothing&quot; does not exist"), "{page}");
    let before: Vec<_> = run_folders(&desk.archive()).into_iter().map(|run| run.0).collect();
    assert_eq!(before.len(), 2);
    // What was planned holds, not what the files say now; what is there is not made again. The data cannot be made, so
    // it fails again, and its campaign is kept.
    fs::remove_dir_all(desk.path().join("shelf")).unwrap();
    let ended = desk.embedded(&home, "--resume").expect(2);
    assert_eq!(lines(&ended), ["2/3 Broken failed"]);
    assert!(before.iter().all(|run| run.is_dir()));
    home.assert_no_server();
}

#[test]
fn what_was_interrupted_is_gone_on_with() {
    let (desk, home) = (desk(), Home::new());
    desk.file("shelf/zoom.toml", &experiment("Zoom in", "", "select 1;"));
    let running = Running::start(desk.command_embedded(&home, "shelf --name nightly --set measure=3s"));
    wait_for("the second experiment", || {
        let mut runs = run_folders(&desk.archive()).into_iter();
        runs.any(|run| run.0.to_string_lossy().contains("look") && run.intervals_so_far() > 0)
    });
    running.signal(Signal::KILL);
    running.end();
    let states = || {
        run_folders(&desk.archive())
            .iter()
            .map(RunFolder::state)
            .collect::<Vec<_>>()
    };
    assert_eq!(states().iter().filter(|state| *state == "complete").count(), 1);
    let ended = desk.embedded(&home, "--resume nightly").expect(0);
    assert_eq!(lines(&ended), ["2/3 Look up complete TPS", "3/3 Zoom in complete TPS"]);
    assert_eq!(states(), ["complete"; 3]);
    // The name of the series is not that of an experiment which had not begun.
    let folders = fs::read_dir(desk.archive())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let folders: Vec<String> = folders.map(|name| name.into_string().unwrap()).collect();
    assert!(folders.iter().any(|name| name.ends_with("-zoom")), "{folders:?}");
    assert_eq!(
        folders.iter().filter(|name| name.contains("nightly")).count(),
        1,
        "{folders:?}"
    );
    home.assert_no_server();
}

#[test]
fn what_holds_where_is_told_before_anything_is_measured() {
    let desk = desk();
    desk.dyno("run shelf --set rwos=5")
        .expect(1)
        .says("`rwos` cannot be set in any experiment of the series");
    let dry = desk.dyno("run shelf htap-notify --set rows=5 --dry-run").expect(0);
    let dry = dry.shows("series: 3 experiments, 3 runs");
    let dry = dry.shows("phases.measure = \"1s\" (from shelf/dyno.toml): add, look");
    dry.shows("note: --set rows=5 does not hold for 1 of 3 experiments, which have no `rows`: htap-notify");
    desk.dyno("run shelf/add.toml --dry-run")
        .expect(0)
        .shows("shared phases.measure \"1s\" (from shelf/dyno.toml)");
    let shared = "[defaults.phases]\nmeasure = \"soon\"\n[defaults.parameters]\nrows = 100\n";
    desk.file("shelf/dyno.toml", shared);
    desk.dyno("run shelf")
        .expect(1)
        .says("shelf/dyno.toml:2:11: `measure` cannot be `soon`");
    // What is wrong in what they share is said once.
    let said = desk.dyno("run shelf").expect(1).stderr;
    assert_eq!(said.matches("cannot be `soon`").count(), 1, "{said}");
    assert!(said.contains("(this concerns 2 experiments)"), "{said}");
    desk.dyno("run shelf/dyno.toml").expect(1).says("is none itself");
    desk.dyno("check shelf").expect(1).says("is a folder of experiments");
    desk.dyno("check htap")
        .expect(1)
        .says("`htap` is a series of 32 experiments");
    assert!(!desk.archive().exists());
}

#[test]
fn it_is_served_as_it_is_written() {
    let (desk, home) = (desk(), Home::new());
    desk.embedded(&home, "shelf").expect(0);
    let folder = series(&desk);
    let name = folder.file_name().unwrap().to_str().unwrap();
    desk.dyno(&format!("show {name}"))
        .expect(1)
        .says("is a series of 2 experiments, each with a campaign of its own");
    desk.dyno("show 2")
        .expect(0)
        .says("note: 2 campaigns begin with \"2\"; this is the newest, ");
    let name = folder.file_name().unwrap().to_str().unwrap();
    let server = Server::start(&desk, &[]);
    server.get("/").expect(200).says(&format!("href=\"/series/{name}\""));
    let page = server.get("/series/shelf").expect(200).says("Add to &lt;numbers&gt;");
    page.says("&#x2f;campaigns&#x2f;").says_not("report.html");
    server.get("/series/other").expect(404).says(name);
    server.end().expect(0);
}

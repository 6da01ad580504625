//! What a run leaves on disk, and what happens when the disk does not take it.

use crate::support::{Desk, Ended, TINY, database, limited, run_folders};
use jiff::Timestamp;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_run_folder_is_complete_and_adds_up() {
    let (desk, database) = (Desk::new(), database("e2e_folder"));
    let mut arguments = vec!["pk-update"];
    arguments.extend(TINY);
    arguments.extend([
        "--set",
        "warmup=300ms",
        "--set",
        "interval=100ms",
        "--set",
        "clients=3",
        "--repeat",
        "2",
    ]);
    desk.on(&database.target(), arguments).expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let record = run.record();
        let summary = &record["summary"];
        assert_eq!(record["state"], "complete");
        assert_eq!(record["format"], 1);
        assert!(
            record["server"]["version"].to_string().contains("18"),
            "{}",
            record["server"]["version"]
        );
        assert!(record["server"]["settings"].as_array().unwrap().len() > 20);
        assert!(record["host"].as_object().unwrap().len() > 3);
        assert_eq!(record["phases"][1]["name"], "measure");
        // The rows of the table are those of the experiment.
        assert_eq!(database.value("select count(*) from dyno_pk_update.tbl"), "1000");

        let transactions = run.summed_up();
        assert!(transactions > 0);
        assert_eq!(run.measured(), transactions);
        let rows = run.rows("intervals.csv");
        assert_eq!(rows.iter().filter(|row| row["phase"] == "warmup").count(), 3);
        assert_eq!(rows.iter().filter(|row| row["phase"] == "measure").count(), 10);
        let all: u64 = rows.iter().map(|row| row["transactions"].parse::<u64>().unwrap()).sum();
        let latency = run.latency("update");
        assert_eq!(latency.len(), all);
        assert_eq!(run.latency("update/1").len(), all);
        // Three significant digits, and the warm-up is in the log but not in the summary.
        let max_us = summary["workloads"][0]["latency"]["max_us"].as_f64().unwrap();
        assert!(
            latency.max() as f64 / 1000.0 >= max_us * 0.998,
            "{} {max_us}",
            latency.max()
        );

        for file in ["server.csv", "host.csv"] {
            let samples = run.rows(file);
            assert!(!samples.is_empty() && samples[0].len() > 5, "{file}");
        }
        let began: Timestamp = record["load_started"].as_str().unwrap().parse().unwrap();
        for (file, since) in [
            ("intervals.csv", "interval_start_s"),
            ("server.csv", "at_s"),
            ("host.csv", "at_s"),
        ] {
            for row in run.rows(file) {
                let time: Timestamp = row["time"].parse().unwrap();
                let after_s = time.duration_since(began).as_secs_f64();
                let since_s: f64 = row[since].parse().unwrap();
                assert!((after_s - since_s).abs() < 0.0011, "{file}: {row:?}");
            }
        }
        let phases: Vec<_> = run
            .events()
            .iter()
            .filter_map(|event| event["phase"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(phases, ["warmup", "measure"]);
    }
    let campaign = runs[0].campaign();
    assert_eq!(campaign["runs"].as_array().unwrap().len(), 2);
    assert_eq!(campaign["experiment"]["parameters"]["rows"], 1000);
    let command = campaign["command"].as_str().unwrap();
    assert!(command.contains("run pk-update --set measure=1s"), "{command}");

    let name = runs[0]
        .0
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let list = desk.dyno("list runs").expect(0);
    assert_eq!(list.stdout.matches("complete").count(), 2, "{}", list.stdout);
    let by_name = desk
        .dyno(&format!("show {name}"))
        .expect(0)
        .shows("Primary-key update")
        .stdout;
    let by_path = desk.dyno(&format!("show archive/{name}")).expect(0).stdout;
    assert_eq!(by_name, desk.dyno("show").expect(0).stdout);
    assert_eq!(by_name.lines().count(), by_path.lines().count());
}

/// A small file system of its own, for root only. Unmounted when dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(folder: std::path::PathBuf, options: &str) -> Option<Self> {
        fs::create_dir(&folder).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&folder)
            .output()
            .ok()?;
        mounted.status.success().then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_is_full_in_mid_run() {
    let (desk, database) = (Desk::new(), database("e2e_full"));
    desk.experiment("full.toml", "", "select 1;", "3s");
    let text = fs::read_to_string(desk.path().join("full.toml")).unwrap();
    desk.file("full.toml", &text.replace("100ms", "10ms"));
    // Room for what is written before the run and for some intervals.
    if let Some(disk) = SmallDisk::mount(desk.path().join("disk"), "size=64k") {
        let archive = disk.0.display().to_string();
        let ended = desk
            .on(&database.target(), ["full.toml", "--archive", &archive])
            .expect(2);
        ended
            .says("error: the archived run is incomplete: ")
            .says("No space left on device")
            .shows("The archive is incomplete")
            .shows("This summary could not be saved")
            .shows("The run took its whole time")
            .shows("Saved in part in ");
        let runs = run_folders(&disk.0);
        assert!(runs[0].measured() > 0);
        desk.dyno(&format!("show --archive {archive}"))
            .expect(0)
            .shows("latency (")
            .shows("The run ended early, or its end could not be archived.");
    }
    // Without the right to mount: a limit on the size of files, which by default kills whoever meets it.
    let command = desk.command_on(&database.target(), ["full.toml"]);
    let ended = Ended::of(&mut limited("ulimit -f 16", &command))
        .expect(2)
        .says("File too large")
        // What cannot be written either changes nothing of how it ends.
        .says("note: there is no report: cannot write ");
    ended.shows("The archive is incomplete");
    let runs = run_folders(&desk.archive());
    assert!(runs[0].measured() > 0);
    desk.dyno("show").expect(0).shows("latency (");
}

#[test]
fn a_disk_without_room_for_the_first_file() {
    let (desk, database) = (Desk::new(), database("e2e_no_room"));
    desk.experiment("full.toml", "", "select 1;", "300ms");
    // The root and a folder: no file finds a place.
    let Some(disk) = SmallDisk::mount(desk.path().join("disk"), "nr_inodes=2") else {
        return;
    };
    let archive = disk.0.display().to_string();
    let ended = desk.on(&database.target(), ["full.toml", "--archive", &archive]);
    ended.expect(1).says("No space left on device");
    assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 0);
}

#[test]
fn a_disk_that_is_read_only() {
    let desk = Desk::new();
    let folder = desk.path().join("disk");
    // Root may write to whatever is not mounted read-only, others may not mount.
    let disk = SmallDisk::mount(folder.clone(), "ro");
    if disk.is_none() {
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    }
    for archive in ["disk", "disk/archive"] {
        let ended = desk.dyno(&format!("run pk-insert --archive {archive}")).expect(1);
        ended.says("error: cannot write disk: ");
    }
}

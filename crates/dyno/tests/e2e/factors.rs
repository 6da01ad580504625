//! Campaigns over factors: every cell is measured as it is meant, and one that fails costs only itself.

use crate::support::{Desk, Home, RunFolder, database, run_folders};
use serde_json::Value;

/// An experiment over two factors, with data.
const GRID: &str = r#"
title = "Grid"

[parameters]
rows = 1000

[data]
setup = "create table t (id int, filler text)"
fill.t = { rows = "{rows}", columns = { id = "row", filler = "'x'" } }

[[workload]]
script = '''
\set id random(1, :rows)
update t set filler = 'y' where id = :id;
'''

[phases]
warmup = "0s"
measure = "300ms"
interval = "100ms"

[factors]
clients = [1, 2]
full_page_writes = ["on", "off"]
"#;

/// An experiment of three cells, of which the one in the middle has data that cannot be made.
const BROKEN: &str = r#"
title = "Broken"

[parameters]
divisor = 1

[data]
setup = "create table t (id int); insert into t select 10 / {divisor}"

[[workload]]
script = "select count(*) from t;"

[phases]
warmup = "0s"
measure = "300ms"
interval = "100ms"

[factors]
divisor = [1, 0, 2]

[plan]
order = "listed"
"#;

fn states(desk: &Desk) -> Vec<String> {
    run_folders(&desk.archive()).iter().map(RunFolder::state).collect()
}

/// What the server of a run said of one of its settings.
fn setting(run: &Value, name: &str) -> String {
    let settings = run["server"]["settings"].as_array().unwrap();
    let found = settings.iter().find(|setting| setting["name"] == name);
    found
        .map_or("", |setting| setting["value"].as_str().unwrap())
        .to_owned()
}

#[test]
fn every_cell_is_measured_with_its_levels() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("grid.toml", GRID);
    let ended = desk.embedded(&home, "grid.toml --repeat 2 --seed 1").expect(0);
    ended.says("Run 1 of 8: ").says("Run 8 of 8: ");
    home.assert_no_server();
    let runs = run_folders(&desk.archive());
    assert_eq!(states(&desk), ["complete"; 8]);
    let mut cells = Vec::new();
    for (run, number) in runs.iter().zip(1..) {
        let record = run.record();
        assert_eq!(record["number"], number);
        let cell = &record["cell"];
        assert_eq!(
            record["workloads"][0]["clients"].to_string(),
            cell["clients"].as_str().unwrap()
        );
        assert_eq!(
            setting(&record, "full_page_writes"),
            cell["full_page_writes"].as_str().unwrap()
        );
        assert!(run.summed_up() > 0);
        assert_eq!(run.measured(), run.summed_up());
        cells.push(cell.to_string());
    }
    // Repetition by repetition.
    for half in [&cells[..4], &cells[4..]] {
        let mut half = half.to_vec();
        half.sort();
        half.dedup();
        assert_eq!(half.len(), 4);
    }
    let campaign = runs[0].campaign();
    assert_eq!(campaign["factors"][1]["levels"], serde_json::json!(["on", "off"]));
    assert_eq!(campaign["cells"].as_array().unwrap().len(), 4);
    // The data was made once, for all.
    let second = desk
        .embedded(&home, "grid.toml --set clients=1,2,3 --set full_page_writes=on")
        .expect(0);
    assert!(!second.stderr.contains("Loading t"), "{}", second.stderr);
    assert_eq!(run_folders(&desk.archive()).len(), 11);
}

#[test]
fn data_of_several_sizes_is_kept_for_all_cells() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("grid.toml", GRID);
    let ended = desk.embedded(
        &home,
        "grid.toml --set rows=500,1000 --set clients=1 --set full_page_writes=on --repeat 2",
    );
    let ended = ended.expect(0);
    assert_eq!(ended.stderr.matches("Loading t:").count(), 2, "{}", ended.stderr);
    assert_eq!(states(&desk), ["complete"; 4]);
}

#[test]
fn state_and_cache_are_as_asked_for() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file(
        "count.toml",
        "title = \"Count\"\n[data]\nsetup = \"create table t (id int)\"\n[[workload]]\nscript = \"insert into t \
         values (1);\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n",
    );
    let rows = |run: &RunFolder| run.record()["tables"]["before"]["tables"][0]["statistics"]["n_live_tup"].as_i64();
    desk.embedded(&home, "count.toml --set state=keep --repeat 3")
        .expect(0)
        .says("Continuing with the data");
    let runs = run_folders(&desk.archive());
    let before: Vec<_> = runs.iter().map(rows).collect();
    assert!(before[0] < before[1] && before[1] < before[2], "{before:?}");
    desk.embedded(&home, "count.toml --set state=copy,reload --set cache=cold,warm")
        .expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 7);
    for run in &runs[3..] {
        assert_eq!(run.state(), "complete");
        assert_eq!(rows(run), Some(0));
        let warnings = run.record()["summary"]["warnings"].to_string();
        let said = if run.record()["cell"]["cache"] == "cold" {
            "page cache"
        } else {
            "were read into the cache before the load, by"
        };
        assert!(
            warnings.contains(said) || warnings.contains("the kernel was advised"),
            "{warnings}"
        );
    }
}

#[test]
fn a_cell_that_fails_does_not_hinder_the_others() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("broken.toml", BROKEN);
    let ended = desk.embedded(&home, "broken.toml").expect(2);
    ended
        .says("1 of 3 runs are not complete. To measure them: dyno run --resume ")
        .shows("Run 2 of 3 (failed): divisor = 0: broken.toml, line 8: ERROR: division by zero");
    assert_eq!(states(&desk), ["complete", "failed", "complete"]);
    let failed = run_folders(&desk.archive())[1].record();
    assert!(
        failed["failure"].as_str().unwrap().contains("division by zero"),
        "{failed}"
    );
    desk.dyno("list").expect(0).shows("failed");
    desk.dyno("show").expect(0).shows("division by zero");
}

#[test]
fn a_campaign_ends_at_a_failure_if_asked_to() {
    let (desk, database) = (Desk::new(), database("e2e_stop"));
    desk.file("broken.toml", BROKEN);
    let ended = desk
        .on(&database.target(), ["broken.toml", "--on-failure", "stop"])
        .expect(2);
    ended.says("division by zero").says("2 of 3 runs are not complete");
    assert_eq!(states(&desk), ["complete", "failed"]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("grid.toml", GRID);
    desk.embedded(&home, "grid.toml --set clients=1,200 --set settings.max_connections=50")
        .expect(1)
        .says("clients = 200")
        .says("needs 207 connections")
        .says("set max_connections to at least");
    desk.embedded(&home, "grid.toml --set settings.no_such_setting=1")
        .expect(1);
    let database = database("e2e_refused");
    desk.on(&database.target(), ["grid.toml", "--set", "cache=cold"])
        .expect(1)
        .says("is not dyno's own");
    assert_eq!(
        database.value("select count(*) from pg_namespace where nspname = 'dyno_grid'"),
        "0"
    );
    assert!(!desk.archive().exists());
}

#[test]
fn a_setting_that_the_server_refuses_is_named() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("grid.toml", GRID);
    desk.embedded(
        &home,
        "grid.toml --set clients=1 --set full_page_writes=on --set settings.shared_buffers=lots",
    )
    .expect(1)
    .says("shared_buffers");
}

#[test]
fn stages_follow_each_other_and_a_delayed_workload_begins_late() {
    let (desk, database) = (Desk::new(), database("e2e_stages"));
    desk.file(
        "stages.toml",
        "title = \"Stages\"\n[[workload]]\nname = \"early\"\nclients = 4\nscript = \"select 1;\"\n\
         [[workload]]\nname = \"late\"\nstart_delay = \"400ms\"\nscript = \"select 2;\"\n\
         [phases]\nwarmup = \"200ms\"\ninterval = \"100ms\"\n\
         [[stage]]\nname = \"low\"\nlasts = \"400ms\"\nclients = 1\n\
         [[stage]]\nname = \"alone\"\nlasts = \"400ms\"\nworkloads = [\"late\"]\n",
    );
    desk.on(&database.target(), ["stages.toml"]).expect(0);
    let run = run_folders(&desk.archive()).remove(0);
    let transactions = |workload: &str, phase: &str| -> u64 {
        let rows = run.rows("intervals.csv").into_iter();
        let rows = rows.filter(|row| row["workload"] == workload && row["phase"] == phase);
        rows.map(|row| row["transactions"].parse::<u64>().unwrap()).sum()
    };
    assert!(transactions("early", "warmup") > 0 && transactions("early", "low") > 0);
    assert_eq!(transactions("late", "warmup"), 0);
    assert!(transactions("late", "alone") > 0);
    // What was under way when the stage began is counted in it.
    assert!(transactions("early", "alone") <= 4);
    let stages = run.record()["summary"]["stages"].clone();
    assert_eq!(
        (stages[0]["name"].as_str(), stages[1]["name"].as_str()),
        (Some("low"), Some("alone"))
    );
}

#[test]
fn the_locale_may_be_varied_and_is_recorded() {
    let (desk, home) = (Desk::new(), Home::new());
    let script = "select 1 / (upper('é') = 'É')::int;";
    desk.experiment("letters.toml", "clients = 1", script, "300ms");
    // To the ctype C, é is no letter.
    desk.embedded(&home, "letters.toml --set locale=C.UTF-8,C --set plan.order=listed");
    let [usual, ascii] = &run_folders(&desk.archive())[..] else {
        panic!("two runs");
    };
    let ctype = |run: &RunFolder| run.record()["server"]["locale"]["ctype"].clone();
    assert_eq!((ctype(usual), ctype(ascii)), ("C.UTF-8".into(), "C".into()));
    assert!(usual.measured() > 0);
    let campaigns = std::fs::read_dir(desk.archive()).unwrap();
    let campaign = campaigns.flatten().next().unwrap().file_name();
    let shown = desk.dyno(&format!("show {} 1", campaign.to_str().unwrap()));
    shown.shows("UTF8, collate C, ctype C.UTF-8");
    let other = desk.embedded(&home, "letters.toml --set locale=xx_XX.UTF-8").expect(1);
    other.says("use the locale xx_XX.UTF-8");
    let database = database("e2e_locale");
    let refused = desk
        .on(&database.target(), ["letters.toml", "--set", "locale=icu:zh"])
        .expect(1);
    refused.says("locale = \"icu:zh\" is not possible");
}

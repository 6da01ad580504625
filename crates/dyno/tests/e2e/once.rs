//! Work that is bounded by a number of transactions instead of a time, and transactions that take longer than the time.

use crate::support::{Desk, Home, RunFolder, database, run_folders};
use serde_json::Value;

/// The only run of a desk.
fn only_run(desk: &Desk) -> RunFolder {
    let mut runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn summary(run: &RunFolder) -> Value {
    assert_eq!(run.state(), "complete", "{}", run.0.display());
    run.record()["summary"].clone()
}

/// The transactions of a workload in the intervals of a phase.
fn counted(run: &RunFolder, phase: &str, workload: &str) -> u64 {
    let rows = run.rows("intervals.csv").into_iter();
    let rows = rows.filter(|row| row["phase"] == phase && row["workload"] == workload);
    rows.map(|row| row["transactions"].parse::<u64>().unwrap()).sum()
}

/// Loads 60 batches of ten rows from three clients, then consumes them from two, with something that runs beside.
fn load_then_consume(insert: &str, delete: &str) -> String {
    format!(
        "title = \"Load, then consume\"\n[parameters]\nbatch = 10\n\
         [data]\nsetup = \"create table jobs (id int primary key, body char(40))\"\n\
         [[workload]]\nname = \"load\"\nclients = 3\ntransactions = 20\nscript = \'\'\'\n{insert}\n\'\'\'\n\
         [[workload]]\nname = \"consume\"\nclients = 2\ntransactions = 30\nscript = \'\'\'\n{delete}\n\'\'\'\n\
         [[workload]]\nname = \"beside\"\nrate = 50\nscript = \"select count(*) from jobs;\"\n\
         [[stage]]\nname = \"loading\"\nworkloads = [\"load\", \"beside\"]\nuntil = \"done\"\n\
         [[stage]]\nname = \"consuming\"\nworkloads = [\"consume\"]\nuntil = \"done\"\n\
         [phases]\nwarmup = \"300ms\"\ninterval = \"100ms\"\n\
         [[check]]\nname = \"none-left\"\nsql = \"select count(*) from jobs\"\nexpect = 0\n"
    )
}

/// Fails unless everything was loaded in the first stage and consumed in the second.
fn assert_loaded_then_consumed(run: &RunFolder) {
    let summary = summary(run);
    for (phase, load, consume) in [("warmup", 0, 0), ("loading", 60, 0), ("consuming", 0, 60)] {
        assert_eq!(
            (counted(run, phase, "load"), counted(run, phase, "consume")),
            (load, consume),
            "{phase}"
        );
    }
    assert!(counted(run, "warmup", "beside") > 0 && counted(run, "loading", "beside") > 0);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    for stage in 0..2 {
        let (stage, workload) = (&summary["stages"][stage], &summary["workloads"][stage]);
        let lasted_s = number(&stage["end_s"]) - number(&stage["start_s"]);
        let took_s = number(&workload["completion"]["took_s"]);
        // The last reply ends the stage.
        assert!(
            lasted_s >= 0.2 && (lasted_s - took_s).abs() < 0.1,
            "{lasted_s} s, {took_s} s"
        );
        assert!((number(&workload["tps"]) - 60.0 / took_s).abs() < 0.01, "{workload}");
        assert_eq!(workload["unfinished"], 0);
    }
    assert_eq!(summary["workloads"][2]["completion"], Value::Null);
    let start_s = number(&summary["stages"][1]["start_s"]);
    assert_eq!(start_s, number(&summary["stages"][0]["end_s"]));
    for phase in run.record()["phases"].as_array().unwrap().iter().skip(1) {
        assert_eq!(phase["planned_s"], Value::Null, "{phase}");
    }
}

#[test]
fn batches_are_loaded_and_then_consumed() {
    let (desk, database) = (Desk::new(), database("e2e_once_stages"));
    let insert = "\\set first random(1, 100000000)\n\
                  insert into jobs select :first + n, 'x' from generate_series(1, :batch) n, pg_sleep(0.01)\n\
                  on conflict do nothing;";
    let delete = "delete from jobs where id in (select id from jobs limit :batch for update skip locked);\n\
                  select pg_sleep(0.01);";
    desk.file("batches.toml", &load_then_consume(insert, delete));
    let shown = desk.on(&database.target(), ["batches.toml", "--dry-run"]).expect(0);
    shown
        .shows("20 transactions per client")
        .shows("until all transactions are done");
    let ended = desk.on(&database.target(), ["batches.toml"]).expect(0);
    ended.shows("loading").shows("consuming");
    assert_loaded_then_consumed(&only_run(&desk));
}

#[test]
fn batches_are_loaded_and_then_consumed_on_mariadb() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let insert = "\\set first random(1, 100000000)\n\
                  insert ignore into jobs select :first + seq, 'x' from seq_1_to_10;\ndo sleep(0.01);";
    let delete = "delete from jobs order by id limit :batch;\ndo sleep(0.01);";
    desk.file("batches.toml", &load_then_consume(insert, delete));
    desk.embedded(&home, "batches.toml --target embedded:mariadb").expect(0);
    assert_loaded_then_consumed(&only_run(&desk));
}

#[test]
fn a_query_that_is_executed_once_has_its_time_as_result() {
    let (desk, database) = (Desk::new(), database("e2e_once_query"));
    desk.file(
        "query.toml",
        "title = \"A long query\"\n[parameters]\nseconds = 1\n\
         [[workload]]\nname = \"query\"\ntransactions = 1\nscript = \"select pg_sleep(:seconds);\"\n",
    );
    let ended = desk.on(&database.target(), ["query.toml"]).expect(0);
    ended
        .shows("query: 1 transaction in ")
        .shows("1 transaction per client");
    let run = only_run(&desk);
    let summary = summary(&run);
    let query = &summary["workloads"][0];
    let took_s = query["completion"]["took_s"].as_f64().unwrap();
    assert!(took_s >= 1.0, "{took_s}");
    assert!((query["tps"].as_f64().unwrap() * took_s - 1.0).abs() < 1e-6, "{query}");
    let latency_s = query["latency"]["p50_us"].as_f64().unwrap() / 1e6;
    assert!((latency_s - took_s).abs() < 0.05, "{latency_s} of {took_s}");
    assert!(run.rows("intervals.csv").iter().all(|row| row["phase"] == "measure"));
}

#[test]
fn a_query_that_is_longer_than_the_measuring_time_is_no_zero() {
    let (desk, database) = (Desk::new(), database("e2e_once_longer"));
    let phases = "[phases]\nwarmup = \"100ms\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n";
    desk.file(
        "longer.toml",
        &format!(
            "title = \"Longer\"\n[parameters]\nseconds = 1\n\
             [[workload]]\nname = \"query\"\nclients = 2\nscript = \"select pg_sleep(:seconds);\"\n{phases}"
        ),
    );
    let ended = desk.on(&database.target(), ["longer.toml"]).expect(0);
    ended
        .shows("2 transactions were finished after the time measured")
        .shows("No transaction of \"query\" was finished in the time measured.");
    let summary = summary(&only_run(&desk));
    let query = &summary["workloads"][0];
    assert_eq!((&query["transactions"], &query["unfinished"]), (&2.into(), &0.into()));
    assert_eq!(query["completion"]["after_end"], 2);
    assert!(query["latency"]["min_us"].as_f64().unwrap() >= 1e6, "{query}");
    let tps = query["tps"].as_f64().unwrap();
    assert!((1.0..=2.0).contains(&tps), "{tps}");
    assert!(
        !summary["warnings"].to_string().contains("no_transactions"),
        "{summary}"
    );
}

#[test]
fn what_fails_after_the_measuring_time_is_an_error() {
    let (desk, database) = (Desk::new(), database("e2e_once_fails"));
    desk.file(
        "fails.toml",
        "title = \"Fails\"\n[[workload]]\nname = \"query\"\ntransactions = 1\n\
         script = \"select pg_sleep(1); select 1/0;\"\n[phases]\nmeasure = \"300ms\"\ninterval = \"100ms\"\n",
    );
    desk.on(&database.target(), ["fails.toml"]).expect(2);
    let query = only_run(&desk).record()["summary"]["workloads"][0].clone();
    assert_eq!(
        (&query["transactions"], &query["errors"]),
        (&0.into(), &1.into()),
        "{query}"
    );
    assert_eq!(query["errors_by_state"][0]["sqlstate"], "22012", "{query}");
}

#[test]
fn what_is_not_waited_for_takes_longer_than_that() {
    let (desk, database) = (Desk::new(), database("e2e_once_given_up"));
    desk.file(
        "given-up.toml",
        "title = \"Given up\"\n[parameters]\nseconds = 100\n\
         [[workload]]\nname = \"query\"\nclients = 2\ntransactions = 1\nscript = \"select pg_sleep(:seconds);\"\n\
         [phases]\nmeasure = \"300ms\"\ngrace = \"200ms\"\ninterval = \"100ms\"\n[factors]\nseconds = [0, 100]\n",
    );
    let ended = desk.on(&database.target(), ["given-up.toml"]).expect(0);
    ended.shows("longer than ");
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    let workloads: Vec<Value> = runs.iter().map(|run| summary(run)["workloads"][0].clone()).collect();
    let given_up: Vec<&Value> = workloads.iter().filter(|query| query["transactions"] == 0).collect();
    assert_eq!(given_up.len(), 1);
    let longer_than_s = given_up[0]["completion"]["longer_than_s"].as_f64().unwrap();
    assert!((0.5..3.0).contains(&longer_than_s), "{longer_than_s}");
    assert_eq!(given_up[0]["unfinished"], 2);
    // What is cancelled does not go on.
    assert_eq!(
        database.value(
            "select count(*) from pg_stat_activity where query like '%pg_sleep%100%' and pid <> pg_backend_pid()"
        ),
        "0"
    );
    let campaign = runs[0].0.parent().unwrap();
    let report = desk
        .dyno(&format!("report {} --format md --output -", campaign.display()))
        .expect(0);
    report.shows("longer than ");
}

#[test]
fn what_contradicts_a_number_of_transactions_is_refused() {
    let desk = Desk::new();
    let workload = "title = \"t\"\n[[workload]]\nname = \"a\"\ntransactions = 2\nscript = \"select 1;\"\n";
    let beside = "[[workload]]\nname = \"b\"\nscript = \"select 1;\"\n";
    let stage = |name: &str, more: &str| format!("[[stage]]\nname = \"{name}\"\nuntil = \"done\"\n{more}");
    for (rest, expected) in [
        ("[phases]\nwarmup = \"1s\"\n".to_owned(), "nothing would run in it"),
        (
            "[load]\nhosts = [\"local\", \"local\"]\n".to_owned(),
            "load hosts cannot end together",
        ),
        (
            format!("{beside}{}", stage("s", "workloads = [\"b\"]\n")),
            "none of its workloads has a number of `transactions`",
        ),
        (
            format!("{}{}", stage("s", ""), stage("t", "")),
            "its workloads are done before",
        ),
        (
            format!("{beside}{}", stage("s", "rate = { from = 1, to = 9 }\n")),
            "needs a stage whose length is known",
        ),
        (
            format!("clients = 4\n{beside}clients = 8\n{}", stage("s", "clients = 2\n")),
            "the others rest",
        ),
        (
            "[[stage]]\nname = \"s\"\nuntil = \"noon\"\n".to_owned(),
            "`until` cannot be `noon`",
        ),
    ] {
        desk.file("refused.toml", &format!("{workload}{rest}"));
        let ended = desk.dyno("run refused.toml --dry-run");
        assert_ne!(ended.code, Some(0), "{rest}");
        ended.says(expected);
    }
    desk.file("refused.toml", &workload.replace("= 2", "= 0"));
    desk.dyno("run refused.toml --dry-run")
        .says("expected a whole number from 1 on");
    desk.file("refused.toml", workload);
    desk.dyno("versus refused.toml --set clients=1,2")
        .says("a workload ends after a number of transactions");
}

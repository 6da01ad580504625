//! Runs that go wrong part-way: what was measured is kept, marked incomplete, and the reason is said.

use crate::support::{Desk, database, run_folders};

/// Runs an experiment that fails and gives what it said, with what the archive then holds.
fn failing(desk: &Desk, target: &str, file: &str) -> String {
    let ended = desk.on(target, [file]).expect(2);
    let runs = run_folders(&desk.archive());
    let run = runs.last().unwrap();
    assert_eq!(run.state(), "incomplete");
    assert_eq!(run.measured(), run.summed_up());
    ended.shows("(incomplete)").stderr
}

/// The lines from "error:" on.
fn error(stderr: &str) -> String {
    let at = stderr
        .find("error:")
        .unwrap_or_else(|| panic!("no error in:\n{stderr}"));
    stderr[at..].to_owned()
}

#[test]
fn scripts_that_cannot_be_evaluated() {
    let (desk, database) = (Desk::new(), database("e2e_evaluate"));
    let divide = "select 1;\n\\set a random(0, 3)\n\\set b 10 / :a\nselect :b;";
    desk.experiment("divide.toml", "", divide, "60s");
    desk.experiment(
        "overflow.toml",
        "",
        "select 1;\n\\set a 9223372036854775807 + random(0, 1)\nselect :a;",
        "60s",
    );
    desk.experiment("open.toml", "", "begin;\nselect 1;", "60s");
    let texts =
        ["divide.toml", "overflow.toml", "open.toml"].map(|file| error(&failing(&desk, &database.target(), file)));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_table_that_is_not_there() {
    let (desk, database) = (Desk::new(), database("e2e_missing"));
    for protocol in ["simple", "extended"] {
        let extra = format!("protocol = \"{protocol}\"");
        desk.experiment(&format!("{protocol}.toml"), &extra, "select * from nosuch;", "60s");
    }
    let simple = error(&failing(&desk, &database.target(), "simple.toml"));
    let extended = error(&failing(&desk, &database.target(), "extended.toml"));
    // A prepared statement is refused before anything is measured, so nothing is kept.
    let count = run_folders(&desk.archive()).len();
    desk.experiment(
        "prepared.toml",
        "protocol = \"prepared\"",
        "select * from nosuch;",
        "60s",
    );
    let prepared = desk.on(&database.target(), ["prepared.toml"]).expect(1).stderr;
    assert_eq!(run_folders(&desk.archive()).len(), count);
    insta::assert_snapshot!([simple, extended, error(&prepared)].join("\n"));
}

#[test]
fn a_run_that_ends_by_its_own_fault_is_one_of_the_campaign() {
    let (desk, database) = (Desk::new(), database("e2e_own_fault"));
    desk.file(
        "divide.toml",
        "title = \"x\"\n[parameters]\ndivisor = 1\n[[workload]]\nscript = '''\n\\set b 10 / :divisor\nselect :b;\n'''\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n\
         [factors]\ndivisor = [0, 1, 2]\n[plan]\norder = \"listed\"\n",
    );
    let states = || {
        let runs = run_folders(&desk.archive());
        runs.iter().map(|run| run.state()).collect::<Vec<_>>()
    };
    let incomplete = "1 of 3 runs are not complete. To measure them: dyno run --resume";
    desk.on(&database.target(), ["divide.toml"]).expect(2).says(incomplete);
    assert_eq!(states(), ["incomplete", "complete", "complete"]);
    // The others that are missing are made, though this one fails again.
    std::fs::remove_dir_all(&run_folders(&desk.archive())[1].0).unwrap();
    desk.on(&database.target(), ["--resume"]).expect(2).says(incomplete);
    assert_eq!(states(), ["incomplete", "complete", "complete"]);
    std::fs::remove_dir_all(run_folders(&desk.archive())[0].0.parent().unwrap()).unwrap();
    desk.on(&database.target(), ["divide.toml", "--on-failure", "stop"])
        .expect(2)
        .says("division by zero")
        .says("3 of 3 runs are not complete");
    assert_eq!(states(), ["incomplete"]);
}

#[test]
fn data_that_cannot_be_made() {
    let (desk, database) = (Desk::new(), database("e2e_data"));
    let file = |name: &str, data: &str| {
        desk.file(
            name,
            &format!(
                "title = \"x\"\n[data]\n{data}\n[[workload]]\nscript = \"select 1;\"\n[phases]\nmeasure = \"1s\"\n"
            ),
        );
    };
    file(
        "setup.toml",
        "setup = '''\ncreate table t (id int);\ncreate tabel u (id int);\n'''",
    );
    file(
        "fill.toml",
        "setup = \"create table t (id int)\"\nfill.t = { rows = 10, columns = { id = \"1 / (row - 5)\" } }",
    );
    file(
        "finish.toml",
        "setup = \"create table t (id int)\"\nfinish = \"alter table t add primary key (none)\"",
    );
    let texts = ["setup.toml", "fill.toml", "finish.toml"]
        .map(|file| error(&desk.on(&database.target(), [file]).expect(1).stderr));
    insta::assert_snapshot!(texts.join("\n"));
    assert_eq!(run_folders(&desk.archive()).len(), 0);
    // What is half made is not taken for whole once the file is right.
    file(
        "fill.toml",
        "setup = \"create table t (id int)\"\nfill.t = { rows = 10, columns = { id = \"row\" } }",
    );
    desk.on(&database.target(), ["fill.toml"]).expect(0);
    assert_eq!(database.value("select count(*) from dyno_fill.t"), "10");
}

#[test]
fn transactions_that_fail_are_counted_and_shown() {
    let (desk, database) = (Desk::new(), database("e2e_errors"));
    desk.experiment("errors.toml", "", "\\set a random(0, 1)\nselect 1 / :a::int;", "300ms");
    desk.on(&database.target(), ["errors.toml"])
        .expect(2)
        .shows("22012 ERROR: division by zero")
        .shows("This run does not count: ")
        .shows("(faulty)")
        .says("error: the run does not count: ")
        .says("and a run counts only with at most 1 %; most often 22012");
    desk.on(&database.target(), ["errors.toml", "--max-errors", "100%"])
        .expect(0)
        .shows("(complete)");
    let runs = run_folders(&desk.archive());
    assert_eq!(
        (runs[0].state().as_str(), runs[1].state().as_str()),
        ("faulty", "complete")
    );
    let workload = &runs[0].record()["summary"]["workloads"][0];
    assert!(workload["errors"].as_u64().unwrap() > 0 && workload["transactions"].as_u64().unwrap() > 0);
    let events = runs[0].events();
    let errors: u64 = events.iter().filter_map(|event| event["count"].as_u64()).sum();
    assert_eq!(Some(errors), workload["errors"].as_u64());
}

#[test]
fn a_run_with_too_many_errors_is_kept_and_does_not_count() {
    let (desk, database) = (Desk::new(), database("e2e_faulty"));
    desk.file(
        "half.toml",
        "title = \"Half of the cells fail\"\n[parameters]\nfails = 0\n[[workload]]\nscript = \"select 1 / (1 - \
         :fails);\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n\
         [factors]\nfails = [0, 1]\n[plan]\norder = \"listed\"\nmax_errors = \"2.5%\"\n",
    );
    let target = database.target();
    desk.on(&target, ["half.toml"])
        .expect(2)
        .says("1 of 2 runs do not count: too many of their transactions failed or clients were lost")
        .shows("002-fails=1-rep1 does not count: 100.0 % of the transactions of \"main\" ended with an error");
    let runs = run_folders(&desk.archive());
    let records: Vec<_> = runs.iter().map(|run| run.record()).collect();
    assert_eq!(
        (runs[0].state().as_str(), runs[1].state().as_str()),
        ("complete", "faulty")
    );
    assert_eq!(records[1]["max_errors_percent"], 2.5);
    assert!(records[1]["summary"]["workloads"][0]["errors"].as_u64().unwrap() > 0);
    // It is over: nothing is left to be made, unless its folder is taken away.
    let campaign = runs[0].0.parent().unwrap().to_owned();
    let name = campaign.file_name().unwrap().to_str().unwrap().to_owned();
    desk.on(&target, ["--resume"]).expect(1).says("no unfinished campaign");
    desk.on(&target, ["--resume", &name])
        .expect(2)
        .says("1 of 2 runs do not count");
    let again: Vec<_> = run_folders(&desk.archive()).iter().map(|run| run.record()).collect();
    assert_eq!(again, records);
    desk.dyno("list").expect(0).shows("faulty");
    desk.dyno("show").expect(0).shows("does not count: 100.0 %");
    // An earlier dyno called it complete; it is judged by its errors all the same.
    let mut earlier = records[1].clone();
    earlier["state"] = "complete".into();
    earlier.as_object_mut().unwrap().remove("max_errors_percent");
    earlier.as_object_mut().unwrap().remove("failure");
    std::fs::write(runs[1].0.join("run.json"), earlier.to_string()).unwrap();
    desk.dyno("show")
        .expect(0)
        .shows("and a run counts only with at most 1 %");
    std::fs::remove_dir_all(&runs[1].0).unwrap();
    desk.on(&target, ["--resume"]).expect(2).says("Run 2 of 2");
}

#[test]
fn a_run_that_lost_clients_says_so_and_does_not_count() {
    let (desk, database) = (Desk::new(), database("e2e_shrunk"));
    let target = database.target();
    desk.file(
        "shrunk.toml",
        "title = \"x\"\n[[workload]]\nclients = 4\nscript = \"select 1;\"\n\
         [phases]\nwarmup = \"2500ms\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n",
    );
    let lose_three = |words: &[&str], code: i32| {
        let mut running = crate::support::Running::start(desk.command_on(&target, words));
        running.until(" tps ");
        database.execute(
            "select pg_terminate_backend(pid) from (select pid from pg_stat_activity
              where datname = current_database() and query like 'select 1%' and pid <> pg_backend_pid() limit 3)
                clients",
        );
        running.end().expect(code)
    };
    // Lost in the warm-up: no figure shows it.
    lose_three(&["shrunk.toml"], 2)
        .shows("3 of 4 clients of \"main\" ended early")
        .shows("(faulty)")
        .says(
            "the run does not count: 3 of 4 clients of \"main\" ended early, and a run counts only with at \
               most 1 %",
        );
    desk.dyno("list").expect(0).shows("faulty");
    desk.dyno("show").expect(0).shows("administrator");
    lose_three(&["shrunk.toml", "--max-errors", "100%"], 0)
        .shows("3 of 4 clients of \"main\" ended early")
        .shows("(complete)");
    // Of a run that is killed it is read from the events.
    let run = run_folders(&desk.archive()).remove(1);
    let mut killed = run.record();
    killed["state"] = "running".into();
    killed["summary"] = serde_json::Value::Null;
    std::fs::write(run.0.join("run.json"), killed.to_string()).unwrap();
    desk.dyno("show")
        .expect(0)
        .shows("3 of 4 clients of \"main\" ended early");
}

#[test]
fn connections_that_are_cut() {
    let (desk, database) = (Desk::new(), database("e2e_cut"));
    desk.experiment("cut.toml", "", "select 1;", "60s");
    let mut running = crate::support::Running::start(desk.command_on(&database.target(), ["cut.toml"]));
    running.until(" tps ");
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> \
         pg_backend_pid()",
    );
    let ended = running.end().expect(2).says("all connections were lost");
    ended.shows("(incomplete)");
    let runs = run_folders(&desk.archive());
    assert_eq!(runs[0].state(), "incomplete");
    assert!(runs[0].summed_up() > 0);
    assert_eq!(runs[0].measured(), runs[0].summed_up());
}

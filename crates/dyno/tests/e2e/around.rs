//! What is done around a load: checks, rows that are kept, how long the data took, and what was published.

use crate::support::{Desk, Home, database, run_folders};

/// An experiment with a check that holds, one that `breaks` or not, and two outputs.
fn experiment(desk: &Desk, expected: &str) {
    let text = format!(
        "title = \"Around\"\nsource = \"a study\"\npublished_host = \"24 cores\"\n[parameters]\nrows = 2000\n\
         [data]\nsetup = \"create table tbl (id int primary key, x int)\"\n\
         finish = \"create index tbl_x on tbl (x)\"\n\
         [data.fill.tbl]\nrows = \"{{rows}}\"\ngenerate = {{ id = \"row\", x = \"row\" }}\n\
         [[workload]]\nname = \"one\"\nscript = \"select x from tbl where id = 1;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n\
         [[check]]\nname = \"all\"\nwhen = \"before\"\nsql = \"select count(*), max(id) from tbl\"\n\
         expect = [[\"{{rows}}\", 2000]]\n\
         [[check]]\nname = \"few\"\nsql = \"select count(*) from tbl where id <= 3;\"\nexpect = {expected}\n\
         [[output]]\nname = \"top\"\nsql = \"select id, x, null as gone from tbl order by id desc limit 3\"\n\
         [[output]]\nname = \"broken\"\nsql = \"select pg_terminate_backend(pg_backend_pid())\"\n\
         [[output]]\nname = \"written\"\nsql = \"delete from tbl\"\n\
         [[published]]\nmeasure = \"tps\"\nvalue = 60_217\nnote = \"8 h\"\n[postgres]\n\
         [mysql.output.broken]\nsql = \"kill connection_id()\"\n"
    );
    desk.file("around.toml", &text);
}

/// A run that passes its checks, with everything that is said of it.
fn assert_around(desk: &Desk, home: &Home, target: &str) {
    experiment(desk, "3");
    let words = format!("around.toml --target {target}");
    let ended = desk.embedded(home, &words).expect(0);
    for words in ["top, after the load", "60,217", "(2000, 2000)", "24 cores"] {
        assert!(ended.stdout.contains(words), "no {words} in {}", ended.stdout);
    }
    let runs = run_folders(&desk.archive());
    let run = runs.last().unwrap();
    let record = run.record();
    assert_eq!(record["state"], "complete");
    assert_eq!(record["checks"][0]["found"], "(2000, 2000)", "{record:#}");
    assert_eq!(record["checks"][1]["passed"], true, "{record:#}");
    assert_eq!(
        run.read("output-top.csv"),
        "id,x,gone\n2000,2000,\n1999,1999,\n1998,1998,\n"
    );
    // What only reads cannot delete.
    assert_eq!(record["outputs"][2]["file"], serde_json::Value::Null, "{record:#}");
    let refused = record["outputs"][2]["error"].as_str().unwrap().to_lowercase();
    assert!(refused.contains("transaction"), "{refused}");
    let steps = record["preparation"]["steps"].as_array().unwrap();
    let load = steps.iter().find(|step| step["table"] == "tbl").unwrap();
    assert_eq!(load["rows"], 2000, "{record:#}");
    assert!(load["bytes"].as_u64().unwrap() > 0, "{record:#}");
    for step in ["Creating the schema", "Finishing the schema", "Settling the database"] {
        assert!(steps.iter().any(|of| of["step"] == step), "no {step} in {record:#}");
    }
    let shown = desk.dyno("show").expect(0);
    let paper = desk.dyno("report --format md --output -").expect(0);
    for said in [&shown.stdout, &paper.stdout] {
        for words in [
            "Loading tbl",
            "top, after the load",
            "60,217",
            "(2000, 2000)",
            "24 cores",
        ] {
            assert!(said.contains(words), "no {words} in {said}");
        }
    }
    let csv = desk.dyno("export").expect(0).stdout;
    assert!(csv.contains("output-top.csv") && csv.contains(",load_rows,"), "{csv}");
    let cells = desk.dyno("report --format csv --output -").expect(0).stdout;
    assert!(cells.contains("published_tps_TPS"), "{cells}");
}

/// A run that does not pass does not count, but is kept.
fn assert_faulty(desk: &Desk, home: &Home, target: &str) {
    experiment(desk, "{ at_least = 4 }");
    let words = format!("around.toml --target {target} --repeat 2");
    desk.embedded(home, &words)
        .expect(2)
        .says("2 of 2 runs do not count")
        .shows("the check \"few\" after the load failed: expected at least 4, found 3");
    let runs = run_folders(&desk.archive());
    let [first, second] = &runs[runs.len() - 2..] else {
        panic!("two runs")
    };
    assert_eq!(
        (first.state(), second.state()),
        ("faulty".to_owned(), "faulty".to_owned())
    );
    assert_eq!(first.measured(), first.summed_up());
}

#[test]
fn checks_outputs_and_steps_on_postgres() {
    let (desk, home) = (Desk::new(), Home::new());
    assert_around(&desk, &home, "embedded");
    assert_faulty(&desk, &home, "embedded");
    // The template of the first campaign was used again.
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.last().unwrap().record()["preparation"]["found"], true);
}

#[test]
fn checks_outputs_and_steps_on_mariadb() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    assert_around(&desk, &home, "embedded:mariadb");
    assert_faulty(&desk, &home, "embedded:mariadb");
}

#[test]
fn a_check_that_cannot_be_asked_says_why_and_who_loaded_is_known() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file(
        "asked.toml",
        "title = \"x\"\n[data]\nsetup = \"create table t (id int)\"\n[[workload]]\nscript = \"select 1;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"200ms\"\ninterval = \"100ms\"\n\
         [[check]]\nname = \"gone\"\nsql = \"select count(*) from nowhere\"\nexpect = 0\n",
    );
    desk.embedded(&home, "asked.toml --repeat 2").expect(2);
    let runs = run_folders(&desk.archive());
    let record = runs[0].record();
    let failure = record["failure"].as_str().unwrap();
    assert!(
        failure.contains("could not be asked") && failure.contains("\"nowhere\" does not exist"),
        "{failure}"
    );
    assert_eq!(runs[1].record()["preparation"]["loaded_by"], "001-rep1");
}

#[test]
fn no_answer_shows_the_password_of_a_server() {
    const CANARY: &str = "An5wer-0f-th3-Mine";
    let (desk, database) = (Desk::new(), database("e2e_answers"));
    database.role("e2e_answers", CANARY);
    // The statement has it in no place.
    let (begin, end) = CANARY.split_at(6);
    desk.file(
        "told.toml",
        &format!(
            "title = \"x\"\n[[workload]]\nscript = \"select 1;\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"200ms\"\n\
             interval = \"100ms\"\n[[check]]\nname = \"told\"\nsql = \"select '{begin}' || '{end}'\"\nexpect = \"x\"\n\
             [[check]]\nname = \"failed\"\nsql = \"select ('{begin}' || '{end}')::int\"\nexpect = \"x\"\n\
             [[output]]\nname = \"told\"\nsql = \"select array['password=' || '{begin}' || '{end}']\"\n"
        ),
    );
    let (port, name) = (database.port(), database.name());
    let target = format!("postgres://e2e_answers:{CANARY}@127.0.0.1:{port}/{name}");
    let ended = desk.on(&target, ["told.toml"]).expect(2).says("expected x, found ***");
    let runs = run_folders(&desk.archive());
    let run = runs.last().unwrap();
    assert_eq!(run.read("output-told.csv"), "array\n{password=***}\n");
    for said in [ended.stdout.clone(), ended.stderr.clone(), run.read("run.json")] {
        assert!(said.contains("***") && !said.contains(CANARY), "{said}");
    }
}

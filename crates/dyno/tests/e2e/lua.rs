//! Workloads in sysbench's Lua: in experiments with all that the laboratory does, and runs of `dyno sysbench` that are
//! archived.

use crate::support::{Desk, Home, RunFolder, run_folders};
use std::fs;

/// One of dyno's own workloads, whose `prepare` makes the data.
const OWN: &str = r#"
title = "Own"
[parameters]
rows = 200
[data]
lua = "oltp_read_write"
options = { tables = 2, table_size = "{rows}" }
threads = 2
[[workload]]
name = "mixed"
clients = 4
lua = "oltp_read_write"
options = { tables = 2, table-size = "{rows}", range_selects = false }
[[workload]]
name = "points"
clients = 2
lua = "oltp_point_select"
options = { tables = 2, table_size = "{rows}" }
[phases]
warmup = "500ms"
measure = "2s"
"#;

/// A script of a user's own, with a module and an option that decides what it asks.
const MINE: &str = r#"
local words = require("words")
sysbench.cmdline.options = {
  width = {"what is asked for", 1},
  loud = {"whether it prints", false},
}
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  if sysbench.opt.loud then print("heard") end
  con:query("SELECT '" .. words.of(sysbench.opt.width) .. "' AS answer" .. sysbench.opt.width)
end
"#;

const WORDS: &str = "return { of = function(width) return string.rep('x', width) end }";

fn mine(desk: &Desk, rest: &str) {
    desk.file("mine.lua", MINE);
    desk.file("words.lua", WORDS);
    let text = format!(
        "title = \"Mine\"\n[[workload]]\nname = \"one\"\nclients = 4\nlua = \"mine.lua\"\n\
         options = {{ width = 3, loud = true }}\n[phases]\nwarmup = \"0s\"\n{rest}"
    );
    desk.file("mine.toml", &text);
}

/// The statements of a workload that were executed, with how often.
fn statements(run: &RunFolder, workload: usize) -> Vec<(String, u64)> {
    let summary = &run.record()["summary"]["workloads"][workload];
    let statements = summary["statement_latencies"].as_array().unwrap();
    let each = statements.iter();
    each.map(|statement| {
        let count = statement["count"].as_u64().unwrap();
        (statement["sql"].as_str().unwrap().to_owned(), count)
    })
    .collect()
}

#[test]
fn dynos_own_workloads_run_side_by_side_on_both_databases() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    desk.file("own.toml", OWN);
    let words = "own.toml --set target=embedded:18,embedded:mariadb --set plan.order=listed";
    let said = desk.embedded(&home, words).expect(0);
    said.says("Preparing the data (oltp_read_write)");
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!(run.state(), "complete", "{}", run.0.display());
        let summary = &run.record()["summary"];
        for workload in summary["workloads"].as_array().unwrap() {
            assert!(workload["transactions"].as_u64() > Some(0), "{workload}");
            assert_eq!(workload["errors"], 0, "{workload}");
        }
        // Both tables are one statement, and the ranges are left out.
        let mixed = statements(run, 0);
        let counted = |sql: &str| mixed.iter().find(|(known, _)| known == sql).map(|(_, count)| *count);
        let points = counted("SELECT c FROM sbtest# WHERE id=?").unwrap_or_else(|| panic!("{mixed:?}"));
        let begins = counted("BEGIN").unwrap_or_else(|| panic!("{mixed:?}"));
        assert!(points >= 9 * begins && begins > 0, "{mixed:?}");
        assert!(!mixed.iter().any(|(sql, _)| sql.contains("BETWEEN")), "{mixed:?}");
        let tables = summary["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 2, "{tables:?}");
        // What was done is all there.
        let workload = &run.campaign()["experiment"]["workloads"][0];
        assert!(workload["script"].as_str().unwrap().contains("function event()"));
        assert!(workload["lua"]["modules"]["oltp_common"].is_string(), "{workload}");
        assert_eq!(workload["lua"]["options"]["table_size"], "200");
    }
    let report = desk.dyno("report --run 2 --format json --output -").expect(0).stdout;
    for words in ["sbtest#", "oltp_point_select", "range_selects"] {
        assert!(report.contains(words), "no {words}");
    }
    home.assert_no_server();
}

#[test]
fn data_of_a_script_is_made_once_and_copied() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("own.toml", OWN);
    desk.embedded(&home, "own.toml --set workload=mixed")
        .expect(0)
        .says("Preparing the data (oltp_read_write)");
    let again = desk.embedded(&home, "own.toml --set workload=mixed").expect(0);
    let again = again.says("Copying the loaded data");
    assert!(!again.stderr.contains("Preparing the data"), "{}", again.stderr);
    // An option of the script makes other data.
    let more = desk.embedded(&home, "own.toml --set workload=points --set options.tables=3");
    more.expect(0).says("Preparing the data (oltp_read_write)");
    let runs = run_folders(&desk.archive());
    let tables = |run: &RunFolder| run.record()["summary"]["tables"].as_array().unwrap().len();
    assert_eq!(runs.iter().map(tables).collect::<Vec<_>>(), [2, 2, 3]);
    assert_eq!(
        runs[2].campaign()["experiment"]["workloads"][0]["lua"]["options"]["tables"],
        "3"
    );
}

/// What a script loads decides what the data is, too, whether it loads it at once or in its command.
#[test]
fn data_is_made_anew_when_a_file_that_its_script_loads_has_changed() {
    let (desk, home) = (Desk::new(), Home::new());
    let rows = |name: &str, rows: u32| desk.file(name, &format!("{} = {rows}\n", name.replace(".lua", "")));
    rows("few.lua", 1);
    rows("more.lua", 2);
    desk.file(
        "fills.lua",
        "dofile('few.lua')\nfunction prepare()\n  dofile \"more.lua\"\n  con = sysbench.sql.driver():connect()\n  \
         con:query('create table t as select generate_series(1, ' .. few + more .. ') as a')\nend\n",
    );
    desk.file(
        "t.toml",
        "title = \"t\"\n[data]\nlua = \"fills.lua\"\n[[workload]]\nscript = \"select count(*) from t;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\n",
    );
    let prepares = |expected: bool| {
        let ended = desk.embedded(&home, "t.toml").expect(0);
        let said = ended.stderr.contains("Preparing the data (fills.lua)");
        assert_eq!(said, expected, "{}", ended.stderr);
    };
    prepares(true);
    prepares(false);
    rows("few.lua", 3);
    prepares(true);
    rows("more.lua", 4);
    prepares(true);
    prepares(false);
    let runs = run_folders(&desk.archive());
    let files = |run: &RunFolder| run.campaign()["experiment"]["data"]["prepare"]["lua"]["files"].clone();
    assert_eq!(files(&runs[0])["few.lua"], "few = 1\n");
    assert_eq!(files(&runs[4])["more.lua"], "more = 4\n");
}

/// Nobody sees what an option is that is a secret by its name.
#[test]
fn secret_options_leave_by_no_way() {
    const CANARY: &str = "Lu4-C4n4ry";
    let (desk, home) = (Desk::new(), Home::new());
    desk.file(
        "keeps.lua",
        &format!(
            "sysbench.cmdline.options = {{ api_token = {{'t', ''}}, tables = {{'n', 1}} }}\n\
             function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() assert(sysbench.opt.api_token:reverse() == '{}') con:query('select 1') end\n",
            CANARY.chars().rev().collect::<String>()
        ),
    );
    let file = |options: &str| {
        let text = format!("title = \"t\"\n[[workload]]\nlua = \"keeps.lua\"\noptions = {{ {options} }}\n");
        desk.file(
            "t.toml",
            &format!("{text}[phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\n"),
        );
    };
    let clean = |ended: &crate::support::Ended| {
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains(CANARY), "{said}");
    };
    // The line is shown that another option is wrong in.
    file(&format!("api_token = \"{CANARY}\", tables = \"many\""));
    let refused = desk.dyno("run t.toml --dry-run").expect(1);
    clean(&refused);
    assert!(refused.stderr.contains("api_token = ***"), "{}", refused.stderr);
    file(&format!("api_token = \"{CANARY}\""));
    clean(&desk.dyno("run t.toml --dry-run").expect(0).shows("api_token = ***"));
    clean(&desk.embedded(&home, "t.toml --repeat 2").expect(0));
    for words in [
        "show",
        "list",
        "report --format md --output -",
        "report --format json --output -",
    ] {
        clean(&desk.dyno(words).expect(0));
    }
    // What is not in the archive cannot be gone on with.
    let runs = run_folders(&desk.archive());
    assert!(runs.iter().all(|run| run.state() == "complete"));
    fs::remove_dir_all(&runs[1].0).unwrap();
    desk.embedded(&home, "--resume")
        .expect(1)
        .says("archived without the secrets in api_token");
    // The command is archived, too.
    file("tables = 1");
    clean(
        &desk
            .embedded(&home, &format!("t.toml --set options.api_token={CANARY}"))
            .expect(0),
    );
    let two = format!("run t.toml --dry-run --set options.api_token={CANARY},b");
    let refused = desk
        .dyno(&two)
        .expect(1)
        .says("the levels of `options.api_token` are secrets");
    clean(&refused);
    fs::remove_file(desk.path().join("t.toml")).unwrap();
    desk.assert_nowhere(CANARY);
}

#[test]
fn options_are_factors_and_loops_are_open() {
    let (desk, home) = (Desk::new(), Home::new());
    let rest = "[[stage]]\nname = \"few\"\nlasts = \"1s\"\nclients = 1\n[[stage]]\nname = \"all\"\nlasts = \"1s\"\n\
                [factors]\n\"options.width\" = [1, 20]\n";
    mine(&desk, rest);
    let said = desk.embedded(&home, "mine.toml --set rate=200 --set plan.order=listed");
    let said = said.expect(0);
    // What scripts print belongs nowhere.
    assert!(!said.stdout.contains("heard"), "{}", said.stdout);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for (run, width) in runs.iter().zip(["1", "20"]) {
        assert_eq!(run.state(), "complete");
        assert_eq!(run.record()["cell"]["options.width"], width);
        let workload = &run.record()["summary"]["workloads"][0];
        assert!(workload["lag"]["mean_us"].is_number(), "{workload}");
        let transactions = workload["transactions"].as_u64().unwrap();
        assert!((200..600).contains(&transactions), "{transactions}");
        let stages = run.record()["summary"]["stages"].clone();
        assert_eq!(stages.as_array().map(Vec::len), Some(2), "{stages}");
        let asked = statements(run, 0);
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0].0, "SELECT ? AS answer#");
    }
}

/// A campaign that goes on executes the texts that it began with.
#[test]
fn a_campaign_goes_on_without_the_files_that_it_began_with() {
    let (desk, home) = (Desk::new(), Home::new());
    mine(&desk, "measure = \"1s\"\n");
    desk.embedded(&home, "mine.toml --repeat 2").expect(0);
    let runs = run_folders(&desk.archive());
    fs::remove_dir_all(&runs[1].0).unwrap();
    for file in ["mine.lua", "words.lua", "mine.toml"] {
        fs::remove_file(desk.path().join(file)).unwrap();
    }
    desk.embedded(&home, "--resume").expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.state() == "complete" && run.summed_up() > 0));
}

#[test]
fn what_is_wrong_is_said_before_anything_begins() {
    let desk = Desk::new();
    desk.file("broken.lua", "function event()\n  local x = = 1\nend\n");
    desk.file("eventless.lua", "function prepare() end\n");
    desk.file("fails.lua", "error('not today')\n");
    desk.file("reads.lua", "io.open('x')\nfunction event() end\n");
    let said = |rest: &str| {
        desk.file("t.toml", &format!("title = \"t\"\n{rest}"));
        let ended = desk.dyno("run t.toml --dry-run").expect(1);
        assert!(!desk.archive().exists());
        ended.stderr
    };
    let workload = |keys: &str| said(&format!("[[workload]]\n{keys}\n"));
    for (keys, expected) in [
        (
            "lua = \"nosuch.lua\"",
            "cannot read nosuch.lua: No such file or directory",
        ),
        (
            "lua = \"oltp_read\"",
            "dyno has no workload `oltp_read`; did you mean `oltp_read_only`?",
        ),
        ("lua = \"broken.lua\"", "broken.lua:2: unexpected symbol near '='"),
        ("lua = \"fails.lua\"", "not today"),
        ("lua = \"eventless.lua\"", "eventless.lua has no function event()"),
        ("lua = \"reads.lua\"\nsafe_lua = true", "attempt to index global 'io'"),
        (
            "lua = \"oltp_read_only\"\noptions = { tabels = 3 }",
            "oltp_read_only has no option `tabels`; did you mean `tables`?",
        ),
        (
            "lua = \"oltp_read_only\"\noptions = { tables = \"many\" }",
            "expected a number",
        ),
        (
            "lua = \"oltp_read_only\"\noptions = { rand_type = \"fair\" }",
            "expected uniform, gaussian, special, pareto, zipfian",
        ),
        (
            "lua = \"oltp_read_only\"\noptions = { tables = \"{nosuch}\" }",
            "there is no parameter `{nosuch}`",
        ),
        (
            "lua = \"oltp_read_only\"\noptions = { tables = -3 }",
            "`tables` cannot be `-3`",
        ),
        (
            "lua = \"oltp_read_only\"\noptions = { tables = 1.5 }",
            "expected a whole number from 1 to",
        ),
        (
            "lua = \"oltp_read_only\"\noptions = { skip-trx = true, skip_trx = false }",
            "`skip_trx` is there twice",
        ),
        ("lua = \"parallel_prepare\"", "parallel_prepare is no workload"),
        (
            "script = \"select 1;\"\noptions = { tables = 3 }",
            "`options` is of no use here",
        ),
        (
            "script = \"select 1;\"\nlua = \"oltp_read_only\"",
            "has both `lua` and a `script`",
        ),
    ] {
        let text = workload(keys);
        assert!(text.contains(expected), "{keys}\n{text}");
        assert!(text.contains("t.toml:"), "{text}");
    }
    let text = said("[data]\nlua = \"fails.lua\"\n[[workload]]\nscript = \"select 1;\"\n");
    assert!(text.contains("not today"), "{text}");
    let text = said("[data]\nlua = \"parallel_prepare\"\nthreads = 0\n[[workload]]\nscript = \"select 1;\"\n");
    assert!(text.contains("`threads` cannot be `0`"), "{text}");
    let two =
        "[[workload]]\nname = \"a\"\nlua = \"oltp_read_only\"\n[[workload]]\nname = \"b\"\nscript = \"select 1;\"\n";
    let text = said(two);
    assert!(text.contains("must all be in Lua, or none of them"), "{text}");
    // One after the other they may run.
    desk.file(
        "t.toml",
        &format!("title = \"t\"\n{two}[factors]\nworkload = [\"a\", \"b\"]\n"),
    );
    desk.dyno("run t.toml --dry-run")
        .expect(0)
        .shows("oltp_read_only (Lua)");
    // Both spellings of an option are one factor.
    desk.file(
        "spelt.toml",
        "title = \"t\"\n[[workload]]\nlua = \"oltp_read_only\"\n[factors]\n\"options.table-size\" = [10, 20]\n",
    );
    let pinned = desk
        .dyno("run spelt.toml --dry-run --set options.table_size=30")
        .expect(0);
    assert!(!pinned.stdout.contains("2 cells"), "{}", pinned.stdout);
    pinned.shows("table_size = 30");
    // What dyno's own workloads prepare is known before it is made.
    desk.file(
        "own.toml",
        "title = \"t\"\n[data]\nlua = \"oltp_read_only\"\noptions = { tables = 4, table_size = 5_000_000 }\n\
         [[workload]]\nscript = \"select 1;\"\n",
    );
    desk.dyno("run own.toml --dry-run --target embedded:mariadb")
        .expect(0)
        .shows("about 2 min 14 s to load the data")
        .shows("about 4,425 MB for 1 set of data");
    desk.dyno("run t.toml --dry-run --set options.tabels=2")
        .expect(1)
        .says("did you mean `options.tables`?");
}

#[test]
fn an_error_of_a_script_ends_the_run_and_is_told() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file(
        "late.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         local n = 0\n\
         function event() n = n + 1; con:query('SELECT 1'); if n == 50 then error('enough') end end\n",
    );
    desk.file(
        "late.toml",
        "title = \"t\"\n[[workload]]\nlua = \"late.lua\"\n[phases]\nwarmup = \"0s\"\n",
    );
    desk.embedded(&home, "late.toml").expect(2).says("late.lua:3: enough");
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state(), "incomplete");
    assert_eq!(runs[0].summed_up(), 49);
}

/// Without its tables a workload says which one it lacks, and what makes it.
#[test]
fn a_missing_table_is_named_with_what_makes_it() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let phases = "[phases]\nwarmup = \"0s\"\nmeasure = \"1s\"\n";
    let workload = "[[workload]]\nlua = \"oltp_point_select\"\noptions = { tables = 3, table_size = 10 }\n";
    let run = |data: &str, target: &str| {
        desk.file("t.toml", &format!("title = \"t\"\n{data}{workload}{phases}"));
        let ended = desk.embedded(&home, &format!("t.toml --target {target}")).expect(2);
        ended.stdout + &ended.stderr
    };
    for (target, table) in [
        ("embedded:mariadb", "sbtest1' doesn't exist"),
        ("embedded:18", "relation \"sbtest1\" does not exist"),
    ] {
        let said = run("", target);
        let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains(table), "{said}");
        assert!(line.contains("add [data] with lua = \"oltp_point_select\""), "{said}");
    }
    let said = run(
        "[data]\nlua = \"oltp_point_select\"\noptions = { tables = 2, table_size = 10 }\n",
        "embedded:mariadb",
    );
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        line.contains("sbtest3' doesn't exist") && line.contains("compare its options"),
        "{said}"
    );
}

fn archived(ended: &str) -> &str {
    let line = ended.lines().find_map(|line| line.strip_prefix("archived in "));
    line.unwrap_or_else(|| panic!("{ended}"))
}

#[test]
fn a_run_of_sysbench_is_archived_reported_and_compared() {
    let desk = Desk::new();
    let database = crate::support::database("e2e_lua_archive");
    database.execute(
        "do $$ begin create role lua superuser login password 'hunter2';
         exception when duplicate_object or unique_violation then null; end $$",
    );
    let address = [
        "--db-driver=pgsql".to_owned(),
        "--pgsql-host=127.0.0.1".to_owned(),
        format!("--pgsql-port={}", database.port()),
        format!("--pgsql-db={}", database.name()),
        "--pgsql-user=lua".to_owned(),
        "--pgsql-password=hunter2".to_owned(),
    ];
    let sysbench = |words: &str| {
        let words = words.split_whitespace().map(str::to_owned);
        let all = ["sysbench".to_owned()].into_iter().chain(words).chain(address.clone());
        crate::support::Ended::of(&mut desk.command(all)).expect(0)
    };
    sysbench("oltp_read_write --tables=2 --table-size=100 prepare");
    let run = "oltp_read_write --tables=2 --table-size=100 --threads=2 --time=2 --archive run";
    let first = sysbench(run);
    assert!(first.stdout.contains("SQL statistics:"), "{}", first.stdout);
    assert!(archived(&first.stderr).starts_with("archive/"), "{}", first.stderr);
    let second = sysbench(&run.replace("--archive", "--archive=archive --report-format=1.1"));
    assert!(archived(&second.stderr).starts_with("archive/"), "{}", second.stderr);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!(run.state(), "complete");
        let names: Vec<_> = statements(run, 0).into_iter().map(|(sql, _)| sql).collect();
        assert!(
            names.contains(&"SELECT c FROM sbtest# WHERE id=?".to_owned()),
            "{names:?}"
        );
        let workload = &run.campaign()["experiment"]["workloads"][0];
        assert_eq!(workload["lua"]["options"]["table_size"], "100");
    }
    // The report on the screen and the archive speak of the same run.
    let line = first.stdout.lines().find(|line| line.contains("transactions:"));
    let counted: u64 = line.unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!(runs[0].summed_up(), counted);
    desk.assert_nowhere("hunter2");
    desk.dyno("report --format md").expect(0);
    let campaigns: Vec<_> = runs
        .iter()
        .map(|run| run.0.parent().unwrap().display().to_string())
        .collect();
    desk.dyno(&format!("compare {} {}", campaigns[0], campaigns[1]))
        .expect(0)
        .shows("1 run of A against 1 of B");
}

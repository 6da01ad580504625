//! Plans of statements: kept around each run, told when they changed, and part of what campaigns differ in.

use crate::support::{Desk, Home, run_folders};
use serde_json::Value;

/// Looks rows up by a column that has an index, unless `finish` makes none, while another workload executes `other`.
fn experiment(desk: &Desk, name: &str, finish: &str, other: &str) {
    let text = format!(
        "title = \"Plans\"\n[parameters]\nrows = 5000\n\
         [data]\nsetup = \"create table tbl (id int primary key, x int)\"\n\
         finish = \"{finish}\"\n\
         [data.fill.tbl]\nrows = \"{{rows}}\"\ngenerate = {{ id = \"row\", x = \"row\" }}\n\
         [[workload]]\nname = \"one\"\nclients = 2\nprotocol = \"prepared\"\n\
         script = \'\'\'\n\\set x random(1, :rows)\nselect id from tbl where x = :x;\nbegin;\n\
         update tbl set x = x where id = :x;\ncommit;\n\'\'\'\n\
         [[workload]]\nname = \"other\"\nrate = 2\nscript = \"{other}\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"2s\"\n"
    );
    desk.file(name, &text);
}

/// The steps of a plan as the archive has them.
fn steps(plans: &Value, number: usize, when: &str) -> Vec<String> {
    let steps = &plans["statements"][number][when]["plan"]["steps"];
    let steps = steps.as_array().unwrap_or_else(|| panic!("{plans:#}")).iter();
    let words = steps.map(|step| {
        format!(
            "{} {}",
            step["step"].as_str().unwrap(),
            step["index"].as_str().unwrap_or("-")
        )
    });
    words.collect()
}

/// An index that is dropped while the load runs changes how the server executes the statement, and that is said
/// wherever its figures are shown. Gives the campaign, and that of the same load on an index that stays.
fn assert_told(
    desk: &Desk,
    home: &Home,
    target: &str,
    drop: &str,
    [by_index, whole, update]: [&str; 3],
) -> [String; 2] {
    let index = "create index tbl_x on tbl (x)";
    experiment(desk, "dropped.toml", index, drop);
    experiment(desk, "kept.toml", index, "select 1;");
    // With this seed the index is dropped within the time.
    let words = format!("dropped.toml --seed 1 --target {target}");
    let said = desk.embedded(home, &words).expect(0).stdout;
    let told =
        format!("The plan of one/1 changed during the run: after it, {whole} on tbl in place of {by_index} using");
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains(&told), "{said}");
    desk.embedded(home, &format!("kept.toml --target {target}")).expect(0);

    let runs = run_folders(&desk.archive());
    let [kept, dropped] = ["kept", "dropped"].map(|name| {
        let mut of = runs.iter().rev().filter(|run| run.0.to_string_lossy().contains(name));
        of.next().unwrap_or_else(|| panic!("no run of {name}"))
    });
    let plans: Value = serde_json::from_str(&dropped.read("plans.json")).unwrap();
    let both = |number| ["before", "after"].map(|when| steps(&plans, number, when));
    assert_eq!(both(0), [[format!("{by_index} tbl_x")], [format!("{whole} -")]]);
    let [before, after] = both(2);
    assert_eq!(before, after);
    assert!(before[0].starts_with(update), "{before:?}");
    for number in [1, 3] {
        assert_eq!(plans["statements"][number]["before"], "has_none", "{plans:#}");
    }
    let plans: Value = serde_json::from_str(&kept.read("plans.json")).unwrap();
    assert_eq!(steps(&plans, 0, "before"), steps(&plans, 0, "after"));
    [dropped, kept].map(|run| {
        let campaign = run.0.parent().unwrap().file_name().unwrap();
        campaign.to_string_lossy().into_owned()
    })
}

/// Reports show the plans, and comparisons that they differ.
fn assert_shown(desk: &Desk, [dropped, kept]: &[String; 2]) {
    let report = desk
        .dyno(&format!("report {dropped} --format md --output -"))
        .expect(0)
        .stdout;
    for words in [
        "The plan of one/1 changed during the run",
        "select id from tbl where x = :x",
        "the same before and after",
        "Statements of a kind that has no plan: one/2 (begin;), one/4 (commit;)",
    ] {
        assert!(report.contains(words), "no {words} in {report}");
    }
    desk.dyno(&format!("show {kept} --plans"))
        .expect(0)
        .shows("one/1: select id from tbl where x = :x; (the same before and after")
        .shows("using tbl_x on tbl");
    assert!(
        !desk
            .dyno(&format!("show {kept}"))
            .expect(0)
            .stdout
            .contains("changed during")
    );
    desk.dyno(&format!("compare {dropped} {kept}"))
        .expect(0)
        .shows("plan of one:")
        .shows("executed statements in different ways (one: select id from tbl where x = :x;)");
}

#[test]
fn a_plan_that_changes_on_postgres_is_told() {
    let (desk, home) = (Desk::new(), Home::new());
    let steps = ["Index Scan", "Seq Scan", "Update"];
    let campaigns = assert_told(&desk, &home, "embedded", "drop index if exists tbl_x;", steps);
    assert_shown(&desk, &campaigns);
}

#[test]
fn a_plan_that_changes_on_mariadb_is_told() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let steps = ["lookup (ref, index only)", "whole table (ALL)", "update: "];
    let drop = "drop index if exists tbl_x on tbl;";
    let campaigns = assert_told(&desk, &home, "embedded:mariadb", drop, steps);
    assert_shown(&desk, &campaigns);
}

#[test]
fn statements_of_lua_are_explained_after_the_load() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    desk.file(
        "lua.toml",
        "title = \"Lua\"\n[data]\nlua = \"oltp_read_write\"\noptions = { tables = 1, table_size = 1000 }\n\
         [[workload]]\nname = \"mixed\"\nclients = 2\nlua = \"oltp_read_write\"\n\
         options = { tables = 1, table_size = 1000 }\n[phases]\nwarmup = \"0s\"\nmeasure = \"1s\"\n",
    );
    let words = "lua.toml --set target=embedded,embedded:mariadb --set plan.order=listed";
    desk.embedded(&home, words).expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for (run, by_key) in runs.iter().zip(["Index Scan", "one row (const)"]) {
        let plans: Value = serde_json::from_str(&run.read("plans.json")).unwrap();
        let statements = plans["statements"].as_array().unwrap();
        let named = |text: &str| {
            let mut named = statements.iter().filter(|statement| statement["statement"] == text);
            named.next().unwrap_or_else(|| panic!("no {text} in {plans:#}"))
        };
        let point = named("SELECT c FROM sbtest# WHERE id=?");
        assert!(point["before"]["not_asked"].is_string(), "{point:#}");
        assert_eq!(point["after"]["plan"]["steps"][0]["step"], by_key, "{point:#}");
        assert_eq!(named("COMMIT")["after"], "has_none");
        assert!(
            statements
                .iter()
                .all(|statement| statement["after"]["refused"].is_null()),
            "{plans:#}"
        );
    }
}

/// Who wants nothing to be asked of the server gets no plans.
#[test]
fn without_sampling_there_are_no_plans() {
    let (desk, home) = (Desk::new(), Home::new());
    experiment(&desk, "kept.toml", "", "select 1;");
    desk.embedded(&home, "kept.toml --no-sampling").expect(0);
    let runs = run_folders(&desk.archive());
    assert!(!runs[0].0.join("plans.json").exists());
    desk.dyno("show --plans").expect(0).shows("No plans are kept of it");
}

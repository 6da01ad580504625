//! What a person may get wrong in an experiment file, and what is said about it.

use super::*;
use crate::experiment::{WorkPlan, builtin, find};
use dyno_archive::plan::{Protocol, Resolved, Script, Size};
use insta::assert_snapshot;
use proptest::prelude::*;

const SCRIPT: &str = "[[workload]]\nscript = \"select 1\"\n";

fn parsed(text: &str) -> Result<Experiment, Diagnostic> {
    parse(Path::new("mine.toml"), text)
}

/// What is said of a file that has a title and a workload and, in between, `text`.
fn complaint(text: &str) -> String {
    parsed(&format!("title = \"t\"\n{text}\n{SCRIPT}"))
        .unwrap_err()
        .to_string()
}

/// What is said of a file with the workload `text`.
fn workload_complaint(text: &str) -> String {
    parsed(&format!("title = \"t\"\n[[workload]]\n{text}\n"))
        .unwrap_err()
        .to_string()
}

/// The first script of the first workload.
fn only_script(experiment: &Experiment) -> &Script {
    match &experiment.workloads[0].scripts {
        WorkPlan::Scripts(scripts) => scripts.iter().next().unwrap().0,
        WorkPlan::Lua(_) => panic!("it is a script of pgbench's"),
    }
}

/// Complaints one after the other, each under what provoked it.
fn gallery<const N: usize>(complaints: [(&str, String); N]) -> String {
    complaints
        .map(|(mistake, complaint)| format!("# {mistake}\n{complaint}\n"))
        .join("\n")
}

#[test]
fn broken_toml() {
    let complaints = gallery([
        ("unclosed text", complaint("question = \"how")),
        ("no value", complaint("question =")),
        ("key twice", complaint("title = \"again\"")),
        ("not a file of ours", parsed("\u{0}\u{1}").unwrap_err().to_string()),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn unknown_keys() {
    let complaints = gallery([
        ("in the file", complaint("questoin = \"how fast?\"")),
        ("in a section", complaint("[phases]\n  mesure = \"20s\"")),
        ("in a workload", workload_complaint("script = \"select 1\"\nclient = 5")),
        (
            "in a fill",
            complaint("[data]\nfill.tbl = { row = 5, columns = { id = \"row\" } }"),
        ),
        ("unlike any", complaint("[server]\nxyzzy = 5")),
        ("size", complaint("[size.smal]\nmeasure = \"5s\"")),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn missing_keys() {
    let complaints = gallery([
        ("nothing at all", parsed("").unwrap_err().to_string()),
        ("no workload", parsed("title = \"t\"").unwrap_err().to_string()),
        ("no script", workload_complaint("clients = 5")),
        (
            "no rows",
            complaint("[data]\nfill.tbl = { columns = { id = \"row\" } }"),
        ),
        ("no columns", complaint("[data.fill.tbl]\nrows = 5")),
        (
            "two workloads without names",
            parsed(&format!("title = \"t\"\n{SCRIPT}{SCRIPT}"))
                .unwrap_err()
                .to_string(),
        ),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_types() {
    let complaints = gallery([
        (
            "number as title",
            parsed(&format!("title = 5\n{SCRIPT}")).unwrap_err().to_string(),
        ),
        ("list as parameter", complaint("[parameters]\nrows = [1, 2]")),
        ("text as section", complaint("phases = \"20s\"")),
        (
            "one bracket",
            parsed("title = \"t\"\n[workload]\nscript = \"select 1\"\n")
                .unwrap_err()
                .to_string(),
        ),
        ("too large", complaint("[parameters]\nrows = 99999999999999999999")),
        ("infinite", complaint("[parameters]\nfactor = inf")),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_values() {
    let complaints = gallery([
        ("duration without unit", complaint("[phases]\nmeasure = 20")),
        (
            "duration in unknown unit",
            complaint("[phases]\nwarmup = \"20 fortnights\""),
        ),
        ("nothing measured", complaint("[phases]\nmeasure = \"0s\"")),
        ("short interval", complaint("[phases]\ninterval = \"1ms\"")),
        ("no clients", workload_complaint("script = \"select 1\"\nclients = 0")),
        (
            "more threads than clients",
            workload_complaint("script = \"select 1\"\nthreads = 5\nclients = 4"),
        ),
        (
            "unknown protocol",
            workload_complaint("script = \"select 1\"\nprotocol = \"binary\""),
        ),
        (
            "unknown driver",
            workload_complaint("script = \"select 1\"\ndriver = \"oracle\""),
        ),
        ("negative rate", workload_complaint("script = \"select 1\"\nrate = -5")),
        ("setting name", complaint("[server]\nsettings.\"a b\" = 5")),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_names() {
    let twice =
        "title = \"t\"\n[[workload]]\nname = \"a\"\nscript = \"x\"\n[[workload]]\nname = \"a\"\nscript = \"x\"\n";
    let data = |text: &str| complaint(&format!("[parameters]\nrows = 5\n[data]\n{text}"));
    let complaints = gallery([
        ("parameter of no name", complaint("[parameters]\nhot-rows = 5")),
        ("reserved parameter", complaint("[parameters]\nclients = 5")),
        (
            "parameter and setting",
            complaint("[parameters]\nwork_mem = 5\n[server]\nsettings.work_mem = \"5MB\""),
        ),
        (
            "workload of no name",
            workload_complaint("name = \"a b\"\nscript = \"select 1\""),
        ),
        ("two workloads of one name", parsed(twice).unwrap_err().to_string()),
        ("placeholder", data("setup = \"select {rwos}\"")),
        (
            "placeholder in a fill",
            data("fill.t = { rows = \"{n}\", columns = { id = \"row\" } }"),
        ),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_scripts() {
    let complaints = gallery([
        (
            "two scripts",
            workload_complaint("script = \"select 1\"\nscript_file = \"a.sql\""),
        ),
        ("empty script", workload_complaint("script = \"\"\"\n\n\"\"\"")),
        ("no such file", workload_complaint("script_file = \"absent/a.sql\"")),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_sizes() {
    let complaints = gallery([
        (
            "unknown name",
            complaint("[parameters]\nrows = 5\n[size.small]\nrow = 5"),
        ),
        ("wrong value", complaint("[size.small]\nmeasure = \"5 minuets\"")),
        ("unknown workload", complaint("[size.full]\nwriter.clients = 5")),
        (
            "kind of parameter",
            complaint("[parameters]\nrows = 5\n[size.full]\nrows = \"many\""),
        ),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn a_file_that_does_not_exist() {
    let complaints = gallery([
        ("misspelt", find("pk-updat").unwrap_err().to_string()),
        ("unlike any", find("xyzzy").unwrap_err().to_string()),
        ("path", find("absent/mine.toml").unwrap_err().to_string()),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn a_script_is_found_beside_its_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(folder.path().join("a.sql"), "select 2;").unwrap();
    std::fs::write(&path, "title = \"t\"\n[[workload]]\nscript_file = \"a.sql\"\n").unwrap();
    let experiment = find(path.to_str().unwrap()).unwrap();
    let script = only_script(&experiment);
    assert_eq!((experiment.name(), script.script.as_str()), ("mine", "select 2;"));
    assert_eq!(script.script_name, folder.path().join("a.sql").display().to_string());
}

#[test]
fn what_is_not_said_has_a_default() {
    let experiment = parsed(&format!("title = \"t\"\n{SCRIPT}")).unwrap();
    let resolved = experiment.resolve(Size::Small, &[], 4).unwrap();
    assert_eq!(
        (
            resolved.warmup.as_secs(),
            resolved.measure.map(|measure| measure.as_secs()),
            resolved.interval.as_secs()
        ),
        (10, Some(60), 1)
    );
    let workload = &resolved.workloads[0];
    assert_eq!(
        (workload.name.as_str(), workload.clients, workload.threads),
        ("main", 1, 1)
    );
    assert_eq!((workload.protocol, workload.rate_per_s), (Protocol::Prepared, None));
    let scripts: Vec<_> = workload
        .scripts
        .iter()
        .map(|(script, _)| script.script_name.as_str())
        .collect();
    assert_eq!(scripts, ["mine.toml"]);
}

#[test]
fn a_script_knows_its_place_in_the_file() {
    for (quoted, name, offset) in [
        ("'''\nselect 1;\n'''", "mine.toml", (3, 0)),
        ("'''select 1;'''", "mine.toml", (2, 12)),
        ("\"select 1;\"", "mine.toml", (2, 10)),
        ("'select 1;'", "mine.toml", (2, 10)),
        ("\"\"\"\nselect 1;\"\"\"", "mine.toml", (3, 0)),
        ("\"select 1;\\n\"", "mine.toml, workload main", (0, 0)),
    ] {
        let experiment = parsed(&format!("title = \"t\"\n[[workload]]\nscript = {quoted}\n")).unwrap();
        let script = only_script(&experiment);
        assert_eq!((script.script_name.as_str(), script.script_offset), (name, offset));
    }
}

#[test]
fn the_sql_of_data_knows_its_place_in_the_file() {
    let experiment = parsed(&format!(
        "title = \"t\"\n[data]\nsetup = '''\ncreate table t (id int);\n'''\nfinish = \"analyze;\\n\"\n{SCRIPT}"
    ));
    let mut data = experiment.unwrap().resolve(Size::Full, &[], 1).unwrap().data;
    let setup = "\n\n\ncreate table t (id int);\n".to_owned();
    assert_eq!(data.placed_setup(), (setup, "mine.toml"));
    assert_eq!(
        data.placed_finish(),
        ("analyze;\n".to_owned(), "mine.toml, data.finish")
    );
    // Earlier dynos did not keep it, and neither does what has no such text.
    (data.setup_place, data.finish_place) = (None, None);
    let json = serde_json::to_value(&data).unwrap();
    assert!(
        json.get("setup_place").is_none() && json.get("finish_place").is_none(),
        "{json}"
    );
    let older: dyno_archive::plan::Data = serde_json::from_value(json).unwrap();
    assert_eq!(older.placed_setup(), (data.setup, "data.setup"));
}

#[test]
fn columns_and_settings_keep_their_order() {
    let experiment = parsed(&format!(
        "title = \"t\"\n[server]\nsettings = {{ z = true, a = 1.5, m = \"x\" }}\n\
         [data]\nfill.t = {{ rows = 5, columns = {{ z = \"row\", a = 1, m = \"now()\" }} }}\n{SCRIPT}"
    ));
    let resolved = experiment.unwrap().resolve(Size::Full, &[], 1).unwrap();
    let settings: Vec<_> = resolved
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(settings, ["z=on", "a=1.5", "m=x"]);
    let columns: Vec<_> = resolved.data.fill[0]
        .columns
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(columns, ["z=row", "a=1", "m=now()"]);
}

#[test]
fn rows_are_a_number_or_arithmetic_over_parameters() {
    let file = |rows: &str| {
        let fill = format!("[data]\nfill.t = {{ rows = {rows}, columns = {{ id = \"row\" }} }}\n");
        format!("title = \"t\"\n[parameters]\nscale = 10\n{fill}{SCRIPT}")
    };
    let rows = |rows: &str, scale: &str| {
        let set = [("scale".to_owned(), scale.to_owned())];
        let run = parsed(&file(rows)).unwrap().resolve(Size::Small, &set, 1);
        run.map(|run| run.data.fill[0].rows)
    };
    assert_eq!(rows("1_000", "1"), Ok(1_000));
    assert_eq!(rows("\"{scale} * 100000\"", "50000"), Ok(5_000_000_000));
    assert_eq!(rows("\"{scale} * 1.5\"", "4"), Ok(6));
    assert!(rows("\"{scale} * 1.5\"", "3").is_err());
    assert!(rows("\"100 / {scale}\"", "0").is_err());
    let wrong = [
        "-5",
        "\"many\"",
        "\"{scale} * 0.25\"",
        "\"{scale} *\"",
        "\"{scale} - 11\"",
        "\"{scale} * 9e18\"",
    ];
    let complaints = wrong.map(|rows| (rows, parsed(&file(rows)).unwrap_err().to_string()));
    assert_snapshot!(gallery(complaints));
}

#[test]
fn who_makes_rows_follows_from_the_key_of_the_columns() {
    let file = |fill: &str| {
        let data = format!("[parameters]\nrows = 9\n[data]\nfill.t = {{ rows = 5, {fill} }}\n");
        format!("title = \"t\"\n{data}{SCRIPT}")
    };
    let resolved = |fill: &str| {
        let run = parsed(&file(fill)).unwrap().resolve(Size::Small, &[], 1).unwrap();
        let fill = &run.data.fill[0];
        (fill.seed, fill.columns["id"].clone())
    };
    assert_eq!(
        resolved("columns = { id = \"row + {rows}\" }"),
        (None, "row + 9".to_owned())
    );
    assert_eq!(
        resolved("generate = { id = \"row + {rows}\" }"),
        (Some(0), "row + 9".to_owned())
    );
    assert_eq!(
        resolved("generate = { id = 1 }, seed = \"{rows}\""),
        (Some(9), "1".to_owned())
    );
    let wrong = [
        "generate = { id = \"now()\" }",
        "generate = { id = \"row\", c = \"patern('##')\" }",
        "generate = { id = \"random(1, {rwos})\" }",
        "generate = {}",
        "generate = { id = \"row\" }, columns = { id = \"row\" }",
        "columns = { id = \"row\" }, seed = 5",
        "generate = { id = \"row\" }, seed = -5",
        "seed = 5",
    ];
    let complaints = wrong.map(|fill| (fill, parsed(&file(fill)).unwrap_err().to_string()));
    assert_snapshot!(gallery(complaints));
}

/// Leaves out the texts of scripts in Lua, which are files of their own.
fn without_lua(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(fields) => {
            if fields.contains_key("lua") && fields.contains_key("script") {
                fields.insert("script".to_owned(), "…".into());
            }
            fields.values_mut().for_each(without_lua);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_lua),
        _ => {}
    }
}

#[test]
fn every_size_of_every_experiment_resolves() {
    for builtin in builtin() {
        let experiment = find(builtin.name).unwrap();
        assert!(!experiment.question().is_empty(), "{}", builtin.name);
        // A series has its own scenarios, of nobody's study.
        assert_eq!(
            experiment.source().is_empty(),
            builtin.series.is_some(),
            "{}",
            builtin.name
        );
        for size in Size::NAMES {
            let resolved = experiment.resolve(size.parse().unwrap(), &[], 2).unwrap();
            let json = serde_json::to_string_pretty(&resolved).unwrap();
            assert_eq!(serde_json::from_str::<Resolved>(&json).unwrap(), resolved);
            if builtin.series.is_some() {
                continue;
            }
            let mut shown = serde_json::from_str(&json).unwrap();
            without_lua(&mut shown);
            let json = serde_json::to_string_pretty(&shown).unwrap();
            assert_snapshot!(format!("{}-{size}", builtin.name), json);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = parsed(&text);
    }

    #[test]
    fn any_change_to_a_file_is_read_or_refused(
        at in 0_usize..3000,
        length in 0_usize..20,
        with in "[\\PC\n]{0,10}|\"|\\{|\\}|\\[|\\]|'''",
    ) {
        let mut text = builtin()[1].text.to_owned();
        let boundary = |mut index: usize| {
            index = index.min(text.len());
            while !text.is_char_boundary(index) {
                index -= 1;
            }
            index
        };
        let (start, end) = (boundary(at), boundary(at + length));
        text.replace_range(start..end, &with);
        if let Ok(experiment) = parsed(&text) {
            for size in Size::NAMES {
                let _ = experiment.resolve(size.parse().unwrap(), &[], 2);
            }
        }
    }
}

/// What is said of a file with two workloads, `a` of 8 clients and `b` of 2, and after them `text`.
fn later_complaint(text: &str) -> String {
    let file = format!(
        "title = \"t\"\n[parameters]\nrows = 5\nkind = \"heap\"\n[[workload]]\nname = \"a\"\nclients = 8\nscript \
         = \"x\"\n\
         [[workload]]\nname = \"b\"\nclients = 2\nscript = \"y\"\n{text}\n"
    );
    let complaint = parsed(&file).unwrap_err();
    // The place counts; how many lines stand before it does not.
    complaint.to_string()
}

#[test]
fn wrong_places_and_mixes() {
    let complaints = gallery([
        ("path", complaint("[server]\npath = \"udp\"")),
        ("target", complaint("[server]\ntarget = \"\"")),
        ("state", complaint("[data]\nstate = \"clean\"")),
        ("cache", complaint("[data]\ncache = true")),
        ("tablespace", complaint("[data]\ntablespaces = [\"pg_second\"]")),
        ("tablespaces", complaint("[data]\ntablespaces = \"second\"")),
        ("reserved parameter", complaint("[parameters]\nworkload = 5")),
        (
            "reserved workload",
            workload_complaint("name = \"plan\"\nscript = \"x\""),
        ),
        ("delay", workload_complaint("script = \"x\"\nstart_delay = 5")),
        ("no script", workload_complaint("scripts = []")),
        (
            "script without name",
            workload_complaint("scripts = [{ script = \"x\" }]"),
        ),
        (
            "script twice",
            workload_complaint("scripts = [{ name = \"r\", script = \"x\" }, { name = \"r\", script = \"y\" }]"),
        ),
        (
            "weight",
            workload_complaint("scripts = [{ name = \"r\", weight = 0, script = \"x\" }]"),
        ),
        (
            "key of a script",
            workload_complaint("scripts = [{ name = \"r\", wieght = 1, script = \"x\" }]"),
        ),
        (
            "both",
            workload_complaint("script = \"x\"\nscripts = [{ name = \"r\", script = \"x\" }]"),
        ),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_stages_and_metrics() {
    let complaints = gallery([
        ("metric, no value", later_complaint("[metrics]\nm = { at_most = 1 }")),
        (
            "metric, a bound of letters",
            later_complaint("[metrics]\nm = { value = \"{tps}\", at_most = \"x\" }"),
        ),
        (
            "metric, another key",
            later_complaint("[metrics]\nm = { value = \"{tps}\", most = 1 }"),
        ),
        ("one bracket", later_complaint("[stage]\nname = \"s\"")),
        ("no name", later_complaint("[[stage]]\nlasts = \"5s\"")),
        ("no end", later_complaint("[[stage]]\nname = \"s\"")),
        (
            "warmup",
            later_complaint("[[stage]]\nname = \"warmup\"\nlasts = \"5s\""),
        ),
        ("no time", later_complaint("[[stage]]\nname = \"s\"\nlasts = \"0s\"")),
        (
            "measure, too",
            later_complaint("[phases]\nmeasure = \"5s\"\n[[stage]]\nname = \"s\"\nlasts = \"5s\""),
        ),
        (
            "measure in a size",
            later_complaint("[[stage]]\nname = \"s\"\nlasts = \"5s\"\n[size.small]\nmeasure = \"5s\""),
        ),
        (
            "span",
            later_complaint("[[stage]]\nname = \"s\"\nlasts = \"5s\"\nclients = { from = 1 }"),
        ),
        (
            "rate",
            later_complaint("[[stage]]\nname = \"s\"\nlasts = \"5s\"\nrate = { from = 0, to = 5 }"),
        ),
        (
            "too many clients",
            later_complaint("[[stage]]\nname = \"s\"\nlasts = \"5s\"\nclients = 9"),
        ),
        (
            "too many of one",
            later_complaint("[[stage]]\nname = \"s\"\nlasts = \"5s\"\nclients = 3\nworkloads = [\"b\"]"),
        ),
        (
            "workload",
            later_complaint("[[stage]]\nname = \"s\"\nlasts = \"5s\"\nworkloads = [\"c\"]"),
        ),
        (
            "metric",
            later_complaint("[metrics]\n\"rows/s\" = \"{a.tsp} * {rows}\""),
        ),
        ("text as number", later_complaint("[metrics]\nm = \"{kind}\"")),
        ("no expression", later_complaint("[metrics]\nm = \"{tps} times 5\"")),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn wrong_factors_and_plans() {
    let factors = |text: &str| later_complaint(&format!("[factors]\n{text}"));
    let plan = |text: &str| {
        later_complaint(&format!(
            "[factors]\nclients = [8, 16]\nfull_page_writes = [true, false]\n[plan]\n{text}"
        ))
    };
    let complaints = gallery([
        ("unknown factor", factors("cleints = [1, 2]")),
        ("unknown setting", factors("full_page_write = [true, false]")),
        ("of the plan", factors("plan.order = [\"random\"]")),
        ("no levels", factors("clients = []")),
        ("wrong level", factors("clients = [1, 0]")),
        ("truth", factors("rows = [true]")),
        ("list in a list", factors("clients = [1, [2]]")),
        ("range without end", factors("clients = [{ from = 1, step = 1 }]")),
        (
            "range that never ends",
            factors("clients = [{ from = 1, to = 5, step = 0 }]"),
        ),
        (
            "range of many",
            factors("clients = { from = 1, to = 5, step = 0.0001 }"),
        ),
        ("unknown workload", factors("workload = [\"a\", \"a+c\"]")),
        ("together", factors("clients = [2, 4]\nthreads = [4]")),
        ("twice", factors("clients = [2, 4]\na.clients = [1]")),
        (
            "too many",
            factors("rows = { from = 1, to = 5000 }\nclients = { from = 1, to = 5 }"),
        ),
        ("repetitions", plan("repetitions = 0")),
        ("order", plan("order = \"shuffled\"")),
        ("unknown in exclude", plan("exclude = [{ client = 8 }]")),
        ("unknown level", plan("exclude = [{ clients = 8 }, { clients = 12 }]")),
        ("no level", plan("exclude = [{}]")),
        ("no list", plan("exclude = { clients = 8 }")),
        ("everything", plan("exclude = [{ clients = 8 }, { clients = 16 }]")),
        ("half a cell", plan("include = [{ clients = 32 }]")),
        ("baseline", plan("baseline = { clients = 12 }")),
        (
            "excluded baseline",
            plan("baseline = { clients = 8 }\nexclude = [{ clients = 8 }]"),
        ),
        ("no factors", later_complaint("[plan]\nbaseline = { clients = 8 }")),
        (
            "in a size",
            plan("[size.small]\nfactors.clients = [1, 2]\nplan.exclude = [{ clients = 8 }]"),
        ),
        ("factor of a size", plan("[size.small.factors]\nclient = [1, 2]")),
        ("together in a size", plan("[size.small]\nfactors.threads = [9]")),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn a_mix_of_scripts_is_weighted() {
    let file = "title = \"t\"\n[[workload]]\nscripts = [{ name = \"read\", weight = 9, script = \"x\" }, \
                { name = \"write\", script = \"y\" }]\n";
    let run = parsed(file).unwrap().resolve(Size::Full, &[], 1).unwrap();
    let scripts = run.workloads[0].scripts.iter();
    let scripts: Vec<_> = scripts
        .map(|(script, weight)| (script.script_name.as_str(), weight))
        .collect();
    assert_eq!(scripts, [("read", 9), ("write", 1)]);
}

/// What is said of a file with two further servers, the sections of which have these keys.
fn servers_complaint(one: &str, two: &str) -> String {
    let servers = format!("[server]\nname = \"far\"\n[servers.one]\n{one}\n[servers.two]\n{two}");
    complaint(&servers)
}

#[test]
fn servers_that_cannot_be_together() {
    let complaints = gallery([
        ("unknown server", servers_complaint("", "behind = \"oen\"")),
        ("both", servers_complaint("", "behind = \"one\"\nreplica_of = \"one\"")),
        (
            "replica with data",
            servers_complaint("", "replica_of = \"one\"\n[servers.two.data]\nsetup = \"select 1\""),
        ),
        (
            "replica of a proxy",
            servers_complaint("behind = \"far\"", "replica_of = \"one\""),
        ),
        ("circle", servers_complaint("behind = \"two\"", "behind = \"one\"")),
        (
            "circle by addresses",
            servers_complaint(
                "[servers.one.data]\nsetup = \"select '{two.host}'\"",
                "behind = \"one\"",
            ),
        ),
        (
            "address of no server",
            servers_complaint("[servers.one.data]\nsetup = \"select '{tow.host}'\"", ""),
        ),
        ("one of several", servers_complaint("count = 2", "behind = \"one\"")),
        ("no number", servers_complaint("count = \"{far}\"", "")),
        ("too many", servers_complaint("count = 1000", "")),
        ("itself", servers_complaint("behind = \"one\"", "")),
        (
            "name of the main one",
            complaint("[servers.main]\ntarget = \"embedded\""),
        ),
        (
            "foreign tables of nothing",
            servers_complaint("foreign.tables = [\"a\"]", ""),
        ),
        ("unknown key", servers_complaint("name = \"three\"", "")),
        (
            "workload nowhere",
            workload_complaint("server = \"nowhere\"\nscript = \"select 1\""),
        ),
    ]);
    assert_snapshot!(complaints);
}

#[test]
fn servers_are_as_many_as_a_cell_says_and_each_runs_what_is_its_own() {
    let file = "title = \"t\"\n[parameters]\nproxies = 2\n[server]\nname = \"far\"\n[servers.near]\ncount = \
                \"{proxies}\"\nbehind = \"far\"\nforeign = { tables = [\"a\"], fetch_size = 100 }\nsettings.work_mem = \
                \"{proxies}MB\"\n[servers.copy]\nreplica_of = \"far\"\n[[workload]]\nname = \"w\"\nserver = \
                \"near\"\nsum = true\nscript = \"select 1\"\n[[workload]]\nname = \"m\"\nserver = \"far\"\nscript = \
                \"select 1\"\n[factors]\nproxies = [1, 3]\n[metrics]\nall = \"{w.tps}\"\n";
    let set = [("near.target", "embedded:17"), ("target", "embedded:16")];
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let plan = parsed(file).unwrap().plan(Size::Full, &set, None, 1, 2).unwrap();
    let names = |cell: usize| {
        let experiment = &plan.cells[cell].experiment;
        let workloads = experiment.workloads.iter().map(|workload| workload.name.clone());
        let servers = experiment.server_names().map(str::to_owned);
        (
            servers.collect::<Vec<_>>().join(" "),
            workloads.collect::<Vec<_>>().join(" "),
        )
    };
    assert_eq!(names(0), ("far near-1 copy".to_owned(), "w-1 m".to_owned()));
    assert_eq!(
        names(1),
        ("far near-1 near-2 near-3 copy".to_owned(), "w-1 w-2 w-3 m".to_owned())
    );
    let experiment = &plan.cells[1].experiment;
    let near = experiment.further("near-2").unwrap();
    assert_eq!(near.settings["work_mem"], "3MB");
    assert_eq!(
        (near.foreign.tables.len(), &*near.foreign.options["fetch_size"]),
        (1, "100")
    );
    let target = |name: &str| experiment.further(name).and_then(|server| server.target.as_ref());
    let given = |name: &str| target(name).map(dyno_archive::plan::Address::given);
    // A replica is as its primary is.
    assert_eq!(
        (given("near-3"), given("copy")),
        (Some("embedded:17"), Some("embedded:16"))
    );
    assert_eq!(experiment.server_of(&experiment.workloads[3]), "far");
}

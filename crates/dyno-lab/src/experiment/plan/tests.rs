//! Plans of whole experiments.

use super::*;
use crate::experiment::Experiment;
use dyno_archive::plan::{Address, Levels, Order, Plan, Size};
use proptest::prelude::*;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

const FILE: &str = r#"
title = "t"
[parameters]
rows = 10
skew = 1.5
[server]
settings = { work_mem = "4MB" }
[[workload]]
name = "reader"
clients = 16
script = "select 1"
[[workload]]
name = "writer"
clients = 2
script = "select 2"
[metrics]
both = "{reader.tps} + {writer.tps}"
all = "{tps} * {rows}"
[factors]
clients = [1, { from = 10, to = 30, step = 10 }]
full_page_writes = [true, false]
[plan]
repetitions = 3
baseline = { full_page_writes = "on" }
exclude = [{ clients = 1, full_page_writes = "off" }]
include = [{ clients = 200, full_page_writes = "on" }]
[size.small]
factors.clients = [1, 2]
plan.order = "listed"
[size.medium]
clients = 4
rows = 20
"#;

fn experiment(text: &str) -> Experiment {
    Experiment::parse(Path::new("mine.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(text: &str, size: Size, set: &[(&str, &str)]) -> Result<Plan, PlanError> {
    let set: Vec<_> = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    experiment(text).plan(size, &set, None, 7, 4)
}

fn text(levels: &Levels) -> String {
    levels.values().map(String::as_str).collect::<Vec<_>>().join("/")
}

fn cells(plan: &Plan) -> String {
    plan.cells
        .iter()
        .map(|cell| text(&cell.levels))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn several_databases_are_compared_with_the_first() {
    let baseline = |set: &[(&str, &str)], file: &str| plan(file, Size::Full, set).unwrap().baseline;
    let both = ("target", "postgres://ann:secret@db/x,embedded:mariadb");
    let plain = "title = \"t\"\n[[workload]]\nscript = \"select 1;\"\n";
    let shown = baseline(&[both, ("clients", "1,2")], plain);
    assert_eq!(
        shown,
        Levels::from([("target".to_owned(), "postgres://ann:***@db/x".to_owned())])
    );
    assert!(baseline(&[("target", "embedded"), ("clients", "1,2")], plain).is_empty());
    // What the file says goes before that.
    assert_eq!(text(&baseline(&[both], FILE)), "on");
}

#[test]
fn the_cells_of_a_file() {
    let full = plan(FILE, Size::Full, &[]).unwrap();
    assert_eq!(cells(&full), "1/on 10/on 10/off 20/on 20/off 30/on 30/off 200/on");
    assert_eq!((full.runs.len(), full.order, full.seed), (24, Order::Interleaved, 7));
    assert_eq!(full.factors[0].levels, ["1", "10", "20", "30"]);
    assert_eq!(text(&full.baseline), "on");
    let cell = &full.cells[7].experiment;
    assert_eq!(cell.settings["full_page_writes"], "on");
    assert_eq!(
        cell.workloads
            .iter()
            .map(|workload| workload.clients)
            .collect::<Vec<_>>(),
        [200, 200]
    );
    for run in &full.runs {
        assert_eq!(full.cell_of(run).unwrap().levels, run.cell);
    }
}

#[test]
fn the_most_levels_are_planned_at_once() {
    let rows = format!("1..{MOST_CELLS}");
    let set = [("clients", "1"), ("full_page_writes", "on"), ("rows", rows.as_str())];
    let plan = plan(FILE, Size::Small, &set).unwrap();
    assert_eq!((plan.cells.len(), plan.runs.len()), (MOST_CELLS, 3 * MOST_CELLS));
    let cells: Vec<_> = plan.cells_of_runs().collect();
    assert_eq!(cells.len(), plan.runs.len());
    assert!(cells.iter().zip(&plan.runs).all(|(cell, run)| cell.levels == run.cell));
}

#[test]
fn sizes_and_the_command_line_replace_or_pin_levels() {
    let small = plan(FILE, Size::Small, &[]).unwrap();
    assert_eq!(
        (cells(&small).as_str(), small.order),
        ("1/on 2/on 2/off", Order::Listed)
    );
    let medium = plan(FILE, Size::Medium, &[]).unwrap();
    assert_eq!(cells(&medium), "4/on 4/off");
    let of = |set: &[(&str, &str)]| cells(&plan(FILE, Size::Full, set).unwrap());
    assert_eq!(of(&[("clients", "5")]), "5/on 5/off");
    assert_eq!(of(&[("clients", "5"), ("settings.full_page_writes", "off")]), "5/off");
    assert_eq!(of(&[("clients", "1..3"), ("full_page_writes", "on")]), "1/on 2/on 3/on");
    assert_eq!(
        of(&[("clients", "5"), ("work_mem", "1MB,2MB")]),
        "5/on/1MB 5/on/2MB 5/off/1MB 5/off/2MB"
    );
    assert_eq!(of(&[("clients", "5,5,0x5")].map(|_| ("clients", "5,5"))), "5/on 5/off");
    let off = plan(FILE, Size::Full, &[("full_page_writes", "off")]).unwrap();
    assert!(off.baseline.is_empty(), "there is nothing to compare with");
    let twice = plan(FILE, Size::Full, &[("plan.repetitions", "2"), ("rows", "1_000")]).unwrap();
    assert_eq!(
        (
            twice.runs.len(),
            twice.cells[0].experiment.parameters["rows"].to_string().as_str()
        ),
        (16, "1000")
    );
}

#[test]
fn threads_follow_the_clients_unless_they_are_levels() {
    let threads = |set: &[(&str, &str)]| {
        let plan = plan(FILE, Size::Full, set)?;
        let threads = plan.cells.iter().map(|cell| cell.experiment.workloads[0].threads);
        Ok::<_, PlanError>(threads.collect::<Vec<_>>())
    };
    assert_eq!(
        threads(&[("full_page_writes", "on"), ("threads", "8")]),
        Ok(vec![1, 8, 8, 8, 8])
    );
    assert_eq!(
        threads(&[("full_page_writes", "on"), ("clients", "20,10"), ("threads", "8,1")]),
        Ok(vec![8, 1, 8, 1])
    );
    assert!(matches!(
        threads(&[("clients", "4,8"), ("threads", "8,1")]),
        Err(PlanError::Cell { .. })
    ));
    let writer = plan(FILE, Size::Full, &[("writer.clients", "3")]).unwrap();
    assert!(
        writer
            .cells
            .iter()
            .all(|cell| cell.experiment.workloads[1].clients == 3)
    );
}

#[test]
fn a_parameter_may_be_called_as_a_count_is() {
    let file = FILE.replacen("[parameters]", "[parameters]\napp_threads = 2", 1);
    let with = |set: &[(&str, &str)]| plan(&file, Size::Full, &[&[("clients", "20,10")], set].concat()).unwrap();
    let (given, default) = (with(&[("app_threads", "3")]), with(&[]));
    for (cell, other) in given.cells.iter().zip(&default.cells) {
        assert_eq!(cell.experiment.parameters["app_threads"].to_string(), "3");
        assert_eq!(
            cell.experiment.workloads[0].threads,
            other.experiment.workloads[0].threads
        );
    }
}

#[test]
fn a_workload_can_be_left_out() {
    let plan = plan(
        FILE,
        Size::Medium,
        &[("workload", "reader,writer + reader"), ("full_page_writes", "on")],
    )
    .unwrap();
    assert_eq!(cells(&plan), "4/on/reader 4/on/reader+writer");
    let [one, both] = plan.cells.as_slice() else {
        panic!("two cells")
    };
    assert_eq!(one.experiment.workloads.len(), 1);
    assert_eq!(one.experiment.metrics.keys().collect::<Vec<_>>(), ["all"]);
    assert_eq!((both.experiment.workloads.len(), both.experiment.metrics.len()), (2, 2));
}

#[test]
fn passwords_of_targets_are_not_shown() {
    let set = [("target", "embedded:16, postgres://ann:secret@a/x"), ("clients", "4")];
    let plan = plan(FILE, Size::Full, &set).unwrap();
    assert_eq!(plan.factors[2].levels, ["embedded:16", "postgres://ann:***@a/x"]);
    assert!(!serde_json::to_string(&plan.cells).unwrap().contains("secret"));
    let target = plan.cells[1].experiment.target.as_ref().map(Address::given);
    assert_eq!(target, Some("postgres://ann:secret@a/x"));
    let same = [("target", "postgres://a:b@c/,postgres://a:d@c/")];
    assert_eq!(super::tests::plan(FILE, Size::Full, &same), Err(PlanError::SameTargets));
}

#[test]
fn stages_follow_the_warm_up() {
    let file = "title = \"t\"\n[[workload]]\nname = \"a\"\nclients = 8\nscript = \"x\"\n[[workload]]\nname \
                = \"b\"\nscript = \"y\"\n\
                [[stage]]\nname = \"ramp\"\nlasts = \"30s\"\nclients = { from = 1, to = 8 }\n\
                [[stage]]\nname = \"hold\"\nlasts = \"1m\"\nrate = 50\nworkloads = [\"b\"]\n[size.small]\n\
                stage.hold.lasts = \"5s\"\n";
    let plan = |set: &[(&str, &str)]| super::tests::plan(file, Size::Small, set);
    let run = plan(&[]).unwrap().cells.remove(0).experiment;
    let phases = run.phases();
    let names: Vec<_> = phases
        .iter()
        .map(|phase| (phase.name.as_str(), phase.measured))
        .collect();
    assert_eq!(names, [("warmup", false), ("ramp", true), ("hold", true)]);
    assert_eq!(run.measure, Some(Duration::from_secs(35)));
    let only_a = plan(&[("workload", "a")]).unwrap().cells.remove(0).experiment;
    assert_eq!(only_a.stages.len(), 1);
    assert!(plan(&[("stage.hold.lasts", "5s,9s")]).is_ok());
}

#[test]
fn what_cannot_be_planned() {
    let mistakes: [&[(&str, &str)]; 18] = [
        &[("cleints", "1,2")],
        &[("clients", "1,0")],
        &[("clients", "1..20000")],
        &[("clients", "5..1:2")],
        &[("clients", "1,,2")],
        &[("rows", "many")],
        &[("plan.repetitions", "1,2")],
        &[("plan.order", "sorted")],
        &[("workload", "raeder")],
        &[("state", "fresh")],
        &[("data.cache", "hot")],
        &[("server.path", "tcpp")],
        &[("stage.ramp.lasts", "5s")],
        &[("reader.clients", "1,2")],
        &[("clients", "2,4"), ("threads", "1,4")],
        &[("rows", "1..2000"), ("skew", "1..2:0.001")],
        &[("target", "")],
        &[("shared_bufers", "1GB,2GB")],
    ];
    let said = mistakes.map(|set| {
        let typed: Vec<_> = set
            .iter()
            .map(|(name, value)| format!("--set {name}={value}"))
            .collect();
        format!("# {}\n{}\n", typed.join(" "), plan(FILE, Size::Full, set).unwrap_err())
    });
    insta::assert_snapshot!(said.join("\n"));
}

/// A file with these factors and this plan.
fn varied(factors: &[Vec<i64>], exclude: &[Vec<Option<usize>>], order: &str) -> String {
    let names = ["a", "b", "c"];
    let mut text =
        "title = \"t\"\n[parameters]\na = 0\nb = 0\nc = 0\n[[workload]]\nscript = \"select 1\"\n[factors]\n".to_owned();
    for (name, levels) in names.iter().zip(factors) {
        text.push_str(&format!("{name} = {levels:?}\n"));
    }
    text.push_str(&format!("[plan]\norder = \"{order}\"\nexclude = ["));
    for cell in exclude {
        let levels = cell.iter().zip(factors).zip(names);
        let levels =
            levels.filter_map(|((index, levels), name)| Some(format!("{name} = {}", levels[(*index)? % levels.len()])));
        let levels: Vec<_> = levels.collect();
        if !levels.is_empty() {
            text.push_str(&format!("{{ {} }}, ", levels.join(", ")));
        }
    }
    text + "]\n"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_is_measured_as_often_as_asked_for(
        factors in prop::collection::vec(prop::collection::vec(-3_i64..4, 1..5), 1..4),
        exclude in prop::collection::vec(prop::collection::vec(prop::option::of(0_usize..5), 3), 0..4),
        order in prop::sample::select(Order::NAMES.to_vec()),
        repetitions in 1_usize..5,
        seed in any::<u64>(),
    ) {
        let Ok(experiment) = Experiment::parse(Path::new("t.toml"), &varied(&factors, &exclude, order)) else {
            // Only if everything is excluded.
            prop_assert!(!exclude.is_empty());
            return Ok(());
        };
        let plan = experiment.plan(Size::Full, &[], Some(repetitions), seed, 1).unwrap();
        let combinations: usize = factors.iter().map(|levels| levels.iter().collect::<HashSet<_>>().len()).product();
        prop_assert!(plan.cells.len() <= combinations);
        prop_assert!(!exclude.is_empty() || plan.cells.len() == combinations);
        let mut seen = HashSet::new();
        for (position, run) in plan.runs.iter().enumerate() {
            prop_assert_eq!(run.number, position + 1);
            prop_assert!(plan.cell_of(run).is_some());
            prop_assert!((1..=repetitions).contains(&run.repetition));
            prop_assert!(seen.insert((text(&run.cell), run.repetition)), "{:?} twice", run);
        }
        prop_assert_eq!(seen.len(), plan.cells.len() * repetitions);
        let again = experiment.plan(Size::Full, &[], Some(repetitions), seed, 64).unwrap();
        prop_assert_eq!(&again.runs, &plan.runs);
        if order != "random" {
            for (index, of_repetition) in plan.runs.chunks(plan.cells.len()).enumerate() {
                prop_assert!(of_repetition.iter().all(|run| run.repetition == index + 1));
            }
        }
    }

    #[test]
    fn any_levels_are_planned_or_refused(name in "(clients|rows|skew|work_mem|workload|state|measure|\\PC{0,8})",
        value in "(-?[0-9.:,]{0,16}|[a-z+,]{0,20}|\\PC{0,12})") {
        if let Ok(plan) = plan(FILE, Size::Medium, &[(name.as_str(), value.as_str())]) {
            prop_assert!(!plan.cells.is_empty() && plan.runs.len() >= plan.cells.len());
        }
    }
}

#[test]
fn the_order_follows_from_the_seed_alone() {
    let order = |seed| {
        let plan = experiment(FILE).plan(Size::Full, &[], Some(1), seed, 4).unwrap();
        plan.runs
            .iter()
            .map(|run| text(&run.cell))
            .collect::<Vec<_>>()
            .join(" ")
    };
    insta::assert_snapshot!([1, 2, 3].map(order).join("\n"));
}

#[test]
fn secrets_among_parameters_are_not_shown_as_levels() {
    let file = "title = \"t\"\n[parameters]\napi_token = \"t\"\ndsn = \"mysql://db/x\"\nkey = 3\n[[workload]]\n\
                script = \"select 1\"\n";
    // By its name, and by what it is.
    for (name, levels) in [("api_token", "s1,s2"), ("dsn", "mysql://ann:s1@h/x,mysql://ann:s2@h/x")] {
        let refused = plan(file, Size::Full, &[(name, levels)]);
        assert_eq!(refused, Err(PlanError::SecretLevels { name: name.to_owned() }));
    }
    // Named, the levels can be told apart, and what they mean is hidden.
    let factors = "[factors.who]\na = { api_token = \"s3cret\" }\nb = { dsn = \"mysql://ann:s3cret@h/x\" }\n";
    let named = plan(&format!("{file}{factors}"), Size::Full, &[]).unwrap();
    assert_eq!(named.factors[0].levels, ["a", "b"]);
    let shown = format!("{:?} {}", named.factors, serde_json::to_string(&named.cells).unwrap());
    assert!(!shown.contains("s3cret") && shown.contains("***"), "{shown}");
    // Numbers and other texts are levels as ever.
    for (name, levels) in [("key", "3,4"), ("dsn", "mysql://a/x,mysql://b/x")] {
        let plan = plan(file, Size::Full, &[(name, levels)]).unwrap();
        assert_eq!(
            plan.factors.last().unwrap().levels,
            levels.split(',').collect::<Vec<_>>()
        );
    }
}

//! Several cells as one load: each on a server of its own where it needs one, so that all can be up at once.

use super::by_runs::by_runs;
use super::sequence::{CUT, PARTS};
use super::{AT_MOST, DETECT, MOST, SLICE, TurnsError, memory, only_varied, varied};
use crate::experiment::checked;
use crate::run::preflight::levels;
use dyno_archive::plan::{Cell, FurtherServer, Order, Plan, PlannedRun, Resolved};
use dyno_archive::{Turns, Way};
use dyno_target::host::{available_memory_bytes, host_facts};
use dyno_target::target::{EMBEDDED, without_secrets};
use std::collections::HashSet;
use std::time::Duration;

/// The longest name that a level gives to a server.
const LONGEST_NAME: usize = 40;

/// `plan`, of two cells or more that differ in one factor, with all measured beside each other for at most `at_most`:
/// one run of each, or several if they cannot be up at once and need not.
///
/// # Errors
/// There is one cell, they differ in several factors, or they cannot be measured at once.
pub fn compared(plan: Plan, turns: Turns, at_most: Duration) -> Result<Plan, TurnsError> {
    let several = varied(&plan.cells);
    if several.len() > 1 {
        return Err(TurnsError::Several {
            cells: plan.cells.len(),
            factors: several
                .iter()
                .map(|(factor, levels)| format!("the {levels} values of {factor}"))
                .collect(),
        });
    }
    let way = turns.way.clone();
    let why = match prepared(plan.clone(), turns.clone(), at_most) {
        Ok(prepared) => {
            let short = |available| memory::is_short(&plan, host_facts(None).capacity(), available);
            match available_memory_bytes().and_then(short) {
                None => return Ok(prepared),
                Some(why) => why,
            }
        }
        Err(TurnsError::NotAtOnce { why }) => why,
        Err(error) => return Err(error),
    };
    match way {
        Way::AtOnce => Err(TurnsError::NotAtOnce { why }),
        _ => by_runs(plan, turns, at_most, why),
    }
}

/// `plan`, with its cells compared if it says that they are paired: as by `dyno versus` without options.
///
/// # Errors
/// As of [`compared`].
pub fn ordered(plan: Plan) -> Result<Plan, TurnsError> {
    if plan.order != Order::Paired {
        return Ok(plan);
    }
    let turns = Turns {
        way: Way::InSlices,
        slice: SLICE,
        may_grow: true,
        detect: DETECT,
    };
    compared(plan, turns, AT_MOST)
}

/// `plan` with all cells measured in turn or at once; they may differ in several factors.
pub(in crate::run) fn prepared(plan: Plan, turns: Turns, at_most: Duration) -> Result<Plan, TurnsError> {
    let mut plan = plan;
    let sides = variants(&plan)?.len() as u128;
    for cell in &mut plan.cells {
        check(&cell.experiment)?;
        let slice = turns.slice;
        let slices = cell.experiment.warmup.as_nanos().div_ceil(slice.as_nanos().max(1));
        // Each side warms up in as many.
        let slices = slices.next_multiple_of(sides);
        cell.experiment.warmup = slice.saturating_mul(u32::try_from(slices).unwrap_or(u32::MAX));
        cell.experiment.measure = Some(at_most);
        // One interval is what counts of a slice.
        let cut = match turns.way {
            Way::AtOnce => 0,
            _ => CUT,
        };
        cell.experiment.interval = slice / PARTS * (PARTS - cut);
    }
    plan.turns = Some(turns.clone());
    plan.baseline = plan.cells[0].levels.clone();
    plan.runs = plan
        .cells
        .iter()
        .zip(1..)
        .map(|(cell, number)| planned(cell, number))
        .collect();
    one(&plan)?;
    Ok(plan)
}

fn planned(cell: &Cell, number: usize) -> PlannedRun {
    PlannedRun {
        number,
        cell: cell.levels.clone(),
        repetition: 1,
    }
}

/// The cells of a plan that has several.
fn variants(plan: &Plan) -> Result<&[Cell], TurnsError> {
    match plan.cells.len() {
        0 | 1 => Err(TurnsError::Alike),
        cells if cells > MOST => Err(TurnsError::TooMany { cells }),
        _ => Ok(&plan.cells),
    }
}

/// What cannot be measured in turn whatever it is beside.
fn check(experiment: &Resolved) -> Result<(), TurnsError> {
    let why = if !experiment.servers.is_empty() {
        "the experiment has several servers"
    } else if !experiment.load_hosts.is_empty() {
        "the load comes from several hosts"
    } else if !experiment.stages.is_empty() {
        "the experiment has stages"
    } else if experiment
        .workloads
        .iter()
        .any(|workload| workload.transactions_per_client.is_some())
    {
        "a workload ends after a number of transactions"
    } else if experiment
        .workloads
        .iter()
        .any(|workload| !workload.start_delay.is_zero())
    {
        "a workload begins later than the others"
    } else {
        return Ok(());
    };
    Err(TurnsError::NotAtOnce { why: why.to_owned() })
}

/// Refuses cells that are the same.
pub(super) fn alike(plan: &Plan) -> Result<(), TurnsError> {
    let cells = variants(plan)?;
    for (place, other) in cells.iter().enumerate() {
        let same = cells[..place].iter().find(|cell| cell.experiment == other.experiment);
        match same {
            None => {}
            Some(_) if cells.len() == 2 => return Err(TurnsError::Alike),
            Some(same) => {
                return Err(TurnsError::Equal {
                    one: levels(same),
                    other: levels(other),
                });
            }
        }
    }
    Ok(())
}

/// The cells of a plan in turns as one experiment, which is what is driven: the workloads of the first, then those of
/// the second, and so on. It has one cell, without levels, and one run.
pub(in crate::run) fn one(plan: &Plan) -> Result<Plan, TurnsError> {
    alike(plan)?;
    let cells = variants(plan)?;
    let turns = plan.turns.as_ref().ok_or(TurnsError::Alike)?;
    let names = names(cells);
    let mut both = cells[0].experiment.clone();
    let others = || cells.iter().map(|cell| &cell.experiment).enumerate().skip(1);
    if others().any(|(_, other)| other.warmup != both.warmup) {
        return Err(TurnsError::NotAtOnce {
            why: "the warm-up differs between the variants".to_owned(),
        });
    }
    both.interval = turns.slice / PARTS;
    // They are asked and worked out for each side alone.
    both.metrics.clear();
    both.checks.clear();
    both.outputs.clear();
    both.server_name = Some(names[0].clone());
    let rename = |name: &str, side: usize| format!("{name}-{}", names[side]);
    for workload in &mut both.workloads {
        workload.name = rename(&workload.name, 0);
    }
    for (side, other) in others() {
        let server = server_of(cells, side)?;
        for workload in &other.workloads {
            let mut workload = workload.clone();
            workload.name = rename(&workload.name, side);
            workload.server = (server != 0).then(|| names[server].clone());
            both.workloads.push(workload);
        }
        if server == side {
            let further = FurtherServer {
                target: other.target.clone(),
                path: other.path,
                locale: other.locale.clone(),
                settings: other.settings.clone(),
                data: other.data.clone(),
                ..FurtherServer::default()
            };
            both.servers.insert(names[side].clone(), further);
        }
    }
    let both = checked(both).map_err(|cause| TurnsError::NotAtOnce { why: cause.to_string() })?;
    let cell = Cell {
        levels: [].into(),
        experiment: both,
    };
    Ok(Plan {
        factors: Vec::new(),
        runs: vec![planned(&cell, 1)],
        baseline: [].into(),
        cells: vec![cell],
        ..plan.clone()
    })
}

/// The side whose server this one is measured on: its own, or that of one before it, if it is not dyno's own and is to
/// be the same for both.
fn server_of(cells: &[Cell], side: usize) -> Result<usize, TurnsError> {
    let address = |experiment: &Resolved| {
        let target = experiment.target.as_ref().map_or(EMBEDDED, |target| target.given());
        (!target.starts_with(EMBEDDED)).then(|| without_secrets(target))
    };
    let own = &cells[side].experiment;
    let Some(its) = address(own) else { return Ok(side) };
    let mut before = cells[..side].iter().map(|cell| &cell.experiment).enumerate();
    let Some((server, other)) = before.find(|(_, other)| address(other).as_ref() == Some(&its)) else {
        return Ok(side);
    };
    let what = match (other.settings == own.settings, other.data == own.data) {
        (true, true) => return Ok(server),
        (false, _) => "settings",
        (true, false) => "data",
    };
    Err(TurnsError::NotAtOnce {
        why: format!("{its} cannot have two {what} at once"),
    })
}

/// What the servers are called: by what differs, if that is one factor.
fn names(cells: &[Cell]) -> Vec<String> {
    let factor = only_varied(cells).unwrap_or_default();
    let named = cells.iter().filter_map(|cell| cell.levels.get(factor)).map(|level| {
        let name: String = level.chars().map(harmless).take(LONGEST_NAME).collect();
        name.trim_matches('-').to_owned()
    });
    let named: Vec<String> = named.collect();
    let different: HashSet<&String> = named.iter().filter(|name| !name.is_empty()).collect();
    match different.len() == cells.len() {
        true => named,
        false => ('a'..='z').take(cells.len()).map(String::from).collect(),
    }
}

fn harmless(letter: char) -> char {
    match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => letter,
        _ => '-',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    fn plan(file: &str, set: &[(&str, &str)]) -> Result<Plan, TurnsError> {
        let experiment = Experiment::parse(Path::new("mine.toml"), &format!("title = \"t\"\n{file}")).unwrap();
        let set: Vec<_> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let plan = experiment.plan(Size::Small, &set, None, 7, 2).unwrap();
        let turns = Turns {
            way: Way::InSlices,
            slice: Duration::from_millis(500),
            may_grow: true,
            detect: 0.03,
        };
        compared(plan, turns, Duration::from_secs(60))
    }

    const FILE: &str = "[[workload]]\nname = \"w\"\nclients = 2\nscript = \"select 1;\"\n";

    #[test]
    fn each_version_has_its_server_and_its_workload() {
        let plan = plan(FILE, &[("target", "embedded:14,embedded:18")]).unwrap();
        assert_eq!((plan.runs.len(), plan.cells.len()), (2, 2));
        let one = one(&plan).unwrap();
        let both = &one.cells[0].experiment;
        assert_eq!(both.server_names().collect::<Vec<_>>(), ["embedded-14", "embedded-18"]);
        let workloads: Vec<_> = both
            .workloads
            .iter()
            .map(|workload| (workload.name.as_str(), both.server_of(workload)))
            .collect();
        assert_eq!(
            workloads,
            [("w-embedded-14", "embedded-14"), ("w-embedded-18", "embedded-18")]
        );
        assert_eq!(both.interval, Duration::from_millis(100));
        assert_eq!(plan.cells[0].experiment.interval, Duration::from_millis(400));
    }

    #[test]
    fn there_may_be_several_variants() {
        let plan = plan(FILE, &[("target", "embedded:14,embedded:16,postgres://u@127.0.0.1/d")]).unwrap();
        assert_eq!(plan.runs.len(), 3);
        let one = one(&plan).unwrap();
        let both = &one.cells[0].experiment;
        let workloads = both
            .workloads
            .iter()
            .map(|workload| both.server_of(workload).to_owned());
        let names = ["embedded-14", "embedded-16", "postgres---u-127-0-0-1-d"];
        assert_eq!(workloads.collect::<Vec<_>>(), names);
    }

    #[test]
    fn each_side_warms_up_in_as_many_slices() {
        let warmup_s = |file: &str, set: &[(&str, &str)]| {
            let plan = plan(&format!("{FILE}[phases]\nwarmup = \"{file}\"\n"), set).unwrap();
            plan.cells[0].experiment.warmup.as_secs_f64()
        };
        let (two, three) = ([("clients", "1,2")], [("clients", "1,2,3")]);
        // Of half a second.
        assert_eq!(warmup_s("0s", &two), 0.0);
        assert_eq!(warmup_s("100ms", &two), 1.0);
        assert_eq!(warmup_s("3s", &two), 3.0);
        assert_eq!(warmup_s("3s", &three), 3.0);
        assert_eq!(warmup_s("3100ms", &three), 4.5);
    }

    #[test]
    fn databases_may_be_of_different_kinds() {
        let plan = plan(FILE, &[("target", "embedded:18,embedded:mariadb")]).unwrap();
        let one = one(&plan).unwrap();
        let names: Vec<_> = one.cells[0].experiment.server_names().collect();
        assert_eq!(names, ["embedded-18", "embedded-mariadb"]);
    }

    #[test]
    fn one_server_that_is_there_is_shared_unless_it_would_have_to_differ() {
        let target = [("target", "postgres://u@127.0.0.1:5999/d"), ("clients", "1,2")];
        let plan_of = |set: &[(&str, &str)]| plan(FILE, set);
        let shared = one(&plan_of(&target).unwrap()).unwrap();
        assert!(shared.cells[0].experiment.servers.is_empty());
        assert_eq!(shared.cells[0].experiment.workloads.len(), 2);
        let by_runs = plan_of(&[target[0], ("settings.work_mem", "4MB,8MB")]).unwrap();
        assert_eq!(
            why(&by_runs),
            "postgres://u@127.0.0.1:5999/d cannot have two settings at once"
        );
    }

    /// Why they are measured by runs.
    fn why(plan: &Plan) -> &str {
        match &plan.turns.as_ref().unwrap().way {
            Way::ByRuns { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn runs_are_in_the_order_of_slices() {
        let stages =
            format!("{FILE}[[stage]]\nname = \"a\"\nlasts = \"1s\"\n[[stage]]\nname = \"b\"\nlasts = \"1s\"\n");
        let plan = plan(&format!("{stages}[phases]\nwarmup = \"1s\"\n"), &[("clients", "1,2")]).unwrap();
        assert_eq!(why(&plan), "the experiment has stages");
        // 60 s have room for five blocks of four runs of 3 s each.
        assert_eq!(plan.runs.len(), 20);
        for block in plan.runs.chunks(4) {
            let cells: Vec<_> = block.iter().map(|run| &run.cell).collect();
            assert!(cells[0] == cells[3] && cells[1] == cells[2] && cells[0] != cells[1]);
        }
        let last = plan.runs.last().unwrap();
        assert_eq!((last.number, last.repetition), (20, 10));
        assert_eq!(plan.cells[0].experiment.duration(), Some(Duration::from_secs(3)));
    }

    #[test]
    fn what_cannot_be_measured_in_turn_is_told() {
        let said = |file: &str, set: &[(&str, &str)]| plan(file, set).unwrap_err().to_string();
        for same in [&[][..], &[("clients", "2,2")], &[("work_mem", "4MB")]] {
            assert!(said(FILE, same).starts_with("nothing differs, so there are no two variants"));
        }
        let profiles = "[factors.profile]\na = { clients = 1 }\nb = { clients = 2 }\nc = { clients = 1 }\n";
        assert_eq!(
            said(&format!("{FILE}{profiles}"), &[]),
            "profile = a and profile = c are the same in everything that is measured: leave one out"
        );
        let several = said(FILE, &[("clients", "1,2"), ("work_mem", "4MB,8MB")]);
        assert!(
            several.contains("the 2 values of clients and the 2 values of work_mem make 4 cells:"),
            "{several}"
        );
        // Cells of the file's own differ as well.
        let included = "[factors]\nclients = [1]\nprotocol = [\"simple\"]\n[plan]\n\
                        include = [{ clients = 2, protocol = \"prepared\" }]\n";
        let several = said(&format!("{FILE}{included}"), &[]);
        assert!(
            several.contains("the 2 values of clients and the 2 values of protocol make 2 cells:"),
            "{several}"
        );
        let many = said(FILE, &[("clients", "1,2,3,4,5,6,7,8,9")]);
        assert!(
            many.contains("at most 8 variants are measured in turn, and these are 9"),
            "{many}"
        );
        let lua = FILE.replace("script = \"select 1;\"", "lua = \"oltp_point_select\"");
        let both = plan(&lua, &[("target", "embedded:18,embedded:mariadb")]).unwrap();
        assert!(why(&both).contains("one load with scripts in Lua"), "{both:?}");
    }
}

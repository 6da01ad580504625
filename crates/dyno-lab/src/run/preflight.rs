//! What can be wrong with a campaign, told before anything is made, changed or destroyed.

use super::external::{self, Terms};
use super::servers::{CellServer, CellServers};
use super::target::{name_of, named, names};
use super::{Progress, RunError, data, fleet, target, workload};
use crate::experiment::address;
use dyno_analysis::summary::metrics;
use dyno_archive::Run;
use dyno_archive::plan::{Cache, Path as Route, Resolved};
use dyno_archive::plan::{Cell, Plan};
use dyno_engine::{Stop, allow_descriptors};
use dyno_script::Lexis;
use dyno_target::host::{Capacity, resolve_size};
use dyno_target::target::{self as seam, Environment, External, Target, product, statements, without_secrets};
use std::collections::{HashMap, HashSet};

/// What a run has open beside its load for each server: the archive's files, a control connection and one for each
/// sampler, each with an event loop of its own.
pub(crate) const OTHER_DESCRIPTORS: u64 = 64;

/// Makes sure that the process may open what the largest cell needs.
pub(super) fn descriptors(plan: &Plan) -> Result<(), RunError> {
    // Agents see to it themselves.
    let cells = plan.cells.iter().filter(|cell| cell.experiment.load_hosts.is_empty());
    let sizes = cells.map(|cell| {
        let workloads = &cell.experiment.workloads;
        let clients: usize = workloads.iter().map(|workload| workload.clients).sum();
        (clients, workloads.iter().map(|workload| workload.threads).sum())
    });
    let (clients, threads) = sizes.max().unwrap_or_default();
    let servers = plan
        .cells
        .iter()
        .map(|cell| cell.experiment.server_names().count() as u64);
    let others = OTHER_DESCRIPTORS.saturating_mul(servers.max().unwrap_or(1));
    Ok(allow_descriptors(clients, threads, others)?)
}

/// The servers of each cell, in their order.
pub(super) fn servers<'a>(
    plan: &'a Plan,
    environment: Environment<'_>,
    stop: &Stop,
) -> Result<Vec<CellServers<'a>>, RunError> {
    let cells = plan.cells.iter();
    cells
        .map(|cell| CellServers::of(&cell.experiment, environment, stop))
        .collect()
}

/// Makes sure that the servers which are not dyno's own can be shared and restarted if that is asked for.
pub(super) fn terms(
    cells: &[CellServers<'_>],
    shared: bool,
    restart_command: Option<&str>,
    stop: &Stop,
) -> Result<(), RunError> {
    let mut servers = cells.iter().flat_map(CellServers::external);
    Ok(servers.try_for_each(|(_, server)| server.check_terms(shared, restart_command, &stop.flag()))?)
}

/// Looks at what can be seen of every cell without its server: scripts, the data's SQL, settings, addresses. The
/// first that cannot be measured is the error.
pub(super) fn rehearse(plan: &Plan, cells: &[CellServers<'_>], stop: &Stop) -> Result<(), RunError> {
    // Cells seldom differ in what is looked at here, and there may be thousands.
    let mut seen = HashSet::new();
    for (cell, servers) in plan.cells.iter().zip(cells) {
        let experiment = &cell.experiment;
        fleet::check(experiment).map_err(|cause| of_cell(cell, cause.into()))?;
        metrics::rehearse(experiment).map_err(|(name, cause)| of_cell(cell, RunError::Metric { name, cause }))?;
        let names: Vec<_> = experiment.parameters.keys().collect();
        let scripts: Vec<_> = experiment
            .workloads
            .iter()
            .map(|workload| (workload.protocol, workload.clients, &workload.scripts))
            .collect();
        let places = servers.all().map(|server| {
            let (experiment, data) = (&server.experiment, &server.experiment.data);
            let made = (&data.setup, &data.prepare, &data.finish, &data.tablespaces);
            let way = (server.target.to_string(), experiment.path, data.cache);
            (made, &experiment.locale, &experiment.settings, way)
        });
        let looked_at = (names, scripts, places.collect::<Vec<_>>());
        if !seen.insert(serde_json::to_string(&looked_at).unwrap_or_default()) {
            continue;
        }
        let looked = workload::rehearse(experiment, plan.seed, lexis_of(servers), stop);
        let looked = looked.and_then(|()| {
            servers
                .all()
                .try_for_each(|server| rehearse_server(servers, server, stop))
        });
        looked.map_err(|cause| of_cell(cell, cause))?;
    }
    Ok(())
}

/// By which rules scripts for a server of this name are usually read.
fn lexis_of<'a>(servers: &'a CellServers<'_>) -> impl Fn(&str) -> Lexis + 'a {
    |name| {
        let server = servers.all().find(|server| server.name == name);
        server.map_or_else(Lexis::default, |server| target::lexis(&server.experiment))
    }
}

fn rehearse_server(servers: &CellServers<'_>, server: &CellServer<'_>, stop: &Stop) -> Result<(), RunError> {
    rehearse_one(server, stop).map_err(|cause| servers.about(server, cause))
}

fn rehearse_one(server: &CellServer<'_>, stop: &Stop) -> Result<(), RunError> {
    let (experiment, target) = (&*server.experiment, &server.target);
    workload::check_prepare(experiment, stop)?;
    for (sql, name) in [experiment.data.placed_setup(), experiment.data.placed_finish()] {
        statements(&sql, name, target::lexis(experiment))?;
    }
    match target {
        Target::Embedded(embedded) => {
            embedded.rehearse(server.needs(&target::settings(experiment)))?;
            embedded.check_data(&data::of(experiment))?;
        }
        Target::External(server) => {
            if experiment.data.cache == Cache::Cold && !server.empties_cache() {
                return Err(RunError::ColdCache {
                    target: server.to_string(),
                });
            }
            check_route(&**server, experiment)?;
            // Its machine may be another one; whether the sizes can be read at all does not depend on it.
            let any = Capacity {
                memory_bytes: Some(1 << 40),
                cores: Some(64),
            };
            for value in experiment.settings.values() {
                resolve_size(value, any)?;
            }
        }
    }
    Ok(())
}

fn of_cell(cell: &Cell, cause: RunError) -> RunError {
    if cell.levels.is_empty() {
        return cause;
    }
    RunError::Cell {
        cell: levels(cell),
        cause: Box::new(cause),
    }
}

/// Looks at every cell without making or changing anything. The first that cannot be measured is the error.
pub(super) fn check(
    plan: &Plan,
    cells: &[CellServers<'_>],
    leave_settings: bool,
    restart_command: Option<&str>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    rehearse(plan, cells, stop).map_err(|cause| match stop.requested() {
        true => RunError::Stopped,
        false => cause,
    })?;
    for (cell, servers) in plan.cells.iter().zip(cells) {
        for (one, server) in servers.external() {
            progress.asks(&format!("Connecting to {server}"));
            let varied = varied_settings(cells, &one.name);
            let terms = Terms {
                leave: leave_settings,
                restart_command,
                varied: &varied,
            };
            let reachable = server.first_reachable(&stop.flag());
            let checked = reachable.map_err(RunError::from).and_then(|reachable| {
                check_locale(&*reachable, &one.experiment, stop)?;
                if one.experiment.data.cache == Cache::Cold {
                    reachable.check_empties_cache(&stop.flag())?;
                }
                external::check(&*reachable, &one.experiment, terms, stop)
            });
            checked.map_err(|cause| match stop.requested() {
                true => RunError::Stopped,
                false => of_cell(cell, servers.about(one, cause)),
            })?;
        }
    }
    Ok(())
}

/// The address of a server that is not dyno's own decides how clients connect to it.
fn check_route(server: &dyn External, experiment: &Resolved) -> Result<(), RunError> {
    let taken = server.routes().into_iter().map(|route| match route {
        seam::Route::Unix => Route::Unix,
        seam::Route::Tcp => Route::Tcp,
    });
    let other = experiment
        .path
        .and_then(|wanted| Some((wanted, taken.into_iter().find(|taken| *taken != wanted)?)));
    other.map_or(Ok(()), |(wanted, taken)| {
        Err(RunError::OtherRoute {
            target: server.to_string(),
            wanted,
            taken,
        })
    })
}

/// A database that is not dyno's own has the locale that it has.
fn check_locale(server: &dyn External, experiment: &Resolved, stop: &Stop) -> Result<(), RunError> {
    let Some(wanted) = &experiment.locale else {
        return Ok(());
    };
    let Some(found) = server.other_locale(wanted, &stop.flag())? else {
        return Ok(());
    };
    Err(RunError::OtherLocale {
        target: server.to_string(),
        wanted: wanted.clone(),
        found,
    })
}

/// The settings of the server `name` that are not the same in all cells of a kind of database: what one kind is set to
/// is no level of another.
fn varied_settings<'a>(cells: &'a [CellServers<'_>], name: &str) -> Vec<&'a str> {
    let mut firsts = HashMap::new();
    let of_name = cells
        .iter()
        .flat_map(CellServers::all)
        .filter(|server| server.name == name);
    let differing = of_name.flat_map(|server| {
        let kind = product(name_of(&server.experiment)).map(|product| product.key()).ok();
        let other = &server.experiment.settings;
        let first = *firsts.entry(kind).or_insert(other);
        let names = first.keys().chain(other.keys()).map(String::as_str);
        names.filter(move |name| first.get(*name) != other.get(*name))
    });
    let mut varied: Vec<&str> = differing.collect();
    varied.sort_unstable();
    varied.dedup();
    varied
}

/// The levels of a cell in words.
pub(super) fn levels(cell: &Cell) -> String {
    let each = cell.levels.iter().map(|(factor, level)| format!("{factor} = {level}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Takes `target` for those cells that measure it already: what it adds is its password.
pub(super) fn give_again(
    plan: &mut Plan,
    target: &str,
    environment: Environment<'_>,
    stop: &Stop,
) -> Result<(), RunError> {
    let flag = stop.flag();
    let now = named(target, environment, &flag)?.to_string();
    let measured = names(plan.cells.iter().map(|cell| &cell.experiment));
    let mut taken = false;
    for cell in &mut plan.cells {
        let name = name_of(&cell.experiment);
        let same = name == without_secrets(target) || named(name, environment, &flag)?.to_string() == now;
        if same {
            cell.experiment.target = Some(address(target.to_owned()));
            taken = true;
        }
    }
    if taken {
        return Ok(());
    }
    Err(RunError::OtherTarget {
        measured,
        now: without_secrets(target),
    })
}

/// Makes sure that the addresses still lead to where the `runs` so far were made: the environment has a say in them.
pub(super) fn check_same(plan: &Plan, cells: &[CellServers<'_>], runs: &[Run]) -> Result<(), RunError> {
    for (cell, servers) in plan.cells.iter().zip(cells) {
        // Of several hosts any may be the one that takes sessions now.
        let Some(server) = servers
            .main
            .target
            .external()
            .filter(|server| server.routes().len() == 1)
        else {
            continue;
        };
        let records = runs.iter().filter_map(|run| run.record.as_ref().ok());
        let now = server.to_string();
        let mut others = records.filter(|record| record.cell == cell.levels && record.target != now);
        if let Some(other) = others.next() {
            return Err(RunError::OtherTarget {
                measured: other.target.clone(),
                now,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, find};
    use dyno_archive::plan::Address;
    use dyno_archive::plan::Size;
    use std::path::Path;

    struct Nobody;

    impl Progress for Nobody {
        fn note(&mut self, _: &str) {}
    }

    fn environment(name: &str) -> Option<String> {
        (name == "DYNO_HOME").then(|| "/nowhere".to_owned())
    }

    fn plan(target: &str) -> Plan {
        let mut plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 7, 2).unwrap();
        plan.cells[0].experiment.target = Some(address(target.to_owned()));
        plan
    }

    #[test]
    fn a_password_is_given_again_for_the_same_database_only() {
        let recorded = "postgres://ann:***@db/x";
        for given in [
            "postgres://ann:s3cret@db/x",
            "postgres://ann@db:5432/x",
            "host=db user=ann dbname=x password=s3cret",
        ] {
            let mut plan = plan(recorded);
            give_again(&mut plan, given, &environment, &Stop::new()).unwrap();
            assert_eq!(
                plan.cells[0].experiment.target.as_ref().map(Address::given),
                Some(given)
            );
        }
        for other in ["postgres://ann:s3cret@db/y", "embedded"] {
            let mut plan = plan(recorded);
            let error = give_again(&mut plan, other, &environment, &Stop::new());
            let error = error.unwrap_err().to_string();
            assert!(error.contains("measures postgres://ann:***@db/x"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn an_address_and_a_path_that_contradict_each_other() {
        let set = [("path".to_owned(), "tcp,unix".to_owned())];
        let mut plan = find("pk-update").unwrap().plan(Size::Small, &set, None, 7, 2).unwrap();
        for cell in &mut plan.cells {
            cell.experiment.target = Some(address("host=127.0.0.1 port=1 user=ann dbname=x".to_owned()));
        }
        let servers = servers(&plan, &environment, &Stop::new()).unwrap();
        let refused = |number: usize| {
            let cell = &plan.cells[number].experiment;
            check_route(&**servers[number].main.target.external().unwrap(), cell).map_err(|error| error.to_string())
        };
        assert_eq!(refused(0), Ok(()));
        let error = refused(1).unwrap_err();
        assert!(
            error.contains("selects tcp") && error.contains("--set path=tcp"),
            "{error}"
        );
    }

    #[test]
    fn what_is_wrong_with_the_sql_of_data_is_told_by_its_line_in_the_file() {
        let refused = |data: &str| {
            let file = format!("title = \"t\"\n[data]\n{data}\n[[workload]]\nscript = \"select 1;\"\n");
            let experiment = Experiment::parse(Path::new("mine.toml"), &file).unwrap();
            let plan = experiment.plan(Size::Small, &[], None, 7, 2).unwrap();
            let servers = servers(&plan, &environment, &Stop::new()).unwrap();
            rehearse(&plan, &servers, &Stop::new()).unwrap_err().to_string()
        };
        let error = refused("setup = '''\ncreate table t (id int);\n\\set a 1\n'''");
        assert!(error.starts_with("mine.toml, line 5: \\set a 1 is or has"), "{error}");
        let error = refused("finish = '\\nosuch'");
        assert!(error.starts_with("mine.toml:3:11: "), "{error}");
        let error = refused("finish = \"\\n\\\\set a 1\"");
        assert!(error.starts_with("mine.toml, data.finish, line 2: "), "{error}");
    }

    #[test]
    fn a_locale_that_the_database_cannot_have_is_told_without_a_server() {
        let set =
            [("locale", "C"), ("target", "embedded:mariadb")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let plan = find("pk-update").unwrap().plan(Size::Small, &set, None, 7, 2).unwrap();
        let servers = servers(&plan, &environment, &Stop::new()).unwrap();
        let error = rehearse(&plan, &servers, &Stop::new()).unwrap_err().to_string();
        assert!(error.starts_with("locale = \"C\" is for PostgreSQL only"), "{error}");
    }

    #[test]
    fn a_setting_of_one_database_is_no_level_of_another() {
        let varied = |set: &[(&str, &str)]| {
            let set: Vec<_> = set
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let plan = find("pk-update").unwrap().plan(Size::Small, &set, None, 7, 2).unwrap();
            let servers = servers(&plan, &environment, &Stop::new()).unwrap();
            varied_settings(&servers, "main")
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let both = ("target", "embedded,embedded:mariadb");
        assert_eq!(varied(&[both]), [] as [&str; 0]);
        let of_one = [both, ("shared_buffers", "1GB,2GB"), ("plan.order", "listed")];
        assert_eq!(varied(&of_one), ["shared_buffers"]);
    }

    #[test]
    fn the_sql_of_each_database_is_split_by_its_own_rules() {
        let set = [("target".to_owned(), "embedded,embedded:mariadb".to_owned())];
        let file = "title = \"t\"\n[data]\nsetup = 'select 1 # \\nosuch'\n[[workload]]\nscript = \"select 1;\"\n";
        let experiment = Experiment::parse(Path::new("mine.toml"), file).unwrap();
        let plan = experiment.plan(Size::Small, &set, None, 7, 2).unwrap();
        let servers = servers(&plan, &environment, &Stop::new()).unwrap();
        let error = rehearse(&plan, &servers, &Stop::new()).unwrap_err().to_string();
        assert!(
            error.starts_with("the cell target = embedded cannot be measured: mine.toml:3:"),
            "{error}"
        );
    }

    #[test]
    fn a_cell_that_cannot_be_measured_is_named() {
        let sets = [("clients", "2,200"), ("settings.max_connections", "50")];
        let sets = sets.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let plan = find("pk-update").unwrap().plan(Size::Small, &sets, None, 7, 2).unwrap();
        let servers = servers(&plan, &environment, &Stop::new()).unwrap();
        let error = check(&plan, &servers, false, None, &mut Nobody, &Stop::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("the cell clients = 200 cannot be measured: "),
            "{error}"
        );
        assert!(
            error.contains("needs 207 connections, but the server allows 50"),
            "{error}"
        );
    }
}

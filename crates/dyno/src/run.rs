//! `dyno run`: from words to a request.

use crate::announcer::Announcer;
use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::live::LivePage;
use crate::terminal::{Results, Terminal};
use crate::{interrupt, page, say, series};
use dyno_archive::plan::{Address, Plan, Resolved};
use dyno_archive::{Archive, Campaign};
use dyno_engine::{Stop, ThreadOptions};
use dyno_fleet::start::{Cluster, LOCAL, RAY};
use dyno_lab::command::redacted;
use dyno_lab::experiment::plan::PlanError;
use dyno_lab::experiment::{self, Experiment};
use dyno_lab::run::{EMBEDDED, Emergency, Finished, Request, Resumption, RunError, turns};
use dyno_lab::series::{Selected, select};
use dyno_report as report;
use dyno_target::target::{Environment, storage, without_secrets};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// `dyno run`.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let archive = &arguments.archive.archive;
    let results = match arguments.json {
        true => Results::Aside,
        false => Results::Standard,
    };
    if arguments.experiments.is_empty() && arguments.script.is_none() {
        let name = arguments.resume.as_ref().and_then(Option::as_deref);
        if let Some(series) = series::to_resume(archive, name)? {
            return series::resume(series, arguments, &environment);
        }
        let resumption = Resumption {
            campaign: arguments.resume.clone().flatten(),
            archive: archive.clone(),
            target: arguments.target.clone(),
            on_failure: arguments.on_failure.map(Into::into),
            restart_command: arguments.restart_command.clone(),
            environment: &environment,
        };
        return make(archive, arguments.live, results, |progress, stop, emergency| {
            dyno_lab::run::resume(&resumption, progress, stop, emergency)
        });
    }
    let selected = match &arguments.script {
        Some(script) => Selected::One(Box::new(experiment::one_off(script)?)),
        None => select(&arguments.experiments)?,
    };
    let experiment = match selected {
        Selected::One(experiment) => driven(*experiment, arguments, &environment)?,
        Selected::Several { name, experiments } => return series::run(name, experiments, arguments, &environment),
    };
    let seed = arguments.seed.unwrap_or_else(new_seed);
    let plan = completed(planned(&experiment, &set_of(arguments), arguments, seed)?, arguments)?;
    if arguments.dry_run {
        dyno_lab::run::rehearse(&plan, arguments.target.as_deref(), &environment)?;
        let named = plan
            .cells
            .first()
            .and_then(|cell| cell.experiment.target.as_ref().map(Address::given));
        let target = arguments.target.as_deref().or(named).unwrap_or(EMBEDDED);
        let target = without_secrets(target);
        let archive = archive.display().to_string();
        let storage = |cell: &Resolved| storage(cell.target.as_ref().map_or(EMBEDDED, Address::given));
        return say::result(&report::plan(
            &plan,
            &target,
            Some(&archive),
            &storage,
            page::of_results(),
        ));
    }
    let request = request(plan, arguments, &environment);
    make(archive, arguments.live, results, |progress, stop, emergency| {
        dyno_lab::run::run(&request, progress, stop, emergency)
    })
}

/// What is asked of a campaign with this plan.
pub fn request<'a>(plan: Plan, arguments: &RunArguments, environment: Environment<'a>) -> Request<'a> {
    Request {
        plan,
        label: arguments.name.clone(),
        series: None,
        target: arguments.target.clone(),
        archive: arguments.archive.archive.clone(),
        command: redacted(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        restart_command: arguments.restart_command.clone(),
        leave_settings: arguments.leave_settings,
        share_server: arguments.share_server,
        sampling: !arguments.no_sampling,
        threads: ThreadOptions {
            transport: arguments.transport,
            cpus: arguments.cpus.clone().unwrap_or_default(),
        },
        environment,
    }
}

/// How many nodes of a Ray cluster are to drive the load.
fn nodes(cluster: &str, asked: Option<u16>, environment: Environment<'_>) -> Result<usize, Failure> {
    let there = Cluster::new(cluster, environment)?.nodes()?;
    match asked.map(usize::from) {
        None if there == 0 => Err(Failure::SetUp(format!(
            "the Ray cluster at {cluster} has no node with a CPU: start some"
        ))),
        None => Ok(there),
        Some(asked) if asked > there => Err(Failure::SetUp(format!(
            "the Ray cluster at {cluster} has {there} nodes with a CPU, fewer than --agents {asked}: each agent gets \
             one of its own"
        ))),
        Some(asked) => Ok(asked),
    }
}

/// The experiment, driven from the hosts that are asked for.
pub fn driven(
    mut experiment: Experiment,
    arguments: &RunArguments,
    environment: Environment<'_>,
) -> Result<Experiment, Failure> {
    let hosts = match (arguments.local_agents, &arguments.ray) {
        (Some(number), _) => vec![LOCAL.to_owned(); usize::from(number)],
        (None, Some(cluster)) => {
            experiment.drive_on(cluster.clone(), arguments.listen);
            vec![RAY.to_owned(); nodes(cluster, arguments.agents, environment)?]
        }
        (None, None) => arguments.hosts.clone(),
    };
    if !hosts.is_empty() && experiment.drive_from(hosts)? {
        say::aside(
            "note: the shares that the file has under [load] are of its own hosts; those of the command line share \
             the load by their cores",
        );
    }
    Ok(experiment)
}

/// The values of the command line, the target among them.
pub fn set_of(arguments: &RunArguments) -> Vec<(String, String)> {
    // It takes the place of all targets that the file names; a comma in it separates hosts, not levels.
    let target = arguments
        .target
        .as_ref()
        .map(|target| ("target".to_owned(), target.replace(',', "\\,")));
    // What --set says of it has the last word.
    let clients = arguments
        .clients
        .iter()
        .map(|clients| ("clients".to_owned(), clients.to_string()));
    clients.chain(arguments.set.iter().cloned()).chain(target).collect()
}

/// The plan of the experiment with these values.
pub fn planned(
    experiment: &Experiment,
    set: &[(String, String)],
    arguments: &RunArguments,
    seed: u64,
) -> Result<Plan, PlanError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let repetitions = arguments.repeat.map(|times| times as usize);
    experiment.plan(arguments.size.into(), set, repetitions, seed, cores)
}

/// The plan with what else is asked for.
pub fn completed(mut plan: Plan, arguments: &RunArguments) -> Result<Plan, Failure> {
    plan.on_failure = arguments.on_failure.map_or(plan.on_failure, Into::into);
    plan.max_errors = arguments.max_errors.unwrap_or(plan.max_errors);
    Ok(turns::ordered(plan)?)
}

/// Makes a campaign, with everybody told what becomes of it. Where `results` go aside, standard output gets what was
/// found as JSON.
pub fn make(
    archive: &Path,
    live: bool,
    results: Results,
    campaign: impl FnOnce(&mut Announcer<Terminal>, &Stop, &Emergency) -> Result<Finished, RunError>,
) -> Result<(), Failure> {
    let stop = Stop::new();
    let emergency = Emergency::default();
    interrupt::handle(&stop, &emergency)?;
    let page = live.then(|| LivePage::open(archive)).transpose()?;
    let mut announcer = Announcer::start(Terminal::new(results))?;
    let finished = campaign(&mut announcer, &stop, &emergency);
    let told = announcer.close().close();
    if let Some(page) = page {
        page.close();
    }
    let finished = finished?;
    let told = match Archive::new(archive).campaign(&finished.campaign.to_string_lossy()) {
        Some(campaign) => told.and(tell(&campaign, finished.planned, results)),
        None => told,
    };
    if finished.missing + finished.faulty == 0 {
        // What was measured is in the archive.
        told.map_err(Failure::part_way)?;
        return match finished.unrestored.as_slice() {
            [] => Ok(()),
            servers => Err(Failure::SetUp(format!(
                "the settings of {} are not restored, though all was measured",
                servers.join(" and ")
            ))),
        };
    }
    Err(Failure::PartWay(unfinished(archive, &finished)))
}

/// Says what the runs of a campaign that has ended show together, and where its report is.
fn tell(campaign: &Campaign, planned: usize, results: Results) -> Result<(), Failure> {
    let written = crate::report::of_ended(campaign);
    match results {
        Results::Standard => {
            if planned > 1 {
                say::result(&format!("\n{}", report::overview(campaign, page::of_results())))?;
            }
            match written {
                Some(file) => say::result(&format!("The report is {}", file.display())),
                None => Ok(()),
            }
        }
        Results::Aside => {
            if planned > 1 {
                say::aside(&format!(
                    "\n{}",
                    report::overview(campaign, page::of_asides()).trim_end()
                ));
            }
            say::result(&report::campaign_json(campaign, written.as_deref())?)
        }
    }
}

/// What to say of a campaign that lacks runs, or has some that do not count.
fn unfinished(archive: &Path, finished: &Finished) -> Option<String> {
    let Finished {
        planned,
        missing,
        faulty,
        ..
    } = finished;
    match (planned, missing, faulty) {
        (1, 0, _) => {
            let why = finished.failure.as_deref().unwrap_or("dyno show says why");
            return Some(format!("the run does not count: {why}"));
        }
        (1, ..) => {
            let what = match finished.only_archive {
                true => "the archived run is incomplete",
                false => "the run is incomplete",
            };
            return finished.failure.as_ref().map(|why| format!("{what}: {why}"));
        }
        (_, 0, _) => {
            return Some(format!(
                "{faulty} of {planned} runs do not count: too many of their transactions failed or clients were lost, \
                 or a check failed"
            ));
        }
        _ => {}
    }
    let name = finished.campaign.file_name().unwrap_or_default().to_string_lossy();
    let folder = match archive {
        usual if usual == Path::new("archive") => String::new(),
        other => format!(" --archive {}", redacted([other.to_string_lossy()])),
    };
    let why = finished
        .failure
        .as_ref()
        .map_or_else(String::new, |why| format!("{why}\n"));
    Some(format!(
        "{why}{missing} of {planned} runs are not complete. To measure them: dyno run --resume {name}{folder}"
    ))
}

/// A seed that is not the same twice: the time in nanoseconds.
pub fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to be typed again, and exact as a JSON number.
    (now.as_nanos() % (1 << 48)) as u64
}

//! `dyno check`: what a run would do, and whether the servers understand every statement.

use crate::announcer::Announcer;
use crate::cli::CheckArguments;
use crate::failure::Failure;
use crate::run::new_seed;
use crate::terminal::{Results, Terminal};
use crate::{interrupt, page, say};
use dyno_archive::plan::{Address, Resolved};
use dyno_engine::Stop;
use dyno_lab::experiment;
use dyno_lab::run::{EMBEDDED, Emergency, Tried, Untried, rehearse, try_statements};
use dyno_report as report;
use dyno_target::target::{storage, without_secrets};

/// `dyno check`.
pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let mut set = arguments.set.clone();
    set.extend(
        arguments
            .target
            .iter()
            .map(|target| ("target".to_owned(), target.replace(',', "\\,"))),
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = experiment::find(&arguments.experiment)?.plan(arguments.size.into(), &set, None, new_seed(), cores)?;
    rehearse(&plan, None, &environment)?;
    let first = plan.cells.first().and_then(|cell| cell.experiment.target.as_ref());
    let target = without_secrets(first.map_or(EMBEDDED, Address::given));
    let storage = |cell: &Resolved| storage(cell.target.as_ref().map_or(EMBEDDED, Address::given));
    say::result(&report::plan(&plan, &target, None, &storage, page::of_results()))?;
    let (stop, emergency) = (Stop::new(), Emergency::default());
    interrupt::handle_unmeasured(&stop, &emergency)?;
    let mut announcer = Announcer::start(Terminal::new(Results::Standard))?;
    let tried = try_statements(&plan, &environment, &mut announcer, &stop, &emergency);
    announcer.close().close()?;
    let tried = tried?;
    say::result(&format!(
        "\nStatements\n{}",
        tried.iter().map(shown).collect::<String>()
    ))?;
    let refused = tried
        .iter()
        .filter(|tried| matches!(tried.result, Err(Untried::Refused(_))))
        .count();
    match refused {
        0 => Ok(()),
        1 => Err("a server refuses 1 of these".to_owned().into()),
        _ => Err(format!("servers refuse {refused} of these").into()),
    }
}

/// What became of a script, in a line or more.
fn shown(tried: &Tried) -> String {
    let Tried { server, script, result } = tried;
    match result {
        Ok(1) => format!("  {script}: 1 statement prepared by {server}\n"),
        Ok(number) => format!("  {script}: {number} statements prepared by {server}\n"),
        Err(Untried::NotAsked(why)) => format!("  {script}: not prepared by {server}: {why}\n"),
        Err(Untried::Refused(why)) => format!(
            "  {script}: REFUSED by {server}: {}\n",
            why.trim().replace('\n', "\n    ")
        ),
    }
}

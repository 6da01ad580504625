//! `dyno clean`: what dyno keeps for later runs, shown, and removed if that is wanted. Results are never touched.

use crate::cli::CleanArguments;
use crate::failure::Failure;
use crate::say;
use dyno_lab::run::pending_restores;
use dyno_report::{KeptRow, kept as shown};
use dyno_target::embedded::home_folder;
use dyno_target::kept::{Kept, KeptKind, kept, remove_kept};
use dyno_target::target::{StopFlag, product};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// `dyno clean`.
pub fn clean(arguments: &CleanArguments) -> Result<(), Failure> {
    match &arguments.target {
        Some(target) => on_server(arguments, target),
        None => at_home(arguments, &home_folder(&|name| std::env::var(name).ok())?),
    }
}

fn at_home(arguments: &CleanArguments, home: &Path) -> Result<(), Failure> {
    let all = kept(home, &mut |cluster| say::aside(&format!("Checking {cluster}")))?;
    let chosen: Vec<&Kept> = chosen(arguments, &all, |kept| (&kept.name, kept.used))?;
    let rows = all.iter().map(|kept| KeptRow {
        name: kept.name.clone(),
        what: match kept.kind {
            KeptKind::Programs => kept.product,
            KeptKind::Unfinished => "unfinished installation",
            KeptKind::Cluster => "cluster",
            KeptKind::Data => "data",
        },
        bytes: kept.bytes,
        unused: unused(kept.used),
        in_use: kept.in_use,
        is_part: kept.kind == KeptKind::Data,
        goes: chosen.contains(&kept) && !kept.in_use,
    });
    say::result(&shown(&format!("Kept in {}", home.display()), rows))?;
    pending_restores(home, None)
        .iter()
        .for_each(|pending| say::aside(pending));
    // Data goes with its cluster, and programs go last.
    let goes_anyway = |kept: &Kept| {
        let of = |other: &&Kept| other.kind == KeptKind::Cluster && kept.name.starts_with(&format!("{}/", other.name));
        kept.kind == KeptKind::Data && chosen.iter().any(of)
    };
    let mut going: Vec<&Kept> = chosen.iter().copied().filter(|kept| !goes_anyway(kept)).collect();
    going.sort_by_key(|kept| kept.kind == KeptKind::Programs);
    remove(
        arguments,
        &going,
        |kept| (&kept.name, kept.in_use),
        |kept| {
            let removed = !kept.in_use && remove_kept(home, kept)?;
            Ok((!removed).then(|| "another dyno is using it".to_owned()))
        },
    )
}

fn on_server(arguments: &CleanArguments, target: &str) -> Result<(), Failure> {
    let stop = StopFlag::default();
    let server = product(target)?.external(target, &|name| std::env::var(name).ok())?;
    for warning in server.warnings() {
        say::aside(&format!("warning: {warning}"));
    }
    let server = server.first_reachable(&stop)?;
    let all = server.own_data(&stop)?;
    let chosen = chosen(arguments, &all, |data| (&data.name, data.changed))?;
    let rows = all.iter().map(|data| KeptRow {
        name: data.name.clone(),
        what: data.what,
        bytes: data.bytes,
        unused: unused(data.changed),
        in_use: data.in_use,
        is_part: false,
        goes: chosen.contains(&data) && !data.in_use,
    });
    say::result(&shown(&format!("Data of dyno in {server}"), rows))?;
    if let (Ok(home), Some(identity)) = (home_folder(&|name| std::env::var(name).ok()), server.identity(&stop)) {
        let pending = pending_restores(&home, Some(&identity));
        pending.iter().for_each(|pending| say::aside(pending));
    }
    remove(
        arguments,
        &chosen,
        |data| (&data.name, data.in_use),
        |data| {
            let mut notes = Vec::new();
            let holders = server.remove(&data.name, &mut notes, &stop)?;
            notes.iter().for_each(|note| say::aside(note));
            Ok(holders.map(|holders| format!("it is in use by {holders}")))
        },
    )
}

/// Those that are meant. Of what is not known when it was used it is not known either whether it is old.
fn chosen<'a, T>(
    arguments: &CleanArguments,
    all: &'a [T],
    about: impl Fn(&T) -> (&str, Option<SystemTime>),
) -> Result<Vec<&'a T>, Failure> {
    let is_called = |item: &T, word: &String| {
        let name = about(item).0;
        name == word || name == format!("dyno_{word}") || name.split(['/', '@']).any(|part| part == word)
    };
    if let Some(unknown) = arguments
        .names
        .iter()
        .find(|word| !all.iter().any(|item| is_called(item, word)))
    {
        return Err(
            format!("dyno keeps nothing named {unknown}; run dyno clean without a name to list everything").into(),
        );
    }
    let is_meant = |item: &&T| {
        let by_name = arguments.names.is_empty() || arguments.names.iter().any(|word| is_called(item, word));
        let by_age = arguments
            .older_than
            .is_none_or(|age| unused(about(item).1).is_some_and(|unused| unused >= age));
        by_name && by_age
    };
    Ok(all.iter().filter(is_meant).collect())
}

fn unused(since: Option<SystemTime>) -> Option<Duration> {
    // A clock that was set back says no time at all.
    since.map(|since| since.elapsed().unwrap_or_default())
}

/// Removes what was chosen if that was said; `about` gives the name of something and whether it is in use, `remove` the
/// reason why it stays.
fn remove<T>(
    arguments: &CleanArguments,
    chosen: &[&T],
    about: impl Fn(&T) -> (&str, bool),
    remove: impl Fn(&T) -> Result<Option<String>, Failure>,
) -> Result<(), Failure> {
    if chosen.is_empty() {
        return Ok(());
    }
    if !arguments.yes {
        let goes = chosen.iter().any(|item| !about(item).1);
        return say::result(match goes {
            true => "Nothing was removed; --yes removes the items marked with *.",
            false => "Nothing was removed, and nothing can be as long as it is in use.",
        });
    }
    let mut stays = false;
    for item in chosen {
        let (name, _) = about(item);
        match remove(item) {
            Ok(None) => say::aside(&format!("Removed {name}")),
            Ok(Some(reason)) => {
                stays = true;
                say::aside(&format!("{name} was not removed: {reason}"));
            }
            Err(Failure::SetUp(reason)) => {
                stays = true;
                say::aside(&format!("{name} was not removed: {reason}"));
            }
            Err(other) => return Err(other),
        }
    }
    match stays {
        true => Err(Failure::PartWay(None)),
        false => Ok(()),
    }
}

//! What of the server's parameters makes results questionable, and whether it has room for a load and its data.

use super::About;
use super::rights::Space;
use crate::oracle::connections::{self, most_clients};
use crate::oracle::facts::server_facts;
use crate::oracle::rights::AS_ADMINISTRATOR;
use crate::oracle::{Client, ClientError};
use crate::target::room_for_data;
use dyno_record::{Finding, Mark, Topic};
use std::path::Path;

pub(super) const DURABILITY: &str = "durability";
pub(super) const CONNECTIONS: &str = "connections";
pub(super) const CURSORS: &str = "cursors";
pub(super) const OVERHEAD: &str = "overhead";
pub(super) const ROOM: &str = "room";

/// The value with which each parameter that lets commits be lost is safe.
const SAFE: [(&str, &str); 2] = [("commit_wait", "'WAIT'"), ("commit_write", "'IMMEDIATE,WAIT'")];

/// With fewer cursors for a session, scripts of many statements do not run: each keeps one open.
const FEW_CURSORS: u64 = 50;

/// What makes each statement dearer: the parameter, the values that do not, and what the server does otherwise. The
/// first of the values is what it is set to.
const COSTLY: [(&str, &[&str], &str); 4] = [
    (
        "statistics_level",
        &["TYPICAL", "BASIC"],
        "the server times each step of each statement",
    ),
    ("sql_trace", &["FALSE"], "the server writes down every statement"),
    (
        "db_block_checking",
        &["FALSE", "OFF"],
        "the server checks each block that it changes",
    ),
    (
        "db_lost_write_protect",
        &["NONE"],
        "the server logs each block that it reads",
    ),
];

/// Whether a commit is safe.
pub(super) fn durability(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    if about.parameters.is_none() {
        return Ok(None);
    }
    let risky = server_facts(client)?.not_durable;
    if risky.is_empty() {
        let found = "redo is written at every commit: what is committed stays";
        return Ok(Some(Finding::ok(Topic::Settings, DURABILITY, found)));
    }
    let found = format!(
        "the server may lose what it reported as done ({}): its commits are faster than those of one that may not",
        risky.join(", ")
    );
    let statements = risky.iter().filter_map(|setting| {
        let name = setting.split(" = ").next()?;
        let (name, value) = SAFE.iter().find(|(known, _)| *known == name)?;
        Some(format!("alter system set {name} = {value}"))
    });
    let finding = Finding::note(Topic::Settings, DURABILITY, found).remedy(AS_ADMINISTRATOR);
    Ok(Some(finding.executing(statements)))
}

/// Whether it takes as many clients as the load has.
pub(super) fn connections(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let Some(limits) = connections::limits(client)? else {
        return Ok(None);
    };
    let most = limits
        .iter()
        .map(|limit| (most_clients(limit), limit))
        .min_by_key(|(most, _)| *most);
    let Some((most, limit)) = most else {
        return Ok(None);
    };
    if let Some(clients) = about.clients
        && let Err(error) = connections::check(&limits, clients)
    {
        let finding = Finding::problem(Topic::Settings, CONNECTIONS, error.to_string());
        return Ok(Some(finding.remedy(limit.remedy())));
    }
    let found = format!(
        "enough for a load of {most} clients, beside dyno's own ({})",
        limit.name
    );
    Ok(Some(Finding::ok(Topic::Settings, CONNECTIONS, found)))
}

/// Whether a session may keep its statements.
pub(super) fn cursors(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let allowed = about
        .parameters
        .as_ref()
        .and_then(|parameters| parameters.number("open_cursors"));
    Ok(allowed.map(|allowed| match allowed {
        FEW_CURSORS.. => {
            let found = format!("open_cursors is {allowed}: as many statements can scripts have");
            Finding::ok(Topic::Settings, CURSORS, found)
        }
        _ => {
            let found = format!(
                "open_cursors is {allowed}: a script with more statements fails with ORA-01000, as each keeps one open"
            );
            Finding::note(Topic::Settings, CURSORS, found)
                .remedy(AS_ADMINISTRATOR)
                .executing(["alter system set open_cursors = 300"])
        }
    }))
}

/// What is on that costs every statement.
pub(super) fn overhead(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let Some(parameters) = &about.parameters else {
        return Ok(None);
    };
    let costs = |(name, usual, _): &&(&str, &[&str], &str)| {
        let value = parameters.value(name).map(str::to_ascii_uppercase);
        value.is_some_and(|value| !value.is_empty() && !usual.contains(&value.as_str()))
    };
    let costly: Vec<_> = COSTLY.iter().filter(costs).collect();
    if costly.is_empty() {
        return Ok(None);
    }
    let what: Vec<String> = costly
        .iter()
        .map(|(name, _, what)| format!("{what} ({name})"))
        .collect();
    let statements = costly.iter().map(|(name, usual, _)| {
        format!(
            "alter system set {name} = {}",
            usual.first().unwrap_or(&"").to_lowercase()
        )
    });
    let finding = Finding::note(Topic::Settings, OVERHEAD, what.join("; ")).remedy(AS_ADMINISTRATOR);
    Ok(Some(finding.executing(statements)))
}

/// Whether the data has room, as far as a quota limits it: how far files may grow only an administrator sees.
pub(super) fn room(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let space = Space::of(client, about)?;
    // That there is none at all stands among the rights.
    let Some(allowed) = space.allowed_bytes.filter(|allowed| *allowed > 0) else {
        return Ok(None);
    };
    let free = allowed.saturating_sub(space.used_bytes);
    let place = format!("the quota on {}", space.tablespace);
    let finding = room_for_data(Topic::Settings, ROOM, Path::new(&place), free);
    Ok(Some(match finding.mark {
        Mark::Ok => finding,
        _ => finding.remedy(AS_ADMINISTRATOR).executing([space.unlimited(about)]),
    }))
}

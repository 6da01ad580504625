//! What of the server's settings makes results questionable, and its room.

use super::About;
use crate::host::free_bytes;
use crate::mysql::connections::{self, MAX_CONNECTIONS};
use crate::mysql::facts::server_facts;
use crate::mysql::rights::AS_ADMINISTRATOR;
use crate::mysql::{Client, ClientError};
use crate::target::room_for_data;
use dyno_record::{Finding, Topic};
use std::path::Path;

pub(super) const DURABILITY: &str = "durability";
pub(super) const BUILD: &str = "build";
pub(super) const CONNECTIONS: &str = "connections";
pub(super) const OVERHEAD: &str = "overhead";
pub(super) const ROOM: &str = "room";

/// Settings of durability that can be set while a server runs, with the value that is safe.
const SAFE: [(&str, &str); 2] = [("innodb_flush_log_at_trx_commit", "1"), ("sync_binlog", "1")];

/// What makes each statement dearer, or keeps it from being executed at all, when it is on.
const COSTLY: [(&str, &str); 2] = [
    ("general_log", "the server writes down every statement"),
    (
        "query_cache_type",
        "the server answers a select that it has answered before from a cache",
    ),
];

/// Whether a commit is safe.
pub(super) fn durability(client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    let risky = server_facts(client)?.not_durable;
    if risky.is_empty() {
        let found = "the log is written at every commit and pages twice: what is committed stays";
        return Ok(Some(Finding::ok(Topic::Settings, DURABILITY, found)));
    }
    let found = format!(
        "the server may lose what it reported as done ({}): its writes are faster than those of one that may not",
        risky.join(", ")
    );
    let safe = |setting: &String| {
        let name = setting.split(" = ").next()?;
        let (name, value) = SAFE.iter().find(|(known, _)| *known == name)?;
        Some(format!("set global {name} = {value}"))
    };
    let statements: Vec<String> = risky.iter().filter_map(safe).collect();
    let finding = Finding::note(Topic::Settings, DURABILITY, found);
    Ok(Some(match statements.len() == risky.len() {
        true => finding.remedy(AS_ADMINISTRATOR).executing(statements),
        false => finding
            .remedy("set innodb_doublewrite to ON in the server's option file and restart it")
            .executing(statements),
    }))
}

/// Whether it was built to be fast.
pub(super) fn build(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(about.version.to_ascii_lowercase().contains("-debug").then(|| {
        let found = "it was built for debugging, as no server in use is: it is slower";
        Finding::note(Topic::Settings, BUILD, found).remedy("measure a server that was built for use")
    }))
}

/// Whether it takes as many clients as the load has.
pub(super) fn connections(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let Some(allowed) = about.variables.number(MAX_CONNECTIONS) else {
        return Ok(None);
    };
    if let Some(clients) = about.clients
        && let Err(error) = connections::check(allowed, clients, "raise it on the server")
    {
        return Ok(Some(Finding::problem(Topic::Settings, CONNECTIONS, error.to_string())));
    }
    // Of a session it is what its account may have; 0: without limit.
    let own: Option<u64> = client.query_first("select @@session.max_user_connections")?;
    if let Some(own) = own.filter(|own| *own > 0 && *own < allowed) {
        let found = format!("this role may have {own} connections at most, dyno's own among them");
        let finding = match connections::check(own, about.clients.unwrap_or(0), "") {
            Err(_) if about.clients.is_some() => Finding::problem(Topic::Settings, CONNECTIONS, found),
            _ => Finding::note(Topic::Settings, CONNECTIONS, found),
        };
        return Ok(Some(finding.remedy(
            "raise it for more (max_user_connections of the account or of the server)",
        )));
    }
    let most = connections::most_clients(allowed);
    let found = format!("enough for a load of {most} clients, beside dyno's own ({MAX_CONNECTIONS})");
    Ok(Some(Finding::ok(Topic::Settings, CONNECTIONS, found)))
}

/// What is on that costs every statement.
pub(super) fn overhead(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let on = |(name, _): &&(&str, &str)| about.variables.get(name) == Some("ON");
    let on: Vec<_> = COSTLY.iter().filter(on).collect();
    if on.is_empty() {
        return Ok(None);
    }
    let what: Vec<String> = on.iter().map(|(name, what)| format!("{what} ({name})")).collect();
    let statements = on.iter().map(|(name, _)| format!("set global {name} = off"));
    Ok(Some(
        Finding::note(Topic::Settings, OVERHEAD, what.join("; "))
            .remedy(AS_ADMINISTRATOR)
            .executing(statements),
    ))
}

/// Whether the data has room.
pub(super) fn room(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    if !about.info.is_local() {
        return Ok(None);
    }
    let folder = about.variables.get("datadir").map(Path::new);
    // It may be a container's.
    let free = folder.and_then(|folder| Some((free_bytes(folder).ok()?, folder)));
    Ok(free.map(|(bytes, folder)| room_for_data(Topic::Settings, ROOM, folder, bytes)))
}

//! What of the server's settings makes results questionable, and its room.

use super::{About, value};
use crate::host::free_bytes;
use crate::postgres::Client;
use crate::postgres::database::not_durable;
use crate::postgres::facts::server_facts;
use crate::postgres::settings::{alter_system, check_connections, most_clients};
use crate::target::room_for_data;
use dyno_record::{Finding, Topic};
use std::path::Path;

pub(super) const DURABILITY: &str = "durability";
pub(super) const BUILD: &str = "build";
pub(super) const CONNECTIONS: &str = "connections";
pub(super) const COUNTING: &str = "counting";
pub(super) const ROOM: &str = "room";

/// What the server must do for its counters and sessions to be seen.
const COUNTED: [&str; 2] = ["track_activities", "track_counts"];

/// Whether a commit is safe.
pub(super) fn durability(client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    let facts = server_facts(client).map_err(|error| error.to_string())?;
    let risky = not_durable(&facts);
    if risky.is_empty() {
        let found = "fsync, full_page_writes and synchronous_commit are on: what is committed stays";
        return Ok(Some(Finding::ok(Topic::Settings, DURABILITY, found)));
    }
    let found = format!(
        "the server may lose what it reported as done ({}): its writes are faster than those of one that may not",
        risky.join(", ")
    );
    let names = risky.iter().filter_map(|setting| setting.split(" = ").next());
    Ok(Some(turned_on(Finding::note(Topic::Settings, DURABILITY, found), names)))
}

/// What switches these settings on.
fn turned_on<'a>(finding: Finding, names: impl Iterator<Item = &'a str>) -> Finding {
    let statements = names.filter_map(|name| alter_system(name, Some("on")));
    finding
        .remedy("as a superuser, execute")
        .executing(statements)
        .executing(["select pg_reload_conf()"])
}

/// Whether it was built to be fast.
pub(super) fn build(client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    let asserts: String = value(client, "select current_setting('debug_assertions')")?;
    Ok((asserts == "on").then(|| {
        let found = "it checks itself all the time (debug_assertions = on), which no server in use does: it is slower";
        Finding::note(Topic::Settings, BUILD, found).remedy("measure a server that was built without --enable-cassert")
    }))
}

/// Whether it takes as many clients as the load has.
pub(super) fn connections(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    if let Some(clients) = about.clients
        && let Err(error) = check_connections(client, clients).map_err(|error| error.to_string())?
    {
        return Ok(Some(Finding::problem(Topic::Settings, CONNECTIONS, error.to_string())));
    }
    let most = most_clients(client).map_err(|error| error.to_string())?;
    let found = format!("enough for a load of {most} clients, beside dyno's own (max_connections)");
    Ok(Some(Finding::ok(Topic::Settings, CONNECTIONS, found)))
}

/// Whether it counts at all.
pub(super) fn counting(client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    let mut off = Vec::new();
    for name in COUNTED {
        if value::<String>(client, &format!("select current_setting('{name}')"))? == "off" {
            off.push(name);
        }
    }
    if off.is_empty() {
        return Ok(None);
    }
    let found = format!(
        "the server does not note what is done ({} off): no waits, or no counters of tables and vacuums",
        off.join(" and ")
    );
    let finding = Finding::note(Topic::Settings, COUNTING, found);
    Ok(Some(turned_on(finding, off.into_iter())))
}

/// Whether the data has room.
pub(super) fn room(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    if !about.info.is_local() {
        return Ok(None);
    }
    // Only some roles see the row.
    let query = "select (select setting from pg_settings where name = 'data_directory')";
    let folder: Option<String> = value(client, query)?;
    // It may be a container's.
    let free = folder.and_then(|folder| Some((free_bytes(Path::new(&folder)).ok()?, folder)));
    Ok(free.map(|(bytes, folder)| room_for_data(Topic::Settings, ROOM, Path::new(&folder), bytes)))
}

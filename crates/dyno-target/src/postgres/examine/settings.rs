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
pub(super) const OVERHEAD: &str = "overhead";
pub(super) const ROOM: &str = "room";

/// What the server must do for its counters and sessions to be seen.
const COUNTED: [&str; 2] = ["track_activities", "track_counts"];

/// What the server writes of every statement, with what it writes of none.
const LOGGED: [(&str, &str); 3] = [
    ("log_statement", "none"),
    ("log_duration", "off"),
    ("log_min_duration_statement", "-1"),
];

const AS_SUPERUSER: &str = "as a superuser, execute";

/// Has the server take over what was altered.
const RELOAD: &str = "select pg_reload_conf()";

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
    Ok(Some(turned_on(
        Finding::note(Topic::Settings, DURABILITY, found),
        names,
    )))
}

/// What switches these settings on.
fn turned_on<'a>(finding: Finding, names: impl Iterator<Item = &'a str>) -> Finding {
    let statements = names.filter_map(|name| alter_system(name, Some("on")));
    finding.remedy(AS_SUPERUSER).executing(statements).executing([RELOAD])
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
    let most = most_clients(client).map_err(|error| error.to_string())? as u64;
    let Some((allowed, whose)) = own_limit(client)?.filter(|(allowed, _)| *allowed < most) else {
        let found = format!("enough for a load of {most} clients, beside dyno's own (max_connections)");
        return Ok(Some(Finding::ok(Topic::Settings, CONNECTIONS, found)));
    };
    let found = format!("{whose} may have {allowed} connections at most, dyno's own among them");
    Ok(Some(
        match about.clients.map(|clients| clients as u64) {
            Some(clients) if clients >= allowed => Finding::problem(
                Topic::Settings,
                CONNECTIONS,
                format!("{found}: too few for {clients} clients"),
            ),
            _ => Finding::note(Topic::Settings, CONNECTIONS, found),
        }
        .remedy("raise it for more (alter role … connection limit, alter database … connection limit)"),
    ))
}

/// How many connections this role, or this database, may have, if that is limited; a superuser's are not.
fn own_limit(client: &mut Client) -> Result<Option<(u64, &'static str)>, String> {
    let query = "select (select rolconnlimit from pg_roles where rolname = current_user and not rolsuper),
                        (select datconnlimit from pg_database where datname = current_database()
                            and not (select rolsuper from pg_roles where rolname = current_user))";
    let row = client.query_one(query, &[]).map_err(|error| client.explain(&error))?;
    let limits: [(Option<i32>, _); 2] = [(row.get(0), "this role"), (row.get(1), "this database")];
    let each = limits.into_iter().filter_map(|(limit, whose)| {
        // -1: without limit.
        let limit = u64::try_from(limit?).ok()?;
        Some((limit, whose))
    });
    Ok(each.min())
}

/// What is on that costs every statement.
pub(super) fn overhead(client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    let mut on = Vec::new();
    for (name, usual) in LOGGED {
        let found: String = value(client, &format!("select current_setting('{name}')"))?;
        let every = match name {
            // Only those that took long are no burden.
            "log_min_duration_statement" => found == "0",
            _ => found != usual,
        };
        if every {
            on.push((name, usual));
        }
    }
    if on.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = on.iter().map(|(name, _)| *name).collect();
    let found = format!(
        "the server writes statements to its log ({}), which takes time",
        names.join(", ")
    );
    let statements = on.iter().filter_map(|(name, usual)| alter_system(name, Some(usual)));
    Ok(Some(
        Finding::note(Topic::Settings, OVERHEAD, found)
            .remedy(AS_SUPERUSER)
            .executing(statements)
            .executing([RELOAD]),
    ))
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

//! Which server it is, where, and how it has let us in.

use super::{About, value};
use crate::postgres::Client;
use crate::postgres::address::Host;
use crate::target::round_trip as measured;
use dyno_record::{Finding, Topic};

pub(super) const SERVER: &str = "server";
pub(super) const LOG_IN: &str = "log-in";
pub(super) const ROUND_TRIP: &str = "round trip";

/// The first version that can be measured.
const OLDEST: u32 = 90_300;

/// The first version that says how a session was let in.
const TELLS_METHOD: u32 = 160_000;

/// The first version that says how a session is encrypted.
const TELLS_ENCRYPTION: u32 = 90_500;

pub(super) fn server(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let said: String = value(client, "select version()")?;
    // The rest is what compiled it for which machine.
    let product = said.split(" on ").next().unwrap_or(&said);
    let way = if is_tcp(about) { "TCP at " } else { "the unix socket " };
    let place = match about.info.is_local() {
        true => "on this machine",
        false => "on another machine",
    };
    let found = format!("{product}, over {way}{}, {place}", client.address());
    Ok(Some(match about.version {
        OLDEST.. => Finding::ok(Topic::Server, SERVER, found),
        _ => Finding::problem(Topic::Server, SERVER, found).remedy("take a server from version 9.3 on"),
    }))
}

/// Whether it is reached by the network, where others may listen.
fn is_tcp(about: &About) -> bool {
    !matches!(about.info.hosts().next(), Some(Host::Unix { .. }))
}

pub(super) fn log_in(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let superuser = "select coalesce((select rolsuper from pg_roles where rolname = current_user), false)";
    let mut found = format!("as {}", about.role);
    if value(client, superuser)? {
        found.push_str(", a superuser");
    }
    // The method and, behind a colon, who was recognised by it: also where nothing was asked for.
    let recognised: Option<String> = match about.version {
        TELLS_METHOD.. => value(client, "select system_user")?,
        _ => None,
    };
    let method = recognised.as_deref().and_then(|user| user.split(':').next());
    found.push_str(&match method.or(client.log_in_method()) {
        Some(method) => format!(", by {method}"),
        None => ", without being asked for a password".to_owned(),
    });
    if about.version >= TELLS_ENCRYPTION && is_tcp(about) {
        let query = "select ssl, version, cipher from pg_stat_ssl where pid = pg_backend_pid()";
        let row = client.query_opt(query, &[]).map_err(|error| client.explain(&error))?;
        found.push_str(&match row {
            Some(row) if row.get(0) => {
                let [version, cipher]: [Option<String>; 2] = [row.get(1), row.get(2)];
                let (version, cipher) = (version.unwrap_or_default(), cipher.unwrap_or_default());
                format!(", encrypted by {version} {cipher}")
            }
            _ => ", not encrypted".to_owned(),
        });
    }
    Ok(Some(Finding::ok(Topic::Server, LOG_IN, found)))
}

pub(super) fn round_trip(client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    measured(|| value::<i32>(client, "select 1").map(drop)).map(Some)
}

//! What a load will find on a PostgreSQL server, told without one: how it is reached, what its role may do and see, and
//! what of its settings makes results questionable. Nothing is changed.

mod rights;
mod server;
mod settings;

use super::address::{ConnectionInfo, Interruptible};
use super::facts::server_version;
use super::{Client, server_message};
use crate::target::StopFlag;
use dyno_record::{Finding, Topic};

/// What is known of the server from the beginning.
struct About {
    /// How it is reached: the first host that lets us in.
    info: ConnectionInfo,
    /// Who asks.
    role: String,
    version: u32,
    /// How many clients the load is to have.
    clients: Option<usize>,
}

/// One thing to look at; `None`: there is nothing to say of it. What goes wrong is an error in words.
type Look = fn(&mut Client, &About) -> Result<Option<Finding>, String>;

/// All of them, by what they are about.
const LOOKS: [(Topic, &str, Look); 17] = [
    (Topic::Server, server::SERVER, server::server),
    (Topic::Server, server::LOG_IN, server::log_in),
    (Topic::Server, server::ROUND_TRIP, server::round_trip),
    (Topic::Rights, rights::DATA, rights::data),
    (Topic::Rights, rights::SETTINGS, rights::settings),
    (Topic::Rights, rights::SESSIONS, rights::sessions),
    (Topic::Rights, rights::STATEMENTS, rights::statements),
    (Topic::Rights, rights::INPUT, rights::input),
    (Topic::Rights, rights::LOG, rights::log),
    (Topic::Rights, rights::CHECKPOINT, rights::checkpoint),
    (Topic::Rights, rights::CACHE, rights::cache),
    (Topic::Settings, settings::DURABILITY, settings::durability),
    (Topic::Settings, settings::BUILD, settings::build),
    (Topic::Settings, settings::CONNECTIONS, settings::connections),
    (Topic::Settings, settings::COUNTING, settings::counting),
    (Topic::Settings, settings::OVERHEAD, settings::overhead),
    (Topic::Settings, settings::ROOM, settings::room),
];

/// Looks at the server of an address.
pub(super) fn examine(info: &ConnectionInfo, clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
    let warnings = info.warnings().iter();
    let mut findings: Vec<Finding> = warnings
        .map(|warning| Finding::note(Topic::Server, "address", warning))
        .collect();
    let reached = info
        .first_reachable_until(stop)
        .and_then(|info| Ok((info.connect_to_ask(stop)?, info)));
    match reached {
        Ok((client, info)) => look(client, info, clients, &mut findings),
        Err(error) => findings.push(Finding::problem(Topic::Server, server::SERVER, error.to_string())),
    }
    findings
}

fn look(mut client: Interruptible, info: ConnectionInfo, clients: Option<usize>, findings: &mut Vec<Finding>) {
    let version = server_version(&mut client).map_err(|error| client.explain(&error));
    let role = value(&mut client, "select current_user::text");
    let (version, role) = match (version, role) {
        (Ok(version), Ok(role)) => (version, role),
        (Err(error), _) | (_, Err(error)) => {
            findings.push(unanswered(&error));
            return;
        }
    };
    let about = About {
        info,
        role,
        version,
        clients,
    };
    for (topic, subject, look) in LOOKS {
        match look(&mut client, &about) {
            Ok(finding) => findings.extend(finding),
            Err(error) if client.is_closed() => {
                findings.push(unanswered(&error));
                return;
            }
            // A relative of PostgreSQL may lack what is asked for.
            Err(error) => findings.push(Finding::note(topic, subject, format!("cannot be looked at: {error}"))),
        }
    }
}

/// The server lets us in and then says nothing.
fn unanswered(error: &str) -> Finding {
    let found = format!("lets this role in, but does not answer what it is asked: {error}");
    Finding::problem(Topic::Server, server::SERVER, found)
}

/// The only value of a query.
fn value<T>(client: &mut Client, query: &str) -> Result<T, String>
where
    T: for<'a> postgres::types::FromSql<'a>,
{
    let row = client.query_one(query, &[]).map_err(|error| client.explain(&error))?;
    row.try_get(0).map_err(|error| server_message(&error))
}

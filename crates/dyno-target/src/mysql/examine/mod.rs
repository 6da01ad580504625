//! What a load will find on a MariaDB or MySQL server, told without one: how it is reached, what its role may do and
//! see, and what of its settings makes results questionable. Nothing is changed.

mod rights;
mod server;
mod settings;

use super::address::ConnectionInfo;
use super::sampler::Survey;
use super::variables::Variables;
use super::{Client, ClientError, connect_until, reachable_until};
use crate::mysql::sampler::Lack;
use crate::target::{StopFlag, TargetError};
use dyno_record::{Finding, Topic};

/// What is known of the server from the beginning.
struct About {
    /// How it is reached: the first host that lets us in.
    info: ConnectionInfo,
    /// What it says of its version.
    version: String,
    variables: Variables,
    /// What of it can be sampled, and what is missing.
    survey: Survey,
    lacks: Vec<Lack>,
    /// How many clients the load is to have.
    clients: Option<usize>,
}

/// One thing to look at; `None`: there is nothing to say of it.
type Look = fn(&mut Client, &About) -> Result<Option<Finding>, ClientError>;

/// All of them, by what they are about.
const LOOKS: [(Topic, &str, Look); 15] = [
    (Topic::Server, server::SERVER, server::server),
    (Topic::Server, server::LOG_IN, server::log_in),
    (Topic::Server, server::ROUND_TRIP, server::round_trip),
    (Topic::Rights, rights::DATA, rights::data),
    (Topic::Rights, rights::LOADING, rights::loading),
    (Topic::Rights, rights::SETTINGS, rights::settings),
    (Topic::Rights, rights::SESSIONS, rights::sessions),
    (Topic::Rights, rights::STATEMENTS, rights::statements),
    (Topic::Rights, rights::LOG, rights::log),
    (Topic::Rights, rights::CHECKPOINT, rights::checkpoint),
    (Topic::Settings, settings::DURABILITY, settings::durability),
    (Topic::Settings, settings::BUILD, settings::build),
    (Topic::Settings, settings::CONNECTIONS, settings::connections),
    (Topic::Settings, settings::OVERHEAD, settings::overhead),
    (Topic::Settings, settings::ROOM, settings::room),
];

/// Looks at the server of an address.
pub(super) fn examine(info: &ConnectionInfo, clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
    let warnings = info.warnings.iter();
    let mut findings: Vec<Finding> = warnings
        .map(|warning| Finding::note(Topic::Server, "address", warning))
        .collect();
    let reached = reachable_until(info, stop).and_then(|info| Ok((connect_until(&info, stop)?, info)));
    let looked = match reached {
        Err(error) => {
            findings.push(server::unreached(&error));
            return findings;
        }
        Ok((client, info)) => look(client, info, clients, &mut findings),
    };
    if let Err(error) = looked {
        let found = format!("lets this role in, but does not answer what it is asked: {error}");
        findings.push(Finding::problem(Topic::Server, server::SERVER, found));
    }
    findings
}

fn look(
    mut client: Client,
    info: ConnectionInfo,
    clients: Option<usize>,
    findings: &mut Vec<Finding>,
) -> Result<(), TargetError> {
    let (survey, lacks) = Survey::take(&mut client)?;
    let about = About {
        version: client.query_first("select version()")?.unwrap_or_default(),
        variables: Variables::read(&mut client)?,
        info,
        survey,
        lacks,
        clients,
    };
    for (topic, subject, look) in LOOKS {
        match look(&mut client, &about) {
            Ok(finding) => findings.extend(finding),
            // A version may lack what is asked for.
            Err(error @ ClientError::Server(_)) => {
                findings.push(Finding::note(topic, subject, format!("cannot be looked at: {error}")));
            }
            Err(lost) => return Err(lost.into()),
        }
    }
    Ok(())
}

//! What a load will find on an Oracle server, told without one: how it is reached and what was agreed with it, what its
//! user may do and see, and what of its settings makes results questionable. Nothing is changed.
//!
//! Two clients are tried, as a run uses both: dyno's own session, which makes the load, and Oracle's crate, which asks
//! beside it. A user whom the server refuses is not tried a second time, since servers lock accounts after some
//! failures.

mod refused;
mod rights;
mod server;
mod settings;

use super::address::ConnectionInfo;
use super::own_session::{self, SessionError};
use super::parameters::Parameters;
use super::rights::refusable;
use super::{Client, ClientError, connect_until, reachable_until};
use crate::target::StopFlag;
use dyno_connect::ConnectError;
use dyno_record::{Finding, Mark, Topic};
use dyno_wire::{OraAgreed, OraError, OraVerifier, WireError};
use std::collections::BTreeSet;

pub(super) use server::spoken;

/// What is known of the server from the beginning.
struct About {
    /// How it is reached: the first host that lets us in.
    info: ConnectionInfo,
    /// What the load's sessions agree on with it; `None`: they are not let in.
    agreed: Option<OraAgreed>,
    /// Where they are connected to, in numbers.
    peer: String,
    /// The rights of this session that are for the whole database, and those on its own schema.
    privileges: BTreeSet<String>,
    /// `None`: this user may not read them.
    parameters: Option<Parameters>,
    /// The views that take a right and that this user may not read.
    hidden: BTreeSet<&'static str>,
    /// How many clients the load is to have.
    clients: Option<usize>,
}

/// What to do about a password that the crate cannot log in with, whatever it says itself.
const ONLY_11G: &str = "the server knows this password by a verifier of 11g only, which the load's sessions can log in \
                        by, but not the crate: have the password set anew (alter user … identified by …) while \
                        SQLNET.ALLOWED_LOGON_VERSION_SERVER is 12 or 12a in the server's sqlnet.ora, or not set";

/// One thing to look at; `None`: there is nothing to say of it.
type Look = fn(&mut Client, &About) -> Result<Option<Finding>, ClientError>;

/// All of them, by what they are about.
const LOOKS: [(Topic, &str, Look); 20] = [
    (Topic::Server, server::SERVER, server::server),
    (Topic::Server, server::BESIDE, server::beside),
    (Topic::Server, server::PROTOCOL, server::protocol),
    (Topic::Server, server::CHARACTERS, server::characters),
    (Topic::Server, server::ROUND_TRIP, server::round_trip),
    (Topic::Rights, rights::DATA, rights::data),
    (Topic::Rights, rights::OBJECTS, rights::objects),
    (Topic::Rights, rights::SETTINGS, rights::settings),
    (Topic::Rights, rights::COUNTERS, rights::counters),
    (Topic::Rights, rights::SESSIONS, rights::sessions),
    (Topic::Rights, rights::STATEMENTS, rights::statements),
    (Topic::Rights, rights::LOG_SWITCHES, rights::log_switches),
    (Topic::Rights, rights::PARAMETERS, rights::parameters),
    (Topic::Rights, rights::LOCK, rights::lock),
    (Topic::Rights, rights::CHECKPOINT, rights::checkpoint),
    (Topic::Settings, settings::DURABILITY, settings::durability),
    (Topic::Settings, settings::CONNECTIONS, settings::connections),
    (Topic::Settings, settings::CURSORS, settings::cursors),
    (Topic::Settings, settings::OVERHEAD, settings::overhead),
    (Topic::Settings, settings::ROOM, settings::room),
];

/// Looks at the server of an address.
pub(super) fn examine(info: &ConnectionInfo, clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
    let warnings = info.warnings.iter();
    let mut findings: Vec<Finding> = warnings
        .map(|warning| Finding::note(Topic::Server, "address", warning))
        .collect();
    let (info, agreed, peer) = match own_session::log_in(info, stop) {
        Ok((narrowed, own)) => {
            let agreed = own.session().agreed().clone();
            findings.push(server::log_in(&narrowed, &agreed));
            (narrowed, Some(agreed), own.endpoint().address.to_string())
        }
        Err(error) => {
            let may_differ = may_differ(&error);
            let finding = refused::finding(info, &error);
            let reached = if may_differ {
                reachable_until(info, stop).ok()
            } else {
                None
            };
            let Some(reached) = reached else {
                findings.push(Finding {
                    subject: server::SERVER.to_owned(),
                    ..finding
                });
                return findings;
            };
            findings.push(finding);
            let place = reached.host.to_string();
            (reached, None, place)
        }
    };
    let verifier = agreed.as_ref().and_then(|agreed| agreed.verifier);
    let looked = connect_until(&info, stop).map_err(|error| error.to_string());
    let looked = looked.and_then(|mut client| {
        let about = about(&mut client, info, (agreed, peer), clients).map_err(|error| error.to_string())?;
        look(&mut client, &about, &mut findings).map_err(|error| error.to_string())
    });
    // Which server it is comes first, though it was asked later.
    if let Some(at) = findings.iter().position(|finding| finding.subject == server::SERVER) {
        findings[..=at].rotate_right(1);
    }
    if let Err(error) = looked {
        let found = format!("what is asked beside the load goes through Oracle's own crate, which fails: {error}");
        let finding = Finding::problem(Topic::Server, server::BESIDE, found);
        findings.push(match verifier {
            Some(OraVerifier::Of11g) => finding.remedy(ONLY_11G),
            _ => finding,
        });
    }
    findings
}

/// Whether another client may do better: what this one cannot do is no word of the server's.
fn may_differ(error: &SessionError) -> bool {
    match error {
        SessionError::Endpoint(error) => !matches!(error, super::EndpointError::Host { .. }),
        SessionError::Connect(ConnectError::Protocol { cause, .. }) => {
            matches!(cause, WireError::Oracle(OraError::Verifier(_)))
        }
        SessionError::Connect(_) => false,
    }
}

fn about(
    client: &mut Client,
    info: ConnectionInfo,
    (agreed, peer): (Option<OraAgreed>, String),
    clients: Option<usize>,
) -> Result<About, ClientError> {
    let privileges = client.query::<String>("select privilege from session_privs")?;
    Ok(About {
        info,
        agreed,
        peer,
        privileges: privileges.into_iter().collect(),
        parameters: refusable(Parameters::read(client))?.ok(),
        hidden: rights::hidden(client)?,
        clients,
    })
}

fn look(client: &mut Client, about: &About, findings: &mut Vec<Finding>) -> Result<(), ClientError> {
    for (topic, subject, look) in LOOKS {
        match look(client, about) {
            Ok(finding) => findings.extend(finding),
            Err(lost @ ClientError::Lost(_)) => return Err(lost),
            // A version may lack what is asked for.
            Err(error) => {
                let found = format!("cannot be looked at: {error}");
                findings.push(Finding::note(topic, subject, found).at_most(Mark::Note));
            }
        }
    }
    Ok(())
}

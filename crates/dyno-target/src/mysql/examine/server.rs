//! Which server it is, where, and how it has let us in.

use super::About;
use crate::mysql::address::Host;
use crate::mysql::{Client, ClientError};
use crate::target::TargetError;
use crate::target::round_trip as measured;
use dyno_record::{Finding, Topic};

pub(super) const SERVER: &str = "server";
pub(super) const LOG_IN: &str = "log-in";
pub(super) const ROUND_TRIP: &str = "round trip";

/// What a server says of a database that the role may not use, and of one that there is not (MariaDB, "MariaDB Error
/// Codes").
const NO_DATABASE: [&str; 2] = ["1044", "1049"];

/// A server that does not let us in.
pub(super) fn unreached(error: &TargetError) -> Finding {
    let finding = Finding::problem(Topic::Server, SERVER, error.to_string());
    match refusal(error) {
        Some(code) if NO_DATABASE.contains(&code) => finding.remedy(
            "name a database in the address that the role may use, if only information_schema: dyno makes one of its \
             own for its data",
        ),
        _ => finding,
    }
}

/// The number of the error with which a server refuses the log-in.
fn refusal(error: &TargetError) -> Option<&str> {
    let TargetError::Connect(cause) = error else {
        return None;
    };
    match cause.downcast_ref::<ClientError>() {
        Some(ClientError::Connect(cause)) => match &**cause {
            dyno_connect::ConnectError::Refused { error, .. } => Some(error.code.as_str()),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn server(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let product = if about.survey.is_mariadb { "MariaDB" } else { "MySQL" };
    let way = match about.info.host {
        Host::Unix(_) => "the unix socket ",
        Host::Tcp { .. } => "TCP at ",
    };
    let place = match about.info.is_local() {
        true => "on this machine",
        false => "on another machine",
    };
    let found = format!("{product} {}, over {way}{}, {place}", about.version, client.address());
    Ok(Some(Finding::ok(Topic::Server, SERVER, found)))
}

pub(super) fn log_in(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let role: Option<String> = client.query_first("select current_user()")?;
    let mut value = |name: &str| -> Result<String, ClientError> {
        let row = client.query_first::<(String, String)>(&format!("show session status like '{name}'"))?;
        Ok(row.map(|(_, value)| value).unwrap_or_default())
    };
    let (cipher, version) = (value("Ssl_cipher")?, value("Ssl_version")?);
    let encryption = match (cipher.as_str(), &about.info.host) {
        // Nobody else listens there.
        ("", Host::Unix(_)) => String::new(),
        ("", Host::Tcp { .. }) => ", not encrypted".to_owned(),
        (cipher, _) => format!(", encrypted by {version} {cipher}"),
    };
    let found = format!(
        "as {}, by {}{encryption}",
        role.unwrap_or_default(),
        client.log_in_method()
    );
    Ok(Some(Finding::ok(Topic::Server, LOG_IN, found)))
}

pub(super) fn round_trip(client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    measured(|| client.execute("select 1")).map(Some)
}

//! Which server it is, where, and how it has let us in.

use super::About;
use crate::mysql::address::Host;
use crate::mysql::{Client, ClientError};
use crate::target::round_trip as measured;
use dyno_record::{Finding, Topic};

pub(super) const SERVER: &str = "server";
pub(super) const LOG_IN: &str = "log-in";
pub(super) const ROUND_TRIP: &str = "round trip";

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

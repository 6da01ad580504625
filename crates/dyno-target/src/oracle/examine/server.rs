//! Which server it is, where, how it has let both clients in, and what was agreed with it.

use super::About;
use crate::oracle::address::ConnectionInfo;
use crate::oracle::facts::server_facts;
use crate::oracle::{Client, ClientError};
use crate::target::round_trip as measured;
use dyno_record::{Finding, Topic};
use dyno_wire::OraAgreed;

pub(super) const SERVER: &str = "server";
pub(super) const LOG_IN: &str = "log-in";
pub(super) const BESIDE: &str = "log-in beside";
pub(super) const PROTOCOL: &str = "protocol";
pub(super) const CHARACTERS: &str = "characters";
pub(super) const ROUND_TRIP: &str = "round trip";

pub(super) fn server(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let version = server_facts(client)?.version;
    let place = match about.info.is_local() {
        true => "on this machine",
        false => "on another machine",
    };
    let found = format!("{version}, over TCP at {}, {place}", about.peer);
    Ok(Some(Finding::ok(Topic::Server, SERVER, found)))
}

/// How the load's sessions are let in.
pub(super) fn log_in(info: &ConnectionInfo, agreed: &OraAgreed) -> Finding {
    let verifier = agreed.verifier.map(|verifier| format!(", by a verifier of {verifier}"));
    let found = format!(
        "as {}{}, {}",
        info.schema(),
        verifier.unwrap_or_default(),
        encryption(agreed)
    );
    Finding::ok(Topic::Server, LOG_IN, found)
}

fn encryption(agreed: &OraAgreed) -> String {
    match &agreed.tls {
        Some(tls) => format!("encrypted by {tls}"),
        None => "not encrypted".to_owned(),
    }
}

/// That Oracle's crate is let in, or this would not be asked.
pub(super) fn beside(_client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    let found = "Oracle's own crate, which asks beside the load, is let in, too";
    Ok(Some(Finding::ok(Topic::Server, BESIDE, found)))
}

/// What both sides speak.
pub(super) fn protocol(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(about
        .agreed
        .as_ref()
        .map(|agreed| Finding::ok(Topic::Server, PROTOCOL, spoken(agreed))))
}

/// The same in words, which an account of a trial has, too.
pub(in crate::oracle) fn spoken(agreed: &OraAgreed) -> String {
    let fast = match agreed.fast {
        true => "log-in in two exchanges (fast authentication)",
        false => "log-in in five exchanges",
    };
    let ends = match agreed.marks_end {
        true => "the end of each response is marked",
        false => "ends of responses are found by reading them",
    };
    format!(
        "version {}, fields of version {}, packets of {} bytes, strings of {} bytes; {fast}; {ends}",
        agreed.protocol_version, agreed.field_version, agreed.packet_bytes, agreed.longest_string
    )
}

/// Whether characters are kept as they are.
pub(super) fn characters(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let Some(agreed) = &about.agreed else {
        return Ok(None);
    };
    let (own, national) = (agreed.character_set, agreed.national_character_set);
    if agreed.has_utf8() {
        let found = format!("the database has UTF-8 (AL32UTF8); its national characters are of set {national}");
        return Ok(Some(Finding::ok(Topic::Server, CHARACTERS, found)));
    }
    let found = format!(
        "the database has the character set of number {own}, not UTF-8 (national characters: {national}): the server \
         converts all text, and what it cannot express becomes question marks"
    );
    let remedy = "compare runs on databases of one character set only (nls_charset_name tells its name)";
    Ok(Some(
        Finding::note(Topic::Server, CHARACTERS, found)
            .remedy(remedy)
            .typing([format!("select nls_charset_name({own}) from dual;")]),
    ))
}

pub(super) fn round_trip(client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    measured(|| client.query_first::<u8>("select 1 from dual").map(drop)).map(Some)
}

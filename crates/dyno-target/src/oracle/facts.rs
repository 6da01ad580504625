//! The server as it describes itself: what a result must be read with.

use super::parameters::Parameters;
use super::rights::refusable;
use super::traits::traits;
use super::{Client, ClientError};
use dyno_record::ServerTraits;
use serde::Serialize;

/// The server's name with its version. All of it is one column since 18c; everybody may read both.
const BANNER: [&str; 2] = [
    "select banner_full from v$version where rownum = 1",
    "select banner from v$version where rownum = 1",
];

/// The size of the buffer cache as it is now, whoever chose it. 12.1 has these columns.
const CACHE: &str = "select bytes from v$sgainfo where name = 'Buffer Cache Size'";

/// Parameters that let a commit return before its redo is on disk, with what in their values says so.
const NOT_DURABLE: [(&str, &str); 2] = [("commit_wait", "NOWAIT"), ("commit_write", "NOWAIT")];

/// What is in the names of parameters that may hold a password or a key, or where one is.
const SECRET: [&str; 4] = ["passw", "secret", "wallet", "credential"];

/// Version and settings of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerFacts {
    /// As the server has it, such as `Oracle Database 19c Enterprise Edition … Version 19.3.0.0.0`.
    pub version: String,
    /// Parameters that do not have their defaults, by name; none where this user may not read them.
    pub settings: Vec<ServerSetting>,
    /// Settings that allow the server to lose what it reported as done, such as `commit_wait = NOWAIT`.
    #[serde(skip)]
    pub not_durable: Vec<String>,
    /// What readers of the result need not know of Oracle.
    pub traits: ServerTraits,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it comes from: the server does not say.
    pub source: String,
}

/// Asks a server for them.
///
/// # Errors
/// The connection is broken.
pub fn server_facts(client: &mut Client) -> Result<ServerFacts, ClientError> {
    let parameters = refusable(Parameters::read(client))?.ok();
    let cache = refusable(client.query_first::<u64>(CACHE))?.ok().flatten();
    Ok(ServerFacts {
        version: version(client)?,
        settings: parameters.as_ref().map(settings).unwrap_or_default(),
        not_durable: parameters.as_ref().map(not_durable).unwrap_or_default(),
        traits: traits(parameters.as_ref(), cache),
    })
}

/// The server's name and version, in a line.
fn version(client: &mut Client) -> Result<String, ClientError> {
    for query in BANNER {
        if let Ok(Some(banner)) = refusable(client.query_first::<String>(query))? {
            return Ok(banner.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    Ok("Oracle".to_owned())
}

fn settings(parameters: &Parameters) -> Vec<ServerSetting> {
    let may_be_secret = |name: &str| SECRET.iter().any(|part| name.contains(part));
    let changed = parameters.changed().into_iter();
    changed
        .filter(|(name, _)| !may_be_secret(name))
        .map(|(name, value)| ServerSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            source: String::new(),
        })
        .collect()
}

fn not_durable(parameters: &Parameters) -> Vec<String> {
    let each = NOT_DURABLE.iter().filter_map(|(name, part)| {
        let value = parameters.value(name)?;
        value
            .to_ascii_uppercase()
            .contains(part)
            .then(|| format!("{name} = {value}"))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_may_be_lost() {
        assert!(not_durable(&[("commit_wait", "WAIT"), ("commit_write", "")].into()).is_empty());
        let risky = [("commit_wait", "NOWAIT"), ("commit_write", "BATCH,NOWAIT")].into();
        assert_eq!(
            not_durable(&risky),
            ["commit_wait = NOWAIT", "commit_write = BATCH,NOWAIT"]
        );
    }

    #[test]
    fn what_may_be_a_secret_is_left_out() {
        let parameters = [("wallet_root", "/w"), ("processes", "300")].into();
        let names: Vec<_> = settings(&parameters).into_iter().map(|setting| setting.name).collect();
        assert_eq!(names, ["processes"]);
    }
}

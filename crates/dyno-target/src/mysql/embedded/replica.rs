//! MariaDB's replicas: on a copy of the files of a primary that is stopped for it, by global transaction identifiers.
//!
//! The replica logs in with an account of its own. The primary is given the hash of its password, and the replica's
//! session that names the password is in no log; where it stays is the replica's data folder, which only its server
//! may read.

use super::brand::Brand;
use super::installation::Installation;
use crate::embedded::EmbeddedError;
use crate::embedded::copy::Copy;
use crate::embedded::hex;
use crate::embedded::instance::Held;
use crate::embedded::place::{Place, random_text};
use crate::embedded::replica::{ReplicaError, Replicates, State};
use crate::embedded::server::Server;
use crate::mysql::error::cannot;
use crate::mysql::variables::canonical;
use crate::mysql::{Client, ClientError};
use crate::target::{Instance as _, Progress, TargetError};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What the files of the binary log begin with.
const BINLOG: &str = "dyno-binlog";

/// What those begin with in which a replica keeps what it has received.
const RELAY_LOG: &str = "dyno-relay";

/// How long the binary log is kept, in seconds: a replica that was not up for longer is made anew.
const KEPT_S: u32 = 24 * 3600;

/// Files of a data folder that are one server's own.
const LEFT_OUT: [&str; 4] = ["master.info", "relay-log.info", "multi-master.info", "ib_buffer_pool"];

/// Errors of a replica's connection after which it can follow no more: the primary does not have what it asks for any
/// more, both are the same server, or the primary does not let it in (MariaDB, "Error Codes").
const LOST: [&str; 3] = ["1236", "1593", "1045"];

/// What a replica begins with.
pub struct Copied {
    /// How far the copy goes.
    position: String,
    account: String,
    password: String,
}

impl<B: Brand> Replicates for Installation<B> {
    type Copied = Copied;

    fn followed(settings: &[(String, String)]) -> Vec<(String, String)> {
        let own = [
            ("log_bin", BINLOG.to_owned()),
            ("binlog_expire_logs_seconds", KEPT_S.to_string()),
            // From 11.4 on it would be kept for ever once no replica is up.
            ("loose_slave_connections_needed_for_purge", "0".to_owned()),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        own.filter(|(name, _)| !is_set(settings, name)).collect()
    }

    fn keeps_record(settings: &[(String, String)]) -> bool {
        is_set(settings, "log_bin")
    }

    fn forget_record(place: &Place) {
        for item in fs::read_dir(&place.data).into_iter().flatten().flatten() {
            if item.file_name().to_string_lossy().starts_with(BINLOG) {
                // It takes room and does no harm.
                let _ = fs::remove_file(item.path());
            }
        }
    }

    fn beside(_data: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn following(
        primary: &Server<Self>,
        role: &str,
        settings: &[(String, String)],
    ) -> Result<Vec<(String, String)>, TargetError> {
        let logs: Option<u8> = asked(primary, "select @@log_bin", |client, query| client.query_first(query))?;
        let reason = match logs {
            _ if !B::REPLICATES => "dyno makes replicas of MariaDB and PostgreSQL",
            Some(1) => "",
            _ => "it keeps no binary log; bring it with one",
        };
        if !reason.is_empty() {
            let error = ReplicaError::Primary {
                primary: format!("the {} of {}", B::PRODUCT.name, primary.data_folder().display()),
                reason: reason.to_owned(),
            };
            return Err(error.into());
        }
        let own = [
            ("server_id", server_id(role).to_string()),
            ("read_only", "ON".to_owned()),
            ("skip_slave_start", "ON".to_owned()),
            ("relay_log", RELAY_LOG.to_owned()),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        Ok(own.filter(|(name, _)| !is_set(settings, name)).collect())
    }

    fn follow(replica: &Server<Self>, primary: &Server<Self>, copied: Option<&Copied>) -> Result<(), TargetError> {
        let mut client = replica.connection("").connect().map_err(TargetError::other)?;
        let mut say = |statements: &str| {
            let done = client.execute(statements);
            done.map_err(cannot("have a replica follow its primary"))
        };
        // What names the password is in no log.
        say("set session sql_log_bin = 0, session sql_log_off = 1, session slow_query_log = 0")?;
        let at = format!(
            "master_host = '127.0.0.1', master_port = {}, master_use_gtid = slave_pos",
            primary.port()
        );
        match copied {
            None => say(&format!("stop slave; change master to {at}; start slave")),
            Some(copied) => {
                say(&format!("set global gtid_slave_pos = '{}'", copied.position))?;
                say(&format!(
                    "change master to {at}, master_user = '{}', master_password = '{}', master_connect_retry = 1, \
                     master_ssl = 0; start slave",
                    copied.account, copied.password
                ))?;
                // Whoever has it may write where others may only read.
                say("revoke read_only admin on *.* from root@localhost, root@'127.0.0.1', root@'::1'")
            }
        }
    }

    fn state(replica: &Server<Self>) -> Result<State, TargetError> {
        let status: Vec<HashMap<String, String>> =
            asked(replica, "show slave status", |client, query| client.named(query))?;
        Ok(state_of(status.first()))
    }

    fn position(primary: &Server<Self>) -> Result<String, TargetError> {
        let position = asked(primary, "select @@gtid_binlog_pos", |client, query| {
            client.query_first(query)
        })?;
        Ok(position.unwrap_or_default())
    }

    fn has(replica: &Server<Self>, position: &str) -> Result<bool, TargetError> {
        let wait = format!("select master_gtid_wait('{position}', 0.5)");
        let done: Option<i64> = asked(replica, &wait, |client, query| client.query_first(query))?;
        Ok(done == Some(0))
    }
}

/// Copies the files of a server that is stopped for it.
pub(in crate::mysql) fn copy<B: Brand>(
    primary: &mut Held<Installation<B>>,
    place: &Place,
    fresh: &Path,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Copied, TargetError> {
    let password = random_text().map_err(EmbeddedError::file("make a password for", &place.folder))?;
    let role = place
        .folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let account = format!("'dyno_{role}'@'127.0.0.1'");
    let make = format!(
        "set session sql_log_bin = 0; create or replace user {account} identified by password '{}'; grant \
         replication slave on *.* to {account}",
        hashed(&password)
    );
    asked(primary.server()?, &make, Client::execute)?;
    let basename: Option<String> = asked(primary.server()?, "select @@log_bin_basename", |client, query| {
        client.query_first(query)
    })?;
    let binlog = basename.and_then(|path| Some(Path::new(&path).file_name()?.to_string_lossy().into_owned()));
    let binlog = binlog.unwrap_or_else(|| BINLOG.to_owned());
    let data = primary.server()?.data_folder().to_owned();
    // Its files are whole only when it has ended in good order.
    primary.stop(progress);
    let copied = Copy {
        to: fresh,
        linked: &place.folder.join("tablespaces"),
        user: &place.user,
        leaves_out: &|path| leaves_out(path, &binlog, B::PRODUCT.pid_file),
        stop,
    }
    .of(&data);
    primary.start(progress)?;
    copied?;
    let position: Option<String> = asked(primary.server()?, "select @@gtid_binlog_pos", |client, query| {
        client.query_first(query)
    })?;
    Ok(Copied {
        position: position.unwrap_or_default(),
        account: format!("dyno_{role}"),
        password,
    })
}

/// Whether a replica with this status follows.
fn state_of(status: Option<&HashMap<String, String>>) -> State {
    let Some(status) = status else {
        return State::Lost("it follows nobody".to_owned());
    };
    let of = |name: &str| status.get(name).map(String::as_str).unwrap_or_default();
    let (connected, executes) = (of("Slave_IO_Running"), of("Slave_SQL_Running"));
    if !matches!(of("Last_SQL_Errno"), "0" | "") {
        return State::Lost(format!("it cannot execute what it is sent: {}", of("Last_SQL_Error")));
    }
    if LOST.contains(&of("Last_IO_Errno")) {
        return State::Lost(of("Last_IO_Error").to_owned());
    }
    match (connected, executes) {
        // The connection stands before the primary finds that it does not have what it is to send.
        ("Yes", "Yes") if !of("Master_Log_File").is_empty() => State::Follows,
        _ if !of("Last_IO_Error").is_empty() => State::Tries(of("Last_IO_Error").to_owned()),
        ("No", _) => State::Tries("replication is stopped".to_owned()),
        (_, "No") => State::Tries("it receives changes, but executing them is stopped".to_owned()),
        _ => State::Tries(of("Slave_IO_State").to_owned()),
    }
}

fn is_set(settings: &[(String, String)], name: &str) -> bool {
    let bare = |name: &str| canonical(name).trim_start_matches("loose_").to_owned();
    settings.iter().any(|(known, _)| bare(known) == bare(name))
}

/// The number of a replica in this role, which none of the others has.
fn server_id(role: &str) -> u32 {
    let hash = Sha256::digest(role);
    let number = hash
        .iter()
        .take(4)
        .fold(0, |number, byte| number << 8 | u32::from(*byte));
    // The primary's is 1.
    number.max(2)
}

/// A password as the server keeps it (MariaDB, "Authentication Plugin - mysql_native_password").
fn hashed(password: &str) -> String {
    format!("*{}", hex(&Sha1::digest(Sha1::digest(password))).to_ascii_uppercase())
}

/// Whether a file of a data folder is not copied.
fn leaves_out(path: &Path, binlog: &str, pid_file: &str) -> bool {
    let is_at_top = path.components().count() == 1;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_at_top
        && (LEFT_OUT.contains(&name.as_ref())
            || name == pid_file
            || [binlog, BINLOG, RELAY_LOG]
                .iter()
                .any(|log| name.starts_with(&format!("{log}."))))
}

fn asked<B: Brand, R>(
    server: &Server<Installation<B>>,
    statements: &str,
    ask: impl FnOnce(&mut Client, &str) -> Result<R, ClientError>,
) -> Result<R, TargetError> {
    let mut client = server.connection("").connect().map_err(TargetError::other)?;
    // The statements may have a password, and are not shown.
    ask(&mut client, statements).map_err(cannot("ask the server about replication"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hashed_as_the_server_does() {
        // select password('secret')
        assert_eq!(hashed("secret"), "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7");
    }

    #[test]
    fn replicas_have_numbers_of_their_own() {
        assert_ne!(server_id("replica-1"), server_id("replica-2"));
    }

    #[test]
    fn a_copy_has_no_logs_of_others() {
        for name in [
            "dyno-binlog.000001",
            "binlog.index",
            "master.info",
            "mariadb.pid",
            "dyno-relay.000002",
        ] {
            assert!(leaves_out(Path::new(name), "binlog", "mariadb.pid"), "{name}");
        }
        for name in ["ibdata1", "ib_logfile0", "mysql/master.info", "aria_log_control"] {
            assert!(!leaves_out(Path::new(name), "binlog", "mariadb.pid"), "{name}");
        }
    }

    #[test]
    fn a_status_tells_whether_a_replica_follows() {
        let status = |values: &[(&str, &str)]| {
            let values = values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            state_of(Some(&values.collect()))
        };
        let runs = [
            ("Slave_IO_Running", "Yes"),
            ("Slave_SQL_Running", "Yes"),
            ("Master_Log_File", "b.000001"),
        ];
        assert!(matches!(status(&runs), State::Follows));
        assert!(matches!(status(&runs[..2]), State::Tries(_)));
        let stopped = status(&[("Slave_IO_Running", "No"), ("Slave_SQL_Running", "No")]);
        assert!(matches!(stopped, State::Tries(said) if said == "replication is stopped"));
        let purged = status(&[("Last_IO_Errno", "1236"), ("Last_IO_Error", "purged")]);
        assert!(matches!(purged, State::Lost(said) if said == "purged"));
        let failed = status(&[("Last_SQL_Errno", "1062"), ("Last_SQL_Error", "Duplicate entry")]);
        assert!(matches!(failed, State::Lost(said) if said.contains("Duplicate entry")));
        let waits = status(&[
            ("Slave_IO_Running", "Connecting"),
            ("Last_IO_Error", "error connecting"),
        ]);
        assert!(matches!(waits, State::Tries(said) if said == "error connecting"));
        assert!(matches!(state_of(None), State::Lost(_)));
    }
}

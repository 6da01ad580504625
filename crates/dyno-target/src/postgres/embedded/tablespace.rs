//! Tablespaces of an embedded cluster: folders beside its data folder, made when they are asked for.

use crate::embedded::place::Place;
use crate::postgres::Client;
use crate::postgres::server_message;
use crate::postgres::tablespaces::TablespaceError;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folder of all tablespaces of a cluster, by the cluster's data folder.
pub(super) fn folder(data: &Path) -> PathBuf {
    data.with_file_name("tablespaces")
}

/// Makes the tablespaces that are not there yet.
pub(super) fn create(cluster: &Place, client: &mut Client, names: &[String]) -> Result<(), TablespaceError> {
    names.iter().try_for_each(|name| check_name(name))?;
    for name in names {
        let failed = |error: postgres::Error| TablespaceError::Server {
            what: format!("create the tablespace {name}"),
            message: server_message(&error),
        };
        let query = "select 1 from pg_tablespace where spcname = $1";
        if client.query_opt(query, &[name]).map_err(failed)?.is_some() {
            continue;
        }
        let place = make_folder(cluster, name)?;
        let command = format!(
            "create tablespace {} location {}",
            escape_identifier(name),
            escape_literal(&place.to_string_lossy())
        );
        client.batch_execute(&command).map_err(failed)?;
    }
    Ok(())
}

/// An empty folder that belongs to the server's user.
fn make_folder(cluster: &Place, name: &str) -> Result<PathBuf, TablespaceError> {
    let all = folder(&cluster.data);
    let place = all.join(name);
    let failed = |what| {
        let folder = place.clone();
        move |error| TablespaceError::File { what, folder, error }
    };
    if place.exists() {
        // The cluster does not know it: its creation did not finish.
        fs::remove_dir_all(&place).map_err(failed("remove the unfinished"))?;
    }
    fs::create_dir_all(&place).map_err(failed("create"))?;
    for folder in [&all, &place] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).map_err(failed("set the mode of"))?;
        cluster
            .user
            .hand_over(folder)
            .map_err(|error| TablespaceError::Server {
                what: format!("create the tablespace {name}"),
                message: error.to_string(),
            })?;
    }
    Ok(place)
}

/// The name becomes a folder's, too.
fn check_name(name: &str) -> Result<(), TablespaceError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let sound = name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(allowed)
        && !name.starts_with("pg_");
    if sound {
        return Ok(());
    }
    Err(TablespaceError::Name { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_names() {
        for good in ["second", "ts_2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "pg_second", "2nd", "../x", "a b", "Second", "a\"b"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}

//! The server's process, if it is on this machine: by the file into which the server has written its id.

use super::Client;
use crate::host::{ProcessStat, ServerProcesses};
use std::fs;
use std::path::Path;

/// Looks for the process of the server that `client` is connected to. Another machine, or a container, has other
/// processes under the same ids and files at the same paths, but another name.
pub(super) fn find(processes: &ServerProcesses, client: &mut Client) {
    let query = "select @@hostname, @@datadir, @@pid_file";
    let Ok(Some((host, data_folder, pid_file))) = client.query_first::<(String, String, String)>(query) else {
        return;
    };
    if rustix::system::uname().nodename().to_bytes() != host.as_bytes() {
        return;
    }
    // A relative path counts from the data folder.
    let written = fs::read_to_string(Path::new(&data_folder).join(pid_file)).ok();
    let pid = written.and_then(|text| text.trim().parse().ok());
    let is_server = |pid: &u32| ProcessStat::read(*pid).is_some_and(|stat| is_name_of_server(&stat.name));
    if let Some(pid) = pid.filter(is_server) {
        // One process with a thread for each client.
        processes.set_found(Some((Some(pid), pid)));
    }
}

/// Whether a program's name is that of a server.
fn is_name_of_server(name: &str) -> bool {
    matches!(name, "mariadbd" | "mysqld")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_programs() {
        assert!(is_name_of_server("mariadbd") && is_name_of_server("mysqld"));
        assert!(!is_name_of_server("mysqld_safe") && !is_name_of_server("bash"));
    }
}

//! The server's processes, found by the title of a backend.

use crate::host::{ProcessStat, ServerProcesses};
use crate::postgres::Client;
use std::fs;

/// Looks for the server on this machine, through the process of this connection's backend. Its title tells that it is
/// no other process that happens to have the same id here as the backend has on another machine, or in a container of
/// its own.
pub(super) fn find(processes: &ServerProcesses, client: &mut Client) -> Result<(), postgres::Error> {
    let row = client.query_one(
        "select pg_backend_pid(), session_user::text, current_database()::text",
        &[],
    )?;
    let (pid, user, database): (i32, String, String) = (row.get(0), row.get(1), row.get(2));
    let pid = pid.cast_unsigned();
    let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let title = String::from_utf8_lossy(&title);
    let found = is_backend(&title, &user, &database);
    processes.set_found(found.then(|| (ProcessStat::read(pid).map(|stat| stat.parent), pid)));
    Ok(())
}

/// Whether a process title is that of a backend with this user and database.
fn is_backend(title: &str, user: &str, database: &str) -> bool {
    title.contains("postgres") && title.contains(&format!(" {user} {database} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_tells_a_backend() {
        assert!(is_backend("postgres: dyno dyno_run [local] SELECT", "dyno", "dyno_run"));
        assert!(is_backend(
            "postgres: main: dyno dyno_run 127.0.0.1(4000) idle",
            "dyno",
            "dyno_run"
        ));
        assert!(!is_backend("postgres: dyno other [local] SELECT", "dyno", "dyno_run"));
        assert!(!is_backend("/bin/sh", "dyno", "dyno_run"));
    }
}

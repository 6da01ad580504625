//! Restarting a server that is not ours: when it is another one than before.

use super::change::PATIENCE;
use crate::postgres::Client;
use crate::postgres::address::ConnectionInfo;

/// When the server was started, as a text that differs from start to start.
fn started(client: &mut Client) -> Option<String> {
    let row = client.query_one("select pg_postmaster_start_time()::text", &[]).ok()?;
    row.get(0)
}

/// Runs the command with the shell and waits for the new server; else says why there is none.
pub(super) fn restart(info: &ConnectionInfo, command: &str) -> Result<(), String> {
    let before = info
        .connect_with_patience(PATIENCE)
        .ok()
        .and_then(|mut client| started(&mut client));
    crate::restart::restart(command, &mut |_| {
        let mut client = info
            .connect_with_patience(PATIENCE)
            .map_err(|error| error.to_string())?;
        let now = started(&mut client);
        Ok(now.is_some() && now != before)
    })
}

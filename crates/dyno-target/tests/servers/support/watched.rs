//! A private MariaDB whose sessions are watched, and what they do.

use super::{home, quiet};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions, Server};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A server with a table `t` of a thousand rows in a database `watched`, and where the load connects to.
pub struct Watched {
    pub info: ConnectionInfo,
    // Dropped in this order: first the server stops, then the cluster is free.
    pub server: Server,
    _embedded: Embedded,
    _turn: MutexGuard<'static, ()>,
}

/// Starts one. One at a time: they would take the CPU from each other.
pub fn start(cluster: &str, settings: &[(&str, &str)]) -> Watched {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let settings: Vec<_> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let server = embedded.start(&settings, &mut quiet).unwrap();
    let mut admin = server.connection("").connect().unwrap();
    admin
        .execute(
            "create or replace database watched; use watched; create table t (id int primary key, n int); insert into \
             t select seq, 0 from seq_1_to_1000",
        )
        .unwrap();
    let info = server.connection("watched");
    Watched {
        info,
        server,
        _embedded: embedded,
        _turn: turn,
    }
}

pub fn seconds(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds));
}

/// Has four sessions of the load update rows until `work` is done.
pub fn under_load(info: &ConnectionInfo, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for session in 1..=4 {
            let done = &done;
            scope.spawn(move || {
                let mut client = info.connect().unwrap();
                while !done.load(Ordering::Relaxed) {
                    let update = format!("update t set n = n + 1 where id = {session}");
                    client.execute(&update).unwrap();
                }
            });
        }
        work();
        done.store(true, Ordering::Relaxed);
    });
}

/// A connection of somebody else.
pub fn other(server: &Server) -> Client {
    server.connection("mysql").connect().unwrap()
}

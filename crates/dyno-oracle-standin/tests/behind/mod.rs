//! The PostgreSQL behind the stand-ins of a test binary: started by the first that asks, stopped by the last that uses
//! it.

use dyno_oracle_standin::Postgres;
use dyno_target::postgres::address::Socket;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server, create_from_template, drop_database};
use std::path::Path;
use std::sync::OnceLock;

/// A server with the right to be there.
struct Behind {
    server: Server,
    _embedded: Embedded,
}

/// Executors on a fresh database of this name.
pub fn database(name: &str) -> Postgres {
    static BEHIND: OnceLock<Behind> = OnceLock::new();
    let behind = BEHIND.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
        let mut options = EmbeddedOptions::new(home);
        "tests-oracle-standin".clone_into(&mut options.cluster);
        let embedded = Embedded::prepare(&options, &mut |_| {}).unwrap();
        let server = embedded.start(&[], &mut |_| {}).unwrap();
        Behind {
            server,
            _embedded: embedded,
        }
    });
    let mut client = behind.server.connection("postgres").connect().unwrap();
    drop_database(&mut client, name).unwrap();
    create_from_template(&mut client, "template0", name).unwrap();
    let Socket::Unix(socket) = behind.server.connection(name).endpoint().unwrap().socket else {
        panic!("an embedded server has a socket of its own");
    };
    let mut config = postgres::Config::new();
    config.host_path(socket.parent().unwrap()).port(behind.server.port());
    config.user("postgres").dbname(name);
    Postgres::prepare(config, "bench").unwrap()
}

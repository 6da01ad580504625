//! Selects by key with Oracle's crate `oracledb` until it is killed, a thread for each connection.
//! Usage: selects PORT CONNECTIONS ROWS STATEMENT

use oracledb::{Config, Connection};
use std::error::Error;

fn work(connection: Connection, statement: &str, rows: i64) -> Result<(), oracledb::Error> {
    let mut id = 1;
    loop {
        // Nothing depends on how ids are drawn.
        id = id * 16_807 % 2_147_483_647;
        let row = connection.query_row(statement, &[&(id % rows + 1)])?;
        std::hint::black_box(row.get::<String>(0)?);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, connections, rows, statement] = &arguments[..] else {
        return Err("arguments: PORT CONNECTIONS ROWS STATEMENT".into());
    };
    let address = format!("127.0.0.1:{port}/standin");
    let rows = rows.parse()?;
    let mut threads = Vec::new();
    for _ in 0..connections.parse()? {
        let config = Config::default().set_credentials("bench", "secret").set_connect_string(&address)?;
        let connection = oracledb::connect(config)?;
        let statement = statement.clone();
        threads.push(std::thread::spawn(move || work(connection, &statement, rows)));
    }
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    Ok(())
}

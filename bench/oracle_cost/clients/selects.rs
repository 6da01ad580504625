//! Selects by key with Oracle's crate `oracledb` until it is killed, a thread for each connection.
//! Usage: selects PORT CONNECTIONS ROWS STATEMENT

use oracledb::{Config, Connection};

fn work(connection: Connection, statement: &str, rows: i64) -> Result<(), oracledb::Error> {
    let mut id = 1;
    loop {
        // Nothing depends on how ids are drawn.
        id = id * 16_807 % 2_147_483_647;
        let row = connection.query_row(statement, &[&(id % rows + 1)])?;
        std::hint::black_box(row.get::<String>(0)?);
    }
}

fn run(port: &str, connections: usize, rows: i64, statement: &str) -> Result<(), oracledb::Error> {
    let address = format!("127.0.0.1:{port}/standin");
    let connect = |_| {
        let config = Config::default()
            .set_credentials("bench", "secret")
            .set_connect_string(&address)?;
        oracledb::connect(config)
    };
    let connections = (0..connections).map(connect).collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let start = |connection| scope.spawn(move || work(connection, statement, rows));
        let threads: Vec<_> = connections.into_iter().map(start).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, connections, rows, statement] = &arguments[..] else {
        return Err("arguments: PORT CONNECTIONS ROWS STATEMENT".into());
    };
    let number = |text: &String| text.parse::<u32>().map_err(|error| format!("{text}: {error}"));
    run(port, number(connections)? as usize, number(rows)?.into(), statement).map_err(|error| error.to_string())
}

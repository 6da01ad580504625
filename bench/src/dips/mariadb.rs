//! How a MariaDB is disturbed.

use super::database::{Means, Side};
use super::provocation::Kind;
use crate::Result;
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use procfs::process::Process;
use std::path::Path;
use std::time::{Duration, Instant};

/// What storage lets through while it is slow: a fraction of what the updates write.
const SLOW_BYTES_PER_S: u64 = 300_000;

/// What the pool is made for a while, and what it is.
const SMALL_POOL: u64 = 8 << 20;
const POOL: u64 = 512 << 20;

/// Making the pool small or large takes the server a while.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server.
pub(super) struct Mariadb {
    info: ConnectionInfo,
    /// Which of its locks the next backup takes.
    backups: usize,
}

impl Mariadb {
    pub(super) fn of(server: &Process) -> Result<Self> {
        let words = server.cmdline()?;
        let option = |name: &str| {
            let value = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            value.ok_or_else(|| format!("the server was started without {name}"))
        };
        let cluster = Path::new(option("--datadir")?)
            .parent()
            .ok_or("the data has no folder")?;
        let password = std::fs::read_to_string(cluster.join("password"))?;
        let address = format!(
            "mysql://root:{}@localhost/mysql?socket={}",
            password.trim(),
            option("--socket")?
        );
        Ok(Self {
            info: ConnectionInfo::resolve(&address, &|_| None)?,
            backups: 0,
        })
    }

    fn connect(&self) -> Result<Client> {
        Ok(self.info.connect()?)
    }

    /// Executes something on a connection of its own while `work` goes on.
    fn beside(&self, statement: &'static str) -> std::thread::JoinHandle<std::result::Result<(), String>> {
        let info = self.info.clone();
        std::thread::spawn(move || {
            let said = |error: dyno_target::mysql::ClientError| error.to_string();
            info.connect().map_err(said)?.work(statement).map_err(said)
        })
    }
}

impl Side for Mariadb {
    fn make_ready(&mut self) -> Result<()> {
        Ok(())
    }

    fn has_room_for(&self, _kind: Kind) -> bool {
        true
    }

    fn sessions(&self) -> Result<Vec<i32>> {
        Err("the sessions of a MariaDB have no processes".into())
    }

    fn provoke(&mut self, kind: Kind, means: &Means<'_>) -> Result<(f64, f64)> {
        let mut client = self.connect()?;
        match kind {
            Kind::Lock => {
                client.execute("lock tables dyno_run.tbl read")?;
                let times = means.hold();
                client.execute("unlock tables")?;
                Ok(times)
            }
            Kind::Metadata => {
                client.execute("start transaction; select * from dyno_run.tbl where id = 1")?;
                let change = self.beside("alter table dyno_run.tbl comment = 'changed'");
                let times = means.hold();
                client.execute("rollback")?;
                change.join().map_err(|_| "the change of the table panicked")??;
                Ok(times)
            }
            Kind::Row => {
                client.execute("start transaction")?;
                // This itself waits for who has a row.
                client.work("select count(*) from dyno_run.tbl for update")?;
                let times = means.hold();
                client.execute("rollback")?;
                Ok(times)
            }
            Kind::Backup => {
                self.backups += 1;
                let (lock, unlock) = match self.backups % 2 {
                    0 => ("flush tables with read lock", "unlock tables"),
                    _ => (
                        "backup stage start; backup stage flush; backup stage block_ddl; backup stage block_commit",
                        "backup stage end",
                    ),
                };
                client.work(lock)?;
                let times = means.hold();
                client.execute(unlock)?;
                Ok(times)
            }
            Kind::Log => {
                let start_s = (means.now_s)();
                while (means.now_s)() < start_s + means.lasts.as_secs_f64() {
                    client.work("update dyno_run.bulk set a = a + 1, b = uuid()")?;
                }
                Ok((start_s, (means.now_s)()))
            }
            Kind::Storage => {
                let slow_path = means.slow_path()?;
                slow_path.limit(SLOW_BYTES_PER_S)?;
                let times = means.hold();
                slow_path.limit(0)?;
                Ok(times)
            }
            Kind::Cache => {
                let start_s = (means.now_s)();
                resize(&mut client, SMALL_POOL)?;
                // Fast storage fills it again at once.
                means.hold();
                resize(&mut client, POOL)?;
                std::thread::sleep(Duration::from_secs(2));
                Ok((start_s, (means.now_s)()))
            }
            other => Err(format!("a MariaDB is not disturbed by this: {other}").into()),
        }
    }
}

/// Makes the pool so large, and waits until it is.
fn resize(client: &mut Client, bytes: u64) -> Result<()> {
    client.work(&format!("set global innodb_buffer_pool_size = {bytes}"))?;
    let begun = Instant::now();
    let status = "select variable_value from information_schema.global_status
                   where variable_name = 'innodb_buffer_pool_resize_status'";
    while begun.elapsed() < PATIENCE {
        let status: Option<String> = client.query_first(status)?;
        if status.is_some_and(|status| status.starts_with("Completed")) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("the pool did not become as large as it was told to".into())
}

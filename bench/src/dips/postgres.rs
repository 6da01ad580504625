//! How a PostgreSQL is disturbed.

use super::database::{Means, Side};
use super::disturbed::SLOW_AROUND;
use super::provocation::Kind;
use crate::Result;
use postgres::{Client, NoTls};
use procfs::process::Process;

/// A server.
pub(super) struct Postgres {
    /// Where it listens, as conninfo.
    conninfo: String,
    /// Numbers of the large tables that have not been vacuumed yet.
    bulks: Vec<usize>,
}

impl Postgres {
    pub(super) fn of(server: &Process) -> Result<Self> {
        let lines = std::fs::read_to_string(server.cwd()?.join("postmaster.pid"))?;
        let line = |number: usize| lines.lines().nth(number).ok_or("postmaster.pid is too short");
        Ok(Self {
            conninfo: format!(
                "host={} port={} user=postgres dbname=dyno_run application_name=disturbance",
                line(4)?,
                line(3)?
            ),
            bulks: Vec::new(),
        })
    }

    fn connect(&self) -> Result<Client> {
        Ok(Client::connect(&self.conninfo, NoTls)?)
    }
}

impl Side for Postgres {
    /// Fills the large tables with dead rows, so that there is something to vacuum.
    fn make_ready(&mut self) -> Result<()> {
        let mut client = self.connect()?;
        let bulks = client.query_one(
            "select count(*) from pg_class where relname ~ '^bulk_[0-9]+$' and relkind = 'r'",
            &[],
        )?;
        self.bulks = (1..=usize::try_from(bulks.get::<_, i64>(0))?).rev().collect();
        for number in &self.bulks {
            client.batch_execute(&format!("delete from bulk_{number} where id % 2 = 0"))?;
        }
        Ok(client.batch_execute("checkpoint")?)
    }

    fn has_room_for(&self, kind: Kind) -> bool {
        kind != Kind::Vacuum || !self.bulks.is_empty()
    }

    fn sessions(&self) -> Result<Vec<i32>> {
        let sessions = self.connect()?.query(
            "select pid from pg_stat_activity where datname = 'dyno_run' and pid <> pg_backend_pid()",
            &[],
        )?;
        Ok(sessions.iter().map(|row| row.get(0)).collect())
    }

    fn provoke(&mut self, kind: Kind, means: &Means<'_>) -> Result<(f64, f64)> {
        let mut client = self.connect()?;
        match kind {
            Kind::Lock => {
                let mut transaction = client.transaction()?;
                transaction.batch_execute("lock table tbl in share mode")?;
                let times = means.hold();
                transaction.rollback()?;
                Ok(times)
            }
            Kind::Checkpoint => {
                let slow = means.slow_path()?.slow_down()?;
                std::thread::sleep(SLOW_AROUND);
                let start_s = (means.now_s)();
                client.batch_execute("checkpoint")?;
                std::thread::sleep(SLOW_AROUND);
                drop(slow);
                Ok((start_s, (means.now_s)()))
            }
            Kind::Vacuum => {
                let number = self.bulks.pop().ok_or("no large table is left")?;
                client.batch_execute("set vacuum_cost_delay = 0")?;
                let start_s = (means.now_s)();
                client.batch_execute(&format!("vacuum (freeze) bulk_{number}"))?;
                Ok((start_s, (means.now_s)()))
            }
            other => Err(format!("a PostgreSQL is not disturbed by this: {other}").into()),
        }
    }
}

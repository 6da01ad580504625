//! Who keeps MariaDB's and MySQL's sessions waiting for a lock.
//!
//! Of locks on rows the server tells who has them. Of others MariaDB tells it only with a plugin that few have. But the
//! statements of a load share them with each other, so they are held by a command of somebody else: by who has a
//! transaction open or is at work, or by a session that has been asleep for about as long as the others have waited.

use super::states::{class_of, is_lock};
use crate::mysql::{Client, ClientError};
use crate::sampler::blocked::{Blocker, begin_of};
use crate::target::statement_without_secrets;

/// A session that has been asleep for less than it is waited for, by more than this, has not caused the wait.
const ASLEEP_S: f64 = 1.0;

/// What is asked of the list of processes `p`, and of the transactions `t`, for a session.
pub(super) const COLUMNS: &str = "p.id, p.user, coalesce(p.host, ''), p.command, coalesce(p.state, '')";

/// The same as a row: number, user, host, command, state; seconds in it; statement; seconds since its transaction
/// began; whether it is a measured one.
pub(super) type Row = (
    u64,
    String,
    String,
    String,
    String,
    f64,
    Option<String>,
    Option<f64>,
    u8,
);

/// For the transactions that have waited longest for a row: seconds, the number of the session that has it, the table.
/// One that waits itself is not looked at: whoever it waits for is. The time at which a wait began has whole seconds;
/// MariaDB's statements have theirs in milliseconds, and none has waited for longer than it has been executed.
pub(super) const ROW_WAITS: [&str; 2] = [
    "select least(timestampdiff(microsecond, r.trx_wait_started, now(6)) / 1e6, coalesce(p.time_ms / 1000, 1e9)),
            b.trx_mysql_thread_id, l.lock_table
       from (select trx_id, trx_wait_started, trx_requested_lock_id, trx_mysql_thread_id
               from information_schema.innodb_trx
              where trx_state = 'LOCK WAIT' order by trx_wait_started limit 3) r
       left join information_schema.processlist p on p.id = r.trx_mysql_thread_id
       join information_schema.innodb_lock_waits w on w.requesting_trx_id = r.trx_id
       join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id
       join information_schema.innodb_locks l on l.lock_id = r.trx_requested_lock_id
      where b.trx_state <> 'LOCK WAIT' limit 3",
    "select timestampdiff(microsecond, r.trx_wait_started, now(6)) / 1e6, b.trx_mysql_thread_id, l.object_name
       from (select trx_id, trx_wait_started, trx_requested_lock_id from information_schema.innodb_trx
              where trx_state = 'LOCK WAIT' order by trx_wait_started limit 3) r
       join performance_schema.data_lock_waits w on w.requesting_engine_transaction_id = r.trx_id
       join information_schema.innodb_trx b on b.trx_id = w.blocking_engine_transaction_id
       join performance_schema.data_locks l on l.engine_lock_id = r.trx_requested_lock_id
      where b.trx_state <> 'LOCK WAIT' limit 3",
];

/// A session as the list of processes shows it.
#[derive(Clone, Debug)]
pub(super) struct Session {
    id: u64,
    account: String,
    asleep: bool,
    state: String,
    /// How long it has been asleep, or at work on its statement.
    time_s: f64,
    statement: String,
    /// Since when its transaction has been open, in seconds; none if it has none, or that is not to be seen.
    transaction_s: Option<f64>,
    measured: bool,
}

impl From<Row> for Session {
    fn from((id, user, host, command, state, time_s, statement, transaction_s, measured): Row) -> Self {
        // The port says nothing that the number does not.
        let host = host.split_once(':').map_or(host.as_str(), |(host, _)| host);
        Self {
            id,
            account: format!("{user}@{host}"),
            asleep: command == "Sleep",
            state,
            time_s,
            statement: statement.unwrap_or_default(),
            transaction_s,
            measured: measured != 0,
        }
    }
}

impl Session {
    fn waits_for_lock(&self) -> bool {
        !self.asleep && is_lock(class_of(&self.state))
    }

    /// Such as `connection 12 (root@localhost), asleep in a transaction for 8 s`.
    fn describe(&self) -> String {
        let mut text = format!("connection {} ({})", self.id, self.account);
        match (self.asleep, self.transaction_s) {
            (true, Some(age_s)) => text += &format!(", asleep in a transaction{}", for_seconds(age_s)),
            (true, None) => text += &format!(", asleep{}", for_seconds(self.time_s)),
            (false, _) => {
                let statement = begin_of(statement_without_secrets(&self.statement));
                if !statement.is_empty() {
                    text += &format!(": {statement}");
                }
            }
        }
        text
    }
}

/// How long something has gone on, if that is worth telling: it is mostly seen at its beginning.
fn for_seconds(seconds: f64) -> String {
    match seconds {
        1.0.. => format!(" for {seconds:.0} s"),
        _ => String::new(),
    }
}

/// Who has the rows that transactions wait for longest. `sessions` looks up sessions by a condition.
pub(super) fn of_rows(
    client: &mut Client,
    is_mariadb: bool,
    sessions: impl Fn(&str) -> String,
) -> Result<Vec<Blocker>, ClientError> {
    let waits = ROW_WAITS[usize::from(!is_mariadb)];
    let waits = client.query::<(Option<f64>, u64, Option<String>)>(waits)?;
    let mut blockers = Vec::new();
    for (waited_s, id, table) in waits {
        let found = client.query_first::<Row>(&sessions(&format!("p.id = {id}")))?;
        let holder = found.map(Session::from);
        blockers.push(Blocker {
            waited_s: waited_s.unwrap_or(0.0),
            measured: holder.as_ref().is_some_and(|holder| holder.measured),
            lock: Some("row lock".to_owned()),
            relation: table.map(|table| bare(&table)),
            holder: holder.map_or_else(|| format!("connection {id}"), |holder| holder.describe()),
        });
    }
    Ok(blockers)
}

/// A table without its database, as people write it.
fn bare(table: &str) -> String {
    let name = table.rsplit_once('.').map_or(table, |(_, name)| name);
    name.trim_matches('`').to_owned()
}

/// Who has the lock of a command that measured sessions have waited for so long. Backups sleep while they hold theirs;
/// of others it is more likely who has a transaction open.
pub(super) fn of_commands(sessions: Vec<Session>, waited_s: f64, class: &str) -> Blocker {
    let foreign: Vec<Session> = sessions.into_iter().filter(|session| !session.measured).collect();
    let (queue, free): (Vec<&Session>, Vec<&Session>) = foreign.iter().partition(|session| session.waits_for_lock());
    let most = |of: fn(&Session) -> Option<f64>| {
        let of = free.iter().filter_map(|session| Some((of(session)?, *session)));
        of.max_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, session)| session)
    };
    let in_transaction = most(|session| session.transaction_s);
    let at_work = most(|session| (!session.asleep).then_some(session.time_s));
    let asleep = free
        .iter()
        .filter(|session| session.asleep && session.transaction_s.is_none() && session.time_s >= waited_s - ASLEEP_S)
        .min_by(|one, other| one.time_s.total_cmp(&other.time_s))
        .copied();
    let order = match class {
        "Backup lock" | "Global read lock" => [asleep, at_work, in_transaction],
        _ => [in_transaction, at_work, asleep],
    };
    let waiting = queue.iter().max_by(|one, other| one.time_s.total_cmp(&other.time_s));
    let mut holder = match order.into_iter().flatten().next() {
        Some(session) => session.describe(),
        None => "a session that the server does not name".to_owned(),
    };
    if let Some(waiting) = waiting {
        holder += &format!(", behind which waits {}", waiting.describe());
    }
    Blocker {
        waited_s,
        measured: false,
        lock: Some(class.to_lowercase()),
        relation: None,
        holder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: u64, command: &str, time_s: f64, statement: Option<&str>, transaction_s: Option<f64>) -> Session {
        let state = match statement {
            Some(statement) if statement.starts_with("alter") => "Waiting for table metadata lock",
            _ => "",
        };
        let text = str::to_owned;
        Session::from((
            id,
            text("root"),
            text("localhost:4711"),
            text(command),
            text(state),
            time_s,
            statement.map(str::to_owned),
            transaction_s,
            0,
        ))
    }

    #[test]
    fn a_long_transaction_is_named_before_who_waits_for_it() {
        let sessions = vec![
            session(13, "Query", 3.0, Some("alter table tbl  add x int"), None),
            session(12, "Sleep", 3.5, None, Some(9.0)),
            session(11, "Sleep", 400.0, None, None),
        ];
        let blocker = of_commands(sessions, 2.5, "Metadata lock");
        assert_eq!(
            blocker.holder,
            "connection 12 (root@localhost), asleep in a transaction for 9 s, behind which waits connection 13 \
             (root@localhost): alter table tbl add x int"
        );
        assert_eq!((blocker.measured, blocker.waited_s), (false, 2.5));
        assert_eq!(blocker.lock.as_deref(), Some("metadata lock"));
    }

    #[test]
    fn a_backup_is_who_fell_asleep_when_the_wait_began() {
        let sessions = vec![
            session(11, "Sleep", 400.0, None, None),
            session(12, "Sleep", 3.0, None, None),
            session(14, "Sleep", 0.1, None, None),
            session(15, "Query", 1.0, Some("select 1"), None),
        ];
        let blocker = of_commands(sessions, 2.8, "Backup lock");
        assert_eq!(blocker.holder, "connection 12 (root@localhost), asleep for 3 s");
    }

    #[test]
    fn nobody_to_be_seen_is_said() {
        let mut own = session(5, "Query", 3.0, Some("update tbl"), Some(3.0));
        own.measured = true;
        let blocker = of_commands(vec![own], 2.8, "Metadata lock");
        assert_eq!(blocker.holder, "a session that the server does not name");
    }

    #[test]
    fn a_password_is_not_told() {
        let secret = session(9, "Query", 1.0, Some("create user a identified by 's3cret'"), None);
        assert!(!secret.describe().contains("s3cret"), "{}", secret.describe());
    }

    #[test]
    fn tables_are_named_without_their_database() {
        assert_eq!(bare("`dyno_run`.`tbl`"), "tbl");
        assert_eq!(bare("tbl"), "tbl");
    }
}

//! A trial for somebody who has a real Oracle server and ten minutes: the same statements through dyno's session and
//! through Oracle's crate, their results compared and the server's own counts put side by side.
//!
//! dyno has never met such a server where it is made, so this is done to find out what it misunderstands of one: each
//! thing is tried by itself, and what fails keeps nothing else from being tried. The tables are made as a run makes
//! its own, noted in the same place, and removed by the same means, so that a trial which was killed leaves nothing
//! that the next one, a run or `dyno clean` does not remove.

mod cases;
mod compare;
mod counts;
mod sides;

use super::address::ConnectionInfo;
use super::examine::spoken;
use super::lock::ServerLock;
use super::own_session;
use super::rights::{grant, is_denied};
use super::{Client, ClientError, connect_until, data, own_data};
use crate::target::{
    Chosen, Data, Fill, Lock, Passwords, Progress, Reach, RowSource, Sql, State, StopFlag, TargetError, Trial, Tried,
    Verdict, Wanted,
};
use cases::{Case, ERRORS, LOCKED, STATEMENTS, TYPES};
use compare::{Meant, judge};
use counts::Counts;
use sides::{Beside, Got, Lost, Own, Side};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The experiments that dyno has for Oracle. Over a unix socket, as direct-pg is measured too, no Oracle is reached.
const EXPERIMENTS: &[Chosen] = &[
    Chosen {
        name: "pk-update",
        has_rows: true,
        set: &[],
    },
    Chosen {
        name: "pk-select",
        has_rows: true,
        set: &[],
    },
    Chosen {
        name: "pk-insert",
        has_rows: false,
        set: &[],
    },
    Chosen {
        name: "direct-pg",
        has_rows: true,
        set: &[("from", "network")],
    },
];

/// Something else than the trial uses what it has made.
#[derive(Debug, thiserror::Error)]
#[error("what the trial made is in use by {holders}; remove it later: dyno clean --target {address} --yes")]
struct InUse {
    holders: String,
    address: String,
}

/// How long the server may take to notice that a trial which was killed is gone.
const GONE: Duration = Duration::from_secs(10);

/// Somebody else measures on the server.
#[derive(Debug, thiserror::Error)]
#[error("{holders} measures on this server; try it when that is over")]
struct Reserved {
    holders: String,
}

/// A trial of the server of an address.
pub(super) struct OracleTrial {
    info: ConnectionInfo,
}

impl OracleTrial {
    pub(super) fn of(info: &ConnectionInfo) -> Self {
        Self { info: info.clone() }
    }
}

impl Trial for OracleTrial {
    fn reserve(&self) -> Result<Box<dyn Lock>, TargetError> {
        let mut holders = Vec::new();
        let waits = StopFlag::default();
        let lock = ServerLock::take(&self.info, &waits, &mut |holder| {
            holders.push(holder.to_owned());
            let waits = StopFlag::clone(&waits);
            std::thread::spawn(move || {
                std::thread::sleep(GONE);
                waits.store(true, Ordering::Relaxed);
            });
        });
        match lock {
            Err(TargetError::Stopped(_)) => Err(TargetError::other(Reserved {
                holders: holders.join(", "),
            })),
            lock => Ok(Box::new(lock?)),
        }
    }

    fn statements(&self, stop: &StopFlag, tell: &mut dyn FnMut(Tried)) {
        let loaded = load(&self.info, stop);
        let is_loaded = loaded.verdict != Verdict::Failed;
        tell(loaded);
        let Some(mut both) = Both::connect(&self.info, stop, tell) else {
            return;
        };
        if !is_loaded {
            // Without the table the rest says nothing.
            return;
        }
        for case in STATEMENTS {
            both.try_case(case, Meant::Success, stop, tell);
        }
        for case in TYPES {
            both.try_case(case, Meant::Either, stop, tell);
        }
        for case in ERRORS {
            let meant = match case.what.split_once(':') {
                Some((code, _)) => Meant::Refusal(code),
                None => Meant::Success,
            };
            both.try_case(case, meant, stop, tell);
        }
        both.try_locked(stop, tell);
    }

    fn experiments(&self) -> &'static [Chosen] {
        EXPERIMENTS
    }

    fn clean_up(&self) -> Result<(), TargetError> {
        // Whoever asked the trial to stop wants this all the same.
        match own_data::remove(&self.info, &StopFlag::default())? {
            None => Ok(()),
            Some(holders) => Err(TargetError::other(InUse {
                holders,
                address: self.info.to_string(),
            })),
        }
    }

    fn without_secrets(&self, text: &str) -> String {
        let wallet = self.info.tls.as_ref().and_then(|tls| tls.wallet_password.as_ref());
        let wallet = wallet.map(|password| String::from_utf8_lossy(password.reveal()).into_owned());
        let all = Reach::Oracle(&self.info).passwords().into_iter().chain(wallet);
        Passwords::new(all).hidden_in(text)
    }
}

/// Nobody watches: what is loaded takes a moment.
struct Unwatched;

impl Progress for Unwatched {
    fn step(&mut self, _text: &str) {}

    fn note(&mut self, _text: &str) {}
}

/// Makes and fills the tables.
fn load(info: &ConnectionInfo, stop: &StopFlag) -> Tried {
    let sql = |text: &str| Sql {
        text: text.to_owned(),
        name: "the trial's tables".to_owned(),
    };
    let columns = cases::COLUMNS.map(|(name, made)| (name.to_owned(), made.to_owned()));
    let data = Data {
        experiment: "trial".to_owned(),
        setup: sql(cases::SETUP),
        fill: vec![Fill {
            table: cases::TABLE.to_owned(),
            rows: cases::ROWS,
            columns: columns.to_vec(),
            source: RowSource::Seed(1),
        }],
        finish: sql(cases::FINISH),
        tablespaces: Vec::new(),
        maker: None,
        definition: "a trial".to_owned(),
        locale: None,
        read_only: false,
        state: State::Reload,
        linked: false,
    };
    let what = format!("loading {} rows", cases::ROWS);
    let begun = Instant::now();
    let loaded = connect_until(info, stop).and_then(|mut client| {
        let wanted = Wanted {
            data: &data,
            all: &[],
            campaign: "trial",
        };
        data::prepare(&mut client, wanted, stop, &mut Unwatched)?;
        Ok(())
    });
    match loaded {
        Ok(()) => Tried::new(
            what,
            Verdict::Good,
            format!("in {:.2} s", begun.elapsed().as_secs_f64()),
        ),
        Err(error) => Tried::new(what, Verdict::Failed, error.to_string()),
    }
}

/// Both clients, and a third session that looks at their counters.
struct Both {
    info: ConnectionInfo,
    own: Own,
    beside: Beside,
    observer: Client,
    /// The numbers of the sessions that are tried; `None`: their counters cannot be read.
    sessions: Option<[u32; 2]>,
}

impl Both {
    /// Logs in with both.
    fn connect(info: &ConnectionInfo, stop: &StopFlag, tell: &mut dyn FnMut(Tried)) -> Option<Self> {
        let begun = Instant::now();
        let own = match own_session::log_in(info, stop) {
            Ok((narrowed, own)) => {
                let found = format!("{:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
                let agreed = own.session().agreed();
                let tried = Tried::new("log-in of dyno's session", Verdict::Good, found);
                tell(tried.with([
                    format!("server {}; {}", own.session().server_version(), spoken(agreed)),
                    format!("{agreed:?}"),
                ]));
                Some((narrowed, own))
            }
            Err(error) => {
                tell(Tried::new(
                    "log-in of dyno's session",
                    Verdict::Failed,
                    error.to_string(),
                ));
                None
            }
        };
        let info = own.as_ref().map_or(info, |(narrowed, _)| narrowed).clone();
        let begun = Instant::now();
        let beside = match connect_until(&info, stop) {
            Ok(client) => {
                let found = format!("{:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
                tell(Tried::new("log-in of the crate oracledb", Verdict::Good, found));
                Some(client)
            }
            Err(error) => {
                tell(Tried::new(
                    "log-in of the crate oracledb",
                    Verdict::Failed,
                    error.to_string(),
                ));
                None
            }
        };
        let ((_, own), beside, observer) = (own?, beside?, connect_until(&info, stop).ok()?);
        let mut both = Self {
            info,
            own: Own::new(own),
            beside: Beside::new(beside),
            observer,
            sessions: None,
        };
        tell(both.find_counters());
        Some(both)
    }

    /// Finds out whether counters can be compared.
    fn find_counters(&mut self) -> Tried {
        let what = "the server's own counts";
        let found = (|| {
            let number = self
                .beside
                .client
                .query_first("select sys_context('userenv', 'sid') from dual")?;
            let sessions = [self.own.client.session().session_id(), number.unwrap_or(0)];
            Counts::of(&mut self.observer, sessions)?;
            Ok::<_, ClientError>(sessions)
        })();
        match found {
            Ok(sessions) => {
                self.sessions = Some(sessions);
                let found = "below each statement: those of dyno's session, a slash, and those of the crate's";
                Tried::new(what, Verdict::Good, found)
            }
            Err(error) => {
                let remedy = match is_denied(&error) {
                    true => format!("; {}", grant("select_catalog_role", &self.info.schema())),
                    false => String::new(),
                };
                Tried::new(what, Verdict::Different, format!("cannot be read: {error}{remedy}"))
            }
        }
    }

    fn counts(&mut self) -> Option<Counts> {
        Counts::of(&mut self.observer, self.sessions?).ok()
    }

    /// Tries something with both, and tells of it.
    fn try_case(&mut self, case: &Case, meant: Meant, stop: &StopFlag, tell: &mut dyn FnMut(Tried)) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let before = self.counts();
        let own = steps(&mut self.own, case);
        let beside = steps(&mut self.beside, case);
        let mut tried = match (own, beside) {
            (Ok(own), Ok(beside)) => {
                let (verdict, found) = judge(meant, &own, &beside);
                Tried::new(case.what, verdict, found)
            }
            // What ended then was asked to.
            _ if stop.load(Ordering::Relaxed) => return,
            (own, beside) => {
                let lost = [("dyno's session", own.err()), ("the crate", beside.err())];
                let said = lost
                    .into_iter()
                    .filter_map(|(who, lost)| Some(format!("{who} lost: {}", lost?.0)));
                let said = said.collect::<Vec<_>>().join("; ");
                self.connect_again(stop);
                Tried::new(case.what, Verdict::Failed, said)
            }
        };
        if let (Some(before), Some(after)) = (before, self.counts()) {
            let since = after.since(&before);
            tried.details.push(since.line());
            if let Some(dear) = dear(case, &since) {
                tried.details.push(dear);
                tried.verdict = tried.verdict.max(Verdict::Different);
            }
        }
        tell(tried);
    }

    /// The same with a row that the third session has locked.
    fn try_locked(&mut self, stop: &StopFlag, tell: &mut dyn FnMut(Tried)) {
        let (lock, case) = &LOCKED;
        let meant = case
            .what
            .split_once(':')
            .map_or(Meant::Success, |(code, _)| Meant::Refusal(code));
        if let Err(error) = self.observer.begin(lock) {
            tell(Tried::new(
                case.what,
                Verdict::Failed,
                format!("no row can be locked: {error}"),
            ));
            return;
        }
        self.try_case(case, meant, stop, tell);
        // Should it fail, the session ends soon.
        let _ = self.observer.rollback();
    }

    /// Takes the place of connections that were lost, as far as there are others to be had.
    fn connect_again(&mut self, stop: &StopFlag) {
        if let Ok((_, own)) = own_session::log_in(&self.info, stop) {
            self.own = Own::new(own);
        }
        if let Ok(client) = connect_until(&self.info, stop) {
            self.beside = Beside::new(client);
        }
        if let Ok(client) = connect_until(&self.info, stop) {
            self.observer = client;
        }
        self.find_counters();
    }
}

/// Does the steps of a case as often as it says; what the last time gave.
fn steps(side: &mut dyn Side, case: &Case) -> Result<Vec<Got>, Lost> {
    let mut got = Vec::new();
    for _ in 0..case.times {
        got.clear();
        for step in case.steps {
            got.push(side.step(step)?);
        }
    }
    Ok(got)
}

/// What dyno's session cost more than it may have.
fn dear(case: &Case, since: &Counts) -> Option<String> {
    let over = |most: Option<u64>, found: Option<u64>| {
        let (most, found) = (most?, found?);
        (found > most).then_some((found, most))
    };
    if let Some((found, most)) = over(case.most.parses, since.own_parses()) {
        return Some(format!(
            "NOT as it should be: dyno's session had {found} statements parsed, at most {most} are meant"
        ));
    }
    let (found, most) = over(case.most.round_trips, since.own_round_trips())?;
    Some(format!(
        "NOT as it should be: dyno's session waited {found} times for the server, at most {most} are meant"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_in_an_account() {
        let address = "oracles://bench:s3cretly@db.example/shop?wallet_location=/w&wallet_password=w4llet-key";
        let info = ConnectionInfo::resolve(address, &|_| None).unwrap();
        let trial = OracleTrial::of(&info);
        let shown = trial.without_secrets("bench s3cretly, w4llet-key; it is s3cre…");
        assert_eq!(shown, "bench ***, ***; it is ***…");
    }
}

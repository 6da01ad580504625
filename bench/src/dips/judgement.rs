//! What the analysis made of a disturbance.

use super::provocation::{Kind, Provoked};
use dyno_archive::IntervalRow;
use dyno_archive::analysis::{Cause, Dip};
use serde::Serialize;

/// A dip may go on for so many seconds after what caused it, until the next whole interval.
const AFTER_S: f64 = 1.5;

/// How far around a disturbance the usual throughput is looked up, in seconds.
const AROUND_S: f64 = 30.0;

/// Below this share of the usual throughput there certainly was a dip.
const SURE: f64 = 0.5;

/// How an answer stands to what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The throughput did not dip.
    NoDip,
    /// It was said why it dipped.
    Right,
    /// It was left open.
    Open,
    /// Something else was said.
    Wrong,
    /// It dipped to less than half, and nothing was said.
    Missed,
}

/// A disturbance, and what the analysis made of it.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// What was done.
    #[serde(flatten)]
    pub provoked: Provoked,
    /// Median TPS in the time around it.
    pub usual_tps: f64,
    /// Mean TPS of its intervals.
    pub mean_tps: f64,
    /// The dip found, if there is one: the one that it shares most time with.
    pub dip: Option<Dip>,
    /// How the answer is.
    pub verdict: Verdict,
}

/// Whether a cause says no more than that it is none of the run's own.
#[must_use]
pub fn is_open(cause: Cause) -> bool {
    matches!(cause, Cause::Unknown | Cause::HostNoise)
}

/// For how many seconds a dip and a disturbance go together; none if they do not.
fn shared_s(dip: &Dip, provoked: &Provoked) -> Option<f64> {
    let shared = dip.end_s.min(provoked.end_s + AFTER_S) - dip.start_s.max(provoked.start_s);
    (shared > 0.0).then_some(shared)
}

/// Judges each disturbance by the dips that were found, and gives the dips that belong to none.
#[must_use]
pub fn judge(provoked: &[Provoked], dips: &[Dip], intervals: &[IntervalRow]) -> (Vec<Judged>, Vec<Dip>) {
    let judged = provoked.iter().map(|one| judge_one(one, provoked, dips, intervals));
    let foreign = |dip: &&Dip| provoked.iter().all(|one| shared_s(dip, one).is_none());
    (judged.collect(), dips.iter().filter(foreign).cloned().collect())
}

fn judge_one(provoked: &Provoked, all: &[Provoked], dips: &[Dip], intervals: &[IntervalRow]) -> Judged {
    let within = |row: &IntervalRow, from_s: f64, to_s: f64| {
        row.interval_start_s < to_s && row.interval_start_s + row.interval_s > from_s
    };
    let disturbed = |row: &IntervalRow| all.iter().any(|one| within(row, one.start_s, one.end_s + AFTER_S));
    let around = intervals
        .iter()
        .filter(|row| within(row, provoked.start_s - AROUND_S, provoked.end_s + AROUND_S) && !disturbed(row));
    let usual_tps = crate::Spread::of(around.map(|row| row.tps)).median;
    let during = intervals
        .iter()
        .filter(|row| within(row, provoked.start_s, provoked.end_s));
    let (sum, count) = during.fold((0.0, 0.0), |(sum, count), row| (sum + row.tps, count + 1.0));
    let mean_tps = sum / count;
    let dip = dips
        .iter()
        .filter_map(|dip| Some((shared_s(dip, provoked)?, dip)))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, dip)| dip.clone());
    let verdict = match &dip {
        None if mean_tps < SURE * usual_tps => Verdict::Missed,
        None => Verdict::NoDip,
        Some(dip) if provoked.kind.is_caused_by(dip) => Verdict::Right,
        Some(dip) if is_open(dip.cause) => Verdict::Open,
        Some(_) => Verdict::Wrong,
    };
    Judged {
        provoked: provoked.clone(),
        usual_tps,
        mean_tps,
        dip,
        verdict,
    }
}

/// What became of all disturbances of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// How many there were.
    pub provoked: usize,
    /// How many made the throughput dip.
    pub dipped: usize,
    /// How many of these got the right cause, none, a wrong one, or were not found at all.
    pub right: usize,
    /// Left open.
    pub open: usize,
    /// Wrong.
    pub wrong: usize,
    /// Not found.
    pub missed: usize,
}

impl Score {
    /// Of those of this kind.
    #[must_use]
    pub fn of<'a>(kind: Kind, judged: impl IntoIterator<Item = &'a Judged>) -> Self {
        let mut score = Self::default();
        for one in judged.into_iter().filter(|one| one.provoked.kind == kind) {
            score.provoked += 1;
            score.dipped += usize::from(one.verdict != Verdict::NoDip);
            match one.verdict {
                Verdict::NoDip => {}
                Verdict::Right => score.right += 1,
                Verdict::Open => score.open += 1,
                Verdict::Wrong => score.wrong += 1,
                Verdict::Missed => score.missed += 1,
            }
        }
        score
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            provoked: self.provoked + other.provoked,
            dipped: self.dipped + other.dipped,
            right: self.right + other.right,
            open: self.open + other.open,
            wrong: self.wrong + other.wrong,
            missed: self.missed + other.missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dips::Database;

    fn dip(start_s: f64, end_s: f64, cause: Cause) -> Dip {
        Dip {
            workload: None,
            start_s,
            end_s,
            depth_percent: 80.0,
            cause,
            evidence: Vec::new(),
        }
    }

    fn provoked(kind: Kind, start_s: f64, end_s: f64) -> Provoked {
        Provoked { kind, start_s, end_s }
    }

    /// One row a second with 1,000 TPS, but for the seconds given.
    fn rows(slow: &[(usize, f64)]) -> Vec<IntervalRow> {
        let csv = "phase,interval_start_s,interval_s,workload,transactions,statements,errors,retries,skipped,tps,\
                   latency_mean_us,latency_min_us,latency_max_us,latency_p50_us,latency_p95_us,latency_p99_us,\
                   latency_p99_9_us,lag_mean_us,lag_max_us\n";
        let row = |second: usize| {
            let tps = slow
                .iter()
                .find(|(slow, _)| *slow == second)
                .map_or(1000.0, |(_, tps)| *tps);
            format!("measure,{second},1,update,1,1,0,0,0,{tps},,,,,,,,,\n")
        };
        let text: String = (0..100).map(row).collect();
        let text = csv.to_owned() + &text;
        serde_rows(&text)
    }

    fn serde_rows(text: &str) -> Vec<IntervalRow> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("intervals.csv"), text).unwrap();
        let run = dyno_archive::Run::read(folder.path().to_owned()).unwrap();
        run.intervals().unwrap().collect()
    }

    #[test]
    fn the_dip_that_shares_most_time_is_the_answer() {
        let all = [provoked(Kind::Lock, 40.2, 43.0), provoked(Kind::Cpu, 70.0, 74.0)];
        let dips = [
            dip(10.0, 11.0, Cause::Checkpoint),
            dip(39.0, 41.0, Cause::Vacuum),
            dip(42.0, 44.0, Cause::Lock),
            dip(75.0, 77.0, Cause::HostNoise),
        ];
        let (judged, others) = judge(&all, &dips, &rows(&[(42, 0.0), (75, 100.0)]));
        assert_eq!(judged[0].dip.as_ref().map(|dip| dip.cause), Some(Cause::Lock));
        assert_eq!(judged[0].verdict, Verdict::Right);
        assert_eq!((judged[0].usual_tps, judged[0].mean_tps), (1000.0, 2000.0 / 3.0));
        // What begins just after it was still caused by it.
        assert_eq!(judged[1].verdict, Verdict::Open);
        assert_eq!(others, [dips[0].clone()]);
    }

    #[test]
    fn a_standstill_that_nobody_speaks_of_is_missed() {
        let all = [provoked(Kind::Server, 20.0, 23.0), provoked(Kind::Vacuum, 50.0, 53.0)];
        let (judged, others) = judge(&all, &[], &rows(&[(20, 600.0), (21, 10.0), (22, 300.0), (51, 900.0)]));
        assert_eq!(
            (judged[0].verdict, judged[1].verdict),
            (Verdict::Missed, Verdict::NoDip)
        );
        assert_eq!(others, []);
        let server = Score::of(Kind::Server, &judged);
        assert_eq!((server.provoked, server.dipped, server.missed), (1, 1, 1));
        let both = server.and(Score::of(Kind::Vacuum, &judged));
        assert_eq!((both.provoked, both.dipped, both.right), (2, 1, 0));
    }

    #[test]
    fn each_kind_has_causes_of_its_own() {
        for database in [Database::Postgres, Database::Mariadb] {
            let kinds = Kind::of(database);
            for cause in [
                Cause::ServerStopped,
                Cause::OtherProcesses,
                Cause::Checkpoint,
                Cause::Vacuum,
                Cause::DynoStopped,
                Cause::FullLog,
                Cause::SlowStorage,
                Cause::ColdCache,
            ] {
                let found = kinds.iter().filter(|kind| kind.is_caused_by(&dip(0.0, 1.0, cause)));
                assert!(found.count() <= 1, "{cause:?}");
            }
            for open in [Cause::Unknown, Cause::HostNoise] {
                assert!(kinds.iter().all(|kind| !kind.is_caused_by(&dip(0.0, 1.0, open))));
            }
        }
    }

    #[test]
    fn which_lock_it_was_has_to_be_said() {
        let mut lock = dip(0.0, 1.0, Cause::Lock);
        assert!(Kind::Lock.is_caused_by(&lock) && !Kind::Row.is_caused_by(&lock));
        lock.evidence
            .push("8 sessions waited up to 3.0 s for a row lock on tbl held by connection 7".to_owned());
        assert!(Kind::Row.is_caused_by(&lock) && !Kind::Backup.is_caused_by(&lock));
    }
}

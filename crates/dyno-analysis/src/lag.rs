//! How far a replica is behind the server that it follows, by what is known of both.
//!
//! What a replica says of itself is about what it has received: one that receives nothing takes itself to be up to
//! date. So where it has come in the log is held against where its primary was. Both are sampled about once a second,
//! at instants of their own, and what lies between two samples nobody saw. Therefore only that is taken from them which
//! is certain whatever happened in between: a time and an amount that the replica is behind at least, and a time that
//! it is behind at most. What it says of itself counts within these.

use dyno_archive::{Run, Samples};
use dyno_record::Meaning;

/// What the primary had written when it was sampled.
struct Written {
    /// The position and the bytes were read between these two instants.
    asked_s: f64,
    answered_s: f64,
    position: f64,
    bytes: f64,
}

/// How far `replica` was behind `primary`, both of the same run, at each of its samples: the columns
/// [`Meaning::StandbyLagS`] and [`Meaning::OwnLagBytes`], in which all that the primary is known to have written
/// counts. `None` if it is not known where one of them was in the log: then only what the replica says of itself is.
#[must_use]
pub fn lag(replica: &Run, primary: &Run) -> Option<Samples> {
    use Meaning::{ExecutedPosition, FollowedBytes, FollowedPosition, OwnLagBytes, SampleMs, StandbyLagS};
    let of_primary = primary.server_samples(|meaning| matches!(meaning, FollowedPosition | FollowedBytes | SampleMs));
    let of_replica =
        replica.server_samples(|meaning| matches!(meaning, ExecutedPosition | StandbyLagS | OwnLagBytes | SampleMs));
    behind(&of_replica, &of_primary)
}

fn behind(of_replica: &Samples, of_primary: &Samples) -> Option<Samples> {
    let written = written(of_primary)?;
    let executed = of_replica.column(Meaning::ExecutedPosition)?;
    let own = |meaning: Meaning, place: usize| {
        let value = of_replica.column(meaning).and_then(|values| values.get(place));
        value.copied().filter(|value| value.is_finite())
    };
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for (place, (asked_s, executed)) in of_replica.at_s.iter().zip(executed).enumerate() {
        if !executed.is_finite() {
            seconds.push(f64::NAN);
            bytes.push(f64::NAN);
            continue;
        }
        let answered_s = asked_s + own(Meaning::SampleMs, place).unwrap_or(0.0) / 1e3;
        let bounds = Bounds::of(&written, (*asked_s, answered_s), *executed);
        let own_s = own(Meaning::StandbyLagS, place).unwrap_or(0.0);
        seconds.push(own_s.min(bounds.most_s).max(bounds.least_s));
        // It knows of nothing that is not there.
        bytes.push(own(Meaning::OwnLagBytes, place).unwrap_or(0.0).max(bounds.least_bytes));
    }
    Some(Samples {
        at_s: of_replica.at_s.clone(),
        columns: [(Meaning::StandbyLagS, seconds), (Meaning::OwnLagBytes, bytes)].into(),
    })
}

/// What the primary had written at each sample that says it; `None` if none does.
fn written(samples: &Samples) -> Option<Vec<Written>> {
    let column = |meaning| samples.column(meaning).into_iter().flatten().copied();
    let took_ms = column(Meaning::SampleMs).chain(std::iter::repeat(0.0));
    let all = samples.at_s.iter().zip(took_ms);
    let places = column(Meaning::FollowedPosition).zip(column(Meaning::FollowedBytes));
    let all = all.zip(places).map(|((asked_s, took_ms), (position, bytes))| Written {
        asked_s: *asked_s,
        answered_s: asked_s + if took_ms.is_finite() { took_ms / 1e3 } else { 0.0 },
        position,
        bytes,
    });
    let known: Vec<_> = all
        .filter(|written| written.position.is_finite() && written.bytes.is_finite())
        .collect();
    (!known.is_empty()).then_some(known)
}

/// Between what the truth about a replica lies at one of its samples.
struct Bounds {
    least_s: f64,
    most_s: f64,
    least_bytes: f64,
}

impl Bounds {
    /// For a replica that was asked and answered at these instants, and had `executed` the log up to there.
    fn of(written: &[Written], (asked_s, answered_s): (f64, f64), executed: f64) -> Self {
        let beyond = written.partition_point(|written| written.position <= executed);
        let (had, lacks) = (written[..beyond].last(), written.get(beyond));
        // It had all that the primary had written when that was asked; and it did not have all when that had answered.
        let most_s = had.map_or(f64::INFINITY, |had| answered_s - had.asked_s);
        let least_s = lacks.map_or(0.0, |lacks| (asked_s - lacks.answered_s).max(0.0));
        let until = written.partition_point(|written| written.answered_s <= asked_s);
        let least_bytes = match (lacks, written[..until].last()) {
            (Some(lacks), Some(last)) => {
                // A position grows by as many bytes as are written, or jumps.
                let done = had.map_or(lacks.bytes, |had| {
                    (had.bytes + executed - had.position).min(lacks.bytes)
                });
                (last.bytes - done).max(0.0)
            }
            _ => 0.0,
        };
        Self {
            least_s,
            most_s,
            least_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples that took 100 ms each.
    fn samples(at_s: &[f64], columns: &[(Meaning, &[f64])]) -> Samples {
        let took = (Meaning::SampleMs, vec![100.0; at_s.len()]);
        let columns = columns.iter().map(|(meaning, values)| (*meaning, values.to_vec()));
        Samples {
            at_s: at_s.to_vec(),
            columns: columns.chain([took]).collect(),
        }
    }

    /// A primary that writes 1,000 bytes a second.
    fn primary() -> Samples {
        let at_s: Vec<f64> = (0..10).map(f64::from).collect();
        let bytes: Vec<f64> = at_s.iter().map(|at_s| 5_000.0 + at_s * 1_000.0).collect();
        samples(
            &at_s,
            &[(Meaning::FollowedPosition, &bytes), (Meaning::FollowedBytes, &bytes)],
        )
    }

    fn lag(at_s: &[f64], executed: &[f64], own: [&[f64]; 2]) -> [Vec<f64>; 2] {
        let replica = samples(
            at_s,
            &[
                (Meaning::ExecutedPosition, executed),
                (Meaning::StandbyLagS, own[0]),
                (Meaning::OwnLagBytes, own[1]),
            ],
        );
        let lag = behind(&replica, &primary()).unwrap();
        let rounded = |meaning| {
            let values = lag.column(meaning).unwrap().iter();
            values.map(|value| (value * 1e3).round() / 1e3).collect()
        };
        [Meaning::StandbyLagS, Meaning::OwnLagBytes].map(rounded)
    }

    #[test]
    fn one_that_receives_nothing_is_behind_whatever_it_says() {
        // Nothing has arrived since 7,300 bytes, at 2.3 s; it says that it has executed all.
        let [seconds, bytes] = lag(&[2.5, 3.5, 6.5, 9.5], &[7_300.0; 4], [&[0.0; 4], &[0.0; 4]]);
        assert_eq!(seconds, [0.0, 0.4, 3.4, 6.4]);
        assert_eq!(bytes, [0.0, 700.0, 3_700.0, 6_700.0]);
    }

    #[test]
    fn what_only_the_time_between_samples_makes_is_no_lag() {
        let at_s = [1.3, 2.9, 4.0, 5.05];
        let executed: Vec<f64> = at_s.iter().map(|at_s| 5_000.0 + (at_s - 0.02) * 1_000.0).collect();
        let [seconds, bytes] = lag(&at_s, &executed, [&[0.02; 4], &[20.0; 4]]);
        assert_eq!((seconds, bytes), (vec![0.02; 4], vec![20.0; 4]));
    }

    #[test]
    fn what_a_replica_says_counts_where_it_can_be_true() {
        // By its last transaction it is a minute behind, but half a second before it had all there was.
        let [seconds, _] = lag(&[4.4], &[9_100.0], [&[60.0], &[0.0]]);
        assert_eq!(seconds, [0.5]);
        // It knows better than what was sampled.
        let [seconds, bytes] = lag(&[4.4], &[8_000.0], [&[1.2], &[1_350.0]]);
        assert_eq!((seconds, bytes), (vec![1.2], vec![1_350.0]));
        // It says nothing.
        let [seconds, bytes] = lag(&[4.4], &[6_000.0], [&[f64::NAN], &[f64::NAN]]);
        assert_eq!((seconds, bytes), (vec![2.3], vec![3_000.0]));
    }

    #[test]
    fn where_positions_jump_from_file_to_file_no_bytes_are_made_up() {
        let primary = samples(
            &[0.0, 1.0, 2.0],
            &[
                (Meaning::FollowedPosition, &[900.0, 1_000_010.0, 1_000_500.0]),
                (Meaning::FollowedBytes, &[900.0, 1_110.0, 1_600.0]),
            ],
        );
        let of = |executed: f64| {
            let replica = samples(&[2.5], &[(Meaning::ExecutedPosition, &[executed])]);
            behind(&replica, &primary)
                .unwrap()
                .column(Meaning::OwnLagBytes)
                .unwrap()[0]
        };
        assert_eq!([of(950.0), of(1_000_005.0), of(1_000_500.0)], [650.0, 490.0, 0.0]);
    }

    #[test]
    fn without_positions_nothing_is_known() {
        let replica = samples(&[1.0], &[(Meaning::StandbyLagS, &[0.0])]);
        assert_eq!(behind(&replica, &primary()), None);
        let replica = samples(&[1.0], &[(Meaning::ExecutedPosition, &[5_000.0])]);
        assert_eq!(behind(&replica, &samples(&[1.0], &[])), None);
        let unread = samples(&[1.0], &[(Meaning::ExecutedPosition, &[f64::NAN])]);
        let seconds = behind(&unread, &primary())
            .unwrap()
            .columns
            .remove(&Meaning::StandbyLagS);
        assert!(seconds.unwrap()[0].is_nan());
    }
}

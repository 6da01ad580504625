//! What checkpoints do to the run as a whole.
//!
//! One dip after one checkpoint may be chance. Over many checkpoints the means tell, also where no single second
//! stands out.

use crate::recording::Recording;
use crate::series::{Series, Window};
use dyno_archive::figures::figure;
use dyno_record::Words;

/// How long before and after the begin of a checkpoint is compared, in seconds.
const AROUND_S: f64 = 10.0;

/// Fewer checkpoints prove nothing.
const FEWEST: usize = 3;

/// A mean that differs by less is said to be none.
const DIFFERENCE: f64 = 0.05;

/// The sentences that hold for the run.
pub(super) fn findings(recording: &Recording) -> Vec<String> {
    [throughput(recording), burst(recording)]
        .into_iter()
        .flatten()
        .collect()
}

/// The begins of checkpoints within the time measured, in order.
fn starts(recording: &Recording) -> Vec<f64> {
    let within = |start_s: &f64| (recording.measured.start_s..recording.measured.end_s).contains(start_s);
    let mut starts: Vec<_> = recording
        .checkpoints
        .iter()
        .map(|checkpoint| checkpoint.start_s)
        .filter(within)
        .collect();
    starts.sort_unstable_by(f64::total_cmp);
    starts
}

/// Whether TPS is lower right after a checkpoint's begin than right before it.
fn throughput(recording: &Recording) -> Option<String> {
    let pairs: Vec<(f64, f64)> = starts(recording)
        .into_iter()
        .filter_map(|start_s| {
            let before = Window {
                start_s: start_s - AROUND_S,
                end_s: start_s,
            };
            let after = Window {
                start_s,
                end_s: start_s + AROUND_S,
            };
            // With another load TPS differs by itself.
            let mut levels = recording.levels.iter();
            let whole = levels.any(|level| before.overlap_s(*level) + after.overlap_s(*level) >= 2.0 * AROUND_S - 1.0);
            Some((recording.tps.mean_in(before)?, recording.tps.mean_in(after)?)).filter(|_| whole)
        })
        .collect();
    if pairs.len() < FEWEST {
        return None;
    }
    let sum = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>();
    let ratio = sum(|pair| pair.1) / sum(|pair| pair.0);
    let lower = pairs.iter().filter(|(before, after)| after < before).count();
    let percent = (1.0 - ratio) * 100.0;
    if !ratio.is_finite() {
        return None;
    }
    let of = format!("{lower} of {}", pairs.len());
    // By chance all of three are lower once in eight times; four fifths of ten once in twenty.
    Some(if ratio < 1.0 - DIFFERENCE && lower * 5 >= pairs.len() * 4 {
        format!(
            "TPS follows checkpoints: in the {AROUND_S:.0} s after the start of one it was {percent:.0} % lower than \
             in the {AROUND_S:.0} s before (lower at {of})."
        )
    } else {
        let change = if percent.abs() < 0.5 {
            "the same on average".to_owned()
        } else {
            format!(
                "{:.0} % {} on average",
                percent.abs(),
                if percent > 0.0 { "lower" } else { "higher" }
            )
        };
        format!(
            "TPS shows no clear effect of checkpoints: in the {AROUND_S:.0} s after the start of one it was {change} \
             (lower at {of})."
        )
    })
}

/// How much more log a transaction costs right after a checkpoint than late before the next.
fn burst(recording: &Recording) -> Option<String> {
    let mut starts = starts(recording);
    starts.push(recording.measured.end_s);
    let cycles: Vec<(f64, f64)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let usual_s = dyno_stats::median(
        &cycles
            .iter()
            .map(|(start_s, end_s)| end_s - start_s)
            .collect::<Vec<_>>(),
    )?;
    // What is left after the last checkpoint is a cycle if it is about as long as one.
    let cycles: Vec<_> = cycles
        .into_iter()
        .filter(|(start_s, end_s)| end_s - start_s >= 0.75 * usual_s && *end_s - start_s >= 4.0)
        .collect();
    if cycles.len() < 2 {
        return None;
    }
    let quarter = |from: f64, to: f64| {
        let part = |(start_s, end_s): &(f64, f64)| Window {
            start_s: start_s + from * (end_s - start_s),
            end_s: start_s + to * (end_s - start_s),
        };
        cycles.iter().map(part).collect::<Vec<_>>()
    };
    let per_transaction = |series: &Series, windows: &[Window]| {
        let total = |series: &Series| {
            windows
                .iter()
                .filter_map(|window| Some(series.mean_in(*window)? * window.length_s()))
                .sum::<f64>()
        };
        Some(total(series) / total(&recording.tps)).filter(|value| value.is_finite())
    };
    let (early, late) = (quarter(0.0, 0.25), quarter(0.75, 1.0));
    let written = &recording.log_bytes.as_ref()?.series;
    let (early_bytes, late_bytes) = (per_transaction(written, &early)?, per_transaction(written, &late)?);
    // Hardly any log at all: a load that only reads, and what the server itself writes.
    const LEAST_BYTES: f64 = 20.0;
    if early_bytes < LEAST_BYTES || late_bytes <= 0.0 {
        return None;
    }
    let Words { log, page_image, .. } = &recording.words;
    let images = recording.page_images.as_ref().and_then(|images| {
        let (early, late) = (
            per_transaction(&images.series, &early)?,
            per_transaction(&images.series, &late)?,
        );
        Some(format!("; {page_image}s {early:.2} against {late:.2} per transaction"))
    });
    let times = early_bytes / late_bytes;
    let figures = format!(
        "{} bytes in the first quarter of a cycle, {} in the last, over {} cycles",
        figure(early_bytes),
        figure(late_bytes),
        cycles.len()
    );
    let images = images.unwrap_or_default();
    Some(if times >= 1.5 {
        format!(
            "{log} per transaction was {times:.1} times as much after each checkpoint as before the next \
             ({figures}{images})."
        )
    } else {
        format!("Checkpoints cause no burst of {log}: per transaction {figures}{images}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Signal;
    use dyno_archive::earlier;
    use dyno_record::Checkpoint;

    /// Ten cycles of 60 s, in which TPS and WAL per second are given by the second of the cycle.
    fn recording(tps: fn(i32) -> f64, wal: fn(i32) -> f64) -> Recording {
        let series = |value: fn(i32) -> f64| {
            let mut series = Series::default();
            for second in 0..630 {
                let start_s = f64::from(second);
                series.push(
                    Window {
                        start_s,
                        end_s: start_s + 1.0,
                    },
                    value((second + 30) % 60),
                );
            }
            series
        };
        Recording {
            measured: Window {
                start_s: 0.0,
                end_s: 630.0,
            },
            levels: vec![Window {
                start_s: 0.0,
                end_s: 630.0,
            }],
            tps: series(tps),
            log_bytes: Signal::new(series(wal), &[]),
            words: earlier::traits(&serde_json::Value::Null).words,
            checkpoints: (0..10)
                .map(|cycle| Checkpoint {
                    start_s: f64::from(30 + 60 * cycle),
                    ..Checkpoint::default()
                })
                .collect(),
            ..Recording::default()
        }
    }

    #[test]
    fn throughput_that_follows_checkpoints() {
        let found = findings(&recording(|second| if second < 10 { 750.0 } else { 1_000.0 }, |_| 0.0));
        assert_eq!(
            found,
            [
                "TPS follows checkpoints: in the 10 s after the start of one it was 25 % lower than in the 10 s \
                 before (lower at 10 of 10)."
            ]
        );
    }

    #[test]
    fn throughput_that_does_not_care() {
        let found = findings(&recording(|second| 1_000.0 + f64::from(second % 2), |_| 0.0));
        assert_eq!(
            found,
            [
                "TPS shows no clear effect of checkpoints: in the 10 s after the start of one it was the same on \
                 average (lower at 0 of 10)."
            ]
        );
    }

    #[test]
    fn a_burst_of_wal_after_each_checkpoint() {
        let found = findings(&recording(
            |_| 1_000.0,
            |second| if second < 15 { 1_560_000.0 } else { 300_000.0 },
        ));
        assert_eq!(
            found[1],
            "WAL per transaction was 5.2 times as much after each checkpoint as before the next (1,560 bytes in the \
             first quarter of a cycle, 300 in the last, over 10 cycles)."
        );
        let found = findings(&recording(|_| 1_000.0, |_| 300_000.0));
        assert!(found[1].starts_with("Checkpoints cause no burst of WAL"), "{found:?}");
    }

    #[test]
    fn stages_that_begin_with_checkpoints_are_no_effect_of_them() {
        let mut recording = recording(|second| if second < 30 { 750.0 } else { 1_000.0 }, |_| 0.0);
        assert!(findings(&recording)[0].starts_with("TPS follows checkpoints"));
        recording.levels = (0..21)
            .map(|stage| Window {
                start_s: f64::from(30 * stage),
                end_s: f64::from(30 * stage + 30),
            })
            .collect();
        assert_eq!(findings(&recording), Vec::<String>::new());
    }

    #[test]
    fn few_checkpoints_prove_nothing() {
        let mut recording = recording(|_| 1_000.0, |_| 300_000.0);
        recording.checkpoints.truncate(1);
        assert_eq!(findings(&recording), Vec::<String>::new());
    }
}

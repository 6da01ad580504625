//! Whether the throughput of a run settled, in words.

use crate::throughput::Throughput;
use dyno_archive::analysis::Steady;
use dyno_stats::Stationarity;

/// Judges the measured time of a run.
pub(super) fn steady(throughput: &Throughput) -> Steady {
    match throughput.phases.as_slice() {
        [_, _, ..] => return not("the load changes from stage to stage"),
        [phase] if phase.ramp => return not("the load changes during the only stage"),
        _ => {}
    }
    if let Some(standstill) = throughput.standstill() {
        return not(&standstill);
    }
    let time_s = |index: usize| throughput.windows.get(index).map_or(0.0, |window| window.start_s);
    let measured = throughput.measured();
    match dyno_stats::stationarity(&throughput.tps) {
        Stationarity::Steady { from } => {
            let from_s = time_s(from);
            let reason = if from == 0 {
                "no trend and no change of level in the measured time".to_owned()
            } else {
                let (before, after) = throughput.tps.split_at(from);
                let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
                format!(
                    "no trend and no change of level after the first {:.0} s, in which TPS was {}",
                    from_s - measured.start_s,
                    against(mean(before) / mean(after), "later")
                )
            };
            Steady {
                found: true,
                from_s: Some(from_s),
                reason,
            }
        }
        Stationarity::TooShort { needed } => not(&format!(
            "{} not enough to tell; {needed} are needed{}",
            throughput.stretches_are(),
            throughput.may_be_shorter()
        )),
        Stationarity::Settling => not("TPS was still settling in the second half of the measured time"),
        Stationarity::Trending(trend) => {
            let direction = if trend.change > 0.0 { "rose" } else { "fell" };
            not(&format!(
                "TPS {direction} by {:.0} % over the measured time (p {})",
                trend.change.abs() * 100.0,
                p_value(trend.p_value)
            ))
        }
        Stationarity::Changing { at, ratio } => not(&format!(
            "from {:.0} s on TPS was {}",
            time_s(at),
            against(ratio, "before")
        )),
    }
}

fn not(reason: &str) -> Steady {
    Steady {
        found: false,
        from_s: None,
        reason: reason.to_owned(),
    }
}

/// A ratio as a difference: 0.8 is 20 % lower.
fn against(ratio: f64, what: &str) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let direction = if percent < 0.0 { "lower" } else { "higher" };
    format!("{:.0} % {direction} than {what}", percent.abs())
}

fn p_value(value: f64) -> String {
    if value < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("= {value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Window;

    fn of(tps: impl IntoIterator<Item = f64>) -> Steady {
        let mut throughput = Throughput::default();
        for (second, tps) in tps.into_iter().enumerate() {
            let start_s = 5.0 + second as f64;
            throughput.windows.push(Window {
                start_s,
                end_s: start_s + 1.0,
            });
            throughput.tps.push(tps);
        }
        steady(&throughput)
    }

    fn wobbling(index: u32) -> f64 {
        1_000.0 + f64::from(index * 37 % 23)
    }

    #[test]
    fn says_from_when_on_and_what_was_before() {
        let steady = of((0..200).map(wobbling));
        assert!(steady.found && steady.from_s.is_some(), "{steady:?}");
        let steady = of((0..200).map(|index| if index < 20 { 500.0 } else { 1_000.0 }));
        assert_eq!(steady.from_s, Some(25.0));
        assert_eq!(
            steady.reason,
            "no trend and no change of level after the first 20 s, in which TPS was 50 % lower than later"
        );
    }

    #[test]
    fn says_what_happens_instead() {
        let reason = |tps: Vec<f64>| {
            let steady = of(tps);
            assert!(!steady.found && steady.from_s.is_none());
            steady.reason
        };
        assert_eq!(
            reason(vec![1.0; 20]),
            "20 intervals are not enough to tell; 60 are needed"
        );
        let mut long = Throughput::default();
        for start_s in [0.0, 30.0, 60.0, 90.0] {
            long.windows.push(Window {
                start_s,
                end_s: start_s + 30.0,
            });
            long.tps.push(1_000.0);
        }
        // To wait for 60 of them would take half an hour.
        assert_eq!(
            steady(&long).reason,
            "4 intervals of 30 s are not enough to tell; 60 are needed, and one need not last longer than 1 s"
        );
        let stopped = (0..100).map(|index| if index < 30 { wobbling(index) } else { 0.0 });
        let words = "no transaction completed for 70 s of the 100 s measured";
        assert_eq!(
            (reason(stopped.collect()), reason(vec![0.0; 100])),
            (words.into(), words.replace("70", "100"))
        );
        let step = (0..300)
            .map(|index| if index < 200 { 1.0 } else { 0.7 } * wobbling(index))
            .collect();
        assert_eq!(reason(step), "from 205 s on TPS was 30 % lower than before");
        let fall = (0..300)
            .map(|index| wobbling(index) * (1.0 - f64::from(index) / 1000.0))
            .collect();
        assert_eq!(reason(fall), "TPS fell by 34 % over the measured time (p < 0.001)");
    }
}

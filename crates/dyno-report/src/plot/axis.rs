//! Where the ticks of an axis are, and what stands beside them.

use crate::figures::decimal;

/// An axis with its ticks. Positions on it are shares of its length, from 0 to 1.
pub(super) struct Axis {
    low: f64,
    high: f64,
    /// Whether equal ratios are equally far apart.
    log: bool,
    /// Values and labels, ascending.
    pub ticks: Vec<(f64, String)>,
}

/// Steps of time axes, in seconds.
const TIME_STEPS_S: [f64; 19] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 21_600.0,
    43_200.0, 86_400.0, 604_800.0,
];

/// Up to here an axis of time counts seconds.
const SECONDS_UP_TO: f64 = 120.0;

impl Axis {
    /// From zero to `high`, so that no row above it is empty, with about as many ticks as `count` at steps of 1, 2 or
    /// 5 times a power of ten.
    pub fn from_zero(high: f64, count: usize) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let rough = high / count.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * power)
            .find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(high);
        let steps = (high / step + 1e-9).floor() as usize;
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let ticks = (0..=steps).map(|tick| tick as f64 * step);
        Self {
            low: 0.0,
            high,
            log: false,
            ticks: ticks.map(|value| (value, decimal(value, decimals))).collect(),
        }
    }

    /// Seconds from `low` to `high`, with at most `count` ticks.
    pub fn time(low: f64, high: f64, count: usize) -> Self {
        let high = high.max(low + 1.0);
        let most = count.max(2) as f64;
        let step = TIME_STEPS_S.into_iter().find(|step| (high - low) / step <= most - 1.0);
        let step = step.unwrap_or(high - low);
        let first = (low / step - 1e-9).ceil() as i64;
        let ticks = (first..)
            .map(|tick| tick as f64 * step)
            .take_while(|at_s| *at_s <= high + 1e-9);
        let label = |at_s: f64| {
            if high <= SECONDS_UP_TO {
                format!("{at_s:.0}")
            } else {
                clock(at_s)
            }
        };
        Self {
            low,
            high,
            log: false,
            ticks: ticks.map(|at_s| (at_s, label(at_s))).collect(),
        }
    }

    /// What the labels of an axis of time are.
    pub fn time_unit(&self) -> &'static str {
        if self.high <= SECONDS_UP_TO { "s" } else { "h:mm:ss" }
    }

    /// With a tick at each of these ascending `levels`; logarithmic if they span more than one order of magnitude.
    pub fn of_levels(levels: &[(f64, String)]) -> Self {
        let low = levels.first().map_or(0.0, |(level, _)| *level);
        let high = levels.last().map_or(1.0, |(level, _)| *level);
        Self {
            low,
            high,
            log: low > 0.0 && high > 10.0 * low,
            ticks: levels.to_vec(),
        }
    }

    /// Where `value` lies.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high, value) = if self.log {
            (self.low.ln(), self.high.ln(), value.ln())
        } else {
            (self.low, self.high, value)
        };
        let share = (value - low) / (high - low);
        // A single level lies in the middle.
        if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) }
    }
}

/// Seconds as h:mm:ss.
fn clock(at_s: f64) -> String {
    let sign = if at_s < 0.0 { "-" } else { "" };
    let seconds = at_s.abs().round() as u64;
    format!("{sign}{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn rates_have_round_steps_from_zero_up_to_the_highest() {
        assert_eq!(labels(&Axis::from_zero(12_990.0, 4)), ["0", "5,000", "10,000"]);
        assert_eq!(labels(&Axis::from_zero(1.0, 4)), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(&Axis::from_zero(0.0, 4)), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(&Axis::from_zero(0.012, 3)), ["0.000", "0.005", "0.010"]);
        assert!((Axis::from_zero(15_000.0, 4).share(7_500.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn time_is_told_as_people_tell_it() {
        assert_eq!(labels(&Axis::time(0.0, 25.0, 6)), ["0", "5", "10", "15", "20", "25"]);
        assert_eq!(
            labels(&Axis::time(0.0, 8.0 * 3_600.0, 6)),
            ["0:00:00", "2:00:00", "4:00:00", "6:00:00", "8:00:00"]
        );
        assert_eq!(labels(&Axis::time(-3.0, 125.0, 4)), ["0:00:00", "0:01:00", "0:02:00"]);
    }

    #[test]
    fn levels_far_apart_are_on_a_logarithmic_axis() {
        let axis = Axis::of_levels(&[1.0, 4.0, 16.0].map(|level| (level, level.to_string())));
        assert!((axis.share(4.0) - 0.5).abs() < 1e-9);
        let axis = Axis::of_levels(&[2.0, 4.0, 10.0].map(|level| (level, level.to_string())));
        assert!((axis.share(4.0) - 0.25).abs() < 1e-9);
        assert_eq!(Axis::of_levels(&[(8.0, "8".to_owned())]).share(8.0), 0.5);
    }
}

//! Values over time, and how one stretch of time compares with the rest.

use dyno_stats::Level;

/// A stretch of time, in seconds since the first phase began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Window {
    /// Its begin.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
}

impl Window {
    /// How long it lasts.
    pub fn length_s(self) -> f64 {
        (self.end_s - self.start_s).max(0.0)
    }

    /// How much of it lies in `other`, in seconds.
    pub fn overlap_s(self, other: Self) -> f64 {
        (self.end_s.min(other.end_s) - self.start_s.max(other.start_s)).max(0.0)
    }

    /// The same with `margin_s` more on either side.
    pub fn widened(self, margin_s: f64) -> Self {
        Self {
            start_s: self.start_s - margin_s,
            end_s: self.end_s + margin_s,
        }
    }
}

/// One value for each of many stretches of time, in order, such as a rate between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    windows: Vec<Window>,
    values: Vec<f64>,
}

impl Series {
    /// Adds a value; one that is not finite, or of no time, is left out.
    pub fn push(&mut self, window: Window, value: f64) {
        if value.is_finite() && window.length_s() > 0.0 {
            self.windows.push(window);
            self.values.push(value);
        }
    }

    /// What was sampled as such: each value is of the time since the sample before.
    pub fn gauge(at_s: &[f64], values: &[f64]) -> Self {
        let mut series = Self::default();
        for (times, values) in at_s.windows(2).zip(values.windows(2)) {
            series.push(
                Window {
                    start_s: times[0],
                    end_s: times[1],
                },
                values[1],
            );
        }
        series
    }

    /// What was sampled as a sum that grows: its growth per second. A counter that was reset meanwhile has no rate
    /// there.
    pub fn rate(at_s: &[f64], values: &[f64]) -> Self {
        let mut series = Self::default();
        for (times, values) in at_s.windows(2).zip(values.windows(2)) {
            let window = Window {
                start_s: times[0],
                end_s: times[1],
            };
            if values[1] >= values[0] {
                series.push(window, (values[1] - values[0]) / window.length_s());
            }
        }
        series
    }

    /// What was sampled as such and grew less: by how much per second; 0 where it did not.
    pub fn decline(at_s: &[f64], values: &[f64]) -> Self {
        let mut series = Self::default();
        for (times, values) in at_s.windows(2).zip(values.windows(2)) {
            let window = Window {
                start_s: times[0],
                end_s: times[1],
            };
            series.push(
                window,
                (values[0] - values[1]).clamp(0.0, f64::INFINITY) / window.length_s(),
            );
        }
        series
    }

    /// Each value divided by the mean of `other` at the time; where that is next to nothing there is none.
    pub fn per(&self, other: &Self) -> Self {
        let mut series = Self::default();
        for (window, value) in self.iter() {
            if let Some(mean) = other.mean_in(window).filter(|mean| *mean >= 1.0) {
                series.push(window, value / mean);
            }
        }
        series
    }

    /// The values with their times.
    pub fn iter(&self) -> impl Iterator<Item = (Window, f64)> {
        self.windows.iter().copied().zip(self.values.iter().copied())
    }

    /// The mean over `window`, each value weighted by its share of that time; `None` if none lies in it.
    pub fn mean_in(&self, window: Window) -> Option<f64> {
        let first = self.windows.partition_point(|other| other.end_s <= window.start_s);
        let (mut sum, mut time_s) = (0.0, 0.0);
        for (other, value) in self.windows.iter().zip(&self.values).skip(first) {
            if other.start_s >= window.end_s {
                break;
            }
            let overlap_s = other.overlap_s(window);
            (sum, time_s) = (sum + value * overlap_s, time_s + overlap_s);
        }
        (time_s > 0.0).then(|| sum / time_s)
    }

    /// The largest value that lies in `window` for the most part.
    pub fn max_in(&self, window: Window) -> Option<f64> {
        let first = self.windows.partition_point(|other| other.end_s <= window.start_s);
        let values = self.windows.iter().zip(&self.values).skip(first);
        values
            .take_while(|(other, _)| other.start_s < window.end_s)
            .filter(|(other, _)| other.overlap_s(window) >= 0.5 * other.length_s())
            .map(|(_, value)| *value)
            .max_by(f64::total_cmp)
    }
}

/// A series with its level outside of all dips: what is usual.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signal {
    pub series: Series,
    pub usual: Level,
}

/// How a signal differs in one stretch of time from what is usual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deviation {
    /// The mean in that time.
    pub inside: f64,
    /// The usual value.
    pub usual: f64,
    /// How many of its usual spreads the mean lies above it.
    pub spreads: f64,
}

/// A difference of fewer spreads happens by itself.
const NOTABLE_SPREADS: f64 = 4.0;

impl Signal {
    /// The signal of `series` in a run with these `dips`; `None` if there is nothing outside of them to compare with.
    pub fn new(series: Series, dips: &[Window]) -> Option<Self> {
        // What leads to a dip begins a little before it, and what it leaves behind goes on a little.
        const MARGIN_S: f64 = 1.5;
        let mut dips = dips.iter().map(|dip| dip.widened(MARGIN_S)).peekable();
        let mut outside = Vec::new();
        for (window, value) in series.iter() {
            while dips.next_if(|dip| dip.end_s <= window.start_s).is_some() {}
            if dips.peek().is_none_or(|dip| dip.overlap_s(window) == 0.0) {
                outside.push(value);
            }
        }
        const FEWEST: usize = 5;
        let usual = Level::of(&outside).filter(|_| outside.len() >= FEWEST)?;
        Some(Self { series, usual })
    }

    /// How the signal is in `window`, if that is notably above what is usual: by at least `least` (in its unit),
    /// and by several spreads.
    pub fn raised_in(&self, window: Window, least: f64) -> Option<Deviation> {
        let inside = self.series.mean_in(window)?;
        // The allowance of a twentieth is for counters that hardly ever change.
        let spreads = self.usual.distance(inside, 0.05 * self.usual.median.abs());
        let usual = self.usual.median;
        (inside - usual >= least && spreads >= NOTABLE_SPREADS).then_some(Deviation { inside, usual, spreads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start_s: f64, end_s: f64) -> Window {
        Window { start_s, end_s }
    }

    #[test]
    fn counters_become_rates() {
        let rates = Series::rate(&[1.0, 2.0, 4.0, 5.0, 6.0], &[10.0, 20.0, 60.0, 0.0, 5.0]);
        let found: Vec<_> = rates.iter().collect();
        // The counter was reset between 4 and 5.
        assert_eq!(
            found,
            [
                (window(1.0, 2.0), 10.0),
                (window(2.0, 4.0), 20.0),
                (window(5.0, 6.0), 5.0)
            ]
        );
    }

    #[test]
    fn what_grows_less_declines() {
        let found: Vec<_> = Series::decline(&[0.0, 1.0, 3.0], &[10.0, 12.0, 2.0]).iter().collect();
        assert_eq!(found, [(window(0.0, 1.0), 0.0), (window(1.0, 3.0), 5.0)]);
        // What was not read is no decline.
        assert_eq!(Series::decline(&[0.0, 1.0], &[f64::NAN, 2.0]).iter().count(), 0);
    }

    #[test]
    fn a_series_per_another_leaves_out_standstills() {
        let bytes = Series::gauge(&[0.0, 1.0, 2.0], &[0.0, 500.0, 700.0]);
        let tps = Series::gauge(&[0.0, 0.5, 1.0, 2.0], &[0.0, 8.0, 12.0, 0.0]);
        assert_eq!(bytes.per(&tps).iter().collect::<Vec<_>>(), [(window(0.0, 1.0), 50.0)]);
    }

    #[test]
    fn means_are_weighted_by_time() {
        let series = Series::gauge(&[0.0, 1.0, 2.0, 4.0], &[f64::NAN, 1.0, 2.0, 6.0]);
        // Half a second of 1, one of 2, one of 6.
        assert_eq!(series.mean_in(window(0.5, 3.0)), Some((0.5 + 2.0 + 6.0) / 2.5));
        assert_eq!(series.max_in(window(0.5, 3.0)), Some(6.0));
        assert_eq!(series.max_in(window(0.5, 2.5)), Some(2.0));
        assert_eq!(series.mean_in(window(9.0, 10.0)), None);
    }

    #[test]
    fn a_signal_is_raised_against_its_level_outside_of_dips() {
        let at_s: Vec<f64> = (0..=60).map(f64::from).collect();
        let values: Vec<f64> = (0..=60)
            .map(|at| {
                if (30..34).contains(&at) {
                    50.0
                } else {
                    f64::from(9 + at % 3)
                }
            })
            .collect();
        let dip = window(29.0, 33.0);
        let signal = Signal::new(Series::gauge(&at_s, &values), &[dip]).unwrap();
        assert_eq!(signal.usual.median, 10.0);
        let raised = signal.raised_in(dip, 5.0).unwrap();
        assert_eq!((raised.inside, raised.usual), (50.0, 10.0));
        assert_eq!(signal.raised_in(dip, 41.0), None);
        assert_eq!(signal.raised_in(window(40.0, 44.0), 0.0), None);
    }
}

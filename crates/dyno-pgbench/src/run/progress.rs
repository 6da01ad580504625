//! The lines of `-P`.

use crate::options::Options;
use crate::report::fixed;
use crate::version::Version;
use dyno_record::Recording;
use std::fmt::Write;
use std::time::Duration;

/// Which parts a progress line has.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The version whose line it is: failures come with 15.
    pub version: Version,
    /// With `-R`.
    pub lag: bool,
    /// With `-R` and `-L`.
    pub skipped: bool,
    /// With more than one try.
    pub retries: bool,
}

impl Layout {
    /// The layout that the options ask for.
    pub fn of(options: &Options) -> Self {
        Self {
            version: options.report_format,
            lag: options.rate_per_s.is_some(),
            skipped: options.rate_per_s.is_some() && options.latency_limit_us.is_some(),
            retries: options.max_tries != 1 && options.report_format >= Version::V15,
        }
    }

    /// A line about what was recorded in `lasted`; `time` says when that ended.
    pub fn line(&self, time: &str, lasted: Duration, recording: &Recording) -> String {
        let tps = recording.transactions as f64 / lasted.as_secs_f64();
        let latency = &recording.latency_sums;
        let milliseconds = |us: f64| fixed(us / 1000.0, 3);
        let mut line = format!(
            "progress: {time} s, {} tps, lat {} ms stddev {}",
            fixed(tps, 1),
            milliseconds(latency.mean_us()),
            milliseconds(latency.stddev_us())
        );
        // Writing to a string does not fail.
        if self.version >= Version::V15 {
            let _ = write!(line, ", {} failed", recording.failures.total());
        }
        if self.lag {
            let _ = write!(line, ", lag {} ms", milliseconds(recording.lag_sums.mean_us()));
        }
        if self.skipped {
            let _ = write!(line, ", {} skipped", recording.skipped);
        }
        if self.retries {
            let _ = write!(line, ", {} retried, {} retries", recording.retried, recording.retries);
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Sums;

    #[test]
    fn parts_appear_as_asked() {
        let mut recording = Recording {
            transactions: 10,
            skipped: 1,
            retried: 2,
            retries: 3,
            ..Recording::default()
        };
        let mut sums = Sums::default();
        for latency_us in [1000, 3000] {
            sums.record(latency_us * 1000);
        }
        recording.latency_sums = sums;
        recording.lag_sums = sums;
        let mut layout = Layout {
            version: Version::NEWEST,
            lag: false,
            skipped: false,
            retries: false,
        };
        let line = |layout: Layout| layout.line("5.0", Duration::from_secs(5), &recording);
        assert_eq!(
            line(layout),
            "progress: 5.0 s, 2.0 tps, lat 2.000 ms stddev 1.000, 0 failed\n"
        );
        layout.lag = true;
        layout.skipped = true;
        layout.retries = true;
        assert_eq!(
            line(layout),
            "progress: 5.0 s, 2.0 tps, lat 2.000 ms stddev 1.000, 0 failed, lag 2.000 ms, 1 skipped, 2 retried, 3 \
             retries\n"
        );
        layout.version = Version::V14;
        layout.retries = false;
        assert_eq!(
            line(layout),
            "progress: 5.0 s, 2.0 tps, lat 2.000 ms stddev 1.000, lag 2.000 ms, 1 skipped\n"
        );
    }

    #[test]
    fn an_interval_without_transactions_is_told() {
        let line = |version| {
            let layout = Layout {
                version,
                lag: true,
                skipped: true,
                retries: false,
            };
            layout.line("5.0", Duration::from_secs(5), &Recording::default())
        };
        assert_eq!(
            line(Version::V11),
            "progress: 5.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, lag 0.000 ms, 0 skipped\n"
        );
        assert_eq!(line(Version::V10), line(Version::V11));
    }
}

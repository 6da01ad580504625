//! The lines and reports themselves.

use super::{Fairness, Manner, Stat};
use crate::version::Version;
use dyno_lua::Statistics;
use std::fmt::Write;

impl Manner {
    /// The line about an interval, or the two lines of a run with a rate.
    #[must_use]
    pub fn intermediate(&self, stat: &Stat) -> String {
        let time_s = stat.time_total_s;
        let milliseconds = stat.latency_pct_s * 1e3;
        let percentile = self.percentile.unwrap_or(0);
        let per_s = |number| stat.per_s(number);
        let mut text = match (self.version, self.has_database) {
            (Version::V0_5, _) => format!(
                "[{time_s:4.0}s] threads: {}, tps: {:.2}, reads: {:.2}, writes: {:.2}, response time: {:.2}ms \
                 ({percentile}%), errors: {:.2}, reconnects: {:5.2}\n",
                stat.threads_running,
                per_s(stat.events),
                per_s(stat.reads),
                per_s(stat.writes),
                milliseconds,
                per_s(stat.errors),
                per_s(stat.reconnects),
            ),
            (_, true) => format!(
                "[ {time_s:.0}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{percentile}%): \
                 {:.2} err/s: {:.2} reconn/s: {:.2}\n",
                stat.threads_running,
                per_s(stat.events),
                per_s(stat.queries()),
                per_s(stat.reads),
                per_s(stat.writes),
                per_s(stat.other),
                milliseconds,
                per_s(stat.errors),
                per_s(stat.reconnects),
            ),
            (_, false) => format!(
                "[ {time_s:.0}s ] thds: {} eps: {:.2} lat (ms,{percentile}%): {:.2}\n",
                stat.threads_running,
                per_s(stat.events),
                milliseconds,
            ),
        };
        if self.has_rate {
            // Writing to a string does not fail.
            let when = match self.version {
                Version::V0_5 => format!("[{time_s:4.0}s]"),
                _ => format!("[ {time_s:.0}s ]"),
            };
            // As sysbench writes it.
            let comma = if self.has_database { "," } else { "" };
            let _ = writeln!(
                text,
                "{when} queue length: {}{comma} concurrency: {}",
                stat.queue_length, stat.concurrency
            );
        }
        text
    }

    /// The line that `sysbench.report_default` prints, whatever version it is.
    #[must_use]
    pub fn default_line(&self, stat: &Statistics) -> String {
        let per_s = |number: u64| match stat.time_interval_s > 0.0 {
            true => number as f64 / stat.time_interval_s,
            false => 0.0,
        };
        format!(
            "[ {:.0}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{}%): {:.2} err/s {:.2} \
             reconn/s: {:.2}\n",
            stat.time_total_s,
            stat.threads_running,
            per_s(stat.events),
            per_s(stat.reads + stat.writes + stat.other),
            per_s(stat.reads),
            per_s(stat.writes),
            per_s(stat.other),
            self.percentile.unwrap_or(0),
            stat.latency_pct_s * 1e3,
            per_s(stat.errors),
            per_s(stat.reconnects),
        )
    }

    /// The report, from a script's queries to its latencies. So many events were given up because the time was over.
    #[must_use]
    pub fn cumulative(&self, stat: &Stat, unfinished: u64) -> String {
        let mut text = String::new();
        if self.has_database {
            text += &self.queries(stat);
        }
        if unfinished > 0 {
            let _ = writeln!(
                text,
                "\nNumber of unfinished transactions on forced shutdown: {unfinished}"
            );
        }
        text += &self.totals(stat);
        if self.version != Version::V0_5 {
            text += &self.latencies(stat);
        }
        text
    }

    fn queries(&self, stat: &Stat) -> String {
        let title = match self.version {
            Version::V0_5 => "OLTP test statistics",
            _ => "SQL statistics",
        };
        let mut text = format!("{title}:\n    queries performed:\n");
        let each = [
            ("read:", stat.reads),
            ("write:", stat.writes),
            ("other:", stat.other),
            ("total:", stat.queries()),
        ];
        for (name, number) in each {
            let _ = writeln!(text, "        {name:<32} {number}");
        }
        let mut rate = |name: &str, number: u64| {
            let _ = writeln!(text, "    {name:<36} {number:<6} ({:.2} per sec.)", stat.per_s(number));
        };
        rate("transactions:", stat.events);
        match self.version {
            Version::V0_5 => {
                rate("read/write requests:", stat.reads + stat.writes);
                rate("other operations:", stat.other);
            }
            _ => rate("queries:", stat.queries()),
        }
        rate("ignored errors:", stat.errors);
        rate("reconnects:", stat.reconnects);
        text
    }

    fn totals(&self, stat: &Stat) -> String {
        let elapsed = format!("{:.4}s", stat.time_total_s);
        let mut text = match self.version {
            Version::V1_1 => format!(
                "\nThroughput:\n    {:<36} {:.4}\n    {:<36} {elapsed}\n",
                "events/s (eps):",
                stat.per_s(stat.events),
                "time elapsed:"
            ),
            _ => format!("\nGeneral statistics:\n    {:<36} {elapsed}\n", "total time:"),
        };
        let _ = writeln!(text, "    {:<36} {}", "total number of events:", stat.events);
        if self.version == Version::V0_5 {
            let _ = writeln!(
                text,
                "    {:<36} {:.4}s\n    response time:",
                "total time taken by event execution:", stat.latency_sum_s
            );
            let times = [
                ("min:", stat.latency_min_s),
                ("avg:", stat.latency_avg_s),
                ("max:", stat.latency_max_s),
            ];
            for (name, seconds) in times {
                let _ = writeln!(text, "         {name:<27} {:>14.2}ms", seconds * 1e3);
            }
            if let Some(percentile) = self.percentile {
                let name = format!("approx. {percentile:>3} percentile:");
                let _ = writeln!(text, "         {name:<27} {:>14.2}ms", stat.latency_pct_s * 1e3);
            }
        }
        text.push('\n');
        text
    }

    fn latencies(&self, stat: &Stat) -> String {
        let line = |name: &str, seconds: f64| {
            let width = 53_usize.saturating_sub(name.len());
            format!("{name}{:>width$.2}\n", seconds * 1e3)
        };
        let percentile = match self.percentile {
            Some(percentile) => line(&format!("        {percentile:>3}th percentile:"), stat.latency_pct_s),
            None => format!("         {:<31} disabled\n", "percentile stats:"),
        };
        format!(
            "Latency (ms):\n{}{}{}{percentile}{}\n",
            line("         min:", stat.latency_min_s),
            line("         avg:", stat.latency_avg_s),
            line("         max:", stat.latency_max_s),
            line("         sum:", stat.latency_sum_s),
        )
    }
}

impl Fairness {
    /// The last lines of the report at the end.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "Threads fairness:\n    {:<30} {:.4}/{:.2}\n    {:<30} {:.4}/{:.2}\n\n",
            "events (avg/stddev):",
            self.events.mean,
            self.events.deviation,
            "execution time (avg/stddev):",
            self.busy_s.mean,
            self.busy_s.deviation,
        )
    }
}

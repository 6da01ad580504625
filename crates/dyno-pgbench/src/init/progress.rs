//! How far loading has come, in pgbench's words and at pgbench's moments.

use super::options::InitOptions;
use super::tables::ACCOUNTS;
use std::time::Instant;

/// Between two reports with `--quiet`.
const QUIET_S: f64 = 5.0;

/// Reports every 100,000 rows, or every five seconds and at the end.
pub(super) struct Progress {
    total: i64,
    quiet: bool,
    in_place: bool,
    /// The table, in versions that name it.
    table: Option<&'static str>,
    started: Instant,
    /// Rows at the last report.
    reported: i64,
    /// With `--quiet`, the number of five-second intervals after which the next report is due.
    interval: f64,
    /// Width of the last report in characters.
    width: usize,
}

impl Progress {
    /// Of a table that gets `total` rows. Time counts from now.
    pub(super) fn new(options: &InitOptions, table: &'static str, total: i64) -> Self {
        Self {
            total,
            quiet: options.quiet,
            in_place: options.progress_in_place,
            table: options.progress_names_table.then_some(table),
            started: Instant::now(),
            reported: 0,
            interval: 1.0,
            width: 0,
        }
    }

    /// The row count at which something may be to say next.
    pub(super) fn next_stop(&self, rows: i64) -> i64 {
        (rows / ACCOUNTS + 1) * ACCOUNTS
    }

    /// `rows` have been sent; says so if it is time.
    pub(super) fn sent(&mut self, rows: i64, out: &mut dyn FnMut(&str)) {
        self.sent_after(rows, self.started.elapsed().as_secs_f64(), out);
    }

    fn sent_after(&mut self, rows: i64, elapsed_s: f64, out: &mut dyn FnMut(&str)) {
        let due = if self.quiet {
            // pgbench looks at every hundredth row, so a last one that is none is not told.
            rows == self.total && rows % 100 == 0 || elapsed_s >= self.interval * QUIET_S
        } else {
            rows / ACCOUNTS > self.reported / ACCOUNTS
        };
        if rows == self.reported || !due {
            return;
        }
        self.reported = rows;
        self.interval = (elapsed_s / QUIET_S).ceil();
        let remaining_s = (self.total - rows) as f64 * elapsed_s / rows as f64;
        let table = self.table.map(|table| format!(" of {table}")).unwrap_or_default();
        let mut text = format!(
            "{rows} of {} tuples ({}%){table} done (elapsed {elapsed_s:.2} s, remaining {remaining_s:.2} s)",
            self.total,
            rows * 100 / self.total.max(1)
        );
        let width = text.len();
        // A shorter line would leave the end of the longer one before it standing.
        text.extend(std::iter::repeat_n(' ', self.width.saturating_sub(width)));
        self.width = width;
        text.push(if self.in_place { '\r' } else { '\n' });
        out(&text);
    }

    /// Leaves the line that reports replaced each other on. Versions that name the table blank it.
    pub(super) fn finish(&self, out: &mut dyn FnMut(&str)) {
        match self.table {
            _ if !self.in_place => {}
            None => out("\n"),
            Some(_) if self.width == 0 => {}
            Some(_) => out(&format!("{:1$}\r", "", self.width)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(options: &InitOptions, sent: &[(i64, f64)]) -> Vec<String> {
        let mut progress = Progress::new(options, "pgbench_accounts", ACCOUNTS * options.scale);
        let mut lines = Vec::new();
        for (rows, elapsed_s) in sent {
            progress.sent_after(*rows, *elapsed_s, &mut |text| lines.push(text.to_owned()));
        }
        progress.finish(&mut |text| lines.push(text.to_owned()));
        lines
    }

    #[test]
    fn later_versions_name_the_table() {
        let options = InitOptions {
            scale: 2,
            progress_names_table: true,
            ..InitOptions::default()
        };
        assert_eq!(
            reports(&options, &[(100_000, 0.25)]),
            ["100000 of 200000 tuples (50%) of pgbench_accounts done (elapsed 0.25 s, remaining 0.25 s)\n"]
        );
    }

    #[test]
    fn reports_every_hundred_thousand_rows() {
        let options = InitOptions {
            scale: 3,
            ..InitOptions::default()
        };
        let lines = reports(
            &options,
            &[
                (50_000, 0.1),
                (100_000, 0.25),
                (150_000, 0.3),
                (200_000, 0.4),
                (300_000, 0.6),
            ],
        );
        assert_eq!(
            lines,
            [
                "100000 of 300000 tuples (33%) done (elapsed 0.25 s, remaining 0.50 s)\n",
                "200000 of 300000 tuples (66%) done (elapsed 0.40 s, remaining 0.20 s)\n",
                "300000 of 300000 tuples (100%) done (elapsed 0.60 s, remaining 0.00 s)\n",
            ]
        );
    }

    #[test]
    fn quiet_reports_every_five_seconds_and_at_the_end() {
        let options = InitOptions {
            scale: 10,
            quiet: true,
            ..InitOptions::default()
        };
        let lines = reports(
            &options,
            &[
                (100_000, 1.0),
                (200_000, 5.1),
                (300_000, 6.0),
                (400_000, 10.2),
                (1_000_000, 11.0),
            ],
        );
        let begins: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(begins, ["200000", "400000", "1000000"]);
    }

    #[test]
    fn on_a_terminal_a_line_covers_the_one_before() {
        let options = InitOptions {
            scale: 3,
            progress_in_place: true,
            ..InitOptions::default()
        };
        let lines = reports(&options, &[(100_000, 10.0), (200_000, 10.5), (300_000, 11.0)]);
        assert_eq!(
            lines[0],
            "100000 of 300000 tuples (33%) done (elapsed 10.00 s, remaining 20.00 s)\r"
        );
        assert_eq!(
            lines[1],
            "200000 of 300000 tuples (66%) done (elapsed 10.50 s, remaining 5.25 s) \r"
        );
        assert_eq!(lines[3], "\n");
        let named = InitOptions {
            progress_names_table: true,
            ..options
        };
        let lines = reports(&named, &[(100_000, 10.0)]);
        assert_eq!(lines[1], format!("{}\r", " ".repeat(lines[0].len() - 1)));
    }

    #[test]
    fn quiet_tells_the_end_if_it_is_a_hundredth_row() {
        let options = InitOptions {
            quiet: true,
            progress_names_table: true,
            ..InitOptions::default()
        };
        let end = |total: i64| {
            let mut lines = Vec::new();
            let mut progress = Progress::new(&options, "pgbench_tellers", total);
            progress.sent_after(total, 0.0, &mut |text| lines.push(text.to_owned()));
            lines
        };
        assert_eq!(
            end(200),
            ["200 of 200 tuples (100%) of pgbench_tellers done (elapsed 0.00 s, remaining 0.00 s)\n"]
        );
        assert_eq!(end(210), [] as [&str; 0]);
    }
}

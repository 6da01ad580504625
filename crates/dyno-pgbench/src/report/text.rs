//! The report on stdout, in the layout of each version.
//!
//! Layouts were read off the programs' outputs and sources: 9.3 to 13 tell tps with and without connecting; 9.6
//! brings weights and names of scripts, 13 partitions, 14 its version and a new way to tell connecting, 15 tries
//! and failures, 18 failures in place of tps per script.
//!
//! What a line counts is what its version counts, but for two mistakes that later versions mended: 9.6 and 10 took
//! skipped transactions for processed ones, and 9.6 to 13 divided the time of connecting by the clients instead of
//! the threads.

use super::number::{fixed, percent};
use super::{Report, ScriptReport, attempted, protocol_name};
use crate::version::Version;
use dyno_record::{ScriptRecording, Sums};
use std::fmt::Write;

impl Report {
    /// The whole report but its first line, for a version.
    pub fn text(&self, version: Version) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(version, &mut out);
        out
    }

    /// The first line, which 14 and later print as soon as there is a connection.
    pub fn banner(version: Version, server_version: &str) -> Option<String> {
        if version < Version::V14 {
            return None;
        }
        let own = version.to_string();
        let server = if server_version == own {
            String::new()
        } else {
            format!(", server {server_version}")
        };
        Some(format!("pgbench ({own}{server})\n"))
    }

    fn write(&self, version: Version, out: &mut String) -> std::fmt::Result {
        let asked = &self.conditions;
        self.write_conditions(version, out)?;
        let total = &self.total;
        // What counts as something to report on; from 18 on not even the failures follow when there is nothing.
        let nothing = if version >= Version::V18 {
            attempted(total) == 0
        } else if version >= Version::V9_6 {
            total.transactions + total.skipped == 0
        } else {
            total.transactions == 0
        };
        if version >= Version::V15 && !(version >= Version::V18 && nothing) {
            write_failures(version, asked, total, "", out)?;
        }
        if nothing {
            return Ok(());
        }
        self.write_limits(version, out)?;
        self.write_latency(version, out)?;
        self.write_rate(version, out)?;
        self.write_scripts(version, out)
    }

    fn write_conditions(&self, version: Version, out: &mut String) -> std::fmt::Result {
        let asked = &self.conditions;
        writeln!(out, "transaction type: {}", self.kind(version))?;
        writeln!(out, "scaling factor: {}", asked.scale)?;
        if version >= Version::V13
            && let Some((method, number)) = asked.partitions
        {
            writeln!(out, "partition method: {method}\npartitions: {number}")?;
        }
        writeln!(out, "query mode: {}", protocol_name(asked.protocol))?;
        writeln!(out, "number of clients: {}", asked.clients)?;
        writeln!(out, "number of threads: {}", asked.threads)?;
        if version >= Version::V15 && asked.max_tries != 0 {
            writeln!(out, "maximum number of tries: {}", asked.max_tries)?;
        }
        let done = self.total.transactions;
        match (asked.duration_s, asked.transactions) {
            (Some(duration), _) => {
                writeln!(out, "duration: {duration} s")?;
                writeln!(out, "number of transactions actually processed: {done}")
            }
            (None, each) => {
                let each = i64::from(each.unwrap_or(0));
                let wanted = each * asked.clients as i64;
                writeln!(out, "number of transactions per client: {each}")?;
                writeln!(out, "number of transactions actually processed: {done}/{wanted}")
            }
        }
    }

    /// What the transactions are called.
    fn kind(&self, version: Version) -> &str {
        match &self.scripts[..] {
            [only] if version >= Version::V9_6 => &only.description,
            [only] => match only.description.as_str() {
                "<builtin: TPC-B (sort of)>" => "TPC-B (sort of)",
                "<builtin: simple update>" => "Update only pgbench_accounts",
                "<builtin: select only>" => "SELECT only",
                _ => "Custom query",
            },
            _ if version >= Version::V9_6 => "multiple scripts",
            _ => "Custom query",
        }
    }

    fn write_limits(&self, version: Version, out: &mut String) -> std::fmt::Result {
        let asked = &self.conditions;
        let Some(limit_us) = asked.latency_limit_us.filter(|_| version >= Version::V9_5) else {
            return Ok(());
        };
        let blank = if version < Version::V15 { " " } else { "" };
        let total = &self.total;
        if asked.rate_per_s.is_some() {
            let all = if version >= Version::V15 {
                attempted(total)
            } else {
                total.skipped + total.transactions
            };
            writeln!(
                out,
                "number of transactions skipped: {} ({}{blank}%)",
                total.skipped,
                percent(total.skipped, all, 3)
            )?;
        }
        let limit_ms = fixed(limit_us as f64 / 1000.0, 1);
        let late = self.late;
        write!(
            out,
            "number of transactions above the {limit_ms} ms latency limit: {late}"
        )?;
        if version < Version::V11 {
            let share = percent(late, total.skipped + total.transactions, 3);
            return writeln!(out, " ({share}{blank}%)");
        }
        let share = match total.transactions {
            0 => fixed(0.0, 3),
            done => percent(late, done, 3),
        };
        writeln!(out, "/{} ({share}{blank}%)", total.transactions)
    }

    fn write_latency(&self, version: Version, out: &mut String) -> std::fmt::Result {
        let asked = &self.conditions;
        let is = if version < Version::V9_6 { ":" } else { " =" };
        if version < Version::V9_4 {
            // Nothing but what was asked for of dyno.
        } else if asked.rate_per_s.is_some() || asked.progress || asked.latency_limit_us.is_some() {
            write_sums("latency", is, &self.total.latency_sums, version, out)?;
        } else {
            // Not measured, in pgbench: what the clients' time allows.
            let failures = self.total.failures.total();
            let count = if version >= Version::V15 {
                attempted(&self.total)
            } else {
                self.total.transactions
            };
            let average_ms = self.span_s(version) * 1e3 * asked.clients as f64 / count as f64;
            let note = if failures > 0 && version >= Version::V15 {
                " (including failures)"
            } else {
                ""
            };
            writeln!(out, "latency average{is} {} ms{note}", fixed(average_ms, 3))?;
        }
        for (percentile, latency_us) in &self.percentiles {
            writeln!(out, "latency p{percentile}{is} {} ms", fixed(latency_us / 1000.0, 3))?;
        }
        if asked.rate_per_s.is_some() && version >= Version::V9_4 {
            writeln!(
                out,
                "rate limit schedule lag: avg {} (max {}) ms",
                fixed(self.lag.mean_us() / 1000.0, 3),
                fixed(self.lag.max_us / 1000.0, 3)
            )?;
        }
        Ok(())
    }

    fn write_rate(&self, version: Version, out: &mut String) -> std::fmt::Result {
        let asked = &self.conditions;
        let done = self.total.transactions as f64;
        let measured_s = self.measured.as_secs_f64();
        if version < Version::V14 {
            let all_s = self.span_s(version);
            let without_s = if asked.connect_each {
                all_s - self.reconnecting.as_secs_f64() / asked.clients as f64
            } else {
                measured_s
            };
            writeln!(
                out,
                "tps = {} (including connections establishing)",
                fixed(done / all_s, 6)
            )?;
            return writeln!(
                out,
                "tps = {} (excluding connections establishing)",
                fixed(done / without_s, 6)
            );
        }
        let tps = fixed(done / measured_s, 6);
        if asked.connect_each {
            let transactions = self.total.transactions + self.total.failures.total();
            let average_ms = self.reconnecting.as_secs_f64() * 1e3 / transactions as f64;
            writeln!(out, "average connection time = {} ms", fixed(average_ms, 3))?;
            writeln!(out, "tps = {tps} (including reconnection times)")
        } else {
            let initial_ms = self.connecting.as_secs_f64() * 1e3;
            writeln!(out, "initial connection time = {} ms", fixed(initial_ms, 3))?;
            writeln!(out, "tps = {tps} (without initial connection time)")
        }
    }

    /// The time that rates are told of, in seconds: up to 13 it includes the first connecting.
    fn span_s(&self, version: Version) -> f64 {
        let measured_s = self.measured.as_secs_f64();
        if version < Version::V14 && !self.conditions.connect_each {
            measured_s + self.connecting.as_secs_f64()
        } else {
            measured_s
        }
    }

    fn write_scripts(&self, version: Version, out: &mut String) -> std::fmt::Result {
        let several = self.scripts.len() > 1;
        for (index, script) in self.scripts.iter().enumerate() {
            let number = index + 1;
            if version >= Version::V9_6 {
                if several {
                    self.write_script(version, number, script, out)?;
                } else if version < Version::V11
                    && (self.conditions.per_command || self.conditions.latency_limit_us.is_some())
                {
                    writeln!(out, "script statistics:")?;
                    self.write_skipped(version, &script.counts, out)?;
                }
            }
            if self.conditions.per_command {
                self.write_commands(version, number, script, out)?;
            }
        }
        Ok(())
    }

    fn write_script(
        &self,
        version: Version,
        number: usize,
        script: &ScriptReport,
        out: &mut String,
    ) -> std::fmt::Result {
        let asked = &self.conditions;
        let counts = &script.counts;
        let weights: u64 = self.scripts.iter().map(|script| u64::from(script.weight)).sum();
        writeln!(out, "SQL script {number}: {}", script.description)?;
        writeln!(
            out,
            " - weight: {} (targets {}% of total)",
            script.weight,
            percent(script.weight.into(), weights, 1)
        )?;
        let tps = fixed(counts.transactions as f64 / self.span_s(version), 6);
        let all = attempted(counts);
        if version >= Version::V18 {
            writeln!(
                out,
                " - {all} transactions ({}% of total)",
                percent(all, attempted(&self.total), 1)
            )?;
            if all > 0 {
                writeln!(
                    out,
                    " - number of transactions actually processed: {} (tps = {tps})",
                    counts.transactions
                )?;
                write_failures(version, asked, counts, " - ", out)?;
            }
        } else {
            let counted = |counts: &ScriptRecording| match version >= Version::V15 {
                true => counts.transactions,
                false => counts.transactions + counts.skipped,
            };
            writeln!(
                out,
                " - {} transactions ({}% of total, tps = {tps})",
                counted(counts),
                percent(counted(counts), counted(&self.total), 1)
            )?;
            if version >= Version::V15 {
                write_failures(version, asked, counts, " - ", out)?;
            }
        }
        self.write_skipped(version, counts, out)?;
        write_sums(" - latency", " =", &counts.latency_sums, version, out)
    }

    /// How many transactions of a script were skipped. From 11 on only where some may have been.
    fn write_skipped(&self, version: Version, counts: &ScriptRecording, out: &mut String) -> std::fmt::Result {
        let asked = &self.conditions;
        let all = if version >= Version::V15 {
            attempted(counts)
        } else {
            counts.transactions + counts.skipped
        };
        let told = version < Version::V11 || asked.rate_per_s.is_some() && all > 0;
        if asked.latency_limit_us.is_none() || !told {
            return Ok(());
        }
        let share = fixed(100.0 * counts.skipped as f64 / all as f64, 3);
        writeln!(out, " - number of transactions skipped: {} ({share}%)", counts.skipped)
    }

    fn write_commands(
        &self,
        version: Version,
        number: usize,
        script: &ScriptReport,
        out: &mut String,
    ) -> std::fmt::Result {
        let several = self.scripts.len() > 1;
        let retrying = self.conditions.max_tries != 1;
        let (before, after) = match (several, retrying) {
            (true, _) if version < Version::V9_6 => ("", format!(", file {number}")),
            (_, _) if version < Version::V9_6 => ("", String::new()),
            (false, _) if version >= Version::V11 => ("", String::new()),
            _ => (" - ", String::new()),
        };
        let failures = match retrying {
            _ if version < Version::V15 => "",
            false => " and failures",
            true => ", failures and retries",
        };
        writeln!(out, "{before}statement latencies in milliseconds{failures}{after}:")?;
        let blank = if version < Version::V18 { "  " } else { " " };
        for (line, command) in &script.commands {
            let latency_ms = command.latency_sums.mean_us() / 1000.0;
            if version < Version::V9_6 {
                writeln!(out, "\t{}\t{line}", fixed(latency_ms, 6))?;
                continue;
            }
            write!(out, "   {:>11}  ", fixed(latency_ms, 3))?;
            if version >= Version::V15 {
                write!(out, "{:>10}{blank}", command.failures.total())?;
                if retrying {
                    write!(out, "{:>10}{blank}", command.retries)?;
                }
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// The lines about failed and repeated transactions, of the whole or of a script.
fn write_failures(
    version: Version,
    asked: &super::Conditions,
    counts: &ScriptRecording,
    before: &str,
    out: &mut String,
) -> std::fmt::Result {
    let all = attempted(counts);
    let share = |part| percent(part, all, 3);
    let failed = counts.failures.total();
    writeln!(
        out,
        "{before}number of failed transactions: {failed} ({}%)",
        share(failed)
    )?;
    if asked.failures_detailed {
        let kinds = [
            ("serialization", counts.failures.serialization, Version::V15),
            ("deadlock", counts.failures.deadlock, Version::V15),
            ("other", counts.failures.other, Version::V19),
        ];
        for (kind, count, _) in kinds.into_iter().filter(|(_, _, since)| *since <= version) {
            writeln!(out, "{before}number of {kind} failures: {count} ({}%)", share(count))?;
        }
    }
    if asked.max_tries != 1 {
        writeln!(
            out,
            "{before}number of transactions retried: {} ({}%)",
            counts.retried,
            share(counts.retried)
        )?;
        writeln!(out, "{before}total number of retries: {}", counts.retries)?;
    }
    Ok(())
}

/// Mean and standard deviation.
fn write_sums(name: &str, is: &str, sums: &Sums, version: Version, out: &mut String) -> std::fmt::Result {
    // Up to 10, these lines came without transactions, too.
    if sums.count == 0 && version >= Version::V11 {
        return Ok(());
    }
    writeln!(out, "{name} average{is} {} ms", fixed(sums.mean_us() / 1000.0, 3))?;
    writeln!(out, "{name} stddev{is} {} ms", fixed(sums.stddev_us() / 1000.0, 3))
}

//! Takes out of texts what differs from run to run: what was measured, process numbers, versions, places.

use std::fmt::Write;
use std::path::Path;

/// How much is taken out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Normal {
    /// Whole numbers, too, and not only those with a fraction.
    pub whole_numbers: bool,
    /// Lines are sorted.
    pub sorted: bool,
}

/// The text without measured numbers.
pub fn normal(text: &str, style: Normal) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| normal_line(line, style)).collect();
    if style.sorted {
        lines.sort();
    }
    // pgbench looks for a reply once more if it is not there at once.
    lines.dedup_by(|next, line| next == line && line.ends_with(" receiving"));
    if style.whole_numbers {
        // How many progress lines there are in the end is up to the clock.
        lines.dedup();
    }
    lines.join("\n")
}

fn normal_line(line: &str, style: Normal) -> String {
    if let Some(rest) = line.strip_prefix("pgbench (") {
        // The versions in the first line of the report and of --version.
        return match rest.starts_with("PostgreSQL") {
            true => "pgbench (PostgreSQL) VERSION".to_owned(),
            false => "pgbench (VERSION)".to_owned(),
        };
    }
    // The C library's complaints begin with the program's path.
    let line = match line.split_once("/bin/pgbench: ") {
        Some((before, rest)) if before.starts_with('/') => format!("pgbench: {rest}"),
        _ => line.to_owned(),
    };
    // Where pgbench divides by nothing, dyno shows nothing.
    let line = line.replace("(NaN%)", "(0.000%)");
    numbers(&line, style.whole_numbers || line.starts_with("progress: "))
}

/// Replaces numbers with a fraction, or all, by `#`; also process numbers in log files' names, and blanks in front
/// of what is aligned.
fn numbers(line: &str, whole: bool) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|character: char| character.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = rest
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(length);
        let fraction = behind.strip_prefix('.').map_or(0, |behind| {
            behind
                .find(|character: char| !character.is_ascii_digit())
                .unwrap_or(behind.len())
        });
        if fraction > 0 {
            rest = &behind[1 + fraction..];
            while out.ends_with("  ") {
                out.pop();
            }
            // No share is exact.
            let none =
                digits == "0" && behind[1..=fraction].bytes().all(|digit| digit == b'0') && rest.starts_with('%');
            out.push_str(if none && !whole { "0.0" } else { "#" });
        } else {
            rest = behind;
            let process = out.ends_with("pgbench_log.") || out.ends_with("log.");
            out.push_str(if whole || process { "#" } else { digits });
        }
    }
    out.push_str(rest);
    out
}

/// The log files of a folder: their names and lines, without times.
pub fn logs(folder: &Path) -> String {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|item| item.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().contains("log."))
        .collect();
    files.sort();
    let mut all = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let _ = writeln!(all, "{}", numbers(&name, false));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(log_line).collect();
        lines.sort();
        // How many intervals are over at the end is up to the clock.
        lines.dedup_by(|next, line| next == line && line.starts_with("interval"));
        for line in lines {
            let _ = writeln!(all, "{line}");
        }
    }
    all
}

/// Client, transaction and script stay; times go; a lag stays a field.
fn log_line(line: &str) -> String {
    let fields: Vec<&str> = line.split(' ').collect();
    if fields.len() > 8 {
        // An interval: only the number of fields is certain.
        return format!("interval of {} fields", fields.len());
    }
    let each = fields.iter().enumerate().map(|(index, field)| match index {
        0 | 1 | 3 => *field,
        _ if field.bytes().all(|byte| byte.is_ascii_digit()) => "#",
        _ => field,
    });
    each.collect::<Vec<_>>().join(" ")
}

#[test]
fn measured_numbers_go_and_others_stay() {
    let style = Normal::default();
    assert_eq!(
        normal(
            "number of transactions actually processed: 10/10\ntps = 3.14 (x)",
            style
        ),
        "number of transactions actually processed: 10/10\ntps = # (x)"
    );
    assert_eq!(
        normal("number of failed: 0 (0.000%)", style),
        "number of failed: 0 (0.0%)"
    );
    assert_eq!(
        normal("progress: 1.0 s, 12.0 tps, 0 failed", style),
        "progress: # s, # tps, # failed"
    );
    assert_eq!(
        normal("/usr/lib/postgresql/15/bin/pgbench: invalid option -- 'x'", style),
        "pgbench: invalid option -- 'x'"
    );
    assert_eq!(log_line("0 1 345 0 1795305592 3839"), "0 1 # 0 # #");
    assert_eq!(log_line("0 1 skipped 0 1795305592 3839 12"), "0 1 skipped 0 # # #");
}

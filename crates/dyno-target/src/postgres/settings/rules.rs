//! What became of settings and values from version to version. Source: the release notes of PostgreSQL 9.4 to 18,
//! sections "Migration" and "Server Configuration", and the documentation's chapter "Server Configuration" of each.

use super::known;
use super::verify::{split_number, unit_factor};

/// What a setting is in a version that does not have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// Another setting does the same.
    Setting {
        name: &'static str,
        value: String,
        /// How the value was converted; may be empty.
        how: &'static str,
    },
    /// The version does what the value asks for without being told.
    Needless { why: &'static str },
    /// The value cannot be converted.
    BadValue { explanation: String },
    /// Nothing stands in for it.
    None { explanation: &'static str },
}

/// The same setting under two names: the old one, the new one.
const RENAMED: [(&str, &str); 3] = [
    ("force_parallel_mode", "debug_parallel_query"),
    ("min_parallel_relation_size", "min_parallel_table_scan_size"),
    ("ssl_ecdh_curve", "ssl_groups"),
];

/// A setting, the values that a version without it acts upon anyway, why, and what to do for other values.
struct Absent {
    name: &'static str,
    /// None: all values.
    needless: Option<&'static [&'static str]>,
    why: &'static str,
    explanation: &'static str,
}

const fn absent(
    name: &'static str,
    needless: Option<&'static [&'static str]>,
    why: &'static str,
    explanation: &'static str,
) -> Absent {
    Absent {
        name,
        needless,
        why,
        explanation,
    }
}

/// No value is needless.
const NEVER: Option<&[&str]> = Some(&[]);
const OFF: Option<&[&str]> = Some(&["off", "false", "no", "0"]);
const ON: Option<&[&str]> = Some(&["on", "true", "yes", "1"]);
const NOT_THERE: &str = "there is nothing to turn off";

/// Settings without a counterpart.
const ABSENT: [Absent; 36] = [
    // Gone.
    absent(
        "stats_temp_directory",
        None,
        "statistics are kept in shared memory from 15 on",
        "",
    ),
    absent(
        "replacement_sort_tuples",
        None,
        "sorting always works as with the value 0 from 11 on",
        "",
    ),
    absent(
        "operator_precedence_warning",
        OFF,
        "there are no such warnings from 14 on",
        "check queries with a version before 14",
    ),
    absent(
        "vacuum_cleanup_index_scale_factor",
        None,
        "indexes are cleaned up only where needed from 14 on",
        "",
    ),
    absent(
        "ssl_renegotiation_limit",
        None,
        "TLS connections are never renegotiated from 9.5 on",
        "",
    ),
    absent(
        "sql_inheritance",
        ON,
        "it is always on from 10 on",
        "use \"only\" in the statements",
    ),
    absent(
        "default_with_oids",
        OFF,
        "no table has oids from 12 on",
        "tables cannot have oids from 12 on",
    ),
    absent(
        "promote_trigger_file",
        Some(&[""]),
        "there is no trigger file from 16 on",
        "use pg_promote() or pg_ctl promote",
    ),
    absent(
        "vacuum_defer_cleanup_age",
        Some(&["0"]),
        "0 is how every version behaves",
        "use hot_standby_feedback or a replication slot",
    ),
    absent(
        "old_snapshot_threshold",
        Some(&["-1"]),
        "-1 is how every version behaves",
        "set transaction_timeout or idle_in_transaction_session_timeout",
    ),
    absent(
        "db_user_namespace",
        OFF,
        NOT_THERE,
        "users of one database only do not exist from 17 on",
    ),
    absent("trace_recovery_messages", None, "it is for PostgreSQL's developers", ""),
    absent("krb_srvname", None, "the name is given to libpq from 9.4 on", ""),
    // Not there yet.
    absent(
        "min_wal_size",
        None,
        "it recycles as many log files as its checkpoints need",
        "",
    ),
    absent(
        "huge_pages",
        Some(&["off", "try"]),
        "it uses none",
        "huge pages cannot be asked for before 9.4",
    ),
    absent(
        "autovacuum_work_mem",
        Some(&["-1"]),
        "autovacuum uses maintenance_work_mem",
        "autovacuum uses maintenance_work_mem there; set that",
    ),
    absent(
        "wal_compression",
        OFF,
        NOT_THERE,
        "the log is not compressed before 9.5; leave it out",
    ),
    absent(
        "max_parallel_workers_per_gather",
        Some(&["0"]),
        NOT_THERE,
        "no query is parallel before 9.6; leave it out",
    ),
    absent(
        "max_parallel_workers",
        NEVER,
        "",
        "before 10 only max_worker_processes limits them; set that",
    ),
    absent(
        "max_parallel_maintenance_workers",
        Some(&["0"]),
        NOT_THERE,
        "indexes are not built in parallel before 11; leave it out",
    ),
    absent("jit", OFF, NOT_THERE, "nothing is compiled before 11; leave it out"),
    absent(
        "io_method",
        Some(&["sync"]),
        "it reads synchronously",
        "it always reads synchronously; leave it out",
    ),
    absent(
        "wal_init_zero",
        ON,
        "log files are filled with zeros before 12",
        "log files are always filled with zeros before 12",
    ),
    absent(
        "wal_recycle",
        ON,
        "log files are recycled before 12",
        "log files are always recycled before 12",
    ),
    absent(
        "hash_mem_multiplier",
        Some(&["1", "1.0"]),
        "hashing has work_mem before 13",
        "hashing has work_mem, no multiple of it, before 13; raise work_mem",
    ),
    absent(
        "autovacuum_vacuum_insert_threshold",
        Some(&["-1"]),
        NOT_THERE,
        "inserted rows alone cause no vacuum before 13; leave it out",
    ),
    absent(
        "autovacuum_vacuum_insert_scale_factor",
        NEVER,
        "",
        "inserted rows alone cause no vacuum before 13; leave it out",
    ),
    absent(
        "default_toast_compression",
        Some(&["pglz"]),
        "pglz is what it uses",
        "pglz is all it has",
    ),
    absent("checkpoint_flush_after", Some(&["0"]), NOT_THERE, ""),
    absent("bgwriter_flush_after", Some(&["0"]), NOT_THERE, ""),
    absent("backend_flush_after", Some(&["0"]), NOT_THERE, ""),
    absent("wal_log_hints", OFF, NOT_THERE, ""),
    absent("track_wal_io_timing", OFF, NOT_THERE, ""),
    absent("track_commit_timestamp", OFF, NOT_THERE, ""),
    absent(
        "primary_conninfo",
        NEVER,
        "",
        "before 12 it is in the file recovery.conf",
    ),
    absent(
        "restore_command",
        NEVER,
        "",
        "before 12 it is in the file recovery.conf",
    ),
];

/// A log segment.
const SEGMENT_MEGABYTES: u64 = 16;

/// Log files that version 9.4 kept per segment of `checkpoint_segments`: `max_wal_size = (3 * checkpoint_segments) *
/// 16MB` (release notes of 9.5).
const FILES_PER_SEGMENT: u64 = 3;

/// What stands in for a setting that is known, but not in this version.
pub(super) fn translate(name: &'static str, value: &str, version: u32) -> Translation {
    let counterpart = RENAMED.iter().find_map(|(old, new)| match name {
        _ if name == *old => Some(*new),
        _ if name == *new => Some(*old),
        _ => None,
    });
    if let Some(counterpart) = counterpart.filter(|name| known::find(name).is_some_and(|known| known.is_in(version))) {
        return Translation::Setting {
            name: counterpart,
            value: value.to_owned(),
            how: "",
        };
    }
    const SEGMENTS: &str = "three log files of 16 MB per segment";
    const FILES: &str = "log files of 16 MB";
    match name {
        "checkpoint_segments" => to_size(value, SEGMENT_MEGABYTES * FILES_PER_SEGMENT, "max_wal_size", SEGMENTS),
        "wal_keep_segments" => to_size(value, SEGMENT_MEGABYTES, "wal_keep_size", FILES),
        "max_wal_size" => match megabytes(value) {
            Some(size) => {
                let segments = (size / (SEGMENT_MEGABYTES * FILES_PER_SEGMENT)).max(1);
                setting("checkpoint_segments", segments.to_string(), SEGMENTS)
            }
            None => not_a_size(value),
        },
        "wal_keep_size" => match megabytes(value) {
            Some(size) => setting("wal_keep_segments", size.div_ceil(SEGMENT_MEGABYTES).to_string(), FILES),
            None => not_a_size(value),
        },
        _ => without(name, value),
    }
}

fn setting(name: &'static str, value: String, how: &'static str) -> Translation {
    Translation::Setting { name, value, how }
}

fn to_size(value: &str, megabytes_each: u64, name: &'static str, how: &'static str) -> Translation {
    match value
        .trim()
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(megabytes_each))
    {
        Some(size) => setting(name, format!("{size}MB"), how),
        None => Translation::BadValue {
            explanation: format!("it is a number of log files, from which {name} can be calculated"),
        },
    }
}

/// Megabytes of a size, which is in megabytes if it has no unit.
fn megabytes(value: &str) -> Option<u64> {
    let (number, unit) = split_number(value);
    let number: f64 = number.parse().ok()?;
    let unit = if unit.is_empty() { "MB" } else { unit };
    let size = number * unit_factor(unit).filter(|_| unit.ends_with('B'))? / unit_factor("MB")?;
    // Far below 2^53, where f64 is exact.
    (0.0..1e12).contains(&size).then_some(size as u64)
}

fn not_a_size(value: &str) -> Translation {
    Translation::BadValue {
        explanation: format!("\"{value}\" is not a size such as 4GB"),
    }
}

fn without(name: &str, value: &str) -> Translation {
    let Some(absent) = ABSENT.iter().find(|absent| absent.name == name) else {
        return Translation::None { explanation: "" };
    };
    let needless = absent.needless.is_none_or(|values| {
        values
            .iter()
            .any(|needless| value.trim().eq_ignore_ascii_case(needless))
    });
    if needless {
        Translation::Needless { why: absent.why }
    } else {
        Translation::None {
            explanation: absent.explanation,
        }
    }
}

/// The value as a version that has the setting understands and shows it.
///
/// # Errors
/// Why there is no such value.
pub(super) fn value_for(name: &str, value: &str, version: u32) -> Result<String, String> {
    let word = value.trim().to_ascii_lowercase();
    let new = match (name.to_ascii_lowercase().as_str(), word.as_str()) {
        ("wal_level", "archive" | "hot_standby") if version >= 90_600 => "replica",
        ("wal_level", "replica") if version < 90_600 => "hot_standby",
        ("wal_level", "logical") if version < 90_400 => {
            return Err("logical decoding came with 9.4; use hot_standby".to_owned());
        }
        ("wal_compression", "on" | "true" | "yes" | "1") if version >= 150_000 => "pglz",
        ("wal_compression", "pglz") if version < 150_000 => "on",
        ("wal_compression", "lz4" | "zstd") if version < 150_000 => {
            return Err("a choice of compression came with 15; before it is on or off".to_owned());
        }
        (delay @ ("vacuum_cost_delay" | "autovacuum_vacuum_cost_delay"), _)
            if version < 120_000 && in_milliseconds(&word).is_some_and(|delay| delay.fract() != 0.0) =>
        {
            return Err(format!("before 12 {delay} is in whole milliseconds"));
        }
        _ => return Ok(with_known_units(value, version)),
    };
    Ok(new.to_owned())
}

fn in_milliseconds(value: &str) -> Option<f64> {
    let (number, unit) = split_number(value);
    let unit = if unit.is_empty() { "ms" } else { unit };
    Some(number.parse::<f64>().ok()? * unit_factor(unit).filter(|_| !unit.ends_with('B'))?)
}

/// Units from large to small.
const SIZES: [&str; 4] = ["TB", "GB", "MB", "kB"];
const TIMES: [&str; 5] = ["d", "h", "min", "s", "ms"];

/// Before version 12 a number with a unit had to be whole, and before 9.4 there were no terabytes: such values are
/// written in a smaller unit.
fn with_known_units(value: &str, version: u32) -> String {
    let (number, unit) = split_number(value);
    let Ok(amount) = number.parse::<f64>() else {
        return value.to_owned();
    };
    let strange = (version < 120_000 && amount.fract() != 0.0) || (version < 90_400 && unit == "TB");
    let scale: &[&str] = if SIZES.contains(&unit) { &SIZES } else { &TIMES };
    let (Some(at), Some(factor), true) = (
        scale.iter().position(|known| *known == unit),
        unit_factor(unit),
        strange,
    ) else {
        return value.to_owned();
    };
    for smaller in &scale[at + 1..] {
        let Some(smaller_factor) = unit_factor(smaller) else {
            continue;
        };
        let amount = amount * factor / smaller_factor;
        if amount.fract() == 0.0 || *smaller == "kB" || *smaller == "ms" {
            return format!("{amount:.0}{smaller}");
        }
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_about_a_known_setting() {
        let names = ABSENT.iter().map(|absent| absent.name);
        let renamed = RENAMED.iter().flat_map(|(old, new)| [*old, *new]);
        for name in names.chain(renamed) {
            let known = known::find(name).unwrap_or_else(|| panic!("{name}"));
            assert!(
                known.since.is_some() || known.until.is_some(),
                "{name} is in every version"
            );
        }
    }
}

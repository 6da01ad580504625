//! Names and values that changed between versions: mapped where the meaning is the same, refused with an
//! explanation where it is not.

use super::known::{self, Known, release};
use super::rules::{self, Translation};
use crate::nearest::hint;
use crate::target::Mapped;

/// A setting that cannot be given to a server of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// No version has it.
    #[error("PostgreSQL has no setting {name}{}", hint(*suggestion, ""))]
    Unknown {
        /// As given.
        name: String,
        /// The nearest known name.
        suggestion: Option<&'static str>,
    },
    /// Other versions have it.
    #[error("PostgreSQL {release} has no setting {name} ({history}){explanation}")]
    Absent {
        /// As given.
        name: String,
        /// The major version asked for.
        release: String,
        /// When it came or went.
        history: String,
        /// What there is instead, and what to do; may be empty.
        explanation: String,
    },
    /// The version has the setting, but not with this value.
    #[error("PostgreSQL {release} does not have {name} = {value}: {explanation}")]
    Value {
        /// As given.
        name: String,
        /// As given.
        value: String,
        /// The major version asked for.
        release: String,
        /// Why, and what to do.
        explanation: String,
    },
    /// Two settings that are one in this version.
    #[error("{name} is given twice, once as {other}, which is the same in PostgreSQL {release}; give one of them")]
    Twice {
        /// One of them, as this version calls it.
        name: String,
        /// The other as it was given.
        other: String,
        /// The major version asked for.
        release: String,
    },
}

/// Makes settings fit a server of this version (a number such as 90624 or 180006). Sizes must be absolute already.
/// Names with a dot belong to extensions and stay as they are.
///
/// # Errors
/// A name that no version knows, one that this version does not know and nothing stands in for, or a value that it
/// does not have.
pub fn plan_for(settings: &[(String, String)], version: u32) -> Result<Mapped, MappingError> {
    plan_with(settings, version, &|_| false)
}

/// As [`plan_for`], for a server that has settings of its own, which stay as they are: relatives of PostgreSQL have
/// more than the table.
pub(super) fn plan_with(
    settings: &[(String, String)],
    version: u32,
    server_has: &dyn Fn(&str) -> bool,
) -> Result<Mapped, MappingError> {
    let mut mapped = Mapped::default();
    // Which names as given became which.
    let mut origins: Vec<(String, &str)> = Vec::new();
    for (name, value) in settings {
        let Some((new_name, new_value)) = translate(name, value, version, server_has, &mut mapped.notes)? else {
            continue;
        };
        let same = |(earlier, _): &&(String, &str)| earlier.eq_ignore_ascii_case(&new_name);
        if let Some((_, earlier)) = origins.iter().find(same) {
            return Err(MappingError::Twice {
                other: if earlier.eq_ignore_ascii_case(&new_name) {
                    name.clone()
                } else {
                    (*earlier).to_owned()
                },
                name: new_name,
                release: release(version),
            });
        }
        origins.push((new_name.clone(), name));
        mapped.settings.push((new_name, new_value));
    }
    Ok(mapped)
}

/// One setting for this version; none: it is left out, as a note says.
fn translate(
    name: &str,
    value: &str,
    version: u32,
    server_has: &dyn Fn(&str) -> bool,
    notes: &mut Vec<String>,
) -> Result<Option<(String, String)>, MappingError> {
    let given = || format!("{name} = {value}");
    let value_error = |explanation: String| MappingError::Value {
        name: name.to_owned(),
        value: value.to_owned(),
        release: release(version),
        explanation,
    };
    if name.contains('.') {
        return Ok(Some((name.to_owned(), value.to_owned())));
    }
    let known = known::find(name);
    if server_has(name) || known.is_some_and(|known| known.is_in(version)) {
        let new = rules::value_for(name, value, version).map_err(value_error)?;
        if new != value {
            notes.push(format!(
                "{} is given to PostgreSQL {} as {new}",
                given(),
                release(version)
            ));
        }
        return Ok(Some((name.to_owned(), new)));
    }
    let Some(known) = known else {
        if known::is_newer(version) {
            return Ok(Some((name.to_owned(), value.to_owned())));
        }
        return Err(MappingError::Unknown {
            name: name.to_owned(),
            suggestion: known::nearest(name),
        });
    };
    match rules::translate(known.name, value, version) {
        Translation::Setting { name: new, value, how } => {
            let value = rules::value_for(new, &value, version).map_err(value_error)?;
            let why = if how.is_empty() {
                String::new()
            } else {
                format!(" ({how})")
            };
            notes.push(format!(
                "{} is given to PostgreSQL {} as {new} = {value}{why}",
                given(),
                release(version)
            ));
            Ok(Some((new.to_owned(), value)))
        }
        Translation::Needless { why } => {
            notes.push(format!(
                "{} is left out, because PostgreSQL {} has no such setting: {why}",
                given(),
                release(version)
            ));
            Ok(None)
        }
        Translation::BadValue { explanation } => Err(value_error(explanation)),
        Translation::None { explanation } => Err(MappingError::Absent {
            name: name.to_owned(),
            release: release(version),
            history: history(known, version),
            explanation: if explanation.is_empty() {
                "; leave it out for this version".to_owned()
            } else {
                format!(": {explanation}")
            },
        }),
    }
}

fn history(known: Known, version: u32) -> String {
    match (known.since, known.until) {
        (Some(since), _) if known::major(version) < since => format!("it came with {}", release(since)),
        (_, Some(until)) => format!("{} was the last with it", release(until)),
        _ => "other versions have it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V93: u32 = 90_325;
    const V94: u32 = 90_426;
    const V96: u32 = 90_624;
    const V11: u32 = 110_022;
    const V18: u32 = 180_006;

    fn one(name: &str, value: &str, version: u32) -> Result<Mapped, String> {
        plan_for(&[(name.to_owned(), value.to_owned())], version).map_err(|error| error.to_string())
    }

    #[test]
    fn maps_what_has_another_name() {
        for (name, value, version, new_name, new_value) in [
            ("checkpoint_segments", "64", V18, "max_wal_size", "3072MB"),
            ("max_wal_size", "3GB", V94, "checkpoint_segments", "64"),
            ("max_wal_size", "3072", V93, "checkpoint_segments", "64"),
            ("max_wal_size", "16MB", V94, "checkpoint_segments", "1"),
            ("wal_keep_segments", "128", 130_000, "wal_keep_size", "2048MB"),
            ("wal_keep_size", "2GB", V96, "wal_keep_segments", "128"),
            ("wal_keep_size", "1MB", V96, "wal_keep_segments", "1"),
            ("wal_keep_size", "0", V96, "wal_keep_segments", "0"),
            ("force_parallel_mode", "on", V18, "debug_parallel_query", "on"),
            (
                "debug_parallel_query",
                "regress",
                150_000,
                "force_parallel_mode",
                "regress",
            ),
            (
                "min_parallel_relation_size",
                "1MB",
                V18,
                "min_parallel_table_scan_size",
                "1MB",
            ),
            ("ssl_ecdh_curve", "prime256v1", V18, "ssl_groups", "prime256v1"),
        ] {
            let mapped = one(name, value, version).unwrap();
            assert_eq!(mapped.settings, [(new_name.to_owned(), new_value.to_owned())], "{name}");
            assert!(
                mapped.notes[0].contains(name) && mapped.notes[0].contains(new_name),
                "{mapped:?}"
            );
        }
    }

    #[test]
    fn maps_values() {
        for (name, value, version, expected) in [
            ("wal_level", "hot_standby", V18, "replica"),
            ("wal_level", "archive", V96, "replica"),
            ("wal_level", "replica", V94, "hot_standby"),
            ("wal_level", "logical", V94, "logical"),
            ("wal_compression", "on", V18, "pglz"),
            ("wal_compression", "pglz", V11, "on"),
            ("wal_compression", "off", V18, "off"),
            ("max_wal_size", "1.5GB", V11, "1536MB"),
            ("max_wal_size", "1.5GB", V18, "1.5GB"),
            ("checkpoint_timeout", "2.5min", V96, "150s"),
            ("effective_cache_size", "2TB", V93, "2048GB"),
            ("random_page_cost", "1.1", V93, "1.1"),
        ] {
            let mapped = one(name, value, version).unwrap();
            assert_eq!(mapped.settings, [(name.to_owned(), expected.to_owned())], "{name}");
            assert_eq!(mapped.notes.is_empty(), value == expected, "{mapped:?}");
        }
    }

    #[test]
    fn leaves_out_what_changes_nothing() {
        for (name, value, version) in [
            ("stats_temp_directory", "/run/stats", V18),
            ("min_wal_size", "1GB", V94),
            ("huge_pages", "try", V93),
            ("autovacuum_work_mem", "-1", V93),
            ("replacement_sort_tuples", "100", V11),
            ("jit", "off", V96),
            ("max_parallel_workers_per_gather", "0", V94),
            ("io_method", "sync", 170_000),
            ("operator_precedence_warning", "off", V18),
            ("vacuum_defer_cleanup_age", "0", V18),
            ("default_with_oids", "off", V18),
        ] {
            let mapped = one(name, value, version).unwrap();
            assert_eq!(mapped.settings, [], "{name}");
            assert!(mapped.notes[0].contains("left out"), "{mapped:?}");
        }
    }

    #[test]
    fn refuses_with_an_explanation() {
        for (name, value, version, expected) in [
            ("shared_bufers", "1GB", V18, "did you mean shared_buffers?"),
            ("wal_level", "logical", V93, "came with 9.4"),
            ("huge_pages", "on", V93, "came with 9.4"),
            ("io_method", "worker", V11, "came with 18"),
            ("autovacuum_work_mem", "1GB", V93, "maintenance_work_mem"),
            ("promote_trigger_file", "/tmp/x", V18, "pg_promote"),
            ("vacuum_defer_cleanup_age", "100", V18, "hot_standby_feedback"),
            ("vacuum_cost_delay", "0.5", V11, "whole milliseconds"),
            ("autovacuum_vacuum_cost_delay", "2.5ms", V11, "whole milliseconds"),
            ("wal_compression", "zstd", V11, "15"),
            ("wal_compression", "on", V94, "came with 9.5"),
            ("restore_command", "cp", V11, "recovery.conf"),
            ("checkpoint_segments", "many", V18, "number"),
            ("max_wal_size", "big", V94, "size"),
            ("default_with_oids", "on", V18, "11 was the last with it"),
        ] {
            let error = one(name, value, version).unwrap_err();
            assert!(error.contains(name) && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn refuses_one_setting_under_two_names() {
        let both = [("checkpoint_segments", "64"), ("max_wal_size", "3GB")];
        let both = both.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for version in [V94, V18] {
            let error = plan_for(&both, version).unwrap_err();
            assert!(matches!(error, MappingError::Twice { .. }), "{error}");
            assert!(error.to_string().contains("checkpoint_segments"), "{error}");
            assert!(error.to_string().contains("max_wal_size"), "{error}");
        }
    }

    #[test]
    fn lets_through_what_others_bring() {
        assert_eq!(one("pg_stat_statements.max", "1", V18).unwrap().settings.len(), 1);
        assert_eq!(one("something_new", "1", 190_000).unwrap().settings.len(), 1);
        let own = [("polar_vfs", "on")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert!(plan_for(&own, V11).is_err());
        assert_eq!(plan_with(&own, V11, &|name| name == "polar_vfs").unwrap().settings, own);
    }

    proptest! {
        #[test]
        fn never_panics(name in "[a-zA-Z_.]*", value in any::<String>(), version in any::<u32>()) {
            let _ = one(&name, &value, version);
        }

        /// Whatever is mapped can be given to a server of that version.
        #[test]
        fn gives_only_names_the_version_has(
            index in 0_usize..400,
            value in "[0-9]{1,4}|[0-9]\\.[0-9]GB|on|off|-1|replica",
            version in prop::sample::select(vec![V93, V94, 90_500, V96, V11, 130_000, 150_000, V18]),
        ) {
            let name = known::names().nth(index).unwrap();
            if let Ok(mapped) = one(name, &value, version) {
                for (name, _) in &mapped.settings {
                    prop_assert!(known::find(name).unwrap().is_in(version), "{name}");
                }
                let again = plan_for(&mapped.settings, version).unwrap();
                prop_assert_eq!(again.settings, mapped.settings);
            }
        }

        /// The conversion of the release notes, there and back.
        #[test]
        fn segments_survive_a_round_trip(segments in 1_u32..10_000) {
            let size = one("checkpoint_segments", &segments.to_string(), V18).unwrap().settings;
            let back = plan_for(&size, V94).unwrap().settings;
            prop_assert_eq!(&back[0].1, &segments.to_string());
        }
    }
}

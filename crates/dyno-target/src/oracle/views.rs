//! The views of the server that are read, with the version in which the newest of the columns that are read appeared,
//! and the prefixes of those that belong to packs which are licensed apart and are never touched.
//!
//! Sources: Oracle Database Reference of 12.1, 19c, 21c and 23ai; Oracle Database Licensing Information User Manual,
//! "Oracle Diagnostics Pack", "Oracle Tuning Pack". A test looks through all SQL of this folder for others.

/// A view that is read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(test),
    allow(dead_code, reason = "what of it tests alone look at is for readers")
)]
pub(super) struct View {
    pub name: &'static str,
    /// The version since which all that is read of it is there.
    pub since: &'static str,
    /// Whether it takes a right that users do not have by themselves.
    pub needs_right: bool,
}

const fn view(name: &'static str, since: &'static str, needs_right: bool) -> View {
    View {
        name,
        since,
        needs_right,
    }
}

/// All views that are read. The number of a column's version is the one in which the Reference has it first; what is
/// older than 12.1, the first that dyno speaks to, is 12.1.
pub(super) const READ: [View; 31] = [
    view("v$version", "12.1", false),
    view("plan_table", "12.1", false),
    view("session_privs", "12.1", false),
    view("user_indexes", "12.1", false),
    view("user_lobs", "12.1", false),
    view("user_objects", "12.1", false),
    view("user_resource_limits", "12.1", false),
    view("user_segments", "12.1", false),
    view("user_tab_modifications", "12.1", false),
    view("user_tables", "12.1", false),
    view("user_ts_quotas", "12.1", false),
    view("user_users", "12.1", false),
    view("v$instance", "12.1", true),
    view("v$instance_recovery", "12.1", true),
    view("v$lock", "12.1", true),
    view("v$log", "12.1", true),
    view("v$osstat", "12.1", true),
    view("v$parameter", "12.1", true),
    view("v$resource_limit", "12.1", true),
    view("v$sesstat", "12.1", true),
    view("v$session", "12.1", true),
    view("v$sgainfo", "12.1", true),
    view("v$spparameter", "12.1", true),
    view("v$sql", "12.1", true),
    view("v$sqlstats", "12.1", true),
    view("v$statname", "12.1", true),
    view("v$sys_time_model", "12.1", true),
    view("v$sysmetric", "12.1", true),
    view("v$sysstat", "12.1", true),
    view("v$system_event", "12.1", true),
    view("v$transaction", "12.1", true),
];

/// What names of views, tables and packages of the Diagnostics Pack and of the Tuning Pack begin with. Histories of
/// metrics are not in these lists of all versions, but near to them, and not needed.
#[cfg(test)]
const LICENSED: [&str; 22] = [
    "dba_hist_",
    "cdb_hist_",
    "awr_",
    "dba_addm_",
    "dba_advisor_",
    "user_advisor_",
    "dba_streams_tp_",
    "dba_sqltune_",
    "v$active_session_history",
    "gv$active_session_history",
    "x$ash",
    "v$ash_info",
    "v$sysmetric_history",
    "v$metric_history",
    "v$sql_monitor",
    "v$sql_plan_monitor",
    "mgmt$",
    "dbms_addm",
    "dbms_advisor",
    "dbms_perf",
    "dbms_sqltune",
    "dbms_workload_repository",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// What is mentioned and not read, and what is the name of something else.
    const OTHER: [&str; 5] = [
        "dba_users",
        "user_dump_dest",
        "user_time",
        "user_io_wait_time",
        "user_io_wait_time_ms",
    ];

    /// The files of this folder, but for this one.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
        let (folders, files): (Vec<_>, Vec<_>) = items.partition(|path| path.is_dir());
        let files = files.into_iter().filter(|path| !path.ends_with("views.rs"));
        files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
    }

    /// The words of a text that may be names of views.
    fn words(text: &str) -> impl Iterator<Item = String> {
        let part = |letter: char| letter.is_ascii_alphanumeric() || "_$".contains(letter);
        text.split(move |letter| !part(letter)).map(str::to_ascii_lowercase)
    }

    #[test]
    fn nothing_that_is_licensed_apart_is_read_and_all_that_is_read_is_listed() {
        let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/oracle"));
        assert!(files.len() > 20, "{}", files.len());
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for word in words(&text) {
                let licensed = LICENSED.iter().find(|begin| word.starts_with(**begin));
                assert_eq!(licensed, None, "{}: {word}", file.display());
                let is_view = ["v$", "gv$", "x$", "user_", "all_", "dba_"]
                    .iter()
                    .any(|begin| word.starts_with(begin));
                let is_view = is_view && word != "all_held";
                let is_listed = READ.iter().any(|view| view.name == word);
                let is_said = OTHER.contains(&word.as_str());
                assert!(
                    !is_view || is_listed || is_said || word.ends_with('$'),
                    "{}: {word}",
                    file.display()
                );
            }
        }
    }

    /// Whoever reads a view says since when there is what is read of it.
    #[test]
    fn what_is_read_is_said_to_be_there_since_a_version() {
        let mut said = 0;
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/oracle")) {
            let text = fs::read_to_string(&file).unwrap();
            let mut reads = READ.iter().filter(|view| {
                [" from ", " join "]
                    .iter()
                    .any(|word| text.contains(&format!("{word}{} ", view.name)))
            });
            if let Some(view) = reads.next() {
                assert!(
                    text.contains("12.1"),
                    "{} reads {}: since when?",
                    file.display(),
                    view.name
                );
                said += 1;
            }
        }
        assert!(said > 8, "{said}");
    }

    #[test]
    fn all_that_is_read_is_there_in_every_version() {
        for view in READ {
            assert_eq!(view.since, "12.1", "{}: say what a server before that gets", view.name);
            assert_eq!(
                view.needs_right,
                view.name.starts_with("v$") && view.name != "v$version"
            );
        }
    }
}

//! The workloads that come with dyno, under sysbench's names. They are written afresh from what sysbench's do: the same
//! tables, options, statements and order.

/// A workload in Lua.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// What it is called, without `.lua`.
    pub name: &'static str,
    /// What it does, a line for `--help`.
    pub about: &'static str,
    /// The script.
    pub text: &'static str,
}

/// The module that most of them share.
pub const COMMON: (&str, &str) = ("oltp_common", include_str!("../lua/oltp_common.lua"));

macro_rules! workload {
    ($name:literal, $about:literal) => {
        Workload {
            name: $name,
            about: $about,
            text: include_str!(concat!("../lua/", $name, ".lua")),
        }
    };
}

const ALL: &[Workload] = &[
    workload!("oltp_read_only", "reads by id and by range in transactions"),
    workload!(
        "oltp_read_write",
        "reads, updates, a delete and an insert in transactions"
    ),
    workload!("oltp_write_only", "updates, a delete and an insert in transactions"),
    workload!("oltp_point_select", "one row by its id"),
    workload!("oltp_update_index", "an update of a column with an index"),
    workload!("oltp_update_non_index", "an update of a column without one"),
    workload!("oltp_insert", "inserts"),
    workload!("oltp_delete", "deletes by id"),
    workload!("bulk_insert", "inserts of many rows at once, a table for each client"),
    workload!(
        "select_random_points",
        "rows of several values of a column with an index"
    ),
    workload!(
        "select_random_ranges",
        "rows of several ranges of a column with an index"
    ),
    workload!("oltp", "sysbench 0.5's transactions"),
    workload!("parallel_prepare", "sysbench 0.5's tables, made by all clients"),
];

/// What scripts may ask for by `require`: each workload, and what most of them share.
pub fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let texts = all().map(|workload| (workload.name, workload.text));
    texts.chain([COMMON])
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Workload> {
    ALL.iter()
}

/// The one of this name, with or without `.lua`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Workload> {
    let name = name.strip_suffix(".lua").unwrap_or(name);
    all().find(|workload| workload.name == name)
}

//! What the versions of sysbench say of themselves.

pub use dyno_lua::Version;

/// What `--version` prints.
#[must_use]
pub fn line(version: Version) -> String {
    format!("sysbench {} (dyno {})\n", version.number(), env!("CARGO_PKG_VERSION"))
}

/// What everything else begins with.
#[must_use]
pub fn header(version: Version) -> String {
    let dyno = env!("CARGO_PKG_VERSION");
    match version {
        Version::V0_5 => format!("sysbench 0.5:  multi-threaded system evaluation benchmark (dyno {dyno})\n\n"),
        _ => format!("sysbench {} (using dyno {dyno} with LuaJIT)\n\n", version.number()),
    }
}

//! Client CPU per transaction of dyno beside pgbench.
fn main() {}

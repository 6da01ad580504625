//! What dyno measures about itself beside its peers.
fn main() {}

//! Whether and how a connection is encrypted.
/// placeholder
pub fn server_end_point() {}

//! Pure functions over measured series.
//!
//! Statistics are kept apart from everything that reads files or sockets, so that each can be checked against numbers worked out by hand.

mod running;

pub use running::Running;

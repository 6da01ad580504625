//! How long a server may take for what is asked of it beside a load. Without a limit a network that drops packets, or
//! a proxy that takes them and gives nothing back, would be waited for without end.
//!
//! * A sample has [`SAMPLE`]: its sampler then begins anew, on another connection, and the gap is noted.
//! * A question, which the server answers from what it knows, has [`ANSWER`].
//! * Work (loading, analyzing, reading data into a cache, what the author of an experiment asks, dropping) takes as
//!   long as it takes. It ends when somebody asks to stop, and when the server's system gives no sign of life any more
//!   ([`dyno_connect::notice_outage`]), which goes for the others, too.

use std::time::Duration;

/// Longer than samplers allow the server to compute.
pub(crate) const SAMPLE: Duration = Duration::from_secs(15);

/// A server that stands still for less is measured, not given up.
pub(crate) const ANSWER: Duration = Duration::from_secs(60);

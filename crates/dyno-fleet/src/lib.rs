//! One load driven by several processes, on this machine or on others, and merged into one.
//!
//! A [`Fleet`] is the controller's side: it starts an agent for each load host, gives each its part of a load's plan,
//! lets all begin at one instant, and merges what they record. [`agent`] is the other side, the command `dyno agent`.
//! Both speak in frames ([`frame`], [`protocol`]) over a stream: the standard input and output of a process that was
//! started here or by ssh ([`start`]), or, on a cluster, a TLS connection that the agent makes ([`dial`]). An agent
//! listens on no port.

pub mod agent;
pub mod clock;
mod controller;
pub mod dial;
pub mod frame;
pub mod protocol;
pub mod share;
pub mod start;

pub use controller::merge::Merge;
pub use controller::{Fleet, FleetError, FleetObserver, Gap, HostOutcome, OnLostHost, Patience};

//! The hosts that a load is driven from.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Where a load is driven from, if not from dyno's own process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadHosts {
    /// Each is `local`, a process of this machine, `ray`, a node of a Ray cluster, or what ssh is given; empty: dyno
    /// drives the load itself.
    pub hosts: Vec<String>,
    /// What they are called in results, as many as hosts; empty: as they are called without each other's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The Ray cluster: the address of its dashboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ray: Option<String>,
    /// Where agents on it dial in: an address of this machine and a port; `None`: the address from which the cluster is
    /// reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// What each has of the workloads that it drives, in proportion, as many as hosts; empty: by their cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<f64>,
    /// What to do when one is lost.
    #[serde(default, skip_serializing_if = "OnLostHost::is_usual")]
    pub on_lost_host: OnLostHost,
}

impl LoadHosts {
    /// Whether dyno drives the load itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
}

/// What becomes of a run that loses a load host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLostHost {
    /// The others go on.
    #[default]
    Continue,
    /// It ends.
    End,
}

impl OnLostHost {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

//! What a plan is made of: the engine's own types, with plain data in the place of drivers, programs and logs.

use crate::log::LogPlan;
use crate::lua::LuaScript;
use crate::scripts::Scripts;
use dyno_engine::{Load, Preparing, Workload};
use dyno_lua::Dialect;
use dyno_target::target::Reach;
use dyno_target::{mysql, oracle, postgres};
use serde::{Deserialize, Serialize};

/// A whole load.
pub type LoadPlan = Load<Access, Work, LogPlan>;

/// One of its workloads.
pub type WorkloadPlan = Workload<Access, Work, LogPlan>;

/// What the clients of a workload execute. All workloads of a load are of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// Scripts in pgbench's language.
    Scripts(Scripts),
    /// A script in sysbench's Lua.
    Lua(Box<LuaScript>),
}

impl From<Scripts> for Work {
    fn from(scripts: Scripts) -> Self {
        Self::Scripts(scripts)
    }
}

/// How clients reach the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Where they connect, and as whom.
    pub server: Server,
    /// When statements of the prepared protocol are made known to the server.
    pub preparing: Preparing,
}

/// Where clients connect, and as whom: for each protocol what its addresses say. Hosts are looked up, and the files of
/// certificates read, by whoever drives the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Server {
    /// A server that speaks PostgreSQL's protocol.
    Postgres(Box<postgres::address::ConnectionInfo>),
    /// A server that speaks MySQL's protocol.
    Mysql(Box<mysql::address::ConnectionInfo>),
    /// A server that speaks Oracle's protocol.
    Oracle(Box<oracle::address::ConnectionInfo>),
    /// The same, reached by Oracle's own crate instead of sessions of dyno's.
    OracleByCrate(Box<oracle::address::ConnectionInfo>),
}

impl Server {
    /// What scripts in Lua are told of it; `None` if there are none for such a server.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        match self {
            Self::Postgres(_) => Some(Dialect::Postgres),
            Self::Mysql(_) => Some(Dialect::Mysql),
            Self::Oracle(_) | Self::OracleByCrate(_) => None,
        }
    }
}

impl From<Reach<'_>> for Server {
    fn from(reach: Reach<'_>) -> Self {
        match reach {
            Reach::Postgres(info) => Self::Postgres(Box::new(info.clone())),
            Reach::Mysql(info) => Self::Mysql(Box::new(info.clone())),
            Reach::Oracle(info) => Self::Oracle(Box::new(info.clone())),
        }
    }
}

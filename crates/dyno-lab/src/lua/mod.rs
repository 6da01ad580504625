//! Scripts in sysbench's Lua as workloads, and as what makes data.
//!
//! A script is looked at when the experiment's file is read: it is loaded, with nobody hearing what it prints, to learn
//! which options and functions it has, and which modules it loads. From then on its texts are those of the experiment,
//! so what is archived is what is run. Its options are set like all values of an experiment; that they fit is checked
//! by what the script declares.

mod option;
mod plan;
mod prepare;
mod script;

pub(crate) use option::{OPTIONS, spelt};
pub(crate) use plan::{LuaPlan, PreparePlan, Purpose};
pub(crate) use prepare::Prepares;
pub(crate) use script::loadable;

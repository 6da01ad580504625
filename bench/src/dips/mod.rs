//! Whether dips get their right causes: disturbances of a run under way, and what the analysis says of them.

mod database;
mod disturbed;
mod judgement;
mod mariadb;
mod postgres;
mod provocation;
mod slow_path;
mod stopped;

pub use database::Database;
pub use disturbed::{DisturbedRun, Plan, archived};
pub use judgement::{Judged, Score, Verdict, is_open, judge};
pub use provocation::{Kind, Provocation, Provoked, draw};

//! The laboratory: what is done, in what order.
//!
//! [`experiment`] turns a file into the exact work of a campaign; [`run`] does it and archives what it sees;
//! [`series`] says which experiments are measured one after the other; [`capture`] makes a file of what a server
//! executes; [`standing`] knows which private servers stand for other tools; [`command`] writes command lines as they
//! may be archived; [`doctor`] says beforehand whether a load can run.

pub mod capture;
pub mod command;
pub mod doctor;
pub mod experiment;
mod lua;
mod nearest;
pub mod run;
pub mod series;
pub mod standing;

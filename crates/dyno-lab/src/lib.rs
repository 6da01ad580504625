//! The laboratory: what is to be measured, and what was.
//!
//! [`experiment`] turns a file into the exact work of a run; [`summary`] reduces what the load engine reports to the figures people read;
//! [`archive`] keeps everything on disk, readable without dyno; [`analysis`] says what a recording shows, and [`comparison`] what two campaigns say about
//! each other; [`figures`] writes their numbers. Nothing here opens a socket.

pub mod analysis;
pub mod archive;
pub mod comparison;
pub mod experiment;
pub mod figures;
mod nearest;
pub mod plan;
pub mod run;
pub mod summary;

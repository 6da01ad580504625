//! What people see: summaries, lists and progress as plain text, and reports to be published.
//!
//! Text is at most 100 columns wide, needs no colour to be understood, and every figure carries its unit. Only what
//! is longer than that by nature, such as a folder's path, may exceed the width.

mod analysis;
mod campaign;
mod ceiling;
mod cells_csv;
mod compare;
pub mod document;
mod experiments;
mod export;
pub mod figures;
#[cfg(test)]
mod fixture;
mod growth;
mod heaviest;
pub mod html;
mod kept;
mod list;
mod live;
pub mod markdown;
mod pictures;
pub mod plot;
mod progress;
mod show;
mod summary;
mod table;

pub use analysis::analysis;
pub use campaign::overview;
pub use ceiling::{ceiling, ceiling_line};
pub use cells_csv::cells_csv;
pub use compare::{comparison, losses};
pub use experiments::{experiments, plan};
pub use export::{Export, ExportKind};
pub use figures::duration;
pub use kept::{KeptRow, kept};
pub use list::campaigns;
pub use live::live_line;
pub use pictures::{Picture, PictureError, pictures};
pub use progress::{finished_run, progress_line, upcoming_line};
pub use show::{campaign, run};
pub use summary::summary;

//! What people see: one document of what an archive says, in any form, and lists and progress as plain text.
//!
//! Text is as wide as its [`Page`], needs no colour to be understood, and every figure carries its unit. Only what is
//! longer than that by nature, such as a folder's path, may exceed the width.

mod answer;
mod campaign;
mod capacity;
mod ceiling;
mod cells_csv;
mod checks;
mod compare;
mod completion;
pub mod document;
mod examination;
mod experiments;
mod export;
pub mod figures;
#[cfg(test)]
mod fixture;
mod found;
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
pub mod series;
mod standing;
mod table;
mod terminal;

pub use answer::{answer, comparison_json, pair_line, versus_line};
pub use capacity::{capacity, capacity_line};
pub use ceiling::{ceiling, ceiling_line};
pub use cells_csv::cells_csv;
pub use checks::{Checks, Limits, is_worse};
pub use compare::losses;
pub use examination::examination;
pub use experiments::{Listed, experiments, plan};
pub use export::{Export, ExportKind};
pub use figures::duration;
pub use found::campaign_json;
pub use kept::{KeptRow, kept};
pub use list::{Filter, ListedCampaign, campaigns, runs};
pub use live::live_line;
pub use pictures::{Picture, PictureError, pictures};
pub use progress::{finished_run, progress_line, run_words, upcoming_line};
pub use standing::servers;
pub use table::Page;
pub use terminal::{campaign, comparison, overview, plans, run};

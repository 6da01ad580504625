//! Reports: what an archive says, as a document that any form can be written from.

pub mod comparison;
pub mod model;

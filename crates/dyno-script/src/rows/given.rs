//! Rows that are not made here but come from elsewhere, such as a file.

use std::fmt;

/// Where rows come from. It is read by several writers at a time, each from its own place.
pub trait GivenRows: fmt::Debug + Send + Sync {
    /// A reader at no row yet.
    fn open(&self) -> Box<dyn GivenReader>;
}

/// Reads rows, mostly one after the other.
pub trait GivenReader: fmt::Debug {
    /// Goes to the row of this number, counted from 1.
    ///
    /// # Errors
    /// It cannot be read: why, in words.
    fn read(&mut self, row: u64) -> Result<(), String>;

    /// The value of that row in the column of this number, counted from 0; `None` for NULL.
    fn value(&self, column: usize) -> Option<&[u8]>;
}

//! What can be wrong with a result that a script wants to keep in variables.

/// Why the result of `\gset` or `\aset` cannot be kept. Queries count from 0 within their statement, which may be
/// several joined by `\;`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureFault {
    /// `\gset` takes exactly one row.
    #[error("\\gset: expected one row, got {rows}")]
    RowCount {
        /// Which query of the statement.
        query_number: u64,
        /// How many rows it gave.
        rows: u64,
    },
    /// A column is named as no variable can be.
    #[error(
        "\\{command}: a column named \"{name}\" cannot become a variable; give it a name of letters, digits and \
         underscores with AS"
    )]
    Name {
        /// `gset` or `aset`.
        command: &'static str,
        /// Which query of the statement.
        query_number: u64,
        /// The variable's name, prefix included.
        name: String,
    },
}

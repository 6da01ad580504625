//! The form of a plan in which it travels: postcard's, in which a field takes no more room than its value.

use crate::check::{self, InvalidPlan};
use crate::plan::LoadPlan;

/// Why bytes are no plan, or a plan cannot become bytes.
#[derive(Debug, thiserror::Error)]
pub enum BytesError {
    /// It has something that cannot be written, such as a path that is not UTF-8.
    #[error("the plan of a load cannot be written as bytes: {0}")]
    Unwritable(postcard::Error),
    /// The bytes do not follow the format.
    #[error("the plan of a load cannot be read from these bytes: {0}")]
    Unreadable(postcard::Error),
    /// Something follows the plan.
    #[error("{0} bytes follow the plan of a load")]
    Trailing(usize),
    /// It can be read, but not driven.
    #[error(transparent)]
    Invalid(#[from] InvalidPlan),
}

/// The plan as bytes, passwords included.
///
/// # Errors
/// Something in it cannot be written.
pub fn to_bytes(plan: &LoadPlan) -> Result<Vec<u8>, BytesError> {
    postcard::to_allocvec(plan).map_err(BytesError::Unwritable)
}

/// The plan that became these bytes. They may come from anybody: what takes more memory or time than a load can need
/// is refused.
///
/// # Errors
/// They are no plan, or one that cannot be driven.
pub fn from_bytes(bytes: &[u8]) -> Result<LoadPlan, BytesError> {
    let (plan, rest) = postcard::take_from_bytes(bytes).map_err(BytesError::Unreadable)?;
    if !rest.is_empty() {
        return Err(BytesError::Trailing(rest.len()));
    }
    check::check(&plan)?;
    Ok(plan)
}

//! Rights that a user lacks, and the statement that gives them.

use super::ClientError;

/// What a server says when a right is missing: that there is no such table, so that nobody learns of what is not
/// theirs, or that rights are insufficient (Oracle Database Error Messages), the last of them of a package.
const DENIED: [u32; 3] = [942, 1031, 6550];

/// Whether a right may be missing for what was refused so.
pub(super) fn is_denied(error: &ClientError) -> bool {
    error.code().is_some_and(|code| DENIED.contains(&code))
}

/// What an administrator executes so that `user` may do what it was refused with `error`, as a clause; `None` if it
/// lacks no right.
pub(super) fn remedy(error: &ClientError, right: &str, user: &str) -> Option<String> {
    is_denied(error).then(|| grant(right, user))
}

/// Who gives a right, and how.
pub(super) const AS_ADMINISTRATOR: &str = "as an administrator, execute";

/// The statement that gives a right, as a clause.
pub(super) fn grant(right: &str, user: &str) -> String {
    format!("{AS_ADMINISTRATOR}: {}", granting(right, user))
}

/// The statement that gives a right.
pub(super) fn granting(right: &str, user: &str) -> String {
    format!("grant {right} to {user}")
}

/// What came of something that the server may refuse: `Err` of `Ok` is its reason.
pub(super) fn refusable<T>(result: Result<T, ClientError>) -> Result<Result<T, ClientError>, ClientError> {
    match result {
        Err(lost @ ClientError::Lost(_)) => Err(lost),
        result => Ok(result),
    }
}

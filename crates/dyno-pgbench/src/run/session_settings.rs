//! libpq's environment variables that set something of every session.

use crate::options::Environment;

/// The variables and the settings they stand for.
const VARIABLES: [(&str, &str); 3] = [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// What the environment says of sessions: settings and their values.
pub fn session_settings(environment: Environment) -> Vec<(String, String)> {
    let set = |name| environment(name).filter(|value| !value.is_empty());
    let each = VARIABLES.into_iter();
    each.filter_map(|(variable, setting)| Some((setting.to_owned(), set(variable)?)))
        .collect()
}

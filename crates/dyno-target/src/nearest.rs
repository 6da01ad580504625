//! Guessing which setting was meant.

/// Below this share of equal characters a suggestion would only puzzle: names of settings are long, and many have words
/// in common.
const LIKE: f64 = 0.8;

/// The name among `known` that is most like this one, if any is like it at all. Names have no case.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    known
        .map(|known| {
            (
                strsim::normalized_damerau_levenshtein(&name, &known.to_ascii_lowercase()),
                known,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// A suggestion as the end of a sentence; `otherwise` if there is none.
pub(crate) fn hint(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_owned(), |known| format!("; did you mean {known}?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_settings_of_other_databases_are_not() {
        let known = ["innodb_flush_log_at_trx_commit", "max_connections", "read_buffer_size"];
        for (name, found) in [
            ("innodb_flush_log_at_commit", Some("innodb_flush_log_at_trx_commit")),
            ("Max_Connection", Some("max_connections")),
            ("shared_buffers", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), found, "{name}");
        }
    }
}

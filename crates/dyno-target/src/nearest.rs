//! Guessing which setting was meant.

/// Below this likeness a suggestion would only puzzle.
const LIKE: f64 = 0.8;

/// The name among `known` that is most like this one, if any is like it at all. Names have no case.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    known
        .map(|known| (strsim::jaro_winkler(&name, &known.to_ascii_lowercase()), known))
        .filter(|(likeness, _)| *likeness > LIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// A suggestion as the end of a sentence; `otherwise` if there is none.
pub(crate) fn hint(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_owned(), |known| format!("; did you mean {known}?"))
}

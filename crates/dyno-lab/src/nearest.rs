//! Guessing what was meant by a misspelt name.

/// The name among `known` that is most like `name`, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Below this share of equal characters a suggestion would only puzzle; found by trying slips of the keys and of
    // memory.
    const LIKE: f64 = 0.55;
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let likeness = strsim::normalized_damerau_levenshtein(&name, &candidate.to_lowercase());
            (likeness, candidate)
        })
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_no_more() {
        let known = ["clients", "threads", "protocol"];
        assert_eq!(nearest("client", known), Some("clients"));
        assert_eq!(nearest("thraeds", known), Some("threads"));
        assert_eq!(nearest("PROTOCOL", known), Some("protocol"));
        assert_eq!(nearest("duration", known), None);
        assert_eq!(nearest("", known), None);
    }
}

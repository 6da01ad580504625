//! Which settings which version has.

/// Every setting of PostgreSQL 9.3 to 18: its name, the first version that has it and the last one, empty for all
/// before or after. From 9.6 on read from `pg_settings` of real servers, before that from the release notes of 9.4,
/// 9.5 and 9.6.
const TABLE: &str = include_str!("known.csv");

/// The newest version of the table. A later one may have settings that nobody knew when it was made.
const NEWEST: u32 = 180_000;

/// A setting and the versions that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) name: &'static str,
    /// The first version with it, if it is not in 9.3 already.
    pub(super) since: Option<u32>,
    /// The last version with it, if there are later ones without.
    pub(super) until: Option<u32>,
}

impl Known {
    /// Whether a version has it.
    pub(super) fn is_in(&self, version: u32) -> bool {
        let major = major(version);
        self.since.is_none_or(|since| since <= major) && self.until.is_none_or(|until| major <= until)
    }
}

fn table() -> impl Iterator<Item = Known> {
    TABLE.lines().skip(1).filter_map(|line| {
        let mut fields = line.split(',');
        Some(Known {
            name: fields.next()?,
            since: fields.next().and_then(number),
            until: fields.next().and_then(number),
        })
    })
}

/// The names of all settings of PostgreSQL 9.3 to 18. Extensions and relatives of PostgreSQL have more.
pub fn names() -> impl Iterator<Item = &'static str> {
    table().map(|known| known.name)
}

/// What is known of a setting. Names have no case.
pub(super) fn find(name: &str) -> Option<Known> {
    table().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The known name that is most like this one.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    crate::nearest::nearest(name, names())
}

/// Whether a version may have settings that the table does not.
pub(super) fn is_newer(version: u32) -> bool {
    major(version) > NEWEST
}

/// The number of the major version: 90600 of 90624, 180000 of 180006.
pub(super) fn major(version: u32) -> u32 {
    if version >= 100_000 {
        version / 10_000 * 10_000
    } else {
        version / 100 * 100
    }
}

/// The number of a major version such as `9.6` or `18`.
fn number(text: &str) -> Option<u32> {
    match text.split_once('.') {
        Some((first, second)) => Some(first.parse::<u32>().ok()? * 10_000 + second.parse::<u32>().ok()? * 100),
        None => Some(text.parse::<u32>().ok()? * 10_000),
    }
}

/// How a version is called: `9.6` for 90624, `18` for 180006.
pub(super) fn release(version: u32) -> String {
    if version >= 100_000 {
        (version / 10_000).to_string()
    } else {
        format!("{}.{}", version / 10_000, version / 100 % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_which_version_has_what() {
        let segments = find("CHECKPOINT_segments").unwrap();
        assert!(segments.is_in(90_423) && !segments.is_in(90_500));
        let size = find("max_wal_size").unwrap();
        assert!(!size.is_in(90_423) && size.is_in(90_500) && size.is_in(190_000));
        assert!(find("fsync").unwrap().is_in(90_300));
        let forced = find("force_parallel_mode").unwrap();
        assert!(!forced.is_in(90_500) && forced.is_in(90_624) && forced.is_in(150_019) && !forced.is_in(160_000));
        assert_eq!(find("nosuch"), None);
        assert_eq!(nearest("shared_bufers"), Some("shared_buffers"));
        assert_eq!(nearest("qqq"), None);
        assert!(names().count() > 400);
    }

    #[test]
    fn names_versions() {
        for (text, version) in [("9.3", 90_300), ("9.6", 90_624), ("10", 100_023), ("18", 180_006)] {
            assert_eq!(release(version), text);
            assert_eq!(number(text), Some(major(version)));
        }
    }
}

//! Settings of which one bounds the other.
//!
//! A server that is given one of such a pair may change the other by itself, or cut what it was given, and does so
//! differently from version to version. So the other is named as well: then it is said, verified and put back.

use crate::mysql::variables::Variables;
use crate::values::in_bytes;

/// Of these the first may not be larger than the second (MySQL and MariaDB, "InnoDB System Variables").
const PAIRS: [(&str, &str, Room); 2] = [
    ("innodb_io_capacity", "innodb_io_capacity_max", Room::Double),
    (
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_max_dirty_pages_pct",
        Room::Same,
    ),
];

/// How much larger the bound becomes than what needs it.
#[derive(Clone, Copy)]
enum Room {
    /// As MariaDB makes it.
    Double,
    Same,
}

/// Adds to settings, whose names are the server's own, the other ones of pairs that would not fit any more. Gives what
/// is to be said of that.
pub(super) fn complete(settings: &mut Vec<(String, String)>, variables: &Variables) -> Vec<String> {
    let mut notes = Vec::new();
    for (bounded, bound, room) in PAIRS {
        let given = |name: &str| {
            let (_, value) = settings.iter().find(|(known, _)| known == name)?;
            in_bytes(value).parse::<f64>().ok()
        };
        let found = |name: &str| variables.get(name)?.parse::<f64>().ok();
        let added = match (given(bounded), given(bound)) {
            (Some(wanted), None) => found(bound).filter(|bound| *bound < wanted).map(|_| {
                let larger = match room {
                    Room::Double => wanted * 2.0,
                    Room::Same => wanted,
                };
                (bound, larger, format!("{bounded} may not be larger"))
            }),
            (None, Some(wanted)) => found(bounded)
                .filter(|bounded| *bounded > wanted)
                .map(|_| (bounded, wanted, format!("it may not be larger than {bound}"))),
            _ => None,
        };
        if let Some((name, value, why)) = added {
            notes.push(format!("{name} is set to {value} as well: {why}"));
            settings.push((name.to_owned(), value.to_string()));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(given: &[(&str, &str)]) -> Vec<String> {
        let variables = Variables::from([
            ("innodb_io_capacity", "200"),
            ("innodb_io_capacity_max", "2000"),
            ("innodb_max_dirty_pages_pct", "90.000000"),
            ("innodb_max_dirty_pages_pct_lwm", "10.000000"),
        ]);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut settings: Vec<_> = given.iter().map(owned).collect();
        complete(&mut settings, &variables);
        let added = settings.iter().skip(given.len());
        added.map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn what_would_not_fit_is_named_too() {
        assert_eq!(
            completed(&[("innodb_io_capacity", "5000")]),
            ["innodb_io_capacity_max=10000"]
        );
        assert_eq!(
            completed(&[("innodb_io_capacity_max", "100")]),
            ["innodb_io_capacity=100"]
        );
        assert_eq!(
            completed(&[("innodb_max_dirty_pages_pct", "7.5")]),
            ["innodb_max_dirty_pages_pct_lwm=7.5"]
        );
    }

    #[test]
    fn what_fits_or_is_given_stays() {
        assert!(completed(&[("innodb_io_capacity", "2000")]).is_empty());
        assert!(completed(&[("innodb_io_capacity", "5000"), ("innodb_io_capacity_max", "6000")]).is_empty());
        assert!(completed(&[("innodb_io_capacity", "much")]).is_empty());
    }
}

//! Values of settings: sizes and switches have several forms, and mean the same in each.

/// The number of bytes in a size as people write it, such as `8GB` or `128 kB`, or as the server's options take it,
/// such as `8G`; `None` for what is no size with a unit.
#[must_use]
pub fn size_bytes(value: &str) -> Option<u64> {
    let value = value.trim().to_ascii_uppercase();
    let number = value.strip_suffix('B').unwrap_or(&value);
    let (number, shift) = [('K', 10), ('M', 20), ('G', 30), ('T', 40)]
        .into_iter()
        .find_map(|(unit, shift)| Some((number.strip_suffix(unit)?, shift)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The same as a number that every version of the server reads; what is no size with a unit stays as it is.
pub(crate) fn in_bytes(value: &str) -> String {
    size_bytes(value).map_or_else(|| value.to_owned(), |bytes| bytes.to_string())
}

/// A size as people read it and the server's options take it: a number of bytes with the largest unit in which it is a
/// whole number, such as `128M`; what is no number of bytes stays as it is.
pub(crate) fn with_unit(value: &str) -> String {
    let bytes = in_bytes(value).parse::<u64>().unwrap_or(0);
    let whole = |shift: u32| (bytes > 0 && bytes.trailing_zeros() >= shift).then(|| bytes >> shift);
    let units = [('G', 30), ('M', 20), ('K', 10)];
    let sized = units.into_iter().find_map(|(unit, shift)| Some((whole(shift)?, unit)));
    sized.map_or_else(|| value.to_owned(), |(number, unit)| format!("{number}{unit}"))
}

/// What the server shows of a setting, in the form in which it was `wanted`: with a unit if that has one.
pub(crate) fn as_wanted(found: &str, wanted: &str) -> String {
    match size_bytes(wanted) {
        Some(_) => with_unit(found),
        None => found.to_owned(),
    }
}

/// Whether the server shows a value that it was given.
pub(crate) fn same_value(found: &str, wanted: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok().or_else(|| size_bytes(text));
    let switch = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Some(true),
        "off" | "false" | "0" | "no" => Some(false),
        _ => None,
    };
    let decimal = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    found.eq_ignore_ascii_case(wanted)
        || number(found).is_some_and(|found| Some(found) == number(wanted))
        || decimal(found).is_some_and(|found| Some(found) == decimal(wanted))
        || switch(found).is_some_and(|found| Some(found) == switch(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_bytes() {
        for (value, number) in [
            ("8GB", Some(8 << 30)),
            ("128kB", Some(128 << 10)),
            ("64 MB", Some(64 << 20)),
            ("4G", Some(4 << 30)),
            ("2t", Some(2 << 40)),
            ("on", None),
            ("GB", None),
            ("12", None),
            ("12B", None),
            ("1.5GB", None),
            ("99999999999999GB", None),
        ] {
            assert_eq!(size_bytes(value), number, "{value}");
        }
    }

    #[test]
    fn sizes_are_written_as_the_server_reads_them() {
        for (given, read) in [
            ("100mb", "104857600"),
            ("128 kB", "131072"),
            ("4G", "4294967296"),
            ("on", "on"),
        ] {
            assert_eq!(in_bytes(given), read);
        }
    }

    #[test]
    fn sizes_are_shown_with_a_unit() {
        for (found, shown) in [
            ("134217728", "128M"),
            ("1073741824", "1G"),
            ("1049624576", "1001M"),
            ("8192", "8K"),
            ("128 kB", "128K"),
            ("1000", "1000"),
            ("0", "0"),
            ("ON", "ON"),
        ] {
            assert_eq!(as_wanted(found, "1GB"), shown);
            assert_eq!(as_wanted(found, "300"), found);
        }
    }

    #[test]
    fn a_value_is_the_same_however_it_is_written() {
        for (found, wanted) in [
            ("134217728", "128M"),
            ("134217728", "128MB"),
            ("ON", "1"),
            ("OFF", "off"),
            ("O_DIRECT", "o_direct"),
            ("90.000000", "90"),
            ("1", "1"),
        ] {
            assert!(same_value(found, wanted), "{found} {wanted}");
        }
        for (found, wanted) in [("134217728", "129M"), ("ON", "0"), ("2", "1"), ("fsync", "O_DIRECT")] {
            assert!(!same_value(found, wanted), "{found} {wanted}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_size_or_none(text in "\\PC{0,12}", other in "\\PC{0,12}") {
            let _ = (size_bytes(&text), same_value(&text, &other));
        }
    }
}

//! Sizes relative to a machine, with limits: `25% of memory`, `memory / 32 up to 8GB`, `cores / 2`, `cores up to 64`.

/// What sizes are relative to: the machine that the server runs on. What is not known is none; so is all of a
/// machine that is not this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// Processor cores that may be used.
    pub cores: Option<u64>,
}

/// A relative size that cannot be made absolute.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It starts like a relative size and goes on otherwise.
    #[error(
        "\"{text}\" is not a size: write for example \"25% of memory\", \"memory / 4\", \"1/32 of memory up to \
         8GB\", \"cores / 2\", \"2 * cores\" or \"cores up to 64\""
    )]
    Syntax {
        /// As written.
        text: String,
    },
    /// The machine is not known.
    #[error(
        "\"{text}\" is relative to the {what} of the server's machine, which dyno cannot see from here; give an \
         absolute value instead"
    )]
    Unknown {
        /// As written.
        text: String,
        /// "memory" or "cores".
        what: &'static str,
    },
}

/// A relative size as written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Relative {
    of: Base,
    factor: f64,
    /// In bytes or cores.
    limit: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Memory,
    Cores,
}

/// Turns a size relative to memory or cores into an absolute one: `25% of memory` on 24 GiB becomes `6144MB`,
/// `cores / 2` on 8 cores becomes `4`, `cores up to 4` there also `4`. Fractions are rounded down, to 1 (MB or
/// core) at least. Any other text is given back as it is.
///
/// # Errors
/// The text starts like a relative size and goes on otherwise, or what it is relative to is not known.
pub fn resolve_size(text: &str, machine: Capacity) -> Result<String, SizeError> {
    let syntax = || SizeError::Syntax { text: text.to_owned() };
    let unknown = |what| SizeError::Unknown {
        text: text.to_owned(),
        what,
    };
    if !looks_relative(text) {
        return Ok(text.to_owned());
    }
    let size = parse(text).ok_or_else(syntax)?;
    let whole = match size.of {
        Base::Memory => machine.memory_bytes.ok_or_else(|| unknown("memory"))?,
        Base::Cores => machine.cores.ok_or_else(|| unknown("cores"))?,
    };
    // The products are far below 2^53, where f64 is exact to one.
    let amount = (whole as f64 * size.factor).min(size.limit.unwrap_or(f64::INFINITY));
    Ok(match size.of {
        Base::Memory => format!("{:.0}MB", (amount / MEGABYTE).floor().max(1.0)),
        Base::Cores => format!("{:.0}", amount.floor().max(1.0)),
    })
}

const MEGABYTE: f64 = 1_048_576.0;

/// Whether a text is meant as a relative size: only those have the words `memory` or `cores` beside an operator, or
/// `of` after a share.
fn looks_relative(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["memory" | "cores"] | ["memory" | "cores", "/" | "*" | "up", ..] => true,
        [_, "*", "memory" | "cores", ..] => true,
        [share, "of", ..] => share.ends_with('%') || share.contains('/'),
        _ => false,
    }
}

fn parse(text: &str) -> Option<Relative> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (size, limit) = match words.iter().position(|word| *word == "up") {
        Some(at) => match &words[at..] {
            [_, "to", limit] => (&words[..at], Some(*limit)),
            _ => return None,
        },
        None => (&words[..], None),
    };
    let (factor, of) = match size {
        [of] => (1.0, *of),
        [of, "/", divisor] => (1.0 / positive(divisor)?, *of),
        [of @ ("memory" | "cores"), "*", factor] | [factor, "*", of] => (positive(factor)?, *of),
        [share, "of", of] => (share_of_whole(share)?, *of),
        _ => return None,
    };
    let of = match of {
        "memory" => Base::Memory,
        "cores" => Base::Cores,
        _ => return None,
    };
    let limit = match limit {
        Some(limit) => Some(amount(limit, of)?),
        None => None,
    };
    Some(Relative { of, factor, limit })
}

/// `25%` or `1/4`.
fn share_of_whole(text: &str) -> Option<f64> {
    match text.split_once('/') {
        Some((above, below)) => Some(positive(above)? / positive(below)?),
        None => Some(positive(text.strip_suffix('%')?)? / 100.0),
    }
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| *number > 0.0 && *number < 1e6)
}

/// A limit: bytes with their unit for memory, a plain number of cores.
fn amount(text: &str, of: Base) -> Option<f64> {
    if of == Base::Cores {
        return positive(text);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "kB" => 1024.0,
        "MB" => MEGABYTE,
        "GB" => 1024.0 * MEGABYTE,
        "TB" => 1_048_576.0 * MEGABYTE,
        _ => return None,
    };
    Some(positive(digits)? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MACHINE: Capacity = Capacity {
        memory_bytes: Some(24 << 30),
        cores: Some(8),
    };

    #[test]
    fn resolves_relative_sizes() {
        for (text, expected) in [
            ("25% of memory", "6144MB"),
            ("12.5%  of memory", "3072MB"),
            ("memory / 4", "6144MB"),
            ("1/32 of memory", "768MB"),
            ("1/32 of memory up to 512MB", "512MB"),
            ("memory / 32 up to 8GB", "768MB"),
            ("memory / 2 up to 8GB", "8192MB"),
            ("memory up to 0.5TB", "24576MB"),
            ("cores", "8"),
            ("cores / 2", "4"),
            ("cores / 100", "1"),
            ("2 * cores", "16"),
            ("cores * 1.5", "12"),
            ("cores up to 64", "8"),
            ("2 * cores up to 10", "10"),
            ("50% of cores", "4"),
            ("0.0001% of memory", "1MB"),
            ("16GB", "16GB"),
            ("on", "on"),
            ("a, b", "a, b"),
            ("/var/run/memory", "/var/run/memory"),
            ("", ""),
        ] {
            assert_eq!(resolve_size(text, MACHINE).as_deref(), Ok(expected), "{text}");
        }
        for bad in [
            "25% of disk",
            "x% of memory",
            "cores / 0",
            "cores / x",
            "-5% of memory",
            "NaN% of memory",
            "1/0 of memory",
            "memory / 4 up to 8",
            "memory / 4 up to 8 GB",
            "memory up 8GB",
            "cores up to 8GB",
            "2 * cores up to",
        ] {
            let error = resolve_size(bad, MACHINE).unwrap_err();
            assert!(matches!(error, SizeError::Syntax { .. }), "{bad}");
        }
    }

    #[test]
    fn a_machine_that_is_not_known_has_no_sizes() {
        let error = resolve_size("25% of memory", Capacity::default()).unwrap_err();
        assert!(
            error.to_string().contains("the memory of the server's machine"),
            "{error}"
        );
        assert!(resolve_size("cores", Capacity::default()).is_err());
        assert_eq!(resolve_size("1GB", Capacity::default()).as_deref(), Ok("1GB"));
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = resolve_size(&text, MACHINE);
            let _ = parse(&text);
        }

        #[test]
        fn a_share_is_below_its_limit_and_the_whole(percent in 1_u32..=100, gigabytes in 1_u64..64,
            limit in 1_u64..64) {
            let machine = Capacity { memory_bytes: Some(gigabytes << 30), cores: None };
            let text = resolve_size(&format!("{percent}% of memory up to {limit}GB"), machine).unwrap();
            let megabytes: u64 = text.strip_suffix("MB").unwrap().parse().unwrap();
            prop_assert!(megabytes >= 1 && megabytes <= limit * 1024 && megabytes <= gigabytes * 1024);
        }
    }
}

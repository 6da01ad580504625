//! Signals that are not meant for this process.

/// Those of these signals that the process was not started to ignore: `nohup` has it outlive the terminal, and a
/// script's shell has its background jobs ignore Ctrl-C. A handler would undo that.
#[must_use]
pub fn heeded<const N: usize>(signals: [i32; N]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    signals.into_iter().filter(heeded).collect()
}

/// Linux shows what is ignored as the bits of a hexadecimal number; asking by `sigaction` would need unsafe code.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_ignored() {
        assert_eq!(
            ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001003\n"),
            0x1003
        );
        assert_eq!(ignored(""), 0);
    }
}

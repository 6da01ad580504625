//! Large pages for the states of a load.
//!
//! Hundreds of states are tens of megabytes, of which each event touches a few hundred bytes here and there. In pages
//! of 4 KB that is more places than the processor remembers the addresses of, so most look-ups would first have to
//! find out where the page is. Linux has larger pages (2 MB), but on many systems only where a program asks for them.

use std::ffi::{c_int, c_void};
use std::fs;
use std::ops::Range;

/// The size of large pages, or of a part of them.
const LARGE: usize = 2 << 20;

/// Less is not worth the moving.
const LEAST: usize = 2 * LARGE;

/// `MADV_COLLAPSE`: have what is there moved to large pages now. Linux has it from 6.1 on.
const COLLAPSE: c_int = 25;

#[allow(unsafe_code, reason = "no crate in use knows this advice yet")]
unsafe extern "C" {
    fn madvise(from: *mut c_void, length: usize, advice: c_int) -> c_int;
}

/// Has the memory that the process has allocated so far moved to large pages. Where that cannot be done all is as
/// before.
pub(crate) fn enlarge() {
    let Ok(mappings) = fs::read_to_string("/proc/self/smaps") else {
        return;
    };
    for Range { start, end } in filled(&mappings) {
        #[allow(unsafe_code, reason = "the system is asked about memory by its address")]
        // SAFETY: the contents of the memory stay as they are and where they are. What is mapped there no longer is
        // refused.
        unsafe {
            madvise(start as *mut c_void, end - start, COLLAPSE);
        }
    }
}

/// The parts of a list of mappings that are memory of the process's own, writable, and mostly in use: whole large
/// pages of them.
fn filled(mappings: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut current = None;
    for line in mappings.lines() {
        if let Some(kb) = line.strip_prefix("Rss:") {
            let resident = kb.trim().trim_end_matches("kB").trim().parse().unwrap_or(0) * 1024;
            found.extend(current.take().filter(|range: &Range<usize>| {
                let length = range.end - range.start;
                length >= LEAST && resident >= length / 4 * 3
            }));
        } else if let Some(range) = allocated(line) {
            current = Some(range);
        }
    }
    let whole = found.into_iter().map(|Range { start, end }| Range {
        start: start.next_multiple_of(LARGE),
        end: end / LARGE * LARGE,
    });
    whole.filter(|range| range.start < range.end).collect()
}

/// The addresses of a mapping's first line, if it is memory that was allocated.
fn allocated(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (access, _offset, _device, inode) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_allocated = access == "rw-p" && inode == "0" && matches!(words.next(), None | Some("[heap]"));
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    is_allocated.then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPINGS: &str = "\
55d000000000-55d000400000 rw-p 00000000 00:00 0                          [heap]
Size:               4096 kB
Rss:                4000 kB
7f0000100000-7f0000a10000 rw-p 00000000 00:00 0
Rss:                9000 kB
7f0001000000-7f0002000000 rw-p 00000000 00:00 0
Rss:                  40 kB
7f0003000000-7f0004000000 ---p 00000000 00:00 0
Rss:               16384 kB
7f0005000000-7f0006000000 rw-p 00000000 fd:00 77                         /some/file
Rss:               16384 kB
7ffe00000000-7ffe00800000 rw-p 00000000 00:00 0                          [stack]
Rss:                8192 kB
7f0007000000-7f0007080000 rw-p 00000000 00:00 0
Rss:                 512 kB
";

    #[test]
    fn what_is_allocated_and_in_use_is_found() {
        assert_eq!(
            filled(MAPPINGS),
            [0x55d0_0000_0000..0x55d0_0040_0000, 0x7f00_0020_0000..0x7f00_00a0_0000]
        );
        assert!(filled("no mappings\nRss: 5").is_empty());
    }

    #[test]
    fn contents_stay_as_they_are() {
        let numbers: Vec<u64> = (0..2_000_000).collect();
        enlarge();
        assert!((0..).zip(&numbers).all(|(expected, number)| expected == *number));
    }
}

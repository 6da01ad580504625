//! The CPUs that a load's threads are bound to.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::str::FromStr;

/// A list of CPUs, written like `0-3,6`: as taskset and the kernel write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct Cpus(Vec<usize>);

/// A text that lists no CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a list of CPUs: write numbers below {MOST} and ranges of them, such as 0-3,6")]
pub struct CpusError {
    text: String,
}

/// So many CPUs can be told apart.
const MOST: usize = 1024;

impl Cpus {
    /// Whether threads are free to move.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPU of thread `number`: they are dealt out in turn. `None`: threads are free to move.
    pub(crate) fn of_thread(&self, number: usize) -> Option<usize> {
        self.0.get(number.checked_rem(self.0.len())?).copied()
    }
}

impl FromStr for Cpus {
    type Err = CpusError;

    fn from_str(text: &str) -> Result<Self, CpusError> {
        let number = |text: &str| text.trim().parse().ok().filter(|cpu| *cpu < MOST);
        let part = |part: &str| match part.split_once('-') {
            None => number(part).map(|cpu| cpu..=cpu),
            Some((first, last)) => number(first).zip(number(last)).map(|(first, last)| first..=last),
        };
        let parts = text.split(',').map(|text| part(text).filter(|range| !range.is_empty()));
        let ranges: Option<Vec<_>> = parts.collect();
        match ranges {
            Some(ranges) => Ok(Self(ranges.into_iter().flatten().collect())),
            None => Err(CpusError { text: text.to_owned() }),
        }
    }
}

impl TryFrom<Vec<usize>> for Cpus {
    type Error = CpusError;

    fn try_from(numbers: Vec<usize>) -> Result<Self, CpusError> {
        match numbers.iter().find(|number| **number >= MOST) {
            Some(number) => Err(CpusError {
                text: number.to_string(),
            }),
            None => Ok(Self(numbers)),
        }
    }
}

impl From<Cpus> for Vec<usize> {
    fn from(cpus: Cpus) -> Self {
        cpus.0
    }
}

impl fmt::Display for Cpus {
    /// As it was written, save that every range is written as one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.0.chunk_by(|cpu, next| *next == cpu + 1);
        for (number, range) in ranges.enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match range {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [only] => write!(f, "{comma}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// Binds the calling thread to a CPU.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
pub(crate) fn bind(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// macOS has no such thing.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
pub(crate) fn bind(_cpu: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_again() {
        for (text, cpus, again) in [
            ("3", &[3][..], "3"),
            ("0-3,6", &[0, 1, 2, 3, 6], "0-3,6"),
            ("6, 0-1", &[6, 0, 1], "6,0-1"),
            ("4,5,6", &[4, 5, 6], "4-6"),
        ] {
            let read: Cpus = text.parse().expect(text);
            assert_eq!((&read.0[..], read.to_string().as_str()), (cpus, again));
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "a", "1,", "3-1", "-1", "1-", "1024", "0-5000", "0..3"] {
            let error = text.parse::<Cpus>().expect_err(text).to_string();
            assert!(error.contains(&format!("\"{text}\"")), "{error}");
        }
    }

    #[test]
    fn threads_take_turns() {
        let cpus: Cpus = "2,5".parse().expect("a list");
        let dealt: Vec<_> = (0..5).map(|thread| cpus.of_thread(thread)).collect();
        assert_eq!(dealt, [Some(2), Some(5), Some(2), Some(5), Some(2)]);
        assert_eq!(Cpus::default().of_thread(3), None);
    }
}

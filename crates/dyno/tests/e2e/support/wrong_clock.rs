//! A clock that is wrong, for those who log in to a host: what `wrong_clock.c` makes of it.

use super::temporary;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// By how much.
#[derive(Clone, Copy, Default)]
pub struct Wrong {
    /// The time of day is ahead by so many nanoseconds.
    pub time_of_day_ns: i64,
    /// The monotonic clock is.
    pub monotonic_ns: i64,
    /// The monotonic clock goes ahead by so many microseconds in a second.
    pub drift_ppm: i64,
}

/// The clock.
pub struct WrongClock {
    folder: TempDir,
}

impl WrongClock {
    pub fn new(wrong: Wrong) -> Self {
        let clock = Self {
            folder: temporary("clock-"),
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/support/wrong_clock.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&clock.path("library"), &source])
            .status();
        assert!(built.unwrap().success());
        clock.set(wrong);
        clock
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// From now on it is wrong by this.
    pub fn set(&self, wrong: Wrong) {
        let numbers = [wrong.time_of_day_ns, wrong.monotonic_ns, wrong.drift_ppm];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        // Who has the file mapped sees what is written into it, not what takes its place.
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.path("wrong"));
        std::os::unix::fs::FileExt::write_all_at(&file.unwrap(), &bytes, 0).unwrap();
    }

    /// The variables that make it a program's clock.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let path = |name: &str| self.path(name).display().to_string();
        [("LD_PRELOAD", path("library")), ("WRONG_CLOCK", path("wrong"))]
    }
}

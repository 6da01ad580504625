//! The rows of pgbench's tables in COPY's text format.
//!
//! Accounts differ from row to row in one number that grows by one, so that its digits are counted up in place and
//! the row is copied: some nanoseconds, where formatting takes a hundred.

use super::tables::{ACCOUNTS, TELLERS};
use std::ops::Range;

/// Appends the branches of `scale`: filler is NULL, as in pgbench.
pub(super) fn branches(scale: i64) -> impl Iterator<Item = String> {
    (1..=scale).map(|bid| format!("{bid}\t0\t\\N\n"))
}

/// The tellers of `scale`: filler is NULL, as in pgbench.
pub(super) fn tellers(scale: i64) -> impl Iterator<Item = String> {
    (0..TELLERS * scale).map(|index| format!("{}\t{}\t0\t\\N\n", index + 1, index / TELLERS + 1))
}

/// Accounts, whose filler is an empty string, which the server pads.
#[derive(Debug)]
pub(super) struct Accounts {
    /// Index of the next row, from 0.
    next: i64,
    end: i64,
    /// The next row as text.
    row: Vec<u8>,
    /// How many bytes of it are the account's number.
    digits: usize,
    /// Index at which the row must be written anew, because it gets another branch or another digit.
    rewrite: i64,
}

impl Accounts {
    /// The accounts with these indexes, from 0.
    pub(super) fn new(indexes: Range<i64>) -> Self {
        Self {
            next: indexes.start,
            end: indexes.end,
            row: Vec::new(),
            digits: 0,
            rewrite: indexes.start,
        }
    }

    /// Index of the next row.
    pub(super) fn next(&self) -> i64 {
        self.next
    }

    /// Appends rows up to index `until`, or until `out` has `bytes` bytes.
    pub(super) fn append(&mut self, out: &mut Vec<u8>, until: i64, bytes: usize) {
        let until = until.min(self.end);
        while self.next < until && out.len() < bytes {
            if self.next == self.rewrite {
                self.write_row();
            }
            let stretch = until.min(self.rewrite) - self.next;
            let room = (bytes - out.len()) / self.row.len() + 1;
            let rows = usize::try_from(stretch).map_or(room, |stretch| stretch.min(room));
            for _ in 0..rows {
                out.extend_from_slice(&self.row);
                count_up(&mut self.row[..self.digits]);
            }
            self.next += rows as i64;
        }
    }

    fn write_row(&mut self) {
        let aid = (self.next + 1).to_string();
        let branch = self.next / ACCOUNTS;
        self.digits = aid.len();
        self.row.clear();
        self.row
            .extend_from_slice(format!("{aid}\t{}\t0\t\n", branch + 1).as_bytes());
        let more_digits = 10_i64
            .checked_pow(u32::try_from(self.digits).unwrap_or(u32::MAX))
            .map_or(i64::MAX, |power| power - 1);
        self.rewrite = ((branch + 1) * ACCOUNTS).min(more_digits);
    }
}

/// Adds one to a decimal number; from all nines it begins again at zeros.
fn count_up(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(indexes: Range<i64>) -> String {
        indexes
            .map(|index| format!("{}\t{}\t0\t\n", index + 1, index / ACCOUNTS + 1))
            .collect()
    }

    fn made(indexes: Range<i64>, bytes: usize) -> String {
        let mut accounts = Accounts::new(indexes.clone());
        let mut all = Vec::new();
        while accounts.next() < indexes.end {
            let mut chunk = Vec::new();
            accounts.append(&mut chunk, indexes.end, bytes);
            assert!(!chunk.is_empty());
            all.extend_from_slice(&chunk);
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn rows_of_small_scales_are_as_formatted() {
        assert_eq!(made(0..300_000, 65_536), expected(0..300_000));
        assert_eq!(branches(2).collect::<String>(), "1\t0\t\\N\n2\t0\t\\N\n");
        let tellers: Vec<String> = tellers(2).collect();
        assert_eq!(
            (tellers.len(), tellers[9].as_str(), tellers[10].as_str()),
            (20, "10\t1\t0\t\\N\n", "11\t2\t0\t\\N\n")
        );
    }

    #[test]
    fn stops_where_told() {
        let mut accounts = Accounts::new(0..1_000);
        let mut out = Vec::new();
        accounts.append(&mut out, 10, usize::MAX);
        assert_eq!(
            (accounts.next(), out.iter().filter(|byte| **byte == b'\n').count()),
            (10, 10)
        );
        accounts.append(&mut out, i64::MAX, usize::MAX);
        assert_eq!(accounts.next(), 1_000);
    }

    proptest! {
        #[test]
        fn any_stretch_is_as_formatted(start in 0_i64..3_000_000_000, rows in 1_i64..2_000, bytes in 1_usize..5_000) {
            prop_assert_eq!(made(start..start + rows, bytes), expected(start..start + rows));
        }

        #[test]
        fn crossings_are_as_formatted(power in 1_u32..10, before in 0_i64..20, rows in 1_i64..50) {
            let start = (10_i64.pow(power) - 1 - before).max(0);
            prop_assert_eq!(made(start..start + rows, 64), expected(start..start + rows));
        }
    }
}

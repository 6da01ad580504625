//! What messages are made of, as it is read.
//!
//! Messages do not say how long they are: their end is found by reading them, and what has not come yet is waited for
//! by reading again from the last point at which something was whole. So a shortage is told apart from nonsense.

use std::borrow::Cow;

/// Why something cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// More bytes have to come.
    Short,
    /// No bytes would help.
    Malformed(&'static str),
}

/// What was read, or why not.
pub(super) type Reading<T> = Result<T, Unread>;

/// A value of this length is in pieces.
const PIECES: u8 = 254;

/// A value of this length is NULL, as is one of length 0.
const NULL: u8 = 255;

/// Set in the length of a number that is negative.
const NEGATIVE: u8 = 0x80;

/// Reads from the front of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Reading<&'a [u8]> {
        let (part, after) = self.rest.split_at_checked(length).ok_or(Unread::Short)?;
        self.rest = after;
        Ok(part)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Reading<[u8; N]> {
        let (part, after) = self.rest.split_first_chunk::<N>().ok_or(Unread::Short)?;
        self.rest = after;
        Ok(*part)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Reading<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// A number of two bytes, the most significant one first.
    pub(super) fn u16(&mut self) -> Reading<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A number of four bytes, the most significant one first.
    pub(super) fn u32(&mut self) -> Reading<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A number with its length before it, which is not negative.
    #[inline]
    pub(super) fn number(&mut self) -> Reading<u64> {
        match self.byte()? {
            0 => Ok(0),
            1 => Ok(u64::from(self.byte()?)),
            length => match self.long_number(length)? {
                (number, false) => Ok(number),
                _ => Err(Unread::Malformed("a number is negative that cannot be")),
            },
        }
    }

    /// A number, whatever it is, of which nobody makes use.
    #[inline]
    pub(super) fn skip_number(&mut self) -> Reading<()> {
        match self.byte()? {
            0 => Ok(()),
            length => self.long_number(length).map(drop),
        }
    }

    /// A number that may be negative.
    pub(super) fn signed(&mut self) -> Reading<i64> {
        let length = self.byte()?;
        let (number, negative) = self.long_number(length)?;
        let number = i64::try_from(number).map_err(|_| Unread::Malformed("a number is too large"))?;
        Ok(if negative { -number } else { number })
    }

    /// So many numbers of which nobody makes use.
    pub(super) fn skip_numbers(&mut self, count: usize) -> Reading<()> {
        (0..count).try_for_each(|_| self.skip_number())
    }

    /// A number that counts or measures something that is here.
    #[inline]
    pub(super) fn count(&mut self) -> Reading<usize> {
        usize::try_from(self.number()?).map_err(|_| Unread::Malformed("a number is too large"))
    }

    /// A number of 32 bits.
    #[inline]
    pub(super) fn number32(&mut self) -> Reading<u32> {
        u32::try_from(self.number()?).map_err(|_| Unread::Malformed("a number is too large"))
    }

    /// A number without its sign, and whether it is negative.
    fn long_number(&mut self, length: u8) -> Reading<(u64, bool)> {
        let digits = usize::from(length & !NEGATIVE);
        if digits > 8 {
            return Err(Unread::Malformed("a number is longer than 8 bytes"));
        }
        let number = self.take(digits)?;
        let number = number.iter().fold(0, |number, &digit| number << 8 | u64::from(digit));
        Ok((number, length & NEGATIVE != 0))
    }

    /// A value with its length before it; `None`: NULL.
    #[inline]
    pub(super) fn value(&mut self) -> Reading<Option<Cow<'a, [u8]>>> {
        match self.byte()? {
            0 | NULL => Ok(None),
            PIECES => {
                let mut whole = Vec::new();
                while let Some(piece) = self.piece()? {
                    whole.extend_from_slice(piece);
                }
                Ok(Some(whole.into()))
            }
            length => Ok(Some(self.take(length.into())?.into())),
        }
    }

    /// A value of which nobody makes use.
    #[inline]
    pub(super) fn skip_value(&mut self) -> Reading<()> {
        match self.byte()? {
            0 | NULL => Ok(()),
            PIECES => {
                while self.piece()?.is_some() {}
                Ok(())
            }
            length => self.take(length.into()).map(drop),
        }
    }

    #[inline]
    fn piece(&mut self) -> Reading<Option<&'a [u8]>> {
        match self.count()? {
            0 => Ok(None),
            length => self.take(length).map(Some),
        }
    }

    /// A value with two lengths before it: the first says whether there is one.
    pub(super) fn optional(&mut self) -> Reading<Cow<'a, [u8]>> {
        match self.count()? {
            0 => Ok(Cow::default()),
            _ => Ok(self.value()?.unwrap_or_default()),
        }
    }

    /// The same of which nobody makes use.
    pub(super) fn skip_optional(&mut self) -> Reading<()> {
        match self.count()? {
            0 => Ok(()),
            _ => self.skip_value(),
        }
    }

    /// Bytes with their number before them, of which nobody makes use.
    pub(super) fn skip_counted(&mut self) -> Reading<()> {
        let length = self.count()?;
        self.take(length).map(drop)
    }

    /// Bytes up to a NUL byte, which is taken off, too.
    pub(super) fn text(&mut self) -> Reading<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or(Unread::Short)?;
        let text = self.take(end)?;
        self.byte()?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer::{write_number, write_value};
    use super::*;
    use proptest::prelude::*;

    fn numbers(bytes: &[u8]) -> Reading<u64> {
        Reader::new(bytes).number()
    }

    #[test]
    fn numbers_have_their_length_before_them() {
        assert_eq!(numbers(b"\0"), Ok(0));
        assert_eq!(numbers(b"\x01\x07"), Ok(7));
        assert_eq!(numbers(b"\x03\x01\0\0"), Ok(0x1_0000));
        assert_eq!(numbers(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff"), Ok(u64::MAX));
        assert_eq!(numbers(b""), Err(Unread::Short));
        assert_eq!(numbers(b"\x02\x01"), Err(Unread::Short));
        assert!(matches!(numbers(b"\x09\0\0\0\0\0\0\0\0\0"), Err(Unread::Malformed(_))));
        assert!(matches!(numbers(b"\x81\x01"), Err(Unread::Malformed(_))));
        assert_eq!(Reader::new(b"\x81\x01").skip_number(), Ok(()));
    }

    #[test]
    fn values_may_be_null_or_in_pieces() {
        let value = |bytes: &'static [u8]| Reader::new(bytes).value();
        assert_eq!(value(b"\0"), Ok(None));
        assert_eq!(value(b"\xff"), Ok(None));
        assert_eq!(value(b"\x02ab"), Ok(Some(b"ab"[..].into())));
        assert_eq!(value(b"\xfe\x01\x02ab\x01\x01c\0"), Ok(Some(b"abc"[..].into())));
        assert_eq!(value(b"\xfe\x01\x02ab"), Err(Unread::Short));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in any::<u64>(), length in 0..70_000_usize) {
            let value = vec![b'x'; length];
            let mut out = Vec::new();
            write_number(&mut out, number);
            write_value(&mut out, &value);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.number(), Ok(number));
            let mut skipping = reader;
            let read = reader.value().unwrap().unwrap_or_default();
            prop_assert_eq!(read.as_ref(), value.as_slice());
            prop_assert_eq!(reader.left(), 0);
            prop_assert_eq!(skipping.skip_value(), Ok(()));
            prop_assert_eq!(skipping.left(), 0);
        }

        #[test]
        fn what_is_cut_short_is_waited_for(length in 0..600_usize, cut in any::<prop::sample::Index>()) {
            let mut out = Vec::new();
            write_value(&mut out, &vec![b'x'; length]);
            let part = &out[..cut.index(out.len())];
            prop_assert_eq!(Reader::new(part).value(), Err(Unread::Short));
            prop_assert_eq!(Reader::new(part).skip_value(), Err(Unread::Short));
        }
    }
}

//! Takes a request apart.

/// The longest piece that a client may announce: a message is small, and a length that is not would be waited for.
const LONGEST: usize = 64 << 20;

/// Why bytes are no request, or none yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The rest is in packets to come.
    Short,
    /// Whatever comes, it will be no request.
    Wrong(String),
}

/// A place in a message.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Where the next byte is.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn raw(&mut self, length: usize) -> Result<&'a [u8], Flaw> {
        if length > LONGEST {
            return Err(Flaw::Wrong(format!("a length of {length} bytes at {}", self.at)));
        }
        let end = self.at + length;
        let raw = self.bytes.get(self.at..end).ok_or(Flaw::Short)?;
        self.at = end;
        Ok(raw)
    }

    pub(crate) fn skip(&mut self, length: usize) -> Result<(), Flaw> {
        self.raw(length).map(|_| ())
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Flaw> {
        Ok(self.raw(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Flaw> {
        let raw = self.raw(2)?;
        Ok(u16::from_be_bytes([raw[0], raw[1]]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Flaw> {
        let raw = self.raw(4)?;
        Ok(u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]))
    }

    /// A number with its length before it; the length's highest bit is the sign.
    pub(crate) fn number(&mut self) -> Result<i64, Flaw> {
        let at = self.at;
        let length = self.u8()?;
        if length & 0x7f > 8 {
            return Err(Flaw::Wrong(format!("a number of {} bytes at {at}", length & 0x7f)));
        }
        let mut value = 0_i64;
        for byte in self.raw(usize::from(length & 0x7f))? {
            value = value.wrapping_shl(8) | i64::from(*byte);
        }
        Ok(if length & 0x80 == 0 {
            value
        } else {
            value.wrapping_neg()
        })
    }

    /// Such a number where it counts something.
    pub(crate) fn count(&mut self) -> Result<usize, Flaw> {
        let at = self.at;
        let number = self.number()?;
        usize::try_from(number).map_err(|_| Flaw::Wrong(format!("a count of {number} at {at}")))
    }

    /// Such a number where it names something: only its lower half matters.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the lower half is what is meant"
    )]
    pub(crate) fn id(&mut self) -> Result<u32, Flaw> {
        Ok(self.number()? as u32)
    }

    /// Bytes with their length before them, in pieces if they are long. None: null.
    pub(crate) fn bytes(&mut self) -> Result<Option<Vec<u8>>, Flaw> {
        match self.u8()? {
            0 | 0xff => Ok(None),
            0xfe => {
                let mut whole = Vec::new();
                loop {
                    match self.count()? {
                        0 => return Ok(Some(whole)),
                        length => whole.extend_from_slice(self.raw(length)?),
                    }
                }
            }
            length => Ok(Some(self.raw(usize::from(length))?.to_vec())),
        }
    }

    /// Bytes that stand behind their length only if there are any.
    pub(crate) fn optional_bytes(&mut self) -> Result<Vec<u8>, Flaw> {
        if self.count()? == 0 {
            return Ok(Vec::new());
        }
        Ok(self.bytes()?.unwrap_or_default())
    }

    /// Bytes up to a zero, which is not part of them.
    pub(crate) fn until_zero(&mut self) -> Result<&'a [u8], Flaw> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == 0).ok_or(Flaw::Short)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}

/// Text of a client, which may be broken.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_numbers_with_length_and_sign() {
        let mut reader = Reader::new(&[0, 1, 7, 2, 1, 0, 0x81, 5, 9]);
        assert_eq!(reader.number(), Ok(0));
        assert_eq!(reader.number(), Ok(7));
        assert_eq!(reader.number(), Ok(256));
        assert_eq!(reader.number(), Ok(-5));
        assert!(matches!(reader.number(), Err(Flaw::Wrong(_))));
    }

    #[test]
    fn takes_bytes_in_pieces() {
        let mut reader = Reader::new(&[0xfe, 1, 2, b'a', b'b', 1, 1, b'c', 0, 0]);
        assert_eq!(reader.bytes(), Ok(Some(b"abc".to_vec())));
        assert_eq!(reader.bytes(), Ok(None));
        assert_eq!(reader.bytes(), Err(Flaw::Short));
    }

    #[test]
    fn does_not_wait_for_what_no_client_sends() {
        let mut reader = Reader::new(&[0xfe, 4, 0x7f, 0xff, 0xff, 0xff]);
        assert!(matches!(reader.bytes(), Err(Flaw::Wrong(_))));
    }
}

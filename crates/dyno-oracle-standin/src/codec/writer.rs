//! Puts a reply together.

/// A message as it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes.push(value);
        self
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub(crate) fn u16_little(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn zeros(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    /// A number with its length before it, in one, two, four or eight bytes.
    pub(crate) fn number(&mut self, value: u64) -> &mut Self {
        self.signed(value, 0)
    }

    /// Such a number that may be below zero.
    pub(crate) fn integer(&mut self, value: i64) -> &mut Self {
        self.signed(value.unsigned_abs(), if value < 0 { 0x80 } else { 0 })
    }

    fn signed(&mut self, value: u64, sign: u8) -> &mut Self {
        let bytes = value.to_be_bytes();
        let length: u8 = match value {
            0 => 0,
            1..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        self.u8(length | sign).raw(&bytes[8 - usize::from(length)..])
    }

    /// A length as such a number.
    pub(crate) fn length(&mut self, length: usize) -> &mut Self {
        self.number(length as u64)
    }

    /// Bytes with their length before them, in pieces if they are long.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        const IN_ONE: usize = 252;
        const PIECE: usize = 32_767;
        match u8::try_from(bytes.len()) {
            Ok(length) if bytes.len() <= IN_ONE => self.u8(length).raw(bytes),
            _ => {
                self.u8(0xfe);
                for piece in bytes.chunks(PIECE) {
                    self.length(piece.len()).raw(piece);
                }
                self.u8(0)
            }
        }
    }

    /// Bytes that stand behind their length only if there are any.
    pub(crate) fn optional_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len());
        if bytes.is_empty() { self } else { self.bytes(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_numbers_in_as_few_bytes_as_there_are_forms() {
        let mut writer = Writer::new();
        writer.number(0).number(255).number(256).number(0x1_0000).integer(-3);
        assert_eq!(writer.into_bytes(), [0, 1, 255, 2, 1, 0, 4, 0, 1, 0, 0, 0x81, 3]);
    }

    #[test]
    fn writes_long_bytes_in_pieces() {
        let mut writer = Writer::new();
        writer.bytes(&[7; 253]);
        let bytes = writer.into_bytes();
        assert_eq!(bytes[..3], [0xfe, 1, 253]);
        assert_eq!(bytes.len(), 3 + 253 + 1);
    }
}

//! What both sides can do, and how they represent what: the messages in which they agree on it.
//!
//! Nothing is claimed that is not done: each ability that is left out keeps the server from sending something. What the
//! numbers mean was found in Oracle's own open drivers.

use super::reader::{Reader, Reading, Unread};
use super::writer::write_value;

/// UTF-8 (AL32UTF8), by Oracle's number.
pub(super) const UTF8: u16 = 873;

/// The newest version of fields that is spoken: that of 23.4.
const NEWEST: u8 = 24;

/// The version of fields in which a first message is written, before the server has said which one it speaks.
pub(super) const FIELDS_OF_FIRST: u8 = 13;

/// Messages of the negotiation.
pub(super) const PROTOCOL: u8 = 1;
pub(super) const DATA_TYPES: u8 = 2;
const FAST: u8 = 34;

/// The version of the protocol message.
const PROTOCOL_VERSION: u8 = 6;

/// What we are called, for people who look into the server's traces.
const DRIVER: &[u8] = b"dyno";

/// Where in what can be done, as it is compiled in, there is what.
const FIELD_VERSION: usize = 7;
const LENGTH: usize = 55;
const END_OF_RESPONSE: (usize, u8) = (40, 0x20);

/// What we can do: the byte, and its value.
const ABILITIES: [(usize, u8); 19] = [
    // The version of SQL.
    (0, 6),
    // Log-ins: with 11g and 12c verifiers, long names and passwords.
    (4, 8 | 2 | 32 | 64 | 128),
    (FIELD_VERSION, NEWEST),
    // Conversions by the server.
    (8, 1),
    (9, 1),
    // The state of the transaction at the end of calls, return codes, compression of columns.
    (15, 0x20 | 8 | 1),
    (16, 0x80 | 0x10),
    // Versions of type descriptions and remote procedures.
    (17, 3),
    (18, 7),
    (19, 3),
    (21, 1),
    // How LOBs look.
    (23, 0x80 | 0x40 | 8 | 4 | 2 | 1),
    // Lengths without padding; types with 16 bits.
    (26, 4),
    (27, 1),
    // Connection pools of the server.
    (31, 0x10),
    // Functions.
    (34, 12),
    // Long pieces of values.
    (37, 0x80 | 0x20),
    (39, 8),
    (42, 4 | 1),
];

/// What can be done while running: the form of numbers; strings of 32 KiB, no copies.
const RUNTIME: [u8; 11] = [2, 0, 0, 0, 0, 0, 4 | 1, 0, 0, 0, 0];

/// What both sides can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Abilities {
    /// The version of fields: the older one of both sides.
    pub(super) field_version: u8,
    /// Whether the server marks the end of each response.
    pub(super) marks_end: bool,
    /// The longest string that a column can hold, in bytes.
    pub(super) longest_string: usize,
    /// The database's character set, and that of its national characters, by their numbers.
    pub(super) character_sets: [u16; 2],
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            field_version: NEWEST,
            marks_end: false,
            longest_string: 4000,
            character_sets: [0; 2],
        }
    }
}

impl Abilities {
    /// Appends what we offer to speak.
    pub(super) fn write_protocol(out: &mut Vec<u8>) {
        out.extend_from_slice(&[PROTOCOL, PROTOCOL_VERSION, 0]);
        out.extend_from_slice(DRIVER);
        out.push(0);
    }

    /// Appends what we can do, and how we represent what.
    pub(super) fn write_data_types(self, out: &mut Vec<u8>) {
        out.push(DATA_TYPES);
        for _ in 0..2 {
            out.extend_from_slice(&UTF8.to_le_bytes());
        }
        // Characters of several bytes; lengths are sent with what they are of.
        out.push(2 | 1);
        let mut abilities = [0; LENGTH];
        for (at, value) in ABILITIES {
            abilities[at] = value;
        }
        abilities[FIELD_VERSION] = self.field_version;
        if self.marks_end {
            abilities[END_OF_RESPONSE.0] |= END_OF_RESPONSE.1;
        }
        write_value(out, &abilities);
        write_value(out, &RUNTIME);
        for (kind, sent_as, form) in super::data_types::all() {
            for number in [kind, sent_as, form, 0] {
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
        out.extend_from_slice(&[0, 0]);
    }

    /// Appends both at once, before the server has said anything; the first step of the log-in is to follow.
    pub(super) fn write_fast(self, out: &mut Vec<u8>) {
        // The version of this; the server converts characters.
        out.extend_from_slice(&[FAST, 1, 1, 0]);
        Self::write_protocol(out);
        // The server's character sets, of which nothing is known yet.
        out.extend_from_slice(&[0; 5]);
        out.push(FIELDS_OF_FIRST);
        self.write_data_types(out);
    }

    /// Reads what the server speaks and can do, behind the message's type.
    pub(super) fn read_protocol(&mut self, reader: &mut Reader<'_>) -> Reading<()> {
        // The version, the server's name.
        reader.text()?;
        reader.text()?;
        let [low, high, _flags] = *reader.take(3)?.as_array().ok_or(Unread::Short)?;
        let characters = u16::from_le_bytes([low, high]);
        let [low, high] = *reader.take(2)?.as_array().ok_or(Unread::Short)?;
        reader.take(5 * usize::from(u16::from_le_bytes([low, high])))?;
        let length = reader.u16()?;
        self.character_sets = [characters, national(reader.take(length.into())?)];
        let compiled = reader.value()?.unwrap_or_default();
        let runtime = reader.value()?.unwrap_or_default();
        let version = *compiled
            .get(FIELD_VERSION)
            .ok_or(Unread::Malformed("it does not say what version of messages it speaks"))?;
        self.field_version = self.field_version.min(version);
        self.longest_string = match runtime.get(6) {
            Some(flags) if flags & 4 != 0 => 32_767,
            _ => 4000,
        };
        Ok(())
    }

    /// Reads how the server represents what, which is as we asked, behind the message's type.
    pub(super) fn read_data_types(reader: &mut Reader<'_>) -> Reading<()> {
        while reader.u16()? != 0 {
            if reader.u16()? != 0 {
                reader.take(4)?;
            }
        }
        Ok(())
    }
}

/// The character set of national characters, in how the server represents what itself; 0 if it does not say.
fn national(forms: &[u8]) -> u16 {
    let at = |place: usize| forms.get(place).copied();
    let number = at(5).zip(at(6)).and_then(|(first, second)| {
        let before = 6 + usize::from(first) + usize::from(second);
        Some(u16::from_be_bytes([at(before + 3)?, at(before + 4)?]))
    });
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server's answer, with what it can do at these places.
    fn answer(field_version: u8, runtime: u8) -> Vec<u8> {
        let mut out = b"\x06\0Server\0\x69\x03\x01\0\0\0\x0b\0\0\0\0\0\0\0\0\0\x07\xd0".to_vec();
        let mut compiled = [0; LENGTH];
        compiled[FIELD_VERSION] = field_version;
        write_value(&mut out, &compiled);
        write_value(&mut out, &[2, 0, 0, 0, 0, 0, runtime]);
        out
    }

    #[test]
    fn the_older_version_is_spoken() {
        for (server, spoken) in [(7, 7), (24, 24), (30, 24)] {
            let mut abilities = Abilities::default();
            let answer = answer(server, 4);
            let mut reader = Reader::new(&answer);
            abilities.read_protocol(&mut reader).unwrap();
            assert_eq!((abilities.field_version, reader.left()), (spoken, 0));
            assert_eq!(abilities.longest_string, 32_767);
            assert_eq!(abilities.character_sets, [UTF8, 2000]);
            for length in 0..answer.len() {
                let mut reader = Reader::new(&answer[..length]);
                assert_eq!(
                    Abilities::default().read_protocol(&mut reader),
                    Err(Unread::Short),
                    "{length}"
                );
            }
        }
        let mut abilities = Abilities::default();
        abilities.read_protocol(&mut Reader::new(&answer(12, 0))).unwrap();
        assert_eq!(abilities.longest_string, 4000);
    }

    #[test]
    fn what_is_offered_says_which_version_is_spoken() {
        let mut out = Vec::new();
        let abilities = Abilities {
            field_version: 12,
            marks_end: true,
            ..Abilities::default()
        };
        abilities.write_data_types(&mut out);
        assert_eq!(out[..7], [2, 0x69, 3, 0x69, 3, 3, 55]);
        assert_eq!(out[7..][FIELD_VERSION], 12);
        assert_eq!(out[7..][40], 0x20);
        // What the server answers with types is read to its end.
        let types = &out[7 + 55 + 1 + RUNTIME.len()..];
        let mut reader = Reader::new(types);
        Abilities::read_data_types(&mut reader).unwrap();
        assert_eq!(reader.left(), 0);
    }
}

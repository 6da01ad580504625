//! The packets that end a result, and what a server says of a prepared statement.

use mysql_common::constants::StatusFlags;

use super::malformed;
use super::packet::{read_number, take, take_array};
use crate::WireError;

/// The end of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// Rows changed, or found to be changed.
    pub(super) affected: u64,
    /// Where the connection stands.
    pub(super) status: StatusFlags,
    /// How many warnings there are.
    pub(super) warnings: u16,
}

impl Ended {
    /// Reads an OK packet, behind its first byte. MySQL source documentation, "OK_Packet".
    #[inline]
    pub(super) fn ok(body: &[u8]) -> Result<Self, WireError> {
        Self::parse_ok(body).ok_or(malformed("the end of a result is cut short"))
    }

    #[inline]
    fn parse_ok(mut rest: &[u8]) -> Option<Self> {
        take(&mut rest, 1)?;
        let affected = read_number(&mut rest)?;
        let _last_insert_id = read_number(&mut rest)?;
        Self::parse_status(rest, affected, |[status, warnings]| (status, warnings))
    }

    /// Reads an EOF packet, which servers and proxies without `CLIENT_DEPRECATE_EOF` send. MySQL source documentation,
    /// "EOF_Packet".
    pub(super) fn eof(body: &[u8]) -> Result<Self, WireError> {
        let ended = body
            .get(1..)
            .and_then(|rest| Self::parse_status(rest, 0, |[warnings, status]| (status, warnings)));
        ended.ok_or(malformed("the end of the rows is cut short"))
    }

    #[inline]
    fn parse_status(mut rest: &[u8], affected: u64, order: impl FnOnce([u16; 2]) -> (u16, u16)) -> Option<Self> {
        let [a, b, c, d] = take_array(&mut rest)?;
        let (status, warnings) = order([u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])]);
        Some(Self {
            affected,
            status: StatusFlags::from_bits_retain(status),
            warnings,
        })
    }
}

/// What a server says of a statement it has prepared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// By what the statement is executed.
    pub(super) id: [u8; 4],
    /// How many packets about its placeholders and columns follow.
    pub(super) packets: u32,
}

impl Prepared {
    /// Reads a COM_STMT_PREPARE_OK packet. `eofs` says whether an EOF packet follows each list that is not empty.
    pub(super) fn parse(body: &[u8], eofs: bool) -> Result<Self, WireError> {
        let [_, i, d, id2, id3, columns, columns2, parameters, parameters2, ..] = *body else {
            return Err(malformed("the answer to a preparation is cut short"));
        };
        let packets = |count: [u8; 2]| match u16::from_le_bytes(count) {
            0 => 0,
            count => u32::from(count) + u32::from(eofs),
        };
        Ok(Self {
            id: [i, d, id2, id3],
            packets: packets([columns, columns2]) + packets([parameters, parameters2]),
        })
    }
}

//! LOAD DATA LOCAL: the server asks its client for the content of a file, which here is made in memory.

use super::MySession;
use super::packet::{HEADER, begin, finish, write};
use super::server_error::NOT_SUPPORTED;
use crate::{ServerError, Session};

/// Content is cut into packets of about this many bytes: small enough for every server (`max_allowed_packet`).
const PACKET: usize = 64 * 1024;

/// The content for a LOAD DATA LOCAL, kept as the packets that it travels in, so that it need not be copied.
#[derive(Debug, Default)]
pub struct LocalData {
    packets: Vec<u8>,
    /// Where the packet under way begins.
    under_way: Option<usize>,
    /// Whether the server may ask for it.
    pub(super) is_offered: bool,
}

impl LocalData {
    /// Appends what `write` appends. If that fails, it must have appended nothing.
    ///
    /// # Errors
    /// What `write` fails with.
    pub fn append<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let start = *self.under_way.get_or_insert_with(|| begin(&mut self.packets));
        write(&mut self.packets)?;
        if self.packets.len() - start >= PACKET {
            self.end_packet();
        }
        Ok(())
    }

    /// How much there is, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.packets.len()
    }

    /// Begins anew, with the room it has.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.under_way = None;
    }

    fn end_packet(&mut self) {
        if let Some(start) = self.under_way.take() {
            finish(&mut self.packets, start, 0);
        }
    }

    /// Moves the content into `out`, and behind it the empty packet that ends it. `number` gives the numbers of the
    /// packets. Afterwards there is no content.
    pub(super) fn serve(&mut self, mut number: impl FnMut() -> u8, out: &mut Vec<u8>) {
        self.end_packet();
        let end = begin(&mut self.packets);
        finish(&mut self.packets, end, 0);
        let mut at = 0;
        while let Some(&mut [a, b, c, ref mut place]) = self
            .packets
            .get_mut(at..)
            .and_then(|rest| rest.first_chunk_mut::<HEADER>())
        {
            *place = number();
            at += HEADER + u32::from_le_bytes([a, b, c, 0]) as usize;
        }
        if out.is_empty() {
            std::mem::swap(out, &mut self.packets);
        } else {
            out.extend_from_slice(&self.packets);
        }
        self.clear();
    }
}

impl MySession {
    /// The same session, which can [`load`](Self::load), and [`load_rows`](Self::load_rows) where the server takes
    /// them.
    #[must_use]
    pub fn to_load(mut self) -> Self {
        if let Some(start_up) = &mut self.start_up {
            start_up.is_to_load = true;
        }
        self
    }

    /// Appends a LOAD DATA LOCAL, whose content this is. `content` is empty afterwards; it may have other room.
    pub fn load(&mut self, statement: &str, content: &mut LocalData, out: &mut Vec<u8>) {
        let own = self.content.get_or_insert_default();
        std::mem::swap(&mut **own, content);
        content.clear();
        own.is_offered = true;
        self.query(|text| text.extend_from_slice(statement.as_bytes()), out);
    }

    /// Answers the request for a file's content with that of the statement, or else with none: the name of the file
    /// is the server's choice.
    #[cold]
    pub(super) fn file_asked_for(&mut self, out: &mut Vec<u8>) {
        let offered = self.content.as_mut().filter(|content| content.is_offered);
        if let Some(content) = offered {
            content.is_offered = false;
            return content.serve(|| self.framing.take_number(), out);
        }
        self.reply.copy_refused = true;
        self.note_error(ServerError {
            severity: "ERROR".into(),
            code: NOT_SUPPORTED.into(),
            state: "42000".into(),
            message: "LOAD DATA LOCAL is not supported: dyno gives a server no file of this machine".into(),
            hint: Some("Insert the rows, or load a file that is on the server (LOAD DATA INFILE).".into()),
            ..ServerError::default()
        });
        write(out, self.framing.take_number(), &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::FULL;
    use super::*;
    use std::convert::Infallible;

    fn append(data: &mut LocalData, bytes: &[u8]) {
        let written: Result<(), Infallible> = data.append(|out| {
            out.extend_from_slice(bytes);
            Ok(())
        });
        assert_eq!(written, Ok(()));
    }

    /// The payloads and numbers of the packets that are served.
    fn served(data: &mut LocalData, out: &mut Vec<u8>) -> Vec<(Vec<u8>, u8)> {
        let (mut next, start) = (254_u8, out.len());
        data.serve(
            || {
                next = next.wrapping_add(1);
                next
            },
            out,
        );
        let mut rest = &out[start..];
        let mut packets = Vec::new();
        while let Some((&[a, b, c, number], after)) = rest.split_first_chunk::<HEADER>() {
            let (payload, after) = after.split_at(u32::from_le_bytes([a, b, c, 0]) as usize);
            packets.push((payload.to_vec(), number));
            rest = after;
        }
        assert!(rest.is_empty());
        packets
    }

    #[test]
    fn content_travels_in_numbered_packets_with_an_empty_one_behind_it() {
        let mut data = LocalData::default();
        assert_eq!(served(&mut data, &mut Vec::new()), [(vec![], 255)]);
        let row = [b'x'; 1000];
        for _ in 0..100 {
            append(&mut data, &row);
        }
        let failed: Result<(), ()> = data.append(|_| Err(()));
        assert_eq!(failed, Err(()));
        let mut out = b"before".to_vec();
        let packets = served(&mut data, &mut out);
        let numbers: Vec<_> = packets.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [255, 0, 1]);
        assert_eq!(packets.iter().map(|(payload, _)| payload.len()).sum::<usize>(), 100_000);
        assert!(packets[0].0.len() <= PACKET + 1000 && packets[2].0.is_empty());
        assert!(out.starts_with(b"before"));
        assert_eq!(served(&mut data, &mut Vec::new()).len(), 1, "it is served once");
    }

    #[test]
    fn a_row_longer_than_a_packet_can_be_is_one_content() {
        let mut data = LocalData::default();
        append(&mut data, &vec![1; FULL + 5]);
        append(&mut data, &[2]);
        let packets = served(&mut data, &mut Vec::new());
        let lengths: Vec<_> = packets
            .iter()
            .map(|(payload, number)| (payload.len(), *number))
            .collect();
        assert_eq!(lengths, [(FULL, 255), (5, 0), (1, 1), (0, 2)]);
    }
}

//! What the ring is asked to do, and the numbers by which completions tell what they complete.

use super::buffers::GROUP;
use crate::backend::wire::transport::Connection;
use io_uring::opcode;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::Fixed;
use rustix::event::PollFlags;
use rustix::net::{RecvFlags, SendFlags};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Receives until told otherwise.
    Receive,
    /// Sends what is unsent; completes only if not all of it could be sent.
    Send,
    /// Waits until the peer accepts more.
    Writable,
    /// Waits until the peer has closed.
    HangUp,
}

/// An operation on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub kind: Kind,
    /// Which of the connections that its place has had.
    pub generation: u16,
    pub index: usize,
}

impl Operation {
    /// What the kernel repeats with the completion: the index, above it the generation and the kind.
    fn number(self) -> u64 {
        self.index as u64 & 0xffff_ffff | u64::from(self.generation) << 32 | (self.kind as u64) << 48
    }

    /// The operation with this number.
    pub fn from_number(number: u64) -> Self {
        Self {
            kind: match number >> 48 {
                0 => Kind::Receive,
                1 => Kind::Send,
                2 => Kind::Writable,
                _ => Kind::HangUp,
            },
            generation: (number >> 32) as u16,
            index: (number & 0xffff_ffff) as usize,
        }
    }

    /// What asks the ring to do it on `connection`, whose socket is registered under the index. The unsent bytes of a
    /// [`Kind::Send`] must not be touched before it is submitted.
    pub fn entry(self, connection: &Connection) -> Entry {
        let socket = Fixed(self.index as u32);
        let entry = match self.kind {
            Kind::Receive => opcode::RecvMulti::new(socket, GROUP).build(),
            Kind::Send => {
                let bytes = sendable(connection.unsent());
                // Without WAITALL the kernel would take a part for a success.
                let flags = SendFlags::NOSIGNAL.bits() | SendFlags::DONTWAIT.bits() | RecvFlags::WAITALL.bits();
                opcode::Send::new(socket, bytes.as_ptr(), bytes.len() as u32)
                    .flags(flags as i32)
                    .build()
                    .flags(Flags::SKIP_SUCCESS)
            }
            Kind::Writable => opcode::PollAdd::new(socket, u32::from(PollFlags::OUT.bits())).build(),
            Kind::HangUp => opcode::PollAdd::new(socket, u32::from(PollFlags::RDHUP.bits())).build(),
        };
        entry.user_data(self.number())
    }
}

/// What of `unsent` one send takes. The kernel cuts a call of 2 GiB or more short without a word.
pub(super) fn sendable(unsent: &[u8]) -> &[u8] {
    &unsent[..unsent.len().min(1 << 30)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_completion_tells_its_operation(generation: u16, index in 0_usize..=0xffff_ffff) {
            for kind in [Kind::Receive, Kind::Send, Kind::Writable, Kind::HangUp] {
                let operation = Operation { kind, generation, index };
                prop_assert_eq!(Operation::from_number(operation.number()), operation);
            }
        }
    }
}

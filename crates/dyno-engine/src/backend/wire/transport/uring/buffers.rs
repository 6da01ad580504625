//! The buffers that the kernel receives into, and the ring through which it is given them.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// The number under which the ring knows the buffers.
pub(super) const GROUP: u16 = 0;

/// What a buffer takes: many replies, or a part of one with many rows.
const BUFFER_BYTES: usize = 16 * 1024;

/// From one buffer to the next. Not a multiple of a page, because the first lines of all buffers would compete for
/// the same places of the CPU's cache.
const STRIDE: usize = BUFFER_BYTES + 5 * 64;

/// The kernel wants the ring to begin with a page.
const PAGE_BYTES: usize = 4096;

/// The buffers of one thread.
pub(super) struct Buffers {
    /// One piece of memory: `count` entries of the ring, then `count` buffers.
    memory: NonNull<u8>,
    layout: Layout,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// Makes `count` buffers, a power of two, and gives them to `ring`, which has to be gone before them.
    pub fn new(ring: &IoUring, count: u16) -> io::Result<Self> {
        let bytes = usize::from(count) * (size_of::<BufRingEntry>() + STRIDE);
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        #[allow(unsafe_code)]
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        let mut buffers = Self {
            memory,
            layout,
            count,
            tail: 0,
        };
        let address = memory.as_ptr() as u64;
        // SAFETY: the memory holds `count` entries and lives until after the ring is gone; see `Uring`.
        #[allow(unsafe_code)]
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(address, count, GROUP, 0)?;
        }
        for number in 0..count {
            buffers.give_back(number);
        }
        Ok(buffers)
    }

    /// Where buffer `number` begins.
    fn start(&self, number: u16) -> NonNull<u8> {
        let entries = usize::from(self.count) * size_of::<BufRingEntry>();
        let number = usize::from(number % self.count);
        // SAFETY: the memory holds all entries and all buffers.
        #[allow(unsafe_code)]
        unsafe {
            self.memory.add(entries + number * STRIDE)
        }
    }

    /// The first `length` bytes of buffer `number`, which the kernel has filled and not been given back.
    pub fn filled(&self, number: u16, length: usize) -> &[u8] {
        let start = self.start(number);
        // SAFETY: the memory was zeroed, is as long, and the kernel does not touch a buffer that it has handed over.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(start.as_ptr(), length.min(BUFFER_BYTES))
        }
    }

    /// Where what buffer `number` holds begins: as much as most replies take.
    #[inline]
    pub fn first_line(&self, number: u16) -> &[u8; 64] {
        let start = self.start(number).cast();
        // SAFETY: the memory was zeroed, a buffer is longer, and the kernel does not touch one that it has handed over.
        #[allow(unsafe_code)]
        unsafe {
            start.as_ref()
        }
    }

    /// Lets the kernel fill buffer `number` again.
    pub fn give_back(&mut self, number: u16) {
        let start = self.start(number);
        let ring = self.memory.cast::<BufRingEntry>();
        // SAFETY: the entry lies within the ring, as the number of entries is a power of two; the kernel reads it
        // only after the tail has passed it. The tail lies in a field of the first entry that nothing else uses.
        #[allow(unsafe_code)]
        unsafe {
            let entry = ring.add(usize::from(self.tail % self.count)).as_mut();
            entry.set_addr(start.as_ptr() as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(number);
            self.tail = self.tail.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(ring.as_ptr()).cast_mut()).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        #[allow(unsafe_code)]
        unsafe {
            dealloc(self.memory.as_ptr(), self.layout);
        }
    }
}

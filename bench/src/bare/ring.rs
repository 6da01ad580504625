//! The loop over io_uring: one call per round sends everything and waits; receives go on by themselves.

use super::{BareConnection, Reply};
use crate::Result;
use io_uring::types::{BufRingEntry, CancelBuilder, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

/// What a buffer takes: a reply.
const BUFFER_BYTES: usize = 4096;

/// From one buffer to the next. Not a multiple of a page, because the first lines of all buffers would compete for the
/// same places of the CPU's cache.
const STRIDE: usize = BUFFER_BYTES + 64;

/// Runs the loop until then, and tells how often a statement was executed.
pub(super) fn with_io_uring(mut connections: Vec<BareConnection>, until: Instant) -> Result<u64> {
    let count = connections.len().next_power_of_two().clamp(512, 32_768) as u16;
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(4 * u32::from(count))
        .build(2 * u32::from(count))?;
    let sockets: Vec<_> = connections.iter().map(|one| one.socket.as_fd().as_raw_fd()).collect();
    ring.submitter().register_files(&sockets)?;
    let mut buffers = Buffers::new(count)?;
    // SAFETY: the memory holds `count` entries and is freed only when the ring does nothing more.
    #[allow(unsafe_code)]
    unsafe {
        ring.submitter()
            .register_buf_ring_with_flags(buffers.memory.as_ptr() as u64, count, 0, 0)?;
    }
    (0..count).for_each(|number| buffers.give_back(number));
    let executed = work(&mut ring, &mut buffers, &mut connections, until);
    // The kernel may write into the buffers until nothing is received any more.
    match ring.submitter().register_sync_cancel(None, CancelBuilder::any()) {
        Ok(()) => drop(buffers),
        Err(_) => std::mem::forget(buffers),
    }
    executed
}

fn work(ring: &mut IoUring, buffers: &mut Buffers, connections: &mut [BareConnection], until: Instant) -> Result<u64> {
    let request = |connection: &mut BareConnection, index: usize| {
        connection.next();
        let bytes = &connection.request;
        let entry = opcode::Send::new(Fixed(index as u32), bytes.as_ptr(), bytes.len() as u32).build();
        entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(index as u64)
    };
    for (index, connection) in connections.iter_mut().enumerate() {
        let receive = opcode::RecvMulti::new(Fixed(index as u32), 0).build();
        // SAFETY: a request lives and does not change until its reply has come.
        #[allow(unsafe_code)]
        unsafe {
            let mut queue = ring.submission();
            queue.push(&receive.user_data(index as u64))?;
            queue.push(&request(connection, index))?;
        }
    }
    let mut ready = Vec::with_capacity(connections.len());
    let mut executed = 0;
    while Instant::now() < until {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        for completion in ring.completion() {
            let number = cqueue::buffer_select(completion.flags()).filter(|_| cqueue::more(completion.flags()));
            let number = number.ok_or("a send failed, or a receive ended")?;
            let index = completion.user_data() as usize;
            match connections[index].read(buffers.filled(number, usize::try_from(completion.result())?)) {
                Reply::Part => {}
                end => {
                    executed += u64::from(end == Reply::Done);
                    ready.push(index);
                }
            }
            buffers.give_back(number);
        }
        for index in ready.drain(..) {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                ring.submission().push(&request(&mut connections[index], index))?;
            }
        }
    }
    Ok(executed)
}

/// The buffers that the kernel receives into, behind the ring through which it is given them.
struct Buffers {
    /// `count` entries, then `count` buffers.
    memory: NonNull<u8>,
    layout: Layout,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// Makes so many, a power of two.
    fn new(count: u16) -> Result<Self> {
        const PAGE_BYTES: usize = 4096;
        let bytes = usize::from(count) * (size_of::<BufRingEntry>() + STRIDE);
        let layout = Layout::from_size_align(bytes, PAGE_BYTES)?;
        // SAFETY: the layout is not empty.
        #[allow(unsafe_code)]
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        Ok(Self {
            memory,
            layout,
            count,
            tail: 0,
        })
    }

    /// Where buffer `number` begins.
    fn start(&self, number: u16) -> NonNull<u8> {
        let entries = usize::from(self.count) * size_of::<BufRingEntry>();
        // SAFETY: the memory holds all entries and all buffers.
        #[allow(unsafe_code)]
        unsafe {
            self.memory.add(entries + usize::from(number % self.count) * STRIDE)
        }
    }

    /// The first `length` bytes of buffer `number`, which the kernel has filled and not been given back.
    fn filled(&self, number: u16, length: usize) -> &[u8] {
        let start = self.start(number);
        // SAFETY: the memory was zeroed, is as long, and the kernel does not touch a buffer that it has handed over.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(start.as_ptr(), length.min(BUFFER_BYTES))
        }
    }

    /// Lets the kernel fill buffer `number` again.
    fn give_back(&mut self, number: u16) {
        let start = self.start(number);
        let entries = self.memory.cast::<BufRingEntry>();
        // SAFETY: the entry lies within the ring, as the number of entries is a power of two; the kernel reads it only
        // after the tail has passed it, which lies in a field of the first entry that nothing else uses.
        #[allow(unsafe_code)]
        unsafe {
            let entry = entries.add(usize::from(self.tail % self.count)).as_mut();
            entry.set_addr(start.as_ptr() as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(number);
            self.tail = self.tail.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(entries.as_ptr()).cast_mut()).store(self.tail, Ordering::Release);
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

//! The CPU's cache, asked for memory before it is needed.
//!
//! A thread with hundreds of clients finds what it keeps of one of them gone from the cache when its reply comes, and
//! each line is waited for by itself. Asked for together, they come at the same time.

/// Bytes that the cache takes in together.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// Has the cache take in the memory of a value; not what it points to. Without effect where nothing is known of how.
#[inline]
pub(crate) fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE_BYTES) {
            // SAFETY: this is a hint. It reads nothing and faults at no address (Intel's and AMD's manuals, PREFETCHh).
            #[allow(unsafe_code)]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

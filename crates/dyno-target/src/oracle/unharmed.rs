//! Calls into Oracle's crate, which may panic.
//!
//! To catch a panic is not enough. The crate holds a lock while it asks and reads, and a panic poisons that lock; what
//! is dropped on the way out (its statements) takes the lock again, finds it poisoned, and panics as well. Two panics
//! at once end the process, and with it everything that was measured. But a lock that is taken by a thread which is
//! unwinding already is not poisoned by another panic. So a call is made from there: a panic of our own, which shows
//! nothing, unwinds through a value that makes the call as it is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Makes a call. `None`: it panicked. What it worked on is of no further use then, and is best dropped by such a call,
/// too.
pub fn unharmed<T>(call: impl FnOnce() -> T) -> Option<T> {
    let mut done = None;
    let dropped = Dropped {
        call: Some(call),
        done: &mut done,
    };
    let _ = catch_unwind(AssertUnwindSafe(move || {
        let _dropped = dropped;
        resume_unwind(Box::new(()))
    }));
    done
}

/// Makes its call when it is dropped.
struct Dropped<'a, F: FnOnce() -> T, T> {
    call: Option<F>,
    done: &'a mut Option<T>,
}

impl<F: FnOnce() -> T, T> Drop for Dropped<'_, F, T> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            *self.done = catch_unwind(AssertUnwindSafe(call)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// As a statement of the crate: dropped, it takes the lock that its call has held.
    struct Returned(Arc<Mutex<u32>>);

    impl Drop for Returned {
        #[allow(clippy::unwrap_used, reason = "as the crate does")]
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }

    #[test]
    #[allow(clippy::panic, reason = "as the crate does")]
    fn a_panic_under_a_lock_that_is_taken_on_the_way_out_is_survived() {
        let lock = Arc::new(Mutex::new(0));
        let of = Arc::clone(&lock);
        let panicked = unharmed(move || {
            let returned = Returned(of);
            let _held = returned.0.lock();
            panic!("on purpose")
        });
        assert_eq!(panicked, None::<()>);
        assert!(!std::thread::panicking());
        assert_eq!(*lock.lock().unwrap(), 1);
    }

    #[test]
    fn what_a_call_gives_is_given_on() {
        assert_eq!(unharmed(|| 7), Some(7));
    }
}

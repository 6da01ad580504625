//! Ctrl-C and its like: the run ends early and what was measured is reported; then the process dies of the signal, so
//! that a shell's loop around it ends too. A second signal ends it without delay. (sysbench dies at once and says
//! nothing.)

use dyno_engine::{Stop, heeded};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Waits for signals.
pub struct Signals {
    stop: Stop,
    received: Arc<AtomicUsize>,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    /// The system refuses.
    pub fn take() -> io::Result<Self> {
        let stop = Stop::new();
        let received = Arc::new(AtomicUsize::new(0));
        for signal in heeded([SIGINT, SIGTERM]) {
            let flag: Arc<AtomicBool> = stop.flag();
            // In this order: the first signal finds the flag lowered.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))?;
            signal_hook::flag::register(signal, flag)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&received), signal as usize)?;
        }
        Ok(Self { stop, received })
    }

    /// Raised by a signal.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Dies of the signal that came, if one came.
    pub fn die_of_it(&self) {
        let signal = self.received.load(Ordering::Relaxed);
        if let Ok(signal @ 1..) = i32::try_from(signal) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

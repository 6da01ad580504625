//! Signals: those that are not meant for this process, and those that end a run.

use crate::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Ctrl-C and its like, for front ends that take the place of another program: a run ends early and what was measured
/// is reported; then the process dies of the signal, so that a shell's loop around it ends too. A second signal ends
/// it without delay.
#[derive(Debug)]
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
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether Ctrl-C came.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        i32::try_from(self.received.load(Ordering::Relaxed)) == Ok(SIGINT)
    }

    /// Dies of the signal that came, if one came.
    pub fn die_of_it(&self) {
        let signal = self.received.load(Ordering::Relaxed);
        if let Ok(signal @ 1..) = i32::try_from(signal) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Those of these signals that the process was not started to ignore: `nohup` has it outlive the terminal, and a
/// script's shell has its background jobs ignore Ctrl-C. A handler would undo that.
#[must_use]
pub fn heeded<const N: usize>(signals: [i32; N]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    signals.into_iter().filter(heeded).collect()
}

/// Linux shows what is ignored as the bits of a hexadecimal number; asking by `sigaction` would need unsafe code.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_ignored() {
        assert_eq!(
            ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001003\n"),
            0x1003
        );
        assert_eq!(ignored(""), 0);
    }
}

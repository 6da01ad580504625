//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second ends at once. Those that the process was started
//! to ignore stay ignored.

use crate::say;
use dyno_engine::{Stop, heeded};
use dyno_lab::run::Emergency;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;

/// From now on signals end a trial: the first by `stop`, the second at once, with exit code 2.
pub fn handle_trial(stop: &Stop) -> io::Result<()> {
    let first = "\nEnding: what the trial made on the server is removed first. Press Ctrl-C again to end at once.";
    heed(stop, Some(first), || {
        say::in_passing("\nEnding at once. What the trial made on the server stays until the next one begins.");
        std::process::exit(2);
    })
}

/// From now on signals end what measures nothing: the first by `stop`, the second by killing private servers and
/// leaving with exit code 1.
pub fn handle_unmeasured(stop: &Stop, emergency: &Emergency) -> io::Result<()> {
    let emergency = emergency.clone();
    heed(stop, None, move || {
        emergency.stop_now();
        std::process::exit(1);
    })
}

/// From now on signals end the campaign: the first by `stop`, the second by killing the embedded server and leaving
/// with exit code 2.
pub fn handle(stop: &Stop, emergency: &Emergency) -> io::Result<()> {
    let emergency = emergency.clone();
    let first = "\nEnding: what was measured is kept. Press Ctrl-C again to end at once.";
    heed(stop, Some(first), move || {
        emergency.stop_now();
        let changed = emergency.changed().into_iter().map(|restore| {
            format!(
                "\nThe server's settings are still changed. The original ones are in {}; dyno run --resume restores \
                 them, and so does the next dyno run on this server.",
                restore.display()
            )
        });
        let changed: String = changed.collect();
        say::in_passing(format!(
            "\nEnding at once. What was measured is in the archive, without a summary; dyno show creates one.{changed}"
        ));
        std::process::exit(2);
    })
}

/// Has the first signal raise `stop`, of which is said what `first` is, and another one do something `at_once`.
fn heed(stop: &Stop, first: Option<&'static str>, at_once: impl Fn() + Send + 'static) -> io::Result<()> {
    // A file that reaches the limit on its size is an error to be told of, not the death that the system would have
    // it be.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new(heeded([SIGINT, SIGTERM, SIGHUP]))?;
    let stop = stop.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if stop.requested() {
                at_once();
            }
            stop.request();
            if let Some(first) = first {
                say::in_passing(first);
            }
        }
    })?;
    Ok(())
}

//! Recordings made by hand: two minutes at one level, with a dip from 60 to 63 s.

use super::Server;
use crate::recording::Recording;
use crate::series::{Series, Signal, Window};
use dyno_archive::analysis::Cause;

/// The dip.
pub(crate) const DIP: Window = Window {
    start_s: 60.0,
    end_s: 63.0,
};

/// A recording of eight clients on two cores in which nothing is remarkable.
pub(crate) fn calm() -> Recording {
    let nothing = |usual: f64| signal(usual, usual);
    let mut tps = Series::default();
    for second in 0..120 {
        let window = second_from(second);
        tps.push(window, if DIP.overlap_s(window) > 0.0 { 100.0 } else { 1_000.0 });
    }
    Recording {
        measured: Window {
            start_s: 0.0,
            end_s: 120.0,
        },
        dips: vec![DIP],
        clients: 8.0,
        losing_clients: 8.0,
        threads: 2.0,
        cores: 2.0,
        words: dyno_archive::earlier::traits(&serde_json::Value::Null).words,
        tps,
        steal_share: nothing(0.01),
        idle_share: nothing(0.2),
        other_cores: nothing(0.1),
        dyno_cores: nothing(0.4),
        run_queue: nothing(0.2),
        disk_busy_share: nothing(0.2),
        disk_pressure: nothing(0.1),
        server_stopped: nothing(0.0),
        log_bytes: nothing(500_000.0),
        page_images: nothing(10.0),
        log_per_transaction: nothing(500.0),
        lock_waits: nothing(0.1),
        log_waits: nothing(1.0),
        data_waits: nothing(0.2),
        standby_waits: nothing(0.0),
        remote_waits: nothing(0.0),
        ..Recording::default()
    }
}

/// Why there was a dip on the only server of a run.
pub(crate) fn cause_of(recording: &Recording, dip: Window) -> (Cause, Vec<String>) {
    let server = Server {
        name: None,
        behind: None,
        recording,
    };
    super::cause_of(recording, &[server], dip)
}

/// A signal that is about `usual`, and `inside` during the dip.
pub(crate) fn signal(usual: f64, inside: f64) -> Option<Signal> {
    let mut series = Series::default();
    for second in 0..120 {
        let window = second_from(second);
        let noise = 1.0 + 0.02 * f64::from(second % 5 - 2);
        series.push(
            window,
            if DIP.overlap_s(window) > 0.0 {
                inside
            } else {
                usual * noise
            },
        );
    }
    Signal::new(series, &[DIP])
}

fn second_from(second: i32) -> Window {
    Window {
        start_s: f64::from(second),
        end_s: f64::from(second + 1),
    }
}

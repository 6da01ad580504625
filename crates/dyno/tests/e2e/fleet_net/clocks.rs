//! Clocks of other hosts: told late, begun at another time, of another speed.

use super::{LATE_S, Site, clock_ms, host, said, sleep_ms};
use crate::support::relay::{Delay, Relay};
use crate::support::wrong_clock::{Wrong, WrongClock};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Instant;

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

#[test]
fn what_is_told_late_is_told_of_the_right_time() {
    let Some(mut site) = Site::new::<2>("fleet_net_late") else {
        return;
    };
    // There and back as late, and late on the way there alone.
    for (host, name, there, back) in [
        (0, "b", Delay::ms(50, 10), Delay::ms(50, 10)),
        (1, "c", Delay::ms(60, 10), Delay::NONE),
    ] {
        let at = site.serve(host, &[], &[]);
        let relay = Relay::to(at, there, back);
        site.ssh.name(name, relay.address);
    }
    let ended = site.start("b,c,local", "3s").end().expect(0);
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("complete", 30)
    );
    site.assert_true();
    // All have the time of day of one machine, so what is archived of it is the error of the comparison.
    for name in ["b", "c", "local"] {
        let (error_ms, uncertainty_ms) = (
            clock_ms(&run, name, "time_of_day_us").abs(),
            clock_ms(&run, name, "uncertainty_us"),
        );
        assert!(
            error_ms <= uncertainty_ms + 10.0,
            "{name}: {error_ms} of {uncertainty_ms} ms"
        );
    }
    let (b, c) = (
        clock_ms(&run, "b", "time_of_day_us"),
        clock_ms(&run, "c", "time_of_day_us"),
    );
    let (of_b, of_c) = (
        clock_ms(&run, "b", "uncertainty_us"),
        clock_ms(&run, "c", "uncertainty_us"),
    );
    assert!(b.abs() < 20.0 && of_b >= 50.0, "{b} of {of_b} ms");
    // Half of what only one way takes cannot be told from a clock that is ahead.
    assert!(c > 15.0 && of_c >= 30.0, "{c} of {of_c} ms");
    for name in ["b", "c"] {
        assert!(
            said(&ended, &format!("Load host {name}: its clock")),
            "{}",
            ended.stderr
        );
    }
    // They began together as nearly as their clocks are known.
    let first_s = |name: &str| {
        let share = &host(&run, name)["shares"][0];
        let (first, clients) = (
            share["first_client"].as_u64().unwrap(),
            share["clients"].as_u64().unwrap(),
        );
        site.seen(first..first + clients)[0]
    };
    let (b_s, c_s, local_s) = (first_s("b"), first_s("c"), first_s("local"));
    println!("first rows at {b_s:.4}, {c_s:.4} and {local_s:.4} s; b {b:.2} of {of_b:.2}, c {c:.2} of {of_c:.2} ms");
    assert!((b_s - local_s).abs() < of_b / 1e3 + LATE_S && (c_s - local_s).abs() < of_c / 1e3 + LATE_S);
}

#[test]
fn clocks_that_began_at_another_time_change_nothing() {
    let Some(mut site) = Site::new::<2>("fleet_net_clocks") else {
        return;
    };
    let words = "unshare --time --monotonic 5000 --boottime 5000 --fork";
    let at = site.serve(0, &words.split(' ').collect::<Vec<_>>(), &[]);
    site.ssh.name("b", at);
    let ahead = WrongClock::new(Wrong {
        time_of_day_ns: 3_600_000_000_000,
        ..Wrong::default()
    });
    let at = site.serve(1, &[], &ahead.variables());
    site.ssh.name("c", at);
    site.start("b,c,local", "3s").end().expect(0);
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("complete", 30)
    );
    site.assert_true();
    assert!(
        clock_ms(&run, "b", "time_of_day_us").abs() < 100.0,
        "{}",
        host(&run, "b")
    );
    let ahead_ms = clock_ms(&run, "c", "time_of_day_us");
    assert!((ahead_ms - 3_600_000.0).abs() < 100.0, "{ahead_ms}");
    for name in ["b", "c"] {
        assert!(clock_ms(&run, name, "drift_us") < 50.0, "{}", host(&run, name));
    }
}

#[test]
fn clocks_that_drift_or_stand_still_are_told() {
    let Some(mut site) = Site::new::<2>("fleet_net_drift") else {
        return;
    };
    let fast = WrongClock::new(Wrong {
        drift_ppm: 20_000,
        ..Wrong::default()
    });
    let at = site.serve(0, &[], &fast.variables());
    site.ssh.name("b", at);
    let paused = WrongClock::new(Wrong::default());
    let at = site.serve(1, &[], &paused.variables());
    site.ssh.name("c", at);
    let running = site.driven("b,c,local", "5s");
    // As a virtual machine that somebody suspends for a while.
    let agent = site.hosts[1].agents()[0];
    signal(agent, Signal::STOP);
    let stopped = Instant::now();
    sleep_ms(1_500);
    paused.set(Wrong {
        monotonic_ns: -(stopped.elapsed().as_nanos() as i64),
        ..Wrong::default()
    });
    signal(agent, Signal::CONT);
    let ended = running.end().expect(0);
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("complete", 50)
    );
    site.assert_true();
    let drift_ms = clock_ms(&run, "b", "drift_us");
    assert!((50.0..300.0).contains(&drift_ms), "{drift_ms}");
    let drift_ms = clock_ms(&run, "c", "drift_us");
    assert!((1_400.0..1_900.0).contains(&drift_ms), "{drift_ms}");
    for name in ["b", "c"] {
        assert!(
            said(&ended, &format!("Load host {name}: its clock")),
            "{}",
            ended.stderr
        );
    }
    assert!(clock_ms(&run, "local", "drift_us") < 50.0, "{}", host(&run, "local"));
}

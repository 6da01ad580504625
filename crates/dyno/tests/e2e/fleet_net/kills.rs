//! kill -9 of the dyno that other hosts drive a load for.

use super::{Site, now_s, sleep_ms};
use crate::support::netns::Netns;
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[test]
fn nothing_is_left_anywhere_when_dyno_is_killed() {
    let Some(site) = Site::pair("fleet_net_kills") else {
        return;
    };
    let servers: Vec<_> = site.hosts.iter().map(Netns::processes).collect();
    let start = || site.start("b,local,c", "1500ms");
    start().end().expect(0);
    let began = Instant::now();
    start().end().expect(0);
    let takes = began.elapsed();
    let kills = std::env::var("DYNO_KILLS").map_or(10, |kills| kills.parse::<u32>().unwrap());
    // Multiples of the golden ratio, less what is whole, are spread evenly; where they begin is left to chance.
    let mut moment = now_s().fract();
    for kill in 0..kills {
        if kill % 3 == 0 {
            site.ssh.forget_copies();
        }
        moment = (moment + 0.618_034).fract();
        let running = start();
        std::thread::sleep(takes.mul_f64(moment));
        running.signal(Signal::KILL);
        drop(running);
        let killed_ms = takes.mul_f64(moment).as_millis();
        let patience = Instant::now() + Duration::from_secs(60);
        let mut left = site.left(&servers);
        while !left.is_empty() && Instant::now() < patience {
            sleep_ms(20);
            left = site.left(&servers);
        }
        assert!(
            left.is_empty(),
            "left when killed {killed_ms} ms after its start: {left:#?}"
        );
        let copies = site.ssh.copies();
        assert!(
            copies.len() <= 1 && copies.iter().all(|copy| copy.len() == 64),
            "{copies:?}"
        );
    }
    // What it left hinders nobody.
    start().end().expect(0);
}

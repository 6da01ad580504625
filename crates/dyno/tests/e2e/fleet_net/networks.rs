//! Networks that are cut: for a while, for good, or by a reset.

use super::{LATE_S, Site, clock_ms, host, now_s, sleep_ms};
use crate::support::relay::{Delay, Relay};
use crate::support::{Running, wait_for};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

#[test]
fn a_network_that_is_cut_for_three_seconds_costs_nothing() {
    let Some(site) = Site::pair("fleet_net_cut") else {
        return;
    };
    let running = site.driven("b,c,local", "6s");
    // One cable is pulled, of which its host knows; what another carries is lost on its way, of which nobody is told.
    site.hosts[0].cut();
    site.hosts[1].lose();
    for host in &site.hosts {
        let ssh = SocketAddr::new(host.inside(), 2_222);
        assert!(TcpStream::connect_timeout(&ssh, Duration::from_millis(500)).is_err());
    }
    sleep_ms(2_000);
    site.hosts[0].mend();
    site.hosts[1].find();
    running.end().expect(0);
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("complete", 60)
    );
    site.assert_true();
    // What was compared through the cut tells nothing of the clocks; it may be off by half of it.
    for name in ["b", "c"] {
        assert!(clock_ms(&run, name, "drift_us") < 200.0, "{}", host(&run, name));
    }
}

#[test]
fn a_cable_that_carries_the_load_as_well_leaves_a_hole_of_that_host_alone() {
    let Some(site) = Site::pair("fleet_net_all") else {
        return;
    };
    site.database.role("fleet_net_all", "secret");
    site.database.execute("grant all on seen to fleet_net_all");
    site.hosts[0].forward(site.database.port());
    let script = "insert into seen values (:client_id, clock_timestamp());";
    site.desk
        .experiment("seen.toml", "clients = 6\nthreads = 6\nrate = 240", script, "6s");
    let target = format!(
        "postgres://fleet_net_all:secret@{}:{}/{}",
        site.hosts[0].outside(),
        site.database.port(),
        site.database.name()
    );
    let mut command = site.desk.command_on(&target, ["seen.toml", "--hosts", "b,local"]);
    site.ssh.for_command(&mut command);
    let mut running = Running::start(command);
    running.until(" tps ");
    site.hosts[0].cut();
    let cut_s = now_s();
    sleep_ms(2_000);
    site.hosts[0].mend();
    running.end().expect(0);
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("complete", 60)
    );
    site.assert_true();
    let hole = (cut_s - site.began_s()) + LATE_S..(cut_s - site.began_s()) + 1.5;
    let within = |clients| site.seen(clients).iter().filter(|at_s| hole.contains(at_s)).count();
    let of_b = host(&run, "b")["shares"][0]["clients"].as_u64().unwrap();
    assert_eq!(within(0..of_b), 0);
    assert!(within(of_b..6) > 10);
}

#[test]
fn a_host_whose_cable_stays_out_is_given_up_and_ends() {
    let Some(site) = Site::pair("fleet_net_gone") else {
        return;
    };
    let running = site.driven("b,c", "14s");
    site.hosts[0].cut();
    let (cut, cut_s) = (Instant::now(), now_s());
    assert_eq!(site.hosts[0].agents().len(), 1);
    let ended = running.end().expect(2).says("load host b is missing from");
    ended.says("not heard of for 10 s").shows("(incomplete)");
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("incomplete", 140)
    );
    let from_s = host(&run, "b")["gap"]["from_s"].as_f64().unwrap();
    let cut_s = cut_s - site.began_s();
    assert!(
        (cut_s - 1.5..=cut_s + 0.2).contains(&from_s),
        "missing from {from_s} s, cut at {cut_s} s"
    );
    assert!(host(&run, "c")["gap"].is_null());
    site.assert_true();
    // Its agent has noticed by itself, soon after it was given up.
    wait_for("the end of its agent", || site.hosts[0].agents().is_empty());
    assert!(cut.elapsed() < Duration::from_secs(25), "{:?}", cut.elapsed());
    wait_for("the end of its sessions", || site.sessions().is_empty());
}

#[test]
fn a_control_connection_that_is_reset_loses_its_host_at_once() {
    let Some(mut site) = Site::new::<2>("fleet_net_reset") else {
        return;
    };
    let at = [site.serve(0, &[], &[]), site.serve(1, &[], &[])];
    let relay = Relay::to(at[0], Delay::NONE, Delay::NONE);
    site.ssh.name("b", relay.address);
    site.ssh.name("c", at[1]);
    let running = site.driven("b,c", "6s");
    relay.reset();
    let reset_s = now_s();
    // The database is still reached from there.
    wait_for("the end of its agent", || site.hosts[0].agents().is_empty());
    running
        .end()
        .expect(2)
        .says("load host b is missing from")
        .says("(it said: client_loop: ");
    let run = site.run();
    assert_eq!(
        (run.state().as_str(), run.rows("intervals.csv").len()),
        ("incomplete", 60)
    );
    let from_s = host(&run, "b")["gap"]["from_s"].as_f64().unwrap();
    let reset_s = reset_s - site.began_s();
    assert!(
        (reset_s - 1.5..=reset_s + 0.2).contains(&from_s),
        "missing from {from_s} s, reset at {reset_s} s"
    );
    site.assert_true();
    // Who was lost drives nothing any more.
    let of_b = host(&run, "b")["shares"][0]["clients"].as_u64().unwrap();
    let last_s = site.seen(0..of_b).last().copied().unwrap();
    assert!(
        last_s < reset_s + LATE_S,
        "reset at {reset_s} s, driven until {last_s} s"
    );
}

//! Load hosts that are reached by ssh: a server of OpenSSH's on a free port, with keys of its own. Without such a
//! server the cases say so and pass; `DYNO_REQUIRE_SSHD=1` turns its absence into a failure.

use crate::support::{Desk, Ended, Home, Ssh, is_alive, run_folders, wait_for};
use std::fs;
use std::net::TcpListener;

/// A server that has the names b and c.
fn server() -> Option<Ssh> {
    let mut ssh = Ssh::new()?;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    ssh.serve(&[], free, &[]);
    ssh.name("b c", free);
    Some(ssh)
}

/// `dyno run` with this ssh.
fn run(ssh: &Ssh, desk: &Desk, home: &Home, words: &str) -> Ended {
    let mut command = desk.command_embedded(home, words);
    ssh.for_command(&mut command);
    Ended::of(&mut command)
}

/// Whether any copy is executed.
fn is_used(ssh: &Ssh) -> bool {
    let all = fs::read_dir("/proc").unwrap();
    let mut all = all.filter_map(|item| item.ok()?.file_name().to_str()?.parse::<u32>().ok());
    all.any(|pid| {
        is_alive(pid) && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(ssh.cache()))
    })
}

#[test]
fn other_hosts_get_a_copy_and_drive_their_part() {
    let Some(ssh) = server() else { return };
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-select --set rows=1000 --set warmup=0s --set measure=1s --set clients=6 --hosts b,local,c";
    run(&ssh, &desk, &home, words).expect(0).shows("Load by host");
    let runs = run_folders(&desk.archive());
    let record = runs[0].record();
    let hosts = record["load_hosts"].as_array().unwrap();
    let places: Vec<_> = hosts.iter().map(|host| host["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["b", "local", "c"]);
    assert!(
        hosts.iter().all(|host| host["transactions"].as_u64().unwrap() > 0),
        "{hosts:?}"
    );
    let copies = ssh.copies();
    assert_eq!(copies.len(), 1, "{copies:?}");
    // It is used again.
    run(&ssh, &desk, &home, words).expect(0);
    assert_eq!(ssh.copies(), copies);
    wait_for("the end of the agents", || !is_used(&ssh));
}

#[test]
fn what_ssh_says_is_told() {
    let Some(ssh) = server() else { return };
    let (desk, home) = (Desk::new(), Home::new());
    let ended = run(&ssh, &desk, &home, "pk-select --hosts nobody@b").expect(1);
    ended
        .says("load host b: ssh to nobody@b failed")
        .says("Try: ssh nobody@b true");
    assert_eq!(run_folders(&desk.archive()).len(), 0);
}

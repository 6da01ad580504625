//! Load hosts that are reached by ssh: a server of OpenSSH's on a free port, with keys of its own. Without such a
//! server the cases say so and pass; `DYNO_REQUIRE_SSHD=1` turns its absence into a failure.

use crate::support::{Desk, Ended, Home, Running, Ssh, is_alive, run_folders, temporary, wait_for};
use rustix::process::Signal;
use std::fs;
use std::net::TcpListener;

/// A server that has the names b and c.
fn server() -> Option<Ssh> {
    let mut ssh = Ssh::new()?;
    serve(&mut ssh, "b c", &[]);
    Some(ssh)
}

/// Starts a server of this name, with these variables for whom logs in.
fn serve(ssh: &mut Ssh, name: &str, variables: &[(&str, String)]) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    ssh.serve(&[], free, variables);
    ssh.name(name, free);
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
    run(&ssh, &desk, &home, "pk-select --hosts stranger@b")
        .expect(1)
        .says("load host b: ssh to stranger@b failed")
        .says("). Try: ssh stranger@b true");
    // What fails there is not ssh, which has nothing to be tried.
    fs::remove_dir(ssh.cache()).unwrap();
    fs::write(ssh.cache(), "").unwrap();
    let ended = run(&ssh, &desk, &home, "pk-select --hosts b")
        .expect(1)
        .says("load host b: copying dyno failed on b: mkdir:")
        .says("Not a directory. It takes a shell there");
    assert!(!ended.stderr.contains("Try: ssh"), "{}", ended.stderr);
    assert_eq!(run_folders(&desk.archive()).len(), 0);
}

#[test]
fn text_of_start_up_files_is_told_from_an_answer() {
    let Some(mut ssh) = server() else { return };
    let (desk, home, theirs) = (Desk::new(), Home::new(), temporary("home-"));
    fs::write(theirs.path().join(".bashrc"), "echo Welcome to this host\n").unwrap();
    serve(&mut ssh, "polite", &[("HOME", theirs.path().display().to_string())]);
    run(&ssh, &desk, &home, "pk-select --hosts polite")
        .expect(1)
        .says("load host polite: the shell of polite prints text before what it executes (Welcome to this host)");
}

#[test]
fn a_copy_under_way_ends_when_dyno_is_told_to() {
    let Some(ssh) = server() else { return };
    let (desk, home) = (Desk::new(), Home::new());
    // A network that takes its time.
    ssh.before(&format!(
        "case \"$*\" in *'cat >'*) echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600;; esac",
        desk.path().join("copying").display()
    ));
    // As `kill` does, and as a terminal's keys do.
    for to_all in [false, true] {
        let mut command = desk.command_embedded(&home, "pk-select --hosts b");
        ssh.for_command(&mut command);
        let running = Running::start(command);
        let mut copying = None;
        wait_for("the copy", || {
            let pid = fs::read_to_string(desk.path().join("copying"));
            copying = pid.ok().map(|pid| pid.trim().parse::<u32>().unwrap());
            copying.is_some()
        });
        match to_all {
            false => running.signal(Signal::INT),
            true => running.signal_group(Signal::INT),
        }
        running.end().expect(1).says("stopped before anything was measured");
        assert!(!is_alive(copying.unwrap()));
        fs::remove_file(desk.path().join("copying")).unwrap();
    }
}

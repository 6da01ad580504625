//! Installing, starting, stopping, and what is left when somebody is killed.

use crate::support::holder::{self, Holder, helper, is_alive, wait_for};
use crate::support::{home, options, quiet};
use dyno_target::postgres::embedded::{Embedded, EmbeddedError, Progress};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// In a helper process: holds a running server until it is killed.
#[test]
fn helper_holds_a_server() {
    let Some((home, cluster)) = holder::asked() else {
        return;
    };
    let mut options = options(&cluster);
    options.home = home;
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    // Started from a thread that ends at once: the server must outlive it.
    let server = std::thread::scope(|scope| scope.spawn(|| embedded.start(&[], &mut quiet).unwrap()).join().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    assert!(!server.has_exited());
    println!("\nserver {}", server.pid());
    wait_for("being killed", || false);
}

#[test]
fn a_killed_dyno_leaves_nothing() {
    let mut holder = Holder::start("lifecycle::helper_holds_a_server", "tests-killed");
    let pid = holder.server_pid();
    assert!(is_alive(pid));

    // While it lives, others wait for it.
    let waiting = options("tests-killed");
    let mut waited_for = None;
    let error = Embedded::prepare(&waiting, &mut |step| {
        // Other tests may install at this moment, which is waited for too.
        if let Progress::Waiting { pid, folder } = step
            && folder.ends_with("tests-killed")
        {
            waited_for = pid;
            waiting.stop.store(true, Ordering::Relaxed);
        }
    })
    .unwrap_err();
    assert!(matches!(error, EmbeddedError::Stopped), "{error}");
    assert_eq!(waited_for, Some(holder.id()));

    holder.kill();
    wait_for("the end of the server", || !is_alive(pid));
    let embedded = Embedded::prepare(&options("tests-killed"), &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    server.connection("postgres").connect().unwrap();
    server.stop();
}

#[test]
fn a_server_left_behind_is_stopped() {
    let embedded = Embedded::prepare(&options("tests-stale"), &mut quiet).unwrap();
    let data = embedded.data_folder();
    let owner = fs::metadata(data).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // A server that nobody keeps, as if one had not followed its parent.
    let mut orphan = Command::new(home().join("postgresql").join(embedded.version()).join("bin/postgres"))
        .arg("-D")
        .arg(data)
        .args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
        .args(["-p", &port.to_string()])
        .current_dir("/")
        .uid(owner.uid())
        .gid(owner.gid())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid_file = data.join("postmaster.pid");
    wait_for("the orphan's start", || {
        fs::read_to_string(&pid_file).is_ok_and(|text| text.contains("ready"))
    });
    let mut steps = Vec::new();
    let server = embedded.start(&[], &mut |step| steps.push(step)).unwrap();
    assert_eq!(
        steps,
        [
            Progress::StoppingStale { pid: orphan.id() },
            Progress::Starting { product: "PostgreSQL" }
        ]
    );
    assert!(orphan.wait().unwrap().success());
    server.connection("postgres").connect().unwrap();
}

#[test]
fn starts_stops_and_notices_a_crash() {
    let embedded = Embedded::prepare(&options("tests-lifecycle"), &mut quiet).unwrap();
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());

    let error = embedded
        .start(&[setting("shared_buffers", "nonsense")], &mut quiet)
        .unwrap_err();
    assert!(matches!(error, EmbeddedError::Start { .. }));
    assert!(error.to_string().contains("shared_buffers"), "{error}");

    let server = embedded.start(&[setting("work_mem", "7MB")], &mut quiet).unwrap();
    let error = embedded.start(&[], &mut quiet).unwrap_err();
    assert!(matches!(error, EmbeddedError::Running { .. }), "{error}");
    let mut client = server.connection("postgres").connect().unwrap();
    let row = client.query_one("show work_mem", &[]).unwrap();
    assert_eq!(row.get::<_, &str>(0), "7MB");
    let row = client.query_one("show unix_socket_directories", &[]).unwrap();
    let sockets = PathBuf::from(row.get::<_, &str>(0));
    assert!(sockets.is_dir());
    let (pid, data) = (server.pid(), server.data_folder().to_owned());
    assert!(is_alive(pid) && !server.has_exited());
    server.stop();
    assert!(!is_alive(pid));
    assert!(!sockets.exists() && !data.join("postmaster.pid").exists());

    let server = embedded.start(&[], &mut quiet).unwrap();
    let log = server.log_path().to_owned();
    server.stop_now();
    assert!(fs::read_to_string(&log).unwrap().contains("immediate shutdown request"));

    let server = embedded.start(&[], &mut quiet).unwrap();
    assert!(fs::read_to_string(&log).unwrap().contains("automatic recovery"));
    let killed = Command::new("kill")
        .args(["-9", &server.pid().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    wait_for("noticing the crash", || server.has_exited());
    server.stop();
    let in_data = |pid: &String| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == data);
    let processes = fs::read_dir("/proc")
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        processes.filter(in_data).collect::<Vec<_>>(),
        [""; 0],
        "the killed server's children"
    );
    let server = embedded.start(&[], &mut quiet).unwrap();
    server.connection("postgres").connect().unwrap();
}

#[test]
fn redoes_what_was_interrupted_or_damaged() {
    let folder = tempfile::Builder::new()
        .prefix("dyno-home-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut options = options("main");
    // The installed programs as others left them, with one file cut short.
    let version = Embedded::prepare(&options, &mut quiet).unwrap().version().to_owned();
    let installed = home().join("postgresql").join(&version);
    let copy = folder.path().join("postgresql").join(&version);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(&installed)
        .arg(&copy)
        .status()
        .unwrap();
    assert!(copied.success());
    let program = fs::File::options().write(true).open(copy.join("bin/postgres")).unwrap();
    program.set_len(1000).unwrap();
    // An initialisation that did not finish.
    let half = folder.path().join(format!("clusters/{version}/main/data.new"));
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("PG_VERSION"), "18").unwrap();

    options.home = folder.path().to_owned();
    let mut steps = Vec::new();
    let embedded = Embedded::prepare(&options, &mut |step| steps.push(step)).unwrap();
    let found = "bin/postgres has 1000 bytes";
    let damaged = |step: &Progress| matches!(step, Progress::DamagedCache { what, .. } if what.contains(found));
    assert!(steps.iter().any(damaged), "{steps:?}");
    assert!(steps.contains(&Progress::Initialising), "{steps:?}");
    let data = half.canonicalize().unwrap_or(half);
    assert!(steps.contains(&Progress::HalfInitialised { data }), "{steps:?}");
    embedded
        .start(&[], &mut quiet)
        .unwrap()
        .connection("postgres")
        .connect()
        .unwrap();
}

/// In a helper process without network: prints why there is no server.
#[test]
fn helper_without_network() {
    let Some((home, _)) = holder::asked() else {
        return;
    };
    let mut options = options("main");
    options.home = home;
    println!("\nerror {}", Embedded::prepare(&options, &mut quiet).unwrap_err());
}

#[test]
fn says_what_to_do_without_network() {
    let folder = tempfile::Builder::new()
        .prefix("dyno-home-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = helper("lifecycle::helper_without_network", folder.path(), "main");
    // Nothing listens on the discard port.
    for proxy in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(proxy, "http://127.0.0.1:9");
    }
    let output = command.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("could not be fetched") && text.contains("--target"),
        "{text}"
    );
}

//! The cache of PostgreSQL's programs: missing, damaged, half there, and without a network.

use crate::support::{Desk, Ended, Home, programs};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A port on which nothing listens takes the network away from whoever honours proxies, as the fetching library does.
fn without_network(command: &mut Command) {
    for name in [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env(name, "http://127.0.0.1:9");
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy");
}

/// Starts a proxy that passes on what servers send in small pieces with pauses, and gives its address. Its threads
/// end with the test.
fn slow_proxy() -> SocketAddr {
    const PAUSE: Duration = Duration::from_millis(10);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = |mut client: TcpStream| -> io::Result<()> {
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") {
            client.read_exact(&mut byte)?;
            request.push(byte[0]);
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let mut server = TcpStream::connect(request.split(' ').nth(1).unwrap_or_default())?;
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        let (mut asked, mut asking) = (client.try_clone()?, server.try_clone()?);
        std::thread::spawn(move || io::copy(&mut asked, &mut asking));
        let mut piece = vec![0; 64 * 1024];
        loop {
            let count = server.read(&mut piece)?;
            if count == 0 {
                return client.shutdown(Shutdown::Both);
            }
            client.write_all(&piece[..count])?;
            std::thread::sleep(PAUSE);
        }
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || serve(client));
        }
    });
    address
}

/// A copy of the installed programs that may be damaged.
fn copy_programs(home: &Home) -> std::path::PathBuf {
    let copied = Command::new("cp")
        .arg("-a")
        .arg(programs())
        .arg(home.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let releases = fs::read_dir(home.path().join("postgresql")).unwrap();
    let mut folders = releases
        .map(|item| item.unwrap().path())
        .filter(|path| path.join("bin").is_dir());
    folders.next().unwrap()
}

fn cut(file: &Path) {
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_len(100)
        .unwrap();
}

#[test]
fn nothing_there_and_no_network() {
    let (desk, home) = (Desk::new(), Home::empty());
    let mut command = desk.command_embedded(&home, "pk-insert");
    without_network(&mut command);
    let ended = Ended::of(&mut command)
        .expect(1)
        .says("could not be fetched")
        .says("--target");
    // One line, however long it takes.
    let fetching = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("Fetching PostgreSQL"))
        .count();
    assert_eq!(fetching, 1, "{}", ended.stderr);
    assert!(!desk.archive().exists());
}

#[test]
fn damaged_and_no_network() {
    let (desk, home) = (Desk::new(), Home::empty());
    let folder = copy_programs(&home);
    // Other contents of the same size, as after a bad copy.
    let file = folder.join("bin/initdb");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let mut command = desk.command_embedded(&home, "pk-insert");
    without_network(&mut command);
    let ended = Ended::of(&mut command).expect(1);
    ended
        .says("the contents of bin/initdb changed")
        .says("could not be fetched");
    // Trying without network has not made it worse.
    assert!(folder.join("bin/initdb").exists());
}

#[test]
fn damaged_and_half_there_is_fetched_again() {
    let (desk, home) = (Desk::new(), Home::empty());
    let folder = copy_programs(&home);
    cut(&folder.join("bin/postgres"));
    let half = folder.parent().unwrap().join(".staging-left");
    fs::create_dir_all(half.join("fresh")).unwrap();
    fs::write(half.join("fresh/part"), "half an archive").unwrap();
    let words = "pk-insert --set warmup=0s --set measure=300ms";
    let mut command = desk.command_embedded(&home, words);
    // Behind a proxy already, the download takes as long as it takes; else it is slow enough to be watched.
    let watched = std::env::vars().all(|(name, _)| !name.to_ascii_lowercase().ends_with("_proxy"));
    if watched {
        command.env("HTTPS_PROXY", format!("http://{}", slow_proxy()));
    }
    let ended = Ended::of(&mut command)
        .expect(0)
        .says("bin/postgres has 100 bytes")
        .says("Fetching PostgreSQL");
    let amounts = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("Fetching") && line.ends_with(" MB"));
    assert!(!watched || amounts.count() >= 2, "{}", ended.stderr);
    ended.shows("(complete)");
    assert!(!half.exists());
    home.assert_no_server();
}

#[test]
fn a_home_that_cannot_be_used() {
    let desk = Desk::new();
    desk.file("no-home", "a file in the folder's place");
    desk.dyno("run pk-insert")
        .expect(1)
        .says("error: cannot create ")
        .says("no-home");
    if rustix::process::getuid().is_root() {
        let home = Home::empty();
        fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let ended = desk.embedded(&home, "pk-insert").expect(1).says("who may not enter");
        ended.says("set DYNO_HOME to a folder that others can enter");
    }
}

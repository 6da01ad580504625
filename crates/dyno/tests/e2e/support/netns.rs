//! Hosts that are network namespaces of this machine: each has a network of its own, a pair of virtual Ethernet devices
//! to this one, and shares everything else, the files and unix sockets among it.

use super::wait_for;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;

/// Such a host. Dropped, it ends with all its processes.
pub struct Netns {
    number: u8,
}

impl Netns {
    /// A new one; `None`, and a word why, where none can be made. `DYNO_REQUIRE_NETNS=1` turns that into a failure.
    pub fn new() -> Option<Self> {
        for number in 1..=u8::MAX {
            let host = Self { number };
            match ip(&format!("netns add {}", host.name())) {
                Ok(()) => {
                    host.connect();
                    return Some(host);
                }
                // Another test's.
                Err(said) if said.contains("File exists") => std::mem::forget(host),
                Err(said) => {
                    std::mem::forget(host);
                    assert!(std::env::var_os("DYNO_REQUIRE_NETNS").is_none(), "{said}");
                    eprintln!("not tested: no network namespace can be made: {said}");
                    return None;
                }
            }
        }
        panic!("all names of network namespaces are taken: remove those of dyno with ip netns del");
    }

    fn name(&self) -> String {
        format!("dyno-e2e-{}", self.number)
    }

    /// Connects it with this machine.
    fn connect(&self) {
        // The end here has the same name.
        let (name, device) = (self.name(), self.name());
        for words in [
            format!("link add {device} type veth peer name eth0 netns {name}"),
            format!("address add {}/30 dev {device}", self.outside()),
            format!("link set {device} up"),
            format!("-n {name} address add {}/30 dev eth0", self.inside()),
            format!("-n {name} link set eth0 up"),
            format!("-n {name} link set lo up"),
        ] {
            ip(&words).unwrap();
        }
    }

    /// Its address.
    pub fn inside(&self) -> IpAddr {
        Ipv4Addr::new(10, 231, self.number, 2).into()
    }

    /// The address of this machine as it sees it.
    pub fn outside(&self) -> IpAddr {
        Ipv4Addr::new(10, 231, self.number, 1).into()
    }

    /// What starts a program in it.
    pub fn launcher(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name()].map(str::to_owned).to_vec()
    }

    /// Pulls its cable.
    pub fn cut(&self) {
        ip(&format!("-n {} link set eth0 down", self.name())).unwrap();
    }

    /// Puts the cable back.
    pub fn mend(&self) {
        ip(&format!("-n {} link set eth0 up", self.name())).unwrap();
    }

    /// Loses whatever goes to and fro, as a switch does that is off, of which neither end is told: frames get an
    /// address that is nobody's.
    pub fn lose(&self) {
        for (prefix, device, to) in self.ends() {
            ip(&format!(
                "{prefix} neighbour replace {to} lladdr 02:00:00:00:00:01 dev {device} nud permanent"
            ))
            .unwrap();
        }
    }

    /// Ends that.
    pub fn find(&self) {
        for (prefix, device, to) in self.ends() {
            ip(&format!("{prefix} neighbour del {to} dev {device}")).unwrap();
        }
    }

    /// Both ends of the cable: where iproute2 finds it, the device, and the address of the other end.
    fn ends(&self) -> [(String, String, IpAddr); 2] {
        [
            (format!("-n {}", self.name()), "eth0".to_owned(), self.outside()),
            (String::new(), self.name(), self.inside()),
        ]
    }

    /// Makes a port of 127.0.0.1 reachable from it, at that port of [`Netns::outside`].
    pub fn forward(&self, port: u16) {
        let listener = TcpListener::bind((self.outside(), port)).unwrap();
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap());
                for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                    std::thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Write);
                    });
                }
            }
        });
    }

    /// Its processes.
    pub fn processes(&self) -> Vec<u32> {
        let output = Command::new("ip")
            .args(["netns", "pids", &self.name()])
            .output()
            .unwrap();
        let pids = String::from_utf8(output.stdout).unwrap();
        pids.lines().map(|pid| pid.trim().parse().unwrap()).collect()
    }

    /// Those of its processes that are agents.
    pub fn agents(&self) -> Vec<u32> {
        let is_agent = |pid: &u32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            command.split(|byte| *byte == 0).nth(1) == Some(b"agent")
        };
        self.processes().into_iter().filter(is_agent).collect()
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let pids = self.processes();
        let _ = Command::new("kill")
            .arg("-9")
            .args(pids.iter().map(u32::to_string))
            .output();
        if !std::thread::panicking() {
            wait_for("the end of its processes", || self.processes().is_empty());
        }
        let _ = ip(&format!("link del {}", self.name()));
        let _ = ip(&format!("netns del {}", self.name()));
    }
}

/// Runs iproute2.
fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split_whitespace()).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

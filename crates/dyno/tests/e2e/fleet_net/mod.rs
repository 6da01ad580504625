//! Loads that several hosts drive while networks and clocks misbehave. A host is a network namespace of this machine
//! with a server of OpenSSH's in it; the database, on a unix socket, is reached everywhere. Each transaction leaves
//! a row with its client and the time of day, and what the archive says of each host is held against these rows.
//!
//! Where no namespace can be made the cases say so and pass; `DYNO_REQUIRE_NETNS=1` turns that into a failure.

mod clocks;
mod kills;
mod networks;

use crate::support::netns::Netns;
use crate::support::{Database, Desk, Ended, RunFolder, Running, Ssh, database, processes_in, run_folders};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How late a thread may be here, where as many tests run as there are processors, without anybody's fault.
const LATE_S: f64 = 0.6;

/// Hosts, what reaches them, and what they work on.
struct Site {
    // Dropped in this order: sessions end before their hosts do.
    ssh: Ssh,
    hosts: Vec<Netns>,
    database: Database,
    desk: Desk,
}

impl Site {
    /// So many hosts, yet without servers of OpenSSH's.
    fn new<const HOSTS: usize>(name: &str) -> Option<Self> {
        let hosts = [(); HOSTS].map(|()| Netns::new());
        let site = Self {
            hosts: hosts.into_iter().collect::<Option<_>>()?,
            ssh: Ssh::new()?,
            database: database(name),
            desk: Desk::new(),
        };
        site.database
            .execute("create unlogged table seen (client int, at timestamptz)");
        Some(site)
    }

    /// The same with the names b and c for two hosts at which all is as it should be.
    fn pair(name: &str) -> Option<Self> {
        let mut site = Self::new::<2>(name)?;
        for (host, name) in ["b", "c"].into_iter().enumerate() {
            let at = site.serve(host, &[], &[]);
            site.ssh.name(name, at);
        }
        Some(site)
    }

    /// Starts a host's server, by this launcher within it, and gives its address.
    fn serve(&mut self, host: usize, launcher: &[&str], variables: &[(&str, String)]) -> SocketAddr {
        let host = &self.hosts[host];
        let at = SocketAddr::new(host.inside(), 2_222);
        let mut words = host.launcher();
        words.extend(launcher.iter().map(|word| (*word).to_owned()));
        self.ssh.serve(&words, at, variables);
        at
    }

    /// A run of so long on these hosts, under way.
    fn start(&self, hosts: &str, measure: &str) -> Running {
        let script = "insert into seen values (:client_id, clock_timestamp());";
        self.desk
            .experiment("seen.toml", "clients = 6\nthreads = 6\nrate = 240", script, measure);
        let words = ["seen.toml", "--hosts", hosts];
        let mut command = self.desk.command_on(&self.database.target(), words);
        self.ssh.for_command(&mut command);
        Running::start(command)
    }

    /// The same when its load is driven.
    fn driven(&self, hosts: &str, measure: &str) -> Running {
        let mut running = self.start(hosts, measure);
        running.until(" tps ");
        running
    }

    fn run(&self) -> RunFolder {
        let mut runs = run_folders(&self.desk.archive());
        assert_eq!(runs.len(), 1);
        runs.remove(0)
    }

    /// When rows of these clients came, in seconds since the load began.
    fn seen(&self, clients: std::ops::Range<u64>) -> Vec<f64> {
        let rows = self.database.connect().query(
            &format!(
                "select extract(epoch from at)::float8 from seen where client >= {} and client < {} order by at",
                clients.start, clients.end
            ),
            &[],
        );
        let began_s = self.began_s();
        rows.unwrap().iter().map(|row| row.get::<_, f64>(0) - began_s).collect()
    }

    /// When the load began, in seconds since 1970.
    fn began_s(&self) -> f64 {
        let began = self.run().record()["load_started"].as_str().unwrap().to_owned();
        let value = self
            .database
            .value(&format!("extract(epoch from '{began}'::timestamptz)"));
        value.parse().unwrap()
    }

    /// Holds what is archived of the whole, and of each host, against the rows.
    fn assert_true(&self) {
        let run = self.run();
        let count = |row: &std::collections::HashMap<String, String>| row["transactions"].parse::<usize>().unwrap();
        let mut whole = vec![0; run.rows("intervals.csv").len()];
        for host in run.record()["load_hosts"].as_array().unwrap() {
            let name = host["name"].as_str().unwrap();
            let told: Vec<usize> = run
                .rows(&format!("hosts/{name}/intervals.csv"))
                .iter()
                .map(count)
                .collect();
            let share = &host["shares"][0];
            let (first, clients) = (
                share["first_client"].as_u64().unwrap(),
                share["clients"].as_u64().unwrap(),
            );
            let seen = self.seen(first..first + clients);
            let total: usize = told.iter().sum();
            assert_eq!(host["transactions"].as_u64().unwrap() as usize, total, "{name}");
            if host["gap"].is_null() {
                assert_eq!(told.len(), whole.len(), "{name}");
                // What is under way at the end leaves a row and does not count.
                assert!(
                    (total..=total + clients as usize).contains(&seen.len()),
                    "{name}: {total}, {}",
                    seen.len()
                );
            }
            let known = &host["clock"];
            let off_s = (known["uncertainty_us"].as_f64().unwrap() + known["drift_us"].as_f64().unwrap()) / 1e6;
            let slack_s = LATE_S + off_s + host["late_us"].as_f64().unwrap() / 1e6;
            let until = |end_s: f64| seen.iter().filter(|at_s| **at_s < end_s).count();
            let mut sum = 0;
            for (place, count) in told.iter().enumerate() {
                whole[place] += count;
                sum += count;
                let end_s = (place + 1) as f64 * 0.1;
                // A row is there before its client knows of it, long before if the answer is under way in a cut.
                let least = until(end_s - slack_s).saturating_sub(clients as usize);
                let most = until(end_s + slack_s);
                assert!(
                    (least..=most).contains(&sum),
                    "{name} at {end_s} s: {sum}, {least} to {most}"
                );
            }
        }
        assert_eq!(run.rows("intervals.csv").iter().map(count).collect::<Vec<_>>(), whole);
        assert_eq!(run.measured(), run.summed_up());
    }

    /// The sessions of the database, by what they do.
    fn sessions(&self) -> Vec<String> {
        let rows = self.database.connect().query(
            "select coalesce(state, '') || ': ' || query from pg_stat_activity where datname = current_database() and \
             pid <> pg_backend_pid()",
            &[],
        );
        rows.unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// What there is beside the hosts' own processes: other processes of theirs, those of this machine that work on
    /// the desk (dyno, its agents, and each ssh), and sessions of the database.
    fn left(&self, own: &[Vec<u32>]) -> Vec<String> {
        let hosts = self.hosts.iter().zip(own);
        let there = hosts.flat_map(|(host, own)| host.processes().into_iter().filter(|pid| !own.contains(pid)));
        let processes = there.chain(processes_in(self.desk.path()));
        let command = |pid: u32| {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).replace('\0', " ")
        };
        processes.map(command).chain(self.sessions()).collect()
    }
}

/// What is archived of a host.
fn host(run: &RunFolder, name: &str) -> Value {
    let hosts = run.record()["load_hosts"].as_array().unwrap().clone();
    hosts.into_iter().find(|host| host["name"] == name).unwrap()
}

fn clock_ms(run: &RunFolder, name: &str, key: &str) -> f64 {
    host(run, name)["clock"][key].as_f64().unwrap() / 1e3
}

/// Whether the summary says this, wherever its lines are broken.
fn said(ended: &Ended, text: &str) -> bool {
    let words: Vec<_> = ended.stdout.split_whitespace().collect();
    words.join(" ").contains(text)
}

fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

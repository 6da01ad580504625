//! Agents that a Ray cluster starts: here its dashboard is a few answers to its Jobs API, which can be made to refuse,
//! and the job threads of this process. `fleet_ray` of dyno's own tests has a real cluster.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use dyno_engine::Stop;
use dyno_fleet::agent::serve;
use dyno_fleet::dial::Invitation;
use dyno_fleet::start::{Cluster, Ray, hosts};
use dyno_fleet::{Fleet, Patience};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a dashboard was asked, and what its job does.
#[derive(Default)]
struct Dashboard {
    asked: Mutex<Vec<String>>,
    status: Mutex<&'static str>,
    package: Mutex<Vec<u8>>,
    /// It wants this token.
    token: Option<&'static str>,
    /// It answers this to whatever it is asked.
    only: Option<(u16, &'static str)>,
    /// Its jobs end without having done anything.
    fails: bool,
}

impl Dashboard {
    /// Answers at a port, as long as the test lives.
    fn open(self) -> (Arc<Self>, String) {
        let (dashboard, listener) = (Arc::new(self), TcpListener::bind("127.0.0.1:0").unwrap());
        let address = format!("http://{}", listener.local_addr().unwrap());
        let it = Arc::clone(&dashboard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let line = |reader: &mut BufReader<_>| {
                    let mut line = String::new();
                    BufRead::read_line(reader, &mut line).unwrap();
                    line.trim_end().to_owned()
                };
                let request = line(&mut reader);
                // Somebody only wanted to know by which way it is reached.
                if request.is_empty() {
                    continue;
                }
                let (mut length, mut bearer) = (0, None);
                loop {
                    let header = line(&mut reader);
                    match header.to_lowercase().split_once(": ") {
                        Some(("content-length", number)) => length = number.parse().unwrap(),
                        Some(("authorization", _)) => bearer = header.split(' ').nth(2).map(str::to_owned),
                        Some(_) => {}
                        None => break,
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let (status, answer) = match it.token {
                    Some(token) if bearer.as_deref() != Some(token) => (401, "no".to_owned()),
                    _ => it.answer(&request, &body),
                };
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                    answer.len()
                );
                let _ = reader.into_inner().write_all(answer.as_bytes());
            }
        });
        (dashboard, address)
    }

    fn answer(self: &Arc<Self>, request: &str, body: &[u8]) -> (u16, String) {
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        self.asked.lock().unwrap().push(format!("{method} {path}"));
        if let Some((status, text)) = self.only {
            return (status, text.to_owned());
        }
        let ok = |value: Value| (200, value.to_string());
        match (method, path) {
            ("GET", "/api/version") => ok(json!({ "ray_version": "2.60.0" })),
            ("GET", "/nodes?view=summary") => {
                let node =
                    |state: &str, cpus: f64| json!({ "raylet": { "state": state, "resourcesTotal": { "CPU": cpus } } });
                ok(json!({ "data": { "summary": [node("ALIVE", 2.0), node("DEAD", 2.0), node("ALIVE", 0.0)] } }))
            }
            ("GET", path) if path.starts_with("/api/packages/gcs/_ray_pkg_") => {
                match self.package.lock().unwrap().is_empty() {
                    true => (404, String::new()),
                    false => ok(json!({})),
                }
            }
            ("PUT", path) if path.starts_with("/api/packages/gcs/_ray_pkg_") => {
                *self.package.lock().unwrap() = body.to_vec();
                ok(json!({}))
            }
            ("POST", "/api/jobs/") => {
                let job: Value = serde_json::from_slice(body).unwrap();
                *self.status.lock().unwrap() = "RUNNING";
                let it = Arc::clone(self);
                std::thread::spawn(move || it.run(&job));
                ok(json!({}))
            }
            ("GET", path) if path.ends_with("/logs") => ok(json!({ "logs": "one\nno more room\n" })),
            ("GET", path) if path.starts_with("/api/jobs/dyno-") => {
                ok(json!({ "status": *self.status.lock().unwrap() }))
            }
            ("POST", path) if path.ends_with("/stop") => {
                *self.status.lock().unwrap() = "STOPPED";
                ok(json!({ "stopped": true }))
            }
            _ => (500, "unknown".to_owned()),
        }
    }

    /// What the job does: as agents.py.
    fn run(&self, job: &Value) {
        if self.fails {
            *self.status.lock().unwrap() = "FAILED";
            return;
        }
        let invitations = job["runtime_env"]["env_vars"]["DYNO_INVITATIONS"].as_str().unwrap();
        let agents: Vec<_> = invitations
            .lines()
            .map(|line| line.parse::<Invitation>().unwrap())
            .map(|invitation| {
                std::thread::spawn(move || {
                    let channel = invitation.accept().unwrap();
                    serve(channel.output, channel.input, || ())
                })
            })
            .collect();
        agents.into_iter().for_each(|agent| agent.join().unwrap().unwrap());
        *self.status.lock().unwrap() = "SUCCEEDED";
    }

    fn asked(&self, what: &str) -> usize {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .filter(|asked| asked.contains(what))
            .count()
    }
}

fn program() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"a program").unwrap();
    file
}

fn start(address: &str, token: Option<&'static str>, agents: usize, stop: &Stop) -> Result<Fleet, String> {
    let environment = |name: &str| token.filter(|_| name == "RAY_AUTH_TOKEN").map(str::to_owned);
    let ray = Ray {
        cluster: Cluster::new(address, &environment).unwrap(),
        listen: None,
    };
    let program = program();
    let hosts = hosts(vec!["ray"; agents]).unwrap();
    Fleet::start(&hosts, program.path(), Some(&ray), Patience::default(), stop).map_err(|error| error.to_string())
}

#[test]
fn agents_come_and_their_job_ends_with_them() {
    let (dashboard, address) = Dashboard::default().open();
    let fleet = start(&address, None, 3, &Stop::new()).unwrap();
    let names: Vec<_> = fleet.hellos().map(|(host, _)| host.name.clone()).collect();
    assert_eq!(names, ["ray-1", "ray-2", "ray-3"]);
    drop(fleet);
    assert_eq!(*dashboard.status.lock().unwrap(), "SUCCEEDED");
    assert_eq!((dashboard.asked("PUT "), dashboard.asked("/stop")), (1, 0));
    // The program is there already.
    drop(start(&address, None, 1, &Stop::new()).unwrap());
    assert_eq!(dashboard.asked("PUT "), 1);
}

#[test]
fn nodes_that_are_up_and_have_a_cpu_are_counted() {
    let (_dashboard, address) = Dashboard::default().open();
    assert_eq!(Cluster::new(&address, &|_| None).unwrap().nodes().unwrap(), 1);
}

#[test]
fn a_cluster_with_a_token_wants_it() {
    let dashboard = Dashboard {
        token: Some("right"),
        ..Dashboard::default()
    };
    let (_dashboard, address) = dashboard.open();
    let refused = start(&address, None, 1, &Stop::new()).err().unwrap();
    assert!(
        refused.contains("401") && refused.contains("RAY_AUTH_TOKEN"),
        "{refused}"
    );
    start(&address, Some("right"), 1, &Stop::new()).unwrap();
}

#[test]
fn a_job_that_fails_is_told_with_its_log() {
    let dashboard = Dashboard {
        fails: true,
        ..Dashboard::default()
    };
    let (_dashboard, address) = dashboard.open();
    let refused = start(&address, None, 2, &Stop::new()).err().unwrap();
    assert!(
        refused.contains("FAILED") && refused.contains("no more room"),
        "{refused}"
    );
}

#[test]
fn whatever_is_no_dashboard_is_told() {
    for (only, expected) in [
        ((200, "{}"), "is no Ray dashboard"),
        ((200, "<html>"), "is no Ray dashboard"),
        ((404, ""), "404"),
        ((503, "busy"), "503"),
    ] {
        let dashboard = Dashboard {
            only: Some(only),
            ..Dashboard::default()
        };
        let refused = start(&dashboard.open().1, None, 1, &Stop::new()).err().unwrap();
        assert!(refused.contains(expected), "{refused}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = start(&format!("http://{closed}"), None, 1, &Stop::new()).err().unwrap();
    assert!(refused.contains("cannot be reached"), "{refused}");
}

#[test]
fn asked_to_stop_it_waits_no_longer() {
    let (dashboard, address) = Dashboard::default().open();
    let stop = Stop::new();
    stop.request();
    let begun = Instant::now();
    assert_eq!(start(&address, None, 1, &stop).err().unwrap(), "stopped on request");
    assert!(begun.elapsed() < Duration::from_secs(5));
    drop(dashboard);
}

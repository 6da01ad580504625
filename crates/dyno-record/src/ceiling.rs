//! What a ceiling is made of, and which of its points is like a run.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// What the load generator does at most on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The machine, as far as it matters.
    pub machine: Machine,
    /// What was measured, each shape once for each transport.
    pub points: Vec<Point>,
}

/// What a ceiling depends on. With another kernel or another dyno it is to be measured again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel name, release and build.
    pub kernel: Option<String>,
    /// Model of the first processor.
    pub cpu_model: Option<String>,
    /// Cores that dyno may use.
    pub cores: u64,
    /// The dyno that measured.
    pub dyno_version: String,
}

/// How clients connect to a server on the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Over a unix socket.
    Unix,
    /// Over TCP.
    Tcp,
}

/// How a load is made: what its ceiling depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// How clients connect.
    pub route: Route,
    /// Number of connections.
    pub clients: usize,
    /// Number of threads that share them.
    pub threads: usize,
}

/// What was measured of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// How the load was made.
    #[serde(flatten)]
    pub shape: Shape,
    /// How dyno's threads moved bytes, such as `io_uring`.
    pub transport: String,
    /// When.
    pub measured: jiff::Timestamp,
    /// How long was measured, in seconds.
    pub measured_s: f64,
    /// Transactions of one statement per second.
    pub tps: f64,
    /// Transactions for each second of CPU time that the client used: what one core does at most.
    pub tps_per_core: f64,
    /// CPU time of the client in user space per transaction, in microseconds.
    pub client_user_us: f64,
    /// CPU time of the client in the kernel per transaction, in microseconds.
    pub client_system_us: f64,
    /// CPU time of the responder per transaction, in microseconds.
    pub responder_us: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latency in microseconds.
    pub p99_us: f64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        let (clients, threads) = (counted(self.clients, "client"), counted(self.threads, "thread"));
        write!(f, "{}, {clients}, {threads}", self.route)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        })
    }
}

impl Ceiling {
    /// The point that is most like a load of this shape with this transport: by the same route, with the same
    /// transport if there is one, then with as near a number of threads as there is, and among those of clients. None
    /// with half as many clients or threads counts: each client waits for its answers, so more of them can do more.
    #[must_use]
    pub fn nearest(&self, shape: Shape, transport: &str) -> Option<&Point> {
        let distance = |one: usize, other: usize| (one.max(1) as f64 / other.max(1) as f64).ln().abs();
        let can_do_as_much = |point: &&Point| {
            let point = point.shape;
            point.route == shape.route && 2 * point.clients > shape.clients && 2 * point.threads > shape.threads
        };
        self.points.iter().filter(can_do_as_much).min_by(|one, other| {
            let far = |point: &Point| {
                let threads = distance(point.shape.threads, shape.threads);
                let clients = distance(point.shape.clients, shape.clients);
                [f64::from(point.transport != transport), threads, clients]
            };
            far(one).partial_cmp(&far(other)).unwrap_or(Ordering::Equal)
        })
    }

    /// Takes a point in, in place of an earlier one of the same shape and transport.
    pub fn take(&mut self, point: Point) {
        let same = |known: &&mut Point| known.shape == point.shape && known.transport == point.transport;
        match self.points.iter_mut().find(same) {
            Some(known) => *known = point,
            None => self.points.push(point),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(route: Route, clients: usize, threads: usize) -> Point {
        Point {
            shape: Shape {
                route,
                clients,
                threads,
            },
            transport: "epoll".to_owned(),
            measured: jiff::Timestamp::UNIX_EPOCH,
            measured_s: 2.0,
            tps: 200_000.0,
            tps_per_core: 250_000.0,
            client_user_us: 0.5,
            client_system_us: 3.5,
            responder_us: 4.0,
            p50_us: 60.0,
            p99_us: 120.0,
        }
    }

    fn machine() -> Machine {
        Machine {
            hostname: Some("here".to_owned()),
            kernel: None,
            cpu_model: None,
            cores: 2,
            dyno_version: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn the_nearest_point_has_the_route_then_the_threads_then_the_clients() {
        let mut ceiling = Ceiling {
            machine: machine(),
            points: Vec::new(),
        };
        for (route, clients, threads) in [
            (Route::Tcp, 16, 1),
            (Route::Unix, 16, 1),
            (Route::Unix, 256, 1),
            (Route::Unix, 256, 4),
        ] {
            ceiling.take(point(route, clients, threads));
        }
        let nearest = |route, clients, threads| {
            let shape = Shape {
                route,
                clients,
                threads,
            };
            ceiling
                .nearest(shape, "epoll")
                .map(|point| (point.shape.clients, point.shape.threads))
        };
        assert_eq!(nearest(Route::Unix, 20, 1), Some((16, 1)));
        assert_eq!(nearest(Route::Unix, 16, 3), Some((256, 4)));
        assert_eq!(nearest(Route::Unix, 20, 8), None);
        assert_eq!(nearest(Route::Unix, 100, 1), Some((256, 1)));
        assert_eq!(
            (nearest(Route::Tcp, 31, 1), nearest(Route::Tcp, 32, 1)),
            (Some((16, 1)), None)
        );
        let other = Point {
            transport: "io_uring".to_owned(),
            ..point(Route::Unix, 1, 1)
        };
        ceiling.take(other.clone());
        let shape = |clients| point(Route::Unix, clients, 1).shape;
        assert_eq!(ceiling.nearest(shape(1), "io_uring"), Some(&other));
        assert_eq!(
            ceiling.nearest(shape(2), "io_uring").map(|point| point.shape.clients),
            Some(16)
        );
    }

    #[test]
    fn a_shape_measured_again_is_kept_once() {
        let mut ceiling = Ceiling {
            machine: machine(),
            points: Vec::new(),
        };
        ceiling.take(point(Route::Unix, 16, 1));
        let again = Point {
            tps: 1.0,
            ..point(Route::Unix, 16, 1)
        };
        ceiling.take(again.clone());
        assert_eq!(ceiling.points, [again]);
    }
}

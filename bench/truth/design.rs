//! Which loads are looked at: not all that there are, but each level of what makes a load different with each level
//! of everything else.

use std::collections::HashSet;
use std::fmt;

/// What drives the load, and at what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The engine as a library, at a scripted server of known delays.
    Engine,
    /// `dyno run --target`, over the unix socket or TCP.
    Run { tcp: bool },
    /// `dyno run` with its own server.
    Embedded,
    /// `dyno pgbench`.
    Pgbench { tcp: bool },
}

const PATHS: [Path; 6] = [
    Path::Engine,
    Path::Run { tcp: false },
    Path::Run { tcp: true },
    Path::Embedded,
    Path::Pgbench { tcp: false },
    Path::Pgbench { tcp: true },
];
const TRANSPORTS: [&str; 3] = ["auto", "epoll", "io_uring"];
/// Whether it is an open loop, clients, and threads: one factor, so that everything else meets each number of
/// clients in each loop.
const LOADS: [(bool, usize, usize); 10] = [
    (false, 1, 1),
    (false, 2, 2),
    (false, 16, 1),
    (false, 16, 2),
    (false, 300, 2),
    (true, 1, 1),
    (true, 2, 2),
    (true, 16, 1),
    (true, 16, 2),
    (true, 300, 2),
];
const INTERVALS_MS: [u64; 4] = [10, 100, 1_000, 5_000];
const SAMPLED: [bool; 2] = [false, true];

/// One load.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub path: Path,
    pub transport: &'static str,
    pub open: bool,
    pub clients: usize,
    pub threads: usize,
    pub interval_ms: u64,
    /// Whether server and host are sampled; with pgbench, whether the run is archived.
    pub sampled: bool,
}

impl Case {
    /// How much slower its server is than one for up to 8 clients, so that more of them do not ask for more than a
    /// machine can do.
    pub fn slowness(&self) -> u32 {
        (self.clients as u32 / 8).max(1)
    }

    fn is_possible(&self) -> bool {
        match self.path {
            Path::Engine => !self.sampled,
            // Its intervals are those of its progress lines, in whole seconds; 5 s stands for none.
            Path::Pgbench { .. } => self.interval_ms >= 1_000,
            Path::Run { .. } | Path::Embedded => true,
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.path {
            Path::Engine => "engine",
            Path::Run { tcp: false } => "run unix",
            Path::Run { tcp: true } => "run tcp",
            Path::Embedded => "run embedded",
            Path::Pgbench { tcp: false } => "pgbench unix",
            Path::Pgbench { tcp: true } => "pgbench tcp",
        };
        write!(
            f,
            "{path}, {}, {} loop, {} clients, {} threads, {} ms{}",
            self.transport,
            if self.open { "open" } else { "closed" },
            self.clients,
            self.threads,
            self.interval_ms,
            if self.sampled { ", sampled" } else { "" }
        )
    }
}

type Levels = [usize; 5];

/// The pairs of levels that come together in a case, each with the numbers of its factors.
fn pairs(levels: Levels) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    (0..levels.len()).flat_map(move |one| (0..one).map(move |other| (one, levels[one], other, levels[other])))
}

fn case([path, transport, load, interval, sampled]: Levels) -> Case {
    let (open, clients, threads) = LOADS[load];
    Case {
        path: PATHS[path],
        transport: TRANSPORTS[transport],
        open,
        clients,
        threads,
        interval_ms: INTERVALS_MS[interval],
        sampled: SAMPLED[sampled],
    }
}

/// Few cases in which every possible pair of levels occurs: always the one with the most pairs that have not
/// occurred yet, the first of several.
pub fn cases() -> Vec<Case> {
    let counts = [
        PATHS.len(),
        TRANSPORTS.len(),
        LOADS.len(),
        INTERVALS_MS.len(),
        SAMPLED.len(),
    ];
    let every = (0..counts.iter().product()).map(|number: usize| {
        let mut rest = number;
        counts.map(|count| {
            let level = rest % count;
            rest /= count;
            level
        })
    });
    let possible: Vec<Levels> = every.filter(|levels| case(*levels).is_possible()).collect();
    let mut left: HashSet<_> = possible.iter().copied().flat_map(pairs).collect();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let new = |levels: &Levels| pairs(*levels).filter(|pair| left.contains(pair)).count();
        let Some(best) = possible.iter().copied().rev().max_by_key(new) else {
            break;
        };
        left.retain(|pair| !pairs(best).any(|other| other == *pair));
        chosen.push(case(best));
    }
    chosen
}

//! All random states of a run, drawn from one seed.

use crate::random::Random;

/// The random states of a run, in pgbench 15's draw order: every client's, then the hash seed, then each thread's
/// three. So `--random-seed` gives every client the values that pgbench would give it.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// One state for each client's scripts.
    pub clients: Vec<Random>,
    /// The value for the variable `default_seed`, or `None` when the caller said that it is given.
    pub default_seed: Option<i64>,
    /// One set for each thread.
    pub threads: Vec<ThreadSeeds>,
}

/// The random states of a thread.
#[derive(Clone, Debug)]
pub struct ThreadSeeds {
    /// Chooses among several scripts by weight.
    pub choose: Random,
    /// Draws the gaps of a rate-limited schedule.
    pub throttle: Random,
    /// Chooses the transactions to log when only a sample is wanted.
    pub sample: Random,
}

impl Seeds {
    /// Draws the states for a number of clients and threads. `default_seed_given` says that the user has set the
    /// variable `default_seed`: then, as in pgbench, none is drawn.
    pub fn draw(seed: u64, clients: usize, threads: usize, default_seed_given: bool) -> Seeds {
        let mut base = Random::new(seed);
        let state = |base: &mut Random| Random::new(base.bits());
        let clients = (0..clients).map(|_| state(&mut base)).collect();
        let default_seed = (!default_seed_given).then(|| base.bits() as i64);
        let threads = (0..threads)
            .map(|_| ThreadSeeds {
                choose: state(&mut base),
                throttle: state(&mut base),
                sample: state(&mut base),
            })
            .collect();
        Seeds {
            clients,
            default_seed,
            threads,
        }
    }
}

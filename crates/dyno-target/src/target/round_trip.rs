//! How long a question that the server need not work for takes, as a finding.

use dyno_record::{Finding, Topic};
use std::time::{Duration, Instant};

/// How often it is asked: what disturbs one of them does not count.
const TIMES: usize = 21;

/// Asks again and again, and takes the one in the middle.
///
/// # Errors
/// What `ask` fails with.
pub fn round_trip<E>(mut ask: impl FnMut() -> Result<(), E>) -> Result<Finding, E> {
    let mut taken = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begun = Instant::now();
        ask()?;
        taken.push(begun.elapsed());
    }
    taken.sort_unstable();
    Ok(finding(taken[TIMES / 2]))
}

fn finding(middle: Duration) -> Finding {
    let ms = middle.as_secs_f64() * 1e3;
    // What a client waits for, statement by statement; dyno's own clients are quicker than this connection.
    let found = format!("about {ms:.2} ms for a statement without work: a client waits as long for each of its own");
    Finding::ok(Topic::Server, "round trip", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_one_in_the_middle_counts() {
        let said = finding(Duration::from_micros(120)).found;
        assert!(said.starts_with("about 0.12 ms"), "{said}");
        let asked = Cell::new(0);
        let count = || {
            asked.set(asked.get() + 1);
            Ok::<(), ()>(())
        };
        round_trip(count).unwrap();
        assert_eq!(asked.get(), TIMES);
        assert_eq!(round_trip(|| Err("lost")).unwrap_err(), "lost");
    }
}

//! The threads' random states are those of pgbench 15.18: which script a thread chooses, and which transactions it
//! would log. What pgbench did was recorded by `tests/pgbench/compare.py record`.
#![allow(clippy::unwrap_used)]

use dyno_script::Seeds;

#[test]
fn threads_choose_and_sample_as_in_pgbench() {
    let recorded = include_str!("pgbench/threads.txt");
    let mut compared = 0;
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let [seed, clients, thread, scripts, logged] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let clients: usize = clients.parse().unwrap();
        let mut seeds = Seeds::draw(seed.parse().unwrap(), clients, clients, false);
        let states = &mut seeds.threads[thread.parse::<usize>().unwrap()];

        // Weights 1, 2 and 3.
        let chosen: String = (0..40)
            .map(|_| ["0", "1", "1", "2", "2", "2"][states.choose.uniform(0, 5) as usize])
            .collect();
        assert_eq!(chosen, scripts, "{line}");

        let sampled: Vec<String> = (1..=40)
            .filter(|_| states.sample.unit() <= 0.4)
            .map(|number: i32| number.to_string())
            .collect();
        assert_eq!(sampled.join(","), logged, "{line}");
        compared += 1;
    }
    assert_eq!(compared, 6);
}

#[test]
fn a_given_default_seed_is_not_drawn() {
    let drawn = Seeds::draw(5, 2, 1, false);
    let given = Seeds::draw(5, 2, 1, true);
    assert_eq!(drawn.clients, given.clients);
    assert!(drawn.default_seed.is_some() && given.default_seed.is_none());
    assert_ne!(drawn.threads[0].choose, given.threads[0].choose);
}

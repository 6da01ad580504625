//! Runs, their reports, logs and rows.

use crate::case::What::Stderr;
use crate::case::{Case, case, compare_all};

/// Brings the tables back to how they were made.
const RESET: &str = "truncate pgbench_history; update pgbench_accounts set abalance = 0 where abalance <> 0; \
     update pgbench_tellers set tbalance = 0 where tbalance <> 0; update pgbench_branches set bbalance = 0 where \
                     bbalance <> 0";

/// What transactions leave, in no order.
const HISTORY: &str = "select tid, bid, aid, delta from pgbench_history order by 1, 2, 3, 4";

fn seeded(words: &str) -> Case {
    case(&format!("--random-seed=42 {words}")).before(RESET).rows(HISTORY)
}

#[test]
fn builtins() {
    let protocols = ["simple", "extended", "prepared"];
    let mut cases = vec![
        seeded("-t 10"),
        seeded("-n -t 10"),
        seeded("-v -t 1"),
        seeded("-n -N -t 10"),
        seeded("-n -S -t 10"),
        seeded("-n -b simple-update -t 3"),
        seeded("-n -b se -t 3"),
        seeded("-n -b tp@1 -b si@3 -b se@2 -t 20").unordered(),
        seeded("-n -b se@0 -N -t 5"),
        seeded("-n -S -N -t 10"),
        seeded("-n -N -N -t 4"),
        seeded("-n -c 3 -t 5"),
        seeded("-n -c 4 -j 2 -t 5"),
        seeded("-n -c 5 -j 3 -t 4"),
        seeded("-n -c 2 -j 8 -t 3"),
        seeded("-n -c 3 -j 3 -t 3 -b tp -b si@2"),
        seeded("-n -C -t 5"),
        seeded("-n -C -c 2 -j 2 -t 3"),
        seeded("-n -s 7 -t 1"),
        seeded("-n -D aid=3 -t 3"),
        seeded("-n -D scale=1 -t 3"),
        seeded("-n -r -t 3"),
        seeded("-n -r -S -N -t 3"),
        seeded("-n -r -t 3 -M prepared"),
        seeded("-n -r -C -t 2"),
        seeded("-n -L 10000 -t 5"),
        seeded("-n -R 1000 -t 5"),
        seeded("-n -R 1000 -L 10000 -t 5"),
        seeded("-n -R 1000 -L 10000 -S -N -t 5 -r"),
        seeded("-n -P 5 -t 5"),
        seeded("-n --failures-detailed -t 2"),
        seeded("-n --max-tries=3 -t 2"),
        seeded("-n --max-tries=3 --failures-detailed -S -N -r -t 2"),
        seeded("-n --max-tries=0 -L 10000 -t 2"),
        seeded("-n --verbose-errors -t 2"),
        seeded("-n --random-seed=7 -t 5"),
        seeded("-n -t 0x10"),
    ];
    for protocol in protocols {
        cases.push(seeded(&format!("-n -M {protocol} -t 5")));
        cases.push(seeded(&format!("-n -M {protocol} -c 2 -j 2 -t 5 -N")));
        cases.push(seeded(&format!("-n -M {protocol} -C -t 2")));
    }
    compare_all("builtins", &["-i -q"], cases);
}

#[test]
fn durations() {
    compare_all(
        "durations",
        &["-i -q"],
        vec![
            case("-n -S -T 1").timed(),
            case("-n -T 1 -c 2 -j 2").timed(),
            case("-n -S -T 1 -C").timed(),
            case("-n -S -T 2 -P 1").timed(),
            case("-n -S -T 2 -P 1 --progress-timestamp").timed(),
            case("-n -S -T 2 -P 1 -R 200").timed(),
            // The first thread's last transaction is due before there is a line to be told.
            case("-n -S -T 2 -P 1 -R 5 --random-seed=7 -c 2 -j 2").timed(),
            case("-n -S -T 2 -P 1 -R 200 -L 100 --max-tries=2").timed(),
            case("-n -S -T 1 -r -N").timed(),
            case("-n -S -T 1 --max-tries=0").timed(),
        ],
    );
}

#[test]
fn logs() {
    compare_all(
        "logs",
        &["-i -q"],
        vec![
            seeded("-n -S -l -t 5"),
            seeded("-n -S -l -t 5 --log-prefix=my_log"),
            seeded("-n -S -l -t 5 -c 3"),
            seeded("-n -S -l -t 4 -c 4 -j 2"),
            seeded("-n -S -N -l -t 5"),
            seeded("-n -S -l -t 5 -R 1000"),
            seeded("-n -S -l -t 5 -R 1000 -L 10000"),
            seeded("-n -S -l -t 5 --max-tries=2"),
            seeded("-n -S -l -t 100 --sampling-rate=0.1"),
            seeded("-n -S -l -t 50 --sampling-rate=0.5 -c 2 -j 2"),
            seeded("-n -l --log-prefix=/nowhere/x -t 1")
                .differs(Stderr, "the process number is part of the file's name"),
            case("-n -S -l -T 2 --aggregate-interval=1").timed(),
            case("-n -S -l -T 2 --aggregate-interval=1 -R 200 -L 100 --max-tries=2 --failures-detailed").timed(),
        ],
    );
}

#[test]
fn partitioned() {
    compare_all(
        "partitioned",
        &["-i -q --partitions=3"],
        vec![case("-n -S -t 1"), case("-n -t 1 -f s.sql").file("s.sql", "select 1;")],
    );
    compare_all(
        "hashed",
        &["-i -q --partitions=2 --partition-method=hash"],
        vec![case("-n -N -t 1")],
    );
}

/// Lines go on to come while transactions end that outlast the time.
#[test]
fn progress_of_the_last_transactions() {
    let slow = |words: &str| case(&format!("-n -P 1 {words}")).file("s.sql", "select pg_sleep(2.5);");
    compare_all(
        "last_progress",
        &[],
        vec![
            slow("-T 1 -f s.sql"),
            slow("-T 2 -f s.sql -c 2"),
            slow("-t 1 -f s.sql"),
            slow("-T 1 -f s.sql -R 1000 --random-seed=1"),
        ],
    );
}

#[test]
fn progress_counts_from_the_first_connection() {
    // There is a line about the time that connecting took, in which nothing happened.
    let slow = case("-n -t 1 -P 1 -f s.sql")
        .file("s.sql", "select pg_sleep(0.1);")
        .env("PGOPTIONS", "-c post_auth_delay=1");
    compare_all("progress", &[], vec![slow]);
}

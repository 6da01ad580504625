//! Reports, compared with what sysbench prints.

use super::{Fairness, Manner, Spread, Stat};
use crate::version::Version;

const MANNER: Manner = Manner {
    version: Version::V1_0,
    percentile: Some(95),
    has_rate: false,
    has_database: true,
};

fn stat() -> Stat {
    Stat {
        threads_running: 2,
        events: 10,
        reads: 140,
        writes: 40,
        other: 20,
        errors: 1,
        reconnects: 0,
        time_total_s: 3.0,
        time_interval_s: 2.0,
        latency_pct_s: 0.003_49,
        latency_min_s: 0.001_29,
        latency_max_s: 0.003_5,
        latency_avg_s: 0.001_8,
        latency_sum_s: 0.018,
        queue_length: 4,
        concurrency: 2,
    }
}

#[test]
fn a_line_tells_of_an_interval() {
    assert_eq!(
        MANNER.intermediate(&stat()),
        "[ 3s ] thds: 2 tps: 5.00 qps: 100.00 (r/w/o: 70.00/20.00/10.00) lat (ms,95%): 3.49 err/s: 0.50 reconn/s: \
         0.00\n"
    );
    let plain = Manner {
        has_database: false,
        has_rate: true,
        ..MANNER
    };
    assert_eq!(
        plain.intermediate(&stat()),
        "[ 3s ] thds: 2 eps: 5.00 lat (ms,95%): 3.49\n[ 3s ] queue length: 4 concurrency: 2\n"
    );
    let old = Manner {
        version: Version::V0_5,
        ..MANNER
    };
    assert_eq!(
        old.intermediate(&stat()),
        "[   3s] threads: 2, tps: 5.00, reads: 70.00, writes: 20.00, response time: 3.49ms (95%), errors: 0.50, \
         reconnects:  0.00\n"
    );
}

#[test]
fn the_report_is_that_of_1_0() {
    let expected = "\
SQL statistics:
    queries performed:
        read:                            140
        write:                           40
        other:                           20
        total:                           200
    transactions:                        10     (5.00 per sec.)
    queries:                             200    (100.00 per sec.)
    ignored errors:                      1      (0.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0000s
    total number of events:              10

Latency (ms):
         min:                                    1.29
         avg:                                    1.80
         max:                                    3.50
         95th percentile:                        3.49
         sum:                                   18.00

";
    assert_eq!(MANNER.cumulative(&stat(), 0), expected);
}

#[test]
fn a_run_without_queries_or_percentile_has_no_lines_about_them() {
    let plain = Manner {
        has_database: false,
        percentile: None,
        ..MANNER
    };
    let expected = "
General statistics:
    total time:                          3.0000s
    total number of events:              10

Latency (ms):
         min:                                    1.29
         avg:                                    1.80
         max:                                    3.50
         percentile stats:               disabled
         sum:                                   18.00

";
    assert_eq!(plain.cumulative(&stat(), 0), expected);
}

#[test]
fn the_report_of_1_1_tells_the_throughput() {
    let newer = Manner {
        version: Version::V1_1,
        has_database: false,
        ..MANNER
    };
    let report = newer.cumulative(&stat(), 0);
    let expected = "
Throughput:
    events/s (eps):                      5.0000
    time elapsed:                        3.0000s
    total number of events:              10

Latency (ms):
";
    assert!(report.starts_with(expected), "{report}");
}

#[test]
fn the_report_of_0_5_tells_requests_and_response_times() {
    let old = Manner {
        version: Version::V0_5,
        ..MANNER
    };
    let expected = "\
OLTP test statistics:
    queries performed:
        read:                            140
        write:                           40
        other:                           20
        total:                           200
    transactions:                        10     (5.00 per sec.)
    read/write requests:                 180    (90.00 per sec.)
    other operations:                    20     (10.00 per sec.)
    ignored errors:                      1      (0.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0000s
    total number of events:              10
    total time taken by event execution: 0.0180s
    response time:
         min:                                  1.29ms
         avg:                                  1.80ms
         max:                                  3.50ms
         approx.  95 percentile:               3.49ms

";
    assert_eq!(old.cumulative(&stat(), 0), expected);
}

#[test]
fn fairness_is_a_mean_and_a_deviation() {
    let fairness = Fairness {
        events: Spread::of([3.0, 0.0].into_iter()),
        busy_s: Spread::of([0.5, 0.5].into_iter()),
    };
    let expected = "\
Threads fairness:
    events (avg/stddev):           1.5000/1.50
    execution time (avg/stddev):   0.5000/0.00

";
    assert_eq!(fairness.text(), expected);
    assert_eq!(Spread::of(std::iter::empty()), Spread::default());
}

#[test]
fn a_stretch_of_no_length_has_no_rates() {
    let one = Stat {
        events: 1,
        ..Stat::default()
    };
    let nothing = MANNER.cumulative(&one, 0);
    assert!(nothing.contains("1      (0.00 per sec.)"), "{nothing}");
}

#[test]
fn what_was_given_up_is_told() {
    let report = MANNER.cumulative(&stat(), 3);
    let told = "(0.00 per sec.)\n\nNumber of unfinished transactions on forced shutdown: 3\n\nGeneral statistics:\n";
    assert!(report.contains(told), "{report}");
}

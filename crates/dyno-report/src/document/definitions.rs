//! What each figure means.

use super::model::Definition;

/// Words of all reports, with their meanings, formulas and sources.
const WORDS: [(&str, &str); 23] = [
    (
        "TPS",
        "Transactions per second that completed without error: their number over the whole time measured, divided by that time. Failed and skipped transactions are counted apart.",
    ),
    (
        "Latency",
        "Time from the begin of a transaction to its completion, retries included. In an open loop it begins at the instant at which the transaction was due, even if it began later; in a closed loop when it was begun, which is not what somebody would wait who comes at any moment.",
    ),
    (
        "Closed loop, open loop",
        "In a closed loop a client begins its next transaction when the last is complete, so that a slow server is asked less. In an open loop transactions are due by a schedule that does not wait for the server (B. Schroeder et al., \"Open Versus Closed: A Cautionary Tale\", NSDI 2006).",
    ),
    (
        "p50, p95, p99, p99.9",
        "Percentiles: the latency that so many percent of the transactions did not exceed. They are of one workload of one run, read from histograms with three significant digits that are added up over time and clients; those of several workloads are never put together, and of several stages each has its own.",
    ),
    (
        "Figure of a cell",
        "The mean of the figures of its complete runs, of throughput, percentiles and metrics alike: the run is the unit. Of percentiles it is where that of a run usually lies; the maximum is the greatest of all runs.",
    ),
    (
        "Nines",
        "The axis of percentiles is stretched so that 90, 99, 99.9 % and so on are equally far apart: x = -log10(1 - p / 100).",
    ),
    (
        "Lag",
        "Open loop: time from the instant at which a transaction was due to its begin.",
    ),
    (
        "Variation",
        "Coefficient of variation in percent: the standard deviation over the mean, of the TPS of the intervals of a run, or of the runs of a cell.",
    ),
    (
        "Interval",
        "The stretch of time, mostly a second, for which counts and latencies are recorded.",
    ),
    (
        "95 % interval of a run",
        "Mean ± t × s / √20, where s is the standard deviation of the means of 20 batches of neighbouring intervals and t = 2.093 (method of batch means; A. M. Law, \"Simulation Modeling and Analysis\"). It says how certain the mean of this run is, not how much another run may differ.",
    ),
    (
        "95 % interval of a ratio",
        "Bootstrap over runs of the ratio of their means (B. Efron, 1979; T. Kalibera and R. Jones, \"Rigorous Benchmarking in Reasonable Time\", ISMM 2013). The run is the unit, not the second, because seconds of one run depend on each other. A verdict needs both the interval to exclude 1 and a two-sided Mann–Whitney test, which takes at least four runs on each side.",
    ),
    (
        "Ratio",
        "Mean TPS of the runs of a cell, of closed loops alone where others have a schedule beside them, divided by that of its baseline: the cell that has the baseline's levels and is else the same. 1.10 is 10 % more.",
    ),
    (
        "Steady state",
        "From some time on neither a trend nor a change of level in the TPS. What was before is found by MSER-5 (K. P. White, 1997).",
    ),
    (
        "Dip",
        "A stretch in which TPS lay at least 20 %, and four times its usual spread, below its running median of about 40 s. Its depth is how far the lowest interval lies below that median.",
    ),
    (
        "Cause of a dip",
        "What deviated in the dip from its level in the rest of the run, and is known to do that: counters, waits or events. Where nothing did, or nothing certain enough, the cause is unknown.",
    ),
    (
        "Checkpoint",
        "The server writes all changed pages to the data files: by time (checkpoint_timeout), by the amount of WAL (max_wal_size), or because somebody asked for it.",
    ),
    (
        "Full page image",
        "A whole page in the WAL, written on the page's first change after a checkpoint.",
    ),
    (
        "Sessions by wait",
        "Mean number of measured sessions that waited for an event of each class of pg_stat_activity, from ten looks a second. Those that wait for nothing run, or wait for a CPU.",
    ),
    (
        "CPU by kind",
        "Shares of the time of all cores of the machine that made the load; the rest is idle. \"Stolen\" was taken by other guests of a virtual machine's host.",
    ),
    (
        "kB, MB, GB",
        "As PostgreSQL counts them: 1 kB has 1,024 bytes, 1 MB has 1,024 kB.",
    ),
    (
        "Factor, level, cell, run",
        "A factor is what is varied, with its levels; a cell is one combination of levels; a run measures a cell once. Only complete runs count where cells are compared.",
    ),
    (
        "Knee",
        "The first level of a factor at which TPS is within 5 % of the best, if that is not the last level. Beyond it more load adds waiting, and next to no throughput. An open loop has none: its TPS follows the rate, and what counts is up to which rate it does.",
    ),
    (
        "Greyed out",
        "A ratio that proves nothing: the runs of the two cells cannot be told apart by the interval of their ratio and a rank test, which takes at least four runs of each.",
    ),
];

/// All definitions.
pub(super) fn definitions() -> Vec<Definition> {
    let definitions = WORDS.into_iter().map(|(term, meaning)| Definition {
        term: term.to_owned(),
        meaning: meaning.to_owned(),
    });
    definitions.collect()
}

//! What each figure means.

use super::model::Definition;

/// Words of all reports, with their meanings, formulas and sources.
const WORDS: [(&str, &str); 23] = [
    (
        "TPS",
        "Transactions per second that completed without error: their number in the whole measured time, divided by \
         that time. Failed and skipped transactions are counted separately.",
    ),
    (
        "Latency",
        "Time from the start of a transaction to its completion, including retries. In an open loop it counts from \
         the instant at which the transaction was due, even if it began later; in a closed loop from when it was \
         begun, so it is not what a user arriving at a random moment would wait.",
    ),
    (
        "Closed loop, open loop",
        "In a closed loop a client begins its next transaction when the previous one is complete, so a slow server \
         receives fewer requests. In an open loop transactions are due according to a schedule that does not wait for \
         the server (B. Schroeder et al., \"Open Versus Closed: A Cautionary Tale\", NSDI 2006).",
    ),
    (
        "p50, p95, p99, p99.9",
        "Percentiles: the latency that this percentage of transactions did not exceed. They are of one workload in \
         one run, read from histograms with three significant digits that are added up over time and clients. Those \
         of several workloads are never combined, and each of several stages has its own.",
    ),
    (
        "Figure of a cell",
        "The mean of the figures of its complete runs, for throughput, percentiles and metrics alike: the run is the \
         unit. For a percentile it is where that of a run usually lies; the maximum is the greatest of all runs.",
    ),
    (
        "Nines",
        "The axis of percentiles is stretched so that 90, 99, 99.9 % and so on are equally spaced: x = -log10(1 - p / \
         100).",
    ),
    (
        "Lag",
        "In an open loop, the time from the instant at which a transaction was due to its start.",
    ),
    (
        "Variation",
        "Coefficient of variation in percent: the standard deviation over the mean, of the TPS of the intervals of a \
         run, or of the runs of a cell.",
    ),
    (
        "Interval",
        "The period, usually a second, for which counts and latencies are recorded.",
    ),
    (
        "95 % interval of a run",
        "Mean ± t × s / √20, where s is the standard deviation of the means of 20 batches of neighbouring intervals \
         and t = 2.093 (method of batch means; A. M. Law, \"Simulation Modeling and Analysis\"). It says how certain \
         the mean of this run is, not how much another run may differ.",
    ),
    (
        "95 % interval of a ratio",
        "Bootstrap over runs of the ratio of their means (B. Efron, 1979; T. Kalibera and R. Jones, \"Rigorous \
         Benchmarking in Reasonable Time\", ISMM 2013). The run is the unit, not the second, because seconds of one \
         run depend on each other. A verdict needs both the interval to exclude 1 and a two-sided Mann–Whitney test, \
         which takes at least four runs on each side.",
    ),
    (
        "Ratio",
        "Mean TPS of the runs of a cell (of the closed loops alone if other workloads have a schedule), divided by \
         that of its baseline: the cell that has the baseline's levels and is otherwise the same. 1.10 is 10 % more.",
    ),
    (
        "Steady state",
        "A period up to the end with neither a trend nor a change of level in TPS. MSER-5 (K. P. White, 1997) finds \
         where it begins.",
    ),
    (
        "Dip",
        "A period in which TPS was at least 20 %, and four times its usual spread, below its running median of about \
         40 s. Its depth is how far the lowest interval lies below that median.",
    ),
    (
        "Cause of a dip",
        "Counters, waits or events that deviated during the dip from their level in the rest of the run, and are \
         known to cause dips. If there were none, or none certain enough, the cause is unknown.",
    ),
    (
        "Checkpoint",
        "The server writes all changed pages to the data files: by time (checkpoint_timeout), by WAL volume \
         (max_wal_size), or on request.",
    ),
    (
        "Full page image",
        "A whole page in the WAL, written on the page's first change after a checkpoint.",
    ),
    (
        "Sessions by wait",
        "Mean number of measured sessions that waited for an event of each class of pg_stat_activity, observed ten \
         times a second. Sessions that wait for nothing are running, or waiting for a CPU.",
    ),
    (
        "CPU by kind",
        "Shares of the time of all cores of the machine that made the load; the rest is idle. \"Stolen\" was taken by \
         other guests of a virtual machine's host.",
    ),
    ("kB, MB, GB", "As in PostgreSQL: 1 kB is 1,024 bytes, 1 MB is 1,024 kB."),
    (
        "Factor, level, cell, run",
        "A factor is something that is varied, with its levels; a cell is one combination of levels; a run measures a \
         cell once. Only complete runs count when cells are compared.",
    ),
    (
        "Knee",
        "The first level of a factor at which TPS is within 5 % of the best, if that is not the last level. Beyond \
         it, more load adds waiting but hardly any throughput. An open loop has no knee: its TPS follows the rate, \
         and what counts is the highest rate at which it does.",
    ),
    (
        "Greyed out",
        "A ratio that proves nothing: the interval of the ratio and a rank test, which needs at least four runs on \
         each side, cannot tell the runs of the two cells apart.",
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

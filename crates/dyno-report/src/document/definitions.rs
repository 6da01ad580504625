//! What each figure means.

use super::counters::capitalised;
use super::model::Definition;
use dyno_record::ServerTraits;

/// Words of all reports, with their meanings, formulas and sources. Those of the database come after [`BEFORE_SERVER`].
const WORDS: [(&str, &str); 20] = [
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
        "95 % confidence interval of a run",
        "Mean ± t × s / √20, where s is the standard deviation of the means of 20 batches of neighbouring intervals \
         and t = 2.093 (method of batch means; A. M. Law, \"Simulation Modeling and Analysis\"). It says how certain \
         the mean of this run is, not how much another run may differ.",
    ),
    (
        "95 % confidence interval of a ratio",
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
         40 s. Its depth is how far the lowest interval lies below that median. Where several workloads run, TPS is \
         that of all together; a dip of one alone is told if it lost half or more.",
    ),
    (
        "Cause of a dip",
        "Counters, waits or events that deviated during the dip from their level in the rest of the run, and are \
         known to cause dips. If there were none, or none certain enough, the cause is unknown.",
    ),
    (
        "CPU by kind",
        "Shares of the time of all cores of the machine that made the load; the rest is idle. \"Stolen\" was taken by \
         other guests of a virtual machine's host.",
    ),
    ("kB, MB, GB", "1 kB is 1,024 bytes, 1 MB is 1,024 kB."),
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
        "A ratio that is not significant: its confidence interval and a rank test, which needs at least four runs on \
         each side, cannot tell the runs of the two cells apart.",
    ),
];

/// The last word before those of the database.
const BEFORE_SERVER: &str = "Cause of a dip";

/// Words that mean something else, or nothing, with another database.
fn of_server(server: &ServerTraits) -> Vec<(String, String)> {
    let (words, settings) = (&server.words, &server.settings);
    let log = &words.log;
    let checkpoint = match [&settings.checkpoint_time, &settings.checkpoint_log].map(String::as_str) {
        [_, ""] => "The server writes all changed pages to the data files.".to_owned(),
        // Without a longest time between them they are no event.
        ["", most] => format!(
            "The place in the {log} up to which all changes are in the data files. The server moves it on all the \
             time by writing the pages that were changed first, and faster as the {log} fills up ({most})."
        ),
        [timeout, most] => format!(
            "The server writes all changed pages to the data files: by time ({timeout}), by {log} volume ({most}), or \
             on request."
        ),
    };
    let mut defined = vec![("Checkpoint".to_owned(), checkpoint)];
    if !words.page_image.is_empty() {
        defined.push((
            capitalised(&words.page_image),
            format!("A whole page in the {log}, written on the page's first change after a checkpoint."),
        ));
    }
    if !words.waits_source.is_empty() {
        defined.push((
            "Sessions by wait".to_owned(),
            format!(
                "Mean number of measured sessions that waited for an event of each class of {}, observed ten times a \
                 second. Sessions that wait for nothing are running, or waiting for a CPU.",
                words.waits_source
            ),
        ));
    }
    defined
}

/// All definitions for a report about a database like this.
pub(super) fn definitions(server: &ServerTraits) -> Vec<Definition> {
    let mut definitions = Vec::new();
    for (term, meaning) in WORDS {
        definitions.push(Definition {
            term: term.to_owned(),
            meaning: meaning.to_owned(),
        });
        if term == BEFORE_SERVER {
            let of_server = of_server(server).into_iter();
            definitions.extend(of_server.map(|(term, meaning)| Definition { term, meaning }));
        }
    }
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Words;

    #[test]
    fn a_database_has_words_of_its_own() {
        let terms = |server: &ServerTraits| -> Vec<String> {
            let defined = definitions(server).into_iter();
            defined.map(|definition| definition.term).collect()
        };
        let without = terms(&ServerTraits::default());
        assert!(without.iter().any(|term| term == "Checkpoint"));
        assert_eq!(without.len(), WORDS.len() + 1);
        let words = Words {
            page_image: "page copy".to_owned(),
            ..Words::default()
        };
        let with = terms(&ServerTraits {
            words,
            ..ServerTraits::default()
        });
        assert!(with.iter().any(|term| term == "Page copy"));
    }
}

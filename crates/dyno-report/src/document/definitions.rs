//! What each figure means, of those that a report has.

use super::counters::capitalised;
use super::model::{Block, Definition, Document, FigureData, Section, Table};
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

/// The words of which one must be in a report, in lower case and as the begin of a word, for a term to be used there.
/// Most terms are such words themselves.
fn signs(term: &str) -> Vec<String> {
    let others: &[&str] = match term {
        "Latency" => &["latenc"],
        "Figure of a cell" | "Factor, level, cell, run" => &["cell"],
        "Nines" => &[NINES],
        "95 % confidence interval of a run" => &["batch means", "no 95 % confidence interval"],
        "95 % confidence interval of a ratio" | "Ratio" => &["ratio", "× the"],
        "Cause of a dip" => &["cause"],
        "CPU by kind" => &["stolen", "iowait"],
        "Greyed out" => &["greyed"],
        _ => return term.split(", ").map(str::to_lowercase).collect(),
    };
    others.iter().map(|&sign| sign.to_owned()).collect()
}

/// What stands for an axis of nines among the words of a document.
const NINES: &str = "axis of nines";

/// Of the definitions of `document` those of terms that it uses.
pub(super) fn used(document: &Document) -> Vec<Definition> {
    let mut words = Vec::new();
    words.extend(document.answer.iter().cloned());
    for headline in &document.headlines {
        words.extend(
            [
                &headline.subject,
                &headline.figure,
                &headline.interval,
                &headline.verdict,
            ]
            .map(String::clone),
        );
    }
    words.extend(document.warnings.iter().map(|caution| caution.text.clone()));
    document.sections.iter().for_each(|section| gather(section, &mut words));
    let words = words.join("\n").to_lowercase();
    let begins = |sign: &str| {
        let mut places = words.match_indices(sign);
        places.any(|(place, _)| !words[..place].ends_with(char::is_alphanumeric))
    };
    let definitions = document.definitions.iter();
    let used = definitions.filter(|definition| signs(&definition.term).iter().any(|sign| begins(sign)));
    used.cloned().collect()
}

/// Adds the words of `section` that say what its figures are.
fn gather(section: &Section, words: &mut Vec<String>) {
    let heading = |table: &Table| {
        let columns = table.columns.iter();
        let names = columns.flat_map(|column| [column.name.clone(), column.unit.clone()]);
        names.chain([table.caption.clone()]).collect::<Vec<_>>()
    };
    words.push(section.title.clone());
    for block in &section.blocks {
        match block {
            Block::Text { text } => words.push(text.clone()),
            Block::List { items } => words.extend(items.iter().cloned()),
            Block::Code { caption, .. } => words.push(caption.clone()),
            Block::Table(table) => words.extend(heading(table)),
            Block::Figure(figure) => {
                words.extend([figure.title.clone(), figure.caption.clone()]);
                figure.table.iter().for_each(|table| words.extend(heading(table)));
                match &figure.data {
                    FigureData::Percentiles(_) => words.push(NINES.to_owned()),
                    FigureData::Timeline(timeline) => words.extend(timeline.lanes.iter().flat_map(|lane| {
                        let series = lane.series.iter().map(|series| series.name.clone());
                        series
                            .chain([lane.title.clone(), lane.unit.clone()])
                            .collect::<Vec<_>>()
                    })),
                    _ => {}
                }
            }
        }
    }
    section.sections.iter().for_each(|section| gather(section, words));
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
    fn only_what_is_used_is_defined() {
        let document = |text: &str| Document {
            definitions: definitions(&ServerTraits::default()),
            sections: vec![Section {
                blocks: vec![Block::Text { text: text.to_owned() }],
                ..Section::default()
            }],
            ..Document::default()
        };
        let terms = |text: &str| -> Vec<String> {
            let used = used(&document(text)).into_iter();
            used.map(|definition| definition.term).collect()
        };
        assert_eq!(terms("2 dips, flagged; imbalance"), ["Dip"]);
        assert_eq!(terms("p99 of 3 ms"), ["p50, p95, p99, p99.9"]);
        assert_eq!(
            terms("1.71 × the TPS"),
            ["TPS", "95 % confidence interval of a ratio", "Ratio"]
        );
        assert!(terms("").is_empty());
        // Whatever is defined has a sign by which it is found.
        for definition in &document("").definitions {
            let sign = &signs(&definition.term)[0];
            let found = used(&document(sign)).iter().any(|used| used.term == definition.term);
            assert!(found, "{}", definition.term);
        }
    }

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

//! What each statement cost: as the clients saw it, and as the server counted it.

use super::latency::OVER_STAGES;
use super::model::{Table, Value};
use super::results::{LATENCY_COLUMNS, latencies};
use super::table::{exactly, latency, number, text, value, words};
use crate::figures::one_line;
use crate::heaviest::heaviest;
use dyno_archive::Run;
use dyno_archive::summary::Summary;
use dyno_record::{Meaning, Words};

/// More statements of the server than this are not read; those that took most come first in the file.
const MOST_STATEMENTS: usize = 25;

/// What is shown of what the server counted, what it is called here, and its unit.
fn counters(words: &Words) -> [(Meaning, String, &'static str); 10] {
    let (page, log) = (&words.page_read, &words.log);
    [
        (Meaning::Calls, "calls".to_owned(), ""),
        (Meaning::ExecutionMs, "time".to_owned(), "ms"),
        (Meaning::StatementCpuMs, "CPU time".to_owned(), "ms"),
        (Meaning::Rows, "rows".to_owned(), ""),
        (Meaning::StatementPagesHit, format!("{page}s hit"), ""),
        (Meaning::StatementPagesRead, format!("{page}s read"), ""),
        (Meaning::StatementPagesDirtied, format!("{page}s dirtied"), ""),
        (Meaning::StatementLogRecords, format!("{log} records"), ""),
        (Meaning::StatementLogPageImages, format!("{}s", words.page_image), ""),
        (Meaning::StatementLogBytes, log.clone(), "bytes"),
    ]
}

/// The statements of the scripts as the clients saw them.
pub(super) fn of_clients(summary: &Summary) -> Table {
    let (statements, note) = heaviest(summary);
    let rows = statements.iter().map(|(workload, index, statement)| {
        let mut row = vec![
            words(format!("{}/{}", workload.name, index + 1)),
            exactly(statement.count),
        ];
        row.extend(latencies(statement.latency.as_ref()));
        row.push(words(one_line(&statement.sql)));
        row
    });
    let note = note.map_or_else(String::new, |note| format!(": {note}"));
    let over = if summary.stages.is_empty() { "" } else { OVER_STAGES };
    let mut columns = vec![text("statement"), number("completed", "")];
    columns.extend(LATENCY_COLUMNS.map(latency));
    columns.push(text("SQL"));
    Table {
        caption: format!("Statements as the clients saw them, in the measured time{over}{note}"),
        columns,
        rows: rows.collect(),
    }
}

/// The statements that took the server's time most, from `statements.csv`.
pub(super) fn of_server(run: &Run, server: &Words) -> Table {
    let known: Vec<_> = run.statements().take(MOST_STATEMENTS).collect();
    let shown: Vec<_> = counters(server)
        .into_iter()
        .filter(|(meaning, _, _)| known.iter().any(|row| row.numbers.contains_key(meaning)))
        .collect();
    let mut columns: Vec<_> = shown.iter().map(|(_, title, unit)| number(title, unit)).collect();
    columns.push(text("query"));
    let rows = known.iter().map(|row| {
        let numbers = shown
            .iter()
            .map(|(meaning, _, _)| value(row.numbers.get(meaning).copied()));
        numbers.chain([Value::Text(one_line(&row.query))]).collect()
    });
    Table {
        caption: format!(
            "Statements as the server counted them, warm-up included ({})",
            server.statements_source
        ),
        columns,
        rows: rows.collect(),
    }
}

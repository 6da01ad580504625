//! Rows for a statement of an experiment's author, in a transaction that only reads and is rolled back.

use super::rights::refusable;
use super::statement::sent;
use super::{Client, ClientError};
use crate::target::{Asked, MOST_ROWS, TextRows, first_word};

/// What is asked for rows. Anything else is refused here: the server would commit before it defines something, which
/// ends the transaction that only reads.
const QUERIES: [&str; 2] = ["select", "with"];

/// More rows are not even counted.
const MOST: usize = 100 * MOST_ROWS;

/// Asks for the rows of one statement.
///
/// # Errors
/// The connection is broken.
pub(super) fn ask(client: &mut Client, text: &str) -> Result<Asked, ClientError> {
    if !QUERIES.contains(&first_word(text, &["--"]).as_str()) {
        return Ok(Asked::Refused(
            "it is not a query: it has to begin with select or with".to_owned(),
        ));
    }
    client.begin("set transaction read only")?;
    let answer = client.answer(sent(text), &[], MOST, None);
    client.rollback()?;
    Ok(match refusable(answer)? {
        Ok(answer) => {
            let mut rows = TextRows {
                columns: answer
                    .columns
                    .iter()
                    .map(|name| super::statement::shown(name))
                    .collect(),
                ..TextRows::default()
            };
            for row in answer.rows {
                rows.push(row.into_iter());
            }
            Asked::Rows(rows)
        }
        Err(error) => Asked::Refused(error.to_string()),
    })
}

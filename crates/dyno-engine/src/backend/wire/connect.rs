//! Opens the connections of clients: tries the endpoints in turn, and has statements prepared.

use super::driver::{Choice, LoggedIn, WireDriver};
use super::transport::Connection;
use crate::backend::Opened;
use crate::load::Preparing;
use dyno_connect::{ConnectError, Limit, Opening, log_in};
use dyno_wire::Session;
use std::sync::atomic::Ordering;

/// Connects, logs in, and prepares the statements of the workload of this name if the driver is to.
///
/// Endpoints are tried in order, unless they are taken in turn. As with libpq, one that lets us speak but refuses the
/// log-in ends the search, unless it cannot serve anybody now. All that went wrong is told.
pub(crate) fn open<S: Session>(
    driver: &WireDriver<S>,
    workload: &str,
    limit: Limit<'_>,
) -> Result<Opened<LoggedIn<S>>, ConnectError> {
    let mut errors = Vec::new();
    let count = driver.endpoints.len();
    let tried = match &driver.choice {
        Choice::First => 0..count,
        Choice::InTurn(made) => {
            let next = made.fetch_add(1, Ordering::Relaxed) % count.max(1);
            next..(next + 1).min(count)
        }
    };
    for number in tried {
        let (mut opening, mut session) =
            match log_in(&driver.endpoints[number], |tls| (driver.session)(number, tls), limit) {
                Ok(opened) => opened,
                Err(error) if error.is_elsewhere_better() => {
                    errors.push(error);
                    continue;
                }
                Err(error) => {
                    errors.push(error);
                    break;
                }
            };
        if driver.preparing == Preparing::AtStart {
            prepare(driver, workload, &mut opening, &mut session)?;
        }
        let (socket, tls) = opening.into_parts();
        return Ok(Opened {
            connection: LoggedIn {
                connection: Connection::new(socket, tls),
                session,
            },
            endpoint: number,
        });
    }
    Err(ConnectError::of_all(errors))
}

fn prepare<S: Session>(
    driver: &WireDriver<S>,
    workload: &str,
    opening: &mut Opening,
    session: &mut S,
) -> Result<(), ConnectError> {
    let mut out = Vec::new();
    for (index, (statement, text)) in driver.statements.iter().zip(&driver.texts).enumerate() {
        if !session.prepare(statement, &mut out) {
            continue;
        }
        opening.ask(session, &mut out, "preparing a statement")?;
        out.clear();
        if let Some(error) = session.error() {
            return Err(ConnectError::Statement {
                workload: workload.to_owned(),
                number: index + 1,
                text: text.clone(),
                error: Box::new(error.clone()),
            });
        }
    }
    Ok(())
}

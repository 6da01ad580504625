//! Executes statements on a PostgreSQL: each session has a connection of its own.
//!
//! What statements for Oracle say in its own way is translated, as far as dyno's experiments and its own statements
//! need it; the rest is refused with a message that says so. Oracle's views are tables and views of the same names in
//! the schemas `sys` and, if they take a right, `sysviews` (in `sql/`). What PostgreSQL has no counterpart of is in
//! tables there, which a test may change; and since sessions look into their user's own schema first, a table of a
//! view's name in that takes its place.

mod areas;
mod columns;
mod define;
mod dictionary;
mod errors;
mod limit;
mod run;
mod session;
mod statement;
mod tokens;
mod translate;
mod types;
mod values;

use crate::executor::{Executor, Executors, OracleError};
use ::postgres::{Client, Config, NoTls};
use areas::{Provoked, Shared};
use errors::oracle_error;
use session::PgSession;
use std::sync::Arc;
use std::time::Duration;

/// Executors on a database of a PostgreSQL.
#[derive(Clone, Debug)]
pub struct Postgres {
    config: Config,
    user: String,
    sees: bool,
    shared: Arc<Shared>,
}

impl Postgres {
    /// Prepares the database: what Oracle has and PostgreSQL has not is put into the schema `sys`, and the user's
    /// schema is made. What is there already stays.
    ///
    /// # Errors
    /// The database cannot be reached, or the role may not make schemas.
    pub fn prepare(config: Config, user: &str) -> Result<Self, ::postgres::Error> {
        dictionary::prepare(&mut config.connect(NoTls)?, user)?;
        Ok(Self {
            config,
            user: user.to_lowercase(),
            sees: true,
            shared: Arc::default(),
        })
    }

    /// The same for a user without the right to see the server's views and to alter the system.
    #[must_use]
    pub fn ordinary(mut self) -> Self {
        self.sees = false;
        self
    }

    /// Has every statement of sessions that are not beside a load wait so long for an event of a class, as the views
    /// show it, until something else is asked for.
    pub fn have_wait(&self, class: &str, event: &str, time: Duration) {
        let (class, event) = (class.to_owned(), event.to_owned());
        self.shared.provoke(Some(Provoked { class, event, time }));
    }

    /// Has them wait no longer.
    pub fn have_go_on(&self) {
        self.shared.provoke(None);
    }

    /// A connection in which the views can be filled, beside all sessions.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub fn connect(&self) -> Result<Client, ::postgres::Error> {
        self.config.connect(NoTls)
    }
}

impl Executors for Postgres {
    fn executor(&self, session: u32) -> Result<Box<dyn Executor>, OracleError> {
        let mut client = self.connect().map_err(|error| {
            OracleError::new(
                1034,
                &format!("the server behind the stand-in is not available: {error}"),
            )
        })?;
        let begun = dictionary::begin_session(&mut client, &self.user, session, self.sees);
        begun.map_err(|error| oracle_error(&error))?;
        Ok(Box::new(PgSession::new(
            client,
            &self.user,
            session,
            self.sees,
            Arc::clone(&self.shared),
        )))
    }
}

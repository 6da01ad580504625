//! Tables of one server that another one, a proxy, makes its own: who asks it for them gets them from there.

use super::Reach;
use dyno_wire::Secret;

/// The server whose tables a proxy is to reach.
#[derive(Clone, Copy, Debug)]
pub enum Remote<'a> {
    /// One that dyno reaches, too.
    Reached(Reach<'a>),
    /// An Oracle database that is named by what its proxies need to know, and not as a server of its own.
    Oracle(&'a Oracle),
}

impl<'a> From<Reach<'a>> for Remote<'a> {
    fn from(reach: Reach<'a>) -> Self {
        Self::Reached(reach)
    }
}

/// Where an Oracle database is, and who asks.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// Its connect string, such as `//host:1521/service`.
    pub server: String,
    /// Who connects.
    pub user: String,
    /// Shown by nothing.
    pub password: Secret,
    /// The owner of the tables.
    pub schema: String,
}

/// What a proxy is to have of its remote.
#[derive(Clone, Debug, Default)]
pub struct ForeignTables {
    /// The tables, by the names that the remote has for them, without a schema.
    pub tables: Vec<String>,
    /// Options of the foreign server beside where it is, by the names that the proxy's wrapper has for them, such as
    /// `fetch_size`.
    pub options: Vec<(String, String)>,
}

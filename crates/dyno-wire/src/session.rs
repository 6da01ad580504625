//! The seam between an engine and a database protocol.

use rustls::ClientConnection;

use crate::tls::Words;
use crate::{CapturedResult, Listener, Protocol, ServerError, WireError};

/// One connection's protocol state, without the connection.
///
/// The owner of the transport appends nothing itself: it sends what the methods append to `out`, and feeds what it
/// receives to [`receive`](Session::receive). After an `Err` from `receive` the session is of no further use and the
/// connection should be closed.
///
/// Every [`prepare`](Session::prepare) that returned `true`, every [`execute`](Session::execute), every
/// [`query`](Session::query), every [`rollback`](Session::rollback) and every [`sync`](Session::sync) is answered by
/// exactly one [`Event::Reply`], in order. Several may be sent before the first reply arrives. What was
/// [queued](Session::queue) is part of the reply to the next of these.
pub trait Session: Send + 'static {
    /// A statement encoded once and shared by all clients of a workload: only parameter bytes differ per execution.
    type Statement: Send + Sync;

    /// The database's name in messages, such as `PostgreSQL`.
    const DATABASE: &'static str;

    /// What its addresses call the settings of TLS, for messages.
    const TLS_WORDS: Words;

    /// Whether a server may let in unencrypted whom it refuses with TLS, and the other way round, as `pg_hba.conf` can
    /// have it. Then one that is refused is worth the next of [`SslMode::attempts`](crate::tls::SslMode::attempts).
    const LETS_IN_BY_ENCRYPTION: bool;

    /// Whether a server may ask for a second handshake of TLS, on the connection below the first one.
    const TLS_BEGINS_ANEW: bool = false;

    /// Where the server speaks first: who may be listening there instead if it says nothing.
    const WAITS_FOR_US: Option<&'static Listener> = None;

    /// Where we speak first: who may be listening there instead if it hangs up without a word.
    const HANGS_UP_ON_US: Option<&'static Listener> = None;

    /// Begins, once the connection stands: appends the first message(s), if it is not the server that speaks first.
    ///
    /// Gives [`Event::NeedInput`], or [`Event::StartTls`] where TLS comes before everything else.
    ///
    /// # Errors
    /// [`WireError::Unsendable`] if the configuration holds a value the protocol cannot carry.
    fn start(&mut self, out: &mut Vec<u8>) -> Result<Event, WireError>;

    /// Goes on after [`Event::StartTls`]: the owner of the transport has sent what was appended before, has shaken
    /// hands, and from now on hands over what was decrypted and encrypts what is appended.
    ///
    /// # Errors
    /// As for [`start`](Session::start), and the encryption may not be what the session needs.
    fn encrypted(&mut self, tls: &ClientConnection, out: &mut Vec<u8>) -> Result<Event, WireError>;

    /// Where the server sends us on to, after [`Event::Redirect`].
    fn redirection(&self) -> Option<&Redirect> {
        None
    }

    /// Consumes a prefix of `input` and says how long it was and what it amounted to.
    ///
    /// Call it again with the rest until all input is consumed; [`Event::NeedInput`] means it is. Answers the protocol
    /// itself demands (authentication, the execution of a statement whose number the server has just given) are
    /// appended to `out`.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refused the start-up or ended the connection; [`WireError::Tls`] if it does
    /// not encrypt as is wanted (then the next of [`SslMode::attempts`](crate::tls::SslMode::attempts) may do); every
    /// other variant means that the two sides no longer understand each other.
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), WireError>;

    /// Whether the server knows `statement` on this connection, or need not know it: then an execution carries nothing
    /// but itself. A statement counts as known once it was made known, whatever the server thought of it.
    fn knows(&self, statement: &Self::Statement) -> bool;

    /// Encodes a statement: its text, with `$1` to `$parameter_count` where its values go, and how it is sent.
    /// `index` tells the statements of a session apart.
    ///
    /// # Errors
    /// [`WireError::Unsendable`] if the protocol cannot carry it.
    fn encode(
        index: usize,
        text: &str,
        parameter_count: usize,
        protocol: Protocol,
    ) -> Result<Self::Statement, WireError>;

    /// Encodes a statement that the server is to prepare, and then to execute as often as is wanted.
    ///
    /// # Errors
    /// As for [`encode`](Session::encode).
    fn encode_prepared(index: usize, text: &str, parameter_count: usize) -> Result<Self::Statement, WireError> {
        Self::encode(index, text, parameter_count, Protocol::Prepared)
    }

    /// Whether each execution of `statement` carries its text.
    fn carries_text(statement: &Self::Statement) -> bool;

    /// Appends what makes `statement` known to the server, by itself: for those of a pipeline, which are not to be made
    /// known in the middle of it, or for all before a load begins. The reply says whether the server accepts it.
    ///
    /// Returns `false`, having appended nothing, if the session [knows](Session::knows) the statement: then no reply
    /// will come.
    fn prepare(&mut self, statement: &Self::Statement, out: &mut Vec<u8>) -> bool;

    /// Whether the execution whose reply is awaited makes its statement known too.
    fn is_introducing(&self) -> bool;

    /// Appends one execution of `statement` to a pipeline, which [`sync`](Session::sync) ends. Makes it known first if
    /// need be. Not for the simple protocol.
    fn queue(&mut self, statement: &Self::Statement, parameters: &impl Parameters, out: &mut Vec<u8>);

    /// Appends the end of a pipeline, or of a part of it that fails or succeeds by itself.
    fn sync(&mut self, out: &mut Vec<u8>);

    /// Asks to keep the results of the one execution or query that is sent next, until the next call of this: all rows,
    /// up to [`MOST_KEPT`](crate::MOST_KEPT) bytes of them, and beyond that each result's last.
    fn capture(&mut self);

    /// What was kept: one entry for each query that completed. (MySQL's end of a CALL is none, if it had results.)
    fn captured(&self) -> &[CapturedResult];

    /// The notices and warnings received since the last call, oldest first; a session may drop some when there are
    /// many.
    fn take_notices(&mut self) -> Vec<ServerError>;

    /// Appends one execution of `statement`. Allocates nothing beyond what `out` needs to grow.
    ///
    /// A statement that the session does not [know](Session::knows) becomes known as part of the same exchange, and the
    /// reply says in [`preparation`](Reply::preparation) what the server thought of it. If it was refused it was not
    /// executed; executing it again sends it all the same, and fails.
    fn execute(&mut self, statement: &Self::Statement, parameters: &impl Parameters, out: &mut Vec<u8>);

    /// Appends a query whose SQL text `write` appends, whole: it must hold no NUL byte (the server refuses such a
    /// query).
    fn query(&mut self, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>);

    /// The reply to what was asked for last, if nothing was appended for it because the server need not be asked. To be
    /// called after what makes a reply come, and at once: nothing that is received will bring it.
    fn answered(&mut self) -> Option<Reply> {
        None
    }

    /// Appends what ends a transaction that has failed, which leaves nothing of it.
    fn rollback(&mut self, out: &mut Vec<u8>) {
        self.query(|text| text.extend_from_slice(b"rollback"), out);
    }

    /// Appends the polite farewell, to be sent before the connection is closed.
    fn terminate(&mut self, out: &mut Vec<u8>);

    /// What makes the server give up what it is executing for this session; `None` if the server offers no such thing.
    fn cancel(&self) -> Option<Cancel>;

    /// Whether a part of a reply has come, but not its end. Only notices, settings and the like may come when
    /// nothing that was sent waits for a reply.
    fn is_replying(&self) -> bool;

    /// Whether a transaction was open at the end of the last reply.
    fn in_transaction(&self) -> TransactionStatus;

    /// What the server said was wrong with the last reply, or why it ended the connection; `None` if nothing was.
    fn error(&self) -> Option<&ServerError>;
}

/// The values for one execution of a statement, each written as text directly into the message.
pub trait Parameters {
    /// How many values there are. A number other than the statement's is refused by the server.
    fn len(&self) -> usize;

    /// Whether there are no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a value is text whatever it looks like. Otherwise one that looks like a number may be sent as a number.
    fn is_text(&self, _index: usize) -> bool {
        false
    }

    /// Appends the text of value `index` (from 0) and returns `true`, or returns `false` for NULL.
    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool;
}

/// No values at all.
impl Parameters for () {
    fn len(&self) -> usize {
        0
    }

    fn write(&self, _index: usize, _out: &mut Vec<u8>) -> bool {
        false
    }
}

/// What a piece of input amounted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// All input is consumed and nothing is complete yet.
    NeedInput,
    /// Send what was appended, then agree on TLS and call [`Session::encrypted`]. Only while starting, and only from a
    /// session that was made to ask for it. Input that is left over, or comes before the handshake, was inserted by
    /// somebody on the way: the connection must be given up.
    StartTls,
    /// The server sends us on: connect to what [`Session::redirection`] says, in the same way, and call
    /// [`Session::start`] again. Only while starting.
    Redirect,
    /// The server let us in and awaits the first statement.
    Started,
    /// One reply is complete.
    Reply(Reply),
}

/// The outcome of one `prepare`, `execute` or `query`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows the server sent.
    pub rows: u64,
    /// Rows the server says its commands touched, as in libpq's `PQcmdTuples`: rows selected count too.
    pub affected: u64,
    /// Results with rows, even with none. (PostgreSQL does not tell of those that something else than a query returns
    /// without a row.)
    pub result_sets: u64,
    /// Statements the server has accepted: prepared, or parsed for one execution.
    pub accepted: u64,
    /// What became of the preparation of a statement that was executed for the first time; of no meaning for pipelines.
    pub preparation: Preparation,
    /// Queries that completed; one statement may be several joined by semicolons.
    pub completed: u64,
    /// Whether anything failed; [`Session::error`] says what.
    pub failed: bool,
    /// Whether notices or warnings came since the last reply; see [`Session::take_notices`].
    pub noticed: bool,
    /// Whether it failed because it wanted to copy from or to the client.
    pub copy_refused: bool,
}

/// Whether the server was asked to take a statement in with its execution, and what it thought of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preparation {
    /// It was not asked.
    #[default]
    None,
    /// It accepted the statement; the execution may have failed.
    Accepted,
    /// It refused the statement, which was therefore not executed.
    Refused,
}

/// What makes a server give up what it is executing for a session, while that session waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancel {
    /// A message to be sent, alone, on a new connection; it is not answered.
    Message(Vec<u8>),
    /// A statement to be executed by another session of the same user.
    Statement(String),
    /// A message to be sent on the session's own connection; what was under way is then answered by an error.
    Break(Vec<u8>),
}

/// Where a server sends its client on to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The host, by name or number.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Where a connection stands between statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// In no transaction.
    #[default]
    Idle,
    /// In a transaction.
    Open,
    /// In a transaction that failed: everything but its end is refused.
    Failed,
}

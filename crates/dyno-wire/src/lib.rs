//! Database protocol sessions without I/O: bytes in, bytes and events out.
//!
//! A load generator is only honest if its own share of the work is small and known. So a session here owns no
//! socket, no buffer pool and no timer: whoever owns the transport hands it what was received and sends what it
//! appends. That keeps one protocol usable under every way of moving bytes (readiness, completion, TLS, a scripted
//! test), and keeps the work per transaction to walking a few message headers and copying a few bytes.
//!
//! The seam is [`Session`], with three implementations: [`PgSession`] for PostgreSQL 9.3 and later, [`MySession`] for
//! MySQL 5.7 and later and MariaDB 10.4 and later, and [`OraSession`] for Oracle 12.1 and later. A session says when
//! TLS starts; [`tls`] decides about and configures encryption the way libpq does; the handshake itself belongs to the
//! transport.
//!
//! ```
//! use std::sync::Arc;
//! use dyno_wire::{Event, PgConfig, PgSession, Session};
//!
//! let config = Arc::new(PgConfig { user: "bench".into(), database: "bench".into(), ..PgConfig::default() });
//! let mut session = PgSession::new(config);
//! let mut out = Vec::new();
//! session.start(&mut out)?;                    // … send `out`, receive the answer …
//! let answer = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
//! out.clear();
//! let mut at = 0;
//! while at < answer.len() {
//!     let (used, event) = session.receive(&answer[at..], &mut out)?;
//!     at += used;
//!     assert!(matches!(event, Event::NeedInput | Event::Started));
//! }
//! session.query(|sql| sql.extend_from_slice(b"select 1"), &mut out);
//! # Ok::<(), dyno_wire::WireError>(())
//! ```

mod error;
mod mysql;
mod oracle;
mod postgres;
mod protocol;
mod results;
mod server_error;
mod session;
pub mod tls;
mod unreached;

pub use dyno_record::{ErrorClass, ErrorCode};
pub use error::WireError;
pub use mysql::{LocalData, MyConfig, MyError, MySession, MyStatement};
pub use oracle::{OraAgreed, OraConfig, OraError, OraKind, OraRows, OraSession, OraStatement, OraVerifier};
pub use postgres::{
    AuthenticationGuard, AuthenticationPolicy, BackendKey, Channel, ChannelBinding, Listener, LogInMethod,
    OtherDatabase, PgConfig, PgSession, PgStatement, RequireAuth, RequiredPeer, Secret, SessionKind, cancel_request,
};
pub use protocol::{Protocol, UnknownProtocol};
pub use results::{CapturedResult, MOST_KEPT, ResultTooLarge, Room, Row};
pub use server_error::ServerError;
pub use session::{Cancel, Event, Parameters, Preparation, Redirect, Reply, Session, TransactionStatus};
pub use unreached::{Place, SOCKET, Unreached};

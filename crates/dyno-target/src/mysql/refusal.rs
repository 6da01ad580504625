//! Why there is no connection: one sentence of what happened, and what to do about it.

use super::client::ServerMessage;
use crate::notice::with_causes;
use mysql_async::{DriverError, Error, IoError};
use std::io::ErrorKind;
use std::time::Duration;

/// What to do about a server that asks for a log-in which the control connection does not know.
const KNOWN_PLUGINS: &str = "let the account use caching_sha2_password, mysql_native_password or ed25519";

/// What the driver says of a connection that was closed between packets, or within one.
const CUT_OFF: [&str; 2] = ["connection closed", "bytes remaining on stream"];

/// Why connecting failed.
pub(super) fn refusal(error: Error) -> String {
    match error {
        Error::Server(error) => ServerMessage::from(error).to_string(),
        Error::Driver(DriverError::UnknownAuthPlugin { name }) => unsupported(&name),
        Error::Driver(DriverError::MysqlOldPasswordDisabled) => unsupported("mysql_old_password"),
        Error::Driver(DriverError::CleartextPluginDisabled) => unsupported("mysql_clear_password"),
        Error::Driver(DriverError::ConnectionClosed) => closed(),
        Error::Io(IoError::Io(error)) => match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
                format!("{error}; is the server running, and does it listen there?")
            }
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => closed(),
            _ if CUT_OFF.contains(&error.to_string().as_str()) => closed(),
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other => stranger(&error),
            _ => error.to_string(),
        },
        Error::Driver(
            error @ (DriverError::PacketOutOfOrder
            | DriverError::UnexpectedPacket { .. }
            | DriverError::PacketTooLarge
            | DriverError::CantParseServerVersion { .. }),
        ) => stranger(&error),
        other => with_causes(&other),
    }
}

/// What is said when nothing was heard in time.
pub(super) fn silence(waited: Duration) -> String {
    format!(
        "no answer within {} s; a MariaDB or MySQL server speaks first, so this may be something else, such as \
         PostgreSQL, whose addresses begin with postgres://",
        waited.as_secs_f64()
    )
}

fn unsupported(plugin: &str) -> String {
    format!("the server asks for a log-in by the plug-in {plugin}, which is not supported; {KNOWN_PLUGINS}")
}

fn closed() -> String {
    "the server closed the connection before the log-in was complete; see its log, and whether it is a MariaDB or MySQL \
     server at all"
        .to_owned()
}

fn stranger(error: &dyn std::error::Error) -> String {
    let what = with_causes(error);
    let what = what.trim_end_matches('.');
    format!("what answers there does not speak MySQL's protocol ({what}); check the host and the port")
}

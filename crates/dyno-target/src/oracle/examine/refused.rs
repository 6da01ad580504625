//! A server that does not let the load's sessions in: what it said, and what to do about it.

use crate::oracle::address::ConnectionInfo;
use crate::oracle::examine::server::LOG_IN;
use crate::oracle::own_session::SessionError;
use dyno_connect::ConnectError;
use dyno_record::{Finding, Topic};
use dyno_wire::{OraError, WireError};

/// The number of a wrong user or password.
const WRONG_PASSWORD: &str = "ORA-01017";

/// What is said of it.
pub(super) fn finding(info: &ConnectionInfo, error: &SessionError) -> Finding {
    let problem = |found: String| Finding::problem(Topic::Server, LOG_IN, found);
    let SessionError::Connect(error) = error else {
        return problem(error.to_string());
    };
    match error {
        ConnectError::Refused { address, error } | ConnectError::Ended { address, error, .. } => {
            let finding = problem(format!("the server at {address} refuses: {}", error.message));
            match (error.code.as_str(), &error.hint) {
                (WRONG_PASSWORD, _) => finding.remedy(format!(
                    "check the user ({}) and the password, of which upper and lower case matter: it comes from the \
                     address or from DYNO_ORACLE_PASSWORD",
                    info.user
                )),
                (_, Some(hint)) => finding.remedy(hint),
                _ => finding,
            }
        }
        ConnectError::Protocol {
            cause: WireError::PasswordMissing(_),
            ..
        } => problem(format!("no password is given for {}", info.user))
            .remedy("give oracle://user:password@host/service, or set DYNO_ORACLE_PASSWORD"),
        ConnectError::Handshake { .. } | ConnectError::Tls(_) => problem(error.to_string()).remedy(of_tls(info)),
        ConnectError::Broken { .. } if info.tls.is_some() => problem(error.to_string()).remedy(of_tls(info)),
        ConnectError::Broken { .. }
        | ConnectError::Protocol {
            cause: WireError::Malformed { .. } | WireError::Oracle(OraError::NoListener(_)),
            ..
        } => problem(error.to_string()).remedy(
            "make sure that an Oracle listener is at this port; one that takes TLS only, often at port 2484, is \
             reached by oracles://",
        ),
        // These say themselves what to do.
        _ => problem(error.to_string()),
    }
}

/// What to look at where TLS does not come about.
fn of_tls(info: &ConnectionInfo) -> String {
    let wallet = info.tls.as_ref().and_then(|tls| tls.wallet.as_ref());
    let trust = match wallet {
        Some(folder) => format!(
            "the wallet ({}) has to hold the certificate of who signed the server's",
            folder.display()
        ),
        None => "without wallet_location the server's certificate has to be signed by one whom this system trusts"
            .to_owned(),
    };
    format!(
        "{trust}; the certificate has to be for {}; and the port has to be one that takes TLS (tcps, often 2484), \
         while oracle:// reaches one that does not",
        info.host.name
    )
}

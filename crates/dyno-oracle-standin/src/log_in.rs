//! The log-in of a session.

use crate::auth::{Challenge, Pair};
use crate::codec::Writer;
use crate::counters::Counters;
use crate::executor::OracleError;
use crate::options::{Account, Misbehaviour, Moment};
use crate::reply;
use crate::request::LogIn;
use crate::session::{Ended, Session};

/// How many cursors a client may keep.
const MAX_OPEN_CURSORS: u32 = 300;

impl Session {
    pub(crate) fn log_in(&mut self, log_in: &LogIn, writer: &mut Writer) -> Result<(), Ended> {
        let no_random = || Ended::Wrong("the system has no random numbers".to_owned());
        if !log_in.proves {
            self.link.misbehaviour = self.options.fault(Moment::LogIn);
            let challenge = Challenge::new(self.options.verifier, &self.options.password).ok_or_else(no_random)?;
            let pairs = challenge.pairs().ok_or_else(no_random)?;
            self.challenge = Some(challenge);
            reply::pairs(writer, &pairs);
            reply::status(writer, false);
            return Ok(());
        }
        self.link.misbehaviour = self.options.fault(Moment::Proof);
        match self.let_in(log_in) {
            Ok(proof) => {
                Counters::one(&self.counters.logins);
                reply::pairs(writer, &self.facts(proof));
                reply::status(writer, false);
            }
            Err(error) => {
                self.leaving = true;
                self.end(Some(&error)).write(writer, self.terms);
            }
        }
        Ok(())
    }

    /// Looks at the client's proof, and gives the server's own.
    fn let_in(&mut self, log_in: &LogIn) -> Result<String, OracleError> {
        let denied = || OracleError::new(1017, "invalid username/password; logon denied");
        let challenge = self.challenge.take().ok_or_else(denied)?;
        let (session_key, password) = (log_in.pair("AUTH_SESSKEY"), log_in.pair("AUTH_PASSWORD"));
        let proof = challenge.proof(session_key, password, &self.options.password);
        let proof = proof.ok_or_else(denied)?;
        if !log_in.user.eq_ignore_ascii_case(&self.options.user) {
            return Err(denied());
        }
        match self.options.account {
            Account::Open => {}
            Account::Locked => return Err(OracleError::new(28_000, "the account is locked")),
            Account::Expired => return Err(OracleError::new(28_001, "the password has expired")),
        }
        self.executor = Some(self.options.executors.executor(self.number)?);
        Ok(proof)
    }

    /// What a client is told of the server.
    fn facts(&self, proof: String) -> Vec<Pair> {
        let (major, minor) = self.options.profile.release();
        let proof = match self.link.misbehaviour {
            Some(Misbehaviour::WrongProof) => "00".repeat(proof.len() / 2),
            _ => proof,
        };
        vec![
            Pair::new("AUTH_VERSION_STRING", "- Production"),
            Pair::new("AUTH_VERSION_SQL", "26"),
            Pair::new("AUTH_XACTION_TRAITS", "3"),
            Pair::new("AUTH_VERSION_NO", (major << 24 | minor << 16).to_string()),
            Pair::new("AUTH_VERSION_STATUS", "0"),
            Pair::new("AUTH_CAPABILITY_TABLE", ""),
            Pair::new("AUTH_SC_INSTANCE_NAME", "standin"),
            Pair::new("AUTH_INSTANCENAME", "standin"),
            Pair::new("AUTH_SC_DBUNIQUE_NAME", "STANDIN"),
            Pair::new("AUTH_SC_REAL_DBUNIQUE_NAME", "STANDIN"),
            Pair::new("AUTH_SC_SERVICE_NAME", "standin"),
            Pair::new("AUTH_SC_DB_DOMAIN", ""),
            Pair::new("AUTH_SESSION_ID", self.number.to_string()),
            Pair::new("AUTH_SERIAL_NUM", "1"),
            Pair::new("AUTH_MAX_OPEN_CURSORS", MAX_OPEN_CURSORS.to_string()),
            Pair::new("AUTH_MAX_IDEN_LENGTH", "128"),
            Pair::new("AUTH_NLS_LXLAN", "AMERICAN"),
            Pair::new("AUTH_NLS_LXCTERRITORY", "AMERICA"),
            Pair::new("AUTH_NLS_LXCCHARSET", "AL32UTF8"),
            Pair::new("AUTH_SVR_RESPONSE", proof),
        ]
    }
}

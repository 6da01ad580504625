//! Watches what a server sends to a driver that knows nothing of our policy.

use super::framing::Framing;
use super::malformed;
use super::policy::{AuthenticationPolicy, Channel, Vetting};
use super::stranger::{MYSQL, is_mysql};
use crate::WireError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a server has asked for to let us in, known when it has. Clones speak of the same server.
#[derive(Clone, Debug, Default)]
pub struct LogInMethod(Arc<AtomicU32>);

impl LogInMethod {
    /// As `pg_hba.conf` names it; `None`: it has asked for nothing.
    pub fn name(&self) -> Option<&'static str> {
        // PostgreSQL documentation, "Message Formats", Authentication….
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            3 => Some("password"),
            5 => Some("md5"),
            10..=12 => Some("scram-sha-256"),
            _ => Some("another method"),
        }
    }
}

/// Reads along until the server has let us in, and refuses what an [`AuthenticationPolicy`] does not allow. Whoever
/// hands what arrives to a driver shows it here first: then the driver never sees, and so never answers, a request
/// that is refused.
pub struct AuthenticationGuard {
    policy: AuthenticationPolicy,
    asked: LogInMethod,
    /// `None` once there is nothing left to watch.
    watching: Option<Box<(Framing, Vetting)>>,
    /// Whether something has arrived.
    heard: bool,
}

impl AuthenticationGuard {
    /// At the beginning of a conversation over `channel`.
    pub fn new(policy: AuthenticationPolicy, channel: Channel) -> Self {
        let mut vetting = Vetting::default();
        vetting.channel = channel;
        Self {
            policy,
            asked: LogInMethod::default(),
            watching: Some(Box::new((Framing::new(), vetting))),
            heard: false,
        }
    }

    /// What the conversation travels on.
    pub fn channel(&self) -> Option<&Channel> {
        self.watching.as_deref().map(|(_, vetting)| &vetting.channel)
    }

    /// What the server asks for.
    pub fn asked(&self) -> LogInMethod {
        self.asked.clone()
    }

    /// Takes in what arrived, before anybody else does.
    ///
    /// # Errors
    /// [`WireError::AuthenticationRefused`], or it is not PostgreSQL's protocol: nothing of it may be handed on.
    pub fn inspect(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        if !std::mem::replace(&mut self.heard, true) && is_mysql(bytes) == Some(true) {
            return Err(WireError::OtherDatabase(&MYSQL));
        }
        while !bytes.is_empty()
            && let Some((framing, vetting)) = self.watching.as_deref_mut()
        {
            let (used, message) = framing.next(bytes)?;
            bytes = &bytes[used..];
            if let Some(message) = message.filter(|message| message.tag == b'R') {
                let cut_short = malformed("an authentication request is cut short");
                let (code, data) = message.body.split_first_chunk::<4>().ok_or(cut_short)?;
                let code = u32::from_be_bytes(*code);
                vetting.judge(&self.policy, code, data)?;
                match code {
                    0 => self.watching = None,
                    code => self.asked.0.store(code, Ordering::Relaxed),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(list: &str) -> AuthenticationGuard {
        let policy = AuthenticationPolicy {
            require_auth: Some(list.parse().unwrap()),
            ..AuthenticationPolicy::default()
        };
        AuthenticationGuard::new(policy, Channel::Plain)
    }

    /// A notice, then a request for a password in clear.
    const CLEARTEXT: &[u8] = b"N\0\0\0\x06M\0R\0\0\0\x08\0\0\0\x03";
    const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";

    #[test]
    fn a_request_is_refused_however_it_is_cut() {
        for cut in 0..=CLEARTEXT.len() {
            let (first, second) = CLEARTEXT.split_at(cut);
            let mut strict = guard("scram-sha-256");
            let refused = strict.inspect(first).and_then(|()| strict.inspect(second));
            assert!(matches!(refused, Err(WireError::AuthenticationRefused(_))), "{cut}");
            let mut lenient = guard("password");
            let asked = lenient.asked();
            assert_eq!(asked.name(), None);
            assert_eq!(lenient.inspect(first).and_then(|()| lenient.inspect(second)), Ok(()));
            assert_eq!(lenient.inspect(OK), Ok(()));
            assert_eq!(asked.name(), Some("password"));
            // What comes later is not looked into.
            assert_eq!(lenient.inspect(b"anything"), Ok(()));
        }
    }

    #[test]
    fn another_database_is_named() {
        let error = guard("none").inspect(b"\x4a\0\0\0\x0a8.4.0\0").unwrap_err();
        assert_eq!(error, WireError::OtherDatabase(&MYSQL));
    }

    #[test]
    fn being_let_in_unasked_is_refused() {
        assert!(guard("!none").inspect(OK).is_err());
        assert!(guard("none").inspect(OK).is_ok());
    }
}

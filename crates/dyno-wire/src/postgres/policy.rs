//! What a server may ask for when we log in: libpq's `require_auth` and `channel_binding`, decided before anything
//! is answered.

use std::fmt;
use std::str::FromStr;

use postgres_protocol::authentication::sasl::{SCRAM_SHA_256, SCRAM_SHA_256_PLUS};
use serde::{Deserialize, Serialize};

use super::authentication::unsupported;
use crate::WireError;

/// A way of proving who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Password,
    Md5,
    Gss,
    Sspi,
    Scram,
    OAuth,
}

impl Method {
    const ALL: [(&'static str, Self); 6] = [
        ("password", Self::Password),
        ("md5", Self::Md5),
        ("gss", Self::Gss),
        ("sspi", Self::Sspi),
        ("scram-sha-256", Self::Scram),
        ("oauth", Self::OAuth),
    ];
}

/// The methods of authentication that are accepted: libpq's `require_auth`.
///
/// A comma-separated list of `password`, `md5`, `gss`, `sspi`, `scram-sha-256`, `oauth` and `none`, or of the same
/// with a `!` before each, which are then the ones that are not.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequireAuth {
    text: String,
    allowed: Vec<Method>,
    /// Whether a server that asks for nothing is refused.
    must_authenticate: bool,
}

impl fmt::Debug for RequireAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<RequireAuth> for String {
    fn from(require_auth: RequireAuth) -> Self {
        require_auth.text
    }
}

impl TryFrom<String> for RequireAuth {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for RequireAuth {
    /// What is wrong, in libpq's words.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let negative = text.starts_with('!');
        let mut listed = Vec::new();
        let mut none = false;
        for part in text.split(',') {
            let name = match (part.strip_prefix('!'), negative) {
                (Some(name), true) => name,
                (None, false) => part,
                (Some(_), false) => {
                    return Err(format!(
                        "negative require_auth method \"{part}\" cannot be mixed with non-negative methods"
                    ));
                }
                (None, true) => {
                    return Err(format!(
                        "require_auth method \"{part}\" cannot be mixed with negative methods"
                    ));
                }
            };
            let twice = if name == "none" {
                std::mem::replace(&mut none, true)
            } else {
                let known = Method::ALL.iter().find(|(known, _)| *known == name);
                let (_, method) = known.ok_or_else(|| format!("invalid require_auth value: \"{part}\""))?;
                let twice = listed.contains(method);
                listed.push(*method);
                twice
            };
            if twice {
                return Err(format!("require_auth method \"{part}\" is specified more than once"));
            }
        }
        let all = Method::ALL.iter().map(|(_, method)| *method);
        Ok(Self {
            text: text.to_owned(),
            allowed: all.filter(|method| listed.contains(method) != negative).collect(),
            must_authenticate: none == negative,
        })
    }
}

/// Whether the authentication is bound to the TLS connection that it travels on: libpq's `channel_binding`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If server and connection can.
    #[default]
    Prefer,
    /// Always: any server that does not do it is refused.
    Require,
}

/// What a server may ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationPolicy {
    /// The methods that are accepted; `None`: all.
    pub require_auth: Option<RequireAuth>,
    /// Whether SCRAM is bound to TLS.
    pub channel_binding: ChannelBinding,
}

impl AuthenticationPolicy {
    /// Whether it refuses nothing that is supported.
    pub fn is_open(&self) -> bool {
        self.require_auth.is_none() && self.channel_binding != ChannelBinding::Require
    }
}

/// The encryption that an authentication travels on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Channel {
    /// None.
    #[default]
    Plain,
    /// TLS, with what [`server_end_point`](crate::tls::server_end_point) makes of the server's certificate.
    Tls(Option<Vec<u8>>),
}

/// Watches one authentication and refuses what the policy does not allow.
#[derive(Default)]
pub(super) struct Vetting {
    pub(super) channel: Channel,
    /// Whether an exchange that the server asked for is complete, as far as we are concerned.
    finished: bool,
    /// Whether it is bound to TLS.
    bound: bool,
}

impl Vetting {
    /// Judges an authentication request before it is answered. Request codes: PostgreSQL documentation, "Message
    /// Formats", Authentication….
    pub(super) fn judge(&mut self, policy: &AuthenticationPolicy, code: u32, data: &[u8]) -> Result<(), WireError> {
        let (method, description) = match code {
            0 => return self.judge_end(policy),
            3 => (Some(Method::Password), "server requested a cleartext password"),
            5 => (Some(Method::Md5), "server requested a hashed password"),
            7 | 8 => (Some(Method::Gss), "server requested GSSAPI authentication"),
            9 => (Some(Method::Sspi), "server requested SSPI authentication"),
            10..=12 => (Some(Method::Scram), "server requested SASL authentication"),
            _ => (None, "server requested an unknown authentication type"),
        };
        if let Some(required) = &policy.require_auth
            && !method.is_some_and(|method| required.allowed.contains(&method))
        {
            return Err(required.refusal(description));
        }
        match code {
            10 => self.bound = choose(policy, &self.channel, data)? == SCRAM_SHA_256_PLUS,
            11 | 12 => {}
            _ if policy.channel_binding == ChannelBinding::Require => {
                let why = "channel binding required but not supported by server's authentication request";
                return Err(WireError::AuthenticationRefused(why.to_owned()));
            }
            _ => {}
        }
        self.finished = matches!(code, 3 | 5 | 12);
        Ok(())
    }

    /// Judges that the server lets us in.
    fn judge_end(&self, policy: &AuthenticationPolicy) -> Result<(), WireError> {
        if let Some(required) = &policy.require_auth
            && required.must_authenticate
            && !self.finished
        {
            return Err(required.refusal("server did not complete authentication"));
        }
        if policy.channel_binding == ChannelBinding::Require && !self.bound {
            let why = "channel binding required, but server authenticated client without channel binding";
            return Err(WireError::AuthenticationRefused(why.to_owned()));
        }
        Ok(())
    }
}

impl RequireAuth {
    fn refusal(&self, why: &str) -> WireError {
        let text = &self.text;
        WireError::AuthenticationRefused(format!("authentication method requirement \"{text}\" failed: {why}"))
    }
}

/// The mechanism to take of those that the server offers.
pub(super) fn choose(
    policy: &AuthenticationPolicy,
    channel: &Channel,
    offer: &[u8],
) -> Result<&'static str, WireError> {
    let refused = |why: &str| Err(WireError::AuthenticationRefused(why.to_owned()));
    let mechanisms = || offer.split(|&byte| byte == 0).take_while(|name| !name.is_empty());
    let offers = |name: &str| mechanisms().any(|mechanism| mechanism == name.as_bytes());
    let required = policy.channel_binding == ChannelBinding::Require;
    if required && *channel == Channel::Plain {
        return refused("channel binding required, but SSL not in use");
    }
    let binding = match channel {
        Channel::Tls(Some(_)) => policy.channel_binding != ChannelBinding::Disable,
        Channel::Tls(None) | Channel::Plain => false,
    };
    if offers(SCRAM_SHA_256_PLUS) {
        match channel {
            // Someone between us took the encryption away; the server would find out from SCRAM itself.
            Channel::Plain => {
                return refused("server offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection");
            }
            Channel::Tls(_) if binding => return Ok(SCRAM_SHA_256_PLUS),
            Channel::Tls(_) if required => {
                return refused(
                    "channel binding is required, but the signature of the server's certificate has no hash to bind to",
                );
            }
            Channel::Tls(_) => {}
        }
    }
    if required {
        return refused(
            "channel binding is required, but server did not offer an authentication method that supports channel \
             binding",
        );
    }
    if offers(SCRAM_SHA_256) {
        return Ok(SCRAM_SHA_256);
    }
    let names: Vec<_> = mechanisms().map(String::from_utf8_lossy).collect();
    Err(unsupported(format!("SASL ({})", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChannelBinding::{Disable, Prefer, Require};

    const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";

    /// What comes of a sequence of requests: nothing, or the words of the refusal.
    fn outcome(require_auth: &str, binding: ChannelBinding, channel: Channel, requests: &[(u32, &[u8])]) -> String {
        let policy = AuthenticationPolicy {
            require_auth: (!require_auth.is_empty()).then(|| require_auth.parse().unwrap()),
            channel_binding: binding,
        };
        let mut vetting = Vetting {
            channel,
            ..Vetting::default()
        };
        for (code, data) in requests {
            if let Err(error) = vetting.judge(&policy, *code, data) {
                return error.to_string();
            }
        }
        String::new()
    }

    #[test]
    fn require_auth_names_what_is_accepted() {
        const TRUST: &[(u32, &[u8])] = &[(0, b"")];
        const PASSWORD: &[(u32, &[u8])] = &[(3, b""), (0, b"")];
        const MD5: &[(u32, &[u8])] = &[(5, b"salt"), (0, b"")];
        const SCRAM: &[(u32, &[u8])] = &[(10, PLAIN), (11, b""), (12, b""), (0, b"")];
        const HALF: &[(u32, &[u8])] = &[(10, PLAIN), (0, b"")];
        const GSS: &[(u32, &[u8])] = &[(7, b"")];
        // Each with the requests it accepts; from the tests and the documentation of PostgreSQL.
        for (list, accepted) in [
            ("", [true, true, true, true]),
            ("scram-sha-256", [false, false, false, true]),
            ("password", [false, true, false, false]),
            ("md5,password", [false, true, true, false]),
            ("md5,scram-sha-256,none", [true, false, true, true]),
            ("none", [true, false, false, false]),
            ("!none", [false, true, true, true]),
            ("!password", [true, false, true, true]),
            ("!password,!md5,!none", [false, false, false, true]),
            ("gss", [false, false, false, false]),
        ] {
            for (requests, accepted) in [TRUST, PASSWORD, MD5, SCRAM].into_iter().zip(accepted) {
                let outcome = outcome(list, Prefer, Channel::Plain, requests);
                assert_eq!(outcome.is_empty(), accepted, "{list} {requests:?}: {outcome}");
            }
        }
        let said = |list, requests| outcome(list, Prefer, Channel::Plain, requests);
        for (list, requests, why) in [
            ("scram-sha-256", PASSWORD, "server requested a cleartext password"),
            ("scram-sha-256", MD5, "server requested a hashed password"),
            ("scram-sha-256", GSS, "server requested GSSAPI authentication"),
            ("md5", SCRAM, "server requested SASL authentication"),
            ("scram-sha-256", HALF, "server did not complete authentication"),
        ] {
            let expected = format!("authentication method requirement \"{list}\" failed: {why}");
            assert_eq!(said(list, requests), expected);
        }
    }

    #[test]
    fn a_list_that_says_nothing_clear_is_refused() {
        for (list, why) in [
            (
                "scram-sha-256,!md5",
                "negative require_auth method \"!md5\" cannot be mixed with non-negative methods",
            ),
            (
                "!password,!none,scram-sha-256",
                "require_auth method \"scram-sha-256\" cannot be mixed with negative methods",
            ),
            (
                "none,md5,none",
                "require_auth method \"none\" is specified more than once",
            ),
            ("!md5,!md5", "require_auth method \"!md5\" is specified more than once"),
            ("kerberos", "invalid require_auth value: \"kerberos\""),
            ("md5,", "invalid require_auth value: \"\""),
        ] {
            assert_eq!(list.parse::<RequireAuth>().unwrap_err(), why);
        }
    }

    #[test]
    fn channel_binding_is_kept_to() {
        let tls = || Channel::Tls(Some(b"hash".to_vec()));
        let bare = || Channel::Tls(None);
        for (binding, channel, offer, why) in [
            (Require, tls(), BOTH, ""),
            (Require, tls(), PLAIN, "server did not offer"),
            (Require, bare(), BOTH, "no hash to bind to"),
            (Require, Channel::Plain, PLAIN, "SSL not in use"),
            (Prefer, tls(), PLAIN, ""),
            (Prefer, Channel::Plain, BOTH, "over a non-SSL connection"),
            (Disable, tls(), BOTH, ""),
            (Prefer, tls(), b"OAUTHBEARER\0\0", "SASL (OAUTHBEARER)"),
        ] {
            let requests: [(u32, &[u8]); 4] = [(10, offer), (11, b""), (12, b""), (0, b"")];
            let said = outcome("", binding, channel.clone(), &requests);
            assert_eq!(said.is_empty(), why.is_empty(), "{binding:?} {channel:?}: {said}");
            assert!(said.contains(why), "{said}");
        }
        for (requests, why) in [
            (&[(3, b"" as &[u8])], "not supported by server's authentication request"),
            (&[(5, b"salt")], "not supported by server's authentication request"),
            (&[(0, b"")], "authenticated client without channel binding"),
        ] {
            assert!(outcome("", Require, tls(), requests).contains(why));
        }
        let offers = [Disable, Prefer, Require].map(|channel_binding| {
            let policy = AuthenticationPolicy {
                channel_binding,
                ..AuthenticationPolicy::default()
            };
            choose(&policy, &tls(), BOTH).unwrap()
        });
        assert_eq!(offers, [SCRAM_SHA_256, SCRAM_SHA_256_PLUS, SCRAM_SHA_256_PLUS]);
    }
}

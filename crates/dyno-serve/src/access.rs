//! Who may look: visitors with the token if there is one, and no pages of other sites.
//!
//! A server that listens at 127.0.0.1 can be reached by everybody's browser on this machine, and so by every page
//! that is open in it. Such a page may not read what comes back unless its name leads here ("DNS rebinding"), so a
//! name that is not this machine's is refused.

use crate::problem::Problem;
use crate::{ServeError, pages};
use axum::extract::{Query, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// What the pages of this server may do: load what comes from it, and nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src \
     'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// What visitors have to show. It is never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Shorter tokens could be guessed.
    pub const SHORTEST: usize = 16;

    /// The token `text`.
    ///
    /// # Errors
    ///
    /// If it is too short, or has characters that neither a header nor an address may hold as they are.
    pub fn new(text: String) -> Result<Self, ServeError> {
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if text.len() >= Self::SHORTEST && text.bytes().all(usual) {
            Ok(Self(text))
        } else {
            Err(ServeError::Token)
        }
    }

    /// Whether `shown` is this token, in a time that does not tell how much of it is right.
    fn is(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// The rules of a server.
#[derive(Debug)]
pub(crate) struct Access {
    token: Option<Token>,
    /// Whether it can be reached from this machine alone.
    local: bool,
    /// The name of the cookie with the token. Cookies are the same for all ports of a machine, so the port is in it.
    cookie: String,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It may pass.
    Pass,
    /// It shows the token in its address: the token goes into a cookie, and the visitor to this address.
    SignIn(String),
    /// Its name is not one of this machine.
    ForeignName,
    /// A page of another site sent it.
    ForeignPage,
    /// It shows no token.
    NoToken,
    /// It shows another token.
    WrongToken,
}

impl Access {
    pub(crate) fn new(address: SocketAddr, token: Option<Token>) -> Self {
        Self {
            token,
            local: address.ip().is_loopback(),
            cookie: format!("dyno_token_{}", address.port()),
        }
    }

    fn judge(&self, uri: &Uri, headers: &HeaderMap) -> Verdict {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // A whole address instead of a path goes before the header (RFC 9112, section 3.2.2).
        let is_here = match uri.authority() {
            Some(authority) => is_this_machine(authority.as_str()),
            None => headers.get_all(HOST).iter().count() == 1 && text(HOST.as_str()).is_some_and(is_this_machine),
        };
        if self.local && !is_here {
            return Verdict::ForeignName;
        }
        // Links may lead here, but no page of another site may have this machine work for it.
        if text("sec-fetch-site") == Some("cross-site") && text("sec-fetch-mode") != Some("navigate") {
            return Verdict::ForeignPage;
        }
        let Some(token) = &self.token else {
            return Verdict::Pass;
        };
        if let Some(shown) = token_in(uri) {
            return match token.is(&shown) {
                true => Verdict::SignIn(without_token(uri)),
                false => Verdict::WrongToken,
            };
        }
        let bearer = text(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';'));
        let cookie = cookies.find_map(|cookie| cookie.trim().strip_prefix(&self.cookie)?.strip_prefix('='));
        match bearer.or(cookie) {
            Some(shown) if token.is(shown.trim()) => Verdict::Pass,
            Some(_) => Verdict::WrongToken,
            None => Verdict::NoToken,
        }
    }

    fn set_cookie(&self) -> Option<HeaderValue> {
        let token = &self.token.as_ref()?.0;
        HeaderValue::from_str(&format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", self.cookie)).ok()
    }
}

/// Lets a request pass to the pages, or not, and adds to every answer what keeps it private.
pub(crate) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let mut response = match access.judge(request.uri(), request.headers()) {
        Verdict::Pass => next.run(request).await,
        Verdict::SignIn(then) => signed_in(&access, &then),
        Verdict::ForeignName => Problem::refused(
            "this server is for this machine alone, and was addressed by a name that is not this machine's; use \
             http://127.0.0.1 or http://localhost",
        )
        .into_response(),
        Verdict::ForeignPage => Problem::refused("a page of another site requested this").into_response(),
        Verdict::NoToken => Problem::token("This server requires a token.").into_response(),
        Verdict::WrongToken => Problem::token("The token is wrong.").into_response(),
    };
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// A page that leads on by itself. A redirection would not do: if a link brought the visitor here, browsers would not
/// send the cookie along.
fn signed_in(access: &Access, then: &str) -> Response {
    #[derive(Serialize)]
    struct SignedIn<'a> {
        then: &'a str,
    }
    let mut response = pages::render("signed-in.html", &SignedIn { then });
    if let Some(cookie) = access.set_cookie() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Whether a `Host` header names this machine.
fn is_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<axum::http::uri::Authority>() else {
        return false;
    };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    // With a user name it is no host.
    !host.contains('@')
        && (name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()))
}

/// The token in an address.
fn token_in(uri: &Uri) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    pairs
        .into_iter()
        .find_map(|(name, value)| (name == "token").then_some(value))
}

/// The address without the token, so that it stands in no history.
fn without_token(uri: &Uri) -> String {
    let rest = uri.query().unwrap_or_default().split('&');
    let rest: Vec<_> = rest.filter(|pair| !pair.starts_with("token=")).collect();
    // Two slashes in front would lead to another machine.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    match rest.as_slice() {
        [] => path,
        rest => format!("{path}?{}", rest.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        pairs.collect()
    }

    fn local(token: Option<&str>) -> Access {
        let token = token.map(|token| Token::new(token.to_owned()).unwrap());
        Access::new("127.0.0.1:7878".parse().unwrap(), token)
    }

    fn judge(access: &Access, uri: &str, pairs: &[(&'static str, &str)]) -> Verdict {
        let mut all = vec![("host", "localhost:7878")];
        all.extend(pairs);
        access.judge(&uri.parse().unwrap(), &headers(&all))
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for (host, right) in [
            ("127.0.0.1:7878", true),
            ("127.0.0.1", true),
            ("LocalHost:80", true),
            ("[::1]:7878", true),
            ("evil.example:7878", false),
            ("localhost.evil.example", false),
            ("localhost@evil.example", false),
            ("evil.example@localhost", false),
            ("192.168.1.7:7878", false),
            ("0.0.0.0", false),
            ("", false),
        ] {
            let verdict = local(None).judge(&"/".parse().unwrap(), &headers(&[("host", host)]));
            let expected = if right { Verdict::Pass } else { Verdict::ForeignName };
            assert_eq!(verdict, expected, "{host}");
        }
        for (uri, host, expected) in [
            ("http://127.0.0.1:7878/", "evil.example", Verdict::Pass),
            ("http://evil.example/", "127.0.0.1", Verdict::ForeignName),
            ("http://127.0.0.1@evil.example/", "127.0.0.1", Verdict::ForeignName),
        ] {
            let verdict = local(None).judge(&uri.parse().unwrap(), &headers(&[("host", host)]));
            assert_eq!(verdict, expected, "{uri}");
        }
        let uri = "/".parse().unwrap();
        assert_eq!(local(None).judge(&uri, &HeaderMap::new()), Verdict::ForeignName);
        let mut two = headers(&[("host", "localhost")]);
        two.append(HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(local(None).judge(&uri, &two), Verdict::ForeignName);
    }

    #[test]
    fn a_server_for_others_asks_for_the_token_alone() {
        let token = Token::new(TOKEN.to_owned()).unwrap();
        let access = Access::new("0.0.0.0:80".parse().unwrap(), Some(token));
        let bearer = format!("Bearer {TOKEN}");
        let headers = headers(&[("host", "bench.example"), ("authorization", &bearer)]);
        assert_eq!(access.judge(&"/".parse().unwrap(), &headers), Verdict::Pass);
    }

    #[test]
    fn links_of_other_sites_may_lead_here_and_nothing_else_of_theirs() {
        let sent = |mode| {
            judge(
                &local(None),
                "/",
                &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode)],
            )
        };
        assert_eq!(sent("navigate"), Verdict::Pass);
        assert_eq!(sent("no-cors"), Verdict::ForeignPage);
    }

    #[test]
    fn the_token_is_taken_from_header_cookie_or_address() {
        let access = local(Some(TOKEN));
        let bearer = format!("Bearer {TOKEN}");
        let cookie = format!("other=1; dyno_token_7878={TOKEN}");
        assert_eq!(judge(&access, "/", &[]), Verdict::NoToken);
        assert_eq!(judge(&access, "/", &[("authorization", &bearer)]), Verdict::Pass);
        assert_eq!(judge(&access, "/", &[("cookie", &cookie)]), Verdict::Pass);
        assert_eq!(
            judge(&access, "/", &[("cookie", "dyno_token_7878=0123456789abcdeF")]),
            Verdict::WrongToken
        );
        assert_eq!(
            judge(&access, "/", &[("cookie", "dyno_token_80=0123456789abcdef")]),
            Verdict::NoToken
        );
        assert_eq!(judge(&access, "/?token=", &[("cookie", &cookie)]), Verdict::WrongToken);
        let asked = format!("/report?campaign=a&token={TOKEN}&campaign=b");
        assert_eq!(
            judge(&access, &asked, &[]),
            Verdict::SignIn("/report?campaign=a&campaign=b".to_owned())
        );
        let elsewhere = format!("//evil.example/?token={TOKEN}");
        assert_eq!(
            judge(&access, &elsewhere, &[]),
            Verdict::SignIn("/evil.example/".to_owned())
        );
    }

    #[test]
    fn tokens_are_long_plain_and_hidden() {
        for wrong in ["", "short", "0123456789abcde;", "0123456789 abcdef", "0123456789abcdeé"] {
            assert!(Token::new(wrong.to_owned()).is_err(), "{wrong}");
        }
        let token = Token::new(TOKEN.to_owned()).unwrap();
        assert_eq!(format!("{token:?}"), "Token(hidden)");
        let cookie = local(Some(TOKEN)).set_cookie().unwrap();
        assert_eq!(
            cookie.to_str().unwrap(),
            "dyno_token_7878=0123456789abcdef; Path=/; HttpOnly; SameSite=Strict"
        );
    }
}

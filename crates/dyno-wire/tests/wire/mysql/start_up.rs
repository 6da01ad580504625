//! From the greeting to the moment the server lets us in, or does not.

use std::sync::Arc;

use dyno_wire::tls::{self, ClientOptions, SslMode};
use dyno_wire::{ErrorClass, Event, MyConfig, MySession, Session, WireError};
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use rustls::ClientConnection;

use super::support::*;
use crate::support::{Log, feed};

const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";
const OTHER: &[u8; 20] = b"ABCDEFGHIJKLMNOPQRST";

fn session(config: MyConfig) -> MySession {
    let mut session = MySession::new(Arc::new(config));
    assert_eq!(session.start(&mut Vec::new()), Ok(Event::NeedInput));
    session
}

fn plain() -> MySession {
    session((*config()).clone())
}

fn on_socket() -> MySession {
    session(MyConfig {
        local: true,
        ..(*config()).clone()
    })
}

/// How the server's first bytes are refused.
fn refusal(stream: &[u8]) -> String {
    let log = feed(&mut plain(), &[stream]);
    log.end.unwrap().to_string()
}

fn is_started(log: &Log) -> bool {
    matches!(log.seen[..], [(Event::Started, ..)])
}

/// The request to go on with another plug-in.
fn switch(number: u8, plugin: &str, nonce: &[u8]) -> Vec<u8> {
    packets(number, [[b"\xfe", plugin.as_bytes(), b"\0", nonce, b"\0"].concat()])
}

fn contains(sent: &[u8], part: &[u8]) -> bool {
    sent.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_password_is_scrambled_by_the_servers_plugin() {
    let mut session = plain();
    let log = feed(&mut session, &[&greeting("8.0.36", "caching_sha2_password", PLAIN)]);
    assert_eq!(session.server_version(), "8.0.36");
    assert_eq!(session.connection_id(), 7);
    let scramble = scramble_sha256(NONCE, b"secret").unwrap();
    let tail = [b"bench\0\x20", &scramble[..], b"bench\0caching_sha2_password\0"].concat();
    assert_eq!(log.sent[3], 1);
    assert!(contains(&log.sent, &tail), "{:?}", log.sent.escape_ascii().to_string());
    assert!(contains(&log.sent, b"\x0cprogram_name\x04dyno"));
    // The server knows the password's hash: it says so, and lets us in.
    let log = feed(&mut session, &[&packets(2, [vec![1, 3], ok(0, 2, 0)])]);
    assert!(is_started(&log) && log.sent.is_empty());
}

#[test]
fn an_account_may_need_another_plugin() {
    let mut session = plain();
    feed(
        &mut session,
        &[&greeting("11.4.2-MariaDB", "mysql_native_password", PLAIN)],
    );
    let log = feed(&mut session, &[&switch(2, "caching_sha2_password", OTHER)]);
    assert_eq!(log.sent, packets(3, [scramble_sha256(OTHER, b"secret").unwrap()]));
    let log = feed(&mut session, &[&switch(4, "mysql_native_password", NONCE)]);
    assert_eq!(log.sent, packets(5, [scramble_native(NONCE, b"secret").unwrap()]));
    assert!(is_started(&feed(&mut session, &[&packets(6, [ok(0, 2, 0)])])));
}

#[test]
fn mariadbs_accounts_may_want_a_signature() {
    let mut session = plain();
    let hello = greeting("11.4.2-MariaDB", "mysql_native_password", PLAIN);
    feed(&mut session, &[&hello]);
    let log = feed(&mut session, &[&switch(2, "client_ed25519", &[1; 32])]);
    assert_eq!(log.sent[..4], [64, 0, 0, 3]);
    assert_eq!(log.sent.len(), 4 + 64);
    assert!(is_started(&feed(&mut session, &[&packets(4, [ok(0, 2, 0)])])));
    // With the nonce of another plug-in it is no request.
    let mut session = plain();
    feed(&mut session, &[&hello]);
    let log = feed(&mut session, &[&switch(2, "client_ed25519", NONCE)]);
    assert!(log.end.is_some() && log.sent.is_empty());
}

#[test]
fn without_a_password_nothing_is_scrambled() {
    for password in [None, Some("".into())] {
        let mut session = session(MyConfig {
            password,
            database: String::new(),
            ..(*config()).clone()
        });
        let log = feed(&mut session, &[&greeting("8.0.36", "caching_sha2_password", PLAIN)]);
        assert!(contains(&log.sent, b"bench\0\0caching_sha2_password\0"));
    }
}

#[test]
fn a_password_the_server_does_not_know_yet_travels_where_nobody_listens() {
    let mut session = on_socket();
    feed(&mut session, &[&greeting("8.0.36", "caching_sha2_password", PLAIN)]);
    let log = feed(&mut session, &[&packets(2, [[1, 4]])]);
    assert_eq!(log.sent, packets(3, [b"secret\0"]));
    assert!(is_started(&feed(&mut session, &[&packets(4, [ok(0, 2, 0)])])));
}

const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDTWDpag+R8FX0bt/evEdvLPlX5
15GFGNG3Iclyj9D60BKg7+rSxbtKGrG7c8b7oFQaxZuyfi9KyqMEHfjJktzpHuh2
a0zq/RVAENut/GhHCnvrGb9c/ErtRtJ6nFMUOXxVKtArVANkVjuInObx6fZWrjXq
Hig/5XMEO4vyrJDZNwIDAQAB
-----END PUBLIC KEY-----
";

#[test]
fn elsewhere_it_travels_encrypted_for_the_server() {
    let mut session = plain();
    feed(&mut session, &[&greeting("8.0.36", "caching_sha2_password", PLAIN)]);
    let log = feed(&mut session, &[&packets(2, [[1, 4]])]);
    assert_eq!(log.sent, packets(3, [[2]]));
    let key = [b"\x01", PUBLIC_KEY.as_bytes()].concat();
    let log = feed(&mut session, &[&packets(4, [key])]);
    assert_eq!(log.sent.len(), 4 + 128);
    assert_eq!(log.sent[..4], [128, 0, 0, 5]);
    assert!(is_started(&feed(&mut session, &[&packets(6, [ok(0, 2, 0)])])));
}

#[test]
fn a_public_key_of_no_use_is_refused() {
    for key in [
        "",
        "no key",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    ] {
        let mut session = plain();
        feed(&mut session, &[&greeting("8.0.36", "caching_sha2_password", PLAIN)]);
        feed(&mut session, &[&packets(2, [[1, 4]])]);
        let log = feed(&mut session, &[&packets(4, [[b"\x01", key.as_bytes()].concat()])]);
        let error = log.end.unwrap().to_string();
        assert!(error.contains("public key cannot be used"), "{error}");
        assert!(error.ends_with("use TLS (ssl-mode=required)"), "{error}");
    }
}

#[test]
fn a_password_in_clear_is_sent_only_where_nobody_listens() {
    let request = switch(2, "mysql_clear_password", b"");
    let hello = greeting("8.0.36", "mysql_clear_password", PLAIN);
    let mut session = plain();
    // Not even if that is the server's own plug-in.
    let log = feed(&mut session, &[&hello]);
    assert!(!contains(&log.sent, b"secret"));
    let log = feed(&mut session, &[&request]);
    assert!(log.sent.is_empty());
    let error = log.end.unwrap().to_string();
    assert!(error.contains("only sent to a server that TLS has verified"), "{error}");
    assert!(error.ends_with("use ssl-mode=verify_identity or verify_ca"), "{error}");
    for (mode, is_sent) in [(SslMode::Require, false), (SslMode::VerifyCa, true)] {
        let mut session = plain().asking_for_tls(mode);
        feed(
            &mut session,
            &[&greeting("8.0.36", "mysql_clear_password", PLAIN | TLS)],
        );
        session.encrypted(&tls(), &mut Vec::new()).unwrap();
        let log = feed(&mut session, &[&switch(3, "mysql_clear_password", b"")]);
        assert_eq!(contains(&log.sent, b"secret"), is_sent);
        assert_eq!(log.end.is_none(), is_sent);
    }
    let mut session = on_socket();
    feed(&mut session, &[&hello]);
    assert_eq!(feed(&mut session, &[&request]).sent, packets(3, [b"secret\0"]));
}

/// A connection that has not shaken hands: a session looks at no part of it.
fn tls() -> ClientConnection {
    let options = ClientOptions {
        mode: SslMode::Require,
        ..ClientOptions::default()
    };
    let name = tls::server_name(SslMode::Require, "localhost").unwrap();
    ClientConnection::new(tls::client_config(&options).unwrap(), name).unwrap()
}

#[test]
fn encryption_comes_between_the_greeting_and_the_log_in() {
    for mode in [SslMode::Prefer, SslMode::Require] {
        let mut session = plain().asking_for_tls(mode);
        let log = feed(
            &mut session,
            &[&greeting("8.0.36", "caching_sha2_password", PLAIN | TLS)],
        );
        assert!(matches!(log.seen[..], [(Event::StartTls, ..)]));
        assert_eq!(log.sent.len(), 4 + 32);
        assert_eq!(log.sent[..4], [32, 0, 0, 1]);
        assert!(log.sent[5] & 0x08 != 0, "TLS is not asked for");
        let mut out = Vec::new();
        assert_eq!(session.encrypted(&tls(), &mut out), Ok(Event::NeedInput));
        assert_eq!(out[3], 2);
        assert_eq!(out[4..36], log.sent[4..]);
        // What nobody hears can be the password itself.
        let log = feed(&mut session, &[&packets(3, [[1, 4]])]);
        assert_eq!(log.sent, packets(4, [b"secret\0"]));
        assert!(is_started(&feed(&mut session, &[&packets(5, [ok(0, 2, 0)])])));
    }
}

#[test]
fn a_server_without_tls_serves_only_those_who_do_not_insist() {
    let hello = greeting("8.0.36", "caching_sha2_password", PLAIN);
    let mut session = plain().asking_for_tls(SslMode::Prefer);
    let log = feed(&mut session, &[&hello]);
    assert!(log.seen.is_empty() && contains(&log.sent, b"bench\0"));
    for (mode, name) in [
        (SslMode::Require, "required"),
        (SslMode::VerifyCa, "verify_ca"),
        (SslMode::VerifyFull, "verify_identity"),
    ] {
        let mut session = plain().asking_for_tls(mode);
        let log = feed(&mut session, &[&hello]);
        assert!(log.sent.is_empty());
        let Some(error @ WireError::Tls(_)) = log.end else {
            panic!("{log:?}")
        };
        assert_eq!(
            error.to_string(),
            format!(
                "the server does not support TLS, but ssl-mode={name} demands it; turn ssl on in the server, or use \
                 ssl-mode=preferred"
            )
        );
    }
}

#[test]
fn a_refusal_is_the_servers_own() {
    let log = feed(&mut plain(), &[&packets(0, [b"\xff\x10\x04Too many connections"])]);
    assert_eq!(log.end.unwrap().to_string(), "ERROR 1040 (HY000): Too many connections");
    for (number, message) in [
        (
            1129,
            "Host 'h' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'",
        ),
        (1130, "Host 'h' is not allowed to connect to this MariaDB server"),
    ] {
        let body = error(number, "HY000", message);
        let log = feed(&mut plain(), &[&packets(0, [body])]);
        assert_eq!(
            log.end.unwrap().to_string(),
            format!("ERROR {number} (HY000): {message}")
        );
    }
    let mut session = plain();
    feed(&mut session, &[&greeting("8.0.36", "caching_sha2_password", PLAIN)]);
    let denied = error(
        1045,
        "28000",
        "Access denied for user 'bench'@'h' (using password: YES)",
    );
    let log = feed(&mut session, &[&packets(2, [denied])]);
    let Some(WireError::Server(error)) = &log.end else {
        panic!("{log:?}")
    };
    assert_eq!((error.code.as_str(), error.class), ("1045", ErrorClass::Refused));
    assert_eq!(session.error(), Some(&**error));
}

#[test]
fn whatever_else_answers_is_named() {
    let whole = greeting("8.0.36", "caching_sha2_password", PLAIN);
    let half = packets(0, [&whole[4..30]]);
    let mut old = whole.clone();
    old[4] = 9;
    for (stream, part) in [
        (&half[..], "its greeting is cut short"),
        (
            &old,
            "greets with protocol version 9; MySQL 5.7 and later and MariaDB 10.4 and later speak version 10",
        ),
        (b"\x05\0\0\0\x0b\x08\x05\x1a\0", "not the X protocol's 33060"),
        (
            b"E\0\0\0\x33SFATAL\0",
            "a PostgreSQL server answers there, not MySQL or MariaDB; use an address that begins",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2\r\n",
            "the server's first bytes (\"SSH-2\") are no greeting of a MySQL",
        ),
        (b"\xff\xff\xff\0\x0a", "no greeting"),
    ] {
        let error = refusal(stream);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn an_unknown_plugin_is_named() {
    for (request, name) in [
        (switch(2, "auth_gssapi_client", b"principal"), "auth_gssapi_client"),
        (packets(2, [[0xFE]]), "mysql_old_password"),
        (switch(2, "dialog\u{1b}", b""), "dialog\\u{1b}"),
    ] {
        let mut session = plain();
        feed(
            &mut session,
            &[&greeting("10.11.6-MariaDB", "mysql_native_password", PLAIN)],
        );
        let log = feed(&mut session, &[&request]);
        let expected = format!(
            "the server asks for authentication by the plug-in \"{name}\", which is not supported; let the account use \
             caching_sha2_password, mysql_native_password, ed25519 or, over verified TLS, \
             mysql_clear_password"
        );
        assert_eq!(log.end.unwrap().to_string(), expected);
    }
}

#[test]
fn steps_out_of_turn_are_refused() {
    for (number, body) in [
        (2, &b"\x01\x04"[..]),
        (2, b"\x07"),
        (2, b""),
        (2, b"\xfecaching_sha2_password\0too short\0"),
        (3, b"\0\0\0\x02\0\0\0"),
    ] {
        let mut session = plain();
        feed(
            &mut session,
            &[&greeting("10.11.6-MariaDB", "mysql_native_password", PLAIN)],
        );
        let log = feed(&mut session, &[&packets(number, [body])]);
        assert!(log.end.is_some() && log.sent.is_empty(), "{body:?}");
    }
}

#[test]
fn a_user_is_needed() {
    let mut session = MySession::new(Arc::new(MyConfig::default()));
    let error = session.start(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("no user name was given"), "{error}");
}

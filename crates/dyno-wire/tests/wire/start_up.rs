//! Logging in.

use std::num::NonZeroU32;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dyno_wire::tls::{SslMode, TlsError, Words};
use dyno_wire::{BackendKey, Channel, Event, PgConfig, PgSession, Session, SessionKind, WireError};
use ring::{digest, hmac, pbkdf2};

use crate::support::{Log, config, feed, message, welcome};

/// A session that has sent its start-up message.
fn begun(config: Arc<PgConfig>) -> PgSession {
    let mut session = PgSession::new(config);
    session.start(&mut Vec::new()).unwrap();
    session
}

/// An authentication request.
fn request(code: u8, data: &[u8]) -> Vec<u8> {
    message(b'R', [&[0, 0, 0, code][..], data].concat())
}

/// Why a server that sends this is not accepted.
fn refusal(stream: &[Vec<u8>]) -> String {
    feed(&mut begun(config()), &[&stream.concat()]).end.unwrap().to_string()
}

fn is_started(log: &Log) -> bool {
    log.end.is_none() && matches!(log.seen[..], [(Event::Started, ..)])
}

#[test]
fn the_first_message_says_who_and_where() {
    let mut config = PgConfig::clone(&config());
    config.runtime_parameters.push(("search_path".into(), "a,b".into()));
    let mut out = Vec::new();
    PgSession::new(Arc::new(config)).start(&mut out).unwrap();
    let expected =
        b"\0\x03\0\0user\0bench\0database\0bench\0application_name\0dyno\0client_encoding\0UTF8\0search_path\0a,b\0\0";
    assert_eq!(out[..4], (expected.len() as u32 + 4).to_be_bytes());
    assert_eq!(out[4..], expected[..]);
}

#[test]
fn a_config_that_cannot_be_sent_is_refused() {
    let no_user = PgConfig::default();
    let nul = PgConfig {
        user: "a\0b".into(),
        ..PgConfig::default()
    };
    for (config, part) in [(no_user, "no user name"), (nul, "embedded null")] {
        let error = PgSession::new(Arc::new(config)).start(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn trust() {
    let mut session = begun(config());
    assert_eq!(session.backend_key(), None);
    let log = feed(&mut session, &[&welcome()]);
    assert!(is_started(&log), "{log:?}");
    assert!(log.sent.is_empty());
    assert_eq!(
        session.backend_key(),
        Some(BackendKey {
            process_id: 7,
            secret: 9
        })
    );
    assert_eq!(session.parameter("server_version"), Some("18.1"));
}

#[test]
fn password() {
    let mut session = begun(config());
    let log = feed(&mut session, &[&request(3, b"")]);
    assert_eq!(log.sent, message(b'p', b"secret\0"));
    assert!(is_started(&feed(&mut session, &[&welcome()])));
}

#[test]
fn md5() {
    let mut session = begun(config());
    let log = feed(&mut session, &[&request(5, b"salt")]);
    // PostgreSQL: select 'md5' || md5(md5('secret' || 'bench') || 'salt')
    assert_eq!(log.sent, message(b'p', b"md576820aef5b65ee17efcd84bebe25b079\0"));
    assert!(is_started(&feed(&mut session, &[&welcome()])));
}

/// The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677).
struct ScramServer {
    password: &'static [u8],
    gs2_header: &'static [u8],
    channel_binding: &'static [u8],
}

const SALT: &[u8] = b"0123456789abcdef";
const ITERATIONS: u32 = 64;

impl ScramServer {
    /// Runs the whole exchange; `Err` holds what was wrong with the client's proof.
    fn run(&self, mechanism: &str, session: &mut PgSession) -> Result<Log, String> {
        // A server offers binding only where there is something to bind to.
        let offer = match self.channel_binding {
            b"" => "SCRAM-SHA-256\0\0",
            _ => "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
        };
        let sent = feed(session, &[&request(10, offer.as_bytes())]).sent;
        let first = String::from_utf8(sent[5 + mechanism.len() + 5..].to_vec()).unwrap();
        let header = String::from_utf8(self.gs2_header.to_vec()).unwrap();
        let first_bare = first.strip_prefix(&header).ok_or("another header")?;
        let nonce = first_bare.strip_prefix("n=,r=").ok_or("no nonce")?;
        let salt = STANDARD.encode(SALT);
        let server_first = format!("r={nonce}server,s={salt},i={ITERATIONS}");

        let sent = feed(session, &[&request(11, server_first.as_bytes())]).sent;
        let last = String::from_utf8(sent[5..].to_vec()).unwrap();
        let (without_proof, proof) = last.rsplit_once(",p=").ok_or("no proof")?;
        let binding = STANDARD.encode([self.gs2_header, self.channel_binding].concat());
        if without_proof != format!("c={binding},r={nonce}server") {
            return Err(format!("wrong binding or nonce: {without_proof}"));
        }

        let mut salted = [0; 32];
        let iterations = NonZeroU32::new(ITERATIONS).unwrap();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, SALT, self.password, &mut salted);
        let sign = |key: &[u8], text: &str| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes());
        let client_key = sign(&salted, "Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let exchange = format!("{first_bare},{server_first},{without_proof}");
        let signature = sign(stored_key.as_ref(), &exchange);
        let expected: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(a, b)| a ^ b)
            .collect();
        if STANDARD.decode(proof).unwrap() != expected {
            return Err("wrong proof".into());
        }
        let server_key = sign(&salted, "Server Key");
        let verifier = STANDARD.encode(sign(server_key.as_ref(), &exchange));
        let end = [request(12, format!("v={verifier}").as_bytes()), welcome()].concat();
        Ok(feed(session, &[&end]))
    }
}

#[test]
fn scram() {
    let server = ScramServer {
        password: b"secret",
        gs2_header: b"n,,",
        channel_binding: b"",
    };
    let mut session = begun(config());
    let log = server.run("SCRAM-SHA-256", &mut session).unwrap();
    assert!(is_started(&log), "{log:?}");
}

#[test]
fn scram_bound_to_the_encryption() {
    let server = ScramServer {
        password: b"secret",
        gs2_header: b"p=tls-server-end-point,,",
        channel_binding: b"hash",
    };
    let mut session = begun(config());
    session.travels_on(Channel::Tls(Some(b"hash".to_vec())));
    let log = server.run("SCRAM-SHA-256-PLUS", &mut session).unwrap();
    assert!(is_started(&log), "{log:?}");
}

#[test]
fn a_client_that_could_bind_says_so_when_not_offered() {
    let mut session = begun(config());
    session.travels_on(Channel::Tls(Some(b"hash".to_vec())));
    let log = feed(&mut session, &[&request(10, b"SCRAM-SHA-256\0\0")]);
    let first = String::from_utf8_lossy(&log.sent).into_owned();
    assert!(first.contains("SCRAM-SHA-256\0\0\0\0\x20y,,n=,r="), "{first:?}");
}

#[test]
fn scram_with_another_password_fails() {
    let server = ScramServer {
        password: b"other",
        gs2_header: b"n,,",
        channel_binding: b"",
    };
    assert_eq!(
        server.run("SCRAM-SHA-256", &mut begun(config())),
        Err("wrong proof".into())
    );
}

#[test]
fn a_server_must_prove_itself() {
    let mut session = begun(config());
    let sent = feed(&mut session, &[&request(10, b"SCRAM-SHA-256\0\0")]).sent;
    let nonce = String::from_utf8_lossy(&sent).rsplit_once("r=").unwrap().1.to_owned();
    let first = format!("r={nonce}x,s=MDEy,i=8");
    feed(&mut session, &[&request(11, first.as_bytes())]);
    let log = feed(&mut session, &[&request(12, b"v=AAAA")]);
    assert!(matches!(log.end, Some(WireError::Scram(_))), "{log:?}");

    let offer = request(10, b"SCRAM-SHA-256\0\0");
    assert!(refusal(&[offer.clone(), welcome()]).contains("skipped its part"));
    assert!(refusal(&[offer.clone(), request(11, b"r=other,s=MDEy,i=8")]).contains("invalid nonce"));
    assert!(refusal(&[offer, request(12, b"v=")]).contains("not its turn"));
}

#[test]
fn missing_passwords_and_unknown_methods_are_said() {
    for asked in [request(3, b""), request(5, b"salt"), request(10, b"SCRAM-SHA-256\0\0")] {
        for password in [None, Some("".into())] {
            let config = PgConfig {
                password,
                ..PgConfig::clone(&config())
            };
            let log = feed(&mut begun(Arc::new(config)), &[&asked]);
            assert!(matches!(log.end, Some(WireError::PasswordMissing(_))), "{log:?}");
        }
    }
    assert!(refusal(&[request(7, b"")]).contains("GSSAPI"));
    assert!(refusal(&[request(9, b"")]).contains("SSPI"));
    assert!(refusal(&[request(77, b"")]).contains("method 77"));
    assert!(refusal(&[request(10, b"OAUTHBEARER\0\0")]).contains("SASL (OAUTHBEARER)"));
    assert!(refusal(&[request(5, b"sal")]).contains("cut short"));
    assert!(refusal(&[request(0, b""), request(0, b"")]).contains("not its turn"));
}

#[test]
fn a_refused_start_up_gives_the_servers_reason() {
    for code in ["28P01", "3D000", "57P03", "53300"] {
        let body = format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0");
        let log = feed(&mut begun(config()), &[&message(b'E', body)]);
        let Some(WireError::Server(error)) = log.end else {
            panic!("{log:?}")
        };
        assert_eq!(error.code.as_str(), code);
    }
}

/// A session that takes only one kind of server.
fn choosy(session_kind: SessionKind) -> PgSession {
    begun(Arc::new(PgConfig {
        session_kind,
        ..PgConfig::clone(&config())
    }))
}

/// Every kind with what it takes: a read-only session, a standby.
const KINDS: [(SessionKind, Option<bool>, Option<bool>); 5] = [
    (SessionKind::Any, None, None),
    (SessionKind::ReadWrite, Some(false), None),
    (SessionKind::ReadOnly, Some(true), None),
    (SessionKind::Primary, None, Some(false)),
    (SessionKind::Standby, None, Some(true)),
];

#[test]
fn a_server_that_reports_its_kind_is_believed() {
    for (kind, read_only, standby) in KINDS {
        for (is_read_only, is_standby) in [(false, false), (true, false), (false, true)] {
            let word = |yes| if yes { "on" } else { "off" };
            let reports = [
                ("default_transaction_read_only", is_read_only),
                ("in_hot_standby", is_standby),
            ];
            let reports = reports.map(|(name, yes)| message(b'S', format!("{name}\0{}\0", word(yes))));
            let log = feed(
                &mut choosy(kind),
                &[&[request(0, b""), reports.concat(), message(b'Z', b"I")].concat()],
            );
            let fits = read_only.is_none_or(|wanted| wanted == (is_read_only || is_standby))
                && standby.is_none_or(|wanted| wanted == is_standby);
            assert_eq!(is_started(&log), fits, "{kind:?} {log:?}");
            assert_eq!(
                matches!(log.end, Some(WireError::SessionKind(_))),
                !fits,
                "{kind:?} {log:?}"
            );
            assert!(log.sent.is_empty());
        }
    }
}

#[test]
fn an_older_server_is_asked_for_its_kind() {
    for (kind, question, yes, no) in [
        (SessionKind::ReadOnly, "show transaction_read_only", "on", "off"),
        (SessionKind::Standby, "select pg_catalog.pg_is_in_recovery()", "t", "f"),
    ] {
        let answer = |value: &str| {
            let row = [&[0, 1, 0, 0, 0, value.len() as u8], value.as_bytes()].concat();
            let column = [&b"\0\x01x\0"[..], &[0; 18]].concat();
            let parts = [message(b'T', column), message(b'D', row), message(b'C', b"SELECT 1\0")];
            [parts.concat(), message(b'Z', b"I")].concat()
        };
        let mut session = choosy(kind);
        let log = feed(&mut session, &[&welcome()]);
        assert!(log.seen.is_empty() && log.end.is_none(), "{log:?}");
        assert_eq!(log.sent, message(b'Q', format!("{question}\0")));
        assert!(is_started(&feed(&mut session, &[&answer(yes)])));

        let mut session = choosy(kind);
        feed(&mut session, &[&welcome()]);
        let log = feed(&mut session, &[&answer(no)]);
        assert!(matches!(log.end, Some(WireError::SessionKind(_))), "{log:?}");

        let mut session = choosy(kind);
        feed(&mut session, &[&welcome()]);
        let refused = message(b'E', b"SERROR\0C42501\0Mno\0\0");
        let log = feed(&mut session, &[&[refused, message(b'Z', b"I")].concat()]);
        assert!(matches!(log.end, Some(WireError::Server(_))), "{log:?}");
    }
}

#[test]
fn older_protocols_offered_are_judged() {
    for version in [[0, 3, 0, 0], [0, 0, 0, 0]] {
        let offer = message(b'v', [&version[..], &[0, 0, 0, 0]].concat());
        let log = feed(&mut begun(config()), &[&offer, &welcome()]);
        assert!(is_started(&log), "{log:?}");
    }
    assert!(refusal(&[message(b'v', [0, 2, 0, 0, 0, 0, 0, 0])]).contains("version 2.0"));
    assert!(refusal(&[message(b'v', [0])]).contains("cut short"));
}

#[test]
fn ready_before_authentication_is_an_error() {
    assert!(refusal(&[message(b'Z', b"I")]).contains("before authentication"));
    assert!(refusal(&[request(3, b""), message(b'Z', b"I")]).contains("before authentication"));
    let mut eager = begun(config());
    eager.query(|_| {}, &mut Vec::new());
    let log = feed(&mut eager, &[&message(b'Z', b"I")]);
    assert!(log.seen.is_empty() && log.end.is_some(), "{log:?}");
    assert!(refusal(&[message(b'K', [0; 7])]).contains("8 bytes"));
    assert!(refusal(&[message(b'H', [0; 3])]).contains("during start-up"));
}

/// A session that has asked for TLS.
fn asking(mode: SslMode) -> PgSession {
    let mut session = PgSession::new(config()).asking_for_tls(mode);
    let mut out = Vec::new();
    assert_eq!(session.start(&mut out), Ok(Event::NeedInput));
    assert_eq!(out, [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
    session
}

#[test]
fn the_request_for_tls_comes_first_and_the_start_up_after_the_answer() {
    let mut out = Vec::new();
    let answer = asking(SslMode::Require).receive(b"S", &mut out);
    assert_eq!((answer, out.len()), (Ok((1, Event::StartTls)), 0));

    let mut session = asking(SslMode::Prefer);
    let log = feed(&mut session, &[b"N", &welcome()]);
    let mut start_up = Vec::new();
    PgSession::new(config()).start(&mut start_up).unwrap();
    assert_eq!(log.sent, start_up);
    assert!(is_started(&log), "{log:?}");

    let refused = asking(SslMode::Require).receive(b"N", &mut out);
    let why = TlsError::Refused(Words::Libpq, SslMode::Require);
    assert_eq!(refused, Err(WireError::Tls(Box::new(why))));
}

#[test]
fn nothing_may_follow_the_answer_about_tls() {
    for answer in [&b"S\x16\x03\x03"[..], b"SR\0\0\0\x08\0\0\0\0", b"NE", b"ESFATAL\0"] {
        let mut out = Vec::new();
        let refused = asking(SslMode::Prefer).receive(answer, &mut out);
        assert!(matches!(refused, Err(WireError::Tls(_))), "{refused:?}");
        assert_eq!(out, b"");
    }
}

#[test]
fn another_databases_server_is_named_however_its_greeting_is_cut() {
    let said = "a MySQL or MariaDB server answers there, not PostgreSQL; use an address that begins with mysql://";
    // The greeting's length is 82, which is the type byte of an authentication request.
    let greeting = b"R\0\0\0\x0a8.0.36\0and so on";
    for cut in 0..greeting.len() {
        let (first, second) = greeting.split_at(cut);
        let log = feed(&mut begun(config()), &[first, second]);
        assert_eq!(log.end.unwrap().to_string(), said, "{cut}");
    }
    let error = asking(SslMode::Prefer).receive(greeting, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), said);
}

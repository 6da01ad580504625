//! Handshakes with a server of our own, in memory: which certificates each mode accepts.

use std::sync::Arc;

use dyno_wire::tls::{
    ClientIdentity, ClientOptions, Roots, SslMode, TlsError, Versions, Words, client_config, server_name,
};
use dyno_wire::{Event, PgSession, Session};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, RootCertStore, ServerConfig, ServerConnection};

use crate::support::{config, feed, message};

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A certificate authority.
fn authority() -> Issuer {
    authority_named("Test authority")
}

fn authority_named(name: &str) -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// What a party shows: a certificate and its key.
struct Party {
    certificate: rcgen::Certificate,
    serial: SerialNumber,
    key: KeyPair,
}

/// A party by this common name and these alternative ones; without issuer it vouches for itself, as an authority.
fn party(issuer: Option<&Issuer>, common_name: &str, names: &[&str], until_year: i32) -> Party {
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_after = date_time_ymd(until_year, 1, 1);
    let serial = SerialNumber::from(common_name.len() as u64 + 1);
    params.serial_number = Some(serial.clone());
    let key = KeyPair::generate().unwrap();
    let certificate = match issuer {
        Some(issuer) => params.signed_by(&key, issuer).unwrap(),
        None => {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.self_signed(&key).unwrap()
        }
    };
    Party {
        certificate,
        serial,
        key,
    }
}

impl Party {
    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.der().clone()]
    }

    fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}

/// What a client is told to connect with.
#[derive(Default)]
struct Client<'a> {
    mode: SslMode,
    roots: Option<&'a str>,
    identity: Option<&'a Party>,
    host: &'a str,
    revocations: &'a [Vec<u8>],
    versions: Versions,
}

/// Shakes hands; a server with `clients` demands a certificate from that authority.
fn shake(client: &Client<'_>, server: &Party, clients: Option<&Issuer>) -> Result<ClientConnection, TlsError> {
    let roots = client.roots.map(|pem| Roots::Pem(pem.as_bytes()));
    let pem = client
        .identity
        .map(|party| (party.certificate.pem(), party.key.serialize_pem()));
    let identity = pem.as_ref().map(|(certificates, key)| ClientIdentity {
        certificates: certificates.as_bytes(),
        key: key.as_bytes(),
    });
    let config = client_config(&ClientOptions {
        mode: client.mode,
        roots,
        identity,
        revocations: client.revocations,
        versions: client.versions,
        hide_server_name: false,
        ..ClientOptions::default()
    })?;
    let name = server_name(client.mode, client.host)?;
    let mut client = ClientConnection::new(config, name)?;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(issuer) => {
            let mut store = RootCertStore::empty();
            store.add(issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(store.into(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let config = builder.with_single_cert(server.chain(), server.private_key()).unwrap();
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();

    // One round more than the handshake takes, so that the client hears what the server thinks of its certificate.
    for _ in 0..4 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            // Its refusal travels as an alert.
            let _refused = server.process_new_packets();
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets()?;
        }
    }
    assert!(!client.is_handshaking());
    Ok(client)
}

/// Whether the handshake succeeds, or why not.
fn outcome(mode: SslMode, roots: Option<&str>, host: &str, server: &Party) -> String {
    let client = Client {
        mode,
        roots,
        host,
        ..Client::default()
    };
    match shake(&client, server, None) {
        Ok(_) => "accepted".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_mode_verifies_what_it_says() {
    let authority = authority();
    let root = Some(authority.pem());
    let root = root.as_deref();
    let other = self::authority().pem();
    let other = Some(other.as_str());
    let server = party(Some(&authority), "", &["db.example.com"], 2999);

    use SslMode::{Prefer, Require, VerifyCa, VerifyFull};
    for (mode, roots, host, expected) in [
        (Prefer, None, "elsewhere", "accepted"),
        (Require, None, "elsewhere", "accepted"),
        (Require, None, "not a name", "accepted"),
        (Require, root, "elsewhere", "accepted"),
        (Require, other, "db.example.com", "not issued by any of the given root"),
        (VerifyCa, root, "elsewhere", "accepted"),
        (VerifyCa, other, "db.example.com", "not issued by any of the given root"),
        (VerifyCa, None, "db.example.com", "needs root certificates"),
        (VerifyFull, root, "db.example.com", "accepted"),
        (VerifyFull, root, "elsewhere", "is for another host"),
        (VerifyFull, root, "192.0.2.1", "is for another host"),
        (VerifyFull, root, "not a name", "neither a DNS name nor"),
        (
            VerifyFull,
            other,
            "db.example.com",
            "not issued by any of the given root",
        ),
        (VerifyFull, None, "db.example.com", "needs root certificates"),
    ] {
        let outcome = outcome(mode, roots, host, &server);
        assert!(outcome.contains(expected), "{mode} {host}: {outcome}");
    }
}

#[test]
fn a_server_may_show_a_given_root_itself() {
    let server = party(None, "db.example.com", &[], 2999);
    let root = server.certificate.pem();
    let root = Some(root.as_str());
    assert_eq!(outcome(SslMode::VerifyCa, root, "elsewhere", &server), "accepted");
    assert_eq!(
        outcome(SslMode::VerifyFull, root, "db.example.com", &server),
        "accepted"
    );
    let wrong = outcome(SslMode::VerifyFull, root, "elsewhere", &server);
    assert!(wrong.contains("is for another host"), "{wrong}");

    let expired = party(None, "db.example.com", &[], 2000);
    let root = expired.certificate.pem();
    let wrong = outcome(SslMode::VerifyCa, Some(&root), "db.example.com", &expired);
    assert!(wrong.contains("has expired"), "{wrong}");
}

#[test]
fn a_name_may_stand_in_the_common_name_alone() {
    let authority = authority();
    let root = authority.pem();
    let server = party(Some(&authority), "db.example.com", &[], 2999);
    assert_eq!(
        outcome(SslMode::VerifyFull, Some(&root), "db.example.com", &server),
        "accepted"
    );
    let wrong = outcome(SslMode::VerifyFull, Some(&root), "elsewhere", &server);
    assert!(wrong.contains("is for another host"), "{wrong}");
}

#[test]
fn a_server_may_demand_a_certificate() {
    let authority = authority();
    let server = party(None, "localhost", &[], 2999);
    let mut client = Client {
        mode: SslMode::Require,
        host: "localhost",
        ..Client::default()
    };
    let refused = shake(&client, &server, Some(&authority)).unwrap_err().to_string();
    assert!(refused.contains("check sslcert and sslkey"), "{refused}");
    let identity = party(Some(&authority), "bench", &["bench"], 2999);
    client.identity = Some(&identity);
    shake(&client, &server, Some(&authority)).unwrap();
}

#[test]
fn unusable_files_are_named() {
    let good = party(None, "localhost", &[], 2999);
    let (certificate, key) = (good.certificate.pem(), good.key.serialize_pem());
    let other_key = KeyPair::generate().unwrap().serialize_pem();
    let config = |roots: Option<&str>, certificates: &str, key: &str| {
        let identity = ClientIdentity {
            certificates: certificates.as_bytes(),
            key: key.as_bytes(),
        };
        let roots = roots.map(|pem| Roots::Pem(pem.as_bytes()));
        match client_config(&ClientOptions {
            mode: SslMode::Require,
            roots,
            identity: Some(identity),
            ..ClientOptions::default()
        }) {
            Ok(_) => "accepted".into(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(config(Some(&certificate), &certificate, &key), "accepted");
    for (outcome, part) in [
        (
            config(Some("nothing"), &certificate, &key),
            "root certificate (sslrootcert) cannot be used: it holds no",
        ),
        (
            config(None, &key, &key),
            "client certificate (sslcert) cannot be used: it holds no",
        ),
        (
            config(None, &certificate, &certificate),
            "client key (sslkey) cannot be used",
        ),
        (
            config(None, &certificate, &other_key),
            "client key (sslkey) cannot be used",
        ),
    ] {
        assert!(outcome.contains(part), "{outcome}");
    }
}

#[test]
fn settings_have_the_names_of_their_database() {
    let refused = client_config(&ClientOptions {
        mode: SslMode::VerifyCa,
        roots: Some(Roots::Pem(b"nothing")),
        words: Words::Mysql,
        ..ClientOptions::default()
    })
    .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the root certificate (ssl-ca) cannot be used: it holds no certificate in PEM"
    );
}

#[test]
fn system_roots_demand_the_name() {
    let weak = client_config(&ClientOptions {
        mode: SslMode::Require,
        roots: Some(Roots::System),
        ..ClientOptions::default()
    })
    .unwrap_err();
    assert!(weak.to_string().contains("use sslmode=verify-full"), "{weak}");
}

/// The list in PEM of what an authority has taken back, valid until then.
fn revocations(issuer: &Issuer, revoked: &[&Party], until_year: i32) -> Vec<u8> {
    let revoked_certs = revoked.iter().map(|party| RevokedCertParams {
        serial_number: party.serial.clone(),
        revocation_time: date_time_ymd(2020, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let params = CertificateRevocationListParams {
        this_update: date_time_ymd(2020, 1, 1),
        next_update: date_time_ymd(until_year, 1, 1),
        crl_number: SerialNumber::from(1_u64),
        issuing_distribution_point: None,
        revoked_certs: revoked_certs.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(issuer).unwrap().pem().unwrap().into_bytes()
}

#[test]
fn what_was_revoked_is_refused() {
    let authority = authority();
    let root = authority.pem();
    let good = party(Some(&authority), "", &["localhost"], 2999);
    let bad = party(Some(&authority), "bad", &["localhost"], 2999);
    let own = party(None, "localhost", &["localhost"], 2999);
    let own_root = own.certificate.pem();
    let current = [revocations(&authority, &[&bad], 2999)];
    let expired = [revocations(&authority, &[], 2021)];
    let other = [revocations(&authority_named("Another authority"), &[], 2999)];
    use SslMode::{Require, VerifyCa, VerifyFull};
    for (mode, roots, lists, server, expected) in [
        (VerifyFull, Some(&root), &current, &good, "accepted"),
        (VerifyFull, Some(&root), &current, &bad, "has been revoked"),
        (VerifyCa, Some(&root), &current, &bad, "has been revoked"),
        (Require, Some(&root), &current, &bad, "has been revoked"),
        // Without roots nobody is verified, as in libpq.
        (Require, None, &current, &bad, "accepted"),
        (VerifyCa, Some(&root), &expired, &good, "has expired"),
        (
            VerifyCa,
            Some(&root),
            &other,
            &good,
            "no list of revoked certificates covers",
        ),
        (VerifyCa, Some(&own_root), &current, &own, "not acceptable"),
    ] {
        let client = Client {
            mode,
            roots: roots.map(String::as_str),
            host: "localhost",
            revocations: lists,
            ..Client::default()
        };
        let outcome = match shake(&client, server, None) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(outcome.contains(expected), "{mode}: {outcome}");
    }
    let options = ClientOptions {
        mode: VerifyCa,
        roots: Some(Roots::Pem(root.as_bytes())),
        revocations: &[b"nothing".to_vec()],
        ..ClientOptions::default()
    };
    let error = client_config(&options).unwrap_err().to_string();
    assert!(error.contains("(sslcrl) cannot be used"), "{error}");
}

#[test]
fn the_log_in_is_bound_to_the_handshake() {
    let server = party(None, "db.example.com", &[], 2999);
    let client = Client {
        host: "db.example.com",
        ..Client::default()
    };
    let handshake = shake(&client, &server, None).unwrap();
    let mut session = PgSession::new(config()).asking_for_tls(SslMode::Require);
    let mut out = Vec::new();
    session.start(&mut out).unwrap();
    assert_eq!(session.receive(b"S", &mut out), Ok((1, Event::StartTls)));
    out.clear();
    assert_eq!(session.encrypted(&handshake, &mut out), Ok(Event::NeedInput));
    // The start-up message, with protocol version 3.0.
    assert_eq!(out[4..8], [0, 3, 0, 0]);
    let offer = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let sent = feed(&mut session, &[&offer]).sent;
    let sent = String::from_utf8_lossy(&sent).into_owned();
    assert!(
        sent.contains("SCRAM-SHA-256-PLUS\0") && sent.contains("p=tls-server-end-point,,"),
        "{sent:?}"
    );
}

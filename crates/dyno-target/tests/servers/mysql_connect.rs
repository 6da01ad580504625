//! Ways to a real server: by several hosts, with TLS as MySQL's clients mean it, and by MariaDB's own log-in.

use crate::support::real_mysql::skipped;
use crate::support::{home, quiet};
use dyno_target::mysql::address::{ConnectionInfo, Identity};
use dyno_target::mysql::embedded::{Embedded, EmbeddedError, EmbeddedOptions, SYSTEM, Server};
use dyno_target::target::{External, StopFlag};
use dyno_wire::tls::SslMode;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn options(cluster: &str) -> EmbeddedOptions {
    let mut options = EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    options
}

/// Two authorities in a folder, `ca.pem` and `other.pem`; the first one vouches for `localhost.pem` and `client.pem`,
/// which have their keys in them.
fn certificates(folder: &Path) {
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        // The server is another user.
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    };
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let ours = authority("Test authority");
    write("ca.pem", ours.pem());
    write("other.pem", authority("Another authority").pem());
    for name in ["localhost", "client"] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &ours).unwrap();
        write(
            &format!("{name}.pem"),
            format!("{}{}", certificate.pem(), key.serialize_pem()),
        );
    }
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
}

/// What a connection meets; empty if it is let in with TLS as far as that is asked for.
fn met(info: &ConnectionInfo) -> String {
    match info.connect() {
        Err(error) => error.to_string(),
        Ok(mut client) => {
            let cipher: Option<(String, String)> = client.query_first("show session status like 'Ssl_cipher'").unwrap();
            assert_ne!(cipher.unwrap().1, "");
            String::new()
        }
    }
}

#[test]
fn ways_to_a_server_with_tls() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name);
    let embedded = Embedded::prepare(&options("tests-mysql-connect"), &mut quiet).unwrap();
    let settings = [
        ("ssl_ca", "ca.pem"),
        ("ssl_cert", "localhost.pem"),
        ("ssl_key", "localhost.pem"),
    ];
    let mut settings = settings
        .map(|(name, value)| (name.to_owned(), file(value).display().to_string()))
        .to_vec();
    settings.insert(0, ("ssl".to_owned(), "1".to_owned()));
    let server = embedded.start(&settings, &mut quiet).unwrap();

    modes_are_mysqls(&server, folder.path());
    a_certificate_of_our_own_is_shown(&server, folder.path());
    the_first_host_that_lets_us_in_is_taken(&server);
}

fn modes_are_mysqls(server: &Server, folder: &Path) {
    let found = |host: &str, mode: SslMode, roots: Option<&str>| {
        let mut info = server.connection_tcp("mysql");
        let address = format!("mysql://root@{host}:{}/mysql", server.port());
        info.host = ConnectionInfo::resolve(&address, &|_| None).unwrap().host;
        info.ssl_mode = mode;
        info.root_certificate = roots.map(|name| folder.join(name));
        met(&info)
    };
    for (host, mode, roots) in [
        ("127.0.0.1", SslMode::Prefer, None),
        // Not looked at.
        ("127.0.0.1", SslMode::Require, Some("other.pem")),
        ("127.0.0.1", SslMode::Require, Some("none.pem")),
        ("127.0.0.1", SslMode::VerifyCa, Some("ca.pem")),
        ("localhost", SslMode::VerifyFull, Some("ca.pem")),
    ] {
        assert_eq!(found(host, mode, roots), "", "{host} {mode} {roots:?}");
    }
    for (host, mode, roots, said) in [
        ("127.0.0.1", SslMode::VerifyFull, Some("ca.pem"), "no TLS connection to"),
        (
            "localhost",
            SslMode::VerifyCa,
            Some("other.pem"),
            "no TLS connection to",
        ),
        ("localhost", SslMode::VerifyFull, None, "no TLS connection to"),
        (
            "localhost",
            SslMode::VerifyCa,
            Some("none.pem"),
            "none.pem of ssl-ca cannot be read",
        ),
    ] {
        let met = found(host, mode, roots);
        assert!(met.contains(said), "{met}");
    }
}

fn a_certificate_of_our_own_is_shown(server: &Server, folder: &Path) {
    let mut admin = server.connection("mysql").connect().unwrap();
    admin
        .execute("create or replace user carded identified by 'secret' require x509")
        .unwrap();
    let mut info = server.connection_tcp("");
    "carded".clone_into(&mut info.user);
    info.password = Some("secret".into());
    info.ssl_mode = SslMode::Require;
    assert!(met(&info).contains("Access denied for user 'carded'"), "{}", met(&info));
    let client = folder.join("client.pem");
    info.identity = Some(Identity {
        certificate: client.clone(),
        key: client,
    });
    assert_eq!(met(&info), "");
    info.identity = Some(Identity {
        certificate: folder.join("client.pem"),
        key: folder.join("ca.pem"),
    });
    assert!(
        met(&info).contains("the client key (ssl-key) cannot be used"),
        "{}",
        met(&info)
    );
    admin.execute("drop user carded").unwrap();
}

fn the_first_host_that_lets_us_in_is_taken(server: &Server) {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let port = server.port();
    let mut info = server.connection_tcp("mysql");
    let hosts = |hosts: &str| ConnectionInfo::resolve(&format!("mysql://root@{hosts}/mysql"), &|_| None).unwrap();
    let given = hosts(&format!("nobody.invalid,{closed},127.0.0.1:{port}"));
    (info.host, info.others) = (given.host, given.others);
    info.connect().unwrap();
    let reachable = info.first_reachable(&StopFlag::default()).unwrap();
    assert_eq!(reachable.to_string(), format!("mysql://root@127.0.0.1:{port}/mysql"));
    // One that nobody knows takes no place among those that a load tries.
    assert_eq!(info.endpoints().unwrap().len(), 2);

    // Where a server refuses the password, another one would as well.
    info.password = Some("wrong".into());
    let (first, others) = (info.others[1].clone(), vec![info.others[0].clone()]);
    (info.host, info.others) = (first, others);
    let error = info.connect().unwrap_err().to_string();
    assert!(error.contains("Access denied") && error.lines().count() == 1, "{error}");
    info.host = info.others[0].clone();
    let error = info.connect().unwrap_err().to_string();
    assert_eq!(error.matches("Connection refused").count(), 2, "{error}");
}

/// Only MariaDBs with their plug-ins have it, such as Debian's.
#[test]
fn a_signature_opens_mariadb() {
    let mut options = options("tests-mysql-ed25519");
    SYSTEM.clone_into(&mut options.version);
    let embedded = match Embedded::prepare(&options, &mut quiet) {
        Ok(embedded) => embedded,
        Err(error @ EmbeddedError::NotInstalled { .. }) => return skipped("a_signature_opens_mariadb", error),
        Err(error) => panic!("{error}"),
    };
    let server = embedded.start(&[], &mut quiet).unwrap();
    let mut admin = server.connection("mysql").connect().unwrap();
    if let Err(error) = admin.execute("install soname 'auth_ed25519'") {
        return skipped("a_signature_opens_mariadb", error);
    }
    admin
        .execute("create or replace user signing identified via ed25519 using password('s3cret')")
        .unwrap();
    for mut info in [server.connection(""), server.connection_tcp("")] {
        "signing".clone_into(&mut info.user);
        info.password = Some("s3cret".into());
        let who: Option<String> = info.connect().unwrap().query_first("select current_user()").unwrap();
        assert_eq!(who.as_deref(), Some("signing@%"));
        info.password = Some("wrong".into());
        let error = info.connect().unwrap_err().to_string();
        assert!(error.contains("Access denied for user 'signing'"), "{error}");
    }
    admin
        .execute("drop user signing; uninstall soname 'auth_ed25519'")
        .unwrap();
}

//! TLS with a server that offers it: encrypted on demand, and verified down to the host's name.

use crate::support::{Desk, certificate_folder, run_folders, temporary, tls_server};

#[test]
fn encrypted_and_verified() {
    let folder = temporary("tls-");
    certificate_folder(folder.path());
    let shared = tls_server(folder.path());
    let endpoint = shared.server.connection_tcp("postgres").endpoint().unwrap();
    let password = endpoint.config.password.as_ref().unwrap().reveal().to_vec();
    let password = String::from_utf8(password).unwrap();
    let port = shared.server.port();
    let authority = folder.path().join("ca.pem").display().to_string();
    let target = |host: &str, options: &str| format!("postgres://postgres:{password}@{host}:{port}/postgres?{options}");
    let desk = Desk::new();
    let script = "select 1 / (select count(*) from pg_stat_ssl where pid = pg_backend_pid() and ssl);";
    desk.experiment("tls.toml", "clients = 3", script, "300ms");
    for options in [
        "sslmode=prefer".to_owned(),
        "sslmode=require".to_owned(),
        format!("sslmode=verify-ca&sslrootcert={authority}"),
        format!("sslmode=verify-full&sslrootcert={authority}"),
    ] {
        // A statement on a connection without TLS would fail.
        let ended = desk.on(&target("localhost", &options), ["tls.toml"]).expect(0);
        ended.shows("errors none");
    }
    let runs = run_folders(&desk.archive()).len();
    for (host, options, said) in [
        // The certificate is for localhost only, and of an authority that nobody knows.
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={authority}"),
            "not valid for name",
        ),
        ("localhost", "sslmode=verify-full".to_owned(), "give sslrootcert=FILE"),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=system".to_owned(),
            "no trusted authority vouches for",
        ),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=none.pem".to_owned(),
            "none.pem",
        ),
    ] {
        desk.on(&target(host, &options), ["tls.toml"]).expect(1).says(said);
    }
    assert_eq!(run_folders(&desk.archive()).len(), runs);
    desk.assert_nowhere(&password);
}

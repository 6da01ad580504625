//! A server that offers TLS: encrypted on demand, verified down to the host's name, and never given a password that
//! its owner keeps from it.

use crate::support::{Desk, Ended, Shared, certificate_folder, run_folders, temporary, tls_server};
use dyno_target::postgres::address::Host;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        let looked = desk
            .command(["doctor", &target("localhost", &options)])
            .output()
            .unwrap();
        Ended::from(looked)
            .expect(0)
            .shows("as postgres, a superuser, by scram-sha-256, encrypted by TLSv1.3");
    }
    let runs = run_folders(&desk.archive()).len();
    for (host, options, said) in [
        // The certificate is for localhost only, and of an authority that nobody knows.
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={authority}"),
            "certificate is for another host",
        ),
        ("localhost", "sslmode=verify-full".to_owned(), "give sslrootcert=FILE"),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=system".to_owned(),
            "was not issued by any",
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
    demands_are_met(folder.path(), &shared);
}

const SECRET: &str = "s3cr3t-Pa55word";

/// A way to connect, the same for dyno and psql.
type Variables = HashMap<&'static str, String>;

/// Whether dyno gets through with these variables, and psql too if it is here and old enough to know them.
#[track_caller]
fn decides(desk: &Desk, variables: &Variables, accepted: bool) -> String {
    let mut dyno = desk.command(["pgbench", "-n", "-t", "1", "-f", "one.sql"]);
    let ended = Ended::of(dyno.envs(variables));
    let what = format!("{variables:?}\n{}", ended.stderr);
    assert_eq!(ended.code == Some(0), accepted, "dyno {what}");
    assert!(!ended.stderr.contains(SECRET), "{what}");
    let psql = PathBuf::from("/usr/lib/postgresql/15/bin/psql");
    if psql.exists() && !variables.contains_key("PGREQUIREAUTH") {
        let mut psql = Command::new(psql);
        let output = psql.args(["-X", "-c", "select 1"]).envs(variables).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), accepted, "psql {what}\n{said}");
    }
    ended.stderr
}

/// What may be demanded of a server is demanded of it as psql demands it, over TLS, without, and on the unix socket.
fn demands_are_met(folder: &Path, shared: &Shared) {
    const METHODS: [&str; 4] = ["trust", "password", "md5", "scram-sha-256"];
    let admin = shared.server.connection("postgres");
    let mut client = admin.connect().unwrap();
    let hba: String = client.query_one("show hba_file", &[]).unwrap().get(0);
    let before = fs::read_to_string(&hba).unwrap();
    let before = before.lines().filter(|line| !line.contains("e2e_tls_"));
    let mut lines = Vec::new();
    for method in METHODS {
        let encryption = if method == "md5" { "md5" } else { "scram-sha-256" };
        client
            .batch_execute(&format!(
                "drop role if exists \"e2e_tls_{method}\"; set password_encryption = '{encryption}';
                 create role \"e2e_tls_{method}\" login password '{SECRET}'"
            ))
            .unwrap();
        lines.push(format!("local all e2e_tls_{method} {method}"));
        lines.push(format!("host all e2e_tls_{method} 127.0.0.1/32 {method}"));
    }
    let text: Vec<&str> = lines.iter().map(String::as_str).chain(before).collect();
    fs::write(&hba, text.join("\n") + "\n").unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    // The server takes it in on its own time.
    crate::support::wait_for("the rules", || {
        client
            .query_one(
                "select count(*) from pg_hba_file_rules where user_name::text like '%e2e_tls_%'",
                &[],
            )
            .is_ok_and(|row| row.get::<_, i64>(0) == 8)
    });
    let socket = admin.hosts().find_map(|host| match host {
        Host::Unix { directory, .. } => Some(directory.display().to_string()),
        Host::Tcp { .. } => None,
    });
    let socket = socket.unwrap();
    let desk = Desk::new();
    desk.file("one.sql", "select 1;\n");
    let way = |method: &str, host: &str, sslmode: &str, more: &[(&'static str, &str)]| -> Variables {
        let port = shared.server.port().to_string();
        let user = format!("e2e_tls_{method}");
        let fixed = [
            ("PGHOST", host),
            ("PGPORT", &port),
            ("PGUSER", &user),
            ("PGPASSWORD", SECRET),
            ("PGDATABASE", "postgres"),
            ("PGSSLMODE", sslmode),
        ];
        let all = fixed.iter().chain(more);
        all.map(|(name, value)| (*name, (*value).to_owned())).collect()
    };
    let ways = [
        ("127.0.0.1", "require"),
        ("127.0.0.1", "disable"),
        (&*socket, "disable"),
    ];
    for method in METHODS {
        for (host, sslmode) in ways {
            decides(&desk, &way(method, host, sslmode, &[]), true);
            let bound = method == "scram-sha-256" && sslmode == "require";
            let said = decides(
                &desk,
                &way(method, host, sslmode, &[("PGCHANNELBINDING", "require")]),
                bound,
            );
            assert!(bound || said.contains("channel binding"), "{said}");
        }
        // The first is what must be asked for, the second what must not.
        for (list, accepted) in [
            (method.replace("trust", "none"), true),
            (format!("!{}", method.replace("trust", "none")), false),
            ("gss".to_owned(), false),
        ] {
            for (host, sslmode) in ways {
                let said = decides(
                    &desk,
                    &way(method, host, sslmode, &[("PGREQUIREAUTH", &list)]),
                    accepted,
                );
                let words = format!("authentication method requirement \"{list}\" failed: server ");
                assert!(accepted || said.contains(&words), "{said}");
            }
        }
    }
    let binding = [("PGCHANNELBINDING", "disable")];
    decides(&desk, &way("scram-sha-256", "127.0.0.1", "require", &binding), true);

    let owner: String = client
        .query_one("select pg_read_file('/etc/passwd')", &[])
        .ok()
        .and_then(|row| {
            let uid = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&hba).unwrap());
            let users: String = row.get(0);
            let user = users
                .lines()
                .find(|line| line.split(':').nth(2) == Some(&uid.to_string()))?;
            Some(user.split(':').next()?.to_owned())
        })
        .unwrap();
    for (host, peer, accepted) in [
        (&*socket, &*owner, true),
        (&*socket, "nobody-of-that-name", false),
        ("127.0.0.1", "nobody-of-that-name", true),
    ] {
        let said = decides(
            &desk,
            &way("md5", host, "disable", &[("PGREQUIREPEER", peer)]),
            accepted,
        );
        assert!(
            accepted || said.contains("requirepeer specifies \"nobody-of-that-name\", but"),
            "{said}"
        );
    }

    let authority = folder.join("ca.pem").display().to_string();
    let list = |name: &str| folder.join(name).display().to_string();
    let (current, revoking) = (list("empty.crl"), list("revoking.crl"));
    for (list, accepted) in [(&current, true), (&revoking, false)] {
        let more = [("PGSSLROOTCERT", &*authority), ("PGSSLCRL", list)];
        let said = decides(&desk, &way("scram-sha-256", "127.0.0.1", "verify-ca", &more), accepted);
        assert!(accepted || said.to_lowercase().contains("revoked"), "{said}");
    }
    client
        .batch_execute("alter system set ssl_max_protocol_version = 'TLSv1.2'")
        .unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    crate::support::wait_for("the older TLS", || {
        let row = client.query_one("show ssl_max_protocol_version", &[]).unwrap();
        row.get::<_, String>(0) == "TLSv1.2"
    });
    for (variable, version, accepted) in [
        ("PGSSLMINPROTOCOLVERSION", "TLSv1.3", false),
        ("PGSSLMINPROTOCOLVERSION", "TLSv1.2", true),
        ("PGSSLMAXPROTOCOLVERSION", "TLSv1.2", true),
    ] {
        decides(
            &desk,
            &way("scram-sha-256", "127.0.0.1", "require", &[(variable, version)]),
            accepted,
        );
    }
    client
        .batch_execute("alter system reset ssl_max_protocol_version")
        .unwrap();
}

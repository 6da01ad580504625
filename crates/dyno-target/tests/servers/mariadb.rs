//! A private MariaDB: fetching, starting, stopping, and what is left when somebody is killed.

use crate::support::holder::{self, Holder, is_alive, wait_for};
use crate::support::{home, quiet};
use dyno_target::mysql::embedded::{Embedded, EmbeddedError, EmbeddedOptions, Progress, Server};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn options(cluster: &str) -> EmbeddedOptions {
    let mut options = EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    options
}

fn start(cluster: &str) -> (Embedded, Server) {
    let embedded = Embedded::prepare(&options(cluster), &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    (embedded, server)
}

/// In a helper process: holds a running server until it is killed.
#[test]
fn helper_holds_a_server() {
    let Some((home, cluster)) = holder::asked() else {
        return;
    };
    let mut options = options(&cluster);
    options.home = home;
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    // Started from a thread that ends at once: the server must outlive it.
    let server = std::thread::scope(|scope| scope.spawn(|| embedded.start(&[], &mut quiet).unwrap()).join().unwrap());
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!server.has_exited());
    println!("\nserver {}", server.pid());
    wait_for("being killed", || false);
}

#[test]
fn starts_durable_and_keeps_data_over_a_crash() {
    let (embedded, server) = start("tests-mariadb-main");
    let mut client = server.connection("mysql").connect().unwrap();
    let shown = |client: &mut dyno_target::mysql::Client, name: &str| {
        let query = format!("select cast(@@global.{name} as char)");
        client.query_first::<String>(&query).unwrap().unwrap()
    };
    assert!(shown(&mut client, "version").starts_with("11.4.5-MariaDB"));
    assert_eq!(shown(&mut client, "innodb_flush_log_at_trx_commit"), "1");
    assert_eq!(shown(&mut client, "sync_binlog"), "1");
    assert_eq!(shown(&mut client, "innodb_doublewrite"), "ON");
    let temporary = shown(&mut client, "tmpdir");
    assert!(temporary.ends_with("/tests-mariadb-main"), "{temporary}");
    let charset = "select count(*) from information_schema.character_sets where character_set_name = 'utf8mb4'";
    assert_eq!(client.query_first::<u64>(charset).unwrap(), Some(1));
    assert_eq!(shown(&mut client, "character_set_server"), "utf8mb4");

    client.execute("create or replace database kept").unwrap();
    client
        .execute("create table kept.t (i int primary key) engine = innodb")
        .unwrap();
    client.execute("insert into kept.t values (1), (2)").unwrap();
    assert!(!server.has_exited());
    let handle = server.handle();
    handle.stop_now();
    wait_for("the end of the server", || handle.has_exited());
    let lost = client.execute("do 1").unwrap_err().to_string();
    assert!(lost.starts_with("the connection to unix socket "), "{lost}");
    drop(server);

    let settings = [("innodb_buffer_pool_size".to_owned(), "64M".to_owned())];
    let server = embedded.start(&settings, &mut quiet).unwrap();
    let mut client = server.connection_tcp("kept").connect().unwrap();
    assert_eq!(client.query::<u32>("select i from t order by i").unwrap(), [1, 2]);
    assert_eq!(shown(&mut client, "innodb_buffer_pool_size"), "67108864");
    let error = client.execute("select nothing").unwrap_err().to_string();
    assert!(error.starts_with("ERROR 1054: Unknown column 'nothing'"), "{error}");
    client.execute("drop database kept").unwrap();
    let sockets = server.connection("").host.to_string();
    let pid = server.pid();
    assert!(fs::exists(&sockets).unwrap());
    server.stop();
    assert!(!is_alive(pid));
    assert!(!fs::exists(&sockets).unwrap());
}

#[test]
fn only_the_password_opens_it() {
    let (_embedded, server) = start("tests-mariadb-password");
    for info in [server.connection("mysql"), server.connection_tcp("mysql")] {
        for password in [None, Some("wrong".into())] {
            let mut info = info.clone();
            info.password = password;
            let error = info.connect().unwrap_err().to_string();
            assert!(error.contains("Access denied for user 'root'@"), "{error}");
        }
        info.connect().unwrap();
    }
    let others =
        "select count(*) from mysql.global_priv where json_value(priv, '$.authentication_string') in ('', 'invalid')
                     and user = 'root'";
    let mut client = server.connection("mysql").connect().unwrap();
    assert_eq!(client.query_first::<u64>(others).unwrap(), Some(0));
}

#[test]
fn speaks_tls_where_it_is_asked_for() {
    let embedded = Embedded::prepare(&options("tests-mariadb-tls"), &mut quiet).unwrap();
    let settings = [("ssl".to_owned(), "1".to_owned())];
    let server = embedded.start(&settings, &mut quiet).unwrap();
    let mut info = server.connection_tcp("mysql");
    let cipher = |info: &dyno_target::mysql::address::ConnectionInfo| {
        let mut client = info.connect().unwrap();
        let row: Option<(String, String)> = client.query_first("show session status like 'Ssl_version'").unwrap();
        row.unwrap().1
    };
    assert_eq!(cipher(&info), "");
    for mode in [dyno_wire::tls::SslMode::Prefer, dyno_wire::tls::SslMode::Require] {
        info.ssl_mode = mode;
        assert!(cipher(&info).starts_with("TLSv1."));
    }
    // The certificate is one that the server made for itself.
    info.ssl_mode = dyno_wire::tls::SslMode::VerifyFull;
    let error = info.connect().unwrap_err().to_string();
    assert!(
        error.contains("no TLS connection to") && error.contains("certificate"),
        "{error}"
    );
    info.ssl_mode = dyno_wire::tls::SslMode::VerifyCa;
    let error = info.connect().unwrap_err().to_string();
    assert!(error.contains("give ssl-ca"), "{error}");
}

#[test]
fn a_killed_dyno_leaves_nothing() {
    let mut holder = Holder::start("mariadb::helper_holds_a_server", "tests-mariadb-killed");
    let pid = holder.server_pid();
    assert!(is_alive(pid));
    holder.kill();
    wait_for("the end of the server", || !is_alive(pid));
    let (_embedded, server) = start("tests-mariadb-killed");
    server.connection("mysql").connect().unwrap();
}

#[test]
fn a_server_left_behind_is_stopped() {
    let embedded = Embedded::prepare(&options("tests-mariadb-stale"), &mut quiet).unwrap();
    let data = embedded.data_folder();
    let owner = fs::metadata(data).unwrap();
    let base = home().join("mariadb").join(embedded.version());
    // A server that nobody keeps, as if one had not followed its parent.
    let mut orphan = Command::new(base.join("bin/mariadbd"))
        .arg("--no-defaults")
        .arg(format!("--basedir={}", base.display()))
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", data.join("orphan.sock").display()))
        .arg(format!("--pid-file={}", data.join("mariadbd.pid").display()))
        .args(["--skip-networking", "--skip-ssl"])
        .current_dir("/")
        .uid(owner.uid())
        .gid(owner.gid())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It is asked to stop only once it greets: while it starts, this can leave it hanging until it is killed.
    wait_for("the orphan's start", || {
        let greeting = UnixStream::connect(data.join("orphan.sock")).and_then(|mut connection| {
            connection.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
            connection.read_exact(&mut [0])
        });
        greeting.is_ok()
    });
    let mut steps = Vec::new();
    let server = embedded.start(&[], &mut |step| steps.push(step)).unwrap();
    let stopping = Progress::StoppingStale { pid: orphan.id() };
    assert_eq!(steps, [stopping, Progress::Starting { product: "MariaDB" }]);
    assert!(orphan.wait().unwrap().success());
    server.connection("mysql").connect().unwrap();
}

#[test]
fn says_why_it_does_not_start() {
    let embedded = Embedded::prepare(&options("tests-mariadb-start"), &mut quiet).unwrap();
    let unknown = [("shared_buffers".to_owned(), "1GB".to_owned())];
    let error = embedded.start(&unknown, &mut quiet).unwrap_err().to_string();
    assert_eq!(
        error,
        "MariaDB 11.4.5 has no setting shared_buffers; leave it out, or give it by the name that it has there"
    );
    let wrong = [("innodb_buffer_pool_size".to_owned(), "often".to_owned())];
    let error = embedded.start(&wrong, &mut quiet).unwrap_err();
    assert!(matches!(error, EmbeddedError::Start { .. }), "{error}");
    assert!(error.to_string().contains("value 'often'"), "{error}");
    let server = embedded.start(&[], &mut quiet).unwrap();
    let error = embedded.start(&[], &mut quiet).unwrap_err();
    assert!(matches!(error, EmbeddedError::Running { .. }), "{error}");
    drop(server);
}

/// Where the system has one, such as Debian's, it does as well.
#[test]
fn an_installed_one_does_as_well() {
    let mut options = options("tests-mariadb-system");
    "system".clone_into(&mut options.version);
    match Embedded::prepare(&options, &mut quiet) {
        Err(error) => assert!(matches!(error, EmbeddedError::NotInstalled { .. }), "{error}"),
        Ok(embedded) => {
            let server = embedded.start(&[], &mut quiet).unwrap();
            let mut client = server.connection("mysql").connect().unwrap();
            let version: String = client.query_first("select version()").unwrap().unwrap();
            assert!(version.starts_with(embedded.version()), "{version}");
        }
    }
}

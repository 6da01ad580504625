//! A real MySQL: what it has of its own, above all how it lets us in. Where none can be had, the test says so and
//! passes.

use crate::support::real_mysql::{RealMysql, skipped};
use crate::support::{home, quiet};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::embedded::{EmbeddedError, EmbeddedMysql, EmbeddedOptions, Maker, SYSTEM};
use dyno_target::target::{Data, External, Progress, Sql, State, StopFlag, Wanted};

fn refused(info: &ConnectionInfo) -> String {
    info.connect().unwrap_err().to_string()
}

fn status(client: &mut Client, name: &str) -> String {
    let query = format!("show session status like '{name}'");
    let row: Option<(String, String)> = client.query_first(&query).unwrap();
    row.unwrap().1
}

/// What is told while data is prepared.
struct Steps(Vec<String>);

impl Progress for Steps {
    fn step(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }

    fn note(&mut self, text: &str) {
        panic!("{text}");
    }
}

fn sql(text: &str) -> Sql {
    Sql {
        text: text.to_owned(),
        name: "the set-up".to_owned(),
    }
}

/// Its databases have no comments: dyno knows its own all the same, and leaves those of others alone.
fn data_is_known_again(mysql: &RealMysql, root: &mut Client) {
    let data = |read_only: bool| Data {
        experiment: "guest".to_owned(),
        setup: sql("create table t (id int primary key); insert into t values (1), (2)"),
        fill: Vec::new(),
        finish: sql(""),
        tablespaces: Vec::new(),
        maker: None,
        definition: "it".to_owned(),
        locale: None,
        read_only,
        state: State::Copy,
        linked: false,
    };
    let (info, stop) = (mysql.root(), StopFlag::default());
    let prepared = |data: &Data| {
        let mut steps = Steps(Vec::new());
        let wanted = Wanted {
            data,
            all: &[],
            campaign: "a",
        };
        match info.prepare(wanted, &mut Vec::new(), &mut steps, &stop) {
            Ok(database) => {
                let mut control = database.control(&stop).unwrap();
                assert_eq!(control.settle().unwrap(), Vec::<String>::new());
                assert_eq!(control.sizes().unwrap().tables.len(), 1);
                database.mark_used(&stop).unwrap();
                steps.0.join(", ")
            }
            Err(error) => error.to_string(),
        }
    };
    const ANEW: &str = "Creating the schema";
    const KEPT: &str = "Using the data that is loaded";
    for (read_only, expected) in [(true, ANEW), (true, KEPT), (false, KEPT), (true, ANEW)] {
        assert_eq!(prepared(&data(read_only)), expected, "{read_only}");
    }
    assert_eq!(info.own_data(&stop).unwrap().len(), 1);
    assert_eq!(info.remove("dyno_run", &mut Vec::new(), &stop).unwrap(), None);
    assert_eq!(info.own_data(&stop).unwrap(), []);
    root.execute("create database dyno_run").unwrap();
    let refused = prepared(&data(true));
    assert!(
        refused.contains("there is a database dyno_run without dyno's mark"),
        "{refused}"
    );
}

#[test]
fn a_real_mysql_is_a_server_like_mariadb() {
    let mysql = match RealMysql::start(&[]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped("a_real_mysql_is_a_server_like_mariadb", why),
    };
    let mut root = mysql.root().connect().unwrap();
    let version: Option<String> = root.query_first("select version()").unwrap();
    println!("MySQL {}", version.unwrap());
    let identity: Option<String> = root.query_first("select @@server_uuid").unwrap();
    assert_eq!(mysql.root().identity(&StopFlag::default()), identity);

    root.execute("create user cached identified with caching_sha2_password by 's3cret'")
        .unwrap();
    for parameters in ["ssl-mode=disabled", "ssl-mode=required"] {
        // The server forgets who has been here: the whole password is asked for, and then only whether we know it.
        root.execute("flush privileges").unwrap();
        for _ in 0..2 {
            let mut client = mysql.over_tcp("cached:s3cret", parameters).connect().unwrap();
            assert_eq!(
                status(&mut client, "Ssl_cipher").is_empty(),
                parameters.ends_with("disabled")
            );
        }
        let error = refused(&mysql.over_tcp("cached:wrong", parameters));
        assert!(error.contains("Access denied for user 'cached'"), "{error}");
    }
    root.execute("create user secured identified by 's3cret' require ssl")
        .unwrap();
    mysql.over_tcp("secured:s3cret", "").connect().unwrap();
    let error = refused(&mysql.over_tcp("secured:s3cret", "ssl-mode=disabled"));
    assert!(error.contains("Access denied for user 'secured'"), "{error}");

    data_is_known_again(&mysql, &mut root);
    // Not in every version.
    if root
        .execute("create user plain identified with mysql_native_password by 's3cret'")
        .is_ok()
    {
        mysql.over_tcp("plain:s3cret", "ssl-mode=disabled").connect().unwrap();
    }
}

/// What the machine has installed is a private server like others.
#[test]
fn an_installed_mysql_is_private() {
    let mut options = EmbeddedOptions::new(home());
    options.maker = Maker::Mysql;
    SYSTEM.clone_into(&mut options.version);
    "tests-mysql".clone_into(&mut options.cluster);
    let embedded = match EmbeddedMysql::prepare(&options, &mut quiet) {
        Ok(embedded) => embedded,
        Err(error @ EmbeddedError::NotInstalled { .. }) => return skipped("an_installed_mysql_is_private", error),
        Err(error) => panic!("{error}"),
    };
    let server = embedded.start(&[], &mut quiet).unwrap();
    let mut client = server.connection("mysql").connect().unwrap();
    let mut shown = |name: &str| {
        let value: Option<String> = client
            .query_first(&format!("select cast(@@global.{name} as char)"))
            .unwrap();
        value.unwrap()
    };
    assert!(shown("version").starts_with(embedded.version()));
    assert_eq!(shown("innodb_flush_log_at_trx_commit"), "1");
    assert_eq!(shown("sync_binlog"), "1");
    assert_eq!(shown("character_set_server"), "utf8mb4");
    for mut info in [server.connection("mysql"), server.connection_tcp("mysql")] {
        info.connect().unwrap();
        info.password = None;
        assert!(
            refused(&info).contains("Access denied for user 'root'"),
            "{}",
            refused(&info)
        );
    }
    client
        .execute("drop database if exists kept; create database kept")
        .unwrap();
    client
        .execute("create table kept.t (i int primary key); insert into kept.t values (1), (2)")
        .unwrap();
    // As by kill -9: what was committed is there again.
    server.stop_now();
    let unknown = [("shared_buffers".to_owned(), "1GB".to_owned())];
    let error = embedded.start(&unknown, &mut quiet).unwrap_err().to_string();
    assert!(error.contains("has no setting shared_buffers"), "{error}");
    let settings = [("innodb_buffer_pool_size".to_owned(), "64M".to_owned())];
    let server = embedded.start(&settings, &mut quiet).unwrap();
    let mut client = server.connection_tcp("kept").connect().unwrap();
    assert_eq!(client.query::<u32>("select i from t order by i").unwrap(), [1, 2]);
    client.execute("drop database kept").unwrap();
}

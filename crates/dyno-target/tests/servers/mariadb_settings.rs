//! Settings of a MariaDB that is not dyno's own: set as far as they can be, put back, and never left half changed.

use crate::support::{home, quiet};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions};
use dyno_target::target::{External, Saved, SavedSetting, StopFlag, TargetError};
use std::thread;
use std::time::Duration;

/// Whether the statement of another session is under way.
const STRAY: &str = "select info from information_schema.processlist where info like 'set global max_connections%'";

fn settings(each: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    each.iter().map(owned).collect()
}

fn value(client: &mut Client, name: &str) -> String {
    client.query_first(&format!("select @@global.{name}")).unwrap().unwrap()
}

/// Plans a change as a campaign does.
fn planned(
    server: &ConnectionInfo,
    each: &[(&str, &str)],
) -> Result<Box<dyn dyno_target::target::Change>, TargetError> {
    let stop = StopFlag::default();
    let fitted = server.fit(&settings(each), &stop)?;
    server.plan_change(&fitted.settings, None, &stop)
}

fn refused<T>(result: Result<T, TargetError>) -> String {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn settings_are_set_as_far_as_they_can_be_and_put_back() {
    let mut options = EmbeddedOptions::new(home());
    "tests-mariadb-settings".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    let info = server.connection("mysql");
    let mut client = info.connect().unwrap();

    // A size of the buffer pool that is no whole number of chunks, one that is rounded, one that is fixed at the start.
    let wanted = [
        ("innodb_buffer_pool_size", "200MB"),
        ("innodb-flush-log-at-trx-commit", "2"),
        ("innodb_log_file_size", "64 MB"),
        ("innodb_page_size", "8kB"),
        ("table_definition_cache", "100"),
        ("max_connections", "151"),
    ];
    let names = [
        "innodb_buffer_pool_size",
        "innodb_flush_log_at_trx_commit",
        "innodb_log_file_size",
        "innodb_page_size",
        "table_definition_cache",
    ];
    let definitions = value(&mut client, "table_definition_cache");
    let before: Vec<_> = names.iter().map(|name| value(&mut client, name)).collect();
    let change = planned(&info, &wanted).unwrap();
    let [page_size] = change.unset() else {
        panic!("{:?}", change.unset())
    };
    assert_eq!(
        (page_size.name.as_str(), page_size.wanted.as_str()),
        ("innodb_page_size", "8K")
    );
    assert_eq!(page_size.found, "16K");
    assert!(
        page_size.reason.starts_with("it takes effect when the server starts"),
        "{page_size}"
    );
    let saved = change.saved().clone();
    assert_eq!(saved.settings.len(), 4, "{saved:?}");
    let applied = change.apply().unwrap();
    // The server has a least value for it.
    let cache = applied
        .unset
        .iter()
        .find(|unset| unset.name == "table_definition_cache");
    assert!(
        cache.unwrap().reason.starts_with("the server makes 400 of it"),
        "{cache:?}"
    );
    assert_eq!(value(&mut client, "table_definition_cache"), before[4]);
    let pool = value(&mut client, "innodb_buffer_pool_size").parse::<u64>().unwrap();
    assert!((200 << 20..230 << 20).contains(&pool), "{pool}");
    assert_eq!(value(&mut client, "innodb_flush_log_at_trx_commit"), "2");
    assert_eq!(value(&mut client, "innodb_log_file_size"), (64 << 20).to_string());

    // Somebody else's change is not undone.
    client.execute("set global innodb_flush_log_at_trx_commit = 0").unwrap();
    let restored = info.restore(&saved, None).unwrap();
    assert_eq!(restored.others, ["innodb_flush_log_at_trx_commit"]);
    client.execute("set global innodb_flush_log_at_trx_commit = 1").unwrap();
    let after: Vec<_> = names.iter().map(|name| value(&mut client, name)).collect();
    // The buffer pool is resized in the background.
    assert_eq!(after, before);
    assert_eq!(info.restore(&saved, None).unwrap().others, Vec::<String>::new());
    assert_eq!(
        info.restore(&Saved::default(), None).unwrap().others,
        Vec::<String>::new()
    );

    // A record that somebody else wrote changes nothing that no change has left.
    let foreign = |name: &str, value: &str, set_to: Option<&str>| SavedSetting {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        needs_restart: false,
        set_to: set_to.map(str::to_owned),
    };
    let others = Saved {
        settings: vec![
            foreign("max_connections = 7, global wait_timeout", "5", None),
            foreign("max_connections", "77", None),
            foreign("init_connect", "select 1", Some("")),
        ],
    };
    assert_eq!(info.restore(&others, None).unwrap().others.len(), 3);
    assert_eq!(value(&mut client, "max_connections"), "151");
    assert_eq!(value(&mut client, "init_connect"), "");

    // The change of a dyno that was killed meanwhile is still under way, and shows nothing yet.
    let mut stray = info.connect().unwrap();
    let stray = thread::spawn(move || stray.execute("set global max_connections = (select 77 + sleep(2))"));
    while client.query::<String>(STRAY).unwrap().is_empty() {
        thread::sleep(Duration::from_millis(10));
    }
    let killed = Saved {
        settings: vec![foreign("max_connections", "151", Some("77"))],
    };
    assert_eq!(info.restore(&killed, None).unwrap().others, Vec::<String>::new());
    stray.join().unwrap().unwrap();
    assert_eq!(value(&mut client, "max_connections"), "151");

    // The server changes a second setting with the first; both are named, and put back whatever their order.
    let capacities = ["innodb_io_capacity", "innodb_io_capacity_max"];
    let before = capacities.map(|name| value(&mut client, name));
    for wanted in [
        &[("innodb_io_capacity", "50000")][..],
        &[("innodb_io_capacity", "5000"), ("innodb_io_capacity_max", "6000")],
        &[("innodb_io_capacity_max", "6000"), ("innodb_io_capacity", "5000")],
    ] {
        let change = planned(&info, wanted).unwrap();
        assert_eq!(change.saved().settings.len(), 2);
        let saved = change.saved().clone();
        assert!(change.apply().unwrap().unset.is_empty());
        assert_eq!(value(&mut client, wanted[0].0), wanted[0].1);
        assert_eq!(info.restore(&saved, None).unwrap().others, Vec::<String>::new());
        assert_eq!(capacities.map(|name| value(&mut client, name)), before);
    }

    // One that cannot be put back keeps none of the others from it.
    client
        .execute("set global max_connections = 77, global sync_binlog = 5")
        .unwrap();
    let broken = Saved {
        settings: vec![
            foreign("max_connections", "151", Some("77")),
            foreign("sync_binlog", "often", Some("5")),
        ],
    };
    let error = refused(info.restore(&broken, None).map(drop));
    assert!(error.contains("the server refuses sync_binlog = often"), "{error}");
    assert_eq!(value(&mut client, "max_connections"), "151");
    client.execute("set global sync_binlog = 0").unwrap();

    // What is refused leaves nothing changed.
    let error = refused(planned(&info, &[("shared_buffers", "1GB")]).map(drop));
    assert!(
        error.starts_with("this server has no setting shared_buffers"),
        "{error}"
    );
    let bad = [
        ("max_connections", "77"),
        ("table_definition_cache", "100"),
        ("innodb_flush_log_at_trx_commit", "often"),
    ];
    let error = refused(planned(&info, &bad).unwrap().apply().map(drop));
    assert!(
        error.starts_with("the server refuses innodb_flush_log_at_trx_commit = often: ERROR 1232"),
        "{error}"
    );
    assert!(error.ends_with("Nothing was changed"), "{error}");
    assert_eq!(value(&mut client, "max_connections"), "151");
    assert_eq!(value(&mut client, "table_definition_cache"), definitions);

    // A role without the right says so.
    client
        .execute("create or replace user plain@localhost identified by 'x'")
        .unwrap();
    client.execute("create or replace database plain").unwrap();
    client.execute("grant all on plain.* to plain@localhost").unwrap();
    let socket = info.host.to_string();
    let plain = format!("mysql://plain:x@localhost/plain?socket={socket}");
    let plain = ConnectionInfo::resolve(&plain, &|_| None).unwrap();
    let change = planned(&plain, &[("max_connections", "77")]).unwrap();
    assert!(!change.changes());
    assert!(
        change.unset()[0].reason.starts_with("this role may not set it"),
        "{:?}",
        change.unset()
    );
    assert!(
        change.unset()[0].reason.ends_with(" on *.* to 'plain'@'localhost'"),
        "{:?}",
        change.unset()
    );
}

//! Settings of a real MySQL: set while it runs, kept for its next start, and put back.

use crate::support::real_mysql::{RealMysql, skipped};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::target::{Change, External, Mapped, StopFlag};

fn settings(each: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    each.iter().map(owned).collect()
}

fn fitted(server: &ConnectionInfo, each: &[(&str, &str)]) -> Mapped {
    server.fit(&settings(each), &StopFlag::default()).unwrap()
}

fn planned(server: &ConnectionInfo, each: &[(&str, &str)], restart_command: Option<&str>) -> Box<dyn Change> {
    let fitted = fitted(server, each).settings;
    server
        .plan_change(&fitted, restart_command, &StopFlag::default())
        .unwrap()
}

fn value(client: &mut Client, name: &str) -> String {
    let value = client.query_first(&format!("select cast(@@global.{name} as char)"));
    value.unwrap().unwrap()
}

fn kept(client: &mut Client) -> Vec<String> {
    client
        .query("select variable_name from performance_schema.persisted_variables order by 1")
        .unwrap()
}

#[test]
fn settings_of_a_real_mysql_are_set_kept_and_put_back() {
    let mysql = match RealMysql::start(&[]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped("settings_of_a_real_mysql_are_set_kept_and_put_back", why),
    };
    let info = mysql.root();
    while_it_runs(&info);
    by_a_restart(&info, &mysql.restart_command());
}

fn while_it_runs(info: &ConnectionInfo) {
    let mut client = info.connect().unwrap();
    let wanted = [
        ("innodb_buffer_pool_size", "200MB"),
        ("innodb_flush_log_at_trx_commit", "2"),
        // MariaDB's name of it.
        ("innodb_log_file_size", "64MB"),
        ("back_log", "77"),
    ];
    let mapped = fitted(info, &wanted);
    let note = "innodb_log_file_size = 64MB is given to this server as innodb_redo_log_capacity = 64M (the size of the \
                whole log)";
    assert_eq!(mapped.notes, [note]);
    let names = [
        "innodb_buffer_pool_size",
        "innodb_flush_log_at_trx_commit",
        "innodb_redo_log_capacity",
        "back_log",
    ];
    let before: Vec<_> = names.iter().map(|name| value(&mut client, name)).collect();
    let change = planned(info, &wanted, None);
    let [back_log] = change.unset() else {
        panic!("{:?}", change.unset())
    };
    assert!(
        back_log
            .to_string()
            .contains("give the command that restarts it (--restart-command)"),
        "{back_log}"
    );
    let saved = change.saved().clone();
    let applied = change.apply().unwrap();
    assert_eq!(applied.unset.len(), 1, "{:?}", applied.unset);
    let pool = value(&mut client, names[0]).parse::<u64>().unwrap();
    assert!((200 << 20..340 << 20).contains(&pool), "{pool}");
    assert_eq!(value(&mut client, names[1]), "2");
    assert_eq!(value(&mut client, names[2]), (64 << 20).to_string());
    // It is in effect.
    let resized: Option<(String, u64)> = client
        .query_first("show global status like 'Innodb_redo_log_capacity_resized'")
        .unwrap();
    assert_eq!(resized.unwrap().1, 64 << 20);

    client.execute("set global innodb_flush_log_at_trx_commit = 0").unwrap();
    let restored = info.restore(&saved, None).unwrap();
    assert_eq!(restored.others, ["innodb_flush_log_at_trx_commit"]);
    client.execute("set global innodb_flush_log_at_trx_commit = 1").unwrap();
    let after: Vec<_> = names.iter().map(|name| value(&mut client, name)).collect();
    assert_eq!(after, before);
    assert_eq!(kept(&mut client), [""; 0]);
    // Both names: the server's own counts.
    let both = fitted(
        info,
        &[("innodb_log_file_size", "64MB"), ("innodb_redo_log_capacity", "96MB")],
    );
    assert_eq!(both.settings, settings(&[("innodb_redo_log_capacity", "96M")]));
}

fn by_a_restart(info: &ConnectionInfo, restart_command: &str) {
    let mut client = info.connect().unwrap();
    let usual = value(&mut client, "back_log");
    // MySQL switches its doublewrite buffer off at a start alone, though it takes other values while it runs.
    let off = [("innodb_doublewrite", "off")];
    let change = planned(info, &off, None);
    assert!(
        change.unset()[0].to_string().contains("--restart-command"),
        "{:?}",
        change.unset()
    );
    let wanted = [("back_log", "77"), ("innodb_flush_log_at_trx_commit", "2"), off[0]];
    let change = planned(info, &wanted, Some(restart_command));
    assert_eq!(change.unset().len(), 0, "{:?}", change.unset());
    let saved = change.saved().clone();
    assert!(saved.settings.iter().any(|setting| setting.needs_restart), "{saved:?}");
    let applied = change.apply().unwrap();
    // That is not among what the server keeps.
    let [doublewrite] = &applied.unset[..] else {
        panic!("{:?}", applied.unset)
    };
    assert!(
        doublewrite.to_string().contains("set it in the server's option file"),
        "{doublewrite}"
    );
    // The old connection has gone with the old server.
    assert!(client.execute("do 1").is_err());
    let mut client = info.connect().unwrap();
    assert_eq!(value(&mut client, "back_log"), "77");
    assert_eq!(value(&mut client, "innodb_flush_log_at_trx_commit"), "2");
    assert_eq!(kept(&mut client), ["back_log"]);

    // Without the command it is put back for the next start alone.
    let restored = info.restore(&saved, None).unwrap();
    assert_eq!(restored.pending_restart, ["back_log"]);
    assert!(!restored.restarted);
    assert_eq!(kept(&mut client), [""; 0]);
    assert_eq!(value(&mut client, "back_log"), "77");
    assert_eq!(value(&mut client, "innodb_flush_log_at_trx_commit"), "1");
    let restored = info.restore(&saved, Some(restart_command)).unwrap();
    assert!(restored.restarted && restored.others.is_empty(), "{restored:?}");
    let mut client = info.connect().unwrap();
    assert_eq!(value(&mut client, "back_log"), usual);
    assert_eq!(kept(&mut client), [""; 0]);

    // What the server does not start with is told, and nothing stays changed.
    let change = planned(info, &[("back_log", "88")], Some("false"));
    let error = change.apply().map(drop).unwrap_err().to_string();
    assert!(
        error.contains("the command \"false\" did not restart the server"),
        "{error}"
    );
    assert!(error.ends_with("Nothing was changed"), "{error}");
    assert_eq!(kept(&mut client), [""; 0]);
}

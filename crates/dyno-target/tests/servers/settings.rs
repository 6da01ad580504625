//! Changing the settings of a server that is not ours, and putting them back.

use crate::support::{home, quiet};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions};
use dyno_target::postgres::settings::{Change, ChangeError, restore};
use dyno_target::target::{Restored, Saved, SavedSetting};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// A server that somebody else started with `pg_ctl`, reached on TCP.
struct Foreign {
    pg_ctl: PathBuf,
    data: PathBuf,
    options: String,
    address: String,
    password: String,
    // Holds the cluster's lock.
    _embedded: Embedded,
}

impl Foreign {
    fn start(version: &str, cluster: &str) -> Self {
        let mut options = EmbeddedOptions::new(home());
        version.clone_into(&mut options.version);
        cluster.clone_into(&mut options.cluster);
        let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
        let data = embedded.data_folder().to_owned();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let foreign = Self {
            pg_ctl: home().join("postgresql").join(embedded.version()).join("bin/pg_ctl"),
            options: format!("-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="),
            address: format!("host=127.0.0.1 port={port} dbname=postgres"),
            password: fs::read_to_string(data.with_file_name("password")).unwrap(),
            data,
            _embedded: embedded,
        };
        // What a killed test left.
        foreign.pg_ctl(&["stop", "-m", "immediate"]);
        // What an earlier test set.
        fs::write(foreign.data.join("postgresql.auto.conf"), "").unwrap();
        assert!(foreign.pg_ctl(&["start", "-o", &foreign.options]));
        foreign
    }

    fn pg_ctl(&self, words: &[&str]) -> bool {
        let owner = fs::metadata(&self.data).unwrap();
        let log = self.data.with_file_name("foreign.log");
        fs::write(&log, "").unwrap();
        std::os::unix::fs::chown(&log, Some(owner.uid()), Some(owner.gid())).unwrap();
        let mut command = Command::new(&self.pg_ctl);
        command
            .arg("-w")
            .arg("-D")
            .arg(&self.data)
            .arg("-l")
            .arg(&log)
            .args(words);
        command.uid(owner.uid()).gid(owner.gid()).current_dir(&self.data);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.status().unwrap().success()
    }

    /// What a person would type to restart it.
    fn restart_command(&self) -> String {
        let owner = fs::metadata(&self.data).unwrap();
        format!(
            "cd '{data}' && setpriv --reuid={} --regid={} --clear-groups '{}' -w -m fast -D '{data}' -l \
             ../foreign.log -o '{}' restart",
            owner.uid(),
            owner.gid(),
            self.pg_ctl.display(),
            self.options,
            data = self.data.display(),
        )
    }

    fn info(&self) -> ConnectionInfo {
        self.info_of("postgres", &self.password)
    }

    fn info_of(&self, user: &str, password: &str) -> ConnectionInfo {
        let target = format!("{} user={user} password={password}", self.address);
        ConnectionInfo::resolve(Some(&target), &|_| None).unwrap()
    }

    fn auto_conf(&self) -> String {
        let text = fs::read_to_string(self.data.join("postgresql.auto.conf")).unwrap();
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn sql(&self, command: &str) {
        self.info().connect().unwrap().batch_execute(command).unwrap();
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.pg_ctl(&["stop", "-m", "immediate"]);
    }
}

fn show(info: &ConnectionInfo, setting: &str) -> String {
    let row = info
        .connect()
        .unwrap()
        .query_one(&format!("show {setting}"), &[])
        .unwrap();
    row.get(0)
}

fn pairs(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    pairs.collect()
}

/// What every version from 9.5 on does the same.
fn changes_and_restores(foreign: &Foreign) {
    let info = foreign.info();
    foreign.sql("alter system set work_mem = '5MB'");
    foreign.sql("select pg_reload_conf()");
    let before = foreign.auto_conf();
    let restart = foreign.restart_command();

    // Without a way to restart, what needs one is not touched.
    let wanted = pairs(&[
        ("work_mem", "9MB"),
        ("checkpoint_timeout", "7min"),
        ("checkpoint_segments", "100"),
        ("autovacuum_max_workers", "2"),
        ("fsync", "on"),
        ("block_size", "4096"),
    ]);
    let mut wanted_here = wanted.clone();
    wanted_here.push(("max_connections".to_owned(), "77".to_owned()));
    let change = Change::plan(&info, &wanted_here, None, &Arc::default()).unwrap();
    assert!(
        change.notes()[0].contains("max_wal_size = 4800MB"),
        "{:?}",
        change.notes()
    );
    let saved = change.saved().clone();
    let applied = change.apply().unwrap();
    assert!(!applied.restarted);
    for (name, value) in [
        ("work_mem", "9MB"),
        ("checkpoint_timeout", "7min"),
        ("max_wal_size", "4800MB"),
    ] {
        assert_eq!(show(&applied.info, name), value);
    }
    assert_ne!(show(&info, "max_connections"), "77");
    let reasons: Vec<String> = applied.unset.iter().map(ToString::to_string).collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("block_size is 8192, not 4096: it was fixed")),
        "{reasons:?}"
    );
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("max_connections is 100") && reason.contains("restart")),
        "{reasons:?}"
    );
    // A later process restores from what was kept.
    let saved: Saved = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
    restore(&info, &saved, None).unwrap();
    assert_eq!(foreign.auto_conf(), before);
    assert_eq!(
        (show(&info, "work_mem"), show(&info, "checkpoint_timeout")),
        ("5MB".to_owned(), "5min".to_owned())
    );
    restore(&info, &saved, None).unwrap();
    assert_eq!(foreign.auto_conf(), before);

    // A refused value undoes those before it.
    let change = Change::plan(
        &info,
        &pairs(&[("work_mem", "9MB"), ("checkpoint_timeout", "1ms")]),
        None,
        &Arc::default(),
    )
    .unwrap();
    let error = change.apply().unwrap_err();
    assert!(
        matches!(&error, ChangeError::Refused { name, message, .. }
        if name == "checkpoint_timeout" && message.contains("22023")),
        "{error}"
    );
    assert_eq!(
        (foreign.auto_conf(), show(&info, "work_mem")),
        (before.clone(), "5MB".to_owned())
    );

    // With a restart.
    let wanted = pairs(&[("max_connections", "77"), ("shared_buffers", "32MB")]);
    let change = Change::plan(&info, &wanted, Some(&restart), &Arc::default()).unwrap();
    let saved = change.saved().clone();
    let applied = change.apply().unwrap();
    assert!(applied.restarted && applied.unset.is_empty());
    assert_eq!(
        (show(&info, "max_connections"), show(&info, "shared_buffers")),
        ("77".to_owned(), "32MB".to_owned())
    );
    let pending = restore(&info, &saved, None).unwrap().pending_restart;
    assert_eq!(pending, ["max_connections", "shared_buffers"]);
    assert!(restore(&info, &saved, Some(&restart)).unwrap().restarted);
    assert_eq!(
        (foreign.auto_conf(), show(&info, "max_connections")),
        (before.clone(), "100".to_owned())
    );

    // A command that does not restart anything.
    let change = Change::plan(&info, &wanted, Some("echo not allowed >&2; false"), &Arc::default()).unwrap();
    let error = change.apply().unwrap_err().to_string();
    assert!(
        error.contains("did not restart the server") && error.contains("not allowed"),
        "{error}"
    );
    assert!(!error.contains("could not be restored"), "{error}");
    assert_eq!(foreign.auto_conf(), before);

    // An ordinary role changes its sessions only.
    foreign.sql("drop role if exists ordinary; create role ordinary login password 'secret'");
    let ordinary = foreign.info_of("ordinary", "secret");
    let wanted = pairs(&[
        ("work_mem", "9MB"),
        ("synchronous_commit", "off"),
        ("checkpoint_timeout", "7min"),
    ]);
    let change = Change::plan(&ordinary, &wanted, Some(&restart), &Arc::default()).unwrap();
    assert_eq!(change.saved(), &Saved::default());
    let applied = change.apply().unwrap();
    assert_eq!(
        (
            show(&applied.info, "work_mem"),
            show(&applied.info, "synchronous_commit")
        ),
        ("9MB".to_owned(), "off".to_owned())
    );
    assert_eq!(show(&info, "work_mem"), "5MB");
    assert_eq!(applied.unset.len(), 1);
    assert!(applied.unset[0].reason.contains("superuser"), "{:?}", applied.unset);
    let error = Change::plan(&ordinary, &pairs(&[("work_mem", "-5")]), None, &Arc::default()).unwrap_err();
    assert!(matches!(error, ChangeError::Refused { .. }), "{error}");
    assert_eq!(foreign.auto_conf(), before);
    foreign.sql("drop role ordinary");
}

#[test]
fn changes_and_restores_on_18() {
    let foreign = Foreign::start("18.6.0", "tests-settings");
    changes_and_restores(&foreign);

    // Lists of names, and what the database says before the file.
    let info = foreign.info();
    foreign.sql("alter system set search_path = 'a b', public");
    foreign.sql("alter database postgres set work_mem = '6MB'");
    let before = foreign.auto_conf();
    let wanted = pairs(&[
        ("search_path", "\"c d\",public"),
        ("DateStyle", "german"),
        ("work_mem", "9MB"),
    ]);
    let change = Change::plan(&info, &wanted, None, &Arc::default()).unwrap();
    let saved = change.saved().clone();
    let applied = change.apply().unwrap();
    assert_eq!(show(&applied.info, "search_path"), "\"c d\", public");
    assert_eq!(
        (show(&applied.info, "work_mem"), show(&info, "work_mem")),
        ("9MB".to_owned(), "6MB".to_owned())
    );
    restore(&info, &saved, None).unwrap();
    assert_eq!(sorted(&foreign.auto_conf()), sorted(&before));
    foreign.sql("alter database postgres reset work_mem");

    // A record that somebody else wrote changes nothing that no change has left.
    foreign.sql("alter system set archive_command = 'true'");
    let before = foreign.auto_conf();
    let written = |name: &str, value: &str, set_to: Option<&str>| SavedSetting {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        needs_restart: false,
        set_to: set_to.map(str::to_owned),
    };
    let record = Saved {
        settings: vec![
            written("archive_command", "false", None),
            written("restore_command", "false", None),
            written("search_path = b; alter system set work_mem", "1GB", None),
            written("checkpoint_timeout", "9min", Some("8min")),
        ],
    };
    assert_eq!(restore(&info, &record, None).unwrap().others.len(), 4);
    assert_eq!(foreign.auto_conf(), before);
    // Records of the first dynos do not say what a setting was set to.
    foreign.sql("alter system reset archive_command");
    foreign.sql("alter system set checkpoint_timeout = '7min'");
    let record = Saved {
        settings: vec![written("checkpoint_timeout", "6min", None)],
    };
    assert_eq!(restore(&info, &record, None).unwrap(), Restored::default());
    assert_eq!(show(&info, "checkpoint_timeout"), "6min");
    foreign.sql("alter system reset checkpoint_timeout");

    // A role that was granted one setting, from 15 on.
    // A test that failed before may have left it with its grants.
    foreign.sql(
        "do $$ begin if to_regrole('granted') is not null then drop owned by granted; drop role granted; \
                 end if; end $$",
    );
    foreign.sql("create role granted login password 'secret'");
    foreign.sql("grant alter system on parameter checkpoint_timeout, max_wal_size to granted");
    let granted = foreign.info_of("granted", "secret");
    let wanted = pairs(&[
        ("checkpoint_timeout", "7min"),
        ("max_wal_size", "3GB"),
        ("bgwriter_delay", "100ms"),
    ]);
    foreign.sql("alter system set checkpoint_timeout = '6min'");
    foreign.sql("select pg_reload_conf()");
    let blind = Change::plan(&granted, &wanted, None, &Arc::default()).unwrap();
    assert!(
        blind
            .saved()
            .settings
            .iter()
            .all(|setting| setting.name != "checkpoint_timeout")
    );
    foreign.sql("grant pg_read_all_settings to granted; grant execute on function pg_reload_conf() to granted");
    let before = foreign.auto_conf();
    let change = Change::plan(&granted, &wanted, None, &Arc::default()).unwrap();
    let saved = change.saved().clone();
    let applied = change.apply().unwrap();
    assert_eq!(
        (show(&info, "checkpoint_timeout"), show(&info, "max_wal_size")),
        ("7min".to_owned(), "3GB".to_owned())
    );
    let [unset] = applied.unset.as_slice() else {
        panic!("{:?}", applied.unset);
    };
    assert_eq!(unset.name, "bgwriter_delay");
    assert!(unset.reason.contains("grant alter system on parameter"), "{unset}");
    restore(&granted, &saved, None).unwrap();
    assert_eq!(show(&info, "checkpoint_timeout"), "6min");
    assert_eq!(
        before.contains("max_wal_size"),
        foreign.auto_conf().contains("max_wal_size")
    );
    foreign.sql("drop owned by granted; drop role granted");
}

#[test]
fn changes_and_restores_on_9_6() {
    changes_and_restores(&Foreign::start("9.6", "tests-settings"));
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

//! Settings of a server that is not dyno's own: there while it is measured, and as they were afterwards, whatever
//! happens.

use crate::support::{Database, Desk, Running, database, database_alone, is_alive, run_folders, wait_for};
use rustix::process::Signal;
use std::fs;

/// An experiment that varies a setting which no other test has.
fn experiment(desk: &Desk, name: &str, setting: &str, measure: &str) {
    desk.file(
        &format!("{name}.toml"),
        &format!(
            "title = \"Settings\"\n[[workload]]\nscript = \"select 1;\"\n\
             [phases]\nwarmup = \"0s\"\nmeasure = \"{measure}\"\ninterval = \"100ms\"\n[factors]\n{setting}\n"
        ),
    );
}

/// How often a setting stands in the server's files.
fn in_files(database: &Database, setting: &str) -> String {
    database.value(&format!(
        "select count(*) from pg_file_settings where name = '{setting}'"
    ))
}

#[test]
fn are_set_for_each_cell_and_put_back() {
    let (desk, database) = (Desk::new(), database_alone("e2e_set"));
    experiment(&desk, "set", "\"settings.commit_siblings\" = [3, 4]", "300ms");
    desk.alone_on(&database.target(), ["set.toml"])
        .expect(0)
        .says("Restoring the server's settings");
    for run in run_folders(&desk.archive()) {
        let record = run.record();
        let settings = record["server"]["settings"].as_array().unwrap();
        let found = settings
            .iter()
            .find(|setting| setting["name"] == "commit_siblings")
            .unwrap();
        assert_eq!(found["value"], record["cell"]["commit_siblings"], "{record}");
    }
    assert_eq!(in_files(&database, "commit_siblings"), "0");
    assert_eq!(database.value("select current_setting('commit_siblings')"), "5");
    desk.alone_on(
        &database.target(),
        ["set.toml", "--leave-settings", "--set", "settings.commit_siblings=3"],
    )
    .expect(0)
    .shows("commit_siblings");
    assert_eq!(database.value("select current_setting('commit_siblings')"), "5");
}

#[test]
fn are_put_back_after_ctrl_c_and_by_the_next_dyno_after_a_kill() {
    let (desk, database) = (Desk::new(), database_alone("e2e_put_back"));
    experiment(&desk, "long", "\"settings.bgwriter_lru_maxpages\" = [301, 302]", "1h");
    let setting = || database.value("select current_setting('bgwriter_lru_maxpages')");
    let usual = setting();
    let mut running = Running::start(desk.command_alone_on(&database.target(), ["long.toml"]));
    running.until(" tps ");
    assert!(setting().starts_with("30"), "{}", setting());
    running.signal(Signal::INT);
    running.end().expect(2);
    assert_eq!(setting(), usual);

    let mut running = Running::start(desk.command_alone_on(&database.target(), ["long.toml"]));
    running.until(" tps ");
    running.signal(Signal::KILL);
    wait_for("its death", || !is_alive(running.pid()));
    assert!(setting().starts_with("30"), "{}", setting());
    desk.experiment("next.toml", "", "select 1;", "300ms");
    desk.alone_on(&database.target(), ["next.toml"])
        .expect(0)
        .says("ended before it could restore the server's settings; they have been restored now");
    assert_eq!(setting(), usual);
    assert_eq!(in_files(&database, "bgwriter_lru_maxpages"), "0");
}

#[test]
fn are_told_of_by_a_dyno_that_ends_at_once_and_put_back_by_resume() {
    let (desk, database) = (Desk::new(), database_alone("e2e_at_once"));
    experiment(
        &desk,
        "long",
        "\"settings.wal_writer_delay\" = [\"301ms\", \"302ms\"]",
        "1h",
    );
    desk.experiment("quick.toml", "", "select 1;", "300ms");
    let target = database.target();
    desk.alone_on(&target, ["quick.toml", "--archive", "quick"]).expect(0);
    let setting = || database.value("select current_setting('wal_writer_delay')");
    let usual = setting();
    let mut running = Running::start(desk.command_alone_on(&target, ["long.toml", "--archive", "long"]));
    running.until(" tps ");
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.end().expect(2).says("The server's settings are still changed.");
    assert!(setting().starts_with("30"), "{}", setting());

    // As if it had been killed when all was measured.
    let campaign = |archive: &str| {
        let mut campaigns = fs::read_dir(desk.path().join(archive)).unwrap();
        campaigns
            .find_map(|item| item.ok().map(|item| item.path()).filter(|path| path.is_dir()))
            .unwrap()
    };
    fs::copy(
        campaign("long").join("restore.json"),
        campaign("quick").join("restore.json"),
    )
    .unwrap();
    fs::remove_dir_all(desk.path().join("long")).unwrap();
    let resumed = desk.alone_on(&target, ["--resume", "--archive", "quick"]);
    resumed
        .expect(0)
        .says("ended before it could restore the server's settings; they have been restored now");
    assert_eq!(setting(), usual);
}

#[test]
fn are_left_by_a_role_that_may_not_set_them() {
    let (desk, database) = (Desk::new(), database_alone("e2e_ordinary"));
    database.role("e2e_ordinary_role", "s3cret");
    experiment(
        &desk,
        "ordinary",
        "\"settings.checkpoint_timeout\" = [\"301s\", \"302s\"]",
        "300ms",
    );
    let target = format!(
        "postgres://e2e_ordinary_role:s3cret@127.0.0.1:{}/{}",
        database.port(),
        database.name()
    );
    // Cells that would be measured alike are none.
    desk.alone_on(&target, ["ordinary.toml"])
        .expect(1)
        .says("the campaign varies a setting that it cannot set: checkpoint_timeout is ");
    desk.alone_on(&database.target(), ["ordinary.toml", "--leave-settings"])
        .expect(1)
        .says("the campaign varies checkpoint_timeout, but --leave-settings leaves the server as it is");
    assert!(run_folders(&desk.archive()).is_empty());
    let pinned = ["--set", "settings.checkpoint_timeout=301s", "--set", "clients=1,2"];
    desk.alone_on(&target, ["ordinary.toml"].into_iter().chain(pinned))
        .expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run.state(), "complete");
        let warnings = run.record()["summary"]["warnings"].to_string();
        assert!(warnings.contains("checkpoint_timeout is "), "{warnings}");
        assert!(warnings.contains("pg_monitor"), "{warnings}");
    }
    desk.assert_nowhere("s3cret");
}

/// The address of a superuser by TCP.
fn by_tcp(database: &Database, role: &str) -> String {
    database.execute(&format!(
        "drop role if exists {role}; create role {role} superuser login password 's3cret'"
    ));
    format!(
        "postgres://{role}:s3cret@localhost:{}/{}",
        database.port(),
        database.name()
    )
}

#[test]
fn are_put_back_to_what_was_before_the_first_of_those_that_were_killed() {
    let (desk, database) = (Desk::new(), database_alone("e2e_killed"));
    experiment(
        &desk,
        "first",
        "\"settings.bgwriter_delay\" = [\"301ms\", \"302ms\"]",
        "1h",
    );
    experiment(
        &desk,
        "second",
        "\"settings.bgwriter_delay\" = [\"401ms\", \"402ms\"]",
        "1h",
    );
    desk.experiment("last.toml", "", "select 1;", "300ms");
    database.execute("alter system set bgwriter_delay = '150ms'");
    database.execute("select pg_reload_conf()");
    let setting = || database.value("select current_setting('bgwriter_delay')");
    let tcp = by_tcp(&database, "e2e_killed_boss");
    for (target, file, archive) in [
        (&database.target(), "first.toml", "here"),
        (&tcp, "second.toml", "there"),
    ] {
        let mut running = Running::start(desk.command_alone_on(target, [file, "--archive", archive]));
        running.until(" tps ");
        running.signal(Signal::KILL);
        wait_for("its death", || !is_alive(running.pid()));
    }
    assert!(setting().starts_with("40"), "{}", setting());
    let tcp = tcp.replace("localhost", "127.0.0.1");
    desk.alone_on(&tcp, ["last.toml", "--archive", "elsewhere"])
        .expect(0)
        .says("there/")
        .says("ended before it could restore the server's settings; they have been restored now");
    assert_eq!(setting(), "150ms");
    database.execute("alter system reset bgwriter_delay");
}

/// A change that fails, and that cannot be undone because the server does not let dyno in any more, is put back by
/// a later dyno.
#[test]
fn are_put_back_later_after_a_change_that_could_not_be_undone() {
    let (desk, database) = (Desk::new(), database_alone("e2e_undone"));
    desk.experiment("undone.toml", "", "select 1;", "300ms");
    desk.experiment("next.toml", "", "select 1;", "300ms");
    desk.file("lock-out.sql", "alter role e2e_undone_boss nologin;");
    let boss = by_tcp(&database, "e2e_undone_boss");
    let dyno = env!("CARGO_BIN_EXE_dyno");
    let lock_out = format!("{dyno} pgbench -n -t 1 -f lock-out.sql '{}'; exit 1", database.target());
    let words = [
        "undone.toml",
        "--set",
        "settings.max_worker_processes=9",
        "--restart-command",
        &lock_out,
    ];
    desk.alone_on(&boss, words)
        .expect(1)
        .says("The changed settings could not be restored")
        .says("the next dyno run on this server tries again");
    assert_eq!(in_files(&database, "max_worker_processes"), "1");
    let campaigns = fs::read_dir(desk.archive()).unwrap();
    let records = campaigns.filter(|campaign| campaign.as_ref().unwrap().path().join("restore.json").exists());
    assert_eq!(records.count(), 1);
    database.execute("alter role e2e_undone_boss login");
    desk.alone_on(&boss, ["next.toml"])
        .expect(0)
        .says("before it could restore the server's settings; they have been restored now");
    assert_eq!(in_files(&database, "max_worker_processes"), "0");
}

#[test]
fn one_dyno_at_a_time_by_whatever_address() {
    let (desk, database) = (Desk::new(), database_alone("e2e_lock"));
    let other = database_alone("e2e_lock_other");
    other.role("e2e_lock_role", "s3cret");
    desk.experiment("long.toml", "", "select 1;", "1h");
    desk.experiment("short.toml", "", "select 1;", "300ms");
    let mut first = Running::start(desk.command_alone_on(&database.target(), ["long.toml"]));
    first.until(" tps ");
    let target = format!(
        "postgres://e2e_lock_role:s3cret@127.0.0.1:{}/{}",
        other.port(),
        other.name()
    );
    let mut second = Running::start(desk.command_alone_on(&target, ["short.toml"]));
    second.until(&format!("Waiting for dyno {} since ", first.pid()));
    let mut sharing = Running::start(desk.command_on(&target, ["short.toml"]));
    sharing.until("Waiting for dyno ");
    sharing.signal(Signal::INT);
    sharing.end();
    first.signal(Signal::INT);
    first.end().expect(2);
    second.end().expect(0);
    // pgbench never asks whether it may.
    let mut first = Running::start(desk.command_alone_on(&database.target(), ["long.toml", "--repeat", "2"]));
    first.until(" tps ");
    let pgbench = format!("pgbench -n -t 1 -f one.sql {}", database.target());
    desk.file("one.sql", "select 1;");
    desk.dyno(&pgbench).expect(0);
    // Without its lock a dyno does not go on.
    database
        .execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'dyno % since %'");
    first
        .end()
        .expect(2)
        .says("the connection with which dyno reserves the server was lost")
        .says("2 of 2 runs are not complete");
    assert_eq!(run_folders(&desk.archive()).len(), 3, "nothing is made after that");
}

/// The sizes of tables are no reason to wait, neither when a run ends nor when it is ended.
#[test]
fn a_lock_of_others_does_not_hold_up_the_end() {
    let (desk, database) = (Desk::new(), database("e2e_sizes"));
    let experiment = |name: &str, measure: &str| {
        desk.file(
            &format!("{name}.toml"),
            &format!(
                "title = \"x\"\n[data]\nsetup = \"create table victim (id int)\"\n[[workload]]\nscript = \"select \
                 1;\"\n\
                 [phases]\nwarmup = \"0s\"\nmeasure = \"{measure}\"\ninterval = \"100ms\"\n"
            ),
        );
    };
    experiment("ends", "4s");
    experiment("ended", "1h");
    for (name, code) in [("ends", 0), ("ended", 2)] {
        let mut running = Running::start(desk.command_on(&database.target(), [format!("{name}.toml")]));
        running.until(" tps ");
        let mut other = database.connect();
        other
            .batch_execute(&format!("begin; lock table dyno_{name}.victim"))
            .unwrap();
        if name == "ended" {
            running.signal(Signal::INT);
        }
        let ended = running.end().expect(code);
        let told = ended.stdout.contains("the sizes of the tables cannot be read");
        assert_eq!(told, name == "ends", "{}", ended.stdout);
    }
}

/// Others may hold a table for hours: that is said, and one Ctrl-C ends the waiting with everything put back.
#[test]
fn a_lock_of_others_is_waited_for_with_a_word_and_until_ctrl_c() {
    let (desk, database) = (Desk::new(), database_alone("e2e_locked"));
    desk.file(
        "locked.toml",
        "title = \"x\"\n[data]\nstate = \"reload\"\nsetup = \"create table victim (id int)\"\n\
         [[workload]]\nscript = \"select 1;\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\n\
         [server.settings]\nbgwriter_lru_multiplier = \"3\"\n",
    );
    desk.alone_on(&database.target(), ["locked.toml"]).expect(0);
    let setting = || database.value("select current_setting('bgwriter_lru_multiplier')");
    let usual = setting();
    let mut other = database.connect();
    other
        .batch_execute("begin; lock table dyno_locked.victim in access share mode")
        .unwrap();
    let mut running = Running::start(desk.command_alone_on(&database.target(), ["locked.toml"]));
    running.until("Dropping the schema dyno_locked; waiting up to 30 s for others that use it");
    let waiting = "select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'
        and database = (select oid from pg_database where datname = current_database())";
    wait_for("the drop to wait", || database.value(waiting) == "1");
    assert_eq!(setting(), "3");
    running.signal(Signal::INT);
    running.end().expect(1).says("Restoring the server's settings");
    assert_eq!(setting(), usual);
    assert_eq!(database.value(waiting), "0");
    other.batch_execute("rollback").unwrap();
    assert_eq!(database.value("select count(*) from dyno_locked.victim"), "0");
}

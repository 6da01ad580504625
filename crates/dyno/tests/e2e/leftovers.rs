//! What a killed campaign left on a server that is not dyno's own, when it cannot be put back at once.

use crate::mariadb::borrowed;
use crate::support::{Desk, Home, Running, is_alive, run_folders, wait_for};
use rustix::process::Signal;

#[test]
fn runs_on_settings_that_a_killed_campaign_left_say_so_until_they_are_put_back() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (_embedded, server) = borrowed(&home);
    let mut client = server.connection("mysql").connect().unwrap();
    let made = "create user bench@'127.0.0.1' identified by 'b'; grant all on *.* to bench@'127.0.0.1'";
    client.execute(made).unwrap();
    let target = format!("mysql://bench:b@127.0.0.1:{}/mysql", server.port());
    desk.experiment("long.toml", "", "select 1;", "1h");
    desk.experiment("short.toml", "", "select 1;", "300ms");
    let setting = "settings.innodb_flush_log_at_trx_commit=2";
    let mut running = Running::start(desk.command_alone_on(&target, ["long.toml", "--set", setting]));
    running.until(" tps ");
    running.signal(Signal::KILL);
    wait_for("its death", || !is_alive(running.pid()));
    client.execute("revoke super on *.* from bench@'127.0.0.1'").unwrap();

    // The right that is missing for another setting is said before the load, too.
    let words = ["short.toml", "--set", "settings.innodb_io_capacity=333"];
    let ended = desk.alone_on(&target, words).expect(0);
    let said = &ended.stderr;
    assert_eq!(said.matches("could not be restored").count(), 1, "{said}");
    assert_eq!(said.matches("ended before it could restore").count(), 1, "{said}");
    let lacking = "innodb_io_capacity is 200, not 333: this role may not set it; as an administrator, execute: grant \
                   super on *.* to 'bench'@'127.0.0.1'";
    let (lacks, begins) = (said.find(lacking), said.find("Connecting 1 client"));
    assert!(lacks.is_some() && lacks < begins, "{said}");
    let warning = "changed and that are not restored yet: innodb_flush_log_at_trx_commit (before: 1)";
    ended.shows(warning);
    let runs = run_folders(&desk.archive());
    let warnings = runs.last().unwrap().record()["summary"]["warnings"].to_string();
    assert!(warnings.contains(warning), "{warnings}");

    let pending = "are still to be restored: innodb_flush_log_at_trx_commit";
    desk.dyno("clean").expect(0).says(pending);
    let its = format!("clean --target {target}");
    desk.dyno(&its).expect(0).says(pending);

    client.execute("grant super on *.* to bench@'127.0.0.1'").unwrap();
    let ended = desk.alone_on(&target, ["short.toml"]).expect(0).says("restored now");
    assert!(!ended.stdout.contains("not restored yet"), "{}", ended.stdout);
    let cleaned = desk.dyno("clean").expect(0);
    assert!(!cleaned.stderr.contains("to be restored"), "{}", cleaned.stderr);
}

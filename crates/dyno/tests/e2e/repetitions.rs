//! Campaigns of several runs, when not all of them can be made.

use crate::support::{Desk, Running, database, run_folders};

#[test]
fn later_runs_that_cannot_begin_are_kept_as_failed() {
    let (desk, database) = (Desk::new(), database("e2e_later"));
    desk.file(
        "later.toml",
        "title = \"x\"\n[data]\nsetup = \"create table t (id int); select pg_sleep(1)\"\n\
         [[workload]]\nscript = \"select count(*) from t;\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"2s\"\ninterval \
         = \"100ms\"\n",
    );
    let mut running = Running::start(desk.command_on(&database.target(), ["later.toml", "--repeat", "3"]));
    running.until(" tps ");
    // From now on no more connections are let in; those of the run under way stay.
    let admin = database.neighbour();
    admin.execute(&format!("alter database {} allow_connections false", database.name()));
    let ended = running.end().expect(2);
    ended
        .says("2 of 3 runs are not complete. To measure them: dyno run --resume ")
        .shows("Run 1 of 3 ")
        .shows("Run 2 of 3 (failed): repetition 2: ");
    let states: Vec<String> = run_folders(&desk.archive()).iter().map(|run| run.state()).collect();
    assert_eq!(states, ["complete", "failed", "failed"]);
}

//! `dyno clean`: what is kept for later runs is shown, and goes if that is wanted. Nothing else does.

use crate::support::{Desk, Ended, Home, database, run_folders};
use std::fs::File;

fn clean(desk: &Desk, home: &Home, words: &str) -> Ended {
    let mut command = desk.command(["clean"].into_iter().chain(words.split_whitespace()));
    Ended::of(command.env("DYNO_HOME", home.path()))
}

#[test]
fn what_is_kept_at_home_goes_by_name_and_age() {
    let (desk, home) = (Desk::new(), Home::new());
    clean(&desk, &home, "").expect(0).shows("nothing");
    let run = "pk-update --set rows=1000 --set warmup=0s --set measure=300ms";
    desk.embedded(&home, run).expect(0);
    let listed = clean(&desk, &home, "").expect(0);
    listed
        .shows("clusters/18.6.0/main cluster")
        .shows("Nothing was removed");
    clean(&desk, &home, "pk-update --older-than 1h --yes").expect(0);
    clean(&desk, &home, "pk-select --yes")
        .expect(1)
        .says("dyno keeps nothing named pk-select");
    clean(&desk, &home, "").expect(0).shows("main/pk-update@");
    let removed = clean(&desk, &home, "pk-update --yes").expect(0);
    removed.says("Removed clusters/18.6.0/main/pk-update@");
    let rest = clean(&desk, &home, "").expect(0);
    assert!(!rest.stdout.contains("pk-update@"), "{}", rest.stdout);
    // The data is made again.
    desk.embedded(&home, run).expect(0);
    let lock = File::open(home.data().with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    // What stays is not marked as what goes.
    let listed = clean(&desk, &home, "main").expect(0).shows("in use");
    assert!(!listed.stdout.contains('*'), "{}", listed.stdout);
    listed.shows("nothing can be as long as it is in use");
    let refused = clean(&desk, &home, "main --yes").expect(2);
    refused.shows("in use").says("another dyno is using it");
    assert!(home.data().exists());
    drop(lock);
    clean(&desk, &home, "--yes")
        .expect(0)
        .says("Removed clusters/18.6.0/main");
    assert!(!home.data().exists());
    // Programs that lie elsewhere, and results, are not dyno's home.
    assert!(home.path().join("postgresql/18.6.0/bin/postgres").exists());
    assert_eq!(run_folders(&desk.archive()).len(), 2);
    desk.embedded(&home, run).expect(0);
}

#[test]
fn schemas_on_a_server_go_and_others_stay() {
    let (desk, database) = (Desk::new(), database("e2e_clean"));
    database.execute("create schema dyno_mine; create table dyno_mine.t (id int)");
    let run = [
        "pk-update",
        "--set",
        "rows=1000",
        "--set",
        "warmup=0s",
        "--set",
        "measure=300ms",
    ];
    desk.on(&database.target(), run).expect(0);
    let clean = |words: &[&str]| {
        let mut command = desk.command(["clean", "--target", &database.target()]);
        Ended::of(command.args(words))
    };
    let listed = clean(&[]).expect(0);
    assert!(!listed.stdout.contains("dyno_mine"), "{}", listed.stdout);
    listed.shows("* dyno_pk_update schema").shows("Nothing was removed");
    clean(&["--older-than", "1d", "--yes"]).expect(0);
    clean(&["dyno_mine", "--yes"]).expect(1);
    clean(&["pk_update", "--yes"]).expect(0).says("Removed dyno_pk_update");
    let left = "select string_agg(nspname::text, ',') from pg_namespace where nspname like 'dyno%'";
    assert_eq!(database.value(left), "dyno_mine");
}

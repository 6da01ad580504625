//! The ceiling: measured and kept, and runs that come near it.

use crate::support::{Desk, Ended, database, limited};
use serde_json::{Value, json};
use std::fs;

/// One shape, measured for a second.
const BRIEF: &str = "ceiling --clients 4 --threads 1 --path unix --transport epoll --seconds 1";

/// The file that it is kept in.
fn kept(desk: &Desk) -> Value {
    serde_json::from_slice(&fs::read(desk.path().join("no-home/ceiling.json")).unwrap()).unwrap()
}

#[test]
fn it_is_shown_and_kept_for_this_machine() {
    let desk = Desk::new();
    let ended = desk.dyno(BRIEF).expect(0);
    ended
        .shows("path transport clients threads tps tps/core")
        .shows("Saved in");
    let point = &kept(&desk)["ceilings"][0]["points"][0];
    assert_eq!(
        (&point["route"], &point["transport"], &point["clients"]),
        (&json!("unix"), &json!("epoll"), &json!(4))
    );
    for figure in ["tps", "tps_per_core", "client_system_us", "responder_us", "p50_us"] {
        assert!(point[figure].as_f64().unwrap() > 0.0, "{figure}: {point}");
    }
    // Another shape is added, and JSON has what this call measured.
    let ended = desk.dyno("ceiling --clients 1,2 --threads 2 --path tcp --seconds 1 --format json");
    let shown: Value = serde_json::from_str(&ended.expect(0).stdout).unwrap();
    assert_eq!(shown["points"].as_array().unwrap().len(), 1);
    assert_eq!(shown["points"][0]["transport"], "blocking");
    assert_eq!(kept(&desk)["ceilings"][0]["points"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_near_it_says_so_and_what_to_do() {
    let (desk, database) = (Desk::new(), database("near_ceiling"));
    desk.experiment(
        "near.toml",
        "clients = 4\nthreads = 1\nrate = 2000",
        "select 1;",
        "500ms",
    );
    let run = || {
        let run = ["near.toml", "--no-sampling", "--transport", "epoll"];
        desk.on(&database.target(), run).expect(0)
    };
    let words = |ended: &Ended| ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!words(&run()).contains("dyno ceiling"));
    desk.dyno(BRIEF).expect(0);
    // No server is as fast as the responder; a ceiling that a rate reaches stands in for one that is.
    let mut low = kept(&desk);
    low["ceilings"][0]["points"][0]["tps"] = json!(2000.0);
    fs::write(desk.path().join("no-home/ceiling.json"), low.to_string()).unwrap();
    let said = "that it can execute here against a server that answers at once (dyno ceiling: unix, 4 clients, 1 \
                thread). It may be the limit";
    run().shows(said);
    desk.dyno("show").expect(0).shows(said);
    fs::write(desk.path().join("no-home/ceiling.json"), "{}").unwrap();
    run().shows("The ceiling of this machine could not be read:");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let desk = Desk::new();
    desk.dyno("ceiling --clients 0")
        .expect(1)
        .says("write a number of at least 1");
    desk.dyno("ceiling --clients 2,x")
        .expect(1)
        .says("write a number of at least 1");
    desk.dyno("ceiling --clients 4 --threads 8")
        .expect(1)
        .says("fewer threads or more clients");
    many("ulimit -n 200", &desk)
        .expect(1)
        .says("200 clients need 2")
        .says("file descriptors, but this process may have at most 200");
}

#[test]
fn both_sides_raise_their_limit_of_files() {
    let desk = Desk::new();
    many("ulimit -Sn 64", &desk).expect(0).shows("200");
}

/// Measures 200 clients in a process whose files are limited.
fn many(limit: &str, desk: &Desk) -> Ended {
    let words = "ceiling --clients 200 --threads 1 --path unix --seconds 1";
    let mut command = desk.command(words.split_whitespace());
    command.env("DYNO_HOME", desk.path());
    Ended::of(&mut limited(limit, &command))
}

//! How the load's threads move bytes, and where they run: `--transport` and `--cpus`; what they need of the system.

use crate::support::{Desk, Ended, database, limited, run_folders};

#[test]
fn the_transport_is_chosen_kept_and_shown() {
    let (desk, database) = (Desk::new(), database("e2e_transport"));
    desk.experiment("load.toml", "clients = 2\nthreads = 1", "select 1;", "500ms");
    for transport in ["epoll", "auto"] {
        let run = ["load.toml", "--no-sampling", "--transport", transport];
        desk.on(&database.target(), run).expect(0);
    }
    let runs = run_folders(&desk.archive());
    assert_eq!(runs[0].campaign()["transport"], "epoll");
    assert_eq!(runs[0].record()["transport"], "epoll");
    assert_eq!(runs[1].campaign()["transport"], "auto");
    // It depends on the machine, and says so if it is not the best.
    let used = runs[1].record()["transport"].as_str().unwrap().to_owned();
    let shown = desk.dyno("show").expect(0).shows(&format!("transport {used}"));
    match used.as_str() {
        "io_uring" => {}
        _ => drop(shown.shows("The load used epoll because io_uring cannot be used:")),
    }
    desk.on(&database.target(), ["load.toml", "--set", "clients=1"])
        .expect(0);
    assert_eq!(run_folders(&desk.archive())[2].record()["transport"], "blocking");
}

#[test]
fn threads_are_bound_to_cpus_that_there_are() {
    let (desk, database) = (Desk::new(), database("e2e_cpus"));
    desk.experiment("load.toml", "clients = 2", "select 1;", "500ms");
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.unwrap().trim();
    desk.on(&database.target(), ["load.toml", "--cpus", allowed]).expect(0);
    assert_eq!(run_folders(&desk.archive())[0].campaign()["cpus"], allowed);
    desk.on(&database.target(), ["load.toml", "--cpus", "1023"])
        .expect(1)
        .says("cannot bind a load thread to CPU 1023: Invalid argument");
}

#[test]
fn what_there_is_not_is_refused() {
    let desk = Desk::new();
    for command in ["run pk-update", "pgbench -S"] {
        desk.dyno(&format!("{command} --transport=kqueue"))
            .expect(1)
            .says("there is no transport \"kqueue\"; there are auto, epoll and io_uring");
        desk.dyno(&format!("{command} --cpus=0..3"))
            .expect(1)
            .says("\"0..3\" is not a list of CPUs");
    }
}

#[test]
fn too_few_descriptors_are_told_of_before_anything_begins() {
    let (desk, database) = (Desk::new(), database("e2e_descriptors"));
    desk.experiment("load.toml", "clients = 4", "select 1;", "300ms");
    let command = desk.command_on(&database.target(), ["load.toml"]);
    let ended = Ended::of(&mut limited("ulimit -n 20", &command)).expect(1);
    let ended = ended
        .says("error: 4 clients need")
        .says("this process may have at most 20");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(!desk.archive().exists());
    // The limit that can be raised is raised, and pgbench's way of running it takes little more than pgbench does.
    Ended::of(&mut limited("ulimit -Sn 20", &command)).expect(0);
    desk.file("one.sql", "select 1;\n");
    let target = database.target();
    let pgbench = desk.command(["pgbench", "-n", "-c", "4", "-t", "1", "-f", "one.sql", &target]);
    Ended::of(&mut limited("ulimit -n 20", &pgbench)).expect(0);
}

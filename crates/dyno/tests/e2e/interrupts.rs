//! Ctrl-C and SIGTERM: the first ends in order, the second at once. Either way no server is left behind.

use crate::support::web::Server;
use crate::support::{Database, Desk, Home, Running, database, in_background, run_folders, wait_for};
use rustix::fs::OFlags;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

/// A long run on a server by address that is measuring.
fn measuring(desk: &Desk, database: &Database) -> Running {
    desk.experiment("long.toml", "", "select 1;", "1h");
    let mut running = Running::start(desk.command_on(&database.target(), ["long.toml"]));
    running.until(" tps ");
    running
}

/// Looks at what a run that was ended in order leaves.
fn assert_kept(desk: &Desk) {
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state(), "incomplete");
    assert!(runs[0].summed_up() > 0);
    assert_eq!(runs[0].measured(), runs[0].summed_up());
    desk.dyno("list").expect(0).shows("incomplete");
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (campaign, run) = (name(runs[0].0.parent().unwrap()), name(&runs[0].0));
    desk.dyno(&format!("show {campaign} {run}"))
        .expect(0)
        .shows("stopped on request");
}

#[test]
fn a_signal_ends_the_run_and_keeps_it() {
    let database = database("e2e_signal");
    for signal in [Signal::INT, Signal::TERM] {
        let desk = Desk::new();
        let running = measuring(&desk, &database);
        running.signal(signal);
        let ended = running.end().expect(2).says("Ending: what was measured is kept");
        ended.shows("The run ended after").shows("(incomplete)");
        assert_kept(&desk);
    }
}

#[test]
fn what_is_ignored_from_the_start_stays_ignored() {
    let (desk, database) = (Desk::new(), database("e2e_background"));
    desk.experiment("long.toml", "", "select 1;", "1h");
    let mut running = Running::start(in_background(&desk.command_on(&database.target(), ["long.toml"])));
    running.until(" tps ");
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    let so_far = || run_folders(&desk.archive())[0].intervals_so_far();
    let before = so_far();
    wait_for("a few more intervals", || so_far() > before + 5);
    running.signal(Signal::TERM);
    let ended = running.end().expect(2);
    assert_eq!(ended.stderr.matches("Ending:").count(), 1, "{}", ended.stderr);
    assert_kept(&desk);

    let server = Server::at(Running::start(in_background(&desk.command([
        "serve",
        "--listen",
        "127.0.0.1:0",
    ]))));
    for signal in [Signal::HUP, Signal::INT] {
        server.signal(signal);
        for _ in 0..20 {
            server.get("/").expect(200);
        }
    }
    server.end_by(Signal::TERM).expect(0);
}

#[test]
fn the_first_ctrl_c_stops_the_embedded_server() {
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-update --set rows=1000 --set warmup=0s --set measure=1h --set interval=100ms --repeat 3";
    let mut running = Running::start(desk.command_embedded(&home, words));
    running.until(" tps ");
    // As a terminal does: to the whole process group. The server is not to hear of it before dyno has done with it.
    running.signal_group(Signal::INT);
    running
        .end()
        .expect(2)
        .says("Stopping PostgreSQL")
        .shows("(incomplete)");
    home.assert_no_server();
    assert!(!home.data().join("postmaster.pid").exists());
    assert_kept(&desk);
}

#[test]
fn the_second_ctrl_c_ends_at_once() {
    let (desk, home) = (Desk::new(), Home::new());
    // While the server is at rest a command that the script waits for keeps the first signal's orderly end waiting.
    desk.experiment(
        "asleep.toml",
        "clients = 2\nthreads = 2",
        "select 1;\n\\sleep 1500 ms\n\\shell touch waiting; exec sleep 60 > /dev/null 2>&1",
        "1h",
    );
    let mut running = Running::start(desk.command_embedded(&home, "asleep.toml"));
    running.until(" tps ");
    wait_for("the command", || desk.path().join("waiting").exists());
    running.signal(Signal::INT);
    running.until("Ending:");
    running.signal(Signal::INT);
    let ended = running.end().expect(2).says("Ending at once");
    assert!(!ended.stdout.contains("Saved in"), "{}", ended.stdout);
    home.assert_no_server();
    desk.dyno("list").expect(0).shows("incomplete");
    desk.dyno("show")
        .expect(0)
        .shows("001-rep1 (incomplete)")
        .shows("main:");
    // The next run recovers and works.
    desk.experiment("next.toml", "", "select 1;", "300ms");
    desk.embedded(&home, "next.toml").expect(0);
}

#[test]
fn stopped_while_loading_nothing_half_made_is_used() {
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-insert --set measure=300ms --set warmup=0s";
    desk.file(
        "load.toml",
        "title = \"x\"\n[parameters]\nrows = 20_000_000\n[data]\nsetup = \"create table tbl (id int)\"\n\
         fill.tbl = { rows = \"{rows}\", columns = { id = \"row\" } }\n\
         [[workload]]\nscript = \"select 1;\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\n",
    );
    let mut running = Running::start(desk.command_embedded(&home, "load.toml"));
    running.until("Loading tbl");
    running.signal(Signal::INT);
    running.end().expect(1).says("stopped while filling tbl");
    home.assert_no_server();
    assert_eq!(run_folders(&desk.archive()).len(), 0);
    desk.dyno("list").expect(0).shows("There is no campaign");

    let mut running = Running::start(desk.command_embedded(&home, "load.toml"));
    running.until("Loading tbl");
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    // Which of the two is seen last depends on how far the loading is; nothing is left either way.
    let ended = running.end();
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
    home.assert_no_server();
    let next = desk.embedded(&home, "load.toml --set rows=1000").expect(0);
    next.says("Loading tbl");
    desk.embedded(&home, words).expect(0);

    let database = database("e2e_loading");
    let mut running = Running::start(desk.command_on(&database.target(), ["load.toml"]));
    running.until("Loading tbl");
    running.signal(Signal::TERM);
    running.end().expect(1);
    desk.on(&database.target(), ["load.toml", "--set", "rows=1000"])
        .expect(0)
        .says("Loading tbl");
    assert_eq!(database.value("select count(*) from dyno_load.tbl"), "1000");
}

#[test]
fn nobody_reads_what_is_said() {
    let database = database("e2e_deaf");
    let desk = Desk::new();
    desk.experiment("deaf.toml", "", "select 1;", "1h");
    let mut running = Running::start_unheard(desk.command_on(&database.target(), ["deaf.toml"]));
    let first = || run_folders(&desk.archive()).into_iter().next();
    wait_for("a few intervals", || {
        first().is_some_and(|run| run.intervals_so_far() > 5)
    });
    running.signal(Signal::TERM);
    assert_eq!(running.code(), Some(2));
    let run = first().unwrap();
    assert_eq!(run.state(), "incomplete");
    assert_eq!(run.measured(), run.summed_up());
}

/// As with `2>&1 | less` left alone: what is said waits, and nothing else does.
#[test]
fn what_nobody_reads_yet_holds_up_neither_the_run_nor_its_end() {
    let database = database("e2e_unread");
    let desk = Desk::new();
    let full = || {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        while writer.write(&[b'x'; 512]).is_ok() {}
        rustix::fs::fcntl_setfl(&writer, OFlags::empty()).unwrap();
        (reader, Stdio::from(writer))
    };
    let state = |desk: &Desk| {
        let mut begun = run_folders(&desk.archive()).into_iter();
        begun
            .find(|run| run.0.join("run.json").is_file())
            .map(|run| run.state())
    };
    desk.experiment("short.toml", "", "select 1;", "300ms");
    let (mut reader, unread) = full();
    let mut running = Running::start_unread(desk.command_on(&database.target(), ["short.toml"]), unread);
    wait_for("the run", || state(&desk).as_deref() == Some("complete"));
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        reader.read_to_string(&mut said).map(|_| said)
    });
    assert_eq!(running.code(), Some(0));
    let said = said.join().unwrap().unwrap();
    assert!(said.contains("Connecting 1 client\n"), "{said}");

    let desk = Desk::new();
    desk.experiment("long.toml", "", "select 1;", "1h");
    let (_reader, unread) = full();
    let mut running = Running::start_unread(desk.command_on(&database.target(), ["long.toml"]), unread);
    wait_for("intervals", || {
        run_folders(&desk.archive())
            .first()
            .is_some_and(|run| run.intervals_so_far() > 3)
    });
    running.signal(Signal::INT);
    wait_for("the end of the run", || state(&desk).as_deref() == Some("incomplete"));
    running.signal(Signal::INT);
    assert_eq!(running.code(), Some(2));
}

/// What a signal finds in the server's hands is cancelled there: a query of an hour keeps nobody waiting, and does
/// not go on without dyno.
#[test]
fn what_the_server_executes_is_cancelled() {
    let database = database("e2e_cancelled");
    let left = || {
        database
            .value("select count(*) from pg_stat_activity where query ~ 'pg_sleep.3600.' and pid <> pg_backend_pid()")
    };
    let sleeping = || left() != "0";
    let plan = |name: &str, data: &str, script: &str| {
        let desk = Desk::new();
        let text = format!(
            "title = \"x\"\n[data]\n{data}\n[[workload]]\nclients = 3\nscript = \"{script}\"\n[phases]\nwarmup = \
             \"0s\"\nmeasure = \"1h\"\n"
        );
        desk.file(name, &text);
        desk
    };
    for (name, data, script, code) in [
        ("load", "", "select pg_sleep(3600);", 2),
        ("setup", "setup = \"select pg_sleep(3600)\"", "select 1;", 1),
        (
            "fill",
            "setup = \"create table t (a int)\"\nfill.t = { rows = 5, columns = { a = \"(select 1 from \
             pg_sleep(3600))\" } }",
            "select 1;",
            1,
        ),
    ] {
        let file = format!("{name}.toml");
        let desk = plan(&file, data, script);
        let running = Running::start(desk.command_on(&database.target(), [file.as_str()]));
        wait_for("the query", sleeping);
        if code == 2 {
            // The first client's query may begin before measuring does; ended then, nothing was measured.
            wait_for("an interval", || {
                run_folders(&desk.archive())
                    .first()
                    .is_some_and(|run| run.intervals_so_far() > 0)
            });
        }
        running.signal(Signal::INT);
        running.end().expect(code);
        wait_for("the end of the query", || !sleeping());
    }
}

#[test]
fn a_check_that_nobody_waits_for_leaves_a_run_that_is_made_again() {
    let (desk, database) = (Desk::new(), database("e2e_unasked"));
    let text = |when: &str| {
        format!(
            "title = \"x\"\n[[workload]]\nscript = \"select 1;\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"200ms\"\n\
             interval = \"100ms\"\n[[check]]\nname = \"slow\"\nwhen = \"{when}\"\nsql = \"select count(*) from (select \
             pg_sleep(case when exists (select from pg_tables where tablename = 'quick') then 0 else 60 end)) s\"\n\
             expect = 1\n"
        )
    };
    desk.file("after.toml", &text("after"));
    desk.file("before.toml", &text("before"));
    let interrupted = |words: &[&str]| {
        let mut running = Running::start(desk.command_on(&database.target(), words));
        running.until("Asking check slow");
        running.signal(Signal::INT);
        running.end()
    };
    // A run that could not begin leaves nothing.
    interrupted(&["before.toml"]).expect(1);
    assert_eq!(run_folders(&desk.archive()).len(), 0);
    interrupted(&["after.toml"]).expect(2).shows("(incomplete)");
    assert_eq!(run_folders(&desk.archive())[0].state(), "incomplete");
    database.execute("create table quick ()");
    desk.on(&database.target(), ["--resume"]).expect(0);
    assert_eq!(run_folders(&desk.archive())[0].state(), "complete");
}

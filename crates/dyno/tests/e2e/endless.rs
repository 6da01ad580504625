//! Scripts in Lua that do not come back, or that leave: the run ends, what was measured is kept, and the server is put
//! back as it was.

use crate::support::{Database, Desk, Home, Running, database_alone, database_unreserved, run_folders, wait_for};
use rustix::process::Signal;

/// Tells that it has begun.
const BEGUN: &str = "io.open('begun', 'w'):close()";

/// An experiment of a script, which changes a setting of the server.
fn experiment(desk: &Desk, script: &str, data: &str, measure: &str) {
    desk.file("s.lua", script);
    let text = format!(
        "title = \"x\"\n{data}[[workload]]\nclients = 2\nlua = \"s.lua\"\n[phases]\nwarmup = \"0s\"\n\
         measure = \"{measure}\"\ninterval = \"100ms\"\n[server.settings]\nautovacuum_vacuum_threshold = \"60\"\n"
    );
    desk.file("s.toml", &text);
}

fn setting(database: &Database) -> String {
    database.value("select current_setting('autovacuum_vacuum_threshold')")
}

/// What the notes and warnings of a run say.
fn said(desk: &Desk) -> String {
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 1);
    runs[0].record().to_string()
}

#[test]
fn the_end_of_a_run_ends_what_computes_without_end() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file(
        "s.lua",
        "function thread_init() con, n = sysbench.sql.driver():connect(), 0 end\nfunction event()\n\
         con:query('SELECT 1') n = n + 1\nif n > 50 and sysbench.tid == 0 then while true do end end\nend",
    );
    desk.file(
        "s.toml",
        "title = \"x\"\n[[workload]]\nclients = 2\nlua = \"s.lua\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"1s\"\n",
    );
    desk.embedded(&home, "s.toml").expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs[0].state(), "complete");
    assert!(runs[0].summed_up() >= 50);
    let said = said(&desk);
    assert!(said.contains("the script of thread 0 was ended at s.lua:4"), "{said}");
    assert!(said.contains("\"unfinished\":1"), "{said}");
    home.assert_no_server();
}

#[test]
fn a_script_that_leaves_fails_the_run_and_nothing_stays_changed() {
    let database = database_alone("e2e_leaving");
    let usual = setting(&database);
    let cases = [
        (
            "function event() con:query('SELECT 1') n = n + 1\nif n > 5 then os.exit(7) end end",
            true,
        ),
        (
            "function event() con:query('SELECT 1') n = n + 1\nif n > 5 then pcall(os.exit, 7) end end",
            true,
        ),
        ("function event() end\nfunction init() os.exit(7) end", false),
    ];
    for (script, is_kept) in cases {
        let desk = Desk::new();
        let begin = "function thread_init() con, n = sysbench.sql.driver():connect(), 0 end\n";
        experiment(&desk, &format!("{begin}{script}"), "", "600s");
        let ended = desk.alone_on(&database.target(), ["s.toml"]);
        let ended = ended.expect(if is_kept { 2 } else { 1 });
        ended
            .says("the script asked at s.lua:3 for the end of the program, by os.exit(7)")
            .says("Restoring the server's settings");
        assert_eq!(setting(&database), usual);
        let runs = run_folders(&desk.archive());
        assert_eq!(runs.len(), usize::from(is_kept));
        for run in runs {
            assert_eq!(run.state(), "incomplete");
            assert!(run.summed_up() >= 5);
        }
    }
    // Also what makes the data.
    let desk = Desk::new();
    let script = "function event() end\nfunction prepare() os.exit(7) end";
    experiment(&desk, script, "[data]\nlua = \"s.lua\"\n", "600s");
    let ended = desk.alone_on(&database.target(), ["s.toml"]).expect(1);
    ended.says("by os.exit(7)");
    assert_eq!(setting(&database), usual);
}

#[test]
fn a_first_signal_and_a_lost_reservation_end_what_scripts_do_beside_the_load() {
    let database = database_unreserved("e2e_beside");
    let usual = setting(&database);
    let loops = "while true do end";
    let waits = "local con = sysbench.sql.driver():connect() while true do pcall(con.query, con, 'SELECT \
                 pg_sleep(600)') end";
    let data = "[data]\nlua = \"s.lua\"\n";
    // A lost reservation is what the run fails with; both have nothing to keep before the load.
    let lose = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'dyno % since %'";
    for end in ["signal", "reservation"] {
        for (function, data, code) in [("prepare", data, 1), ("init", "", 1), ("done", "", 2)] {
            for does in [loops, waits] {
                let what = format!("{end} {function} {does}");
                let desk = Desk::new();
                // An event is over at once, so that there is something to keep.
                let script = format!(
                    "function thread_init() con = sysbench.sql.driver():connect() end\n\
                     function event() con:query('SELECT 1') end\nfunction {function}()\n{BEGUN}\n{does}\nend\n"
                );
                experiment(&desk, &script, data, "1s");
                let running = Running::start(desk.command_alone_on(&database.target(), ["s.toml"]));
                wait_for(&what, || desk.path().join("begun").exists());
                match end {
                    "signal" => running.signal(Signal::INT),
                    _ => database.execute(lose),
                }
                let ended = running.end();
                // All had been measured when `done` was called.
                let expected = if function == "done" && end == "signal" { 0 } else { code };
                assert_eq!(ended.code, Some(expected), "{what}\n{ended:?}");
                assert_eq!(setting(&database), usual, "{what}");
                let runs = run_folders(&desk.archive());
                assert_eq!(runs.len(), usize::from(function == "done"), "{what}");
                assert!(runs.iter().all(|run| run.summed_up() > 0), "{what}");
            }
        }
    }
}

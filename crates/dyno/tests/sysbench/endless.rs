//! Scripts that do not come back, or that leave: computing without end, waiting for the server without end, and
//! `os.exit`.

use crate::own::Folder;
use crate::server::Mariadb;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// How long something may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ways to compute without end.
const ENDLESS: [(&str, &str); 6] = [
    ("in a loop", "while true do end"),
    (
        "catching errors",
        "while true do pcall(function() while true do end end) end",
    ),
    (
        "in a coroutine",
        "coroutine.wrap(function() while true do local a = {} end end)()",
    ),
    ("in the API", "while true do sysbench.rand.default(1, 9) end"),
    (
        "compiled",
        "jit.on() jit.opt.start('hotloop=2') local n = 0 while true do n = n + 1 end",
    ),
    (
        "with a hook",
        "debug.sethook(function() end, '', 100) while true do end",
    ),
];

/// `dyno sysbench` with these words, as a terminal would start it.
fn start(folder: &Folder, words: &[&str]) -> Child {
    // The tests may run as a background job of a script, which ignores the terminal's signals.
    let mut command = folder.command(Path::new("env"));
    command.args(["--default-signal=HUP,INT,QUIT", env!("CARGO_BIN_EXE_dyno"), "sysbench"]);
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// What comes of it. It must end by itself.
#[track_caller]
fn end(mut child: Child, what: &str) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{what} does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[track_caller]
fn run(folder: &Folder, words: &[&str]) -> (Option<i32>, String) {
    let output = end(start(folder, words), &words.join(" "));
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// The same, interrupted once when it has made the file `begun`.
#[track_caller]
fn interrupted(folder: &Folder, words: &[&str]) -> (Output, String) {
    let what = words.join(" ");
    let child = start(folder, words);
    let (mark, begun) = (folder.path().join("begun"), Instant::now());
    while !mark.exists() {
        assert!(begun.elapsed() < PATIENCE, "{what} does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_file(mark).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = end(child, &what);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

/// Tells that it has begun.
const BEGUN: &str = "io.open('begun', 'w'):close()";

#[test]
fn the_end_of_the_time_ends_what_computes_without_end() {
    let folder = Folder::new();
    for (how, endless) in ENDLESS {
        folder.file(
            "s.lua",
            &format!(
                "local n = 0\nfunction event()\nn = n + 1\nif n > 5 and sysbench.tid == 1 then\n{endless}\nend\nend"
            ),
        );
        let words = [
            "s.lua",
            "run",
            "--threads=2",
            "--time=2",
            "--forced-shutdown=0",
            "--report-interval=1",
        ];
        let (code, text) = run(&folder, &words);
        assert_eq!(code, Some(2), "{how}\n{text}");
        let said = "FATAL: the script of thread 1 was ended at s.lua:5: it had not asked the server for anything for ";
        assert_eq!(text.matches(said).count(), 1, "{how}\n{text}");
        for said in [
            "WARNING: the script of thread 1 has not asked the server for anything for 1 s",
            // These are told while it computes.
            "[ 1s ] thds: 2 eps: ",
            "FATAL: The --max-time limit has expired, forcing shutdown...\n",
            "Number of unfinished transactions on forced shutdown: 1\n",
        ] {
            assert!(text.contains(said), "{how}: {said}\n{text}");
        }
        let events = text
            .lines()
            .find(|line| line.contains("total number of events:"))
            .unwrap();
        let events: u64 = events.split_whitespace().last().unwrap().parse().unwrap();
        assert!(events > 5, "{how}\n{text}");
    }
}

#[test]
fn many_clients_of_a_thread_do_not_each_hold_up_the_end() {
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    crate::case::Desk::reset(&mariadb, &[]);
    let options = crate::case::Desk::options(&mariadb);
    let begin = "function thread_init() con = sysbench.sql.driver():connect() end\n";
    let done = "function done() print('all done') end\n";
    // The second has all of a thread's clients go on with replies that have come together.
    for asks in ["", "con:query('SELECT 1')"] {
        folder.file(
            "s.lua",
            &format!("{begin}{done}function event()\n{asks}\nwhile true do end\nend"),
        );
        let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
        words.extend(["s.lua", "run", "--threads=64", "--time=1", "--forced-shutdown=0"]);
        let (code, text) = run(&folder, &words);
        assert_eq!(code, Some(2), "{asks}\n{text}");
        assert!(text.contains("all done\n"), "{asks}\n{text}");
        // One of each worker at most: the others of its clients do not begin, or do not go on.
        let cores = std::thread::available_parallelism().unwrap().get();
        let ended = text.matches(" was ended at s.lua:5").count();
        assert!((1..=cores).contains(&ended), "{asks}\n{text}");
    }
}

#[test]
fn intermediate_reports_go_on_while_a_client_keeps_its_thread() {
    let folder = Folder::new();
    folder.file(
        "s.lua",
        "local ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nfunction event()\n\
         if sysbench.tid == 0 then while true do end end\nffi.C.usleep(1000)\nend",
    );
    // Each of the two has a thread of its own, where there are two cores.
    let words = [
        "s.lua",
        "run",
        "--threads=2",
        "--time=5",
        "--forced-shutdown=0",
        "--report-interval=1",
    ];
    let (code, text) = run(&folder, &words);
    assert_eq!(code, Some(2), "{text}");
    let ended = text.find("was ended at s.lua:4").unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<_> = text[..ended].lines().filter(|line| line.starts_with("[ ")).collect();
    assert!(lines.len() >= 3, "{text}");
    if std::thread::available_parallelism().unwrap().get() > 1 {
        // They tell what the other one does.
        assert!(lines.iter().all(|line| !line.contains("eps: 0.00")), "{text}");
    }
}

#[test]
fn without_a_forced_shutdown_computing_has_its_limit() {
    let folder = Folder::new();
    folder.file("s.lua", "function event() while true do end end");
    let (code, text) = run(&folder, &["s.lua", "run", "--time=1", "--threads=3"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("was ended at s.lua:1"), "{text}");
    assert!(text.contains("total number of events:              0\n"), "{text}");
    // What comes after the events is no better, but they are complete: it has failed, as if it had raised an error.
    folder.file(
        "s.lua",
        "function event() end\nfunction thread_done()\nwhile true do end\nend",
    );
    let (code, text) = run(&folder, &["s.lua", "run", "--time=1", "--threads=3"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("was ended at s.lua:3"), "{text}");
    for untrue in ["forcing shutdown", "unfinished transactions"] {
        assert!(!text.contains(untrue), "{text}");
    }
}

#[test]
fn a_first_signal_ends_what_computes_without_end() {
    let folder = Folder::new();
    let endless = format!("{BEGUN}\nwhile true do end\nend\n");
    let cases = [
        (
            "event",
            format!("local n = 0\nfunction event()\nn = n + 1 if n <= 5 then return end\n{endless}"),
            true,
        ),
        (
            "init",
            format!("function event() end\nfunction init()\n{endless}"),
            false,
        ),
        (
            "thread_init",
            format!("function event() end\nfunction thread_init()\n{endless}"),
            false,
        ),
        (
            "done",
            format!("function event() return true end\nfunction done()\n{endless}"),
            true,
        ),
        (
            "thread_done",
            format!("function event() return true end\nfunction thread_done()\n{endless}"),
            true,
        ),
    ];
    for (function, text, is_reported) in cases {
        folder.file("s.lua", &text);
        let (output, text) = interrupted(&folder, &["s.lua", "run", "--time=600"]);
        assert_eq!(output.status.signal(), Some(2), "{function}\n{output:?}");
        assert!(text.contains("was ended at s.lua:"), "{function}\n{text}");
        assert_eq!(
            text.contains("total number of events:"),
            is_reported,
            "{function}\n{text}"
        );
    }
}

#[test]
fn a_first_signal_ends_what_waits_for_the_server_beside_the_load() {
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    crate::case::Desk::reset(&mariadb, &[]);
    let options = crate::case::Desk::options(&mariadb);
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(["s.lua", "run", "--events=3"]);
    for function in ["init", "done"] {
        // It asks again whatever it is told.
        let text = format!(
            "function event() end\nfunction {function}()\nlocal con = sysbench.sql.driver():connect()\n{BEGUN}\n\
             while true do pcall(con.query, con, 'select sleep(600)') end\nend\n"
        );
        folder.file("s.lua", &text);
        let (output, text) = interrupted(&folder, &words);
        assert_eq!(output.status.signal(), Some(2), "{function}\n{output:?}");
        assert!(text.contains("FATAL: stopped on request"), "{function}\n{text}");
    }
}

#[test]
fn a_call_that_is_not_lua_holds_up_neither_a_forced_shutdown_nor_a_signal() {
    let folder = Folder::new();
    folder.file(
        "s.lua",
        &format!(
            "local n, ffi = 0, require('ffi')\nffi.cdef('int sleep(unsigned int);')\nfunction event()\nn = n + 1\n\
             if n > 5 and sysbench.tid == 0 then {BEGUN} ffi.C.sleep(600) end\nend"
        ),
    );
    let words = ["s.lua", "run", "--threads=2", "--time=1", "--forced-shutdown=0"];
    let (code, text) = run(&folder, &words);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("in a call that does not come back"), "{text}");
    // As in sysbench, these are the clients that have not ended.
    let said = "Number of unfinished transactions on forced shutdown: 2\n";
    assert!(text.contains(said), "{text}");
    let _ = std::fs::remove_file(folder.path().join("begun"));
    let (output, text) = interrupted(&folder, &["s.lua", "run", "--threads=2", "--time=600"]);
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    assert!(text.contains("total number of events:"), "{text}");
}

#[test]
fn why_a_run_has_ended_is_told_also_if_a_thread_does_not_end() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let folder = Folder::new();
    let hook = "function sysbench.hooks.report_intermediate(stat)";
    let cases = [
        ("if n > 5 and has_waited() then os.exit(7) end", "", 7, "by os.exit(7)"),
        ("if n > 5 and has_waited() then error('no more') end", "", 1, "no more"),
        ("", "if has_waited() then error('no report') end", 1, "no report"),
        ("", "if has_waited() then os.exit(9) end", 9, "by os.exit(9)"),
    ];
    for (event, report, expected, said) in cases {
        // Each of the two has a worker of its own; the first one waits for what is not Lua.
        folder.file(
            "s.lua",
            &format!(
                "local n, ffi = 0, require('ffi')\nffi.cdef('int sleep(unsigned int);')\n\
                 function has_waited() return io.open('begun') ~= nil end\n\
                 function event()\nn = n + 1\nif sysbench.tid == 0 then {BEGUN} ffi.C.sleep(600) end\n{event}\nend\n\
                 {hook}\n{report}\nend\nfunction done() print('done was called') end"
            ),
        );
        let words = ["s.lua", "run", "--threads=2", "--time=600", "--report-interval=1"];
        let (code, text) = run(&folder, &words);
        assert_eq!(code, Some(expected), "{said}\n{text}");
        assert_eq!(text.matches(said).count(), 1, "{said}\n{text}");
        assert!(text.contains("total number of events:"), "{said}\n{text}");
        std::fs::remove_file(folder.path().join("begun")).unwrap();
    }
}

#[test]
fn what_tidies_up_on_the_server_is_waited_for_after_a_forced_shutdown() {
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    crate::case::Desk::reset(&mariadb, &[]);
    let options = crate::case::Desk::options(&mariadb);
    folder.file(
        "s.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() pcall(con.query, con, 'select nothing') return true end\n\
         function thread_done() con:query('select sleep(5)') print('tidy') end\n\
         function done() print('all done') end",
    );
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(["s.lua", "run", "--threads=2", "--time=1", "--forced-shutdown=0"]);
    let (code, text) = run(&folder, &words);
    // Nor is it a failure what a script catches, though it is said as sysbench says it.
    assert!(text.contains("FATAL: mysql_drv_query() returned error"), "{text}");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("tidy\n").count(), 2, "{text}");
    assert!(text.contains("all done\n"), "{text}");
}

#[test]
fn a_script_that_leaves_has_its_exit_code_and_its_report() {
    let folder = Folder::new();
    let cases = [
        (
            "run",
            "local n = 0\nfunction event() n = n + 1 if n > 5 then os.exit(7) end end",
            7,
            true,
        ),
        (
            "run",
            "local n = 0\nfunction event() n = n + 1 if n > 5 then pcall(os.exit, 8) while true do end end end",
            8,
            true,
        ),
        (
            "run",
            "local n = 0\nfunction event() n = n + 1 if n > 5 then os.exit() end end",
            0,
            true,
        ),
        (
            "run",
            "local n = 0\nfunction event() n = n + 1 if n > 5 then os.exit(false) end end",
            1,
            true,
        ),
        ("run", "function event() end\nfunction init() os.exit(3) end", 3, false),
        (
            "run",
            "function event() end\nfunction thread_init() os.exit(4) end\nfunction done() os.exit(9) end",
            4,
            false,
        ),
        (
            "run",
            "function event() return true end\nfunction done() os.exit(5) end",
            5,
            true,
        ),
        ("run", "function event() end\nos.exit(6)", 6, false),
        ("prepare", "function prepare() os.exit(260) end", 4, false),
    ];
    for (command, script, expected, is_reported) in cases {
        folder.file("s.lua", script);
        let (code, text) = run(&folder, &["s.lua", command, "--events=100"]);
        assert_eq!(code, Some(expected), "{script}\n{text}");
        assert_eq!(
            text.contains("total number of events:"),
            is_reported,
            "{script}\n{text}"
        );
        assert_eq!(
            text.matches("WARNING: the script asked at s.lua:").count(),
            1,
            "{script}\n{text}"
        );
    }
}

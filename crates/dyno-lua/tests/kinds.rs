//! Scripts of the kinds that people publish, on a real MariaDB and a real PostgreSQL.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod support;

use dyno_engine::{Ending, Stop};
use dyno_lua::{
    Dialect, Environment, Function, IgnoredErrors, LuaError, OptionKind, OptionValue, Server, Settings, Source,
    Statistics,
};
use std::fs;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{Came, FOREVER, Heard, Maria, Pg, command, maria, number, pg, run, run_until, settings};

static MARIA: LazyLock<Mutex<Maria>> = LazyLock::new(|| Mutex::new(maria("tests-lua-kinds")));
static PG: LazyLock<Mutex<Pg>> = LazyLock::new(|| Mutex::new(pg("tests-lua-kinds")));

fn hold<T>(server: &'static Mutex<T>) -> MutexGuard<'static, T> {
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drives a script on MariaDB until its events are used up, and expects that it ends well.
fn well(server: &Maria, source: &Source, settings: &Settings, heard: &Heard, threads: usize) -> Came {
    let came = run(&server.connector(), source, settings, threads, *FOREVER).unwrap();
    assert!(
        came.outcome.ended_early.is_none(),
        "{:?} {:?}",
        came.outcome,
        heard.said()
    );
    came
}

/// Why a load ended that was to end early.
fn failure(came: &Came) -> &LuaError {
    match &came.outcome.ended_early {
        Some(Ending::Program(error)) => error.of::<LuaError>().unwrap(),
        other => panic!("{other:?}"),
    }
}

const TRANSFER: &str = r#"
-- Moves money between tables, with statements prepared for each of them.
sysbench.cmdline.options = {
   accounts = {"Accounts per table", 20},
   tables = {"Tables", 3},
}

local INT = sysbench.sql.type.INT

local function name(i) return "account" .. i end

function prepare()
   local con = sysbench.sql.driver():connect()
   for i = 1, sysbench.opt.tables do
      con:query("create table " .. name(i) .. " (id int primary key, balance bigint not null)")
      con:bulk_insert_init("insert into " .. name(i) .. " (id, balance) values")
      for id = 1, sysbench.opt.accounts do
         con:bulk_insert_next("(" .. id .. ",1000)")
      end
      con:bulk_insert_done()
   end
   con:disconnect()
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for i = 1, sysbench.opt.tables do
      con:query("drop table if exists " .. name(i))
   end
end

function thread_init()
   con = sysbench.sql.driver():connect()
   stmt, amount, id = {}, {}, {}
   for i = 1, sysbench.opt.tables do
      stmt[i] = con:prepare("update " .. name(i) .. " set balance = balance + ? where id = ?")
      amount[i], id[i] = stmt[i]:bind_create(INT), stmt[i]:bind_create(INT)
      stmt[i]:bind_param(amount[i], id[i])
   end
end

local function add(table, account, sum)
   amount[table]:set(sum)
   id[table]:set(account)
   stmt[table]:execute()
end

function event()
   local from, to = sysbench.rand.uniform(1, sysbench.opt.tables), sysbench.rand.uniform(1, sysbench.opt.tables)
   local a, b = sysbench.rand.uniform(1, sysbench.opt.accounts), sysbench.rand.uniform(1, sysbench.opt.accounts)
   con:query("begin")
   add(from, a, -10)
   add(to, b, 10)
   con:query("commit")
end

function thread_done()
   for i = 1, #stmt do stmt[i]:close() end
   con:disconnect()
end
"#;

#[test]
fn money_moves_between_tables_and_deadlocks_begin_again() {
    let server = hold(&MARIA);
    let source = Source::text("transfer.lua", TRANSFER);
    let (mut settings, heard) = settings(Dialect::Mysql, 16, &[("accounts", number(3))]);
    command(&server.connector(), &source, &settings, "cleanup").unwrap();
    command(&server.connector(), &source, &settings, "prepare").unwrap();
    settings.events = 2_000;
    let came = well(&server, &source, &settings, &heard, 2);
    assert_eq!(came.recording.transactions, 2_000);
    let sum = |table| server.number(&format!("select cast(sum(balance) as signed) from account{table}"));
    assert_eq!(sum(1) + sum(2) + sum(3), 9_000);
    // Of each event that worked: two statements that write, two that do neither. What began again did more.
    assert!(
        came.counts.writes >= 4_000 && came.counts.others >= 4_000,
        "{:?}",
        came.counts
    );
    assert!(came.counts.errors > 0, "no deadlocks: {:?}", came.counts);
    assert_eq!(heard.said(), [""; 0]);
}

#[test]
fn an_error_that_is_not_ignored_ends_the_load_in_sysbench_s_words() {
    let server = hold(&MARIA);
    let text = "function thread_init()\n con = sysbench.sql.driver():connect()\nend\nfunction event()\n \
                con:query('select * from no_such_table')\nend";
    let (settings, heard) = settings(Dialect::Mysql, 2, &[]);
    let came = run(
        &server.connector(),
        &Source::text("bad.lua", text),
        &settings,
        1,
        *FOREVER,
    )
    .unwrap();
    let error = failure(&came);
    assert_eq!(
        error.to_string(),
        "`thread_run' function failed: bad.lua:5: SQL error, errno = 1146, state = '42S02': Table \
         'sbtest.no_such_table' doesn't exist"
    );
    assert!(
        error.traceback().unwrap().contains("bad.lua:5: in function"),
        "{:?}",
        error.traceback()
    );
    assert_eq!(
        heard.said()[0],
        "Fatal: mysql_drv_query() returned error 1146 (Table 'sbtest.no_such_table' doesn't exist) for query 'select \
         * from no_such_table'"
    );
    // The same before the load begins: it does not begin.
    let text = text.replace("connect()\n", "connect()\n con:query('select * from no_such_table')\n");
    let came = run(
        &server.connector(),
        &Source::text("bad.lua", &text),
        &settings,
        1,
        *FOREVER,
    )
    .unwrap();
    assert!(
        failure(&came)
            .to_string()
            .starts_with("`thread_init' function failed: bad.lua:3: SQL error, errno = 1146")
    );
    assert!(!came.connected);
}

#[test]
fn a_hook_decides_which_errors_are_ignored() {
    let server = hold(&MARIA);
    let text = r#"
        local tries = 0
        function thread_init()
           con = sysbench.sql.driver():connect()
        end
        function event()
           tries = tries + 1
           if tries % 3 ~= 0 then con:query("select * from missing_" .. tries) end
           con:query("select 1")
        end
        function sysbench.hooks.sql_error_ignorable(e)
           assert(e.connection == con and e.query:match("^select"))
           return e.sql_errno == 1146 and e.sql_state == "42S02" and e.sql_errmsg:match("missing_") ~= nil
        end
        function sysbench.hooks.before_restart_event(e)
           print("again after " .. e.sql_errno)
        end"#;
    let (mut settings, heard) = settings(Dialect::Mysql, 1, &[]);
    settings.events = 4;
    let came = well(&server, &Source::text("hook.lua", text), &settings, &heard, 1);
    assert_eq!(
        (came.recording.transactions, came.counts.reads, came.counts.errors),
        (4, 4, 8)
    );
    assert_eq!(heard.printed(), "again after 1146\n".repeat(8));
}

#[test]
fn options_are_declared_with_kinds_and_may_be_validated() {
    let text = r#"
        sysbench.cmdline.options = {
           size = {"Size", 1000},
           share = {"Share", 0.5, sysbench.cmdline.ARG_DOUBLE, function(value)
              if value > 1 then error("share must be at most 1") end
           end},
           quiet = {"Say nothing", false},
           names = {"Names", {"a", "b"}, sysbench.cmdline.ARG_LIST},
           engine = {"Engine"},
        }
        function cmd_check() print(sysbench.opt.size, sysbench.opt.share, sysbench.opt.engine) end
        sysbench.cmdline.commands = {check = {cmd_check}, fill = {cmd_check, sysbench.cmdline.PARALLEL_COMMAND}}
        function event() end"#;
    let source = Source::text("options.lua", text);
    let (settings, heard) = settings(Dialect::Mysql, 1, &[("size", number(7))]);
    let mut environment = Environment::load(&source, &settings, 0, None).unwrap();
    let declared = environment.declared().clone();
    let options: Vec<_> = declared.options.iter().flatten().collect();
    let shown: Vec<_> = options
        .iter()
        .map(|option| (option.name.as_str(), option.kind, option.validated))
        .collect();
    assert_eq!(
        shown,
        [
            ("engine", OptionKind::String, false),
            ("names", OptionKind::List, false),
            ("quiet", OptionKind::Bool, false),
            ("share", OptionKind::Double, true),
            ("size", OptionKind::Int, false),
        ]
    );
    assert_eq!(
        options[1].default,
        Some(OptionValue::List(vec!["a".to_owned(), "b".to_owned()]))
    );
    assert_eq!(
        (options[0].default.as_ref(), options[4].default.as_ref()),
        (None, Some(&number(1000)))
    );
    assert_eq!(options[4].description, "Size");
    assert!(declared.command("fill").unwrap().parallel && !declared.command("check").unwrap().parallel);
    assert_eq!(declared.functions, [Function::Event]);
    environment.validate("share", &OptionValue::Number(0.9)).unwrap();
    let error = environment.validate("share", &OptionValue::Number(2.0)).unwrap_err();
    assert!(
        error.to_string().contains("options.lua:5: share must be at most 1"),
        "{error}"
    );
    environment.command("check").unwrap();
    assert_eq!(heard.printed(), "7\t0.5\tnil\n");
    assert_eq!(
        environment.command("nothing").unwrap_err(),
        LuaError::NoCommand("nothing".to_owned())
    );
    environment.print_options().unwrap();
    assert!(heard.printed().contains("--size=N"), "{}", heard.printed());
}

#[test]
fn reports_are_those_of_the_script() {
    let text = r#"
        sysbench.hooks.report_intermediate = sysbench.report_csv
        function sysbench.hooks.report_cumulative(stat)
           local h = sysbench.histogram.new(10, 1, 1000)
           for i = 1, 4 do h:update(10) end
           h:update(500)
           h:print()
           print(stat.events .. " events in " .. stat.time_total)
        end
        function init() print("init") end
        function event() end"#;
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    let mut environment = Environment::load(&Source::text("report.lua", text), &settings, 0, None).unwrap();
    let statistics = Statistics {
        threads_running: 3,
        time_total_s: 10.0,
        time_interval_s: 2.0,
        events: 100,
        reads: 60,
        writes: 30,
        other: 10,
        latency_pct_s: 0.012,
        ..Statistics::default()
    };
    assert!(environment.call(Function::Init).unwrap());
    assert!(!environment.call(Function::Done).unwrap());
    assert!(environment.report_intermediate(&statistics).unwrap());
    assert!(environment.report_cumulative(&statistics).unwrap());
    let printed = heard.printed();
    assert!(
        printed.starts_with("init\n10,3,50.00,50.00,30.00,15.00,5.00,12.00,0.00,0.00\n"),
        "{printed}"
    );
    assert!(printed.contains(&format!("|{} 4\n", "*".repeat(40))), "{printed}");
    assert!(printed.ends_with("100 events in 10\n"), "{printed}");
}

#[test]
fn several_connections_of_a_thread_wait_for_each_other() {
    let server = hold(&MARIA);
    server.execute(
        "create or replace table sbtest.twin (id int primary key, n int); insert into sbtest.twin values (1, 0)",
    );
    // A lock that one connection holds is what the other's statement meets.
    let text = r#"
        function thread_init()
           local drv = sysbench.sql.driver()
           one, two = drv:connect(), drv:connect()
           two:query("set innodb_lock_wait_timeout = 1")
        end
        function event()
           one:query("begin")
           one:query("update twin set n = n + 1 where id = 1")
           local ok, problem = pcall(two.query, two, "update twin set n = n + 1 where id = 1")
           assert(not ok and problem.sql_errno == 1205, tostring(problem))
           one:query("commit")
           two:query("update twin set n = n + 1 where id = 1")
        end
        function thread_done()
           one:disconnect()
           two:disconnect()
        end"#;
    let (mut settings, heard) = settings(Dialect::Mysql, 1, &[]);
    settings.events = 2;
    let came = well(&server, &Source::text("twin.lua", text), &settings, &heard, 1);
    assert_eq!(came.recording.transactions, 2);
    assert_eq!(server.number("select n from twin"), 4);
    // Many clients with three connections each.
    let text = r#"
        function thread_init()
           cons = {}
           for i = 1, 3 do cons[i] = sysbench.sql.driver():connect() end
        end
        function event()
           local ids = {}
           for i = 1, 3 do
              local id = cons[i]:query_row("select connection_id()")
              assert(not ids[id])
              ids[id] = true
           end
        end"#;
    settings.events = 300;
    settings.threads = 20;
    let came = well(&server, &Source::text("three.lua", text), &settings, &heard, 2);
    assert_eq!(came.counts.reads, 900);
}

#[test]
fn results_are_walked_row_by_row() {
    let server = hold(&MARIA);
    let text = r#"
        function thread_init()
           con = sysbench.sql.driver():connect()
           stmt = con:prepare("select ? + seq, if(seq = 2, null, concat('row ', seq)) from seq_1_to_3")
           p = stmt:bind_create(sysbench.sql.type.INT)
           stmt:bind_param(p)
        end
        function event()
           local function walk(rs)
              assert(rs.nrows == 3 and rs.nfields == 2)
              local words = {}
              for i = 1, rs.nrows do
                 local row = rs:fetch_row()
                 words[i] = row[1] .. "=" .. tostring(row[2])
              end
              assert(rs:fetch_row() == nil)
              rs:free()
              return table.concat(words, " ")
           end
           p:set(10)
           print(walk(stmt:execute()))
           print(walk(con:query("select seq, if(seq = 2, null, 'x') from seq_1_to_3")))
           print(con:query_row("select 1, null, 'three'"))
           print(con:query_row("select 1 from seq_1_to_3 where seq > 9"))
           print(con:query("do 1"))
           return true
        end"#;
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    let came = well(&server, &Source::text("rows.lua", text), &settings, &heard, 1);
    assert_eq!(
        heard.printed(),
        "11=row 1 12=nil 13=row 3\n1=x 2=nil 3=x\n1\tnil\tthree\nnil\n<sql_result>\n"
    );
    // An event that gives something ends its client, and is none.
    assert_eq!(
        (came.recording.transactions, came.counts.reads, came.counts.others),
        (0, 4, 1)
    );
}

#[test]
fn a_procedure_brings_several_results() {
    let server = hold(&MARIA);
    server.execute(
        "create or replace procedure sbtest.several(n int) begin select n, n + 1; select seq from seq_1_to_3; \
         do 1; select null where false; end",
    );
    let text = r#"
        local function walk(con, rs)
           local words = {}
           while rs do
              local rows = {}
              for i = 1, rs.nrows do
                 rows[i] = table.concat(rs:fetch_row(), ",")
              end
              words[#words + 1] = rs.nfields .. ":" .. table.concat(rows, " ")
              rs = con:more_results() and con:next_result() or nil
           end
           return table.concat(words, "; ")
        end
        function thread_init()
           con = sysbench.sql.driver():connect()
           stmt = con:prepare("call several(?)")
           p = stmt:bind_create(sysbench.sql.type.INT)
           stmt:bind_param(p)
        end
        function event()
           print(walk(con, con:query("call several(5)")))
           p:set(7)
           print(walk(con, stmt:execute()))
           -- What is not asked for is gone with the next statement.
           con:query("call several(1)")
           con:query("select 1")
           print(con:more_results(), con:next_result())
        end"#;
    let (mut settings, heard) = settings(Dialect::Mysql, 1, &[]);
    settings.events = 1;
    settings.version = dyno_lua::Version::V1_1;
    well(&server, &Source::text("several.lua", text), &settings, &heard, 1);
    // The procedure's own end is none of them.
    assert_eq!(heard.printed(), "2:5,6; 1:1 2 3; 1:\n2:7,8; 1:1 2 3; 1:\nfalse\tnil\n");
}

#[test]
fn texts_are_counted_without_their_values() {
    let server = hold(&MARIA);
    let text = r#"
        function thread_init()
           con = sysbench.sql.driver():connect()
        end
        function event()
           con:query("select " .. sysbench.rand.uniform(1, 1000000) .. ", 'x" .. sysbench.rand.string("@@") .. "'")
           local fives = string.rep("5, ", sysbench.rand.uniform(0, 9))
           con:query("select seq from seq_1_to_9 where seq in (" .. fives .. "1)")
        end"#;
    let (mut settings, heard) = settings(Dialect::Mysql, 3, &[]);
    settings.events = 90;
    settings.tells_statements = true;
    let came = well(&server, &Source::text("texts.lua", text), &settings, &heard, 2);
    assert_eq!(
        came.statements,
        ["select ?, ?", "select seq from seq_1_to_# where seq in (?, …)"]
    );
}

#[test]
fn scripts_of_0_5_have_their_globals() {
    let server = hold(&MARIA);
    let folder = tempfile::tempdir().unwrap();
    let common = "function set_vars()\n   oltp_table_size = tonumber(oltp_table_size) or 5\nend\n\
                  function prepare()\n   set_vars()\n   db_connect()\n   db_query('drop table if exists old')\n   \
                  db_query('create table old (id int, k int)')\n   db_bulk_insert_init('insert into old values')\n   \
                  for i = 1, oltp_table_size do db_bulk_insert_next('(' .. i .. ',' .. sb_rand(1, 9) .. ')') end\n   \
                  db_bulk_insert_done()\n   db_disconnect()\nend\n";
    fs::write(folder.path().join("common.lua"), common).unwrap();
    let text = "pathtest = string.match(test, '(.*/)') or ''\ndofile(pathtest .. 'common.lua')\n\
                function thread_init(thread_id)\n   set_vars()\n   \
                stmt = db_prepare('select k from old where id = ?')\n   params = {1}\n   \
                db_bind_param(stmt, params)\nend\n\
                function event(thread_id)\n   params[1] = sb_rand_uniform(1, oltp_table_size)\n   \
                rs = db_execute(stmt)\n   db_store_results(rs)\n   db_free_results(rs)\n   \
                rs = db_query('select ' .. thread_id .. ' + ' .. sb_rand_uniq(1, 9))\n   \
                assert(db_driver == 'mysql' and #sb_rand_str('##@@') == 4 and DB_ERROR_NONE == 0)\nend\n";
    let path = folder.path().join("old.lua");
    fs::write(&path, text).unwrap();
    let source = Source::file(&path).unwrap();
    let (mut settings, heard) = settings(Dialect::Mysql, 2, &[]);
    settings.globals = vec![("oltp_table_size".to_owned(), OptionValue::Text("40".to_owned()))];
    command(&server.connector(), &source, &settings, "prepare").unwrap();
    assert_eq!(server.number("select count(*) from old"), 40);
    settings.events = 10;
    let came = well(&server, &source, &settings, &heard, 1);
    assert_eq!((came.recording.transactions, came.counts.reads), (10, 20));
}

#[test]
fn coroutines_of_a_script_may_ask_the_server() {
    let server = hold(&MARIA);
    let text = r#"
        function event()
           con = con or sysbench.sql.driver():connect()
           local each = coroutine.wrap(function()
              for i = 1, 3 do coroutine.yield(con:query_row("select " .. i)) end
           end)
           local co = coroutine.create(function(a)
              local b = coroutine.yield(a + 1)
              return con:query_row("select " .. b)
           end)
           local _, first = coroutine.resume(co, 1)
           local _, second = coroutine.resume(co, 7)
           print(each(), each(), each(), first, second, pcall(con.query, con, "nonsense"))
           return true
        end"#;
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    well(&server, &Source::text("coroutines.lua", text), &settings, &heard, 1);
    assert!(
        heard.printed().starts_with("1\t2\t3\t2\t7\tfalse\t"),
        "{}",
        heard.printed()
    );
}

#[test]
fn a_client_connects_anew_for_each_event() {
    let server = hold(&MARIA);
    let text = r#"
        function event()
           local con = sysbench.sql.driver():connect()
           local id = con:query_row("select connection_id()")
           assert(id ~= last)
           last = id
           con:disconnect()
        end"#;
    let (mut settings, heard) = settings(Dialect::Mysql, 4, &[]);
    settings.events = 40;
    let came = well(&server, &Source::text("anew.lua", text), &settings, &heard, 2);
    assert_eq!((came.recording.transactions, came.counts.reads), (40, 40));
}

#[test]
fn a_killed_connection_is_fatal_unless_it_is_ignored() {
    let server = hold(&MARIA);
    let text = r#"
        function thread_init()
           con = sysbench.sql.driver():connect()
           other = sysbench.sql.driver():connect()
           stmt = con:prepare("select 5")
        end
        function event()
           stmt:execute()
           if not killed then
              killed = true
              other:query("kill " .. con:query_row("select connection_id()"))
           end
           stmt:execute()
        end
        function sysbench.hooks.before_restart_event(e)
           print("again after " .. e.sql_errno)
        end"#;
    let source = Source::text("killed.lua", text);
    let (mut settings, heard) = settings(Dialect::Mysql, 1, &[]);
    settings.events = 3;
    let came = run(&server.connector(), &source, &settings, 1, *FOREVER).unwrap();
    let error = failure(&came).to_string();
    assert!(
        error.contains("killed.lua:13: SQL error, errno = 2013"),
        "{error} {:?}",
        heard.said()
    );
    settings.ignored = IgnoredErrors::Numbers(vec![2013]);
    let came = well(&server, &source, &settings, &heard, 1);
    assert_eq!(
        (came.counts.errors, came.counts.reconnects, came.recording.transactions),
        (1, 1, 3)
    );
    assert_eq!(heard.printed(), "again after 2013\n");
}

#[test]
fn commands_may_run_in_parallel_and_fail() {
    let server = hold(&MARIA);
    let text = r#"
        function cmd_fill()
           local con = sysbench.sql.driver():connect()
           con:query("create or replace table part" .. sysbench.tid .. " as select " .. sysbench.tid .. " as n")
           if sysbench.tid == 2 and sysbench.opt.broken then con:query("select broken") end
        end
        sysbench.cmdline.commands = {fill = {cmd_fill, sysbench.cmdline.PARALLEL_COMMAND}}
        sysbench.cmdline.options = {broken = {"Fail", false}}
        function event() end"#;
    let source = Source::text("fill.lua", text);
    let (mut settings, heard) = settings(Dialect::Mysql, 4, &[]);
    command(&server.connector(), &source, &settings, "fill").unwrap();
    assert_eq!(server.number("select a.n + b.n from part3 a, part0 b"), 3);
    settings.options = vec![("broken".to_owned(), OptionValue::Bool(true))];
    let error = command(&server.connector(), &source, &settings, "fill")
        .unwrap_err()
        .to_string();
    assert!(error.contains("fill.lua:5: SQL error, errno = 1054"), "{error}");
    assert!(
        heard.said()[0].contains("mysql_drv_query() returned error 1054"),
        "{:?}",
        heard.said()
    );
}

/// As where a process ends: nobody goes on.
#[test]
fn os_exit_ends_all_threads_of_a_command() {
    let server = hold(&MARIA);
    let text = r#"
        function cmd_leave()
           if sysbench.tid == 2 then os.exit("7") end
           local begun = os.time()
           while os.time() < begun + 20 do end
           print("through")
        end
        sysbench.cmdline.commands = {leave = {cmd_leave, sysbench.cmdline.PARALLEL_COMMAND}}
        function event() end"#;
    let source = Source::text("leave.lua", text);
    let (settings, heard) = settings(Dialect::Mysql, 4, &[]);
    let error = command(&server.connector(), &source, &settings, "leave").unwrap_err();
    let at = "leave.lua:3".to_owned();
    assert_eq!(error, LuaError::Exit { code: 7, at });
    assert_eq!(heard.printed(), "");
    assert!(!settings.stop.requested());
}

#[test]
fn os_exit_wants_a_number() {
    let text = "print(pcall(os.exit, {})) print(pcall(os.exit, 'soon')) os.exit(' 0x103 ')";
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    let error = Environment::load(&Source::text("code.lua", text), &settings, 0, None)
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LuaError::Exit { code: 3, .. }), "{error:?}");
    let printed = heard.printed();
    for kind in ["table", "string"] {
        let said = format!("bad argument #1 to 'exit' (number expected, got {kind})");
        assert!(printed.contains(&said), "{printed}");
    }
}

#[test]
fn a_script_from_elsewhere_has_no_way_out() {
    let text = r#"
        for _, name in ipairs({"io", "debug", "ffi", "jit"}) do
           assert(rawget(_G, name) == nil, name)
           assert(not pcall(require, name), name)
        end
        assert(os.execute == nil and os.getenv == nil and type(os.time()) == "number")
        assert(package.loadlib == nil and string.dump == nil)
        assert(not pcall(load("return 1")) == false)
        assert(load("\27LJ") == nil)
        assert(type(load("return 1ULL")) == "function" and rawget(_G, "ffi") == nil and not pcall(require, "ffi"))
        assert(type(sysbench.rand.uniform_uint64()) == "cdata")
        assert(not pcall(dofile, "/etc/no-such-file"))
        function event() end"#;
    let (mut settings, _) = settings(Dialect::Mysql, 1, &[]);
    settings.safe = true;
    Environment::load(&Source::text("safe.lua", text), &settings, 0, None)
        .map(drop)
        .unwrap();
    settings.safe = false;
    for text in [
        "local ffi = require('ffi') ffi.cdef('int getpid(void);') assert(ffi.C.getpid() > 0) assert(io and debug)",
        "ffi.cdef('int getpid(void);') assert(ffi.C.getpid() > 0) function event() end",
        "assert(type(sysbench.rand.uniform_uint64()) == 'cdata' and 1ULL + 1 == 2) function event() end",
    ] {
        Environment::load(&Source::text("foreign.lua", text), &settings, 0, None)
            .map(drop)
            .unwrap();
    }
}

#[test]
fn a_script_that_spins_is_named() {
    let server = hold(&MARIA);
    let text = "function event()\n   local until_then = os.time() + 3\n   while os.time() < until_then do\n   end\n   \
                return true\nend";
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    well(&server, &Source::text("spin.lua", text), &settings, &heard, 1);
    let said = heard.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("Warning: the script of thread 0 has not asked"),
        "{said:?}"
    );
    assert!(said[0].contains("in spin.lua:3"), "{said:?}");
}

#[test]
fn a_load_that_is_stopped_lets_its_clients_leave() {
    let server = hold(&MARIA);
    server.execute("create or replace table sbtest.left_over (n int)");
    let text = r#"
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("do sleep(0.01)") end
        function thread_done() con:query("insert into left_over values (1)") end"#;
    let (settings, heard) = settings(Dialect::Mysql, 5, &[]);
    let source = Source::text("leave.lua", text);
    let duration = Duration::from_millis(300);
    let came = run_until(&server.connector(), &source, &settings, 2, duration, &Stop::new()).unwrap();
    assert!(
        came.outcome.ended_early.is_none(),
        "{:?} {:?}",
        came.outcome,
        heard.said()
    );
    assert_eq!(server.number("select count(*) from left_over"), 5);
    assert_eq!(
        (came.counts.others, came.counts.writes),
        (came.recording.transactions, 5)
    );
}

#[test]
fn modules_come_with_the_script_or_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("near.lua"), "return {where = 'near'}").unwrap();
    let path = folder.path().join("main.lua");
    fs::write(
        &path,
        "print(require('near').where, require('inner').where)\nfunction event() end",
    )
    .unwrap();
    let source = Source::file(&path)
        .unwrap()
        .with_modules([("inner", "return {where = 'inner'}")]);
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    Environment::load(&source, &settings, 0, None).map(drop).unwrap();
    assert_eq!(heard.printed(), "near\tinner\n");
    let (settings, _) = support::settings(Dialect::Mysql, 1, &[]);
    let missing = Source::text("missing.lua", "require('nowhere')");
    let error = Environment::load(&missing, &settings, 0, None)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("missing.lua:1: module 'nowhere' not found:"),
        "{error}"
    );
}

#[test]
fn postgresql_takes_the_same_scripts() {
    let server = hold(&PG);
    let source = Source::text("transfer.lua", TRANSFER);
    let (mut settings, heard) = settings(Dialect::Postgres, 8, &[("accounts", number(3))]);
    command(&server.connector(), &source, &settings, "cleanup").unwrap();
    command(&server.connector(), &source, &settings, "prepare").unwrap();
    server.forget();
    settings.events = 400;
    let came = run(&server.connector(), &source, &settings, 2, *FOREVER).unwrap();
    assert!(
        came.outcome.ended_early.is_none(),
        "{:?} {:?}",
        came.outcome,
        heard.said()
    );
    assert_eq!(came.recording.transactions, 400);
    let all = "select * from account1 union all select * from account2 union all select * from account3";
    assert_eq!(
        server.number(&format!("select sum(balance)::bigint from ({all}) a")),
        9_000
    );
    let calls = server.calls();
    let updates: i64 = calls
        .iter()
        .filter(|(text, _)| text.starts_with("update account"))
        .map(|(_, calls)| calls)
        .sum();
    assert_eq!(updates as u64, came.counts.writes, "{calls:?}");
    let text = r#"
        function event()
           local con = sysbench.sql.driver():connect()
           local stmt = con:prepare("select n, null::text, 'x?' from generate_series(1, ?) n where n <> ?")
           local a, b = stmt:bind_create(sysbench.sql.type.INT), stmt:bind_create(sysbench.sql.type.INT)
           stmt:bind_param(a, b)
           a:set(3)
           b:set(2)
           local rs = stmt:execute()
           for i = 1, rs.nrows do
              local row = rs:fetch_row()
              print(row[1], row[2], row[3])
           end
           print(con:query("select * from nothing_here"))
        end"#;
    let (settings, heard) = support::settings(Dialect::Postgres, 1, &[]);
    let came = run(
        &server.connector(),
        &Source::text("rows.lua", text),
        &settings,
        1,
        *FOREVER,
    )
    .unwrap();
    assert_eq!(heard.printed(), "1\tnil\tx?\n3\tnil\tx?\n");
    assert_eq!(
        failure(&came).to_string(),
        "`thread_run' function failed: rows.lua:14: SQL error, errno = 0, state = '42P01': relation \"nothing_here\" \
         does not exist"
    );
}

#[test]
fn commands_use_a_server_that_is_given() {
    let server = hold(&PG);
    let reach: Arc<dyn Server> = Arc::new(server.connector());
    let (settings, heard) = settings(Dialect::Postgres, 1, &[]);
    let text =
        "function prepare()\n local con = sysbench.sql.driver():connect()\n print(con:query_row('select 7'))\nend";
    let mut environment = Environment::load(&Source::text("c.lua", text), &settings, 0, Some(reach)).unwrap();
    environment.command("prepare").unwrap();
    assert_eq!(heard.printed(), "7\n");
}

/// What a script consists of is more than what it has loaded when it begins, and is used in the place of the files.
#[test]
fn files_belong_to_the_script_that_loads_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let inner = file("inner.lua", "inner = 'old'");
    let outer = file("outer.lua", &format!("dofile('{inner}') outer = 1"));
    let later = file("later.lua", "later = 'old'");
    let hidden = file("hidden.lua", "hidden = 'old'");
    file("near.lua", "return 'old'");
    let letter = file("letter.txt", "no script of mine");
    let text = format!(
        "dofile('{outer}') if false then dofile('{letter}') dofile('/dev/zero') end\n\
         function prepare() dofile(\"{later}\") dofile('' .. '{hidden}') print(inner, later, require('near')) end"
    );
    let source = Source::text("main.lua", &text).in_folder(folder.path());
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    let parts = Environment::load(&source, &settings, 0, None).unwrap().parts();
    let names = |parts: &[(String, Vec<u8>)]| parts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&parts.files), [inner.clone(), later.clone(), outer.clone()]);
    assert_eq!(parts.modules, [("near".to_owned(), b"return 'old'".to_vec())]);
    for path in [&inner, &later, &folder.path().join("near.lua").display().to_string()] {
        fs::write(path, "return 'new'").unwrap();
    }
    let files = parts.files.iter().map(|(name, text)| (name.as_str(), text));
    let modules = parts.modules.iter().map(|(name, text)| (name.as_str(), text));
    let known = source.clone().with_modules(modules).with_files(files);
    let mut environment = Environment::load(&known, &settings, 0, None).unwrap();
    environment.command("prepare").unwrap();
    assert_eq!(heard.printed(), "old\told\told\n");
    let said = heard.said();
    assert_eq!(said.len(), 3, "{said:?}");
    let of = |name: &str, what: &str| {
        let start = format!("Warning: main.lua loads {name} {what}");
        said.iter().filter(|said| said.starts_with(&start)).count()
    };
    // Of what is not what lies there, and of what nobody could know.
    assert_eq!(of(&inner, "as it was when the experiment was read"), 1, "{said:?}");
    assert_eq!(of(&later, "as it was when the experiment was read"), 1, "{said:?}");
    assert_eq!(of(&hidden, "only while it runs"), 1, "{said:?}");
}

/// A script may load a file of another name with each event.
#[test]
fn files_without_end_are_not_kept_and_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let text = format!(
        "function prepare() for i = 1, 1100 do local name = '{path}/' .. i .. '.lua' local f = io.open(name, 'w') \
         f:write('n = ' .. i) f:close() dofile(name) os.remove(name) end print(n) end"
    );
    let source = Source::text("many.lua", &text).with_files([("", ""); 0]);
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    let mut environment = Environment::load(&source, &settings, 0, None).unwrap();
    environment.command("prepare").unwrap();
    assert_eq!(heard.printed(), "1100\n");
    let said = heard.said();
    assert_eq!(said.len(), 11, "{said:?}");
    assert!(said[9].contains("/10.lua only while it runs"), "{said:?}");
    assert!(said[10].contains("many.lua loads more such files"), "{said:?}");
    assert_eq!(environment.parts().files.len(), 1_000);
}

/// A script that forbids globals which are not there may still load what only sounds like the FFI, and the FFI.
#[test]
fn a_strict_script_loads_files_and_the_ffi() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let traffic = file("traffic.lua", "return 'traffic'");
    let uses = file("uses.lua", "return ffi.sizeof('int')");
    let text = format!(
        "local function no(_, name) error('no global ' .. tostring(name), 2) end\n\
         setmetatable(_G, {{__index = no, __newindex = no}})\n\
         print(dofile('{traffic}'), rawget(_G, 'f' .. 'fi') == nil, dofile('{uses}'))"
    );
    let (settings, heard) = settings(Dialect::Mysql, 1, &[]);
    Environment::load(&Source::text("strict.lua", &text), &settings, 0, None)
        .map(drop)
        .unwrap();
    assert_eq!(heard.printed(), "traffic\ttrue\t4\n");
}

/// Errors have the words that sysbench has for them.
#[test]
fn what_is_no_text_is_refused_as_in_sysbench() {
    let fails = |text: &str| {
        let (settings, _) = settings(Dialect::Mysql, 1, &[]);
        let source = Source::text("main.lua", text);
        let loaded = Environment::load(&source, &settings, 0, None);
        let ended = loaded.and_then(|mut environment| environment.command("prepare"));
        ended.unwrap_err().to_string()
    };
    for (text, expected) in [
        ("error({code = 5})", "(not a string)"),
        (
            "function prepare() error({code = 5}) end",
            "`prepare' function failed: (not a string)",
        ),
        (
            "function prepare() error(nil) end",
            "`prepare' function failed: (not a string)",
        ),
        (
            "function prepare() error(5) end",
            "`prepare' function failed: main.lua:1: 5",
        ),
        (
            "local shown = {__tostring = function() return 'shown' end}\n\
             function prepare() error(setmetatable({}, shown)) end",
            "`prepare' function failed: shown",
        ),
    ] {
        assert_eq!(fails(text), expected, "{text}");
    }
    let server = hold(&MARIA);
    let (settings, _) = settings(Dialect::Mysql, 1, &[]);
    for (call, expected) in [
        (
            "con:query(nil)",
            "main.lua:1: query() wants a statement as a string, not nil",
        ),
        (
            "con:query_row({})",
            "main.lua:1: query_row() wants a statement as a string, not a table",
        ),
        (
            "con:prepare(5)",
            "main.lua:1: prepare() wants a statement as a string, not a number",
        ),
        (
            "con:bulk_insert_init()",
            "main.lua:1: bulk_insert_init() wants a statement as a string, not nil",
        ),
    ] {
        let text = format!("function prepare() con = sysbench.sql.driver():connect() {call} end");
        let source = Source::text("main.lua", &text);
        let error = command(&server.connector(), &source, &settings, "prepare").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("`prepare' function failed: {expected}"),
            "{call}"
        );
    }
}

//! Commands of scripts, and what goes wrong with scripts: no server is asked.

use crate::case::What::{Code, Stdout};
use crate::case::{Nowhere, case, compare_all, script};

const COMMANDS: &str = "\
function help() print('my help') end
function prepare() print('prep', sysbench.tid, thread_id) end
function cleanup() print('clean', sysbench.tid) end
sysbench.cmdline.commands = {
  foo = {function() print('foo', sysbench.tid, sysbench.opt.threads) end},
  par = {function() print('par', sysbench.tid) end, sysbench.cmdline.PARALLEL_COMMAND},
  bad = {function() error('xx') end},
  badp = {function() error('xx') end, sysbench.cmdline.PARALLEL_COMMAND},
  ret = {function() return 1 end},
}
function event() end
";

#[test]
fn commands() {
    compare_all(
        "commands",
        &Nowhere,
        &[
            script("help", COMMANDS),
            script("prepare", COMMANDS),
            script("prepare --threads=2", COMMANDS),
            script("cleanup", COMMANDS),
            script("foo --threads=2", COMMANDS),
            script("par", COMMANDS),
            script("par --threads=3", COMMANDS).unsaid(),
            script("bad", COMMANDS),
            script("badp --threads=2", COMMANDS).differs(Code, "sysbench's exit code is 0 although its command failed"),
            script("ret", COMMANDS),
            script("nosuch", COMMANDS),
            script("", COMMANDS),
            script("foo --verbosity=0", COMMANDS),
        ],
    );
}

#[test]
fn scripts_that_cannot_be() {
    /// Why exit codes differ.
    const ENDS: &str = "sysbench's exit code is 0 although its script failed";
    let event = "function event() end\n";
    compare_all(
        "scripts",
        &Nowhere,
        &[
            script("run", ""),
            script("prepare", ""),
            script("cleanup", ""),
            case("./s.lua run").file("s.lua", ""),
            case("s run").file("s.lua", ""),
            script("help", ""),
            script("foo", ""),
            script("", ""),
            script("run", "function event( x +"),
            script("run", "error('top level')"),
            script("run", "local x = nil + 1"),
            script("run", "error({})"),
            script("run", "function event() error({code = 5}) end"),
            script("run", "function event() error(nil) end"),
            script("run", "require('nosuch')").differs(Stdout, "the folders that are searched"),
            script("run", "function event() error('boom') end"),
            script("run --threads=2", "function event() error('boom') end"),
            script("run", "function event() local x = nil; x.y = 1 end"),
            script("run", "function thread_init() error('boom') end function event() end"),
            script("run", "function init() error('boom') end function event() end"),
            script(
                "run --events=1",
                "function done() error('boom') end function event() end",
            )
            .differs(Code, ENDS),
            script(
                "run --events=1",
                "function thread_done() error('boom') end function event() end",
            )
            .differs(Code, ENDS),
            script("prepare", "function prepare() error('boom') end"),
            script("cleanup", "function cleanup() error('boom') end"),
            script("run --events=2", &format!("{event} print('loaded', sysbench.tid)")),
            case("- prepare")
                .stdin("function prepare() print('from stdin') end")
                .differs(Stdout, "sysbench executes no command of a script from there"),
            case("m.lua prepare")
                .file("m.lua", "require('n')\nfunction prepare() print(told()) end")
                .file("n.lua", "function told() return 'by a module' end"),
            case("sub prepare").file("sub.lua", "function prepare() print(sysbench.cmdline.command) end"),
        ],
    );
}

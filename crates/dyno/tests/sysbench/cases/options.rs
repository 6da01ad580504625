//! What may be written on a command line, and what is said of it: no server is asked.

use crate::case::What::{Code, Stdout};
use crate::case::{Case, Nowhere, case, compare_all, script};

/// Prints every option that it declares.
const DECLARING: &str = "\
sysbench.cmdline.options = {
  num = {'a number', 5}, flag = {'a flag', true}, off = {'off flag', false}, str = {'a string', 'x'},
  none = {'no default'}, dbl = {'double', 1.5}, lst = {'list', {'a', 'b'}}, us_er = {'under', 1},
  sz = {'size', '10M', sysbench.cmdline.ARG_SIZE}, el = {'empty list', {}},
}
local names = {'num', 'flag', 'off', 'str', 'none', 'dbl', 'lst', 'us_er', 'sz', 'el'}
function prepare()
  for _, name in ipairs(names) do
    local value = sysbench.opt[name]
    print(name, type(value), type(value) == 'table' and table.concat(value, '+') or value)
  end
end
function event() end
";

/// Prints general options, and what becomes of others.
const GENERAL: &str = "\
function prepare()
  for _, name in ipairs({'threads', 'events', 'time', 'rate', 'debug', 'validate', 'percentile', 'histogram',
      'rand_type', 'rand_seed', 'rand_spec_iter', 'rand_pareto_h', 'report_interval', 'verbosity', 'forced_shutdown',
      'thread_stack_size', 'db_driver', 'db_ps_mode', 'mysql_host', 'mysql_port', 'mysql_user', 'mysql_db',
      'pgsql_host', 'pgsql_port', 'pgsql_user', 'mysql_ignore_errors', 'nosuch', 'a_b'}) do
    local value = sysbench.opt[name]
    print(name, type(value), type(value) == 'table' and table.concat(value, '+') or value)
  end
  print(nosuch, a_b)
end
function event() end
";

/// Why files with options of scripts are read differently.
const FILE: &str = "sysbench 1.0 takes general options alone from a file";

fn declared(words: &str) -> Case {
    script(&format!("prepare {words}"), DECLARING)
}

fn general(words: &str) -> Case {
    script(&format!("prepare {words}"), GENERAL)
}

#[test]
fn options_of_scripts() {
    compare_all(
        "options_of_scripts",
        &Nowhere,
        &[
            declared(""),
            declared("--num"),
            declared("--num="),
            declared("--num=x"),
            declared("--num=5K"),
            declared("--num=1.5"),
            declared("--num=-3"),
            declared("--num=1e3"),
            declared("--dbl=x"),
            declared("--dbl=2.5e-1"),
            declared("--sz=1G"),
            declared("--sz=5"),
            declared("--sz=3T"),
            declared("--sz=x"),
            declared("--flag"),
            declared("--flag=off"),
            declared("--flag=false"),
            declared("--flag=0"),
            declared("--flag=maybe"),
            declared("--flag=TRUE"),
            declared("--flag="),
            declared("--off=on"),
            declared("--off=1"),
            declared("--off"),
            declared("--us-er=7"),
            declared("--us_er=7"),
            declared("--str"),
            declared("--str="),
            declared("--str=a=b"),
            declared("'--str=with blanks'"),
            declared("--lst=a,b,c"),
            declared("--lst="),
            declared("--lst=a,,b"),
            declared("--el=,a"),
            declared("--none=q"),
            declared("--none"),
            declared("--num=1 --num=2"),
            declared("--nosuch"),
            declared("--nosuch=1"),
            declared("--nosuch=1 --other"),
            script("nosuch --nosuch", DECLARING),
            script("--nosuch=1", DECLARING),
            script("help --nosuch=1", DECLARING),
            script("help", DECLARING),
            declared("--config-file=c.cnf")
                .file("c.cnf", "num=7\n# none\n\nflag=off\n")
                .differs(Stdout, FILE),
            declared("--config-file=c.cnf --num=8")
                .file("c.cnf", "num=7\n")
                .differs(Stdout, FILE),
            declared("--num=8 --config-file=c.cnf")
                .file("c.cnf", "num=7\n")
                .differs(Stdout, FILE),
            script(
                "run --val=4",
                "sysbench.cmdline.options = {val = {'v', 3, nil, function() error('bad') end}}\nfunction \
                    event() return 1 end",
            ),
            script(
                "prepare --val=4",
                "sysbench.cmdline.options = {val = {'v', 3, nil, function() return true end}}\nfunction \
                    prepare() print(sysbench.opt.val) end",
            ),
        ],
    );
}

#[test]
fn general_options() {
    compare_all(
        "general_options",
        &Nowhere,
        &[
            general(""),
            general("--threads=3 --events=5 --time=7 --rate=9"),
            general("--threads=' 5'"),
            general("--num-threads=3"),
            general("--num_threads=3"),
            general("--max-requests=3"),
            general("--max-time=3"),
            general("--tx-rate=3"),
            general("--tx-rate=3 --max-time=4 --max-requests=5 --num-threads=2"),
            general("--num-threads=1"),
            general("--threads=3 --num-threads=1"),
            general("--time=5 --max-time=0"),
            general("--max-time=-1"),
            general("--max-requests=0 --tx-rate=0"),
            general("--nosuch=1 --a-b=2"),
            general("--a_b"),
            general("--debug"),
            general("--debug=true"),
            general("--debug=off"),
            general("--debug=maybe"),
            general("--debug=TRUE"),
            general("--validate --histogram"),
            general("--rand-type=uniform"),
            general("--rand-type=gaussian"),
            general("--rand-type=pareto --rand-pareto-h=0.5"),
            general("--rand-pareto-h=x"),
            general("--rand-seed=5 --rand-spec-iter=3"),
            general("--percentile=99"),
            general("--percentile=0"),
            general("--percentile=100"),
            general("--verbosity=4"),
            general("--thread-stack-size=1M"),
            general("--forced-shutdown=5"),
            general("--db-ps-mode=disable"),
            general("--mysql-host=a,b --mysql-port=1,2 --mysql-user=u --mysql-db=d"),
            general("--pgsql-host=h --pgsql-port=7 --pgsql-user=u"),
            general("--mysql-ignore-errors=all"),
            general("--mysql-ignore-errors=1,2"),
            general("--report-interval=2"),
            general("--"),
            general("--time=0"),
            general("--time=-1"),
            general("--config-file=nosuch"),
            general("--config-file=c.cnf").file("c.cnf", "threads=2\ntime=5\n"),
        ],
    );
}

#[test]
fn values_that_cannot_be() {
    let faults = [
        "--threads=0",
        "--threads",
        "--threads=x",
        "--threads=5K",
        "--threads=99999999999",
        "--time=1.5",
        "--events=x",
        "--rate=5K",
        "--percentile=101",
        "--percentile=-1",
        "--percentile=99.9",
        "--verbosity=6",
        "--verbosity=-1",
        "--rand-type=foo",
        "--rand-seed=x",
        "--forced-shutdown=x",
        "--histogram --percentile=0",
        "--report-checkpoints=1,x",
        "--report-interval=x",
    ];
    let mut cases: Vec<Case> = faults.map(general).into();
    cases.extend([
        script("prepare -x", GENERAL),
        script("prepare -threads=3", GENERAL),
        script("prepare other", GENERAL),
        script("prepare --threads 4", GENERAL),
        case("nosuch run"),
        case("nosuch.lua run"),
        case("run"),
        case("/nosuch/x.lua run"),
        case("--threads=0"),
        case("--nosuch"),
    ]);
    compare_all("values", &Nowhere, &cases);
}

#[test]
fn the_old_form() {
    let say = "function prepare() print('prepared', sysbench.cmdline.command) end\nfunction event() end";
    let with = |words: &str| case(words).file("s.lua", say);
    compare_all(
        "old_form",
        &Nowhere,
        &[
            with("--test=s.lua prepare"),
            with("prepare --test=s.lua").differs(Stdout, "dyno finds the test wherever it stands"),
            with("--test=s.lua --num-threads=2 prepare"),
            with("--test=s.lua"),
            with("--test=s.lua other run"),
            with("--test=nosuch.lua run"),
            with("--test=").stdin("print('from stdin')"),
            with("--test").stdin("print('from stdin')"),
        ],
    );
}

#[test]
fn help_and_versions() {
    const OWN: &str = "dyno has options and tests of its own, and not those that are not about databases";
    let tell = |words: &str| script(words, GENERAL);
    compare_all(
        "help",
        &Nowhere,
        &[
            case("--version"),
            tell("--version"),
            tell("prepare --version"),
            case("--version=off").stdin(""),
            case("--help").help().differs(Stdout, OWN),
            tell("prepare --help").help().differs(Stdout, OWN),
            case("--help=off").stdin(""),
            case("--db-driver=help").stdin(""),
            case("oltp_read_only help").help(),
            case("oltp_read_write help").help(),
            case("oltp_insert help").help(),
            case("select_random_points help").help(),
            case("select_random_ranges help").help(),
            case("bulk_insert help"),
            case("--test=oltp_read_only help").help(),
            case("oltp_read_only foo"),
            case("oltp_read_only"),
            case("oltp_read_only run --nosuch=1"),
            case("oltp_read_only prepare --table-size").differs(Stdout, "dyno tries TCP where there is no socket"),
        ],
    );
}

#[test]
fn what_is_not_about_databases() {
    const REASON: &str = "dyno is about databases";
    let tests = ["cpu", "memory", "threads", "mutex", "fileio"];
    let cases = tests.map(|test| {
        case(&format!("{test} help"))
            .differs(Stdout, REASON)
            .differs(Code, REASON)
    });
    compare_all("others", &Nowhere, &cases);
}

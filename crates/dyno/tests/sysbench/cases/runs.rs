//! Runs of scripts that ask no server.

use crate::case::{Nowhere, compare_all, script};

const NOTHING: &str = "function event() end";

#[test]
fn limits_and_reports() {
    let sleeping =
        "ffi = require('ffi')\nffi.cdef('int usleep(unsigned int);')\nfunction event() ffi.C.usleep(2000) end";
    compare_all(
        "limits",
        &Nowhere,
        &[
            script("run --events=3", NOTHING),
            script("run --events=4 --threads=2", NOTHING).timed(),
            script("run --events=1 --percentile=0", NOTHING),
            script("run --events=1 --percentile=99", NOTHING),
            script("run --events=1 --percentile=100", NOTHING),
            script("run --events=1 --time=0", NOTHING),
            script("run --events=1 --time=1 --forced-shutdown", NOTHING),
            script("run --events=1 --time=1 --forced-shutdown=5", NOTHING),
            script("run --events=1 --time=0 --forced-shutdown=5", NOTHING),
            script("run --events=1 --time=100 --forced-shutdown", NOTHING),
            script("run --events=1 --verbosity=0", NOTHING),
            script("run --events=1 --verbosity=2", NOTHING),
            script("run --events=1 --verbosity=5", NOTHING),
            script("run --events=1 --debug", NOTHING),
            script("run --events=4 --threads=2 --debug", NOTHING).timed().unsaid(),
            script("run --time=1 --debug", sleeping).timed(),
            // Which of these threads begins first is up to them.
            script(
                "run --time=1 --debug --report-checkpoints=1 --report-interval=1 --rate=9",
                sleeping,
            )
            .unsaid(),
            script("run --events=3 --debug --verbosity=0", NOTHING),
            script("run --events=1 --validate", NOTHING),
            script("run --events=1 --rand-seed=5", NOTHING),
            script("run --events=1 --report-interval=1", NOTHING),
            script("run --events=1 --report-checkpoints=5,3", NOTHING),
            script("run --events=10 --rate=1000", NOTHING),
            script("run --time=1 --rand-seed=1", sleeping).timed(),
            script("run --time=3 --report-interval=1", sleeping).timed(),
            script("run --time=3 --report-interval=1 --rate=20 --threads=2", sleeping).timed(),
            script("run --time=3 --report-checkpoints=1", sleeping).timed(),
            script("run --events=20 --histogram", sleeping).bars(),
            script("run --max-requests=2 --num-threads=2", NOTHING).timed(),
        ],
    );
}

#[test]
fn hooks_and_endings() {
    let hooks = "\
function event() end
function sysbench.hooks.report_cumulative(stat)
  local names = {'errors', 'events', 'latency_avg', 'latency_max', 'latency_min', 'latency_pct', 'latency_sum', 'other',
    'reads', 'reconnects', 'threads_running', 'time_interval', 'time_total', 'writes'}
  for _, name in ipairs(names) do print(name, type(stat[name])) end
  print('cumulative', stat.events, stat.reads, stat.threads_running)
end
";
    compare_all(
        "hooks",
        &Nowhere,
        &[
            script("run --events=2", hooks),
            script(
                "run --events=2",
                "function event() end\nsysbench.hooks.report_cumulative = sysbench.report_csv",
            ),
            script(
                "run --events=2",
                "function event() end\nsysbench.hooks.report_cumulative = \
                sysbench.report_json",
            )
            .timed(),
            script(
                "run --events=2",
                "function event() end\nsysbench.hooks.report_cumulative = \
                sysbench.report_default",
            ),
            script(
                "run --time=1 --report-interval=1",
                "sysbench.hooks.report_intermediate = sysbench.report_json\nfunction event() end",
            )
            .timed()
            .unsaid(),
            script("run --events=2", "function event() return 1 end"),
            script("run --events=2", "function event() return false end"),
            script(
                "run --events=2",
                "function init() print('init', sysbench.tid) end function done() \
                print('done') end\nfunction event() print('event', sysbench.tid) end",
            ),
            script(
                "run --events=2",
                "function thread_init(i) print('in', i, sysbench.tid) end\nfunction thread_done(i) print('out', \
                    i) end\nfunction event(i) print('event', i) end",
            ),
            script(
                "run --events=2",
                "function thread_run(i) print('own', i) end\nfunction event() end",
            ),
            script(
                "run --events=3",
                "n = 0\nfunction event() n = n + 1; if n == 2 then return true end end",
            ),
            script(
                "run --events=1",
                "function event() print(sysbench.version, sysbench.version_string ~= nil, \
                #sysbench.cmdline.argv > 0, sysbench.cmdline.script_path) end",
            ),
            script(
                "run --events=1 --rand-seed=7",
                "function event() for i = 1, 5 do \
                print(sysbench.rand.uniform(1, 1000000)) end end",
            ),
            script(
                "run --events=1 --rand-seed=7",
                "function event() for i = 1, 5 do \
                print(sysbench.rand.default(1, 1000000)) end end",
            ),
            script(
                "run --events=1 --rand-seed=7 --rand-type=gaussian",
                "function event() for i = 1, 5 do \
                print(sysbench.rand.default(1, 1000000)) end end",
            ),
            script(
                "run --events=1 --rand-seed=7 --rand-type=pareto",
                "function event() for i = 1, 5 do \
                print(sysbench.rand.default(1, 1000000)) end end",
            ),
            script(
                "run --events=1 --rand-seed=7",
                "function event() print(sysbench.rand.string('###-@@@')) end",
            ),
            script(
                "run --events=1 --rand-seed=7",
                "function event() print(sb_rand(1, 1000000), \
                sb_rand_uniform(1, 9), sb_rand_str('#@')) end",
            ),
            script(
                "run --events=1",
                "local h = sysbench.histogram.new(10, 1, 100)\nfunction event() for i = 1, 20 do h:update(i) \
                    end h:print() end",
            )
            .timed(),
        ],
    );
}

//! What fails while it runs.

use crate::case::{case, compare_all, script};

/// A script whose connection dies before this.
fn died(behind: &str) -> String {
    format!("select pg_backend_pid() as pid \\gset\n\\shell kill :pid\n{behind}")
}

#[test]
fn aborted_clients() {
    let serialization = "do $$ begin raise exception 'again' using errcode = '40001'; end $$;\n";
    let deadlock = "do $$ begin raise exception 'stuck' using errcode = '40P01'; end $$;\n";
    compare_all(
        "errors",
        &[],
        vec![
            script("select 1/0;"),
            script("select 1/0;").with("-M extended"),
            script("select 1/0;").with("-M prepared"),
            script("select nocolumn;"),
            script("select 1,\n  nocolumn;").with("-M extended"),
            script("select nocolumn;").with("-M prepared"),
            script("select 1; select 2\\; select 1/0;"),
            script("select 1/0;").with("-r"),
            script("select 1/0;").with("-C"),
            script("select 1/0;").with("-l"),
            script("select 1/0;").with("-c 2").unordered(),
            script("begin;"),
            script("begin;").with("-C"),
            script("\\set a 1/0\n"),
            script("\\set a :nosuch\n"),
            script("\\set a random(5, 1)\n"),
            script("\\set a random_gaussian(1, 5, 1.0)\n"),
            script("\\set a 9223372036854775807 + 1\n"),
            script("\\set a 1 + 'x'\n"),
            script("\\set a 1 + true\n"),
            script("\\if 'x'\n\\endif\n"),
            script("\\sleep :nosuch\n"),
            script("\\sleep :u\n").with("-D u=x"),
            script("select :nosuch;"),
            script("select :nosuch;").with("-M extended"),
            script("select 1 where false \\gset\n"),
            script("select 1 from generate_series(1, 2) \\gset\n"),
            script("select 1 as \"a-b\" \\gset\n"),
            script("select 1 as \"a-b\" \\aset\n"),
            script("select 1 where false \\aset\n"),
            script("create temp table if not exists t (i int) \\gset\n"),
            script("\\shell false\n"),
            script("\\setshell a echo x\n"),
            script("\\setshell a echo :nosuch\n"),
            script("\\startpipeline\nselect 1;\n\\endpipeline\n"),
            script("\\startpipeline\n\\startpipeline\n\\endpipeline\n").with("-M extended"),
            script("\\endpipeline\n").with("-M extended"),
            script("\\startpipeline\nselect 1;\n").with("-M extended"),
            script("\\startpipeline\nselect 1/0;\n\\endpipeline\n").with("-M extended"),
            script("select 2;\n\\startpipeline\nselect 1;\nselect 1/0;\nselect 3;\n\\endpipeline\n")
                .with("-M prepared"),
            script("\\startpipeline\nselect 1 as a \\gset\n\\endpipeline\n").with("-M extended"),
            script("copy pg_class to stdout;"),
            script("copy pg_class to stdout;").with("-M extended"),
            script("create temp table t (i int);\ncopy t from stdin;"),
            script("select pg_terminate_backend(pg_backend_pid());"),
            script("select pg_terminate_backend(pg_backend_pid());").with("-M extended"),
            script(&died("\\sleep 300 ms\n\\set a 1\nselect 2;\n")).with("-t 2"),
            script(&died("\\sleep 300 ms\n\\set a 1\nselect 2;\n")).with("-M extended"),
            script(&died("\\sleep 300 ms\n\\set a 1\nselect 2;\n")).with("-M prepared"),
            script(&died("\\sleep 300 ms\n\\set a 1\nselect 2;\n")).with("-R 100 --debug"),
            script(&died("\\sleep 300 ms\n\\startpipeline\nselect 2;\n\\endpipeline\n")).with("-M extended"),
            script(&died("\\sleep 300 ms\n")).with("-t 2"),
            script(&died("\\sleep 300 ms\n")).with("-t 1"),
            script(&format!("begin;\n{}", died("\\sleep 300 ms\n"))).with("-t 2"),
            script("do $$ begin raise exception 'no' using detail = 'why', hint = 'what'; end $$;"),
            script("do $$ begin execute 'select 1 + nocolumn'; end $$;"),
            script("do $$ begin execute 'select 1 + nocolumn'; end $$;").with("-M prepared"),
            script("do $$ begin raise warning 'w' using hint = 'h'; perform 1/0; end $$;"),
            script(serialization),
            script(serialization).with("-r"),
            script(serialization).with("-l"),
            script(serialization).with("-l --failures-detailed"),
            script(serialization).with("-t 3 --max-tries=3"),
            script(serialization).with("-r -l -t 2 --max-tries=3 --failures-detailed"),
            script(serialization).with("--max-tries=2 --verbose-errors"),
            script(serialization).with("--verbose-errors"),
            script(serialization).with("--max-tries=2 --verbose-errors -M extended"),
            script(serialization).with("--max-tries=2 --verbose-errors -M prepared"),
            script(deadlock).with("-r -l -t 2 --max-tries=2 --failures-detailed"),
            script(&format!("begin;\n{serialization}end;\n")).with("-t 2 --max-tries=2 -r"),
            script(&format!("\\set a debug(random(1, 1000))\n{serialization}")).with("--random-seed=5 --max-tries=3"),
            script(&format!(
                "\\startpipeline\nbegin;\n{serialization}end;\n\\endpipeline\n"
            ))
            .with("-M extended --max-tries=2 -r"),
            case("-n -t 3 -r -f a.sql -f b.sql --random-seed=3 --max-tries=2")
                .file("a.sql", serialization)
                .file("b.sql", "select 1;"),
            case("-n -t 4 -f a.sql -f b.sql --random-seed=3")
                .file("a.sql", "select 1/0;")
                .file("b.sql", "select 1;"),
            case("-t 1 -S"),
            case("-n -t 1 -S"),
            case("-n -t 1"),
            case("-n -t 1 -S").before("create table if not exists pgbench_branches ()"),
            case("-n -t 1 -S -s 4").before("create table if not exists pgbench_branches ()"),
        ],
    );
}

#[test]
fn values_that_are_refused() {
    let set = |expression: &str| script(&format!("\\set a {expression}\n"));
    let many = |number: usize| ":a ".repeat(number);
    let words = |number: usize| " x".repeat(number);
    compare_all(
        "refused_values",
        &[],
        vec![
            set("int(1.0 / 0)"),
            set("int(-1.0 / 0)"),
            set("int(double(0) / 0)"),
            set("int(1e19)"),
            set("random_gaussian(1, 10, -1.0 / 0)"),
            set("random_exponential(1, 10, -1.0 / 0)"),
            set("random_exponential(1, 10, 0)"),
            set("random_zipfian(1, 10, 1.0 / 0)"),
            set("random_zipfian(1, 10, 1)"),
            set("random_zipfian(1, 10, 1001)"),
            set("random(-9223372036854775807, 9223372036854775807)"),
            set("permute(1, 0)"),
            set("permute(1, null)"),
            set("9223372036854775807 * 2"),
            set("-9223372036854775807 - 2"),
            set("(-9223372036854775807 - 1) / -1"),
            set("1 % 0"),
            set("1 and true"),
            set("not 1"),
            set("true + 1.0"),
            set("least(true, 1)"),
            set("null & true"),
            script("\\set 1a 1\n"),
            script("\\set a-b 1\n"),
            script("\\setshell a-b echo 1\n"),
            script("\\setshell a true\n"),
            script("\\setshell a echo 1 2\n"),
            script("\\shell :nosuch\n"),
            script("\\shell nosuchprogram 2>/dev/null\n"),
            script(&format!("select {};", many(255))).with("-M extended"),
            script(&format!("select {};", many(256))).with("-M extended"),
            script(&format!("select {};", many(256))).with("-M prepared"),
            script(&format!("\\shell true{}\n", words(255))),
            script(&format!("\\set a {}\n", words(2))),
            script(&format!("\\else{}\n", words(255))),
            case(&format!("-n -t 1{}", " -f s.sql".repeat(129))).file("s.sql", "select 1;"),
        ],
    );
}

/// The connection for everything else ends before the load begins.
#[test]
fn the_setup_is_cut_off() {
    let tables = "drop table if exists pgbench_history cascade; drop view if exists pgbench_branches; \
         create table pgbench_history (i int); \
         create or replace function cut_off() returns trigger language plpgsql as \
         'begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); return null; end'; \
         create trigger cut_off before truncate on pgbench_history execute function cut_off()";
    let view = "drop view if exists pgbench_branches; \
         create view pgbench_branches as select * from pg_terminate_backend(pg_backend_pid())";
    compare_all(
        "cut_off",
        &[],
        vec![
            case("-t 1 -f s.sql").file("s.sql", "select 1;").before(tables),
            case("-v -t 1 -f s.sql").file("s.sql", "select 1;").before(tables),
            case("-n -S -t 1").before(view),
        ],
    );
}

#[test]
fn strange_tables() {
    let drop = "drop table if exists pgbench_accounts, pgbench_branches";
    compare_all(
        "strange_tables",
        &[],
        vec![
            case("-n -S -t 1")
                .before(drop)
                .before("create table pgbench_branches ()"),
            case("-n -S -t 1").before(drop).before(
                "create table pgbench_branches (); create table pgbench_accounts (aid int) partition by list (aid)",
            ),
            case("-n -S -t 1").before(drop).before(
                "create table pgbench_branches (); create table pgbench_accounts (aid int) partition by range (aid)",
            ),
        ],
    );
}

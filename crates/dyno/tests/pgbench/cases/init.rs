//! `-i`: what is said, and the tables that are left.

use crate::case::What::{Code, Rows, Stderr};
use crate::case::{Case, case, compare_all};

/// Everything about the tables that can be asked for in one query.
const TABLES: &str = "select c.relname, c.relkind, c.relpersistence, c.reloptions::text, \
     (select string_agg(format('%s %s %s', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull), ',' \
                      order by a.attnum) \
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0), \
     (select string_agg(conname || pg_get_constraintdef(oid), ',' order by conname) from pg_constraint where \
                      conrelid = c.oid), \
     pg_get_expr(c.relpartbound, c.oid) \
     from pg_class c where c.relname like 'pgbench%' order by c.relname";

/// The content of all tables.
const CONTENT: &str = "select (select md5(string_agg(t::text, ',' order by aid)) from pgbench_accounts t), \
     (select md5(string_agg(t::text, ',' order by tid)) from pgbench_tellers t), \
     (select md5(string_agg(t::text, ',' order by bid)) from pgbench_branches t), \
     (select count(*) from pgbench_history)";

const DROP: &str = "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/// Since 18 the server refuses what pgbench up to 17 asks for.
const UNLOGGED: &str = "dyno makes the partitions unlogged, but not the partitioned table";

const EXISTING: &str = "create table pgbench_accounts (); create table pgbench_branches (); \
     create table pgbench_history (); create table pgbench_tellers ()";

fn fresh(words: &str) -> Case {
    case(words).before(DROP).rows(TABLES)
}

#[test]
fn definitions() {
    compare_all(
        "definitions",
        &[],
        vec![
            fresh("-i"),
            fresh("-i -q"),
            fresh("-i -n"),
            fresh("-i -I dt"),
            fresh("-i -I t"),
            fresh("-i -I ' d t '"),
            fresh("-i -I dtp"),
            fresh("-i -I dtGvp"),
            fresh("-i -I dtgvpf"),
            fresh("-i -I dtvf"),
            fresh("-i -I dtf"),
            fresh("-i --foreign-keys"),
            fresh("-i --foreign-keys -I dtpf"),
            fresh("-i -F 50 -I dt"),
            fresh("-i --unlogged-tables -I dtp"),
            fresh("-i --partitions=3 -I dtp"),
            fresh("-i --partitions=1 -I dtp"),
            fresh("-i --partitions=7 --partition-method=range -I dtp"),
            fresh("-i --partitions=2 --partition-method=hash -F 80 -I dtp"),
            fresh("-i --partitions=2 --unlogged-tables -I dtp")
                .differs(Code, UNLOGGED)
                .differs(Stderr, UNLOGGED)
                .differs(Rows, UNLOGGED),
            fresh("-i --tablespace=pg_default --index-tablespace=pg_default -I dtp"),
            fresh("-i --tablespace=nosuch -I dt"),
            fresh("-i -s 20000 -I dtp"),
            fresh("-i -s 2147483647 -I dt"),
            fresh("-i -I g"),
            fresh("-i -I p"),
            fresh("-i -I dt").before(EXISTING),
            fresh("-i -I t").before(EXISTING),
            fresh("-i -n -I v"),
        ],
    );
}

/// Tables that fill, but for accounts, and who may.
const LOADABLE: &str = "create table pgbench_branches (bid int, bbalance int, filler char(88)); \
     create table pgbench_tellers (tid int, bid int, tbalance int, filler char(84)); \
     create table pgbench_history (i int); \
     do $$ begin create role pgbench_loader login; exception when duplicate_object then null; end $$; \
     grant truncate, insert, select on all tables in schema public to pgbench_loader";

#[test]
fn rows_that_are_refused() {
    let load = |words: &str, accounts: &'static str| case(words).before(DROP).before(accounts).before(LOADABLE);
    let accounts = "create table pgbench_accounts (aid int, bid int, abalance int, filler char(84))";
    let last = "create table pgbench_accounts (aid int check (aid < 100000), bid int, abalance int, filler char(84))";
    let cut_off = "create or replace function cut_off() returns trigger language plpgsql as \
         'begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); return null; end'; \
         create trigger cut_off before truncate on pgbench_accounts execute function cut_off()";
    compare_all(
        "refused_rows",
        &[],
        vec![
            load("-i -I g", last),
            load("-i -I g -q", last),
            load("-i -I g -U pgbench_loader", accounts).before("revoke insert on pgbench_accounts from pgbench_loader"),
            load("-i -I g", accounts)
                .before(cut_off)
                .differs(Stderr, "dyno says which steps are done"),
        ],
    );
}

#[test]
fn content() {
    let with = |words: &str| case(words).before(DROP).rows(CONTENT);
    compare_all(
        "content",
        &[],
        vec![
            with("-i -s 1"),
            with("-i -s 2 -q"),
            with("-i -s 1 -I dtGvp"),
            with("-i -s 2 --partitions=3"),
            with("-i -s 1 --partitions=3 --partition-method=hash -q"),
            with("-i -s 1 --foreign-keys -q"),
            with("-i -s 1 --unlogged-tables -q -n"),
        ],
    );
}

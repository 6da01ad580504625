//! `-i`: what is said, and the tables that are left.

use crate::case::What::{Code, Rows, Stderr};
use crate::case::{Case, case, compare_all};

/// Everything about the tables that can be asked for in one query.
const TABLES: &str = "select c.relname, c.relkind, c.relpersistence, c.reloptions::text, \
     (select string_agg(format('%s %s %s', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull), ',' order by a.attnum) \
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0), \
     (select string_agg(conname || pg_get_constraintdef(oid), ',' order by conname) from pg_constraint where conrelid = c.oid), \
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

//! The published studies' own pgbench commands and scripts, as their authors typed them: only hosts, scale and time
//! are made smaller.

use crate::support::{Database, Desk, Ended, database};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// Runs a shell script in which `pgbench` is dyno.
fn shell(desk: &Desk, database: &Database, script: &str) -> Ended {
    let programs = desk.path().join("bin");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_dyno"), programs.join("pgbench")).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    // Everything of the caller's environment that would change what happens is gone from this command.
    let clean = desk.command([""; 0]);
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(desk.path());
    for (name, value) in clean.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env("PATH", path)
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", database.port().to_string())
        .env("PGUSER", "studies")
        .env("PGPASSWORD", "studies")
        .env("PGDATABASE", database.name());
    Ended::of(&mut command)
}

fn prepared(name: &str) -> (Desk, Database) {
    let (desk, database) = (Desk::new(), database(name));
    // One role for all cases; it goes with the server's cluster.
    database.execute(
        "do $$ begin create role studies superuser login password 'studies';
         exception when duplicate_object or unique_violation then null; end $$",
    );
    (desk, database)
}

/// The value of the report's line that begins like this.
fn reported(report: &str, label: &str) -> f64 {
    let line = report.lines().find_map(|line| line.strip_prefix(label));
    let number = line.and_then(|rest| rest.trim().split([' ', '/']).next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no line \"{label}\" in\n{report}"))
}

#[test]
fn study_a_updates_selects_and_inserts_by_primary_key() {
    let (desk, database) = prepared("e2e_study_a");
    database.execute(
        "create table tbl(id int, info text, crt_time timestamptz default now());
         insert into tbl select generate_series(1,5000),now(),now();
         alter table tbl add constraint tbl_pkey primary key(id);",
    );
    desk.file(
        "test.sql",
        "\\setrandom id 1 50000000\nupdate tbl set crt_time=now() where id=:id;\n",
    );
    let line = "nohup pgbench -M prepared -n -f test.sql -P 1 -c 26 -j 26 -T 2 >./log 2>&1 & wait; cat ./log; \
                awk 'NR>1 {print $4}' ./log | head -1";
    let ended = shell(&desk, &database, line).expect(0);
    assert!(reported(&ended.stdout, "number of transactions actually processed:") > 0.0);
    assert!(ended.stdout.contains("progress: 1.0 s, "), "{}", ended.stdout);
    assert!(ended.stdout.contains("number of clients: 26\nnumber of threads: 26\n"));
    // The studies read the rate from the fourth word of the progress lines.
    assert!(ended.stdout.lines().last().unwrap().parse::<f64>().unwrap() > 0.0);

    desk.file(
        "test.sql",
        "\\setrandom id 1 50000000\nselect * from tbl where id=:id;\n",
    );
    shell(
        &desk,
        &database,
        "pgbench -M prepared -n -f test.sql -P 1 -c 38 -j 38 -T 1",
    )
    .expect(0)
    .shows("query mode: prepared");

    database.execute(
        "drop table tbl;
         create table tbl(id serial primary key, info text, crt_time timestamptz default now())",
    );
    desk.file("test.sql", "insert into tbl(info) values ('hello world');\n");
    let ended = shell(
        &desk,
        &database,
        "pgbench -M prepared -n -f test.sql -P 1 -c 20 -j 20 -T 1",
    )
    .expect(0);
    let rows: f64 = database.value("select count(*) from tbl").parse().unwrap();
    assert_eq!(
        rows,
        reported(&ended.stdout, "number of transactions actually processed:")
    );
}

#[test]
fn study_b_sweeps_clients_with_a_shell_script() {
    let (desk, database) = prepared("e2e_study_b");
    let script = r#"
        THREADS=8
        DURATION=1
        PGIP=127.0.0.1
        DB=$PGDATABASE
        pgbench -i -s 1 $DB
        # warmup
        pgbench -h ${PGIP} -U studies -j ${THREADS} -c 10 -T ${DURATION} -S -v $DB
        for clients in 1 10 20
        do
          echo "RO ${clients}"
          pgbench -h ${PGIP} -U studies -j ${THREADS} -c ${clients} -T ${DURATION} -S $DB > pgbench_ro_${clients}.log
        done
        for clients in 1 10 20
        do
          echo "RW ${clients}"
          pgbench -h ${PGIP} -U studies -j ${THREADS} -c ${clients} -T ${DURATION} -v $DB > pgbench_rw_${clients}.log
        done
        grep -h tps pgbench_r?_*.log | awk '{print $3}' | wc -l
    "#;
    let ended = shell(&desk, &database, script).expect(0).shows("RW 20 6");
    for said in [
        "dropping old tables...\n",
        "creating tables...\n",
        "vacuuming...\n",
        "creating primary keys...\n",
        "starting vacuum...end.\n",
        "starting vacuum pgbench_accounts...end.\n",
    ] {
        assert!(ended.stderr.contains(said), "not said: {said}\n{}", ended.stderr);
    }
    let report = fs::read_to_string(desk.path().join("pgbench_rw_20.log")).unwrap();
    assert!(
        report.contains("transaction type: <builtin: TPC-B (sort of)>\n"),
        "{report}"
    );
    assert!(reported(&report, "tps =") > 0.0);
    let one = fs::read_to_string(desk.path().join("pgbench_ro_1.log")).unwrap();
    assert!(
        one.contains("number of clients: 1\nnumber of threads: 1\n"),
        "threads are clamped: {one}"
    );
    // Whole transactions leave the same sum everywhere. The history holds the last run alone: each run without -n
    // empties it.
    let value = |query: &str| database.value(query);
    let sum = value("select sum(abalance) from pgbench_accounts");
    assert_eq!(sum, value("select sum(bbalance) from pgbench_branches"));
    assert_eq!(sum, value("select sum(tbalance) from pgbench_tellers"));
    assert_eq!(
        value("select count(*) from pgbench_history").parse(),
        Ok(reported(&report, "number of transactions actually processed:"))
    );
}

#[test]
fn study_c_reports_statement_latencies_as_pgbench_9_did() {
    let (desk, database) = prepared("e2e_study_c");
    database.execute(
        "create table part_test (id int primary key, info text, crt_time timestamp);
         insert into part_test select generate_series(1,1999),'Hello, I_am_digoal.zhou.','2012-09-13 21:08:46'",
    );
    desk.file(
        "test.sql",
        "\\setrandom id 1 1999999\nselect * from part_test where id=:id;\n",
    );
    let ended = shell(
        &desk,
        &database,
        "pgbench -M prepared -n -r -f ./test.sql -T 1 -c 16 -j 4 --report-format=9.3",
    )
    .expect(0);
    let shape: String = ended.stdout.chars().filter(|c| !c.is_ascii_digit()).collect();
    let squeezed: Vec<_> = shape.lines().map(str::trim).collect();
    assert_eq!(
        squeezed,
        [
            "transaction type: Custom query",
            "scaling factor:",
            "query mode: prepared",
            "number of clients:",
            "number of threads:",
            "duration:  s",
            "number of transactions actually processed:",
            "tps = . (including connections establishing)",
            "tps = . (excluding connections establishing)",
            "statement latencies in milliseconds:",
            ".\t\\setrandom id",
            ".\tselect * from part_test where id=:id;"
        ],
        "{}",
        ended.stdout
    );
}

#[test]
fn study_d_writes_and_consumes_at_once() {
    let (desk, database) = prepared("e2e_study_d");
    database.execute(
        "create table t_sensor (sid int, info text, crt_time timestamp);
         do language plpgsql $$ declare begin
           for i in 0..31 loop
             execute 'create table t_sensor'||i||'(like t_sensor including all) inherits(t_sensor)';
           end loop;
         end; $$;
         create or replace function ins_batch(integer,integer) returns void language plpgsql strict as $function$
         declare suffix int := mod($1, 32);
         begin
           execute 'insert into t_sensor'||suffix||' select '||$1||', 0.1, now() from generate_series(1,'||$2||')';
         end; $function$;
         create or replace function consume_batch(integer,integer) returns void language plpgsql strict as $function$
         declare suffix int := mod($1, 32);
         begin
           execute format('delete from t_sensor%s where ctid = any(array(select ctid from t_sensor%s limit %s))',
             suffix, suffix, $2);
         end; $function$;",
    );
    desk.file(
        "test.sql",
        "  \n\\set sid random(1,1000000)  \nselect ins_batch(:sid, 1000);  \n",
    );
    desk.file(
        "test1.sql",
        "  \n\\set sid random(1,1000000)  \nselect consume_batch(:sid, 1000);  \n",
    );
    let script = "CONNECTS=14\nTIMES=2\n\
                  pgbench -M prepared -n -r -f ./test1.sql -P 1 -c $CONNECTS -j $CONNECTS -T $TIMES > consume.log &\n\
                  pgbench -M prepared -n -r -f ./test.sql -P 1 -c $CONNECTS -j $CONNECTS -T $TIMES --report-format=10\n\
                  wait";
    let ended = shell(&desk, &database, script).expect(0);
    for line in [
        "transaction type: ./test.sql\n",
        "script statistics:\n - statement latencies in milliseconds:\n",
        "  \\set sid random(1,1000000)",
        "(including connections establishing)\n",
    ] {
        assert!(ended.stdout.contains(line), "no {line}\n{}", ended.stdout);
    }
    assert!(
        ended.stdout.contains("latency stddev = "),
        "-P gives it: {}",
        ended.stdout
    );
    let consumed = fs::read_to_string(desk.path().join("consume.log")).unwrap();
    assert!(reported(&consumed, "tps =") > 0.0);
    assert!(consumed.contains("statement latencies in milliseconds and failures:\n"));
}

#[test]
fn study_e_draws_hot_rows_from_a_64_bit_range() {
    let (desk, database) = prepared("e2e_study_e");
    shell(&desk, &database, "pgbench -i -s 2").expect(0);
    desk.file(
        "ro.sql",
        "\\set aid random_gaussian(1, :range, 10.0)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    );
    desk.file(
        "rw.sql",
        "\\set aid random_gaussian(1, :range, 10.0)\n\\set bid random(1, 1 * :scale)\n\\set tid random(1, 10 * \
         :scale)\n\
         \\set delta random(-5000, 5000)\nBEGIN;\nUPDATE pgbench_accounts SET abalance = abalance + :delta WHERE \
         aid\n= :aid;\n\
         SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nUPDATE pgbench_tellers SET tbalance = tbalance + \
         :delta WHERE tid\n\
         = :tid;\nUPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid\n= :bid;\n\
         INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES\n(:tid, :bid, :aid, :delta, \
         CURRENT_TIMESTAMP);\nEND;\n",
    );
    let run = |words: &str| shell(&desk, &database, &format!("pgbench -M prepared {words}"));
    run("-v -r -P 1 -f ./ro.sql -c 128 -j 128 -T 1 -D\\\n scale=2 -D range=20000").expect(0);
    run("-n -r -P 1 -f ./rw.sql -c 64 -j 64 -T 3 -D scale=2 -D range=200000")
        .expect(0)
        .shows("INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES");
    assert_eq!(
        database.value("select sum(delta) from pgbench_history"),
        database.value("select sum(abalance) from pgbench_accounts")
    );
    run("-n -r -P 1 -f ./ro.sql -c 32 -j 64 -T 1 -D scale=2 -D range=200000")
        .expect(0)
        .shows("number of threads: 32");
    // The study's own largest range does not fit the integer column: the server says so, and the run ends as
    // pgbench's does.
    run("-n -r -P 1 -f ./ro.sql -c 8 -j 8 -T 1 -D scale=2 -D range=10000000000")
        .expect(2)
        .says("out of range for type integer")
        .says("Run was aborted; the above results are incomplete.");
}

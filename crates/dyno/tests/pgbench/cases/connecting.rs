//! Which server, which database, and what the session is like.

use crate::case::What::{Stderr, Stdout};
use crate::case::{case, compare_all, script};

/// The connection before the load looks at the server and vacuums; its own text is UTF-8.
const UTF8: &str = "an encoding that is none is refused to the clients, after the first line";

const SECRET: &str = "what may be a password is not repeated";

#[test]
fn connections_refused() {
    compare_all(
        "refused",
        &[],
        vec![
            script("select 1;").with("-U nobody"),
            case("-i -U nobody"),
            script("select 1;").with("nodatabase"),
            script("select 1;").with("-h /nosuch"),
            script("select 1;").with("-h 127.0.0.1 -p 1"),
            script("select 1;").with("-h localhost -p 1"),
            script("select 1;").with("'hostaddr=127.0.0.1 port=1'"),
            script("select 1;").with("-h 127.0.0.1,/nosuch -p 1"),
            script("select 1;").with("sslmode=foo"),
            script("select 1;").with("postgresql://h/db?sslmode=foo"),
            script("select 1;").with("channel_binding=foo"),
            script("select 1;").with("target_session_attrs=foo"),
            script("select 1;").with("target_session_attrs=read-only"),
            script("select 1;").with("service=nosuch"),
            script("select 1;").with("hostaddr=x"),
            script("select 1;").with("options=-cwork_mem=x"),
            case("-i sslmode=foo"),
        ],
    );
}

/// What is wrong with an address, which libpq says.
#[test]
fn addresses() {
    let select = |words: &str| script("select 1;").with(words);
    let service = |text: &str| {
        select("service=a")
            .file("svc.conf", text)
            .env("PGSERVICEFILE", "svc.conf")
    };
    compare_all(
        "addresses",
        &[],
        vec![
            select("-p x"),
            select("-p 0"),
            select("-p -1"),
            select("-p 65536"),
            select("-p 99999999999"),
            select("-p 5432x"),
            select("port=x"),
            select("").env("PGPORT", "x"),
            case("-i -p x"),
            select("-h a,b -p 1,2,3"),
            select("'host=a,b hostaddr=127.0.0.1'"),
            select("connect_timeout=x"),
            select("'connect_timeout=1.5 user=postgres'"),
            select("").env("PGCONNECT_TIMEOUT", "x"),
            select("foo=1"),
            select("'host=h foo=1'"),
            select("'foo=1 x'"),
            select("'host=h x'"),
            select("=1"),
            select("").env("PGDATABASE", "host='h"),
            case("-i foo=1"),
            select("postgresql://[::1").differs(Stderr, SECRET),
            select("postgresql://[1"),
            select("postgresql://h,[]"),
            select("postgresql://h,[::1]x"),
            select("postgresql://h/d?sslmode"),
            select("postgresql://h/d?host=a=b"),
            select("postgresql://h/d?hosst=a"),
            select("postgresql://h/d?port=x"),
            select("postgresql://h/%zz"),
            select("postgresql://h/%00"),
            select("postgresql://u:secret%zz@h").differs(Stderr, SECRET),
            select("postgresql://u:secret").differs(Stderr, SECRET),
            select("'password=top zzz=1'").differs(Stderr, SECRET),
            service("[a]\nnonsense\n"),
            service("[a]\nfoo=1\n"),
            service("[a]\nservice=b\n"),
            service("[b]\nport=1\n"),
        ],
    );
}

/// A folder with the server's socket in it, which can be taken away.
const LINK: &str = "do $$ begin execute format('copy (select 1) to program %L', format( \
     'mkdir -p /tmp/dyno-tests-pgbench; ln -sf %s/.s.PGSQL.%s /tmp/dyno-tests-pgbench/', \
     current_setting('unix_socket_directories'), current_setting('port'))); end $$";

/// A role that may log in until it says otherwise.
const GUEST: &str = "do $$ begin create role pgbench_guest; exception when duplicate_object then null; end $$; \
     alter role pgbench_guest login; \
     create or replace function leave() returns int language sql security definer as \
     'alter role pgbench_guest nologin; select 1'";

#[test]
fn connections_refused_to_a_running_client() {
    compare_all(
        "refused_later",
        &[],
        vec![
            script("select leave();").with("-C -t 2 -U pgbench_guest").before(GUEST),
            script("select leave();")
                .with("-C -t 2 -U pgbench_guest --debug")
                .before(GUEST),
            script("\\shell rm /tmp/dyno-tests-pgbench/.s.PGSQL.$PGPORT\n")
                .with("-C -t 2 -h /tmp/dyno-tests-pgbench")
                .before(LINK),
            script("select 1;")
                .with("--debug -h /nosuch,/tmp/dyno-tests-pgbench")
                .before(LINK),
            script("select 1;")
                .with("-U nobody -h /nosuch,/tmp/dyno-tests-pgbench,/nosuch2")
                .before(LINK),
        ],
    );
}

#[test]
fn empty_words_count_as_not_given() {
    let select = |words: &str| script("select 1;").with(words);
    compare_all(
        "empty_words",
        &[],
        vec![
            select("''"),
            select("-U ''"),
            select("-h ''"),
            select("-p ''"),
            select("-U '' -h '' -p '' ''"),
            select("-h '' nodatabase"),
            case("-i -q -U '' -h '' -p '' ''")
                .before("drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"),
        ],
    );
}

#[test]
fn settings_from_the_environment() {
    // The server's complaint shows the value.
    let shown = |setting: &str| script(&format!("select current_setting('{setting}')::int;"));
    compare_all(
        "session_settings",
        &[],
        vec![
            shown("timezone").env("PGTZ", "Asia/Kolkata"),
            shown("datestyle").env("PGDATESTYLE", "German"),
            shown("geqo").env("PGGEQO", "off"),
            shown("client_encoding"),
            shown("client_encoding").env("PGCLIENTENCODING", "LATIN1"),
            shown("client_encoding").env("PGCLIENTENCODING", ""),
            shown("client_encoding").env("PGCLIENTENCODING", "auto"),
            shown("client_encoding").with("client_encoding=latin1"),
            shown("client_encoding")
                .env("PGCLIENTENCODING", "latin2")
                .with("'client_encoding=koi8r'"),
            script("select 1;")
                .env("PGCLIENTENCODING", "nosuch")
                .differs(Stdout, UTF8)
                .differs(Stderr, UTF8),
            shown("work_mem").env("PGOPTIONS", "-c work_mem=5MB"),
            shown("application_name"),
            shown("application_name").env("PGAPPNAME", "mine"),
        ],
    );
}

#[test]
fn kinds_of_sessions() {
    let mut cases = Vec::new();
    for kind in ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"] {
        for options in ["", "-c default_transaction_read_only=on"] {
            let select = script("select 1;").env("PGOPTIONS", options);
            cases.push(select.env("PGTARGETSESSIONATTRS", kind));
        }
    }
    compare_all("session_kinds", &[], cases);
}

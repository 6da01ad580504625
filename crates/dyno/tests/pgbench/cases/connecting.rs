//! Which server, which database, and what the session is like.

use crate::case::What::{Stderr, Stdout};
use crate::case::{case, compare_all, script};

/// The connection before the load looks at the server and vacuums; its own text is UTF-8.
const UTF8: &str = "an encoding that is none is refused to the clients, after the first line";

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

//! Targets beside real servers, and beside stand-ins where a real one cannot be made to do what is tested: one program,
//! so that tests of which each waits for its own server wait at the same time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod export;
mod generated;
mod lifecycle;
mod locale;
mod mariadb;
mod mariadb_data;
mod mariadb_external;
mod mariadb_lag;
mod mariadb_samplers;
mod mariadb_settings;
mod mariadb_waits;
mod mysql_connect;
mod mysql_hostile;
mod mysql_plans;
mod mysql_real;
mod mysql_samplers;
mod mysql_session;
mod mysql_settings;
mod oracle;
mod oracle_columns;
mod oracle_examine;
mod oracle_session;
mod oracle_trial;
mod plans;
mod proxies;
mod replicas;
mod roles;
mod samplers;
mod settings;
mod state;
mod support;
mod target;

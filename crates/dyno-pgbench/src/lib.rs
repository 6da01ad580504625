//! A drop-in for PostgreSQL's `pgbench`: the same options, scripts, tables, texts and exit codes, on dyno's engine.

pub mod init;

//! pgbench's script language: parse, compile, evaluate, random functions; no I/O

//! The whole of dyno, as a person uses it: the real program, started with arguments, on real servers. Every case
//! looks at what the person sees (standard output, standard error, exit code) and at what is left behind (archive,
//! database, processes).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod address;
mod archive;
mod around;
mod builtin;
mod cache;
mod capacity;
mod ceiling;
mod ci;
mod clean;
mod compare;
mod doctor;
mod earlier;
mod endless;
mod experiments;
mod export;
mod external;
mod factors;
mod failures;
mod fleet;
mod fleet_net;
mod fleet_ray;
mod fleet_shares;
mod fleet_ssh;
mod found;
mod frozen;
mod installed;
mod interrupts;
mod kills;
mod lapses;
mod leftovers;
mod lexis;
mod lua;
mod mariadb;
mod messages;
mod mysql;
mod once;
mod oracle;
mod others;
mod output;
mod own;
mod plans;
mod repetitions;
mod replicas;
mod report;
mod resume;
mod screen;
mod secrets;
mod series;
mod serve;
mod servers;
mod studies;
mod support;
mod terminal;
mod threads;
mod tls;
mod trial;
mod users;
mod versus;

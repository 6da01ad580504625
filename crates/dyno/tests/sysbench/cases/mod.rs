//! The command lines.

mod commands;
mod mariadb;
mod options;
mod postgres;
mod prepare;
mod published;
mod runs;

//! The command lines.

mod connecting;
mod errors;
mod init;
mod options;
mod running;
mod scripts;

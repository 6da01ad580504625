//! The command lines.

mod connecting;
mod debugging;
mod errors;
mod init;
mod options;
mod running;
mod scripts;

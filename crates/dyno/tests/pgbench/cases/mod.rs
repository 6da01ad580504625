//! The command lines.

mod errors;
mod init;
mod options;
mod running;
mod scripts;

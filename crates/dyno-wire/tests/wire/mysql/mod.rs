//! The same for MySQL and MariaDB.

mod chaos;
mod replies;
mod start_up;
mod support;

//! How far this machine's ceiling is: what the load generator can do at most, when the server costs nothing.
//!
//! A load generator must not be what is measured. Whether it is can only be told by knowing its limit, and that
//! differs from machine to machine. So it is measured against a [responder]: a process that speaks just enough of
//! PostgreSQL's protocol to answer every statement at once, from bytes made beforehand. What was measured is
//! [kept](Store), and runs are judged by it.

mod machine;
mod measure;
mod process;
pub mod responder;
mod store;

pub use machine::this_machine;
pub use measure::{MeasureError, measure};
pub use process::Responder;
pub use store::{Store, StoreError, nearest_here};

//! Bringing a private server, whatever database it is of: programs are fetched and verified, run as an unprivileged
//! user, and die with the process that started them.
//!
//! [`home`] is the folder for all of it and the user it runs as, [`install`] fetches programs and puts them there,
//! [`place`] is the folder of one cluster, [`cluster`] an initialised one, [`server`] a running server of it,
//! [`instance`] what a campaign holds, [`replica`] one that follows another, by a [`copy`] of its files,
//! [`keeper`] holds a process, [`stale`] stops what an earlier dyno left,
//! [`socket`] is where a server listens. What differs between databases is a [`product::Product`].

pub(crate) mod cluster;
pub(crate) mod copy;
pub(crate) mod home;
pub(crate) mod install;
pub(crate) mod instance;
pub(crate) mod keeper;
pub(crate) mod lock;
pub(crate) mod place;
pub(crate) mod product;
pub(crate) mod replica;
pub(crate) mod server;
pub(crate) mod socket;
pub(crate) mod stale;

mod error;
mod manifest;
mod progress;
mod received;
mod shutdown;

pub use error::EmbeddedError;
pub(crate) use error::check_name;
pub use home::home_folder;
pub(crate) use manifest::hex;
pub use progress::Progress;
pub(crate) use progress::tell;

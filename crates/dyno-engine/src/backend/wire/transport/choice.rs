//! Which transport moves a thread's bytes.

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::str::FromStr;

/// Which transport is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransportChoice {
    /// What costs least: blocking calls on a thread with one client, elsewhere io_uring if the system allows it,
    /// else readiness.
    #[default]
    Auto,
    /// Readiness: epoll on Linux, kqueue on BSD and macOS.
    Readiness,
    /// io_uring, or none.
    IoUring,
}

impl TransportChoice {
    /// Makes sure that it is to be had.
    ///
    /// # Errors
    /// io_uring is wanted and cannot be used.
    pub fn check(self) -> Result<(), UringUnavailable> {
        Chosen::new(self).map(drop)
    }
}

/// A text that names no transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no transport \"{0}\"; there are auto, epoll and io_uring")]
pub struct TransportChoiceError(String);

impl FromStr for TransportChoice {
    type Err = TransportChoiceError;

    fn from_str(name: &str) -> Result<Self, TransportChoiceError> {
        match name {
            "auto" => Ok(Self::Auto),
            "epoll" => Ok(Self::Readiness),
            "io_uring" => Ok(Self::IoUring),
            _ => Err(TransportChoiceError(name.to_owned())),
        }
    }
}

impl fmt::Display for TransportChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Readiness => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

/// Which transport a thread uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransportKind {
    /// Blocking calls on its only connection.
    Blocking,
    /// Readiness.
    Readiness,
    /// io_uring, which only Linux has.
    IoUring,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Readiness if cfg!(target_os = "linux") => "epoll",
            Self::Readiness => "kqueue",
            Self::IoUring => "io_uring",
        })
    }
}

/// Why io_uring cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("io_uring cannot be used: {}", explain(.0))]
pub struct UringUnavailable(#[source] io::Error);

/// What the system's answer means.
fn explain(cause: &io::Error) -> String {
    match Errno::from_io_error(cause) {
        Some(Errno::PERM | Errno::ACCESS) => {
            "it is forbidden here (by a container's seccomp profile, or the kernel setting io_uring_disabled)"
                .to_owned()
        }
        Some(Errno::NOSYS) => "this system does not have it".to_owned(),
        Some(Errno::INVAL) => "this kernel is too old; Linux 6.1 is needed".to_owned(),
        _ => cause.to_string(),
    }
}

/// Which transports the threads of a load use.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// With one client.
    one: TransportKind,
    /// With several.
    several: TransportKind,
    /// Why it is not the best one, if it is not.
    pub fallback: Option<UringUnavailable>,
}

impl Chosen {
    /// Looks at what the system allows.
    ///
    /// # Errors
    /// io_uring is wanted and cannot be used.
    pub fn new(choice: TransportChoice) -> Result<Self, UringUnavailable> {
        Self::of(choice, io_uring())
    }

    /// The same where io_uring is to be had or not.
    fn of(
        choice: TransportChoice,
        io_uring: Result<TransportKind, UringUnavailable>,
    ) -> Result<Self, UringUnavailable> {
        let same = |kind| Self {
            one: kind,
            several: kind,
            fallback: None,
        };
        match (choice, io_uring) {
            (TransportChoice::Readiness, _) => Ok(same(TransportKind::Readiness)),
            (TransportChoice::IoUring, result) => result.map(same),
            (TransportChoice::Auto, Ok(kind)) => Ok(Self {
                one: TransportKind::Blocking,
                ..same(kind)
            }),
            (TransportChoice::Auto, Err(fallback)) => Ok(Self {
                one: TransportKind::Blocking,
                several: TransportKind::Readiness,
                fallback: Some(fallback),
            }),
        }
    }

    /// What a thread with so many clients uses.
    pub fn kind(&self, clients: usize) -> TransportKind {
        if clients == 1 { self.one } else { self.several }
    }
}

#[cfg(target_os = "linux")]
fn io_uring() -> Result<TransportKind, UringUnavailable> {
    super::Uring::probe()
        .map(|()| TransportKind::IoUring)
        .map_err(UringUnavailable)
}

#[cfg(not(target_os = "linux"))]
fn io_uring() -> Result<TransportKind, UringUnavailable> {
    Err(UringUnavailable(Errno::NOSYS.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(errno: Errno) -> Result<TransportKind, UringUnavailable> {
        Err(UringUnavailable(errno.into()))
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for choice in [
            TransportChoice::Auto,
            TransportChoice::Readiness,
            TransportChoice::IoUring,
        ] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let error = "kqueue".parse::<TransportChoice>().expect_err("no such name");
        assert_eq!(
            error.to_string(),
            "there is no transport \"kqueue\"; there are auto, epoll and io_uring"
        );
    }

    #[test]
    fn where_io_uring_is_refused_auto_says_why_and_goes_on() {
        for (errno, why) in [
            (Errno::PERM, "it is forbidden here"),
            (Errno::NOSYS, "this system does not have it"),
            (Errno::INVAL, "this kernel is too old"),
            (Errno::NOMEM, "annot allocate memory"),
        ] {
            let chosen = Chosen::of(TransportChoice::Auto, refused(errno)).expect("a transport");
            assert_eq!(
                (chosen.kind(1), chosen.kind(2)),
                (TransportKind::Blocking, TransportKind::Readiness)
            );
            let fallback = chosen.fallback.expect("a reason").to_string();
            assert!(
                fallback.starts_with("io_uring cannot be used: ") && fallback.contains(why),
                "{fallback}"
            );
            assert!(Chosen::of(TransportChoice::IoUring, refused(errno)).is_err());
            assert!(
                Chosen::of(TransportChoice::Readiness, refused(errno)).is_ok_and(|chosen| chosen.fallback.is_none())
            );
        }
    }

    #[test]
    fn where_it_is_allowed_auto_takes_it_for_several_clients() {
        let chosen = |choice| Chosen::of(choice, Ok(TransportKind::IoUring)).expect("a transport");
        let auto = chosen(TransportChoice::Auto);
        assert_eq!(
            (auto.kind(1), auto.kind(2)),
            (TransportKind::Blocking, TransportKind::IoUring)
        );
        assert_eq!(chosen(TransportChoice::IoUring).kind(1), TransportKind::IoUring);
        assert_eq!(chosen(TransportChoice::Readiness).kind(2), TransportKind::Readiness);
    }
}

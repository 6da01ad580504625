//! What systems have for sockets, each in its own way.

use rustix::net::{self, AddressFamily, SendFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// With these flags, sending to a peer that is gone is an error rather than a signal that ends the process. macOS has
/// none for it; there it counts that programs in Rust ignore that signal.
#[cfg(not(target_vendor = "apple"))]
pub const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// The same.
#[cfg(target_vendor = "apple")]
pub const NO_SIGNAL: SendFlags = SendFlags::empty();

/// A stream socket that programs which are started later do not inherit, and that does not wait if `nonblocking`.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn stream_socket(family: AddressFamily, nonblocking: bool) -> io::Result<OwnedFd> {
    use rustix::net::SocketFlags;
    let waiting = match nonblocking {
        true => SocketFlags::NONBLOCK,
        false => SocketFlags::empty(),
    };
    let flags = SocketFlags::CLOEXEC | waiting;
    Ok(net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// The same.
#[cfg(target_vendor = "apple")]
pub(crate) fn stream_socket(family: AddressFamily, nonblocking: bool) -> io::Result<OwnedFd> {
    let socket = net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, nonblocking)?;
    Ok(socket)
}

/// Whose process is at the other end of a unix socket: the id of its user.
///
/// # Errors
/// As the system reports them.
#[cfg(target_os = "linux")]
pub fn peer_user(socket: impl AsFd) -> io::Result<u32> {
    Ok(net::sockopt::socket_peercred(socket)?.uid.as_raw())
}

/// The same.
///
/// # Errors
/// As the system reports them.
#[cfg(not(target_os = "linux"))]
pub fn peer_user(socket: impl AsFd) -> io::Result<u32> {
    Ok(nix::unistd::getpeereid(socket)?.0.as_raw())
}

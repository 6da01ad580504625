//! Notices that the other end of a connection is out of reach. Whoever waits for an answer would wait for ever
//! otherwise: where packets are dropped nothing says that the connection is gone.

use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// How long nothing may be heard before the system asks whether the other end is still there, and how often it asks
/// then.
const IDLE: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_secs(5);

/// How often it asks in vain before the connection ends.
const TIMES: u32 = 4;

/// How long what was sent may go without a sign that it arrived, in milliseconds.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_MS: u32 = 30_000;

/// Has the system end a TCP connection of whose other end nothing was heard for half a minute. A server that works for
/// hours without a word is safe: it is its system that answers.
///
/// # Errors
/// As the system reports them.
pub fn notice_outage(socket: impl AsFd) -> io::Result<()> {
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, IDLE)?;
    sockopt::set_tcp_keepintvl(&socket, EVERY)?;
    sockopt::set_tcp_keepcnt(&socket, TIMES)?;
    // Elsewhere what was sent is given up when the system thinks right, which takes minutes.
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(&socket, UNACKNOWLEDGED_MS)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_asked_for_signs_of_life() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        notice_outage(&socket).expect("TCP can do that");
        assert_eq!(sockopt::socket_keepalive(&socket), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&socket), Ok(IDLE));
        assert_eq!(sockopt::tcp_user_timeout(&socket), Ok(UNACKNOWLEDGED_MS));
    }
}

//! One connection: a socket, and TLS over it if agreed on.

use dyno_connect::{Socket, decrypt};
use rustls::ClientConnection;
use std::io::{self, Write};
use std::net::SocketAddr;

/// A socket with its TLS state and the bytes the peer has not accepted yet.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    unsent: Vec<u8>,
}

impl Connection {
    /// A connection over `socket`; `tls` has finished its handshake.
    #[must_use]
    pub fn new(socket: Socket, tls: Option<ClientConnection>) -> Self {
        Self {
            socket,
            tls: tls.map(Box::new),
            unsent: Vec::new(),
        }
    }

    /// The socket, for waiting on it.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The address that it goes to; `None` of a unix socket.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer()
    }

    /// Whether bytes wait for the peer to accept them.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Receives once into `buffer` and hands on what came. Returns whether there may be more to receive now.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; `UnexpectedEof` if the peer has closed; else as the system or TLS report it.
    pub fn receive(&mut self, buffer: &mut [u8], sink: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        let received = self.socket.receive(buffer)?;
        if received == 0 {
            return Err(closed_by_peer());
        }
        let unsent = self.unsent.len();
        self.accept(&buffer[..received], sink)?;
        if self.unsent.len() > unsent {
            self.flush()?;
        }
        Ok(received == buffer.len())
    }

    /// Takes in `bytes` that came from the socket and hands on what they say. What TLS has to answer is unsent then.
    ///
    /// # Errors
    /// As TLS reports them; `UnexpectedEof` if the peer has ended TLS, whatever follows.
    pub fn accept(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            sink(bytes);
            return Ok(());
        };
        if decrypt(tls, bytes, sink)? {
            return Err(closed_by_peer());
        }
        while tls.wants_write() {
            tls.write_tls(&mut self.unsent)?;
        }
        Ok(())
    }

    /// Sends `bytes` behind what is still unsent, and keeps what the peer does not accept now.
    ///
    /// # Errors
    /// As the system or TLS report them; not `WouldBlock`.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.tls.is_some() || self.has_unsent() {
            self.queue(bytes)?;
            return self.flush();
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.socket.send(rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.unsent.extend_from_slice(rest);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Puts `bytes`, encrypted if the connection is, behind what is unsent.
    ///
    /// # Errors
    /// As TLS reports them.
    pub fn queue(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        };
        tls.writer().write_all(bytes)?;
        while tls.wants_write() {
            tls.write_tls(&mut self.unsent)?;
        }
        Ok(())
    }

    /// What the peer has not accepted yet, as it travels.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn unsent(&self) -> &[u8] {
        &self.unsent
    }

    /// The peer has accepted the first `count` bytes of what was unsent.
    pub fn sent(&mut self, count: usize) {
        self.unsent.drain(..count.min(self.unsent.len()));
    }

    /// Sends what is unsent, as far as the peer accepts it.
    ///
    /// # Errors
    /// As the system reports them; not `WouldBlock`.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut sent = 0;
        let result = loop {
            if sent == self.unsent.len() {
                break Ok(());
            }
            match self.socket.send(&self.unsent[sent..]) {
                Ok(more) => sent += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.sent(sent);
        result
    }
}

/// The end of the stream as an error.
pub(super) fn closed_by_peer() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_wire::tls::{ClientOptions, SslMode, client_config, server_name};
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ServerConfig, ServerConnection};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    fn server() -> ServerConnection {
        let party = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(party.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![party.cert.der().clone()], key.into())
            .expect("a configuration");
        // Nothing comes behind the handshake.
        config.send_tls13_tickets = 0;
        ServerConnection::new(Arc::new(config)).expect("a server")
    }

    /// Both sides of TLS, shaken hands.
    fn encrypted() -> (ClientConnection, ServerConnection) {
        let config = client_config(&ClientOptions::default()).expect("a configuration");
        let name = server_name(SslMode::Require, "localhost").expect("a name");
        let mut client = ClientConnection::new(config, name).expect("a client");
        let mut server = server();
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        std::thread::scope(|scope| {
            scope.spawn(|| server.complete_io(&mut &theirs).expect("a handshake"));
            client.complete_io(&mut &ours).expect("a handshake");
        });
        (client, server)
    }

    #[test]
    fn the_end_of_tls_is_the_end_whatever_follows() {
        let (client, mut server) = encrypted();
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        let mut connection = Connection::new(Socket::Unix(ours), Some(client));
        server.writer().write_all(b"last words").expect("room");
        server.send_close_notify();
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("memory");
        }
        bytes.resize(bytes.len() + 100_000, b'x');
        let mut plain = Vec::new();
        let ended = connection.accept(&bytes, &mut |part| plain.extend_from_slice(part));
        assert_eq!(ended.map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
        assert_eq!(plain, b"last words");
    }
}

//! Opening one control connection: socket, TLS, log-in, all within one limit of time.

use super::endpoint::Endpoint;
use super::guard::{Guarded, Wire};
use crate::postgres::address::Socket;
use crate::postgres::client::{Client, Traffic};
use dyno_wire::tls::{self, Encryption, TlsError};
use dyno_wire::{AuthenticationGuard, Channel, LogInMethod, RequiredPeer, WireError};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::CancelToken;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::tls::TlsConnect;
use tokio_rustls::TlsConnector;

/// How often a unix socket whose queue is full is asked again.
const FULL_QUEUE_PAUSE: Duration = Duration::from_millis(10);

/// Why a control connection was not opened.
pub(crate) enum DialError {
    /// The system could not connect, or the connection broke.
    Socket(io::Error),
    /// No agreement on encryption.
    Tls(TlsError),
    /// We refuse the server.
    Distrusted(WireError),
    /// The log-in failed.
    LogIn(postgres::Error),
    /// It was not done in time.
    Late,
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        TlsError::from_io(&error).map_or(Self::Socket(error), Self::Tls)
    }
}

impl From<WireError> for DialError {
    fn from(error: WireError) -> Self {
        Self::Distrusted(error)
    }
}

impl From<TlsError> for DialError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

/// The way to a server: one of its addresses, and whether TLS is used.
#[derive(Clone)]
pub(crate) struct Route {
    endpoint: Endpoint,
    encryption: Encryption,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Connects to `endpoint` and logs in. Each of its addresses may take as long as the endpoint's limit; the last
/// one's failure counts.
pub(super) fn dial(
    endpoint: &Endpoint,
    encryption: Encryption,
    log_in: &tokio_postgres::Config,
) -> Result<Client, DialError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let places = match &endpoint.socket {
        Socket::Unix(path) => vec![Place::Unix(path.clone())],
        Socket::Tcp(addresses) => addresses.iter().copied().map(Place::Tcp).collect(),
    };
    let mut outcome = Err(DialError::Socket(ErrorKind::AddrNotAvailable.into()));
    for place in places {
        let route = Route {
            endpoint: endpoint.clone(),
            encryption,
            place,
        };
        match runtime.block_on(within(endpoint.connect_timeout, route.log_in(log_in))) {
            Ok((client, traffic, asked)) => return Ok(Client::new(runtime, route, asked, client, traffic)),
            Err(error) => outcome = Err(error),
        }
    }
    outcome
}

async fn within<T>(limit: Option<Duration>, work: impl Future<Output = Result<T, DialError>>) -> Result<T, DialError> {
    match limit {
        Some(limit) => match tokio::time::timeout(limit, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(DialError::Late),
        },
        None => work.await,
    }
}

impl Route {
    /// The path of the socket, or the numeric address with the port.
    pub(crate) fn address(&self) -> String {
        match &self.place {
            Place::Unix(path) => path.display().to_string(),
            Place::Tcp(address) => address.to_string(),
        }
    }

    /// Asks the server, on a connection of its own, to give up what another one executes, for as long as `limit`.
    pub(crate) fn cancel(&self, token: &CancelToken, limit: Duration) -> Result<(), DialError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(within(Some(limit), async {
            let wire = self.open().await?;
            token.cancel_query_raw(wire, Made).await.map_err(DialError::LogIn)
        }))
    }

    async fn log_in(
        &self,
        config: &tokio_postgres::Config,
    ) -> Result<(tokio_postgres::Client, Traffic, LogInMethod), DialError> {
        // The crate asks a TLS connection alone what SCRAM can be bound to, so ours are handed over as such, made
        // before.
        let mut config = config.clone();
        config
            .ssl_mode(SslMode::Require)
            .ssl_negotiation(SslNegotiation::Direct);
        let wire = self.open().await?;
        let asked = wire.asked();
        let (client, connection) = config.connect_raw(wire, Made).await.map_err(DialError::LogIn)?;
        Ok((client, Box::pin(connection), asked))
    }

    async fn open(&self) -> Result<Guarded, DialError> {
        match &self.place {
            Place::Unix(path) => {
                let socket = unix(path).await?;
                check_peer(&socket, self.endpoint.required_peer.as_ref())??;
                Ok(self.guarded(socket, Channel::Plain))
            }
            Place::Tcp(address) => self.encrypted(tcp(*address).await?).await,
        }
    }

    async fn encrypted(&self, mut socket: TcpStream) -> Result<Guarded, DialError> {
        let config = match (&self.endpoint.tls, self.encryption) {
            (Some(config), Encryption::Tls) => config,
            _ => return Ok(self.guarded(socket, Channel::Plain)),
        };
        let mode = self.endpoint.ssl_mode;
        socket.write_all(&tls::ssl_request()).await?;
        let mut answer = [0; 16];
        let received = socket.read(&mut answer).await?;
        if received == 0 {
            return Err(DialError::Socket(ErrorKind::UnexpectedEof.into()));
        }
        if tls::interpret_answer(mode, &answer[..received])? == Encryption::Plain {
            return Ok(self.guarded(socket, Channel::Plain));
        }
        let name = tls::server_name(mode, &self.endpoint.server_name)?;
        let stream = TlsConnector::from(Arc::clone(config)).connect(name, socket).await?;
        let certificates = stream.get_ref().1.peer_certificates();
        let hash = certificates.and_then(|certificates| tls::server_end_point(certificates.first()?));
        Ok(self.guarded(stream, Channel::Tls(hash)))
    }

    fn guarded(&self, wire: impl Wire + 'static, channel: Channel) -> Guarded {
        let policy = self.endpoint.config.authentication.clone();
        Guarded::new(Box::new(wire), AuthenticationGuard::new(policy, channel))
    }
}

/// Judges the process at the other end of a unix socket.
pub(crate) fn check_peer(socket: impl AsFd, peer: Option<&RequiredPeer>) -> io::Result<Result<(), WireError>> {
    let Some(peer) = peer else {
        return Ok(Ok(()));
    };
    Ok(peer.judge(dyno_connect::peer_user(socket)?))
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    dyno_connect::notice_outage(&socket)?;
    Ok(socket)
}

async fn unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            // Many connect at once; the system would have a blocking call wait.
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::time::sleep(FULL_QUEUE_PAUSE).await,
            outcome => return outcome,
        }
    }
}

/// Hands a connection over as it is.
struct Made;

impl TlsConnect<Guarded> for Made {
    type Stream = Guarded;
    type Error = Infallible;
    type Future = Ready<Result<Guarded, Infallible>>;

    fn connect(self, stream: Guarded) -> Self::Future {
        ready(Ok(stream))
    }
}

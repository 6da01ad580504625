//! Agents that dial in, where nobody can start them over a channel that is private already.
//!
//! Each is invited: it is told where to connect, the certificate that it will find there, and a word that counts once.
//! TLS 1.3 with that certificate alone shows the agent whom it speaks to; the word shows the controller who has come.
//! Certificate and words are made for one load and never kept.

use crate::start::Channel;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The variable in which an agent finds its invitation.
pub const INVITATION: &str = "DYNO_INVITATION";

/// What the certificate calls the controller: its address says nothing about who it is.
const NAME: &str = "dyno";

/// So long somebody who connects may take to show who it is.
const MANNERS: Duration = Duration::from_secs(10);

/// So many may be about to do so at once, beside those who are invited. When there are more, who has been about to for
/// the longest is sent away, which are those who are invited only if as many others come while they shake hands.
const STRANGERS: usize = 64;

/// The length of the word that counts once.
const WORD_BYTES: usize = 32;

/// What an agent needs in order to dial in: a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    address: SocketAddr,
    word: [u8; WORD_BYTES],
    certificate: Vec<u8>,
}

/// Text that is no invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{INVITATION} holds no invitation: dyno itself sets it when it starts agents that are to dial in")]
pub struct NoInvitation;

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certificate = STANDARD.encode(&self.certificate);
        write!(f, "{}|{}|{certificate}", self.address, hex::encode(self.word))
    }
}

impl FromStr for Invitation {
    type Err = NoInvitation;

    fn from_str(text: &str) -> Result<Self, NoInvitation> {
        let mut parts = text.splitn(3, '|');
        let mut part = || parts.next().ok_or(NoInvitation);
        let (address, word, certificate) = (part()?, part()?, part()?);
        let mut invitation = Self {
            address: address.parse().map_err(|_| NoInvitation)?,
            word: [0; WORD_BYTES],
            certificate: STANDARD.decode(certificate).map_err(|_| NoInvitation)?,
        };
        hex::decode_to_slice(word, &mut invitation.word).map_err(|_| NoInvitation)?;
        Ok(invitation)
    }
}

impl Invitation {
    /// Dials in: what is written to the channel is what the controller hears.
    ///
    /// # Errors
    /// The controller cannot be reached, or is another one.
    pub fn accept(&self) -> io::Result<Channel> {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from(self.certificate.clone());
        roots.add(certificate).map_err(io::Error::other)?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let stream = TcpStream::connect_timeout(&self.address, MANNERS)?;
        let socket = stream.try_clone()?;
        let mut channel = established(stream, connection.into())?;
        channel.input.write_all(&self.word)?;
        channel.input.flush()?;
        set_deadline(&socket, None)?;
        Ok(channel)
    }
}

/// Where invited agents dial in.
pub(crate) struct Reception {
    address: SocketAddr,
    certificate: Vec<u8>,
    words: Vec<[u8; WORD_BYTES]>,
    arrivals: Receiver<(usize, Channel)>,
    closed: Arc<Mutex<bool>>,
}

impl Reception {
    /// Waits for so many agents at an address of this machine, which they have to be able to reach.
    pub fn open(address: SocketAddr, agents: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let own = rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(io::Error::other)?;
        let certificate = own.cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .map_err(io::Error::other)?;
        let words = (0..agents).map(|_| random()).collect::<io::Result<Vec<_>>>()?;
        let (arrived, arrivals) = mpsc::channel();
        let closed = Arc::<Mutex<bool>>::default();
        let desk = Desk {
            config: Arc::new(config),
            words: Arc::new(Mutex::new(words.iter().map(|word| Some(hash(word))).collect())),
            arrived,
        };
        let door = Arc::clone(&closed);
        std::thread::Builder::new()
            .name("reception".to_owned())
            .spawn(move || desk.receive(&listener, agents, &door))?;
        Ok(Self {
            address,
            certificate: certificate.to_vec(),
            words,
            arrivals,
            closed,
        })
    }

    /// For each agent its invitation.
    pub fn invitations(&self) -> impl Iterator<Item = Invitation> {
        self.words.iter().map(|word| Invitation {
            address: self.address,
            word: *word,
            certificate: self.certificate.clone(),
        })
    }

    /// Where they dial in.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next that has come, by the number of its invitation, if one comes within this time.
    pub fn arrival(&self, within: Duration) -> Option<(usize, Channel)> {
        self.arrivals.recv_timeout(within).ok()
    }
}

impl Drop for Reception {
    fn drop(&mut self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        // Whoever waits for a connection gets one, and looks. It may have ended by itself.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

/// Who receives them.
#[derive(Clone)]
struct Desk {
    config: Arc<ServerConfig>,
    /// The hashes of those that nobody has said yet: how long it takes to compare these tells nothing of the words.
    words: Arc<Mutex<Vec<Option<[u8; 32]>>>>,
    arrived: Sender<(usize, Channel)>,
}

impl Desk {
    fn receive(&self, listener: &TcpListener, agents: usize, closed: &Mutex<bool>) {
        // Connections of those who have not shown yet who they are.
        let mut strangers: VecDeque<Weak<TcpStream>> = VecDeque::new();
        for stream in listener.incoming() {
            if *closed.lock().unwrap_or_else(PoisonError::into_inner) {
                return;
            }
            let both = stream.and_then(|stream| Ok((stream.try_clone()?, stream)));
            let Ok((socket, stream)) = both else {
                // There may be no file left for a connection; there may be one soon.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            strangers.retain(|stranger| stranger.strong_count() > 0);
            if strangers.len() >= agents + STRANGERS
                && let Some(longest) = strangers.pop_front().and_then(|stranger| stranger.upgrade())
            {
                // One that is gone cannot be sent away.
                let _ = longest.shutdown(Shutdown::Both);
            }
            let socket = Arc::new(socket);
            strangers.push_back(Arc::downgrade(&socket));
            let desk = self.clone();
            let greeting = std::thread::Builder::new().name("arrival".to_owned());
            // Who cannot be heard now is sent away.
            let _ = greeting.spawn(move || {
                if let Some(arrival) = desk.greet(stream, socket) {
                    // Nobody may wait any more.
                    let _ = desk.arrived.send(arrival);
                }
            });
        }
    }

    /// The agent, if it is one that was invited and has not come before.
    fn greet(&self, stream: TcpStream, socket: Arc<TcpStream>) -> Option<(usize, Channel)> {
        let connection = ServerConnection::new(Arc::clone(&self.config)).ok()?;
        let mut channel = established(stream, connection.into()).ok()?;
        let mut said = [0; WORD_BYTES];
        channel.output.read_exact(&mut said).ok()?;
        // Before the word counts: who is being sent away cannot stay.
        let socket = Arc::into_inner(socket)?;
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let number = words.iter().position(|word| *word == Some(hash(&said)))?;
        words[number] = None;
        drop(words);
        set_deadline(&socket, None).ok()?;
        Some((number, channel))
    }
}

fn hash(word: &[u8]) -> [u8; 32] {
    Sha256::digest(word).into()
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled
        .map(|()| bytes)
        .map_err(|_| io::Error::other("the system gives no random numbers"))
}

/// Shakes hands, and parts the connection into what is written and what is read. Reading and writing still have a
/// deadline.
fn established(mut stream: TcpStream, mut connection: Connection) -> io::Result<Channel> {
    set_deadline(&stream, Some(MANNERS))?;
    stream.set_nodelay(true)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    // What is sent once it is over, such as tickets.
    while connection.wants_write() {
        connection.write_tls(&mut stream)?;
    }
    let connection = Arc::new(Mutex::new(connection));
    let reader = Reader {
        stream: stream.try_clone()?,
        connection: Arc::clone(&connection),
        chunk: vec![0; CHUNK_BYTES],
    };
    Ok(Channel::new(Writer { stream, connection }, reader))
}

/// How long any reading and writing may take.
fn set_deadline(stream: &TcpStream, most: Option<Duration>) -> io::Result<()> {
    stream.set_read_timeout(most)?;
    stream.set_write_timeout(most)
}

/// So much is read at once.
const CHUNK_BYTES: usize = 1 << 14;

/// The half that reads. It never writes, so that it cannot wait for a peer that does not read.
struct Reader {
    stream: TcpStream,
    connection: Arc<Mutex<Connection>>,
    chunk: Vec<u8>,
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            match locked(&self.connection).reader().read(to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A process that was killed says no good-bye, which TLS has more words for than anybody wants.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(error.kind().into()),
                read => return read,
            }
            // Without the lock, which the half that writes needs meanwhile.
            let read = self.stream.read(&mut self.chunk)?;
            let mut connection = locked(&self.connection);
            let mut new = &self.chunk[..read];
            loop {
                // At the end of the stream this says so.
                connection.read_tls(&mut new)?;
                connection.process_new_packets().map_err(io::Error::other)?;
                if new.is_empty() {
                    break;
                }
            }
        }
    }
}

/// The half that writes.
struct Writer {
    stream: TcpStream,
    connection: Arc<Mutex<Connection>>,
}

impl Write for Writer {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let (taken, bytes) = {
            let mut connection = locked(&self.connection);
            let taken = connection.writer().write(&from[..from.len().min(CHUNK_BYTES)])?;
            (taken, encrypted(&mut connection)?)
        };
        self.stream.write_all(&bytes)?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = encrypted(&mut locked(&self.connection))?;
        self.stream.write_all(&bytes)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        locked(&self.connection).send_close_notify();
        // The peer may be gone.
        let _ = self.flush();
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// What is to be sent.
fn encrypted(connection: &mut Connection) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut bytes)?;
    }
    Ok(bytes)
}

fn locked(connection: &Mutex<Connection>) -> std::sync::MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOON: Duration = Duration::from_millis(300);

    fn reception(agents: usize) -> (Reception, Vec<Invitation>) {
        let reception = Reception::open("127.0.0.1:0".parse().unwrap(), agents).unwrap();
        let invitations = reception.invitations().collect();
        (reception, invitations)
    }

    #[test]
    fn who_is_invited_comes_and_both_speak_at_once() {
        let (reception, invitations) = reception(2);
        let there = invitations[1]
            .to_string()
            .parse::<Invitation>()
            .unwrap()
            .accept()
            .unwrap();
        let (number, here) = reception.arrival(MANNERS).unwrap();
        assert_eq!(number, 1);
        // More than the network holds, so that neither can wait for the other to be done with writing.
        let bytes: Vec<u8> = (0..8_u32 << 20).map(|at| (at % 251) as u8).collect();
        std::thread::scope(|scope| {
            for Channel {
                mut input, mut output, ..
            } in [here, there]
            {
                let bytes = &bytes;
                scope.spawn(move || {
                    input.write_all(bytes).unwrap();
                    input.flush().unwrap();
                });
                scope.spawn(move || {
                    let mut heard = Vec::new();
                    // To the end, which is told as one.
                    output.read_to_end(&mut heard).unwrap();
                    assert!(heard == *bytes);
                });
            }
        });
    }

    #[test]
    fn a_word_counts_once() {
        let (reception, invitations) = reception(1);
        let _first = invitations[0].accept().unwrap();
        assert!(reception.arrival(MANNERS).is_some());
        let mut second = invitations[0].accept().unwrap();
        assert_eq!(second.output.read(&mut [0; 8]).unwrap(), 0);
        assert!(reception.arrival(SOON).is_none());
    }

    #[test]
    fn strangers_are_sent_away_and_keep_nobody_waiting() {
        let (reception, invitations) = reception(1);
        let mut guess = invitations[0].clone();
        guess.word[0] ^= 1;
        assert_eq!(guess.accept().unwrap().output.read(&mut [0; 8]).unwrap(), 0);
        // One says nothing at all, one speaks another language.
        let _silent = TcpStream::connect(reception.address()).unwrap();
        let mut other = TcpStream::connect(reception.address()).unwrap();
        other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut said = Vec::new();
        let _ = other.read_to_end(&mut said);
        assert!(reception.arrival(SOON).is_none());
        let _agent = invitations[0].accept().unwrap();
        assert!(reception.arrival(MANNERS).is_some());
    }

    #[test]
    fn who_is_slow_keeps_nobody_out() {
        let (reception, invitations) = reception(1);
        let slow: Vec<_> = (0..3 * STRANGERS)
            .map(|_| {
                let mut stranger = TcpStream::connect(reception.address()).unwrap();
                // The begin of a handshake.
                let _ = stranger.write_all(&[22]);
                stranger
            })
            .collect();
        let _agent = invitations[0].accept().unwrap();
        assert!(reception.arrival(MANNERS).is_some());
        drop(slow);
    }

    #[test]
    fn another_controller_is_not_told_the_word() {
        let (one, _) = reception(1);
        let (_other, others) = reception(1);
        let mislead = Invitation {
            address: one.address(),
            ..others[0].clone()
        };
        let refused = mislead.accept().err().unwrap().to_string();
        assert!(refused.contains("certificate"), "{refused}");
    }

    #[test]
    fn nothing_listens_when_it_is_over() {
        let (reception, _) = reception(1);
        let address = reception.address();
        drop(reception);
        let gone = || TcpStream::connect(address).is_err();
        assert!((0..100).any(|_| gone() || {
            std::thread::sleep(SOON / 10);
            false
        }));
    }

    proptest! {
        #[test]
        fn an_invitation_is_text(
            port: u16, word: [u8; WORD_BYTES], certificate in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            let invitation = Invitation { address: ([10, 0, 0, 1], port).into(), word, certificate };
            let again: Invitation = invitation.to_string().parse().unwrap();
            prop_assert!(again == invitation);
        }

        #[test]
        fn other_text_is_none(text in "\\PC{0,200}") {
            prop_assert!(text.parse::<Invitation>().is_err());
        }
    }
}

//! What a stand-in is like: an older or a newer server, friendly or not.

use crate::executor::Executors;
use std::net::SocketAddr;
use std::sync::Arc;

/// Which generation of servers it stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A 19c: protocol 318, field version 12; every reply has to be parsed to find its end.
    V19,
    /// A 23ai: protocol 319, field version 24, fast authentication, replies that say where they end.
    V23,
}

impl Profile {
    pub(crate) fn protocol(self) -> u16 {
        match self {
            Self::V19 => 318,
            Self::V23 => 319,
        }
    }

    pub(crate) fn field_version(self) -> u8 {
        match self {
            Self::V19 => 12,
            Self::V23 => 24,
        }
    }

    /// Flags of ACCEPT: fast authentication and end of response.
    pub(crate) fn accept_flags(self) -> u32 {
        match self {
            Self::V19 => 0,
            Self::V23 => 0x1200_0000,
        }
    }

    /// The release as a client shows it.
    pub(crate) fn release(self) -> (u32, u32) {
        match self {
            Self::V19 => (19, 3),
            Self::V23 => (23, 4),
        }
    }
}

/// How a password is stored, which decides how a client proves that it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verifier {
    /// SHA-1 and AES-192; the keys of both sides are mixed as since 12c, by PBKDF2.
    V11g,
    /// The same with keys of 48 bytes, which are mixed by MD5, as before 12c.
    V11gMd5,
    /// PBKDF2 with SHA-512 and AES-256.
    V12c,
}

/// How the account of the user is doing. The password is looked at first, as Oracle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Who knows the password is let in.
    Open,
    /// ORA-28000.
    Locked,
    /// ORA-28001.
    Expired,
}

/// Where in the life of a session something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Instead of accepting the connection.
    Connect,
    /// In the reply to the first message behind ACCEPT.
    Negotiate,
    /// In the reply to the first part of the log-in; with fast authentication this is the first message.
    LogIn,
    /// In the reply to the client's proof that it knows the password.
    Proof,
    /// In the reply to this execution of the session, counted from 1.
    Execute(u64),
    /// In the reply to this fetch of the session, counted from 1.
    Fetch(u64),
}

/// What goes wrong then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Nothing is sent any more; the connection stays.
    Silence,
    /// The connection ends without a word.
    Close,
    /// Half of the reply is sent, then the connection ends.
    Half,
    /// So many bytes of the reply are sent, then the connection ends.
    After(usize),
    /// Half of the reply is sent, and nothing follows.
    HalfThenSilence,
    /// The packet says that it is as long as a packet can say.
    HugePacket,
    /// The reply says that a piece of it has two gigabytes.
    HugePiece,
    /// The reply tells of errors of an array's rows, where no array was executed.
    UnaskedErrors,
    /// Bytes without a meaning.
    Garbage,
    /// The server's own proof is wrong, as that of somebody who does not know the password; with [`Moment::Proof`].
    WrongProof,
}

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub when: Moment,
    /// What.
    pub what: Misbehaviour,
}

/// How a listener answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// It accepts.
    Accepts,
    /// It refuses with this error, such as 12514, 12516 or 12520.
    Refuses(u32),
    /// It sends the client to another address.
    Redirects(SocketAddr),
    /// It asks for the same again, encrypted anew if TLS is spoken, and then accepts.
    AsksAgain,
    /// It sends the client to another address, which is said to speak TLS.
    RedirectsToTls(SocketAddr),
    /// It accepts, but says that it demands native encryption; who goes on all the same is refused with 12660.
    DemandsEncryption,
}

/// How the bytes of replies are dealt to packets and to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The largest packet, which a client may ask to be smaller.
    pub sdu: u32,
    /// The most bytes of a message in a packet, if that is to be less than fits.
    pub packet: Option<usize>,
    /// The most bytes that are given to the network at once.
    pub write: Option<usize>,
}

/// What a stand-in is to be like.
#[derive(Clone)]
pub struct Options {
    /// Which generation of servers it stands in for.
    pub profile: Profile,
    /// How the password is stored.
    pub verifier: Verifier,
    /// Whom it lets in.
    pub user: String,
    /// With which password.
    pub password: String,
    /// How the account is doing.
    pub account: Account,
    /// What executes statements: one for each session.
    pub executors: Arc<dyn Executors>,
    /// How the listener answers.
    pub listener: Listener,
    /// How replies are cut.
    pub pieces: Pieces,
    /// Whether values that repeat those of the row before are left out.
    pub compress: bool,
    /// TLS from the first byte, with this certificate and key.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// The port to listen on; 0: a free one.
    pub port: u16,
}

impl Options {
    /// A friendly 23ai at a free port of 127.0.0.1, with the user `bench` and the password `secret`.
    #[must_use]
    pub fn new(executors: Arc<dyn Executors>) -> Self {
        Self {
            profile: Profile::V23,
            verifier: Verifier::V12c,
            user: "bench".to_owned(),
            password: "secret".to_owned(),
            account: Account::Open,
            executors,
            listener: Listener::Accepts,
            pieces: Pieces {
                sdu: 8192,
                packet: None,
                write: None,
            },
            compress: false,
            tls: None,
            faults: Vec::new(),
            port: 0,
        }
    }

    /// What is to go wrong now, if anything is.
    pub(crate) fn fault(&self, now: Moment) -> Option<Misbehaviour> {
        self.faults
            .iter()
            .find(|fault| fault.when == now)
            .map(|fault| fault.what)
    }
}

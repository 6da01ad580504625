//! TLS as asked for: the mode and where certificates lie, and the client configuration made of them.

use dyno_wire::tls::{self, ClientIdentity, ClientOptions, Roots, SslMode, Versions, Words};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whom to trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RootCertificate {
    /// What the operating system trusts (`sslrootcert=system`).
    System,
    /// Certificates in a PEM file.
    File(PathBuf),
}

/// TLS as asked for, files not yet read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSettings {
    /// How much is asked for.
    pub mode: SslMode,
    /// Whom to trust; none: nobody is checked, which the verifying modes refuse.
    pub root: Option<RootCertificate>,
    /// Client certificate (PEM) and its key (PEM).
    pub client: Option<(PathBuf, PathBuf)>,
    /// A list of revoked certificates (PEM).
    pub revocations: Option<PathBuf>,
    /// A folder of such lists, in files named as OpenSSL names them: `HASH.rNUMBER`.
    pub revocation_folder: Option<PathBuf>,
    /// Versions of TLS that are spoken.
    pub versions: Versions,
    /// Keeps the host's name out of the handshake.
    pub hide_server_name: bool,
}

/// Why TLS could not be set up on our side.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate or key file could not be read.
    #[error("the {what} {} cannot be read: {error}", path.display())]
    File {
        /// Which file it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The mode and the certificates do not fit together.
    #[error(transparent)]
    Config(#[from] tls::TlsError),
}

impl TlsSettings {
    /// Fills what is not given with libpq's defaults: mode `prefer` (`verify-full` with `sslrootcert=system`) and
    /// the files in `~/.postgresql`, where they exist.
    pub(super) fn new(
        mode: Option<SslMode>,
        root: Option<&str>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        home: Option<&Path>,
    ) -> Self {
        let in_home = |name: &str| home.map(|home| home.join(".postgresql").join(name));
        let existing = |name: &str| in_home(name).filter(|path| path.exists());
        let root = match root {
            Some("system") => Some(RootCertificate::System),
            Some(path) => Some(RootCertificate::File(PathBuf::from(path))),
            None => existing("root.crt").map(RootCertificate::File),
        };
        let default_mode = match root {
            Some(RootCertificate::System) => SslMode::VerifyFull,
            _ => SslMode::Prefer,
        };
        let client = certificate
            .or_else(|| existing("postgresql.crt"))
            .and_then(|certificate| Some((certificate, key.or_else(|| in_home("postgresql.key"))?)));
        Self {
            mode: mode.unwrap_or(default_mode),
            root,
            client,
            ..Self::disabled()
        }
    }

    /// No TLS at all.
    pub(super) fn disabled() -> Self {
        Self {
            mode: SslMode::Disable,
            root: None,
            client: None,
            revocations: None,
            revocation_folder: None,
            versions: Versions::Both,
            hide_server_name: false,
        }
    }

    /// Reads the files and makes the configuration; none when the mode is `disable`.
    ///
    /// # Errors
    /// A file that cannot be read, a verifying mode with nobody to trust, certificates that do not fit together.
    pub fn client_config(&self) -> Result<Option<Arc<rustls::ClientConfig>>, TlsError> {
        if self.mode == SslMode::Disable {
            return Ok(None);
        }
        let pem = match &self.root {
            Some(RootCertificate::File(path)) => Some(read("root certificate", path)?),
            Some(RootCertificate::System) | None => None,
        };
        let roots = match (&self.root, &pem) {
            (Some(RootCertificate::System), _) => Some(Roots::System),
            (_, pem) => pem.as_deref().map(Roots::Pem),
        };
        let client = match &self.client {
            None => None,
            Some((certificate, key)) => Some((read("client certificate", certificate)?, read("client key", key)?)),
        };
        let identity = client
            .as_ref()
            .map(|(certificates, key)| ClientIdentity { certificates, key });
        // Without roots nobody is verified, and lists have nothing to add; libpq does not read them then either.
        let revocations = match roots {
            Some(_) => self.read_revocations()?,
            None => Vec::new(),
        };
        Ok(Some(tls::client_config(&ClientOptions {
            mode: self.mode,
            roots,
            revocations: &revocations,
            identity,
            versions: self.versions,
            hide_server_name: self.hide_server_name,
            words: Words::Libpq,
        })?))
    }

    fn read_revocations(&self) -> Result<Vec<Vec<u8>>, TlsError> {
        const WHAT: &str = "list of revoked certificates";
        let mut lists = Vec::new();
        if let Some(path) = &self.revocations {
            lists.push(read(WHAT, path)?);
        }
        if let Some(folder) = &self.revocation_folder {
            let unreadable = |error| TlsError::File {
                what: "folder of lists of revoked certificates",
                path: folder.clone(),
                error,
            };
            let before = lists.len();
            for entry in std::fs::read_dir(folder).map_err(unreadable)? {
                let path = entry.map_err(unreadable)?.path();
                if is_named_by_hash(&path) {
                    lists.push(read(WHAT, &path)?);
                }
            }
            if lists.len() == before {
                return Err(unreadable(std::io::Error::other(
                    "it holds no file named by hash; openssl rehash names them",
                )));
            }
        }
        Ok(lists)
    }
}

/// Whether a file's name is that of a list in a folder that OpenSSL reads: eight hexadecimal digits, `.r` and a number.
fn is_named_by_hash(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((hash, number)) = name.split_once(".r") else {
        return false;
    };
    let digits = |text: &str, radix| !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
    hash.len() == 8 && digits(hash, 16) && digits(number, 10)
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::File {
        what,
        path: path.to_owned(),
        error,
    })
}

//! Where a server listens: a folder for its unix socket, and a free TCP port.

use super::EmbeddedError;
use super::home::ServerUser;
use super::manifest::hex;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Longest path of a unix socket, without the closing zero (`unix(7)`).
const PATH_BYTES: usize = 107;

/// A TCP port of 127.0.0.1 that is free now.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Creates the folder of the socket of a data folder's server, in which the longest file name will be `longest`: in
/// /tmp because a socket's path must be short, always the same for a cluster so that none are left over, and closed
/// to others, who could otherwise connect without a password.
pub(crate) fn folder(data: &Path, user: &ServerUser, longest: &str) -> Result<PathBuf, EmbeddedError> {
    let hash = hex(&Sha256::digest(data.as_os_str().as_encoded_bytes()));
    let folder = PathBuf::from(format!("/tmp/dyno-{}", &hash[..12]));
    let longest = folder.join(longest);
    if longest.as_os_str().len() > PATH_BYTES {
        return Err(EmbeddedError::file("use the over-long path", &longest)(
            io::ErrorKind::InvalidFilename.into(),
        ));
    }
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => user.hand_over(&folder)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(EmbeddedError::file("create", &folder)(error)),
    }
    // Anybody can create such a folder first; a foreign one would let its owner listen in the server's place.
    let metadata = fs::symlink_metadata(&folder).map_err(EmbeddedError::file("look at", &folder))?;
    if !metadata.is_dir() || metadata.uid() != user.uid() {
        return Err(EmbeddedError::file(
            "use (it belongs to somebody else; remove it)",
            &folder,
        )(io::ErrorKind::PermissionDenied.into()));
    }
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o700))
        .map_err(EmbeddedError::file("set the mode of", &folder))?;
    Ok(folder)
}

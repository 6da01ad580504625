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
use std::time::Duration;

/// Longest path of a unix socket, without the closing zero (`unix(7)`).
const PATH_BYTES: usize = 107;

/// Where the folders of sockets are, and their names: this and so many digits.
const PARENT: &str = "/tmp";
const PREFIX: &str = "dyno-";
const DIGITS: usize = 12;

/// How long an empty folder is somebody's who may be about to start a server in it: far longer than that takes.
const FORSAKEN: Duration = Duration::from_secs(24 * 3600);

/// Removes the folders in `parent` that servers of this user have left empty for so long: who is killed leaves one, and
/// that of a cluster which is gone is not taken again.
fn sweep(parent: &Path, uid: u32, forsaken: Duration) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_ours = digits
            .is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        // Of a link it is the link's.
        let Some(metadata) = entry.metadata().ok().filter(|_| is_ours) else {
            continue;
        };
        let age = metadata.modified().ok().and_then(|changed| changed.elapsed().ok());
        if metadata.is_dir() && metadata.uid() == uid && age.is_some_and(|age| age >= forsaken) {
            // One with a socket in it is not empty, and stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// A TCP port of 127.0.0.1 that is free now.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Whether a server can listen on a TCP port of 127.0.0.1.
pub(crate) fn is_free(port: u16) -> bool {
    // As servers do, which do not mind connections that are about to end.
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Creates the folder of the socket of a data folder's server, in which the longest file name will be `longest`: in
/// /tmp because a socket's path must be short, always the same for a cluster so that none are left over, and closed
/// to others, who could otherwise connect without a password.
pub(crate) fn folder(data: &Path, user: &ServerUser, longest: &str) -> Result<PathBuf, EmbeddedError> {
    let hash = hex(&Sha256::digest(data.as_os_str().as_encoded_bytes()));
    sweep(Path::new(PARENT), user.uid(), FORSAKEN);
    let folder = Path::new(PARENT).join(format!("{PREFIX}{}", &hash[..DIGITS]));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_killed_servers_left_empty_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let [left, in_use, other] = ["dyno-0123456789ab", "dyno-ba9876543210", "dyno-archive"].map(|name| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        });
        fs::write(in_use.join("mariadbd.sock"), "").unwrap();
        let uid = fs::metadata(&left).unwrap().uid();
        sweep(parent.path(), uid, FORSAKEN);
        sweep(parent.path(), uid + 1, Duration::ZERO);
        assert!(left.exists());
        sweep(parent.path(), uid, Duration::ZERO);
        assert_eq!([left, in_use, other].map(|folder| folder.exists()), [false, true, true]);
    }
}

//! The home folder, and the user that the server runs as.

use super::EmbeddedError;
use nix::unistd::{Gid, Uid, User};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Users to run the server as when dyno is root; the first that exists.
const SERVICE_USERS: [&str; 3] = ["dyno", "postgres", "nobody"];

/// Where dyno keeps servers: `DYNO_HOME`, else for root `/var/cache/dyno` (root's own folders are closed to the
/// server's user), else `$XDG_CACHE_HOME/dyno` or `~/.cache/dyno`.
///
/// # Errors
/// None of these variables is set.
pub fn home_folder(env: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, EmbeddedError> {
    home_folder_for(Uid::effective().is_root(), env)
}

fn home_folder_for(is_root: bool, env: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, EmbeddedError> {
    let variable = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = variable("DYNO_HOME") {
        return Ok(home);
    }
    if is_root {
        return Ok(PathBuf::from("/var/cache/dyno"));
    }
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("dyno"))
        .ok_or(EmbeddedError::NoHome)
}

/// The user that the server runs as: ourselves, or another one when we are root.
#[derive(Clone, Debug)]
pub(crate) struct ServerUser {
    name: String,
    uid: Uid,
    gid: Gid,
}

impl ServerUser {
    fn find() -> Result<Self, EmbeddedError> {
        if Uid::effective().is_root() {
            return find_service_user();
        }
        Ok(Self {
            name: String::new(),
            uid: Uid::effective(),
            gid: Gid::effective(),
        })
    }

    /// Numeric id.
    pub(crate) fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

    /// User and group ids to change to, when they are not our own.
    pub(crate) fn other_than_us(&self) -> Option<(u32, u32)> {
        (self.uid != Uid::effective()).then_some((self.uid.as_raw(), self.gid.as_raw()))
    }

    /// Gives a file or folder to this user.
    pub(crate) fn hand_over(&self, path: &Path) -> Result<(), EmbeddedError> {
        let Some((uid, gid)) = self.other_than_us() else {
            return Ok(());
        };
        std::os::unix::fs::chown(path, Some(uid), Some(gid)).map_err(EmbeddedError::file("change the owner of", path))
    }
}

/// An existing home folder, with an absolute path.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    /// Whom the server runs as.
    pub(crate) user: ServerUser,
}

impl Home {
    /// Creates the folder if needed and finds the user to run the server as.
    pub(crate) fn open(folder: &Path) -> Result<Self, EmbeddedError> {
        let user = ServerUser::find()?;
        create_folder(folder)?;
        let folder = folder.canonicalize().map_err(EmbeddedError::file("find", folder))?;
        let home = Self { folder, user };
        home.check_reachable(&home.folder)?;
        Ok(home)
    }

    /// Creates a folder below the home folder, open to the server's user.
    pub(crate) fn create(&self, relative: &str) -> Result<PathBuf, EmbeddedError> {
        let path = self.folder.join(relative);
        create_folder(&path)?;
        self.check_reachable(&path)?;
        Ok(path)
    }

    /// Checks that the server's user may enter a folder and all above it.
    fn check_reachable(&self, folder: &Path) -> Result<(), EmbeddedError> {
        let user = &self.user;
        if user.other_than_us().is_none() {
            return Ok(());
        }
        let mut above: Vec<&Path> = folder.ancestors().collect();
        above.reverse();
        for folder in above {
            let metadata = fs::metadata(folder).map_err(EmbeddedError::file("look at", folder))?;
            let (owner, group) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
            if !may_enter(metadata.mode(), owner == user.uid, group == user.gid) {
                return Err(EmbeddedError::Unreachable {
                    user: user.name.clone(),
                    folder: folder.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Whether a folder's mode lets a user in: the first class that fits the user decides.
fn may_enter(mode: u32, is_owner: bool, is_group: bool) -> bool {
    let bit = match (is_owner, is_group) {
        (true, _) => 0o100,
        (false, true) => 0o010,
        (false, false) => 0o001,
    };
    mode & bit != 0
}

/// Creates a folder and those above it, entered and read by all whatever the umask; existing ones stay as they are.
fn create_folder(path: &Path) -> Result<(), EmbeddedError> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .collect();
    fs::create_dir_all(path).map_err(EmbeddedError::file("create", path))?;
    for folder in missing {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o755))
            .map_err(EmbeddedError::file("set the mode of", folder))?;
    }
    Ok(())
}

fn find_service_user() -> Result<ServerUser, EmbeddedError> {
    SERVICE_USERS
        .iter()
        .find_map(|name| {
            let user = User::from_name(name).ok()??;
            (!user.uid.is_root()).then_some(ServerUser {
                name: user.name,
                uid: user.uid,
                gid: user.gid,
            })
        })
        .ok_or_else(|| EmbeddedError::NoServiceUser {
            tried: SERVICE_USERS.join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(is_root: bool, variables: &[(&str, &str)]) -> Option<PathBuf> {
        let env = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        home_folder_for(is_root, &env).ok()
    }

    #[test]
    fn finds_the_home_folder() {
        let all = [("DYNO_HOME", "/d"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(home(true, &all), Some("/d".into()));
        assert_eq!(home(true, &all[1..]), Some("/var/cache/dyno".into()));
        assert_eq!(home(false, &all[1..]), Some("/x/dyno".into()));
        assert_eq!(home(false, &all[2..]), Some("/h/.cache/dyno".into()));
        assert_eq!(home(false, &[("HOME", "")]), None);
    }

    #[test]
    fn the_first_class_that_fits_decides() {
        assert!(may_enter(0o700, true, true));
        assert!(!may_enter(0o077, true, true));
        assert!(may_enter(0o710, false, true));
        assert!(!may_enter(0o701, false, true));
        assert!(may_enter(0o701, false, false));
        assert!(!may_enter(0o770, false, false));
    }
}

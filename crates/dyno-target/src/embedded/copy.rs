//! Copying the data folder of another server of ours, file by file.

use super::EmbeddedError;
use super::home::ServerUser;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A copy of a data folder.
pub(crate) struct Copy<'a> {
    /// Where the copy is made; it must not be there yet.
    pub to: &'a Path,
    /// Where what a link leads to is copied: the copy's link leads there, so that two servers share no file.
    pub linked: &'a Path,
    /// Whom the copy belongs to.
    pub user: &'a ServerUser,
    /// Whether a file is left out, or what is in a folder, by its path below the data folder.
    pub leaves_out: &'a dyn Fn(&Path) -> bool,
    /// Raised to give up.
    pub stop: &'a AtomicBool,
}

impl Copy<'_> {
    /// Copies a data folder. What a running server removes meanwhile is not copied.
    pub(crate) fn of(&self, data: &Path) -> Result<(), EmbeddedError> {
        let mut folders = vec![(data.to_owned(), self.to.to_owned())];
        while let Some((from, to)) = folders.pop() {
            fs::DirBuilder::new()
                .mode(0o700)
                .recursive(true)
                .create(&to)
                .map_err(EmbeddedError::file("create", &to))?;
            self.user.hand_over(&to)?;
            if from != data && from.strip_prefix(data).is_ok_and(self.leaves_out) {
                continue;
            }
            for item in fs::read_dir(&from).map_err(EmbeddedError::file("list", &from))? {
                let item = item.map_err(EmbeddedError::file("list", &from))?;
                let (from, to) = (item.path(), to.join(item.file_name()));
                let kind = item.file_type().map_err(EmbeddedError::file("look at", &from))?;
                if kind.is_dir() {
                    folders.push((from, to));
                } else if kind.is_symlink() {
                    folders.push(self.link(&from, &to)?);
                } else if kind.is_file() && !from.strip_prefix(data).is_ok_and(self.leaves_out) {
                    self.file(&from, &to)?;
                }
            }
        }
        Ok(())
    }

    fn file(&self, from: &Path, to: &Path) -> Result<(), EmbeddedError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(EmbeddedError::Stopped);
        }
        match fs::copy(from, to) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            copied => {
                copied.map_err(EmbeddedError::file("copy", from))?;
                self.user.hand_over(to)
            }
        }
    }

    /// Makes a link to the copy of what a link leads to; gives both ends of that copy.
    fn link(&self, from: &Path, to: &Path) -> Result<(PathBuf, PathBuf), EmbeddedError> {
        let target = fs::read_link(from).map_err(EmbeddedError::file("look at", from))?;
        let own = self.linked.join(target.file_name().unwrap_or_default());
        fs::create_dir_all(self.linked).map_err(EmbeddedError::file("create", self.linked))?;
        self.user.hand_over(self.linked)?;
        symlink(&own, to).map_err(EmbeddedError::file("create", to))?;
        Ok((target, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::home::Home;

    #[test]
    fn a_copy_shares_no_file_with_what_it_is_of() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let home = Home::open(folder.path()).unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["data/base", "data/wal/deep", "data/links", "elsewhere/ts"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in [
            "data/base/1",
            "data/pid",
            "data/wal/1",
            "data/wal/deep/2",
            "elsewhere/ts/3",
        ] {
            fs::write(at(name), name).unwrap();
        }
        symlink(at("elsewhere/ts"), at("data/links/7")).unwrap();
        let leaves_out = |path: &Path| path == Path::new("pid") || path.starts_with("wal");
        let copy = Copy {
            to: &at("copy"),
            linked: &at("copied"),
            user: &home.user,
            leaves_out: &leaves_out,
            stop: &AtomicBool::new(false),
        };
        copy.of(&at("data")).unwrap();
        assert_eq!(fs::read_to_string(at("copy/base/1")).unwrap(), "data/base/1");
        assert_eq!(fs::read_link(at("copy/links/7")).unwrap(), at("copied/ts"));
        assert_eq!(fs::read_to_string(at("copied/ts/3")).unwrap(), "elsewhere/ts/3");
        assert!(!at("copy/pid").exists());
        // Folders stay, as servers expect them.
        assert_eq!(fs::read_dir(at("copy/wal")).unwrap().count(), 0);

        let stopped = Copy {
            to: &at("stopped"),
            stop: &AtomicBool::new(true),
            ..copy
        };
        assert!(matches!(stopped.of(&at("data")), Err(EmbeddedError::Stopped)));
    }
}

//! Who must run a server on a unix socket: libpq's `requirepeer`.

use nix::unistd::{Uid, User};
use serde::{Deserialize, Serialize};

use crate::WireError;

/// The user of the operating system that the server's process must belong to. Whoever may write to a folder can put
/// a socket there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredPeer(String);

impl RequiredPeer {
    /// The user of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Judges the process at the other end, of which the system tells the user's number.
    ///
    /// # Errors
    /// [`WireError::AuthenticationRefused`] if it is another user's.
    pub fn judge(&self, uid: u32) -> Result<(), WireError> {
        let refused = |why| Err(WireError::AuthenticationRefused(why));
        match User::from_uid(Uid::from_raw(uid)) {
            Ok(Some(user)) if user.name == self.0 => Ok(()),
            Ok(Some(user)) => refused(format!(
                "requirepeer specifies \"{}\", but actual peer user name is \"{}\"",
                self.0, user.name
            )),
            Ok(None) | Err(_) => refused(format!("local user with ID {uid} does not exist")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_user_is_compared_by_name() {
        let me = User::from_uid(Uid::current()).unwrap().unwrap();
        let uid = me.uid.as_raw();
        assert_eq!(RequiredPeer::new(&me.name).judge(uid), Ok(()));
        let refused = RequiredPeer::new("somebody").judge(uid).unwrap_err().to_string();
        let name = me.name;
        assert_eq!(
            refused,
            format!("requirepeer specifies \"somebody\", but actual peer user name is \"{name}\"")
        );
        assert!(RequiredPeer::new(&name).judge(u32::MAX - 7).is_err());
    }
}

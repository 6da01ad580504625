//! Addresses whose password has a character that stands for something in an address: it is split there, and what is
//! left is another host, port or database than was meant, so its own error would lead astray.

use percent_encoding::{AsciiSet, CONTROLS};

/// Characters that have a meaning in an address, and are written otherwise in one that is shown.
pub(crate) const SPECIAL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'/')
    .add(b':')
    .add(b'?')
    .add(b'@')
    .add(b'[')
    .add(b']');

/// What is wrong with such an address.
pub(crate) const UNENCODED: &str = "an \"@\" stands after the first \"/\" or \"?\"; write \"/\" in a password as %2F, \
                                    \"?\" as %3F, \"@\" as %40, \":\" as %3A";

/// Whether the path of an address, which names the database, has the place of the server in it.
pub(crate) fn is_split(path: &str) -> bool {
    let behind = path.split_once('@').map(|(_, behind)| behind);
    behind.is_some_and(|behind| behind.contains(['/', ':', '@']))
}

//! What a session and its server agreed on, for those who look at a server before a load, or send an account of it.

use std::fmt;

use super::capabilities::UTF8;

/// What a server and we agreed on while we logged in. Filled in as it comes; complete once the server has let us in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OraAgreed {
    /// The version of packets: 315 for 12.1, 318 for 19c, 319 for 23ai.
    pub protocol_version: u16,
    /// The version of fields in messages: the older one of both sides.
    pub field_version: u8,
    /// The longest packet, in bytes.
    pub packet_bytes: u32,
    /// Whether all before the password went in one message (fast authentication).
    pub fast: bool,
    /// Whether the server marks the end of each response.
    pub marks_end: bool,
    /// The longest string that a column can hold, in bytes, as the server says.
    pub longest_string: usize,
    /// The number of the database's character set, such as 873 for AL32UTF8.
    pub character_set: u16,
    /// The same of its national characters, such as 2000 for AL16UTF16.
    pub national_character_set: u16,
    /// What the server knows the password by.
    pub verifier: Option<OraVerifier>,
    /// How the connection is encrypted, such as `TLSv1_3 TLS13_AES_256_GCM_SHA384`; `None`: it is not.
    pub tls: Option<String>,
}

impl OraAgreed {
    /// Whether the database's characters are those that we send, so that the server converts none.
    #[must_use]
    pub fn has_utf8(&self) -> bool {
        self.character_set == UTF8
    }
}

/// What a server knows a password by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OraVerifier {
    /// SHA-1, as of 11g.
    Of11g,
    /// PBKDF2 with SHA-512, as of 12c.
    Of12c,
}

impl fmt::Display for OraVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Of11g => "11g",
            Self::Of12c => "12c",
        })
    }
}

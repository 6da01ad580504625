//! What the server says first, and our answer.

use mysql_common::constants::{CapabilityFlags, StatusFlags};

use super::packet::{begin, finish, read_nul_text, take, take_array, write_number, write_text};
use super::{MyConfig, MyError, malformed};
use crate::WireError;

/// The version of the protocol that is spoken.
const VERSION: u8 = 10;
/// The length of a nonce, in bytes.
pub(super) const NONCE: usize = 20;
/// The longest payload we take, in bytes: the longest a server can be told to send.
const MAX_PACKET: u32 = 1 << 30;
/// The character set of text in both directions: utf8mb4, by the number of its oldest collation (utf8mb4_general_ci),
/// which all servers know.
const UTF8MB4: u8 = 45;
/// What MariaDB up to 10.11 puts before its version, so that replicas of MySQL 5.5 accept it.
const MARIADB_PREFIX: &str = "5.5.5-";

/// What we want of a server, and use if it offers it. MySQL source documentation, "Capabilities Flags".
///
/// `FOUND_ROWS`: an UPDATE counts the rows it finds, as in other databases, not those that it makes different.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_FOUND_ROWS)
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_MULTI_STATEMENTS)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_CONNECT_ATTRS)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    .union(NEEDED);

/// Without what no conversation is possible.
const NEEDED: CapabilityFlags = CapabilityFlags::CLIENT_PROTOCOL_41
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH);

/// MariaDB's own: many rows of values for one execution of a statement. Its bits stand where MySQL has nothing, and
/// count between two that do not claim to be MySQL (`CLIENT_LONG_PASSWORD`). MariaDB documentation, "Connection".
const BULK_OPERATIONS: u32 = 1 << 2;

/// What both sides use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) flags: CapabilityFlags,
    /// Whether statements may be executed with many rows of values.
    pub(super) rows: bool,
}

/// What the server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    /// Its version.
    pub(super) version: String,
    /// The connection's number, which KILL takes.
    pub(super) connection_id: u32,
    /// What a password is scrambled with.
    pub(super) nonce: Vec<u8>,
    /// The log-in plug-in that most accounts use.
    pub(super) plugin: Vec<u8>,
    /// What the server can do.
    pub(super) offered: CapabilityFlags,
    /// Whether it executes statements with many rows of values.
    pub(super) offers_rows: bool,
    /// Where the connection stands.
    pub(super) status: StatusFlags,
}

impl Greeting {
    /// Reads it. MySQL source documentation, "Protocol::HandshakeV10".
    pub(super) fn parse(body: &[u8]) -> Result<Self, WireError> {
        match body.first() {
            Some(&VERSION) => {}
            other => return Err(MyError::ProtocolVersion(other.copied().unwrap_or(0)).into()),
        }
        let greeting = Self::fields(&body[1..]).ok_or(malformed("its greeting is cut short"))?;
        if !greeting.offered.contains(NEEDED) {
            let lack = "it knows no log-in plug-ins";
            return Err(MyError::TooOld {
                version: greeting.version,
                lack,
            }
            .into());
        }
        if greeting.nonce.len() != NONCE {
            return Err(malformed("the nonce in its greeting is not 20 bytes long"));
        }
        Ok(greeting)
    }

    fn fields(mut rest: &[u8]) -> Option<Self> {
        let rest = &mut rest;
        let version = dyno_text::decode(read_nul_text(rest)).into_owned();
        let connection_id = u32::from_le_bytes(take_array(rest)?);
        let mut nonce = take(rest, 8)?.to_vec();
        take(rest, 1)?;
        let low: [u8; 2] = take_array(rest)?;
        // Collation, status, the other half of what it can do, the nonce's length.
        let [_, s1, s2, h1, h2, nonce_length] = take_array(rest)?;
        let [.., b1, b2, b3, b4] = take_array::<10>(rest)?;
        let own = u32::from_le_bytes([b1, b2, b3, b4]);
        let second = usize::from(nonce_length).saturating_sub(8).max(13);
        let offered = CapabilityFlags::from_bits_retain(u32::from_le_bytes([low[0], low[1], h1, h2]));
        if offered.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
            let second = take(rest, second)?;
            nonce.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        }
        Some(Self {
            version: match version.strip_prefix(MARIADB_PREFIX) {
                Some(real) if real.contains("MariaDB") => real.to_owned(),
                _ => version,
            },
            connection_id,
            nonce,
            plugin: read_nul_text(rest).to_vec(),
            offers_rows: !offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD) && own & BULK_OPERATIONS != 0,
            offered,
            status: StatusFlags::from_bits_retain(u16::from_le_bytes([s1, s2])),
        })
    }

    /// What both sides use for a load.
    pub(super) fn agreed(&self, config: &MyConfig, encrypted: bool) -> Agreed {
        let mut agreed = self.offered & WANTED;
        agreed.set(CapabilityFlags::CLIENT_SSL, encrypted);
        agreed.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, !config.database.is_empty());
        if config.program_name.is_empty() {
            agreed.remove(CapabilityFlags::CLIENT_CONNECT_ATTRS);
        }
        Agreed {
            flags: agreed,
            rows: false,
        }
    }
}

/// Appends the request for encryption, which is the answer's beginning alone.
pub(super) fn write_tls_request(agreed: Agreed, number: u8, out: &mut Vec<u8>) {
    let start = begin(out);
    write_head(agreed, out);
    finish(out, start, number);
}

fn write_head(agreed: Agreed, out: &mut Vec<u8>) {
    let (mut flags, mut own) = (agreed.flags, 0);
    if agreed.rows {
        flags.remove(CapabilityFlags::CLIENT_LONG_PASSWORD);
        own = BULK_OPERATIONS;
    }
    out.extend_from_slice(&flags.bits().to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&own.to_le_bytes());
}

/// Appends the answer to the greeting, with our first step of the log-in by the plug-in `plugin`. MySQL source
/// documentation, "Protocol::HandshakeResponse41".
pub(super) fn write_answer(
    config: &MyConfig,
    agreed: Agreed,
    plugin: &[u8],
    step: &[u8],
    number: u8,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = begin(out);
    write_head(agreed, out);
    let names = [("user", &config.user), ("database", &config.database)];
    for (what, name) in names {
        if name.contains('\0') {
            return Err(WireError::Unsendable(format!(
                "the {what} cannot be sent: it contains a NUL byte"
            )));
        }
    }
    out.extend_from_slice(&dyno_text::encode(&config.user));
    out.push(0);
    // Both forms of a length are the same for the lengths our steps have.
    write_text(out, step);
    if agreed.flags.contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB) {
        out.extend_from_slice(&dyno_text::encode(&config.database));
        out.push(0);
    }
    out.extend_from_slice(plugin);
    out.push(0);
    if agreed.flags.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
        let mut attributes = Vec::new();
        write_text(&mut attributes, b"program_name");
        write_text(&mut attributes, &dyno_text::encode(&config.program_name));
        write_number(out, attributes.len() as u64);
        out.extend_from_slice(&attributes);
    }
    finish(out, start, number);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::io::ParseBuf;
    use mysql_common::packets::{AuthPlugin, HandshakePacket, HandshakeResponse};
    use mysql_common::proto::{MyDeserialize, MySerialize};

    fn greeting(version: &str, plugin: &str) -> Vec<u8> {
        let packet = HandshakePacket::new(
            10,
            version.as_bytes(),
            4711,
            *b"abcdefgh",
            Some(&b"ijklmnopqrst\0"[..]),
            CapabilityFlags::all(),
            45,
            StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            Some(plugin.as_bytes()),
        );
        let mut body = Vec::new();
        packet.serialize(&mut body);
        body
    }

    #[test]
    fn greetings_are_read_as_mysql_common_writes_them() {
        let read = Greeting::parse(&greeting("8.4.3", "caching_sha2_password")).unwrap();
        assert_eq!(read.version, "8.4.3");
        assert_eq!(read.connection_id, 4711);
        assert_eq!(read.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(read.plugin, b"caching_sha2_password");
        assert_eq!(read.status, StatusFlags::SERVER_STATUS_AUTOCOMMIT);
        assert!(read.offered.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
    }

    #[test]
    fn mariadb_tells_its_own_version() {
        for (greeted, version) in [
            ("5.5.5-10.11.6-MariaDB-1", "10.11.6-MariaDB-1"),
            ("11.4.2-MariaDB", "11.4.2-MariaDB"),
            ("5.5.5-m3", "5.5.5-m3"),
        ] {
            assert_eq!(Greeting::parse(&greeting(greeted, "")).unwrap().version, version);
        }
    }

    #[test]
    fn a_greeting_cut_short_anywhere_is_refused() {
        let whole = greeting("8.4.3", "");
        let needed = whole.len() - 1;
        for length in 0..needed {
            assert!(Greeting::parse(&whole[..length]).is_err(), "{length}");
        }
        assert_eq!(
            Greeting::parse(&whole[..20]).unwrap_err().to_string(),
            "the server sent a malformed message: its greeting is cut short; check that this is a MySQL or MariaDB \
             server and that nothing in between alters the data"
        );
    }

    #[test]
    fn other_versions_are_refused() {
        for version in [9, 11] {
            let mut body = greeting("3.22", "");
            body[0] = version;
            let error = Greeting::parse(&body).unwrap_err();
            assert_eq!(error, MyError::ProtocolVersion(version).into());
        }
        let mut body = greeting("5.0.1", "");
        // Without log-in plug-ins: the upper half of what it can do.
        let at = 1 + "5.0.1".len() + 1 + 4 + 8 + 1 + 2 + 1 + 2;
        body[at] &= !8;
        let error = Greeting::parse(&body).unwrap_err().to_string();
        assert!(error.contains("the server (5.0.1) is too old"), "{error}");
    }

    #[test]
    fn our_answer_is_read_by_mysql_common() {
        let config = MyConfig {
            user: "bench".into(),
            database: "b\u{e9}nch".into(),
            program_name: "dyno".into(),
            ..MyConfig::default()
        };
        let agreed = Greeting::parse(&greeting("8.4.3", "")).unwrap().agreed(&config, false);
        let mut out = Vec::new();
        write_answer(&config, agreed, b"mysql_native_password", &[7; 20], 1, &mut out).unwrap();
        assert_eq!(out[..4], [(out.len() - 4) as u8, 0, 0, 1]);
        let read = HandshakeResponse::deserialize((), &mut ParseBuf(&out[4..])).unwrap();
        assert_eq!(read.user(), b"bench");
        assert_eq!(read.db_name(), Some("b\u{e9}nch".as_bytes()));
        assert_eq!(read.scramble_buf(), [7; 20]);
        assert_eq!(read.auth_plugin(), Some(&AuthPlugin::MysqlNativePassword));
        assert_eq!(read.connect_attributes().unwrap()["program_name"], "dyno");
        assert_eq!(read.capabilities(), agreed.flags);
        let others = CapabilityFlags::CLIENT_LOCAL_FILES | CapabilityFlags::CLIENT_SSL;
        assert!(!agreed.flags.intersects(others | CapabilityFlags::CLIENT_COMPRESS));
    }

    #[test]
    fn only_a_server_that_claims_not_to_be_mysql_offers_many_rows() {
        let mut body = greeting("11.4.2-MariaDB", "");
        let low = 1 + "11.4.2-MariaDB".len() + 1 + 4 + 8 + 1;
        let own = low + 2 + 6 + 6;
        body[own] = 4;
        assert!(!Greeting::parse(&body).unwrap().offers_rows);
        body[low] &= !1;
        assert!(Greeting::parse(&body).unwrap().offers_rows);
        body[own] = 3;
        assert!(!Greeting::parse(&body).unwrap().offers_rows);
    }

    #[test]
    fn who_agrees_to_many_rows_does_not_claim_to_be_mysql() {
        let config = MyConfig {
            user: "bench".into(),
            ..MyConfig::default()
        };
        let mut agreed = Greeting::parse(&greeting("8.4.3", "")).unwrap().agreed(&config, false);
        for (rows, low, own) in [(false, 1, 0), (true, 0, 4)] {
            agreed.rows = rows;
            let mut out = Vec::new();
            write_answer(&config, agreed, b"", &[], 1, &mut out).unwrap();
            assert_eq!((out[4] & 1, &out[32..36]), (low, &[own, 0, 0, 0][..]));
        }
    }

    #[test]
    fn a_name_with_a_nul_byte_is_refused() {
        let config = MyConfig {
            user: "be\0nch".into(),
            ..MyConfig::default()
        };
        let agreed = Agreed {
            flags: WANTED,
            rows: false,
        };
        let error = write_answer(&config, agreed, b"", &[], 1, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the user cannot be sent: it contains a NUL byte");
    }
}

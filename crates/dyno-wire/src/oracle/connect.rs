//! The listener: what it is asked for, and how it answers.

use super::packet::{self, Lengths, kind};
use super::reader::{Reader, Reading};
use super::server_error;
use super::{OraConfig, OraError};
use crate::{Redirect, ServerError};

/// The version of packets that is asked for, the oldest that we name, and the oldest that is understood: 12.1's.
const NEWEST: u16 = 319;
const OLDEST_NAMED: u16 = 300;
const OLDEST: u16 = 315;

/// From this version on the server says more of what it can do.
const WITH_FLAGS: u16 = 318;
const WITH_END_OF_RESPONSE: u16 = 319;

/// We do without attention, sent beside the stream.
const NO_ATTENTION: u16 = 1;

/// What the protocol below can do.
const CHARACTERISTICS: u16 = 0x4F98;

/// No native encryption; TLS may be begun anew.
const SERVICES: u8 = 0x80 | 4;

/// In the server's answer: native encryption is demanded.
const ENCRYPTION_DEMANDED: u8 = 0x10;

/// In what the server can do.
const FAST: u32 = 0x1000_0000;
const MARKS_END: u32 = 0x0200_0000;

/// The longest descriptor that fits the first packet, in bytes.
const LONGEST_INSIDE: usize = 230;

/// Where in the first packet the descriptor begins.
const DESCRIPTOR_AT: u16 = 74;

/// In a packet's flags: we were sent here by another listener; TLS begins anew.
const REDIRECTED: u8 = 4;
pub(super) const TLS_ANEW: u8 = 8;

/// What is asked for, in the words of a connect descriptor.
pub(super) fn descriptor(config: &OraConfig, encrypted: bool) -> String {
    let protocol = if encrypted { "tcps" } else { "tcp" };
    let OraConfig {
        host,
        port,
        connect_data,
        ..
    } = config;
    let program = plain(&config.program_name);
    let machine = plain(&config.machine);
    format!(
        "(DESCRIPTION=(ADDRESS=(PROTOCOL={protocol})(HOST={host})(PORT={port}))\
         (CONNECT_DATA={connect_data}(CID=(PROGRAM={program})(HOST={machine})(USER={program}))))"
    )
}

/// A name without what has a meaning in descriptors.
fn plain(name: &str) -> String {
    let known = |character: char| character.is_ascii_alphanumeric() || "._-@".contains(character);
    name.chars()
        .map(|character| if known(character) { character } else { '?' })
        .collect()
}

/// Appends the request to be connected.
pub(super) fn write_request(out: &mut Vec<u8>, sdu: u32, descriptor: &str, redirected: bool) {
    let short = u16::try_from(sdu).unwrap_or(u16::MAX);
    // A descriptor is never so long that this matters: it is checked before.
    let length = u16::try_from(descriptor.len()).unwrap_or(u16::MAX);
    let mut body = Vec::new();
    for number in [
        NEWEST,
        OLDEST_NAMED,
        NO_ATTENTION,
        short,
        short,
        CHARACTERISTICS,
        0,
        1,
        length,
        DESCRIPTOR_AT,
        0,
        0,
    ] {
        body.extend_from_slice(&number.to_be_bytes());
    }
    body.extend_from_slice(&[SERVICES, SERVICES]);
    body.extend_from_slice(&[0; 24]);
    for number in [sdu, sdu, 0, 0] {
        body.extend_from_slice(&number.to_be_bytes());
    }
    let inside = descriptor.len() <= LONGEST_INSIDE;
    if inside {
        body.extend_from_slice(descriptor.as_bytes());
    }
    let flags = if redirected { REDIRECTED } else { 0 };
    packet::write(out, Lengths::Short, kind::CONNECT, flags, &body);
    if !inside {
        let body = [&[0, 0], descriptor.as_bytes()].concat();
        packet::write(out, Lengths::Short, kind::DATA, 0, &body);
    }
}

/// What the server has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    /// The longest packet, in bytes.
    pub(super) sdu: u32,
    /// Whether the first messages may be sent at once.
    pub(super) fast: bool,
    /// Whether the server can mark the end of responses.
    pub(super) marks_end: bool,
    /// The version of packets.
    pub(super) version: u16,
    /// Whether native encryption is demanded.
    encryption: bool,
}

impl Accepted {
    /// Reads the body of the packet.
    pub(super) fn read(reader: &mut Reader<'_>) -> Reading<Self> {
        let version = reader.u16()?;
        let mut accepted = Self {
            sdu: 0,
            fast: false,
            marks_end: false,
            version,
            encryption: false,
        };
        // An older server's answer has not the rest.
        if version < OLDEST {
            return Ok(accepted);
        }
        // Options, short sizes, the order of bytes, data and where they begin.
        reader.take(12)?;
        accepted.encryption = reader.byte()? & ENCRYPTION_DEMANDED != 0;
        reader.take(9)?;
        accepted.sdu = reader.u32()?;
        if version >= WITH_FLAGS {
            // The other size; how to compress.
            reader.take(5)?;
            let flags = reader.u32()?;
            accepted.fast = flags & FAST != 0;
            accepted.marks_end = version >= WITH_END_OF_RESPONSE && flags & MARKS_END != 0;
        }
        Ok(accepted)
    }

    /// Whether it is what we can do with.
    pub(super) fn check(&self) -> Result<(), OraError> {
        if self.version < OLDEST {
            return Err(OraError::TooOld(self.version));
        }
        match self.encryption {
            true => Err(OraError::NativeEncryption),
            false => Ok(()),
        }
    }
}

/// The listener's refusal, with what we asked for.
pub(super) fn refusal(body: &[u8], config: &OraConfig) -> ServerError {
    // Reasons of the user's and the system's side, a length.
    let text = dyno_text::decode(body.get(4..).unwrap_or_default());
    let number = value(&text, "ERR").and_then(|number| number.parse().ok()).unwrap_or(0);
    let what = match number {
        12_505 => "the listener does not know the SID",
        12_514 => "the listener does not know the service",
        12_521 => "the listener does not know the instance",
        12_516 | 12_518 | 12_519 | 12_520 => "the listener found no instance that takes the connection",
        12_526..=12_528 => "all instances of the service block new connections",
        12_660..=12_699 => "the server and we cannot agree on encryption",
        _ => "the listener refused the connection",
    };
    let said = dyno_text::one_line(&text, 200);
    let message = match number {
        0 => format!("the listener refused the connection, and said only \"{said}\""),
        number => format!("ORA-{number:05}: {what} (asked for {})", config.connect_data),
    };
    server_error::of_refusal(number, message.as_bytes())
}

/// Where the listener sends us, and the descriptor to be sent there, if it gives one. Whether a connection is encrypted
/// is the address's to say, not the listener's.
pub(super) fn redirection(data: &[u8], encrypted: bool) -> Result<(Redirect, Option<String>), OraError> {
    let data = dyno_text::decode(data);
    let (address, descriptor) = match data.split_once('\0') {
        Some((address, descriptor)) => (address, Some(descriptor.trim_end_matches('\0'))),
        None => (&*data, None),
    };
    if let Some(protocol) = value(address, "PROTOCOL") {
        let place = || dyno_text::one_line(address, 200);
        match (protocol.eq_ignore_ascii_case("tcps"), encrypted) {
            (true, false) => return Err(OraError::RedirectToTls(place())),
            (false, true) => return Err(OraError::RedirectFromTls(place())),
            _ => {}
        }
    }
    let host = value(address, "HOST").filter(|host| !host.is_empty());
    let port = value(address, "PORT").and_then(|port| port.parse().ok());
    let redirect = host.zip(port).map(|(host, port)| Redirect {
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port,
    });
    let descriptor = descriptor
        .filter(|descriptor| !descriptor.is_empty())
        .map(str::to_owned);
    match redirect {
        Some(redirect) => Ok((redirect, descriptor)),
        None => Err(OraError::Redirect(dyno_text::one_line(address, 200))),
    }
}

/// The value of `(NAME=value)` in a descriptor, whose names may be in either case.
fn value<'a>(descriptor: &'a str, name: &str) -> Option<&'a str> {
    let parts = descriptor.split('(').filter_map(|part| part.split_once('='));
    let mut values = parts.filter(|(found, _)| found.trim().eq_ignore_ascii_case(name));
    let (_, rest) = values.next()?;
    Some(rest.split(')').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorClass;

    fn config() -> OraConfig {
        OraConfig {
            host: "db".into(),
            connect_data: OraConfig::service("orcl"),
            program_name: "dyno".into(),
            machine: "here (now)".into(),
            ..OraConfig::default()
        }
    }

    #[test]
    fn a_descriptor_says_what_is_asked_for() {
        assert_eq!(
            descriptor(&config(), false),
            "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=db)(PORT=1521))\
             (CONNECT_DATA=(SERVICE_NAME=orcl)(CID=(PROGRAM=dyno)(HOST=here??now?)(USER=dyno))))"
        );
    }

    #[test]
    fn a_long_descriptor_has_a_packet_of_its_own() {
        let mut out = Vec::new();
        write_request(&mut out, 8192, "(SHORT=yes)", false);
        assert_eq!(out[..8], [0, 85, 0, 0, kind::CONNECT, 0, 0, 0]);
        assert_eq!(&out[74..], b"(SHORT=yes)");
        out.clear();
        write_request(&mut out, 100_000, &"x".repeat(231), true);
        assert_eq!(out[..8], [0, 74, 0, 0, kind::CONNECT, REDIRECTED, 0, 0]);
        assert_eq!(out[14..18], [0xFF; 4]);
        assert_eq!(out[74..84], [0, 241, 0, 0, kind::DATA, 0, 0, 0, 0, 0]);
        assert_eq!(out.len(), 74 + 241);
    }

    fn accepted(version: u16, services: u8, flags: u32) -> Vec<u8> {
        let mut body = version.to_be_bytes().to_vec();
        body.extend_from_slice(&[0, 1, 0x20, 0, 0xFF, 0xFF, 1, 0, 0, 0, 0, 45, services, 8]);
        body.extend_from_slice(&[0; 8]);
        body.extend_from_slice(&8192_u32.to_be_bytes());
        body.extend_from_slice(&[0, 0, 0x20, 0, 0]);
        body.extend_from_slice(&flags.to_be_bytes());
        body
    }

    #[test]
    fn what_the_server_can_do_depends_on_its_version() {
        let read = |body: &[u8]| Accepted::read(&mut Reader::new(body)).unwrap();
        let new = read(&accepted(319, 4, FAST | MARKS_END));
        assert_eq!((new.sdu, new.fast, new.marks_end), (8192, true, true));
        assert_eq!(new.check(), Ok(()));
        let old = read(&accepted(315, 4, FAST | MARKS_END));
        assert_eq!((old.sdu, old.fast, old.marks_end), (8192, false, false));
        assert_eq!(read(&accepted(314, 4, 0)).check(), Err(OraError::TooOld(314)));
        assert_eq!(read(&accepted(319, 0x14, 0)).check(), Err(OraError::NativeEncryption));
        let whole = accepted(319, 4, 0);
        for length in 0..whole.len() {
            assert!(Accepted::read(&mut Reader::new(&whole[..length])).is_err());
        }
    }

    #[test]
    fn a_refusal_says_what_was_asked_for_and_what_to_do() {
        let refused = |number: u32| {
            let text =
                format!("(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={number})(ERROR_STACK=(ERROR=(CODE={number})(EMFI=4))))");
            refusal(&[b"\x22\0\0\0", text.as_bytes()].concat(), &config())
        };
        let error = refused(12_514);
        assert_eq!(
            error.to_string(),
            "ERROR:  ORA-12514: the listener does not know the service (asked for (SERVICE_NAME=orcl))\nHINT:  the \
             listener knows no such service, or its instance is not up yet: \"lsnrctl services\" on the server shows \
             what it knows"
        );
        assert_eq!(error.class, ErrorClass::Unavailable);
        for number in [12_505, 12_516, 12_520, 12_660] {
            let error = refused(number);
            assert!(error.hint.is_some() && error.fatal, "{error}");
        }
        let error = refusal(b"\0\0\0\x02ha", &config());
        assert!(error.message.contains("said only \"ha\""), "{error}");
        assert!(refusal(b"", &config()).fatal);
    }

    #[test]
    fn redirections_name_a_host_and_a_port() {
        let (redirect, descriptor) = redirection(
            b"(ADDRESS=(PROTOCOL=tcp)(HOST=[::1])(port= 1522))\0(DESCRIPTION=(CONNECT_DATA=))",
            false,
        )
        .unwrap();
        assert_eq!((redirect.host.as_str(), redirect.port), ("::1", 1522));
        assert_eq!(descriptor.as_deref(), Some("(DESCRIPTION=(CONNECT_DATA=))"));
        let (redirect, descriptor) = redirection(b"(ADDRESS=(HOST=a)(PORT=1))", true).unwrap();
        assert_eq!((redirect.host.as_str(), redirect.port, descriptor), ("a", 1, None));
        let error = redirection(b"(ADDRESS=(PROTOCOL=ipc)(KEY=x))", false).unwrap_err();
        assert!(error.to_string().contains("(KEY=x)"), "{error}");
        assert!(redirection(b"(HOST=)(PORT=1)", false).is_err());
        for (protocol, encrypted, part) in [("tcps", false, "begins with oracles://"), ("TCP", true, "without TLS")] {
            let data = format!("(ADDRESS=(PROTOCOL={protocol})(HOST=a)(PORT=1))");
            let error = redirection(data.as_bytes(), encrypted).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert!(redirection(data.as_bytes(), !encrypted).is_ok());
        }
    }
}

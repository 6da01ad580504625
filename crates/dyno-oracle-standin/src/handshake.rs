//! The listener's part: CONNECT, and what it answers.

use crate::codec::{Flaw, Reader, Writer};
use crate::link::{Link, Packet, kind};
use crate::options::{Listener, Moment, Options};
use crate::session::Ended;
use ring::rand::{SecureRandom, SystemRandom};
use std::net::SocketAddr;

/// The oldest protocol that is spoken here: 12.1's.
const OLDEST: u16 = 315;
/// Behind the header of a packet, which offsets count.
const HEADER: usize = 8;
/// Where the size of packets stands a second time, in four bytes.
const LARGE_SDU: usize = 50;
/// What the listener says of native encryption: that it is off, or demanded.
const NO_NATIVE_ENCRYPTION: [u8; 2] = [0x04, 0x08];
const NATIVE_ENCRYPTION_DEMANDED: [u8; 2] = [0x10, 0x00];

/// Whether what was agreed includes fast authentication and ends of responses.
pub(crate) struct Accepted {
    pub(crate) end_of_response: bool,
}

/// Hears CONNECT and answers it.
pub(crate) fn accept(link: &mut Link, options: &Options) -> Result<Accepted, Ended> {
    let packet = link.packet()?;
    if packet.kind != kind::CONNECT {
        return Err(Ended::Wrong(format!(
            "a packet of kind {} instead of CONNECT",
            packet.kind
        )));
    }
    let mut connect = Connect::read(link, &packet)?;
    link.misbehaviour = options.fault(Moment::Connect);
    match options.listener {
        Listener::Refuses(code) => return refuse(link, code),
        Listener::Redirects(to) => {
            let protocol = if options.tls.is_some() { "tcps" } else { "tcp" };
            return redirect(link, protocol, to, &connect);
        }
        Listener::RedirectsToTls(to) => return redirect(link, "tcps", to, &connect),
        Listener::AsksAgain => {
            link.send_again(options.tls.as_ref())?;
            let packet = link.packet()?;
            connect = Connect::read(link, &packet)?;
        }
        Listener::Accepts | Listener::DemandsEncryption => {}
    }
    if connect.version < OLDEST {
        return refuse(link, 12_618);
    }
    let version = options.profile.protocol().min(connect.version);
    link.sdu = link.sdu.min(connect.sdu).max(64);
    let flags = if version >= 318 {
        options.profile.accept_flags()
    } else {
        0
    };
    let demands = options.listener == Listener::DemandsEncryption;
    let sdu = u32::try_from(link.sdu).unwrap_or(u32::MAX);
    let mut body = Writer::new();
    body.u16(version)
        .u16(1)
        .u16(u16::try_from(link.sdu).unwrap_or(u16::MAX))
        .u16(u16::MAX);
    body.u16(0x0100).u16(0).u16(45);
    body.raw(if demands {
        &NATIVE_ENCRYPTION_DEMANDED
    } else {
        &NO_NATIVE_ENCRYPTION
    })
    .zeros(8);
    body.u32(sdu).u32(sdu).u8(0).u32(flags);
    if version >= 319 {
        let mut id = [0; 16];
        let _ = SystemRandom::new().fill(&mut id);
        body.raw(&id);
    }
    link.send(kind::ACCEPT, &body.into_bytes())?;
    link.wide = true;
    if demands {
        // A client that does not speak it had better leave; to one that stays the same is said again.
        link.packet()?;
        return refuse(link, 12_660);
    }
    Ok(Accepted {
        end_of_response: flags & 0x0200_0000 != 0,
    })
}

fn refuse(link: &mut Link, code: u32) -> Result<Accepted, Ended> {
    let text = format!("(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))");
    let mut body = Writer::new();
    body.raw(&[34, 0])
        .u16(u16::try_from(text.len()).unwrap_or_default())
        .raw(text.as_bytes());
    link.send(kind::REFUSE, &body.into_bytes())?;
    Err(Ended::Over)
}

fn redirect(link: &mut Link, protocol: &str, to: SocketAddr, connect: &Connect) -> Result<Accepted, Ended> {
    let (host, port) = (to.ip(), to.port());
    let address = format!("(ADDRESS=(PROTOCOL={protocol})(HOST={host})(PORT={port}))\0");
    let data = [address.as_bytes(), &connect.data].concat();
    let mut body = Writer::new();
    body.u16(u16::try_from(data.len()).unwrap_or_default());
    link.send(kind::REDIRECT, &body.into_bytes())?;
    // It is only announced there.
    let mut body = Writer::new();
    body.u16(0).raw(&data);
    link.send(kind::DATA, &body.into_bytes())?;
    Err(Ended::Over)
}

/// What a client says to begin with.
struct Connect {
    version: u16,
    sdu: usize,
    data: Vec<u8>,
}

impl Connect {
    fn read(link: &mut Link, packet: &Packet) -> Result<Self, Ended> {
        let wrong = |_: Flaw| Ended::Wrong("a CONNECT that is too short".to_owned());
        let mut reader = Reader::new(&packet.body);
        let version = reader.u16().map_err(wrong)?;
        reader.skip(4).map_err(wrong)?;
        let mut sdu = usize::from(reader.u16().map_err(wrong)?);
        reader.skip(8).map_err(wrong)?;
        let length = usize::from(reader.u16().map_err(wrong)?);
        let offset = usize::from(reader.u16().map_err(wrong)?);
        if let Some(large) = packet.body.get(LARGE_SDU..LARGE_SDU + 4)
            && let Ok(large @ 1..) = Reader::new(large).u32()
        {
            sdu = large as usize;
        }
        let mut data = packet
            .body
            .get(offset.saturating_sub(HEADER)..)
            .unwrap_or_default()
            .to_vec();
        data.truncate(length);
        while data.len() < length {
            let more = link.packet()?;
            data.extend_from_slice(more.body.get(2..).unwrap_or_default());
        }
        Ok(Self { version, sdu, data })
    }
}

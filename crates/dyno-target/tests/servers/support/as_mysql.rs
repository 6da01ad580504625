//! A MariaDB that greets as a MySQL does: without what MariaDB alone offers. So the ways that are for MySQL are tested
//! where no MySQL is.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// A port behind which the server of the port `to` stands. It is open until the test ends.
pub fn as_mysql(to: u16) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || relay(client, to));
        }
    });
    port
}

fn relay(mut client: TcpStream, to: u16) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    client.write_all(&greeting(&mut server)?)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let copied = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
        copied
    });
    let copied = io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
    copied.map(drop)
}

/// The first packet, with the flag by which a server says that it is a MySQL: what follows the version, the
/// connection's number, half of the nonce and a zero.
fn greeting(server: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    server.read_exact(&mut packet)?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) as usize;
    packet.resize(4 + length, 0);
    server.read_exact(&mut packet[4..])?;
    let version_ends = 5 + packet[5..].iter().position(|&byte| byte == 0).unwrap();
    packet[version_ends + 1 + 4 + 8 + 1] |= 1;
    Ok(packet)
}

//! Resolution of a name, bypassing the tunnel.
//!
//! The system's resolver sends its queries like any program: into the tunnel, whose endpoint may be the name to
//! resolve. So the DNS servers are queried from a socket with the bearer's mark, and the system's resolver only if that
//! fails.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use socket2::{Domain, Protocol, Socket, Type};
use wire::dns::{AddressKind, answer, question};

use crate::resolver;

/// The port of DNS.
const PORT: u16 = 53;
/// Time that a server may take, and number of servers queried.
const PATIENCE: Duration = Duration::from_secs(2);
const SERVERS_MOST: usize = 3;
/// Size of the longest answer that is read, in bytes.
const ANSWER_MOST: usize = 4_096;

/// A host and port whose addresses can change.
#[derive(Debug, Clone)]
pub struct Name {
    /// Name of the host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Kind of addresses wanted.
    pub kind: AddressKind,
    /// Mark of the queries for policy routing (`SO_MARK`).
    pub mark: Option<u32>,
    /// Networks of the tunnel, whose servers are not queried.
    pub inside: Vec<IpNet>,
}

impl Name {
    /// Resolves the current addresses. It may take about ten seconds.
    ///
    /// # Errors
    /// If neither the DNS servers nor the system's resolver know any.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        for server in self.servers() {
            let found = self.ask(server).unwrap_or_default();
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let wanted = |address: &SocketAddr| address.is_ipv4() == (self.kind == AddressKind::V4);
        let found = (self.host.as_str(), self.port).to_socket_addrs()?;
        Ok(found.filter(wanted).collect())
    }

    /// Returns the servers of this host, as they are without the hop. One on this host itself only queries others,
    /// through the tunnel.
    fn servers(&self) -> Vec<SocketAddr> {
        let mut servers = resolver::of_system();
        servers.retain(|server| !self.inside.iter().any(|network| network.contains(server)));
        servers.truncate(SERVERS_MOST);
        let place = |server| SocketAddr::new(server, PORT);
        servers.into_iter().map(place).collect()
    }

    /// Queries one server.
    ///
    /// # Errors
    /// If it does not answer in time, or not that query.
    pub fn ask(&self, server: SocketAddr) -> io::Result<Vec<SocketAddr>> {
        // A hash with random keys, which nobody can guess.
        let id = RandomState::new().hash_one(&self.host) as u16;
        let question = question(id, &self.host, self.kind).ok_or(io::ErrorKind::InvalidInput)?;
        let socket = Socket::new(
            Domain::for_address(server),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        if let Some(mark) = self.mark {
            socket.set_mark(mark)?;
        }
        socket.connect(&server.into())?;
        let socket = std::net::UdpSocket::from(socket);
        socket.send(&question)?;
        let until = Instant::now() + PATIENCE;
        let mut bytes = [0; ANSWER_MOST];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_read_timeout(Some(left))?;
            let length = socket.recv(&mut bytes)?;
            if let Some(found) = answer(&bytes[..length], &question) {
                let place = |address| SocketAddr::new(address, self.port);
                return Ok(found.into_iter().map(place).collect());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_server_is_asked_and_strangers_answers_are_passed_over() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = server.local_addr().expect("an address");
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 512];
            let (length, from) = server.recv_from(&mut bytes).expect("a question");
            let mut message = bytes[..length].to_vec();
            message[2] |= 0x80;
            message[7] = 1;
            message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 7]);
            let mut forged = message.clone();
            forged[0] ^= 1;
            server.send_to(&forged, from).expect("sent");
            server.send_to(&message, from).expect("sent");
        });
        let name = Name {
            host: "gateway.example.org".into(),
            port: 51_830,
            kind: AddressKind::V4,
            mark: None,
            inside: Vec::new(),
        };
        let found = name.ask(address).expect("an answer");
        assert_eq!(found, ["192.0.2.7:51830".parse().expect("an address")]);
        thread.join().expect("the server");
    }
}

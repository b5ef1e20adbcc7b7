//! The first contact with a gateway by TLS, where the network lets no UDP through.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use edges::tls::{TlsBearer, TlsOptions};
use machine::earlier;
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::packet::PacketBuffer;

use super::contact::TRY;

/// Head start of UDP: where that is answered, no connection is made.
const HEAD_START: Duration = Duration::from_secs(1);

/// Connections with the addresses of a gateway.
pub(super) struct Beside {
    bearer: TlsBearer,
    port: u16,
    /// Time of the first connection, until there is one.
    begins: Option<Instant>,
    /// The last datagram to each address, until there are connections.
    held: BTreeMap<SocketAddr, PacketBuffer>,
}

impl Beside {
    /// Returns none yet; `port` is the gateway's for TLS.
    pub(super) fn new(now: Instant, port: u16) -> io::Result<Self> {
        Ok(Self {
            bearer: TlsBearer::open(&TlsOptions::default())?,
            port,
            begins: Some(now + HEAD_START),
            held: BTreeMap::new(),
        })
    }

    /// Returns the address by TLS of a host that has this address by UDP.
    pub(super) fn address(&self, at: SocketAddr) -> HopAddress {
        HopAddress::Tls(self.place(at))
    }

    fn place(&self, at: SocketAddr) -> SocketAddr {
        SocketAddr::new(at.ip(), self.port)
    }

    /// Sends a datagram, or holds it.
    pub(super) fn send(&mut self, now: Instant, to: SocketAddr, datagram: &[u8]) {
        let datagram = PacketBuffer::copy_of(datagram);
        if self.begins.is_some() {
            self.held.insert(to, datagram);
        } else {
            // What is lost is repeated.
            self.bearer.send(now, to, &[datagram]);
        }
    }

    /// Ends the head start of UDP: the gateway has answered by one of both ways.
    pub(super) fn is_answered(&mut self) {
        self.begins = None;
        self.held.clear();
    }

    /// Returns the datagrams that have come.
    pub(super) fn receive(&mut self, now: Instant) -> io::Result<Vec<(HopAddress, Vec<u8>)>> {
        let mut all = Vec::new();
        self.bearer
            .receive(now, &mut |arrival, datagram: &mut [u8]| {
                all.push((arrival.from, datagram.to_vec()));
            })?;
        Ok(all)
    }

    /// Returns the time of the next [`act`](Self::act).
    pub(super) fn due(&self) -> Option<Instant> {
        earlier(self.begins, self.bearer.poll_timeout())
    }

    /// Does what is due.
    pub(super) fn act(&mut self, now: Instant) {
        if self.begins.take_if(|at| *at <= now).is_some() {
            for (to, datagram) in std::mem::take(&mut self.held) {
                self.bearer.send(now, to, &[datagram]);
            }
        }
        self.bearer.handle_timeout(now);
    }

    /// Describes what the gateway's port for TLS does, for a host that has this address by UDP.
    pub(super) fn describe(&self, at: SocketAddr) -> String {
        let what = match TcpStream::connect_timeout(&self.place(at), TRY) {
            Ok(_) => {
                "takes connections, but no answer comes: another program has it, or a filter lets no TLS through"
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "refuses connections: nothing listens there"
            }
            Err(_) => "does not answer: a firewall closes it, too",
        };
        format!("; TCP port {}, for TLS, {what}", self.port)
    }
}

impl AsFd for Beside {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bearer.as_fd()
    }
}

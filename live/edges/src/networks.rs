//! The bearer across networks: UDP, and TLS where networks let no UDP through.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use units::{Bytes, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use crate::clock;
use crate::datagrams::{
    Arrival, Batch, BearerCounters, DatagramBearer, NetworkChange, PathReport, Sent,
    no_such_address, refuse,
};
use crate::tls::{TlsBearer, TlsCounters};
use crate::udp::UdpBearer;

/// A UDP socket, and connections of TLS if they are wanted.
pub struct NetworkBearer {
    udp: UdpBearer,
    tls: Option<TlsBearer>,
    counters: BearerCounters,
}

impl NetworkBearer {
    /// Returns one of these bearers.
    pub fn new(udp: UdpBearer, tls: Option<TlsBearer>) -> Self {
        Self {
            udp,
            tls,
            counters: BearerCounters::default(),
        }
    }
}

impl DatagramBearer for NetworkBearer {
    fn local_address(&self) -> HopAddress {
        self.udp.local_address()
    }

    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        let batch = self.udp.receive_batch(now, sink)?;
        let Some(tls) = &mut self.tls else {
            return Ok(batch);
        };
        let other = tls.receive(now, sink)?;
        Ok(Batch {
            datagrams: batch.datagrams + other.datagrams,
            is_full: batch.is_full || other.is_full,
        })
    }

    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent {
        match (to, &mut self.tls) {
            (HopAddress::Tls(to), Some(tls)) => tls.send(clock::monotonic(), to, datagrams),
            (HopAddress::Tls(_), None) => refuse(datagrams, no_such_address(), &mut self.counters),
            _ => self.udp.send(to, datagrams),
        }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.udp.set_ecn(ecn);
    }

    fn follow_network(&mut self) -> io::Result<NetworkChange> {
        if let Some(tls) = &mut self.tls {
            tls.follow_network();
        }
        self.udp.follow_network()
    }

    fn refused(&mut self) -> Option<HopAddress> {
        self.udp.refused()
    }

    fn more_descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = self.udp.more_descriptors();
        all.extend(self.tls.iter().map(AsFd::as_fd));
        all
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tls.as_ref().and_then(TlsBearer::poll_timeout)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(tls) = &mut self.tls {
            tls.handle_timeout(now);
        }
    }

    fn memory_most(&self) -> Bytes {
        self.tls
            .as_ref()
            .map_or(Bytes::ZERO, TlsBearer::memory_most)
    }

    fn tls_counters(&self) -> Option<TlsCounters> {
        self.tls.as_ref().map(TlsBearer::counters)
    }

    fn counters(&self) -> BearerCounters {
        let udp = self.udp.counters();
        BearerCounters {
            refused: udp.refused + self.counters.refused,
            ..udp
        }
    }

    fn path_reports(&mut self) -> Vec<PathReport> {
        self.udp.path_reports()
    }
}

impl AsFd for NetworkBearer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}

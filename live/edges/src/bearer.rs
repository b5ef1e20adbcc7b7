//! Bearers, which carry frames of the hop: a narrow trait, and the bearer that a configuration selects.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use units::{Bytes, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

pub use crate::datagrams::{
    Arrival, Batch, BearerCounters, DatagramBearer, NetworkChange, PathLimit, PathReport, Sent,
};
use crate::ethernet::EthernetBearer;
pub use crate::networks::NetworkBearer;
use crate::tls::TlsCounters;

/// The bearer that a configuration selects.
pub enum Bearer {
    /// Across networks: UDP datagrams, or TLS.
    Networks(Box<NetworkBearer>),
    /// Ethernet frames.
    Ethernet(EthernetBearer),
}

impl DatagramBearer for Bearer {
    fn local_address(&self) -> HopAddress {
        match self {
            Self::Networks(bearer) => bearer.local_address(),
            Self::Ethernet(bearer) => bearer.local_address(),
        }
    }

    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        match self {
            Self::Networks(bearer) => bearer.receive_batch(now, sink),
            Self::Ethernet(bearer) => bearer.receive_batch(now, sink),
        }
    }

    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent {
        match self {
            Self::Networks(bearer) => bearer.send(to, datagrams),
            Self::Ethernet(bearer) => bearer.send(to, datagrams),
        }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Self::Networks(bearer) => bearer.set_ecn(ecn),
            Self::Ethernet(bearer) => bearer.set_ecn(ecn),
        }
    }

    fn follow_network(&mut self) -> io::Result<NetworkChange> {
        match self {
            Self::Networks(bearer) => bearer.follow_network(),
            Self::Ethernet(bearer) => bearer.follow_network(),
        }
    }

    fn refused(&mut self) -> Option<HopAddress> {
        match self {
            Self::Networks(bearer) => bearer.refused(),
            Self::Ethernet(bearer) => bearer.refused(),
        }
    }

    fn more_descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Networks(bearer) => bearer.more_descriptors(),
            Self::Ethernet(bearer) => bearer.more_descriptors(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Networks(bearer) => bearer.poll_timeout(),
            Self::Ethernet(bearer) => bearer.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Networks(bearer) => bearer.handle_timeout(now),
            Self::Ethernet(bearer) => bearer.handle_timeout(now),
        }
    }

    fn memory_most(&self) -> Bytes {
        match self {
            Self::Networks(bearer) => bearer.memory_most(),
            Self::Ethernet(bearer) => bearer.memory_most(),
        }
    }

    fn tls_counters(&self) -> Option<TlsCounters> {
        match self {
            Self::Networks(bearer) => bearer.tls_counters(),
            Self::Ethernet(bearer) => bearer.tls_counters(),
        }
    }

    fn counters(&self) -> BearerCounters {
        match self {
            Self::Networks(bearer) => bearer.counters(),
            Self::Ethernet(bearer) => bearer.counters(),
        }
    }

    fn path_reports(&mut self) -> Vec<PathReport> {
        match self {
            Self::Networks(bearer) => bearer.path_reports(),
            Self::Ethernet(bearer) => bearer.path_reports(),
        }
    }
}

impl AsFd for Bearer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Networks(bearer) => bearer.as_fd(),
            Self::Ethernet(bearer) => bearer.as_fd(),
        }
    }
}

/// Returns true if an error means that nothing can be sent to an address now: the link is down or gone, or there is no
/// route to it.
pub fn is_without_way(problem: &io::Error) -> bool {
    let without = [
        Errno::NETDOWN,
        Errno::NETUNREACH,
        Errno::HOSTUNREACH,
        Errno::NODEV,
        Errno::NXIO,
    ];
    Errno::from_io_error(problem).is_some_and(|errno| without.contains(&errno))
}

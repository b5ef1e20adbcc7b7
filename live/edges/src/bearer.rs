//! What carries frames of the hop, whichever way: a narrow trait, and the bearer that a configuration chose.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use units::Instant;
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use crate::ethernet::EthernetBearer;
use crate::udp::UdpBearer;

/// When and from where a datagram came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Who sent it; an IPv4 address is always given as such.
    pub from: HopAddress,
    /// When the kernel took it from the device. It never runs back, and never lies after the `now` of
    /// the receiving call. Datagrams that the kernel joined to a train bear the time of the first.
    pub at: Instant,
    /// What the network says of congestion (RFC 3168); [`Ecn::NotCapable`] where there is no IP header.
    pub ecn: Ecn,
}

/// What became of the datagrams of one send.
#[derive(Debug, Default)]
pub struct Sent {
    /// How many, from the front, are done with. The others found no room: offer them again when
    /// the descriptor is writable.
    pub handled: usize,
    /// How many of those the kernel refused.
    pub dropped: usize,
    /// Why it refused the last of them; `EMSGSIZE` for one that is too large for the path.
    pub problem: Option<io::Error>,
}

/// The most reports of paths that wait to be taken.
pub(crate) const REPORTS: usize = 64;

/// What a bearer has heard of datagrams that are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathReport {
    /// Where they went.
    pub to: HopAddress,
    /// What was said of them.
    pub limit: PathLimit,
}

/// A limit of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathLimit {
    /// By ICMP: no longer IP packets than of so many bytes. It may be forged.
    Said(usize),
    /// By this host's own network: no datagram of so many bytes.
    Refused(usize),
}

/// What a bearer has done since it was opened, in datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BearerCounters {
    /// Handed to the network.
    pub sent: u64,
    /// Taken from the network.
    pub received: u64,
    /// Refused on sending because they are too large for the path.
    pub too_large: u64,
    /// Refused on sending for another reason, such as no route.
    pub refused: u64,
    /// Errors that the network reported on receiving, such as an unreachable port.
    pub receive_errors: u64,
    /// Frames that hold no datagram, or are for another station.
    pub malformed: u64,
    /// System calls that sent.
    pub send_calls: u64,
    /// System calls that received.
    pub receive_calls: u64,
}

/// What a change of this host's network means for a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Footing {
    /// Nothing: it was elsewhere.
    Unchanged,
    /// Its link has gone.
    Lost,
    /// Its link is there again, perhaps at another place; frames can cross at once.
    Found,
    /// It can only be found out by sending something, when the changes have come to rest.
    Uncertain,
}

/// What one receive call brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    /// So many datagrams.
    pub datagrams: usize,
    /// It had no room for more: others may wait.
    pub is_full: bool,
}

/// Something that carries datagrams to and from addresses, and a descriptor to wait for.
pub trait DatagramBearer: AsFd {
    /// Where datagrams for this bearer go.
    fn local_address(&self) -> HopAddress;

    /// Takes what has come, up to a batch, and gives each datagram to `sink` in order of arrival. Never blocks. What
    /// remains keeps the descriptor readable.
    ///
    /// # Errors
    /// If the bearer is broken; what the network reports is only counted.
    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch>;

    /// Sends `datagrams` to `to`, in order. Never blocks. Neighbours share a system call where that is possible.
    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent;

    /// What is sent from now on bears this field in its IP header, where it has one; at first [`Ecn::NotCapable`].
    fn set_ecn(&mut self, ecn: Ecn);

    /// Links, addresses or routes of this host have changed: takes in what that means.
    ///
    /// # Errors
    /// If the bearer is broken for good.
    fn follow_network(&mut self) -> io::Result<Footing>;

    /// An address where no process takes datagrams, as the network says; each is told once. It may be forged.
    fn refused(&mut self) -> Option<HopAddress> {
        None
    }

    /// What the bearer has done so far.
    fn counters(&self) -> BearerCounters;

    /// Takes what was heard of paths since the last call.
    fn path_reports(&mut self) -> Vec<PathReport> {
        Vec::new()
    }
}

/// The bearer that a configuration chose.
pub enum Bearer {
    /// UDP datagrams.
    Udp(UdpBearer),
    /// Ethernet frames.
    Ethernet(EthernetBearer),
}

impl DatagramBearer for Bearer {
    fn local_address(&self) -> HopAddress {
        match self {
            Self::Udp(bearer) => bearer.local_address(),
            Self::Ethernet(bearer) => bearer.local_address(),
        }
    }

    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        match self {
            Self::Udp(bearer) => bearer.receive_batch(now, sink),
            Self::Ethernet(bearer) => bearer.receive_batch(now, sink),
        }
    }

    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent {
        match self {
            Self::Udp(bearer) => bearer.send(to, datagrams),
            Self::Ethernet(bearer) => bearer.send(to, datagrams),
        }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Self::Udp(bearer) => bearer.set_ecn(ecn),
            Self::Ethernet(bearer) => bearer.set_ecn(ecn),
        }
    }

    fn follow_network(&mut self) -> io::Result<Footing> {
        match self {
            Self::Udp(bearer) => bearer.follow_network(),
            Self::Ethernet(bearer) => bearer.follow_network(),
        }
    }

    fn refused(&mut self) -> Option<HopAddress> {
        match self {
            Self::Udp(bearer) => bearer.refused(),
            Self::Ethernet(bearer) => bearer.refused(),
        }
    }

    fn counters(&self) -> BearerCounters {
        match self {
            Self::Udp(bearer) => bearer.counters(),
            Self::Ethernet(bearer) => bearer.counters(),
        }
    }

    fn path_reports(&mut self) -> Vec<PathReport> {
        match self {
            Self::Udp(bearer) => bearer.path_reports(),
            Self::Ethernet(bearer) => bearer.path_reports(),
        }
    }
}

impl AsFd for Bearer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(bearer) => bearer.as_fd(),
            Self::Ethernet(bearer) => bearer.as_fd(),
        }
    }
}

/// Whether a refusal says that nothing at all can leave for an address now: the link is down or gone, or no route leads
/// there.
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

/// What a host is told that wants to send by one bearer to an address of another.
pub(crate) fn no_such_address() -> io::Error {
    Errno::AFNOSUPPORT.into()
}

/// Counts datagrams that cannot be sent: all of them are done with.
pub(crate) fn refuse(
    datagrams: &[PacketBuffer],
    problem: io::Error,
    counters: &mut BearerCounters,
) -> Sent {
    counters.refused += datagrams.len() as u64;
    Sent {
        handled: datagrams.len(),
        dropped: datagrams.len(),
        problem: Some(problem),
    }
}

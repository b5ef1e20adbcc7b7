//! The trait of bearers, and its types.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use crate::tls::TlsCounters;

/// Time and sender of a received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Address of the sender; an IPv4 address is never given as mapped.
    pub from: HopAddress,
    /// Time at which the kernel took it from the device. It never runs backwards, and never lies after the `now` of
    /// the receiving call. Datagrams that the kernel joined to a train have the time of the first.
    pub at: Instant,
    /// ECN field of its IP header (RFC 3168); [`Ecn::NotCapable`] if it has no IP header.
    pub ecn: Ecn,
}

/// Result of sending datagrams.
#[derive(Debug, Default)]
pub struct Sent {
    /// Number of datagrams, from the front, that were handled. There was no room for the others: offer them again when
    /// the descriptor is writable.
    pub handled: usize,
    /// Number of these that the kernel refused.
    pub dropped: usize,
    /// Error for the last one refused; `EMSGSIZE` if it was too large for the path.
    pub problem: Option<io::Error>,
}

/// Largest number of path reports that wait to be taken.
pub(crate) const REPORTS: usize = 64;

/// A report that datagrams were too long for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathReport {
    /// Destination of the datagrams.
    pub to: HopAddress,
    /// Reported limit.
    pub limit: PathLimit,
}

/// A limit of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathLimit {
    /// By ICMP: largest IP packet, in bytes. It may be forged.
    Said(usize),
    /// By this host's own network: a datagram of this size, in bytes, is too long.
    Refused(usize),
}

/// Counters of a bearer since it was opened, in datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BearerCounters {
    /// Datagrams passed to the network.
    pub sent: u64,
    /// Datagrams received from the network.
    pub received: u64,
    /// Datagrams refused on sending because they are too large for the path.
    pub too_large: u64,
    /// Datagrams refused on sending for another reason, such as no route.
    pub refused: u64,
    /// Errors reported by the network on receiving, such as an unreachable port.
    pub receive_errors: u64,
    /// Frames without a datagram, or for another station.
    pub malformed: u64,
    /// System calls for sending.
    pub send_calls: u64,
    /// System calls for receiving.
    pub receive_calls: u64,
}

/// Effect of a change of this host's network on a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkChange {
    /// No effect: the change does not concern this bearer.
    Unchanged,
    /// Its link is gone.
    Lost,
    /// Its link is back, perhaps with another address; frames can cross at once.
    Found,
    /// Unknown until something is sent, when the changes have settled.
    Uncertain,
}

/// Result of one receive call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    /// Number of datagrams.
    pub datagrams: usize,
    /// True if the batch was full: more may wait.
    pub is_full: bool,
}

/// A carrier of datagrams to and from addresses, with a descriptor to wait for.
pub trait DatagramBearer: AsFd {
    /// Returns the address of this bearer.
    fn local_address(&self) -> HopAddress;

    /// Receives the waiting datagrams, up to a batch, and gives each to `sink` in order of arrival. Never blocks. The
    /// descriptor stays readable while more wait.
    ///
    /// # Errors
    /// If the bearer is broken; errors reported by the network are only counted.
    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch>;

    /// Sends `datagrams` to `to`, in order. Never blocks. Adjacent datagrams share a system call if possible.
    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent;

    /// Sets the ECN field of IP headers from now on, if there are any; initially [`Ecn::NotCapable`].
    fn set_ecn(&mut self, ecn: Ecn);

    /// Handles a change of links, addresses or routes of this host, and returns its effect.
    ///
    /// # Errors
    /// If the bearer is broken for ever.
    fn follow_network(&mut self) -> io::Result<NetworkChange>;

    /// Returns an address with a closed port, as reported by the network; each report is returned once. It may be
    /// forged.
    fn refused(&mut self) -> Option<HopAddress> {
        None
    }

    /// Returns the other descriptors that are readable while datagrams wait, if there are several.
    fn more_descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), if there is one.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Closes what is silent for too long.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Returns the limit of its memory besides a few buffers.
    fn memory_most(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Returns the counters of connections of TLS, if there may be some.
    fn tls_counters(&self) -> Option<TlsCounters> {
        None
    }

    /// Returns the counters of the bearer.
    fn counters(&self) -> BearerCounters;

    /// Returns the path reports since the last call.
    fn path_reports(&mut self) -> Vec<PathReport> {
        Vec::new()
    }
}

/// Returns the error for an address of another bearer.
pub(crate) fn no_such_address() -> io::Error {
    Errno::AFNOSUPPORT.into()
}

/// Counts datagrams that cannot be sent, all as handled.
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

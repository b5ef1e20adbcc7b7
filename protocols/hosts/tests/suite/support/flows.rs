//! What crosses a site: flows with a checked content, and a connection of TCP.

use units::{Duration, Instant};
use wire::ip::Transport;
use wire::packet::Packet;

use super::ends::Ends;
use super::traffic::{PAYLOAD, Received, Traffic};
use super::{GATEWAY, MOBILE};

/// A flow from one end to the other.
pub(crate) struct Flow {
    pub(super) traffic: Traffic,
    /// Time between two packets, and of the next one.
    pub(super) every: Duration,
    pub(super) next: Instant,
    /// Segments that were sent, and what came of them.
    pub(crate) sent: u64,
    pub(crate) received: Received,
    /// Longest time without a packet, since this was set to zero.
    pub(crate) stall: Duration,
    pub(super) heard: Instant,
}

impl Flow {
    pub(super) fn new(traffic: Traffic, every: Duration) -> Self {
        Self {
            traffic,
            every,
            next: Instant::from_millis(1_000),
            sent: 0,
            received: Received::begin(),
            stall: Duration::ZERO,
            heard: Instant::ZERO,
        }
    }

    /// Sets the time between two packets.
    pub(crate) fn slow_down(&mut self, every: Duration) {
        self.every = every;
    }

    /// Returns the number of segments that have come.
    pub(crate) fn came(&self) -> u64 {
        self.received.payload / PAYLOAD as u64
    }
}

/// A connection of TCP between the mobile host and a fixed one.
pub(super) struct Connection {
    pub(super) ends: Ends,
    /// The gateway at which its packets leave, and come in.
    exit: usize,
    /// Bytes that the mobile host has read, and when it read the latest.
    read: u64,
    heard: Instant,
    stall: Duration,
}

impl Connection {
    /// Returns one over which the fixed host sends without end.
    pub(super) fn new(now: Instant, mut ends: Ends) -> Self {
        ends.begin(now, (GATEWAY, 1 << 40));
        Self {
            ends,
            exit: GATEWAY,
            read: 0,
            heard: now,
            stall: Duration::ZERO,
        }
    }

    /// Takes a packet that comes out at a host, unless it is of an earlier connection. All come out at the gateway
    /// where the connection began, as another one would translate their source to another address.
    pub(super) fn take(&mut self, now: Instant, host: usize, packet: &Packet) {
        if !self.ends.have(packet) {
            return;
        }
        if host == MOBILE {
            return self.ends.take(now, MOBILE, packet);
        }
        let asks = packet.ip().is_some_and(|ip| match ip.transport() {
            Transport::Tcp(tcp) => tcp.asks_for_connection(),
            _ => false,
        });
        if asks {
            self.exit = host;
        }
        assert_eq!(host, self.exit, "it leaves elsewhere than it began");
        self.ends.take(now, GATEWAY, packet);
    }

    /// Returns the next packet of an end, and the host where it comes in.
    pub(super) fn poll_packet(&mut self, now: Instant) -> Option<(usize, Packet)> {
        let (end, packet) = self.ends.poll_packet(now)?;
        Some((if end == MOBILE { MOBILE } else { self.exit }, packet))
    }

    pub(super) fn note(&mut self, now: Instant) {
        let (read, _) = self.ends.read(MOBILE);
        if read > self.read {
            self.stall = self.stall.max(now.since(self.heard));
            (self.read, self.heard) = (read, now);
        }
    }

    /// Returns the longest time in which the mobile host has read nothing, since the last call.
    pub(super) fn take_stall(&mut self, now: Instant) -> Duration {
        let longest = self.stall.max(now.since(self.heard));
        self.stall = Duration::ZERO;
        longest
    }
}

//! What crosses a site: flows with a checked content, and a connection of TCP.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::ip::Transport;
use wire::packet::Packet;

use crate::ends::Ends;
use crate::traffic::{PAYLOAD, Received, Traffic};
use crate::{GATEWAY, MOBILE};

/// Time between two datagrams of a call.
const CALL: Duration = Duration::from_millis(20);

/// A flow from one end to the other.
pub struct Flow {
    pub(crate) traffic: Traffic,
    /// Time between two packets, and of the next one.
    pub(crate) every: Duration,
    pub(crate) next: Instant,
    /// Segments that were sent, and what came of them.
    pub sent: u64,
    pub received: Received,
    /// Longest time without a packet, since this was set to zero.
    pub stall: Duration,
    /// Longest time that a datagram of a call took, since this was set to zero; none may be lost.
    pub delay: Duration,
    /// Times when those were sent that are on their way.
    flying: VecDeque<Instant>,
    heard: Instant,
}

impl Flow {
    pub(crate) fn new(traffic: Traffic, every: Duration) -> Self {
        Self {
            traffic,
            every,
            next: Instant::from_millis(1_000),
            sent: 0,
            received: Received::begin(),
            stall: Duration::ZERO,
            delay: Duration::ZERO,
            flying: VecDeque::new(),
            heard: Instant::ZERO,
        }
    }

    /// Sends 50 datagrams a second, as a call does, in place of segments of TCP.
    pub fn become_call(&mut self) {
        self.traffic.is_call = true;
        self.slow_down(CALL);
    }

    /// Sets the time between two packets.
    pub fn slow_down(&mut self, every: Duration) {
        self.every = every;
    }

    /// Notes that a packet was sent, which stands for so many segments.
    pub(crate) fn departed(&mut self, now: Instant, segments: usize) {
        self.sent += segments as u64;
        if self.traffic.is_call {
            self.flying.push_back(now);
        }
    }

    /// Notes that a packet has come.
    pub(crate) fn arrived(&mut self, now: Instant, packet: &Packet) {
        self.received.note(packet);
        self.stall = self.stall.max(now.since(self.heard));
        self.heard = now;
        if let Some(sent) = self.flying.pop_front() {
            self.delay = self.delay.max(now.since(sent));
        }
    }

    /// Returns the number of segments that have come.
    pub fn came(&self) -> u64 {
        self.received.payload / PAYLOAD as u64
    }
}

/// What was read of a stream, and the longest time in which nothing was.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) read: u64,
    heard: Instant,
    stall: Duration,
}

impl Meter {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            read: 0,
            heard: now,
            stall: Duration::ZERO,
        }
    }

    /// Notes the number of bytes that have been read.
    pub(crate) fn note(&mut self, now: Instant, read: u64) {
        if read > self.read {
            self.stall = self.stall.max(now.since(self.heard));
            (self.read, self.heard) = (read, now);
        }
    }

    /// Returns the longest time in which nothing was read, since the last call.
    pub(crate) fn take_stall(&mut self, now: Instant) -> Duration {
        let longest = self.stall.max(now.since(self.heard));
        self.stall = Duration::ZERO;
        longest
    }
}

/// A connection of TCP between the mobile host and a fixed one.
pub(crate) struct Connection {
    pub(crate) ends: Ends,
    /// The gateway at which its packets leave, and come in.
    pub(crate) exit: usize,
    /// True if nobody translates its addresses: packets may leave anywhere, and come in where those of the mobile host
    /// were announced last.
    is_untranslated: bool,
    pub(crate) meter: Meter,
}

impl Connection {
    /// Returns one over which the fixed host sends without end; nobody may translate its addresses.
    pub(crate) fn new(now: Instant, mut ends: Ends, is_untranslated: bool) -> Self {
        ends.begin(now, GATEWAY, 1 << 40);
        Self {
            ends,
            exit: GATEWAY,
            is_untranslated,
            meter: Meter::new(now),
        }
    }

    /// Takes a packet that comes out at a host, unless it is of an earlier connection. All come out at the gateway
    /// where the connection began, as another one would translate their source to another address: if it `may_reset`,
    /// the fixed host resets the connection then.
    pub(crate) fn take(&mut self, now: Instant, host: usize, packet: &Packet, may_reset: bool) {
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
        if host != self.exit && !self.is_untranslated {
            assert!(may_reset, "it leaves elsewhere than it began");
            self.ends.reset[MOBILE] = true;
            return;
        }
        self.ends.take(now, GATEWAY, packet);
    }

    /// Returns the next packet of an end, and the host where it comes in.
    pub(crate) fn poll_packet(&mut self, now: Instant) -> Option<(usize, Packet)> {
        let (end, packet) = self.ends.poll_packet(now)?;
        Some((if end == MOBILE { MOBILE } else { self.exit }, packet))
    }

    /// A gateway has announced the mobile host's address.
    pub(crate) fn announced_by(&mut self, gateway: usize) {
        if self.is_untranslated {
            self.exit = gateway;
        }
    }

    /// Notes what the mobile host has read.
    pub(crate) fn note(&mut self, now: Instant) {
        let (read, _) = self.ends.read(MOBILE);
        self.meter.note(now, read);
    }
}

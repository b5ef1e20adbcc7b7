//! Flows of a mobile host that leave at a gateway which is not its home. They stay there wherever the mobile host goes,
//! as other hosts know them by that gateway's address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use units::{Duration, Instant};
use wire::flow::FlowKey;
use wire::icmp::IcmpMessage;
use wire::ip::scope::{is_link_local, is_private, is_shared};
use wire::ip::{IpPacket, Protocol, Transport};
use wire::packet::Packet;

use crate::route::Routes;

/// Most flows of a mobile host at one gateway: they fit into a message.
const FLOWS_MOST: usize = 512;
/// Time without a packet after which a flow has ended: that of a connection (RFC 5382, section 5), of one that an end
/// has closed (there), and of all others (RFC 4787, section 4.3).
const IDLE_TCP: Duration = Duration::from_secs(7_440);
const IDLE_CLOSED: Duration = Duration::from_secs(240);
const IDLE: Duration = Duration::from_secs(300);

/// Flows that leave at a gateway.
#[derive(Debug, Default)]
pub(crate) struct Flows(BTreeMap<FlowKey, Flow>);

#[derive(Debug)]
struct Flow {
    /// Time when it has ended, if nothing more comes.
    ends: Instant,
    /// True if it is a connection that an end has closed.
    is_closed: bool,
}

impl Flow {
    /// Returns a flow with a packet now.
    fn new(now: Instant, key: &FlowKey, is_closed: bool) -> Self {
        let idle = match key.protocol {
            Protocol::TCP if is_closed => IDLE_CLOSED,
            Protocol::TCP => IDLE_TCP,
            _ => IDLE,
        };
        Self {
            ends: now + idle,
            is_closed,
        }
    }
}

impl Flows {
    /// Returns these flows, as far as there is room for them.
    pub(crate) fn of(now: Instant, flows: impl IntoIterator<Item = FlowKey>) -> Self {
        let flows = flows.into_iter().take(FLOWS_MOST);
        let begun = flows.map(|key| (key, Flow::new(now, &key, false)));
        Self(begun.collect())
    }

    /// Notes a packet; returns true if it is of one of these flows, or if all datagrams between its two addresses are.
    /// An ICMP error is of the flow that it is about.
    pub(crate) fn note(&mut self, now: Instant, packet: &Packet) -> bool {
        let Some(ip) = packet.ip().filter(|_| !self.0.is_empty()) else {
            return false;
        };
        let key = flow_of(&ip);
        for key in [key, key.of_fragments()] {
            let Some(flow) = self.0.get_mut(&key).filter(|flow| now < flow.ends) else {
                continue;
            };
            let is_closed = match ip.transport() {
                Transport::Tcp(tcp) if tcp.asks_for_connection() => false,
                Transport::Tcp(tcp) => flow.is_closed || tcp.closes(),
                _ => flow.is_closed,
            };
            *flow = Flow::new(now, &key, is_closed);
            return true;
        }
        false
    }

    /// Adds the flow of a packet. The one that would end first makes room, if there are too many.
    fn begin(&mut self, now: Instant, key: FlowKey) {
        if self.0.len() >= FLOWS_MOST {
            let first = self.0.iter().min_by_key(|(_, flow)| flow.ends);
            if let Some(key) = first.map(|(key, _)| *key) {
                self.0.remove(&key);
            }
        }
        self.0.insert(key, Flow::new(now, &key, false));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the flows that have ended; returns true if others are left.
    pub(crate) fn go_on(&mut self, now: Instant) -> bool {
        self.0.retain(|_, flow| now < flow.ends);
        !self.0.is_empty()
    }

    /// Returns the flows that have not ended.
    pub(crate) fn present(&mut self, now: Instant) -> Vec<FlowKey> {
        self.go_on(now);
        self.0.keys().copied().collect()
    }
}

/// The flows that begin to leave at a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// None.
    Never,
    /// New ones to the Internet, which any gateway has: a network of the home's may be another one elsewhere.
    New,
    /// New connections, and all datagrams, as the home is silent.
    Any,
}

/// Flows of a guest that leave here.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// Inner addresses for which the system of this gateway is ready.
    open: Routes,
    pub(crate) flows: Flows,
    elsewhere: Elsewhere,
}

/// Datagrams of a guest that leave elsewhere, by pairs of addresses, as a fragment has no ports.
#[derive(Debug, Default)]
struct Elsewhere {
    /// Time since when the guest has been here, and all of them have been noted.
    since: Option<Instant>,
    pairs: Flows,
}

impl Elsewhere {
    /// Notes a datagram; returns true if it begins a flow. No bit of it says so; but a binding of a flow that had begun
    /// elsewhere has ended if nothing has been sent between these addresses for as long as one lasts.
    fn has_not(&mut self, now: Instant, packet: &Packet, key: FlowKey) -> bool {
        if self.pairs.note(now, packet) {
            return false;
        }
        if self.since.is_some_and(|since| now.since(since) >= IDLE) {
            return true;
        }
        if self.pairs.go_on(now) && self.pairs.0.len() >= FLOWS_MOST {
            // One is forgotten.
            self.since = Some(now);
        }
        self.pairs.begin(now, key.of_fragments());
        false
    }
}

impl Exits {
    /// Notes that the guest has come: it may have begun flows elsewhere.
    pub(crate) fn has_come(&mut self, now: Instant) {
        self.elsewhere.since = Some(now);
    }

    /// Notes that the system is ready for these inner addresses, each with a prefix length in bits.
    pub(crate) fn open(&mut self, prefixes: &[(IpAddr, u8)]) {
        for (network, length) in prefixes {
            self.open.add(*network, *length, 0);
        }
    }

    /// Returns true if the system is ready for a packet of this mobile host.
    pub(crate) fn is_open_for(&self, packet: &Packet) -> bool {
        let source = packet.ip().map(|ip| ip.source());
        source.is_some_and(|source| self.open.owner(source).is_some())
    }

    /// Returns true if a packet leaves here: its flow does, or begins to with this packet. A connection that began
    /// elsewhere must not: its other end would reset it, as it would come from another address.
    pub(crate) fn lead(&mut self, now: Instant, packet: &Packet, begins: Beginning) -> bool {
        if !self.is_open_for(packet) {
            return false;
        }
        if self.flows.note(now, packet) {
            return true;
        }
        let begun = self.begun(now, packet, begins);
        if let Some(key) = begun {
            self.flows.begin(now, key);
        }
        begun.is_some()
    }

    /// Returns the flow that a packet begins, if it does. A new one of datagrams, other than of QUIC, is all those
    /// between two addresses.
    fn begun(&mut self, now: Instant, packet: &Packet, begins: Beginning) -> Option<FlowKey> {
        let ip = packet.ip()?;
        let key = FlowKey::of(&ip);
        let asks = match ip.transport() {
            Transport::Tcp(tcp) => tcp.asks_for_connection(),
            Transport::Udp(udp) => ip.fragment().is_none() && udp.asks_for_quic(),
            // Whoever answers it needs to know nothing of earlier ones.
            Transport::Icmp(icmp) => matches!(icmp.message(), IcmpMessage::EchoRequest(_)),
            _ => false,
        };
        match begins {
            Beginning::Any => (asks || key.protocol != Protocol::TCP).then_some(key),
            Beginning::New if !is_of_internet(ip.destination()) => None,
            Beginning::New if asks => Some(key),
            Beginning::New if key.protocol == Protocol::UDP => {
                let is_new = self.elsewhere.has_not(now, packet, key);
                is_new.then(|| key.of_fragments())
            }
            Beginning::Never | Beginning::New => None,
        }
    }
}

/// Returns the flow of a packet; that of an ICMP error is the one that it is about.
fn flow_of(ip: &IpPacket<'_>) -> FlowKey {
    let original = match ip.transport() {
        Transport::Icmp(icmp) if icmp.is_error() => FlowKey::of_original(icmp.payload()),
        _ => None,
    };
    original.map_or_else(|| FlowKey::of(ip), FlowKey::reversed)
}

/// Returns true for an address of one host that is the same everywhere.
fn is_of_internet(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_local = is_private(address) || is_shared(address) || is_link_local(address);
    let is_reserved = match address {
        // This host, groups, and what is beyond (RFC 1122, section 3.2.1.3).
        IpAddr::V4(address) => matches!(address.octets()[0], 0 | 224..),
        IpAddr::V6(address) => address.is_multicast(),
    };
    !is_local && !is_reserved && !address.is_loopback()
}

#[cfg(test)]
#[path = "exits_tests.rs"]
mod tests;

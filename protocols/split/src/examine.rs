//! The packets that matter to a splitter: requests for connections, and some answers to its own.

use std::net::IpAddr;

use redirector::Side;
use units::SeqNumber;
use wire::flow::Ends;
use wire::icmp::IcmpMessage;
use wire::ip::{IpPacket, Transport};
use wire::packet::Packet;

use crate::{Choice, End, Refusal, Scope, Splitter};

/// Where a packet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This host's own stack or the wired network.
    Host,
    /// The hop.
    Hop,
}

/// What was found in a packet.
#[derive(Debug, Clone)]
pub enum Found {
    /// A request for a connection, which is held.
    Request(Request),
    /// There is no way to the host that was asked for a connection between these ends. The packet goes on.
    NoRoute(Ends, Refusal),
    /// A fixed host has proven that it is there, by a packet that was meant for nobody else.
    Proven(IpAddr),
}

/// A packet that asks for a connection.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) ends: Ends,
    /// The first number of its stream.
    pub(crate) sequence: SeqNumber,
    /// The side on which it was asked for.
    pub(crate) asker: Side,
    /// Which mobile host is one of both ends: its place in the configuration.
    pub(crate) owner: usize,
    /// The way that is better now for connections of that mobile host, where that is chosen for each.
    pub(crate) choice: Option<Choice>,
    pub(crate) packet: Packet,
}

impl Found {
    /// Returns true if the packet ends here.
    pub fn holds_packet(&self) -> bool {
        !matches!(self, Self::NoRoute(..))
    }
}

impl<C> Splitter<C> {
    /// Returns what a packet means here, if it means anything. `choose` gives the better way for connections with a
    /// peer that begin now.
    pub fn examine(
        &self,
        origin: Origin,
        packet: &Packet,
        choose: impl FnOnce(usize) -> Choice,
    ) -> Option<Found> {
        let asker = match (origin, self.end) {
            (Origin::Host, end) => end.hop_side().other(),
            (Origin::Hop, End::Gateway { .. }) => Side::Mobile,
            // That is for this host's kernel.
            (Origin::Hop, End::Mobile) => return None,
        };
        let parsed = packet.ip()?;
        if origin == Origin::Host && self.end == (End::Gateway { transparent: true }) {
            if let Some((ends, refusal)) = no_route(&parsed) {
                // Who asks in a mobile's name gets no answer from the kernel: it goes to the mobile.
                return Some(Found::NoRoute(ends, refusal));
            }
            if let Some(host) = self.secret.proven(&parsed) {
                return Some(Found::Proven(host));
            }
        }
        let (ends, sequence) = request(&parsed)?;
        let mobile = match (asker, self.end) {
            (Side::Mobile, _) => ends.source,
            (Side::Fixed, End::Gateway { transparent: true }) => ends.destination,
            // What fixed hosts ask for through address translation would have to be undone twice.
            (Side::Fixed, _) => return None,
        };
        let owner = self.owner(mobile.ip())?;
        let crossing = &self.crossings[owner];
        if !crossing.may_split(self.end, asker, mobile.ip()) {
            return None;
        }
        let choice = (crossing.scope == Scope::Chosen).then(|| choose(crossing.peer));
        Some(Found::Request(Request {
            ends,
            sequence,
            asker,
            owner,
            choice,
            packet: packet.clone(),
        }))
    }

    /// Returns the place of the mobile host that has `address`.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<usize> {
        let mut mobiles = self.mobiles.iter();
        mobiles.position(|mobile| mobile.networks.iter().any(|one| one.contains(&address)))
    }
}

/// Returns the connection that could not be made, if a packet says that there is no way to the host that was asked.
fn no_route(packet: &IpPacket<'_>) -> Option<(Ends, Refusal)> {
    let Transport::Icmp(message) = packet.transport() else {
        return None;
    };
    let IcmpMessage::Unreachable { code, original } = message.message() else {
        return None;
    };
    let (ends, _) = request(&IpPacket::parse(original).ok()?)?;
    // Of the codes of both versions only those matter here that mean more than "no".
    let refusal = match (packet.destination().is_ipv4(), code) {
        (true, 3) | (false, 4) => Refusal::Refused,
        (true, 0 | 6) | (false, 0) => Refusal::NetworkUnreachable,
        _ => Refusal::HostUnreachable,
    };
    Some((ends, refusal))
}

/// Returns the ends of the connection that a packet asks for, and the first number of its stream.
fn request(packet: &IpPacket<'_>) -> Option<(Ends, SeqNumber)> {
    match packet.transport() {
        Transport::Tcp(tcp) if tcp.asks_for_connection() => {
            Some((Ends::of(packet), tcp.sequence_number()))
        }
        _ => None,
    }
}

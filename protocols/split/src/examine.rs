//! The packets that a splitter handles: requests for connections, and some answers to its own.

use std::net::IpAddr;

use redirector::Side;
use units::SeqNumber;
use wire::flow::Ends;
use wire::icmp::IcmpMessage;
use wire::ip::{IpPacket, Transport};
use wire::packet::Packet;

use crate::crossing::PeerPath;
use crate::{Choice, End, Refusal, Scope, Splitter};

/// Source of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This host's own stack or the wired network.
    Host,
    /// The hop.
    Hop,
}

/// Meaning of a packet for the splitter.
#[derive(Debug, Clone)]
pub enum Found {
    /// A request for a connection, which is held.
    Request(Request),
    /// There is no route to the destination of the connection between these ends. The packet is forwarded.
    NoRoute(Ends, Refusal),
    /// A segment of a mobile host in a connection that a stream carries, or has carried a while ago.
    Strayed(Packet),
    /// A fixed host has proven its address, by a packet that answers a challenge.
    Proven(IpAddr),
}

/// A packet that requests a connection.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) ends: Ends,
    /// Initial sequence number.
    pub(crate) sequence: SeqNumber,
    /// Side that requests it.
    pub(crate) asker: Side,
    /// Index of the peer of its mobile host.
    pub(crate) owner: usize,
    /// Better way now for connections of that mobile host, if each has its own choice.
    pub(crate) choice: Option<Choice>,
    pub(crate) packet: Packet,
}

impl Found {
    /// Returns true if the packet is not forwarded.
    pub fn holds_packet(&self) -> bool {
        !matches!(self, Self::NoRoute(..))
    }

    /// Returns the source of a request for a connection to a mobile host, at its gateway.
    pub fn requester_of_mobile(&self) -> Option<IpAddr> {
        match self {
            Self::Request(request) if request.asker == Side::Fixed => {
                Some(request.ends.source.ip())
            }
            _ => None,
        }
    }
}

impl<C> Splitter<C> {
    /// Returns the meaning of a packet for this splitter, if it has any. `choose` returns the better way for new
    /// connections with a peer.
    pub fn examine(
        &self,
        origin: Origin,
        packet: &Packet,
        choose: impl FnOnce(usize) -> Choice,
    ) -> Option<Found> {
        let asker = match (origin, self.end) {
            (Origin::Host, end) => end.hop_side().other(),
            (Origin::Hop, End::Gateway { .. }) => Side::Mobile,
            // This host's kernel handles such a packet.
            (Origin::Hop, End::Mobile) => return None,
        };
        let parsed = packet.ip()?;
        if origin == Origin::Host && self.end == (End::Gateway { transparent: true }) {
            if let Some((ends, refusal)) = no_route(&parsed) {
                // The kernel would not answer a host whose connection was requested in a mobile host's name: the
                // packet goes to the mobile host.
                return Some(Found::NoRoute(ends, refusal));
            }
            if let Some(host) = self.secret.proven(&parsed) {
                return Some(Found::Proven(host));
            }
        }
        let Some((ends, sequence)) = request(&parsed) else {
            let strays = origin == Origin::Hop && self.may_have_strayed(&parsed);
            return strays.then(|| Found::Strayed(packet.clone()));
        };
        let mobile = match (asker, self.end) {
            (Side::Mobile, _) => ends.source,
            (Side::Fixed, End::Gateway { transparent: true }) => ends.destination,
            // Address translation of requests by fixed hosts would have to be undone twice.
            (Side::Fixed, _) => return None,
        };
        let owner = self.owner(mobile.ip())?;
        let crossing = self.crossings.get(&owner)?;
        if !crossing.may_split(self.end, asker, mobile.ip()) {
            return None;
        }
        let choice = (crossing.scope == Scope::Chosen).then(|| choose(owner));
        Some(Found::Request(Request {
            ends,
            sequence,
            asker,
            owner,
            choice,
            packet: packet.clone(),
        }))
    }

    /// Returns true if every connection that the mobile host of this peer requests is split.
    pub fn splits_every_request(&self, peer: usize) -> bool {
        let crossing = self.crossings.get(&peer);
        crossing.is_some_and(|crossing| crossing.scope == Scope::Every)
    }

    /// Returns true if `address` is an inner address of a mobile host whose connections are split here.
    pub fn serves(&self, address: IpAddr) -> bool {
        self.owner(address.to_canonical()).is_some()
    }

    /// Returns the index of the peer of the mobile host that has `address`, if there is one.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<usize> {
        let mut mobiles = self.crossings.iter();
        let has = |mobile: &PeerPath| mobile.networks.iter().any(|one| one.contains(&address));
        mobiles.find_map(|(peer, mobile)| has(mobile).then_some(*peer))
    }
}

/// Returns the ends of the failed connection, if a packet reports that its destination is unreachable.
fn no_route(packet: &IpPacket<'_>) -> Option<(Ends, Refusal)> {
    let Transport::Icmp(message) = packet.transport() else {
        return None;
    };
    let IcmpMessage::Unreachable { code, original } = message.message() else {
        return None;
    };
    let (ends, _) = request(&IpPacket::parse(original).ok()?)?;
    // Only the codes of both versions matter here that mean more than "unreachable".
    let refusal = match (packet.destination().is_ipv4(), code) {
        (true, 3) | (false, 4) => Refusal::Refused,
        (true, 0 | 6) | (false, 0) => Refusal::NetworkUnreachable,
        _ => Refusal::HostUnreachable,
    };
    Some((ends, refusal))
}

/// Returns the ends of the connection that a packet requests, and its initial sequence number; none for other packets.
fn request(packet: &IpPacket<'_>) -> Option<(Ends, SeqNumber)> {
    match packet.transport() {
        Transport::Tcp(tcp) if tcp.asks_for_connection() => {
            Some((Ends::of(packet), tcp.sequence_number()))
        }
        _ => None,
    }
}

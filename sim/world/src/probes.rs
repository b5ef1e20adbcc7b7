//! Echo requests and replies, each of which arrives at most once, as it was sent.

use std::net::Ipv4Addr;

use units::Instant;
use wire::packet::{Packet, PacketBuffer};

const HEADERS: usize = 28;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
/// A packet whose source address is not that of its sender.
const SPOOFED: u8 = 3;
/// UDP port of the echo service.
pub(crate) const PORT: u16 = 7;

/// An echo request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// Number of the mobile host.
    pub(crate) mobile: usize,
    /// 0 if the mobile host has sent it, 1 if a fixed host has.
    pub(crate) side: usize,
    pub(crate) sent: Instant,
    pub(crate) requested: bool,
    pub(crate) answered: bool,
}

/// All probes of a run.
#[derive(Debug, Default)]
pub(crate) struct Probes(Vec<Probe>);

impl Probes {
    /// Returns all probes.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Probe> {
        self.0.iter()
    }

    /// Returns an echo request, given the addresses of sender and receiver.
    pub(crate) fn request(&mut self, probe: Probe, ends: [Ipv4Addr; 2]) -> Packet {
        let number = self.0.len();
        self.0.push(probe);
        packet(ends, number, REQUEST)
    }

    /// Returns a packet with addresses that its sender may not use.
    pub(crate) fn spoofed(ends: [Ipv4Addr; 2]) -> Packet {
        packet(ends, 0, SPOOFED)
    }

    /// Returns true if this is such a packet.
    pub(crate) fn is_spoofed(bytes: &[u8]) -> bool {
        parse(bytes).is_some_and(|(_, kind, _)| kind == SPOOFED)
    }

    /// Handles a packet that has arrived; returns the reply, if it is a request. The error is a sentence.
    pub(crate) fn arrived(&mut self, bytes: &[u8]) -> Result<Option<Packet>, String> {
        let (number, kind, ends) = parse(bytes).ok_or("a probe arrived changed")?;
        let whole = packet(ends, number, kind);
        if whole[HEADERS..] != bytes[HEADERS..] {
            return Err(format!("probe {number} arrived changed"));
        }
        let probe = self
            .0
            .get_mut(number)
            .ok_or("a probe arrived that nobody sent")?;
        let has_arrived = if kind == REQUEST {
            &mut probe.requested
        } else {
            &mut probe.answered
        };
        if std::mem::replace(has_arrived, true) {
            return Err(format!("probe {number} of kind {kind} arrived twice"));
        }
        let [from, to] = ends;
        Ok((kind == REQUEST).then(|| packet([to, from], number, REPLY)))
    }
}

/// Returns the UDP packet of a probe. Its length follows from its number.
fn packet([from, to]: [Ipv4Addr; 2], number: usize, kind: u8) -> Packet {
    let payload = 9 + number * 37 % 900;
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    bytes[2..4].copy_from_slice(&((HEADERS + payload) as u16).to_be_bytes());
    bytes.extend(from.octets());
    bytes.extend(to.octets());
    for field in [PORT, PORT, (8 + payload) as u16, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend((number as u64).to_be_bytes());
    bytes.push(kind);
    bytes.extend((9..payload).map(|place| (place * 7 + number) as u8));
    Packet::new(PacketBuffer::copy_of(&bytes))
}

/// Returns the number and the kind of a probe, and its addresses.
fn parse(bytes: &[u8]) -> Option<(usize, u8, [Ipv4Addr; 2])> {
    let address = |at: usize| Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?));
    let number = u64::from_be_bytes(*bytes.get(HEADERS..)?.first_chunk::<8>()?);
    let kind = *bytes.get(HEADERS + 8)?;
    Some((
        usize::try_from(number).ok()?,
        kind,
        [address(12)?, address(16)?],
    ))
}

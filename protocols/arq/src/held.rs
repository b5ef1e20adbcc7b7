//! The data of a held flow that this end still has to deliver: the bytes of a TCP connection, or datagrams. If the
//! sender's retransmission timer expires while the hop stands still, its retransmissions of them need not cross.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use units::{RangeSet, SeqNumber};
use wire::ip::Transport;
use wire::packet::Packet;
use wire::tcp::{TcpFlags, TcpSegmentOptions, TcpView};

use crate::limits::NODE;
use crate::repetition;

/// Offset of the first place, so that there are places below the first sequence number too.
const BEYOND: u64 = 1 << 33;

/// Fields of a segment beside its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SegmentFields {
    acknowledgment: SeqNumber,
    window: u16,
}

/// The data of one direction of a flow that wait at this end or are not confirmed.
#[derive(Debug)]
pub(crate) struct HeldData {
    /// Places of the data: sequence numbers that do not wrap.
    ranges: RangeSet,
    /// End of the latest data.
    latest: u64,
    /// Fields of the latest segment.
    said: Option<SegmentFields>,
    /// Hashes of UDP datagrams: who asks again with the same bytes, as RPC does (RFC 5531 §4), has one answer in mind.
    datagrams: BTreeSet<u64>,
}

impl Default for HeldData {
    fn default() -> Self {
        Self {
            ranges: RangeSet::default(),
            latest: BEYOND,
            said: None,
            datagrams: BTreeSet::new(),
        }
    }
}

impl HeldData {
    /// Returns true if `packet` only repeats data that still wait to be delivered, and the latest fields.
    pub(crate) fn has(&self, packet: &Packet) -> bool {
        let Some((tcp, said)) = segment(packet) else {
            return datagram(packet).is_some_and(|hash| self.datagrams.contains(&hash));
        };
        self.has_data(&tcp) && self.said == Some(said) && says_no_more(&tcp)
    }

    /// Returns true if a segment has data, and all of them wait to be delivered.
    pub(crate) fn has_data(&self, tcp: &TcpView<'_>) -> bool {
        let range = self.range(tcp);
        !range.is_empty() && self.ranges.covers(&range)
    }

    /// Returns true if all data of `packet` wait to be delivered.
    pub(crate) fn keeps(&self, packet: &Packet) -> bool {
        segment(packet).is_some_and(|(tcp, _)| tcp.payload().is_empty() || self.has_data(&tcp))
    }

    /// Returns true if `packet` begins before the end of the latest data.
    pub(crate) fn is_behind(&self, packet: &Packet) -> bool {
        segment(packet).is_some_and(|(tcp, _)| {
            let range = self.range(&tcp);
            self.said.is_some() && !range.is_empty() && range.start < self.latest
        })
    }

    /// Adds a packet that waits from now on; returns true if it begins before the end of the latest data.
    pub(crate) fn hold(&mut self, packet: &Packet) -> bool {
        let Some((tcp, said)) = segment(packet) else {
            self.datagrams.extend(datagram(packet));
            return false;
        };
        if tcp.flags().contains(TcpFlags::SYN) || self.said.is_none() {
            // A connection, or another one with the same ports.
            self.ranges = RangeSet::default();
            self.latest = BEYOND | u64::from(tcp.sequence_number().0);
        }
        let range = self.range(&tcp);
        let is_behind = range.start < self.latest;
        self.latest = self.latest.max(range.end);
        self.said = Some(said);
        self.ranges.insert(range);
        is_behind
    }

    /// Removes a packet that was delivered or dropped.
    pub(crate) fn release(&mut self, packet: &Packet) {
        if let Some((tcp, _)) = segment(packet) {
            self.ranges.remove(&self.range(&tcp));
        } else if let Some(hash) = datagram(packet) {
            self.datagrams.remove(&hash);
        }
    }

    /// Removes `dropped` bytes that came before the data of `packet` in the same packet and were dropped.
    pub(crate) fn shortened(&mut self, packet: &Packet, dropped: usize) {
        if let Some((tcp, _)) = segment(packet) {
            let start = self.range(&tcp).start;
            self.ranges
                .remove(&(start.saturating_sub(dropped as u64)..start));
        }
    }

    /// Returns the bytes of memory beyond its own size.
    pub(crate) fn memory(&self) -> usize {
        self.ranges.memory() + self.datagrams.len() * (size_of::<u64>() + NODE)
    }

    /// Frees memory that it does not need.
    pub(crate) fn shrink(&mut self) {
        self.ranges.shrink();
    }

    /// Returns the places of a segment's data.
    fn range(&self, tcp: &TcpView<'_>) -> Range<u64> {
        let ahead = tcp
            .sequence_number()
            .distance_from(SeqNumber(self.latest as u32));
        let start = self.latest.saturating_add_signed(ahead.into());
        start..start + tcp.payload().len() as u64
    }
}

/// Returns the TCP segment in a packet with its fields; `None` if it is of another kind.
fn segment(packet: &Packet) -> Option<(TcpView<'_>, SegmentFields)> {
    let tcp = repetition::segment(packet)?;
    let said = SegmentFields {
        acknowledgment: tcp.acknowledgment_number(),
        window: tcp.window(),
    };
    Some((tcp, said))
}

/// Returns the hash of the UDP datagram in a packet; `None` if it is of another kind.
fn datagram(packet: &Packet) -> Option<u64> {
    let Transport::Udp(udp) = packet.ip()?.transport() else {
        return None;
    };
    let mut hasher = DefaultHasher::new();
    hasher.write(udp.bytes());
    Some(hasher.finish())
}

/// Returns true if a segment acknowledges, carries data, and has no other flags or options.
fn says_no_more(tcp: &TcpView<'_>) -> bool {
    let flags = tcp.flags().0 & !TcpFlags::PSH.0;
    flags == TcpFlags::ACK.0
        && TcpSegmentOptions::read(tcp).is_ok_and(|(options, others)| {
            !others && options.sack.is_empty() && options.cause.is_none()
        })
}

//! Which bytes of a TCP connection this end still has to deliver: what its sender repeats meanwhile, as its timer has
//! gone off while the hop stood still, need not cross twice.

use std::ops::Range;

use units::{RangeSet, SeqNumber};
use wire::ip::Transport;
use wire::packet::Packet;
use wire::tcp::{TcpFlags, TcpSegmentOptions, TcpView};

/// Places have these bits beyond their sequence numbers at first, so that there are some below them too.
const BEYOND: u64 = 1 << 33;

/// What a segment says beside its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    acknowledgment: SeqNumber,
    window: u16,
}

/// The data of one direction of a connection that wait at this end or are not confirmed.
#[derive(Debug)]
pub(crate) struct HeldData {
    /// Places: sequence numbers that do not wrap.
    ranges: RangeSet,
    /// Where the latest data ended.
    latest: u64,
    /// What the latest segment said.
    said: Option<Said>,
}

impl Default for HeldData {
    fn default() -> Self {
        Self {
            ranges: RangeSet::default(),
            latest: BEYOND,
            said: None,
        }
    }
}

impl HeldData {
    /// Whether everything that `packet` says has been said and waits to be delivered.
    pub(crate) fn has(&self, packet: &Packet) -> bool {
        let Some((tcp, said)) = segment(packet) else {
            return false;
        };
        let range = self.range(&tcp);
        !range.is_empty()
            && self.ranges.covers(&range)
            && self.said == Some(said)
            && says_no_more(&tcp)
    }

    /// Takes note of a packet that waits from now on.
    pub(crate) fn hold(&mut self, packet: &Packet) {
        let Some((tcp, said)) = segment(packet) else {
            return;
        };
        if tcp.flags().contains(TcpFlags::SYN) {
            // Another connection with the same ports.
            self.ranges = RangeSet::default();
            self.latest = BEYOND | u64::from(tcp.sequence_number().0);
        }
        let range = self.range(&tcp);
        self.latest = self.latest.max(range.end);
        self.said = Some(said);
        self.ranges.insert(range);
    }

    /// A packet has been delivered or dropped.
    pub(crate) fn release(&mut self, packet: &Packet) {
        if let Some((tcp, _)) = segment(packet) {
            self.ranges.remove(&self.range(&tcp));
        }
    }

    /// So many bytes of data that came before those of `packet`, in the same packet, have been dropped.
    pub(crate) fn shortened(&mut self, packet: &Packet, dropped: usize) {
        if let Some((tcp, _)) = segment(packet) {
            let start = self.range(&tcp).start;
            self.ranges
                .remove(&(start.saturating_sub(dropped as u64)..start));
        }
    }

    /// Bytes that it holds beside its own.
    pub(crate) fn memory(&self) -> usize {
        self.ranges.memory()
    }

    /// Gives back room that it does not need.
    pub(crate) fn shrink(&mut self) {
        self.ranges.shrink();
    }

    /// The places of a segment's data.
    fn range(&self, tcp: &TcpView<'_>) -> Range<u64> {
        let ahead = tcp
            .sequence_number()
            .distance_from(SeqNumber(self.latest as u32));
        let start = self.latest.saturating_add_signed(ahead.into());
        start..start + tcp.payload().len() as u64
    }
}

/// The segment in a packet; nothing if it is of another kind.
fn segment(packet: &Packet) -> Option<(TcpView<'_>, Said)> {
    match packet.ip()?.transport() {
        Transport::Tcp(tcp) => {
            let said = Said {
                acknowledgment: tcp.acknowledgment_number(),
                window: tcp.window(),
            };
            Some((tcp, said))
        }
        _ => None,
    }
}

/// Whether a segment acknowledges, carries data, and says nothing else.
fn says_no_more(tcp: &TcpView<'_>) -> bool {
    let flags = tcp.flags().0 & !TcpFlags::PSH.0;
    flags == TcpFlags::ACK.0
        && TcpSegmentOptions::read(tcp).is_ok_and(|(options, others)| {
            !others && options.sack.is_empty() && options.cause.is_none()
        })
}

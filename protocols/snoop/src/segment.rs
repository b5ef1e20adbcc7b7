//! The interface of a packet for the agent.

use std::net::SocketAddr;

use units::SeqNumber;
use wire::tcp::TcpFlags;
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions};

/// Largest number of ranges lost on the air in one acknowledgement.
pub(crate) const AIR_LOSS_RANGES: usize = 3;

/// A TCP segment in its packet, as the agent uses it.
pub trait Segment: Clone {
    /// Returns the headers, or none for a packet that is no complete and valid TCP segment; such a packet passes the
    /// agent untouched.
    fn header(&self) -> Option<Header>;

    /// Returns the memory that the cached packet takes, in bytes.
    fn cost(&self) -> u64;

    /// Changes the options, if the header has room for the result.
    fn revise(&mut self, revision: &Revision);

    /// Returns a packet without data that has exactly this header.
    fn acknowledgment(header: &Header) -> Self;
}

/// The headers of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Address of the sender.
    pub source: SocketAddr,
    /// Address of the receiver.
    pub destination: SocketAddr,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: SeqNumber,
    /// Sequence number that the sender expects next; valid with [`TcpFlags::ACK`] only.
    pub acknowledgment: SeqNumber,
    /// Control bits.
    pub flags: TcpFlags,
    /// Receive window as in the header, not scaled.
    pub window: u16,
    /// Length of the data, in bytes.
    pub payload: u32,
    /// Options.
    pub options: TcpSegmentOptions,
}

impl Header {
    /// Returns the sequence numbers that the segment takes, SYN and FIN included.
    pub fn range(&self) -> SeqRange {
        let count = |flag| u32::from(self.flags.contains(flag));
        let length = self.payload + count(TcpFlags::SYN) + count(TcpFlags::FIN);
        SeqRange {
            start: self.sequence,
            end: self.sequence + length,
        }
    }

    /// Returns true if the segment takes sequence numbers, so that its loss must be repaired.
    pub fn occupies(&self) -> bool {
        let range = self.range();
        range.start != range.end
    }

    /// Returns true if the segment acknowledges and does nothing else.
    pub fn is_pure_acknowledgment(&self) -> bool {
        let only = self.flags.contains(TcpFlags::ACK)
            && !self.flags.contains(TcpFlags::RST)
            && !self.flags.contains(TcpFlags::URG);
        only && !self.occupies()
    }

    /// Returns true if this is the agent's request for data that were lost on the air: a duplicate acknowledgement
    /// that carries both SMART's cause and ranges lost on the air. It never acknowledges more than the fixed host
    /// has.
    pub fn is_negative_acknowledgment(&self) -> bool {
        let named = matches!(self.options.air_loss, AirLoss::Ranges(_));
        named && self.options.cause.is_some() && self.is_pure_acknowledgment()
    }

    /// Returns true if the requested segment is marked as lost on the air.
    pub(crate) fn asks_for_air_loss(&self) -> bool {
        match &self.options.air_loss {
            AirLoss::None => false,
            AirLoss::Next => true,
            AirLoss::Ranges(ranges) => {
                let holds = |range: SeqRange| {
                    range.start <= self.acknowledgment && self.acknowledgment < range.end
                };
                ranges.iter().any(holds)
            }
        }
    }

    /// Returns true if the options report that data beyond the acknowledgement number have arrived.
    pub(crate) fn reports_arrival(&self) -> bool {
        let number = self.acknowledgment;
        let block = self.options.sack.iter().any(|block| number < block.start);
        block || self.options.cause.is_some_and(|cause| number < cause)
    }

    /// Returns true if the first SACK block reports a segment that arrived twice (RFC 2883 §4: it lies below the
    /// acknowledgement number, or within the second block).
    pub(crate) fn reports_repeat_by_sack(&self) -> bool {
        let mut blocks = self.options.sack.iter();
        let Some(first) = blocks.next() else {
            return false;
        };
        let below = first.end <= self.acknowledgment;
        let within = |outer: SeqRange| outer.start <= first.start && first.end <= outer.end;
        below || blocks.next().is_some_and(within)
    }

    /// Returns the same acknowledgement once more, as a plain duplicate.
    pub(crate) fn repeated(&self) -> Self {
        let options = TcpSegmentOptions {
            timestamps: self.options.timestamps,
            ..TcpSegmentOptions::default()
        };
        Self {
            sequence: self.range().end,
            flags: TcpFlags::ACK,
            payload: 0,
            options,
            ..*self
        }
    }

    /// Returns the same acknowledgement once more, with a request for `ranges`; `cause` showed the gap.
    pub(crate) fn negative(&self, cause: SeqNumber, ranges: SackRanges) -> Self {
        let mut header = self.repeated();
        header.options = TcpSegmentOptions {
            cause: Some(cause),
            air_loss: AirLoss::Ranges(ranges),
            ..TcpSegmentOptions::default()
        };
        header
    }
}

/// Changes to the options of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Revision {
    /// Remove the SACK blocks.
    pub hide_sack: bool,
    /// Remove the SMART cause.
    pub hide_cause: bool,
    /// Replacement of the report on losses on the air, if any.
    pub air_loss: Option<AirLoss>,
    /// Timestamp that replaces an older one, if any.
    pub not_before: Option<u32>,
}

impl Revision {
    /// Returns the options after the change.
    pub fn applied_to_options(&self, options: &TcpSegmentOptions) -> TcpSegmentOptions {
        let mut options = *options;
        if self.hide_sack {
            options.sack = SackRanges::default();
        }
        if self.hide_cause {
            options.cause = None;
        }
        if let Some(air_loss) = &self.air_loss {
            options.air_loss = *air_loss;
        }
        if let Some((timestamps, least)) = options.timestamps.as_mut().zip(self.not_before)
            && is_older(timestamps.value, least)
        {
            timestamps.value = least;
        }
        options
    }

    /// Returns the packet after the change, or the same packet if nothing changes.
    pub(crate) fn applied_to<P: Segment>(&self, mut packet: P) -> P {
        if *self != Self::default() {
            packet.revise(self);
        }
        packet
    }
}

/// Returns true if a timestamp is older than another one, which wraps (RFC 7323 §5.2).
fn is_older(one: u32, other: u32) -> bool {
    one.wrapping_sub(other) > u32::MAX / 2
}

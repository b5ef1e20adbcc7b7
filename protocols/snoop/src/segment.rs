//! What the agent needs of a packet.

use std::net::SocketAddr;

use units::SeqNumber;
use wire::tcp::TcpFlags;
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions};

/// Ranges that one acknowledgement can name as lost on the air.
pub(crate) const AIR_LOSS_RANGES: usize = 3;

/// A TCP segment in its packet, as the agent uses it.
pub trait Segment: Clone {
    /// What the headers say; nothing for a packet that is no whole and sound TCP segment, which then passes
    /// the agent untouched.
    fn header(&self) -> Option<Header>;

    /// The memory that keeping the packet takes, in bytes.
    fn cost(&self) -> u64;

    /// Changes options; nothing where there is no room for them.
    fn revise(&mut self, revision: &Revision);

    /// A packet without data that has exactly this header.
    fn acknowledgment(header: &Header) -> Self;
}

/// The headers of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Who sends.
    pub source: SocketAddr,
    /// Who receives.
    pub destination: SocketAddr,
    /// The number of the first byte, or of the SYN.
    pub sequence: SeqNumber,
    /// What the sender expects next; counts with [`TcpFlags::ACK`] only.
    pub acknowledgment: SeqNumber,
    /// The control bits.
    pub flags: TcpFlags,
    /// The receive window as it stands in the header.
    pub window: u16,
    /// Bytes of data.
    pub payload: u32,
    /// The options.
    pub options: TcpSegmentOptions,
}

impl Header {
    /// The sequence numbers that the segment takes, SYN and FIN included.
    pub fn range(&self) -> SeqRange {
        let count = |flag| u32::from(self.flags.contains(flag));
        let length = self.payload + count(TcpFlags::SYN) + count(TcpFlags::FIN);
        SeqRange {
            start: self.sequence,
            end: self.sequence + length,
        }
    }

    /// Whether the segment takes sequence numbers, so that its loss must be repaired.
    pub fn occupies(&self) -> bool {
        let range = self.range();
        range.start != range.end
    }

    /// Whether the segment acknowledges and does nothing else.
    pub fn is_pure_acknowledgment(&self) -> bool {
        let only = self.flags.contains(TcpFlags::ACK)
            && !self.flags.contains(TcpFlags::RST)
            && !self.flags.contains(TcpFlags::URG);
        only && !self.occupies()
    }

    /// Whether this is the agent's request for data that were lost on the air: a duplicate
    /// acknowledgement that carries both SMART's cause and ranges lost on the air. It acknowledges
    /// nothing that the fixed host has not.
    pub fn is_negative_acknowledgment(&self) -> bool {
        let named = matches!(self.options.air_loss, AirLoss::Ranges(_));
        named && self.options.cause.is_some() && self.is_pure_acknowledgment()
    }

    /// Whether the segment that is asked for is marked as lost on the air.
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

    /// Whether the options say that something beyond the acknowledged has arrived.
    pub(crate) fn tells_of_arrival(&self) -> bool {
        let number = self.acknowledgment;
        let block = self.options.sack.iter().any(|block| number < block.start);
        block || self.options.cause.is_some_and(|cause| number < cause)
    }

    /// Whether the first SACK block reports a segment that came twice (RFC 2883 §4: it lies below the
    /// acknowledged, or within the second block).
    pub(crate) fn reports_repeat_by_sack(&self) -> bool {
        let mut blocks = self.options.sack.iter();
        let Some(first) = blocks.next() else {
            return false;
        };
        let below = first.end <= self.acknowledgment;
        let within = |outer: SeqRange| outer.start <= first.start && first.end <= outer.end;
        below || blocks.next().is_some_and(within)
    }

    /// The same acknowledgement once more, without news.
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

    /// The same acknowledgement once more, asking for `ranges`; `cause` is what showed the gap.
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
    /// Take the SACK blocks off.
    pub hide_sack: bool,
    /// Take SMART's cause off.
    pub hide_cause: bool,
    /// What to say of losses on the air, in place of what is said.
    pub air_loss: Option<AirLoss>,
}

impl Revision {
    /// The options after the change.
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
        options
    }

    /// The packet after the change; the very same one where there is nothing to change.
    pub(crate) fn applied_to<P: Segment>(&self, mut packet: P) -> P {
        if *self != Self::default() {
            packet.revise(self);
        }
        packet
    }
}

//! The options of a segment that the agent reads and changes.

use units::SeqNumber;

/// Ranges that [`SackRanges`] holds: as many as an option has room for.
const RANGES_MAX: usize = 4;

/// Bytes from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeqRange {
    /// Its first byte.
    pub start: SeqNumber,
    /// The byte behind its last.
    pub end: SeqNumber,
}

/// Up to four ranges in the order of their option, by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackRanges {
    ranges: [SeqRange; RANGES_MAX],
    count: usize,
}

impl SackRanges {
    /// Appends a range, unless there are four.
    pub fn push(&mut self, range: SeqRange) {
        if let Some(slot) = self.ranges.get_mut(self.count) {
            *slot = range;
            self.count += 1;
        }
    }

    /// The ranges in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SeqRange> + '_ {
        self.ranges[..self.count].iter().copied()
    }
}

/// Explicit loss notification: what was lost on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AirLoss {
    /// Nothing is said.
    #[default]
    None,
    /// The segment that the acknowledgement asks for.
    Next,
    /// These ranges, three at most.
    Ranges(SackRanges),
}

/// RFC 7323's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The other end's clock, echoed.
    pub echo: u32,
}

/// What the options say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpSegmentOptions {
    /// How far to shift windows, on a SYN.
    pub window_scale: Option<u8>,
    /// The timestamps.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements, the newest first (RFC 2018).
    pub sack: SackRanges,
    /// SMART: the sequence number of the segment that caused this acknowledgement.
    pub cause: Option<SeqNumber>,
    /// Losses on the air (ELN).
    pub air_loss: AirLoss,
}
